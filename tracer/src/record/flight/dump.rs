//! What is kept, written to files of its own.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::PathBuf,
};

use super::{Flight, prune};
use crate::event::decode;
use crate::model::rfc3339;
use crate::record::{Closing, Input, Reader, Start, Writer, frame};

/// A trigger's dump has what comes after it for so long too, nanoseconds.
const AFTER_NS: u64 = 1_000_000_000;
/// Dumps of triggers are at least so far apart, nanoseconds.
const APART_NS: u64 = 60_000_000_000;

impl Flight {
    /// Why a dump is due now, if it is.
    pub fn is_due(&mut self, now_ns: u64) -> Option<&'static str> {
        let (why, at_ns) = self.fired?;
        let waited = now_ns.saturating_sub(at_ns) >= AFTER_NS;
        let apart = self.dumped_ns.is_none_or(|dumped_ns| now_ns.saturating_sub(dumped_ns) >= APART_NS);
        (waited && apart).then(|| {
            (self.fired, self.dumped_ns) = (None, Some(now_ns));
            why
        })
    }

    /// Writes what is kept to a file of its own, with the tables as they are now and an end, and goes on.
    ///
    /// # Errors
    ///
    /// When it can't be written, or there is too little room for it.
    pub fn dump(&mut self, why: &str, tables: &[Vec<u8>], closing: &Closing) -> io::Result<PathBuf> {
        self.room_for(self.bytes())?;
        if let Some((segment, writer)) = &mut self.current {
            writer.flush()?;
            segment.bytes = writer.written();
        }
        let (mut file, start) = self.join()?;
        let mut writer = Writer::resume(&mut file, &start)?;
        for bytes in tables {
            writer.push(&Input::Record(bytes), decode(bytes).ok().as_ref())?;
        }
        writer.push(&Input::End(Box::new(closing.clone())), None)?;
        writer.finish()?;
        self.name(file, why, closing.at_ns)
    }

    /// The segments one after the other, in a file that has no name yet; and how it begins.
    fn join(&self) -> io::Result<(tempfile::NamedTempFile, Start)> {
        let mut file = tempfile::Builder::new()
            .prefix(".fdtide-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .tempfile_in(&self.folder)?;
        let current = self.current.as_ref().map(|(segment, _)| segment);
        let mut start = None;
        for segment in self.done.iter().chain(current) {
            let mut from = File::open(&segment.path)?;
            let reader = Reader::open(&segment.path).map_err(io::Error::other)?;
            // The schema is not told twice; a state is, where nothing was recorded before it.
            let skipped = match (&start, segment.after_pause) {
                (None, _) => 0,
                (Some(_), true) => reader.begins_at(),
                (Some(_), false) => segment.state,
            };
            start = start.or_else(|| Some(reader.start().clone()));
            from.seek(SeekFrom::Start(skipped))?;
            io::copy(&mut from.take(segment.bytes - skipped), file.as_file_mut())?;
        }
        let start = start.ok_or_else(|| io::Error::other("nothing has been recorded"))?;
        Ok((file, start))
    }

    fn name(&mut self, file: tempfile::NamedTempFile, why: &str, at_ns: u64) -> io::Result<PathBuf> {
        let at: String = rfc3339(self.wall_ns(at_ns)).chars().filter(|c| !matches!(c, '-' | ':' | '.')).collect();
        let path = self.folder.join(format!("fdtide-{at}-{why}.fdtide"));
        file.persist(&path).map_err(|error| error.error)?;
        self.dumps.push(path.clone());
        self.prune(at_ns);
        Ok(path)
    }

    /// Takes dumps away that are too old or too many, of earlier runs too, and the segments that killed runs have left.
    pub(super) fn prune(&mut self, now_ns: u64) {
        self.pruned_ns = Some(now_ns);
        if let Some(caps) = &self.keep.dumps {
            prune::prune(&self.folder, &self.segments_folder, caps, self.wall_ns(now_ns));
            self.dumps.retain(|path| path.exists());
        }
    }

    /// Keeps so much from now on: what is beyond it goes with the next look.
    pub fn set_caps(&mut self, keep: super::Keep) {
        self.lookout.set(keep.triggers.clone());
        self.pruned_ns = None;
        self.keep = keep;
    }

    /// Nothing worth keeping has happened: leaves no segments behind.
    pub fn discard(&mut self) {
        self.current = None;
        if let Err(error) = fs::remove_dir_all(&self.segments_folder) {
            log::warn!("failed to remove `{}`: {error}", self.segments_folder.display());
        }
    }

    /// Dumps so far that are still there.
    #[must_use]
    pub fn dumps(&self) -> &[PathBuf] {
        &self.dumps
    }

    /// Writes a last dump, and takes the segments away. What went wrong, if anything did.
    pub(super) fn finish(&mut self) -> Option<String> {
        let paused = self.paused();
        if let Err(error) = self.last_dump() {
            self.trouble = Some(format!(
                "the recording below `{}` could not be kept ({error}); its segments hold what came before; \
                 name a place with more room",
                self.folder.display()
            ));
        } else if let Some(why) = paused {
            self.trouble = Some(format!(
                "the recording below `{}` ends before the trace, at a pause ({why}); name a place with more room",
                self.folder.display()
            ));
        }
        self.trouble.iter().for_each(|text| log::warn!("{text}"));
        self.trouble.clone()
    }

    fn last_dump(&mut self) -> io::Result<()> {
        self.close()?;
        self.room_for(self.bytes())?;
        let (mut file, _) = self.join()?;
        frame::write_end(file.as_file_mut())?;
        file.flush()?;
        self.name(file, "end", self.end_ns)?;
        fs::remove_dir_all(&self.segments_folder)
    }
}
