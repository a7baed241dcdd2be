//! What keys do and what columns mean.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span, Text},
};

use crate::sink::{fields, text::words};

use super::{
    super::{keys::KEYS, view::View},
    style,
};

/// Figures whose words the glossary explains.
const FIGURES: &[&str] = &["tables[].live", "tables[].settled", "tables[].soft_limit", "tables[].headroom"];
/// Words of the glossary that are no figure's.
const WORDS: &[&str] = &["high-water mark", "spawn window"];

impl View {
    pub(super) fn help(&self, frame: &mut Frame<'_>, area: Rect) {
        let mut lines = vec![Line::styled("keys", style::BOLD)];
        for (keys, does) in KEYS {
            lines.push(Line::from(vec![Span::styled(format!("  {keys:<11}"), style::BOLD), Span::raw(*does)]));
        }
        lines.push(Line::styled("words", style::BOLD));
        let told = |word: &str| WORDS.contains(&word) || FIGURES.iter().any(|path| fields::title(path) == word);
        for (word, meaning) in fields::GLOSSARY.iter().filter(|(word, _)| told(word)) {
            lines.push(Line::raw(words::cut(&format!("  {word}: {meaning}"), area.width.into())));
        }
        lines.push(Line::raw("  child: the high-water mark of the process between fork and exec"));
        lines.push(Line::raw("  ██▒▒░░     █ live, ▒ up to the high-water mark, ░ what the limit leaves"));
        lines.push(Line::raw("  !  ✗       less than a tenth of the limit is left; descriptors were refused"));
        lines.push(Line::raw("  last minute: the greatest of each second, bursts between two looks included"));
        frame.render_widget(Text::from(lines), area);
    }
}
