//! Keys from the bytes that a terminal sends.
//!
//! Read here and not by the terminal library, whose reader never comes back once the terminal has gone (crossterm 0.29), and
//! which holds a key back that comes together with a resize.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The keys in what was read at once. An escape that begins no sequence known here is the key itself, or nothing.
#[must_use]
pub fn keys(bytes: &[u8]) -> Vec<KeyEvent> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let code = match *first {
            0x1b => match sequence(after) {
                Some((code, length)) => {
                    rest = after.get(length..).unwrap_or_default();
                    code
                }
                None => Some(KeyCode::Esc),
            },
            b'\r' | b'\n' => Some(KeyCode::Enter),
            b'\t' => Some(KeyCode::Tab),
            0x7f | 0x08 => Some(KeyCode::Backspace),
            control @ 1..=26 => {
                keys.push(KeyEvent::new(KeyCode::Char(char::from(control + b'a' - 1)), KeyModifiers::CONTROL));
                None
            }
            0..0x20 => None,
            byte if byte < 0x80 => Some(KeyCode::Char(char::from(byte))),
            _ => {
                let valid = bytes.get(bytes.len() - after.len() - 1..).and_then(|text| text.utf8_chunks().next());
                let letter = valid.and_then(|chunk| chunk.valid().chars().next());
                rest = after.get(letter.map_or(1, char::len_utf8) - 1..).unwrap_or_default();
                letter.map(KeyCode::Char)
            }
        };
        keys.extend(code.map(|code| KeyEvent::new(code, KeyModifiers::NONE)));
    }
    keys
}

/// What follows an escape: its key, if it is one that is used, and its length. `None` if no sequence follows.
fn sequence(after: &[u8]) -> Option<(Option<KeyCode>, usize)> {
    let (intro, body) = after.split_first()?;
    if !matches!(intro, b'[' | b'O') {
        return None;
    }
    let end = body.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
    let (parameters, last) = (body.get(..end)?, body.get(end)?);
    let code = match (last, parameters) {
        (b'A', _) => Some(KeyCode::Up),
        (b'B', _) => Some(KeyCode::Down),
        (b'C', _) => Some(KeyCode::Right),
        (b'D', _) => Some(KeyCode::Left),
        (b'H', _) | (b'~', b"1" | b"7") => Some(KeyCode::Home),
        (b'F', _) | (b'~', b"4" | b"8") => Some(KeyCode::End),
        (b'~', b"5") => Some(KeyCode::PageUp),
        (b'~', b"6") => Some(KeyCode::PageDown),
        (b'P', _) | (b'~', b"11") => Some(KeyCode::F(1)),
        _ => None,
    };
    Some((code, end + 2))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn codes(bytes: &[u8]) -> Vec<KeyCode> {
        keys(bytes).into_iter().map(|key| key.code).collect()
    }

    #[test]
    fn keys_and_sequences_are_told_apart() {
        assert_eq!(codes(b"q\r\x7f"), [KeyCode::Char('q'), KeyCode::Enter, KeyCode::Backspace]);
        assert_eq!(codes(b"\x1b"), [KeyCode::Esc]);
        assert_eq!(codes(b"\x1b\x1b"), [KeyCode::Esc, KeyCode::Esc]);
        assert_eq!(codes(b"\x1b[A\x1bOB\x1b[5~x"), [KeyCode::Up, KeyCode::Down, KeyCode::PageUp, KeyCode::Char('x')]);
        assert_eq!(codes(b"\x1b[1;5D\x1b[?1;2c"), [KeyCode::Left]);
        assert_eq!(codes("é✗z".as_bytes()), ['é', '✗', 'z'].map(KeyCode::Char));
        assert_eq!(codes(b"\xff\xc3a"), [KeyCode::Char('a')]);
        assert_eq!(keys(b"\x03"), [KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)]);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(keys(&bytes).len() <= bytes.len());
        }
    }
}
