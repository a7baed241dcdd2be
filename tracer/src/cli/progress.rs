//! A line on stderr that says how far something is: only on a terminal, only once it has taken two seconds.

use std::{
    io::IsTerminal as _,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What is shorter than this needs no line.
const PATIENCE: Duration = Duration::from_secs(2);

/// The line. It goes when this is dropped.
pub(super) struct Progress {
    bar: ProgressBar,
    since: Instant,
    shown: bool,
}

impl Progress {
    /// Nothing is shown yet; `length` is what the whole comes to, if that is known, in the unit of [`Self::at`].
    pub(super) fn new(length: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        // Only plain text: what the terminal can't do it need not.
        let style = ProgressStyle::with_template(if length.is_some() { "{bar:20} {wide_msg}" } else { "{wide_msg}" });
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("█▌ "));
        }
        Self { bar, since: Instant::now(), shown: false }
    }

    /// One that never shows anything, where the line would be in somebody's way.
    pub(super) fn hidden() -> Self {
        let mut progress = Self::new(None);
        progress.shown = true;
        progress
    }

    /// Time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether anybody sees it: a message that is dear to make need not be made for nobody.
    pub(super) fn is_seen(&mut self) -> bool {
        if !self.shown && self.since.elapsed() >= PATIENCE {
            self.shown = true;
            if std::io::stderr().is_terminal() {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
        !self.bar.is_hidden()
    }

    /// Prints lines while the line is out of their way.
    pub(super) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// How far it is, and what to say of it.
    pub(super) fn at(&mut self, position: u64, message: String) {
        if self.is_seen() {
            self.bar.set_message(message);
            self.bar.set_position(position);
            self.bar.tick();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// `0:05`, `1:02:03`.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_shown_before_its_time() {
        let mut progress = Progress::new(Some(10));
        assert!(!progress.is_seen());
        progress.at(3, "three".to_owned());
        assert!(!Progress::hidden().is_seen());
    }

    #[test]
    fn a_clock_has_hours_when_there_are_some() {
        assert_eq!(clock(Duration::from_millis(5900)), "0:05");
        assert_eq!(clock(Duration::from_secs(3723)), "1:02:03");
    }
}
