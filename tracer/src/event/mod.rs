//! What the kernel reports, as plain Rust types.
//!
//! [`decode::decode`] turns the bytes of one record into one [`Event`]. Times are boot time in nanoseconds, counts are
//! descriptors. Nothing here knows how a record is laid out; that is `fdtide_abi`, used by `decode` alone.

mod census;
mod census_decode;
pub mod decode;
mod exit;
pub mod kind_name;
mod kinds;
mod name;
mod place;
mod syscall;

pub use census::{Census, CensusReason, Descriptor, Frame, Opener, Slot, Socket, SocketState, Stack};
pub use decode::{DecodeError, decode};
pub use exit::Exit;
pub use fdtide_abi::Kind;
pub use kinds::Kinds;
pub use name::{Name, visible};
pub use place::{Container, Place};
pub use syscall::{Errno, Syscall};

/// Something that happened in the traced tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A process is followed from now on.
    Proc(Box<Proc>),
    /// A process has gone through an exec.
    Exec(Box<Exec>),
    /// A process has ended.
    Exit(Box<Ended>),
    /// A table as it is, or was at its end.
    Table(Box<Seen>),
    /// A task uses another table from now on.
    Move(Box<Move>),
    /// A census has been taken; its rows came before.
    Census(Census),
    /// One row of a census.
    Descriptor(Box<Descriptor>),
    /// One descriptor has come or gone.
    Slot(Slot),
    /// A user stack that rows of a census name.
    Stack(Box<Stack>),
    /// A process is traced no longer, and runs on.
    Removed(Box<Removed>),
    /// A process is in a container.
    Place(Box<Place>),
}

impl Event {
    /// Boot time, nanoseconds.
    pub fn at_ns(&self) -> u64 {
        match self {
            Event::Proc(event) => event.at_ns,
            Event::Exec(event) => event.at_ns,
            Event::Exit(event) => event.at_ns,
            Event::Table(event) => event.at_ns,
            Event::Move(event) => event.at_ns,
            Event::Census(event) => event.at_ns,
            Event::Descriptor(event) => event.at_ns,
            Event::Slot(event) => event.at_ns,
            Event::Stack(event) => event.at_ns,
            Event::Removed(event) => event.at_ns,
            Event::Place(event) => event.at_ns,
        }
    }
}

/// Identity of a process: its id is reused, id and start are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcId {
    /// Boot time at which its leader started, nanoseconds.
    pub start_ns: u64,
    /// Process id in the initial namespace.
    pub pid: u32,
}

/// Identity of a descriptor table; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u64);

/// A traced process as it was at an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Who it is.
    pub id: ProcId,
    /// Process id in its own namespace.
    pub ns_pid: u32,
    /// The table that it uses; `None` while that could not be followed.
    pub table: Option<TableId>,
    /// Its name.
    pub comm: Name,
    /// Named by the user.
    pub target: bool,
    /// Existed before the hooks were attached.
    pub seeded: bool,
    /// Traced since an exec that made it a target.
    pub caught: bool,
    /// The tree that it belongs to.
    pub group: Group,
    /// Who forked it.
    pub spawner: Spawner,
}

/// Processes that are traced for one target's sake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// Its identity, never reused.
    pub id: u32,
    /// The kernel could not tell whether it is meant.
    pub unsure: bool,
}

/// Who forked a process, as it was at the fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawner {
    /// The process.
    pub id: ProcId,
    /// The forking thread.
    pub tid: u32,
    /// The forking thread's table.
    pub table: Option<TableId>,
    /// Name of the process.
    pub comm: Name,
    /// Name of the forking thread.
    pub thread: Name,
    /// It is followed too.
    pub known: bool,
}

/// Greatest number of live descriptors in some scope, and what the table looked like then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Boot time at which it was reached, nanoseconds.
    pub at_ns: u64,
    /// Live descriptors.
    pub live: u32,
    /// Greatest number in use so far in the scope.
    pub highest: Option<u32>,
    /// Soft limit in force, descriptors.
    pub soft: u32,
    /// Live descriptors by kind.
    pub kinds: Kinds,
}

/// Failures of one syscall with one error in one table, since the table was first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Boot time of the first, nanoseconds.
    pub first_ns: u64,
    /// Boot time of the last, nanoseconds.
    pub last_ns: u64,
    /// How many.
    pub count: u32,
    /// Live descriptors at the first.
    pub live: u32,
    /// Soft limit at the first, descriptors.
    pub soft: u32,
    /// Lowest free number at the first, if it was found among the first 1,024.
    pub lowest_free: Option<u32>,
    /// Numbers in use at the first, reserved ones included, among the first 1,024.
    pub in_use: u32,
    /// What was called.
    pub syscall: Syscall,
    /// What it answered.
    pub errno: Errno,
}

/// Everything about a table at one moment, but its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Which table.
    pub id: TableId,
    /// Boot time of first sight, nanoseconds.
    pub first_ns: u64,
    /// Boot time of the last change of `live`, nanoseconds.
    pub last_change_ns: u64,
    /// Start of the spawn window, nanoseconds.
    pub window_start_ns: u64,
    /// Descriptors that appeared since first sight.
    pub installs: u64,
    /// Descriptors that went since first sight.
    pub closes: u64,
    /// `installs` when the spawn window began.
    pub window_installs: u64,
    /// `closes` when the spawn window began.
    pub window_closes: u64,
    /// It existed before it was first seen.
    pub seeded: bool,
    /// More than one process uses it, or used it at a time.
    pub shared: bool,
    /// Traced processes that use it.
    pub users: u32,
    /// Process that it was first seen with.
    pub owner: u32,
    /// Live descriptors.
    pub live: u32,
    /// Greatest number in use.
    pub highest: Option<u32>,
    /// Soft limit as last read, descriptors.
    pub soft: u32,
    /// Last level that was still for the settle time.
    pub settled: Option<u32>,
    /// Last such level in the spawn window.
    pub window_settled: Option<u32>,
    /// Least `live` in the spawn window.
    pub window_floor: u32,
    /// Most descriptors held at once by one thread that opened them, in the spawn window.
    pub thread_high: u32,
    /// That thread.
    pub thread_tid: u32,
    /// Its name.
    pub thread_comm: Name,
    /// Live descriptors by kind.
    pub kinds: Kinds,
    /// Mark since first sight.
    pub life: Mark,
    /// Mark since the image's exec, or first sight.
    pub image: Mark,
    /// Mark in the spawn window.
    pub window: Mark,
    /// Top of the present crest: the mark since the last crest.
    pub crest: Mark,
    /// Least `live` since the last crest: what the present one rises from.
    pub crest_floor: u32,
    /// Boot time at which it was last at that floor, nanoseconds.
    pub crest_from_ns: u64,
    /// Crests so far: rises that have fallen again by half.
    pub crests: u32,
    /// What each thread held at most since an exec was last credited to it, most first.
    pub threads: Vec<Held>,
    /// Close attempts on numbers that were not in use.
    pub bad_closes: u32,
    /// Failures so far, each kind once.
    pub failures: Vec<Failure>,
    /// Failures beyond the kinds that are kept apart.
    pub failures_other: u32,
}

/// What one thread held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The thread.
    pub tid: u32,
    /// Its name.
    pub comm: Name,
    /// Most descriptors that it had opened and that were open at once.
    pub high: u32,
    /// Descriptors that it has opened and that are open now.
    pub held: u32,
}

/// A process is followed from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proc {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// The process.
    pub process: Process,
    /// Its live descriptors.
    pub live: u32,
    /// Soft limit, descriptors.
    pub soft: u32,
}

/// A process has gone through an exec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// The process after the exec, with its spawner.
    pub process: Process,
    /// It had an exec before this one, or was there at attach: it is its own spawner.
    pub again: bool,
    /// It got a table of its own at this exec.
    pub new_table: bool,
    /// Thread that called exec.
    pub old_tid: u32,
    /// Name of the process before.
    pub old_comm: Name,
    /// Path handed to exec, cut at [`decode::PATH_MAX`] bytes.
    pub path: Name,
    /// Live descriptors that the image starts with.
    pub live: u32,
    /// Greatest number among them.
    pub highest: Option<u32>,
    /// Soft limit, descriptors.
    pub soft: u32,
    /// What the image starts with, by kind.
    pub kinds: Kinds,
    /// The process's own table before the exec closed anything.
    pub before: Option<Head>,
    /// The spawner's table; its spawn window ends here.
    pub spawner: Option<Head>,
}

/// A process has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// The process.
    pub process: Process,
    /// How it ended.
    pub exit: Exit,
    /// Its table before teardown; it has ended too if nobody uses it any more.
    pub table: Option<Head>,
}

/// A process is traced no longer, and runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// The process.
    pub process: Process,
    /// Its table at that moment; it is followed no longer either if nobody else uses it.
    pub table: Option<Head>,
}

/// Why a table is reported by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The last traced user left it for another table.
    Left,
    /// Another table was made at the same address; the end of this one was not seen.
    Replaced,
    /// It is still there: looked at by the agent.
    Snapshot,
    /// Its crest has fallen by half; the head shows the crest.
    Crest,
}

/// A table as it is, or was at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// Why.
    pub reason: Reason,
    /// The table.
    pub table: Head,
}

/// A task uses another table from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// The process, with its table after the move.
    pub process: Process,
    /// The table before.
    pub from: TableId,
    /// The table after.
    pub to: TableId,
    /// The thread.
    pub tid: u32,
    /// Live descriptors in the new table.
    pub live: u32,
}
