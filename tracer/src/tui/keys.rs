//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::view::{Screen, View};

/// What the owner of the view is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To go on.
    Stay,
    /// To take a census, and hand over the rows of this table: [`View::take_census`].
    Census(u64),
    /// To end the trace and print the report.
    Quit,
}

/// Keys and what they do, for the help screen and `docs/views.md`.
pub const KEYS: &[(&str, &str)] = &[
    ("↑ ↓  k j", "choose a table; PgUp, PgDn, Home, End go further"),
    ("Enter", "open it: what it is made of, its crests, its spawn windows"),
    ("c", "take a census of it now: every descriptor, with its name"),
    ("Esc", "back; clears the filter"),
    ("s  S", "sort by the next or previous column"),
    ("r", "turn the order around"),
    ("/", "show only tables whose name, pid or kinds contain a text"),
    ("space  f", "freeze what is shown, and let it go on; tracing does not stop"),
    ("m", "mark this moment: live is then told against it too"),
    ("?  h", "this help"),
    ("q  Ctrl-C", "end the trace and print the report"),
];

impl View {
    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Answer {
        if key.kind == KeyEventKind::Release {
            return Answer::Stay;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Answer::Quit } else { Answer::Stay };
        }
        if self.typing {
            self.type_filter(key.code);
            return Answer::Stay;
        }
        match key.code {
            KeyCode::Char('q') if self.screen == Screen::List => return Answer::Quit,
            KeyCode::Char('q') | KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => self.back(),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.screen = Screen::Help,
            KeyCode::Char(' ' | 'f') => self.freeze(),
            KeyCode::Char('m') => self.set_mark(),
            KeyCode::Char('c') => return self.ask_census(),
            _ if self.screen == Screen::List => self.list_key(key.code),
            _ if matches!(self.screen, Screen::Census(_)) => self.scroll(key.code),
            _ => {}
        }
        Answer::Stay
    }

    fn list_key(&mut self, code: KeyCode) {
        match code {
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-10),
            KeyCode::PageDown => self.step(10),
            KeyCode::Home | KeyCode::Char('g') => self.step(isize::MIN / 2),
            KeyCode::End | KeyCode::Char('G') => self.step(isize::MAX / 2),
            KeyCode::Enter | KeyCode::Right => self.open(),
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('S') => self.sort = self.sort.previous(),
            KeyCode::Char('r') => self.reverse = !self.reverse,
            KeyCode::Char('/') => self.typing = true,
            _ => {}
        }
    }

    fn scroll(&mut self, code: KeyCode) {
        let Some(census) = &mut self.census else { return };
        let last = census.rows.len().saturating_sub(1);
        census.first = match code {
            KeyCode::Up | KeyCode::Char('k') => census.first.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => census.first.saturating_add(1),
            KeyCode::PageUp => census.first.saturating_sub(10),
            KeyCode::PageDown => census.first.saturating_add(10),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            _ => census.first,
        }
        .min(last);
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) => self.filter.push(c),
            _ => {}
        }
    }
}
