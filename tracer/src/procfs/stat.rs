//! `/proc/PID/stat`, and which processes there are.

use std::{fs, io, path::Path};

use super::file;

/// Nanoseconds of one unit of the times in `stat` (`USER_HZ`, include/asm-generic/param.h, v6.12).
const TICK_NS: u64 = 10_000_000;
/// A kernel thread (`PF_KTHREAD`, include/linux/sched.h, v6.12).
const PF_KTHREAD: u64 = 0x0020_0000;

/// The part of `stat` that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its state: `R`, `S`, `Z` and so on.
    pub state: u8,
    /// Its parent.
    pub parent: u32,
    /// It runs in the kernel alone.
    pub kernel_thread: bool,
    /// When it started, units of 10 ms since boot.
    ticks: u64,
}

impl Stat {
    /// Of this process; none if it has gone.
    #[must_use]
    pub fn of(root: &Path, pid: u32) -> Option<Stat> {
        parse(&fs::read(file(root, pid, "stat")).ok()?)
    }

    /// Whether it can be traced: it has a table of its own, or may have.
    #[must_use]
    pub fn runs(&self) -> bool {
        !self.kernel_thread && !matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Whether it started at this moment, boot time in nanoseconds, and is not a later one with the same id.
    #[must_use]
    pub fn started_at(&self, start_ns: u64) -> bool {
        self.ticks == start_ns / TICK_NS
    }
}

fn parse(text: &[u8]) -> Option<Stat> {
    // The name may hold anything, closing brackets too.
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(name_end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    // Fields from here on: 5 is pgrp, 9 the flags, 22 the start (Documentation/filesystems/proc.rst, v6.12).
    let flags: u64 = fields.nth(4)?.parse().ok()?;
    let ticks = fields.nth(12)?.parse().ok()?;
    Some(Stat { state, parent, kernel_thread: flags & PF_KTHREAD != 0, ticks })
}

/// Every process that there is now, lowest id first.
///
/// # Errors
///
/// When `/proc` can't be read.
pub fn pids(root: &Path) -> io::Result<Vec<u32>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir(root.join("proc"))? {
        pids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    pids.sort_unstable();
    Ok(pids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_real_line_are_found_behind_a_hostile_name() {
        let line = b"4242 (a) R (b) S 17 4242 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 123456 99 1 0";
        let stat = parse(line).unwrap();
        assert_eq!((stat.state, stat.parent, stat.kernel_thread), (b'S', 17, false));
        assert!(stat.started_at(1_234_560_000_000) && stat.started_at(1_234_569_999_999));
        assert!(!stat.started_at(1_234_570_000_000));
    }

    #[test]
    fn kernel_threads_and_zombies_do_not_run() {
        let kernel = parse(b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 3 0").unwrap();
        let zombie = parse(b"9 (x) Z 1 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 3 0").unwrap();
        assert!(kernel.kernel_thread && !kernel.runs() && !zombie.runs());
        assert_eq!(parse(b"9 (x"), None);
    }

    #[test]
    fn this_process_is_among_those_that_there_are() {
        let own = std::process::id();
        assert!(pids(Path::new("/")).unwrap().contains(&own));
        assert!(Stat::of(Path::new("/"), own).unwrap().runs());
    }
}
