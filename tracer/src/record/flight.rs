//! A flight recorder: the last stretch of a trace in segments, the oldest of which go, and dumps of what is kept.
//!
//! Every segment is a recording by itself: it begins with the processes and tables that are there. A dump is the segments one
//! after the other, without those beginnings but the first.

use std::{
    cell::RefCell,
    collections::VecDeque,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    rc::Rc,
};

use super::{
    Closing, Continued, Input, Start, Tap, Writer, frame,
    trigger::{Lookout, Trigger},
};
use crate::event::{Event, decode};
use crate::model::{Anchor, rfc3339};

/// Segments that are kept of a full stretch.
const PIECES: u64 = 8;
/// A trigger's dump has what comes after it for so long too, nanoseconds.
const AFTER_NS: u64 = 1_000_000_000;
/// Dumps of triggers are at least so far apart, nanoseconds.
const APART_NS: u64 = 60_000_000_000;

/// What to keep, and what to dump it for.
#[derive(Clone, Debug)]
pub struct Keep {
    /// How long, nanoseconds.
    pub keep_ns: u64,
    /// How much, bytes.
    pub max_bytes: u64,
    /// What to dump it for.
    pub triggers: Vec<Trigger>,
}

/// A running flight recorder.
pub struct Flight {
    folder: PathBuf,
    segments_folder: PathBuf,
    keep: Keep,
    start: Start,
    done: VecDeque<Segment>,
    current: Option<(Segment, Writer<File>)>,
    number: u64,
    lookout: Lookout,
    fired: Option<(&'static str, u64)>,
    dumped_ns: Option<u64>,
    end_ns: u64,
    dumps: Vec<PathBuf>,
    trouble: Option<String>,
}

struct Segment {
    path: PathBuf,
    from_ns: u64,
    /// Bytes of its schema and of the state that it begins with.
    state: u64,
    bytes: u64,
}

/// A flight recorder that is shared by the pipeline, which feeds it, and the verb, which asks it to dump.
pub type Shared = Rc<RefCell<Flight>>;

impl Flight {
    /// Makes the folders: dumps go into `folder`, segments into one below it.
    ///
    /// # Errors
    ///
    /// When the place can't be written.
    pub fn create(folder: &Path, keep: Keep, start: Start) -> io::Result<Flight> {
        fs::create_dir_all(folder)?;
        let segments_folder = folder.join(format!("fdtide-{}.segments", std::process::id()));
        DirBuilder::new().mode(0o700).recursive(true).create(&segments_folder)?;
        let lookout = Lookout::new(keep.triggers.clone());
        let mut flight = Flight {
            folder: folder.to_owned(),
            segments_folder,
            keep,
            start,
            done: VecDeque::new(),
            current: None,
            number: 0,
            lookout,
            fired: None,
            dumped_ns: None,
            end_ns: 0,
            dumps: Vec::new(),
            trouble: None,
        };
        let began_ns = flight.start.anchor.boot_ns;
        flight.open(began_ns, &[])?;
        Ok(flight)
    }

    /// Whether it is time for a new segment.
    #[must_use]
    pub fn is_full(&self, now_ns: u64) -> bool {
        self.current.as_ref().is_some_and(|(segment, writer)| {
            now_ns.saturating_sub(segment.from_ns) >= self.keep.keep_ns / PIECES
                || writer.written() >= self.keep.max_bytes / PIECES
        })
    }

    /// Begins a new segment with the records of what is there now; the oldest ones go.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn rotate(&mut self, now_ns: u64, state: &[Vec<u8>]) -> io::Result<()> {
        self.close()?;
        self.open(now_ns, state)?;
        let oldest_ns = now_ns.saturating_sub(self.keep.keep_ns);
        while let Some(oldest) = self.done.front() {
            let next_ns = self.done.get(1).map_or(now_ns, |segment| segment.from_ns);
            let bytes: u64 = self.done.iter().map(|segment| segment.bytes).sum();
            if next_ns > oldest_ns && bytes + self.keep.max_bytes / PIECES <= self.keep.max_bytes {
                break;
            }
            fs::remove_file(&oldest.path)?;
            self.done.pop_front();
        }
        Ok(())
    }

    fn open(&mut self, now_ns: u64, state: &[Vec<u8>]) -> io::Result<()> {
        self.number += 1;
        let path = self.segments_folder.join(format!("{:06}.fdtide", self.number));
        let began = self.start.anchor;
        let anchor =
            Anchor { boot_ns: now_ns, wall_unix_ns: began.wall_unix_ns + now_ns.saturating_sub(began.boot_ns) };
        let continued = (self.number > 1).then_some(Continued { began_ns: began.boot_ns, segment: self.number });
        let start = Start { anchor, continued, ..self.start.clone() };
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let mut writer = Writer::new(file, &start)?;
        for bytes in state {
            writer.push(&Input::Record(bytes), decode(bytes).ok().as_ref())?;
        }
        writer.flush()?;
        self.current = Some((Segment { path, from_ns: now_ns, state: writer.written(), bytes: 0 }, writer));
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        if let Some((mut segment, mut writer)) = self.current.take() {
            writer.flush()?;
            segment.bytes = writer.written();
            self.done.push_back(segment);
            writer.finish()?;
        }
        Ok(())
    }

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
    /// When it can't be written.
    pub fn dump(&mut self, why: &str, tables: &[Vec<u8>], closing: &Closing) -> io::Result<PathBuf> {
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
            let skipped = if start.is_some() { segment.state } else { 0 };
            start = start.or_else(|| super::Reader::open(&segment.path).ok().map(|reader| reader.start().clone()));
            from.seek(SeekFrom::Start(skipped))?;
            io::copy(&mut from.take(segment.bytes - skipped), file.as_file_mut())?;
        }
        let start = start.ok_or_else(|| io::Error::other("no segment of the recording can be read"))?;
        Ok((file, start))
    }

    fn name(&mut self, file: tempfile::NamedTempFile, why: &str, at_ns: u64) -> io::Result<PathBuf> {
        let began = self.start.anchor;
        let at = rfc3339(began.wall_unix_ns + at_ns.saturating_sub(began.boot_ns));
        let at: String = at.chars().filter(|c| !matches!(c, '-' | ':' | '.')).collect();
        let path = self.folder.join(format!("fdtide-{at}-{why}.fdtide"));
        file.persist(&path).map_err(|error| error.error)?;
        self.dumps.push(path.clone());
        Ok(path)
    }

    /// Nothing worth keeping has happened: leaves no segments behind.
    pub fn discard(&mut self) {
        self.current = None;
        if let Err(error) = fs::remove_dir_all(&self.segments_folder) {
            log::warn!("failed to remove `{}`: {error}", self.segments_folder.display());
        }
    }

    /// Dumps so far.
    #[must_use]
    pub fn dumps(&self) -> &[PathBuf] {
        &self.dumps
    }

    fn last_dump(&mut self) -> io::Result<()> {
        self.close()?;
        let (mut file, _) = self.join()?;
        frame::write_end(file.as_file_mut())?;
        file.flush()?;
        self.name(file, "end", self.end_ns)?;
        fs::remove_dir_all(&self.segments_folder)
    }

    fn write(&mut self, action: impl FnOnce(&mut Writer<File>) -> io::Result<()>) {
        if let Some((_, writer)) = &mut self.current
            && let Err(error) = action(writer)
        {
            self.failed(&error);
        }
    }

    /// It could not be written: nothing more is, but what was stays.
    pub fn failed(&mut self, error: &io::Error) {
        let text = format!(
            "the recording below `{}` could not be kept ({error}); its segments hold what came before; \
             name a place with more room",
            self.folder.display()
        );
        log::warn!("{text}");
        self.current = None;
        self.trouble = Some(text);
    }
}

impl Tap for Shared {
    fn take(&mut self, input: &Input<'_>, event: Option<&Event>) {
        let mut flight = self.borrow_mut();
        if let Some(event) = event
            && let Some(why) = flight.lookout.event(event)
            && flight.fired.is_none()
        {
            flight.fired = Some((why, event.at_ns()));
        }
        if let Input::End(closing) = input {
            flight.end_ns = closing.at_ns;
        }
        flight.write(|writer| writer.push(input, event));
    }

    fn tick(&mut self, now_ns: u64) {
        self.borrow_mut().write(|writer| writer.tick(now_ns));
    }

    fn finish(&mut self) -> Option<String> {
        let mut flight = self.borrow_mut();
        if flight.trouble.is_none()
            && let Err(error) = flight.last_dump()
        {
            flight.failed(&error);
        }
        flight.trouble.clone()
    }
}
