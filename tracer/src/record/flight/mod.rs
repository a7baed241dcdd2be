//! A flight recorder: the last stretch of a trace in segments, the oldest of which go, and dumps of what is kept.
//!
//! Every segment is a recording by itself: it begins with the processes and tables that are there. A dump is the segments one
//! after the other, without those beginnings but the first and those after a pause.

mod dump;
mod prune;
mod room;

#[cfg(test)]
mod tests;

use std::{
    cell::RefCell,
    collections::VecDeque,
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    rc::Rc,
};

use super::{
    Continued, Input, Note, Start, Tap, Writer,
    trigger::{Lookout, Trigger},
};
use crate::event::{Event, decode};
use crate::model::Anchor;
use room::Room;

pub use prune::Caps;

/// Segments that are kept of a full stretch.
const PIECES: u64 = 8;
/// Old dumps are looked for this often, nanoseconds: they become too old also where no other is written.
const PRUNE_NS: u64 = 3_600_000_000_000;

/// What to keep, and what to dump it for.
#[derive(Clone, Debug)]
pub struct Keep {
    /// How long, nanoseconds.
    pub keep_ns: u64,
    /// How much, bytes.
    pub max_bytes: u64,
    /// Room on the disk that is left to others: recording pauses below it, bytes.
    pub min_free: u64,
    /// What to dump it for.
    pub triggers: Vec<Trigger>,
    /// What dumps may take; without it all of them stay.
    pub dumps: Option<Caps>,
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
    /// The last mark, which holds in later segments too.
    mark: Option<Note>,
    fired: Option<(&'static str, u64)>,
    dumped_ns: Option<u64>,
    end_ns: u64,
    dumps: Vec<PathBuf>,
    /// When old dumps were last looked for; never since the caps are other ones.
    pruned_ns: Option<u64>,
    room: Room,
    trouble: Option<String>,
}

struct Segment {
    path: PathBuf,
    from_ns: u64,
    /// Bytes of its schema and of the state that it begins with.
    state: u64,
    bytes: u64,
    /// Nothing was recorded for a while before it.
    after_pause: bool,
}

/// A flight recorder that is shared by the pipeline, which feeds it, and the verb, which asks it to dump.
pub type Shared = Rc<RefCell<Flight>>;

impl Flight {
    /// Makes the folders: dumps go into `folder`, segments into one below it.
    ///
    /// # Errors
    ///
    /// When the place can't be written. A disk that is full is no error: recording begins when there is room.
    pub fn create(folder: &Path, keep: Keep, start: Start) -> io::Result<Flight> {
        fs::create_dir_all(folder)?;
        let segments_folder = folder.join(format!("fdtide-{}.segments", std::process::id()));
        prune::make_way(&segments_folder)?;
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
            mark: None,
            fired: None,
            dumped_ns: None,
            end_ns: 0,
            dumps: Vec::new(),
            pruned_ns: None,
            room: Room::default(),
            trouble: None,
        };
        let began_ns = flight.start.anchor.boot_ns;
        // First of all: what goes is room for what comes.
        flight.prune(began_ns);
        match flight.enough_room().and_then(|()| flight.open(began_ns, &[])) {
            Err(error) if room::is_full(&error) => flight.pause(began_ns, &error),
            other => other?,
        }
        Ok(flight)
    }

    /// Whether it is time for a new segment. Looks about once a second whether there is room for one, and about once an hour
    /// for dumps that have become too old.
    #[must_use]
    pub fn is_full(&mut self, now_ns: u64) -> bool {
        if self.room.is_due(now_ns) {
            self.age_out(now_ns);
            if self.pruned_ns.is_none_or(|pruned_ns| now_ns.saturating_sub(pruned_ns) >= PRUNE_NS) {
                self.prune(now_ns);
            }
            match self.enough_room() {
                Err(error) => self.pause(now_ns, &error),
                Ok(()) if self.room.is_paused() => return self.room.may_retry(now_ns),
                Ok(()) => {}
            }
        }
        self.current.as_ref().is_some_and(|(segment, writer)| {
            now_ns.saturating_sub(segment.from_ns) >= self.keep.keep_ns / PIECES
                || writer.written() >= self.keep.max_bytes / PIECES
        })
    }

    /// Begins a new segment with the records of what is there now; the oldest ones go. It pauses if that can't be written.
    pub fn rotate(&mut self, now_ns: u64, state: &[Vec<u8>]) {
        if let Err(error) = self.close().and_then(|()| self.open(now_ns, state)) {
            self.pause(now_ns, &error);
            return;
        }
        self.room.resumed(now_ns, &self.folder);
        self.age_out(now_ns);
    }

    /// Segments that are older than the stretch go, and those that are too much.
    fn age_out(&mut self, now_ns: u64) {
        let oldest_ns = now_ns.saturating_sub(self.keep.keep_ns);
        let piece = if self.current.is_some() { self.keep.max_bytes / PIECES } else { 0 };
        while let Some(oldest) = self.done.front() {
            let next = self.done.get(1).or(self.current.as_ref().map(|(segment, _)| segment));
            let next_ns = next.map_or(self.room.since_ns().unwrap_or(now_ns), |segment| segment.from_ns);
            let bytes: u64 = self.done.iter().map(|segment| segment.bytes).sum();
            if next_ns > oldest_ns && bytes + piece <= self.keep.max_bytes {
                break;
            }
            if let Err(error) = fs::remove_file(&oldest.path) {
                log::warn!("failed to remove the old segment `{}`: {error}", oldest.path.display());
            }
            self.done.pop_front();
        }
    }

    fn open(&mut self, now_ns: u64, state: &[Vec<u8>]) -> io::Result<()> {
        DirBuilder::new().mode(0o700).recursive(true).create(&self.segments_folder)?;
        self.number += 1;
        let path = self.segments_folder.join(format!("{:06}.fdtide", self.number));
        match self.fill(&path, now_ns, state) {
            Ok(opened) => self.current = Some(opened),
            Err(error) => {
                // Half a beginning is of no use to anybody.
                let _ = fs::remove_file(&path);
                return Err(error);
            }
        }
        Ok(())
    }

    fn fill(&self, path: &Path, now_ns: u64, state: &[Vec<u8>]) -> io::Result<(Segment, Writer<File>)> {
        let anchor = Anchor { boot_ns: now_ns, wall_unix_ns: self.wall_ns(now_ns) };
        let began_ns = self.start.anchor.boot_ns;
        let continued = (self.number > 1).then_some(Continued { began_ns, segment: self.number });
        let start = Start { anchor, continued, ..self.start.clone() };
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let mut writer = Writer::new(file, &start)?;
        if let Some(mark) = &self.mark {
            writer.push(&Input::Note(mark.clone()), None)?;
        }
        for bytes in state {
            writer.push(&Input::Record(bytes), decode(bytes).ok().as_ref())?;
        }
        writer.flush()?;
        let (path, state) = (path.to_owned(), writer.written());
        Ok((Segment { path, from_ns: now_ns, state, bytes: state, after_pause: self.room.is_paused() }, writer))
    }

    /// The wall clock's time at a moment of the trace, as its beginning had both.
    fn wall_ns(&self, at_ns: u64) -> u64 {
        let began = self.start.anchor;
        began.wall_unix_ns + at_ns.saturating_sub(began.boot_ns)
    }

    fn close(&mut self) -> io::Result<()> {
        if let Some((mut segment, mut writer)) = self.current.take() {
            let flushed = writer.flush();
            segment.bytes = writer.written();
            if flushed.is_err() {
                // What a full disk cut off is of no use, and what comes before it is.
                cut(&segment)?;
                self.done.push_back(segment);
                return flushed;
            }
            self.done.push_back(segment);
            writer.finish()?;
        }
        Ok(())
    }

    fn write(&mut self, action: impl FnOnce(&mut Writer<File>) -> io::Result<()>) {
        if let Some((_, writer)) = &mut self.current
            && let Err(error) = action(writer)
        {
            self.pause(self.end_ns, &error);
        }
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let current = self.current.as_ref().map_or(0, |(_, writer)| writer.written());
        self.done.iter().map(|segment| segment.bytes).sum::<u64>() + current
    }
}

/// Cuts a segment's file after its last whole message.
fn cut(segment: &Segment) -> io::Result<()> {
    OpenOptions::new().write(true).open(&segment.path)?.set_len(segment.bytes)
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
        match input {
            Input::End(closing) => flight.end_ns = closing.at_ns,
            Input::Note(note) => flight.mark = Some(note.clone()),
            _ => flight.end_ns = event.map_or(flight.end_ns, Event::at_ns),
        }
        flight.write(|writer| writer.push(input, event));
    }

    fn tick(&mut self, now_ns: u64) {
        self.borrow_mut().write(|writer| writer.tick(now_ns));
    }

    fn finish(&mut self) -> Option<String> {
        self.borrow_mut().finish()
    }
}
