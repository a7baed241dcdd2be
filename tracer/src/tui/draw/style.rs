//! Colours: few, told apart without red and green, and never the only sign of anything.

use ratatui::style::{Color, Modifier, Style};

use super::View;

/// Headings.
pub const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
/// What is there for whoever looks for it.
pub const DIM: Style = Style::new().add_modifier(Modifier::DIM);
/// What is chosen.
pub const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);
/// Heads of columns.
pub const HEAD: Style = Style::new().add_modifier(Modifier::UNDERLINED);

impl View {
    /// Something failed, was lost, or is about to be full. Words beside it say so too.
    pub(super) fn warning(&self) -> Style {
        if self.color { BOLD.fg(Color::Yellow) } else { BOLD }
    }

    /// Bars.
    pub(super) fn bars(&self) -> Style {
        if self.color { Style::new().fg(Color::Cyan) } else { Style::new() }
    }
}
