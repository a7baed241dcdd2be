//! Room on the disk: when there is none, recording pauses, says so, and goes on when there is some again.

use std::{io, mem, os::unix::ffi::OsStrExt as _, path::Path};

use super::Flight;
use crate::model::Pause;

/// How often the room is looked at, nanoseconds.
const LOOK_NS: u64 = 1_000_000_000;
/// After a failure it is tried again at least so much later, nanoseconds.
const RETRY_NS: u64 = 5_000_000_000;

/// What is known of the room, and of pauses for the lack of it.
#[derive(Debug, Default)]
pub(super) struct Room {
    looked_ns: u64,
    /// Since when nothing is recorded, and why.
    paused: Option<(u64, String)>,
    pauses: u64,
    /// A pause that has ended and of which the trace has not been told.
    over: Option<Pause>,
}

impl Room {
    /// Whether it is time to look.
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        let due = now_ns.saturating_sub(self.looked_ns) >= LOOK_NS;
        if due {
            self.looked_ns = now_ns;
        }
        due
    }

    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    pub fn since_ns(&self) -> Option<u64> {
        self.paused.as_ref().map(|(since_ns, _)| *since_ns)
    }

    pub fn may_retry(&self, now_ns: u64) -> bool {
        self.since_ns().is_some_and(|since_ns| now_ns.saturating_sub(since_ns) >= RETRY_NS)
    }

    /// It is being recorded from now on.
    pub fn resumed(&mut self, now_ns: u64, folder: &Path) {
        let Some((from_ns, why)) = self.paused.take() else { return };
        let seconds = now_ns.saturating_sub(from_ns) as f64 / 1e9;
        log::warn!("recording below `{}` goes on after a pause of {seconds:.1} s", folder.display());
        self.over = Some(Pause { from_ns, to_ns: now_ns, why });
    }
}

impl Flight {
    /// Nothing more is recorded until there is room; what was recorded stays.
    pub(super) fn pause(&mut self, now_ns: u64, error: &io::Error) {
        if self.room.is_paused() {
            return;
        }
        log::warn!(
            "recording below `{}` pauses ({error}); it goes on when it can be written there again",
            self.folder.display()
        );
        if let Some((mut segment, mut writer)) = self.current.take() {
            // What waits is written where that is still possible.
            let _ = writer.flush();
            segment.bytes = writer.written();
            if let Err(error) = super::cut(&segment) {
                log::warn!("the segment `{}` may end in the middle of a row: {error}", segment.path.display());
            }
            self.done.push_back(segment);
        }
        self.room.paused = Some((now_ns, error.to_string()));
        self.room.pauses += 1;
    }

    /// A pause that has ended, for the trace, whose report and recording shall tell it. Each is given once.
    pub fn pause_over(&mut self) -> Option<Pause> {
        mem::take(&mut self.room.over)
    }

    /// Why nothing is recorded now, if that is so.
    #[must_use]
    pub fn paused(&self) -> Option<String> {
        self.room.paused.as_ref().map(|(_, why)| why.clone())
    }

    /// How often recording has paused.
    #[must_use]
    pub fn pauses(&self) -> u64 {
        self.room.pauses
    }

    /// An error if less room is left than others are to have.
    pub(super) fn enough_room(&self) -> io::Result<()> {
        self.room_for(0)
    }

    /// An error if so many bytes more would leave less room than others are to have.
    pub(super) fn room_for(&self, bytes: u64) -> io::Result<()> {
        let least = self.keep.min_free.saturating_add(bytes);
        // Where that can't be told, writing will tell.
        let free = free(&self.folder).unwrap_or(u64::MAX);
        if least == 0 || free >= least {
            return Ok(());
        }
        let text = format!("{} KiB are free, {} KiB are to be", free >> 10, least >> 10);
        Err(io::Error::new(io::ErrorKind::StorageFull, text))
    }
}

/// Whether it is for the lack of room that something could not be written.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Bytes that may still be written to the file system of a folder.
fn free(folder: &Path) -> io::Result<u64> {
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: plain integers; zero is a value of each.
    let mut found: libc::statvfs = unsafe { mem::zeroed() };
    // SAFETY: a path with its end, and a place for the result.
    if unsafe { libc::statvfs(path.as_ptr(), &raw mut found) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}
