//! Bytes of the ring to events: the only place that knows how records are laid out.
//!
//! Any bytes give an event or an error, never a panic. Unknown kinds of descriptors and unknown syscalls are values; what
//! can't be read at all is an error that the caller counts as skipped.

use fdtide_abi::config::{NR_COMPAT, NR_HIDDEN};
use fdtide_abi::event::{self as abi, Record, exec_flag, record, table_reason};
use fdtide_abi::table::{
    self as abi_table, NO_NUMBER, ProcRow, THREADS, TableHead, ThreadMark, UNSETTLED, UNSURE, flag, proc_flag, scope,
};

use super::{
    Ended, Errno, Event, Exec, Exit, Failure, Group, Head, Held, Kinds, Mark, Move, Name, Proc, ProcId, Process,
    Reason, Removed, Seen, Spawner, Syscall, TableId, census_decode,
};

/// Longest path that a record has room for, bytes. A path of this length may have been cut.
pub const PATH_MAX: usize = abi::FILENAME - 1;

/// Why a record could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Not even a header.
    #[error("record of {len} bytes has no header")]
    NoHeader {
        /// Bytes there were.
        len: usize,
    },
    /// The record is from a version that knows more.
    #[error("record of unknown kind {kind}")]
    UnknownKind {
        /// Its kind.
        kind: u32,
    },
    /// The record's length is not that of its kind in this version.
    #[error("record of kind {kind} has {len} bytes and says {said}, not {need}")]
    Length {
        /// Its kind.
        kind: u32,
        /// Bytes there were.
        len: usize,
        /// Bytes that its header tells.
        said: u32,
        /// Bytes that this version expects.
        need: usize,
    },
    /// A table record gives no reason that this version knows.
    #[error("table record with unknown reason {reason}")]
    UnknownReason {
        /// Its reason.
        reason: u32,
    },
    /// A census record gives no reason that this version knows.
    #[error("census record with unknown reason {reason}")]
    UnknownCensus {
        /// Its reason.
        reason: u32,
    },
}

/// One record's bytes to one event. Bytes after the record's end (the ring rounds up) are ignored.
pub fn decode(bytes: &[u8]) -> Result<Event, DecodeError> {
    let header: abi::Header = read(bytes).ok_or(DecodeError::NoHeader { len: bytes.len() })?;
    let at_ns = header.at_ns;
    match header.kind {
        record::PROC => {
            let raw: abi::ProcRecord = body(bytes, header)?;
            let process = process(&raw.row);
            Ok(Event::Proc(Box::new(Proc { at_ns, process, live: raw.live, soft: raw.soft })))
        }
        record::EXEC => Ok(Event::Exec(Box::new(exec(&body(bytes, header)?)))),
        record::EXIT => {
            let raw: abi::ExitRecord = body(bytes, header)?;
            Ok(Event::Exit(Box::new(Ended {
                at_ns,
                process: process(&raw.row),
                exit: Exit::from_wait(raw.exit_code),
                table: (raw.has_table != 0).then(|| head(&raw.table, None)),
            })))
        }
        record::REMOVED => {
            let raw: abi::ExitRecord = body(bytes, header)?;
            let table = (raw.has_table != 0).then(|| head(&raw.table, None));
            Ok(Event::Removed(Box::new(Removed { at_ns, process: process(&raw.row), table })))
        }
        record::TABLE => {
            let raw: abi::TableRecord = body(bytes, header)?;
            let reason = match raw.reason {
                table_reason::LEFT => Reason::Left,
                table_reason::REPLACED => Reason::Replaced,
                table_reason::SNAPSHOT => Reason::Snapshot,
                table_reason::CREST => Reason::Crest,
                reason => return Err(DecodeError::UnknownReason { reason }),
            };
            Ok(Event::Table(Box::new(Seen { at_ns, reason, table: head(&raw.table, None) })))
        }
        record::MOVE => {
            let raw: abi::MoveRecord = body(bytes, header)?;
            Ok(Event::Move(Box::new(Move {
                at_ns,
                process: process(&raw.row),
                from: TableId(raw.from_id),
                to: TableId(raw.to_id),
                tid: raw.tid,
                live: raw.live,
            })))
        }
        record::CENSUS => census_decode::census(&body(bytes, header)?),
        record::DESCRIPTOR => Ok(Event::Descriptor(Box::new(census_decode::descriptor(&body(bytes, header)?)))),
        record::SLOT => Ok(Event::Slot(census_decode::slot(&body(bytes, header)?))),
        kind => Err(DecodeError::UnknownKind { kind }),
    }
}

/// The record of an exec as it would be if only the exec itself had made its process known: without its spawner, who is not
/// to be told of. None for other records.
#[must_use]
pub fn without_spawner(bytes: &[u8]) -> Option<Vec<u8>> {
    let header: abi::Header = read(bytes)?;
    if header.kind != record::EXEC {
        return None;
    }
    let mut raw: abi::ExecRecord = body(bytes, header).ok()?;
    raw.flags &= !(exec_flag::HAS_SPAWNER | exec_flag::SELF);
    raw.row.flags &= !proc_flag::SPAWNER_KNOWN;
    raw.row.flags |= proc_flag::TARGET | proc_flag::CAUGHT;
    // SAFETY: integers without padding, by the trait's contract.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const raw).cast::<u8>(), size_of::<abi::ExecRecord>()) };
    Some(bytes.to_vec())
}

/// The value at the start of the bytes, if there are enough.
fn read<T: Record>(bytes: &[u8]) -> Option<T> {
    let bytes = bytes.get(..size_of::<T>())?;
    // SAFETY: as many bytes as the type has, every bit pattern is a value of a `Record`, alignment is not asked for.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

fn body<T: Record>(bytes: &[u8], header: abi::Header) -> Result<T, DecodeError> {
    let need = size_of::<T>();
    let error = DecodeError::Length { kind: header.kind, len: bytes.len(), said: header.len, need };
    if header.len as usize != need {
        return Err(error);
    }
    read(bytes).ok_or(error)
}

fn exec(raw: &abi::ExecRecord) -> Exec {
    let has = |bit| raw.flags & bit != 0;
    Exec {
        at_ns: raw.header.at_ns,
        process: process(&raw.row),
        again: has(exec_flag::SELF),
        new_table: has(exec_flag::NEW_TABLE),
        old_tid: raw.old_tid,
        old_comm: Name::from_c(&raw.old_comm),
        path: Name::from_c(&raw.filename),
        live: raw.live,
        highest: number(raw.highest),
        soft: raw.soft,
        kinds: Kinds::from_counts(&raw.kinds),
        before: has(exec_flag::HAS_BEFORE).then(|| head(&raw.before, None)),
        spawner: has(exec_flag::HAS_SPAWNER).then(|| head(&raw.spawner, Some(raw.thread))),
    }
}

fn process(row: &ProcRow) -> Process {
    let has = |bit| row.flags & bit != 0;
    Process {
        id: ProcId { start_ns: row.start_ns, pid: row.tgid },
        ns_pid: row.ns_tgid,
        table: table_id(row.table_id),
        comm: Name::from_c(&row.comm),
        target: has(proc_flag::TARGET),
        seeded: has(proc_flag::SEEDED),
        caught: has(proc_flag::CAUGHT),
        group: Group { id: row.group & !UNSURE, unsure: row.group & UNSURE != 0 },
        spawner: Spawner {
            id: ProcId { start_ns: row.spawner_start_ns, pid: row.spawner_tgid },
            tid: row.spawner_tid,
            table: table_id(row.spawner_table_id),
            comm: Name::from_c(&row.spawner_comm),
            thread: Name::from_c(&row.spawner_thread),
            known: has(proc_flag::SPAWNER_KNOWN),
        },
    }
}

/// Of all threads the one that held most.
fn most(threads: &[ThreadMark; THREADS]) -> &ThreadMark {
    threads.iter().rev().max_by_key(|thread| thread.high).unwrap_or(&threads[0])
}

/// A head, and whose mark its window is credited to, if the kernel says so.
fn head(raw: &TableHead, credited: Option<u32>) -> Head {
    let kinds = Kinds::from_counts(&raw.kinds);
    let mark = |mark: &abi_table::Mark, scope: u32| Mark {
        at_ns: mark.at_ns,
        live: mark.live,
        highest: number(mark.highest),
        soft: mark.soft,
        // While a scope's bit is set its composition is the current one.
        kinds: if raw.dirty & scope != 0 { kinds.clone() } else { Kinds::from_counts(&mark.kinds) },
    };
    let thread = credited.and_then(|index| raw.threads.get(index as usize)).unwrap_or_else(|| most(&raw.threads));
    Head {
        id: TableId(raw.id),
        first_ns: raw.first_ns,
        last_change_ns: raw.last_change_ns,
        window_start_ns: raw.window_start_ns,
        installs: raw.installs,
        closes: raw.closes,
        window_installs: raw.window_installs,
        window_closes: raw.window_closes,
        seeded: raw.flags & flag::SEEDED != 0,
        shared: raw.flags & flag::SHARED != 0,
        users: raw.users,
        owner: raw.owner,
        live: raw.live,
        highest: number(raw.highest),
        soft: raw.soft,
        settled: level(raw.settled),
        window_settled: level(raw.window_settled),
        window_floor: raw.window_floor,
        thread_high: thread.high,
        thread_tid: thread.tid,
        thread_comm: Name::from_c(&thread.comm),
        life: mark(&raw.life, scope::LIFE),
        image: mark(&raw.image, scope::IMAGE),
        window: mark(&raw.window, scope::WINDOW),
        crest: mark(&raw.crest, scope::CREST),
        crest_floor: raw.crest_floor,
        crest_from_ns: raw.crest_from_ns,
        crests: raw.crests,
        threads: held(&raw.threads),
        bad_closes: raw.bad_closes,
        kinds,
        failures: raw.failures.iter().take_while(|f| f.count != 0).map(failure).collect(),
        failures_other: raw.failures_other,
    }
}

fn failure(raw: &abi_table::Failure) -> Failure {
    Failure {
        first_ns: raw.first_ns,
        last_ns: raw.last_ns,
        count: raw.count,
        live: raw.live,
        soft: raw.soft,
        lowest_free: number(raw.lowest_free),
        in_use: raw.in_use,
        syscall: syscall(raw.nr),
        errno: Errno(raw.errno),
    }
}

pub(super) fn syscall(raw: u16) -> Syscall {
    Syscall { nr: raw & !(NR_COMPAT | NR_HIDDEN), compat: raw & NR_COMPAT != 0, hidden: raw & NR_HIDDEN != 0 }
}

/// Threads that held something, most first.
fn held(raw: &[ThreadMark; THREADS]) -> Vec<Held> {
    let mut threads: Vec<Held> = raw
        .iter()
        .filter(|thread| thread.tid != 0 && (thread.high != 0 || thread.held != 0))
        .map(|thread| Held { tid: thread.tid, comm: Name::from_c(&thread.comm), high: thread.high, held: thread.held })
        .collect();
    threads.sort_by_key(|thread| (std::cmp::Reverse(thread.high), thread.tid));
    threads
}

fn number(raw: u32) -> Option<u32> {
    (raw != NO_NUMBER).then_some(raw)
}

fn level(raw: u32) -> Option<u32> {
    (raw != UNSETTLED).then_some(raw)
}

fn table_id(raw: u64) -> Option<TableId> {
    (raw != 0).then_some(TableId(raw))
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
