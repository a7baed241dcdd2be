//! Names that are nobody's business: files, programs' folders, addresses and command lines become placeholders, the same one
//! for the same name under the same key.
//!
//! It is done to what goes into a trace, before anything is made of it: reports, recordings, exports and metrics then have
//! nothing that would have to be hidden. Names of processes, threads, programs without their folder, and functions stay.

mod raw;
mod rewrite;

#[cfg(test)]
mod tests;

use std::{fmt, hash::Hasher as _, io};

use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128 as _, SipHasher24 as Sip128};

use crate::{
    event::{Frame, Name, Stack},
    record::Start,
};

pub use rewrite::{RewriteError, rewrite};

/// Makes placeholders: `file#3fa9c1d2`, what it was and a keyed hash of the name. Without the key nobody can tell the name, or
/// try names until one fits.
#[derive(Clone, Copy)]
pub struct Redactor {
    key: [u8; 16],
}

/// The key is not told.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

impl Redactor {
    /// With a key that nobody knows: placeholders of another trace tell nothing of these.
    ///
    /// # Errors
    ///
    /// When the kernel gives no random bytes.
    pub fn random() -> io::Result<Redactor> {
        let mut key = [0; 16];
        // SAFETY: a buffer of the stated size.
        let got = unsafe { libc::getrandom(key.as_mut_ptr().cast(), key.len(), 0) };
        if got == key.len() as isize { Ok(Redactor { key }) } else { Err(io::Error::last_os_error()) }
    }

    /// With a secret of any length: the same placeholders wherever it is the same.
    #[must_use]
    pub fn keyed(secret: &[u8]) -> Redactor {
        let mut hasher = Sip128::new();
        hasher.write(secret);
        Redactor { key: hasher.finish128().as_bytes() }
    }

    fn hash(&self, bytes: &[u8]) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(bytes);
        hasher.finish()
    }

    /// The placeholder of a name.
    #[must_use]
    pub fn word(&self, what: &str, bytes: &[u8]) -> String {
        format!("{what}#{:08x}", self.hash(bytes) as u32)
    }

    /// A program's or library's path: its folder becomes a placeholder, its own name, which its process has too, stays.
    #[must_use]
    pub fn program(&self, path: &Name) -> Name {
        let base = path.basename();
        let folder = path.as_bytes().strip_suffix(base.as_bytes()).unwrap_or_default();
        // Only a number of a descriptor: what it is decides how the program is called.
        if folder.is_empty() || matches!(folder, b"/dev/fd/" | b"/proc/self/fd/") {
            return path.clone();
        }
        let mut text = self.word("dir", folder).into_bytes();
        text.push(b'/');
        text.extend_from_slice(base.as_bytes());
        Name::from_bytes(&text)
    }

    /// What was run: the program without its folder, and a placeholder for each argument.
    #[must_use]
    pub fn command(&self, words: &[String]) -> Vec<String> {
        let word = |(at, word): (usize, &String)| match at {
            0 => self.program(&Name::from_text(word)).text(),
            _ => self.word("arg", word.as_bytes()),
        };
        words.iter().enumerate().map(word).collect()
    }

    /// The start of a trace.
    #[must_use]
    pub fn start(&self, start: Start) -> Start {
        Start { command: self.command(&start.command), ..start }
    }

    /// A user stack: functions stay, the places of files go.
    #[must_use]
    pub fn stack(&self, stack: Stack) -> Stack {
        let source = |text: &str| {
            let (file, line) = text.rsplit_once(':').unwrap_or((text, ""));
            format!("{}:{line}", self.word("source", file.as_bytes()))
        };
        let frame = |frame: Frame| Frame {
            module: self.program(&frame.module),
            source: frame.source.as_deref().map(source),
            ..frame
        };
        Stack { frames: stack.frames.into_iter().map(frame).collect(), ..stack }
    }
}
