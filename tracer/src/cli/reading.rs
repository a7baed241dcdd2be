//! Recordings, read with a line that says how far it is.

use std::{
    fs::File,
    io::{self, BufReader, IsTerminal as _, Read},
    path::Path,
};

use super::progress::Progress;
use crate::{
    model::{ExecRecord, Report},
    record::{ReadError, Reader, Start},
    replay,
    sink::text::words,
};

/// A file on its way in. The line goes with it.
pub(super) struct Watched {
    file: File,
    read: u64,
    message: String,
    progress: Progress,
}

impl Read for Watched {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.read += count as u64;
        if self.progress.is_seen() {
            self.progress.at(self.read, self.message.clone());
        }
        Ok(count)
    }
}

/// Whether rows come out while the recording is read, on the terminal that the line would be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// To this file.
    Streamed { to_stdout: bool },
    /// Only when all has been read.
    Last,
}

impl Rows {
    fn are_in_the_way(self) -> bool {
        matches!(self, Rows::Streamed { to_stdout: true }) && io::stdout().is_terminal()
    }
}

/// Opens a recording.
pub(super) fn open(path: &Path, rows: Rows) -> Result<Reader<BufReader<Watched>>, ReadError> {
    Reader::open_with(path, |file| {
        let length = file.metadata().map(|metadata| metadata.len()).ok();
        let progress = if rows.are_in_the_way() { Progress::hidden() } else { Progress::new(length) };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        Watched { file, read: 0, message: format!("reading {}", words::plain(&name)), progress }
    })
}

/// As [`replay::replay`].
pub(super) fn replay(
    path: &Path,
    rows: Rows,
    completed: Option<&mut dyn FnMut(ExecRecord)>,
) -> Result<(Start, Report), ReadError> {
    match completed {
        Some(completed) => replay::replay_with(|| open(path, rows), true, completed),
        None => replay::replay_with(|| open(path, rows), false, |_| {}),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_read_goes_through_unchanged_and_is_counted() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 1000]).unwrap();
        let opened = File::open(file.path()).unwrap();
        let mut watched =
            Watched { file: opened, read: 0, message: String::new(), progress: Progress::new(Some(1000)) };
        let mut bytes = Vec::new();
        watched.read_to_end(&mut bytes).unwrap();
        assert_eq!((bytes, watched.read), (vec![7; 1000], 1000));
    }

    #[test]
    fn a_file_that_is_none_is_refused_as_without_a_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(open(file.path(), Rows::Last).is_err());
        assert!(open(Path::new("/"), Rows::Streamed { to_stdout: true }).is_err());
    }
}
