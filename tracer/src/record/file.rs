//! The file of `--record`: made before the trace starts, and never in the way of what is traced.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::{Input, Start, Tap, Writer};
use crate::event::Event;

/// A recording that is being written to a file of its own.
pub struct RecordFile {
    path: PathBuf,
    state: State,
}

enum State {
    /// Nothing written yet.
    Open(File),
    Writing(Box<Writer<File>>),
    /// It could not be written; this is why.
    Failed(io::Error),
    Done,
}

impl RecordFile {
    /// Makes the file, for its owner only; what was in it is gone.
    ///
    /// # Errors
    ///
    /// When the place can't be written.
    pub fn create(path: &Path) -> io::Result<RecordFile> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        // One that was there before may have had other rights.
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        Ok(RecordFile { path: path.to_owned(), state: State::Open(file) })
    }

    /// Writes the start.
    pub fn begin(&mut self, start: &Start) {
        if let State::Open(file) = std::mem::replace(&mut self.state, State::Done) {
            self.state = match Writer::new(file, start) {
                Ok(writer) => State::Writing(Box::new(writer)),
                Err(error) => self.failed(error),
            };
        }
    }

    /// Bytes written so far.
    #[must_use]
    pub fn written(&self) -> u64 {
        if let State::Writing(writer) = &self.state { writer.written() } else { 0 }
    }

    fn write(&mut self, action: impl FnOnce(&mut Writer<File>) -> io::Result<()>) {
        if let State::Writing(writer) = &mut self.state
            && let Err(error) = action(writer)
        {
            self.state = self.failed(error);
        }
    }

    fn failed(&self, error: io::Error) -> State {
        log::warn!(
            "failed to write the recording `{}`: {error}; the trace goes on without it, what was written stays readable",
            self.path.display()
        );
        State::Failed(error)
    }
}

impl Tap for RecordFile {
    fn take(&mut self, input: &Input<'_>, event: Option<&Event>) {
        self.write(|writer| writer.push(input, event));
    }

    fn tick(&mut self, now_ns: u64) {
        self.write(|writer| writer.tick(now_ns));
    }

    fn finish(&mut self) -> Option<String> {
        let path = self.path.display().to_string();
        let error = match std::mem::replace(&mut self.state, State::Done) {
            State::Writing(writer) => match writer.finish() {
                Ok(_) => return None,
                Err(error) => {
                    self.failed(io::Error::new(error.kind(), error.to_string()));
                    error
                }
            },
            State::Failed(error) => error,
            State::Open(_) | State::Done => return None,
        };
        Some(format!(
            "the recording `{path}` could not be kept to the end ({error}); it holds what came before; \
             name a place with more room"
        ))
    }
}
