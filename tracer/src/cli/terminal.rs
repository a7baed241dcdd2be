//! The terminal as the view needs it, and as it was before in whatever way the view ends.

use std::{
    io::{self, IsTerminal as _},
    mem::ManuallyDrop,
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
};

use ratatui::{DefaultTerminal, crossterm::event::KeyEvent};
use tokio::io::{Interest, unix::AsyncFd};

use crate::tui;

/// A terminal in raw mode, on its other screen. Dropping it brings everything back; so does a panic, through its hook.
pub(super) struct Terminal {
    /// Never dropped: its own end would print, and so panic, where nobody is left to read that.
    screen: ManuallyDrop<DefaultTerminal>,
    keys: AsyncFd<OwnedFd>,
    /// What was logged before: a line of log would tear the picture.
    log: log::LevelFilter,
}

/// Whether there is one that can show a view: both ends, and not a dumb one.
pub(super) fn is_there() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stdin().is_terminal() && io::stdout().is_terminal() && !dumb
}

/// Whether colours are wanted: see <https://no-color.org>.
pub(super) fn has_color() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

impl Terminal {
    /// Takes the terminal over. Needs a running runtime.
    pub(super) fn open() -> io::Result<Self> {
        let keys = io::stdin().as_fd().try_clone_to_owned()?;
        // SAFETY: the descriptor stays the same and open for as long as the registration owns it.
        let keys = unsafe { AsyncFd::register_with_interest(keys, Interest::READABLE) }?;
        let log = log::max_level();
        let screen = ratatui::try_init()?;
        if io::stderr().is_terminal() {
            log::set_max_level(log::LevelFilter::Off);
        }
        Ok(Self { screen: ManuallyDrop::new(screen), keys, log })
    }

    /// What to draw on.
    pub(super) fn screen(&mut self) -> &mut DefaultTerminal {
        &mut self.screen
    }

    /// Waits for input and gives the keys in it. `None` if the terminal has gone.
    pub(super) async fn keys(&self) -> io::Result<Option<Vec<KeyEvent>>> {
        self.keys.readable().await?.clear_ready();
        let mut keys = Vec::new();
        // Readiness is told once: all that is there must be taken.
        while self.has_input() {
            let mut bytes = [0; 1024];
            // SAFETY: a buffer of the stated size.
            let got = unsafe { libc::read(self.keys.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) };
            let Some(read) = usize::try_from(got).ok().filter(|got| *got > 0).and_then(|got| bytes.get(..got)) else {
                return Ok(None);
            };
            keys.append(&mut tui::keys(read));
        }
        Ok(Some(keys))
    }

    /// Whether a read would not wait.
    fn has_input(&self) -> bool {
        let mut ask = libc::pollfd { fd: self.keys.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry; does not wait.
        unsafe { libc::poll(&raw mut ask, 1, 0) > 0 }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing.
        let _ = self.screen.show_cursor();
        let _ = ratatui::try_restore();
        log::set_max_level(self.log);
    }
}
