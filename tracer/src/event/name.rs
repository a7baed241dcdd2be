//! Names and paths as the kernel hands them over: bytes that nobody has checked.

use std::fmt::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A name or path from the kernel. Cheap to clone.
///
/// One escape serves every output: `\xNN` stands for the byte NN (two lower-case hex digits). It is written for bytes that
/// are not UTF-8, for a backslash that would read as such an escape, and, on a terminal only, for control and
/// direction-changing characters. Nothing else is changed, so every name can be told back from its escaped form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<[u8]>);

impl Name {
    /// The bytes up to the first zero.
    pub fn from_c(bytes: &[u8]) -> Name {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Name(bytes.get(..end).unwrap_or(bytes).into())
    }

    /// These bytes.
    pub fn from_bytes(bytes: &[u8]) -> Name {
        Name(bytes.into())
    }

    /// As it came.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What follows the last slash.
    pub fn basename(&self) -> Name {
        let start = self.0.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        Name(self.0.get(start..).unwrap_or_default().into())
    }

    /// The name that was written as this text: the opposite of [`Name::text`].
    pub fn from_text(text: &str) -> Name {
        let bytes = text.as_bytes();
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if *byte == b'\\' && reads_as_escape(bytes, at) {
                out.push(digit(bytes[at + 2]) << 4 | digit(bytes[at + 3]));
                at += 4;
            } else {
                out.push(*byte);
                at += 1;
            }
        }
        Name(out.into())
    }

    /// For JSON: valid UTF-8 as it is, other bytes escaped.
    pub fn text(&self) -> String {
        escape(&self.0, |_| false)
    }
}

/// For a terminal: control and direction-changing characters are escaped too.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&escape(&self.0, is_unsafe))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

impl Default for Name {
    fn default() -> Self {
        Name::from("")
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name(text.as_bytes().into())
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Name::from_text(&text))
    }
}

/// Text that is escaped for JSON, made safe for a person's eyes: what moves the cursor, hides or turns text around is
/// escaped as in [`Name`]'s display form, the rest, escapes included, stays as it is.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) {
            hex(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            out.push(c);
        }
    }
    out
}

/// Characters that move the cursor, hide, or turn the text around.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn escape(bytes: &[u8], escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(bytes.len());
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if escaped(c) || (c == '\\' && reads_as_escape(bytes, at)) {
                let mut buffer = [0; 4];
                hex(&mut out, c.encode_utf8(&mut buffer).as_bytes());
            } else {
                out.push(c);
            }
            at += c.len_utf8();
        }
        hex(&mut out, chunk.invalid());
        at += chunk.invalid().len();
    }
    out
}

/// Whether the backslash at `at` is followed by `x` and two lower-case hex digits.
fn reads_as_escape(bytes: &[u8], at: usize) -> bool {
    let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    matches!(bytes.get(at + 1..at + 4), Some([b'x', high, low]) if digit(high) && digit(low))
}

/// Value of a hex digit.
const fn digit(byte: u8) -> u8 {
    if byte.is_ascii_digit() { byte - b'0' } else { byte - b'a' + 10 }
}

fn hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(out, "\\x{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unescape(text: &str) -> Vec<u8> {
        Name::from_text(text).as_bytes().to_vec()
    }

    #[test]
    fn plain_names_stay_as_they_are() {
        for name in ["true", "tokio-rt-worker", "café", r"C:\temp", r"a\xyz", ""] {
            assert_eq!(Name::from(name).text(), name);
            assert_eq!(Name::from(name).to_string(), name);
        }
    }

    #[test]
    fn hostile_names_are_escaped_on_a_terminal_and_kept_in_json() {
        let name = Name::from_c(b"a\x1b[2J\n\xffz\0rest");
        assert_eq!(name.to_string(), r"a\x1b[2J\x0a\xffz");
        assert_eq!(name.text(), "a\x1b[2J\n\\xffz");
        assert_eq!(serde_json::to_string(&name).unwrap(), r#""a\u001b[2J\n\\xffz""#);
        assert_eq!(visible(&name.text()), name.to_string());
        assert_eq!(Name::from("abc\u{202e}def").to_string(), r"abc\xe2\x80\xaedef");
    }

    #[test]
    fn an_escape_in_the_name_itself_is_told_apart() {
        assert_ne!(Name::from(r"\xff").text(), Name::from_c(b"\xff").text());
        assert_eq!(Name::from(r"\xff").text(), r"\x5cxff");
    }

    #[test]
    fn basename_is_what_follows_the_last_slash() {
        assert_eq!(Name::from("/usr/bin/true").basename(), Name::from("true"));
        assert_eq!(Name::from("true").basename(), Name::from("true"));
        assert_eq!(Name::from("dir/").basename(), Name::from(""));
    }

    proptest! {
        #[test]
        fn any_name_can_be_told_back(bytes in proptest::collection::vec(1u8.., 0..24)) {
            let name = Name::from_c(&bytes);
            prop_assert_eq!(unescape(&name.text()), bytes.clone());
            prop_assert_eq!(unescape(&name.to_string()), bytes);
            prop_assert!(!name.to_string().chars().any(char::is_control));
        }

        #[test]
        fn names_full_of_escapes_can_be_told_back(text in r"(\\|x|5|c|f|\\x5c){0,12}") {
            prop_assert_eq!(unescape(&Name::from(text.as_str()).text()), text.as_bytes());
        }
    }
}
