//! State of one descriptor table, as the kernel program keeps it.

use crate::abi::kind::KINDS;

/// Descriptor numbers in one chunk.
pub const CHUNK_NUMBERS: usize = 1024;
/// Words of the bitmap of one chunk.
pub const CHUNK_WORDS: usize = CHUNK_NUMBERS / 64;
/// Chunks that are followed at most; with 1,024 numbers each this is the kernel's default `fs.nr_open`.
pub const MAX_CHUNKS: u32 = 1024;
/// Kinds of failure kept apart in one table.
pub const FAILURES: usize = 8;
/// Threads whose marks are kept apart in one table.
pub const THREADS: usize = 8;
/// Length of a task's name, with its terminating zero (`TASK_COMM_LEN`, include/linux/sched.h, v6.12).
pub const COMM: usize = 16;
/// No level has been still for the settle time.
pub const UNSETTLED: u32 = u32::MAX;
/// No such number.
pub const NO_NUMBER: u32 = u32::MAX;

/// Bits of a slot that hold kind + 1; 0 is a free number.
pub const SLOT_KIND: u32 = 0xff;
/// Where the opener's thread id starts in a slot; 0 for what was there before the table was first seen.
pub const SLOT_TID_SHIFT: u32 = 8;
/// In place of a thread id: it is not known who opened it. Above every thread id.
pub const UNCREDITED: u32 = 0xff_ffff;

/// Greatest number of live descriptors in a stated scope, and what the table looked like then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Mark {
    /// Boot time at which it was reached, nanoseconds.
    pub at_ns: u64,
    /// Live descriptors.
    pub live: u32,
    /// Greatest number in use so far in the scope.
    pub highest: u32,
    /// Soft limit in force, descriptors.
    pub soft: u32,
    /// Always 0.
    pub spare: u32,
    /// Live descriptors by kind; stale while the scope's bit in [`TableHead::dirty`] is set.
    pub kinds: [u32; KINDS],
}
crate::assert_packed!(Mark, 24 + 4 * KINDS);

/// Failures of one syscall with one error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Failure {
    /// Boot time of the first, nanoseconds.
    pub first_ns: u64,
    /// Boot time of the last, nanoseconds.
    pub last_ns: u64,
    /// How many.
    pub count: u32,
    /// Live descriptors at the first.
    pub live: u32,
    /// Soft limit at the first.
    pub soft: u32,
    /// Lowest free number at the first; [`NO_NUMBER`] if it was not found among the first 1,024.
    pub lowest_free: u32,
    /// Numbers in use at the first, reserved ones included, among the first 1,024.
    pub in_use: u32,
    /// Syscall number, with [`crate::config::NR_COMPAT`] and [`crate::config::NR_HIDDEN`].
    pub nr: u16,
    /// Positive errno.
    pub errno: u16,
}
crate::assert_packed!(Failure, 40);

/// What one thread held at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ThreadMark {
    /// Boot time at which it began to let go of what it held, nanoseconds; 0 while it still takes.
    pub done_ns: u64,
    /// The thread; 0 for none.
    pub tid: u32,
    /// Most descriptors that it had opened and that were open at once, counted when it opens, since an exec was last
    /// credited to it.
    pub high: u32,
    /// Descriptors that it has opened and that are open now.
    pub held: u32,
    /// Always 0.
    pub spare: u32,
    /// Its name.
    pub comm: [u8; COMM],
}
crate::assert_packed!(ThreadMark, 24 + COMM);

/// Scopes of a mark, bits of [`TableHead::dirty`].
pub mod scope {
    /// Since the table was first seen.
    pub const LIFE: u32 = 1;
    /// Since the image's exec, or first sight.
    pub const IMAGE: u32 = 2;
    /// Since the last exec of a child, or first sight.
    pub const WINDOW: u32 = 4;
    /// Since the last crest.
    pub const CREST: u32 = 8;
}

/// Bits of [`TableHead::flags`].
pub mod flag {
    /// The table existed before it was first seen: what happened earlier is unknown.
    pub const SEEDED: u32 = 1;
    /// It is a copy of a table that changed meanwhile: every slot is to be looked at again.
    pub const RECHECK: u32 = 2;
    /// More than one process uses or used it at a time.
    pub const SHARED: u32 = 4;
    /// Numbers above the first 1,024 are counted, but there was no room for their slots: it is seeded anew at the next look.
    pub const INCOMPLETE: u32 = 8;
    /// There has been no room since it was first seen: its marks begin at the next look.
    pub const UNSEEN: u32 = 16;
    /// One thread of a process has it for itself.
    pub const THREAD: u32 = 32;
}

/// Everything about a table but its slots. Shipped whole in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct TableHead {
    /// Identity, never reused; the address is.
    pub id: u64,
    /// Address of the `files_struct`.
    pub files: u64,
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
    /// Boot time at which the table was last at the floor of the present crest, nanoseconds.
    pub crest_from_ns: u64,
    /// 1 while a handler works on it.
    pub lock: u32,
    /// Changes so far, wrapping: tells a copier that the original moved.
    pub changes: u32,
    /// [`flag`] bits.
    pub flags: u32,
    /// [`scope`] bits: marks whose composition is the current one.
    pub dirty: u32,
    /// Traced processes that use it.
    pub users: u32,
    /// Process that it was first seen with.
    pub owner: u32,
    /// Live descriptors now.
    pub live: u32,
    /// Greatest number in use now.
    pub highest: u32,
    /// Soft limit as last read, descriptors.
    pub soft: u32,
    /// Last level that was still for the settle time; [`UNSETTLED`] if none was.
    pub settled: u32,
    /// Last such level in the spawn window.
    pub window_settled: u32,
    /// Least `live` in the spawn window.
    pub window_floor: u32,
    /// Failures beyond the kinds kept apart.
    pub failures_other: u32,
    /// Chunks above the first that hold numbers: the greatest index.
    pub top_chunk: u32,
    /// Least `live` since the last crest: what the present one rises from.
    pub crest_floor: u32,
    /// Crests so far: rises that have fallen again by half.
    pub crests: u32,
    /// Live descriptors at the last census of a crest; 0 if there was none.
    pub census_live: u32,
    /// Close attempts on numbers that were not in use.
    pub bad_closes: u32,
    /// Censuses taken so far.
    pub censuses: u32,
    /// Always 0.
    pub spare: u32,
    /// Threads and what they held at most, at `tid % THREADS`: of threads that fall together, the one that held more.
    pub threads: [ThreadMark; THREADS],
    /// Live by kind now.
    pub kinds: [u32; KINDS],
    /// Mark since first sight.
    pub life: Mark,
    /// Mark in the image.
    pub image: Mark,
    /// Mark in the spawn window.
    pub window: Mark,
    /// Mark since the last crest: the top of the present one.
    pub crest: Mark,
    /// Failures so far, first come, first kept; `count` 0 ends the list.
    pub failures: [Failure; FAILURES],
}
crate::assert_packed!(
    TableHead,
    10 * 8
        + 20 * 4
        + THREADS * size_of::<ThreadMark>()
        + 4 * KINDS
        + 4 * size_of::<Mark>()
        + FAILURES * size_of::<Failure>()
);

/// Slots of 1,024 consecutive numbers.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Chunk {
    /// Bit set: the number is counted as live.
    pub mask: [u64; CHUNK_WORDS],
    /// 0 for a free number; else kind + 1 and the opener's thread id.
    pub slots: [u32; CHUNK_NUMBERS],
}
crate::assert_packed!(Chunk, 8 * CHUNK_WORDS + 4 * CHUNK_NUMBERS);

/// One table.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TableState {
    /// All but the slots.
    pub head: TableHead,
    /// Numbers 0 to 1,023.
    pub first: Chunk,
}

const _: () = assert!(size_of::<TableState>() <= 6 * 1024, "a table of 1,024 numbers costs at most 6 KiB");

/// What is kept beside the slots of 1,024 consecutive numbers, where it is asked for.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Extras {
    /// Boot time of the install, nanoseconds; 0 if not known.
    pub opened: [u64; CHUNK_NUMBERS],
    /// Identity of the opener's user stack plus 1; 0 for none.
    pub stack: [u32; CHUNK_NUMBERS],
}
crate::assert_packed!(Extras, 12 * CHUNK_NUMBERS);

/// Frames of a user stack that are kept, innermost first.
pub const FRAMES: usize = 24;

/// One frame as the kernel keeps it (`struct bpf_stack_build_id`, include/uapi/linux/bpf.h, v6.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RawFrame {
    /// 0 for the end, 1 with a build id and an offset in the file, 2 with an address alone.
    pub status: i32,
    /// The file's build id.
    pub build_id: [u8; 20],
    /// Offset in the file, or the address.
    pub at: u64,
}
crate::assert_packed!(RawFrame, 32);

/// Key of a chunk above the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ChunkKey {
    /// Address of the `files_struct`.
    pub files: u64,
    /// Number / 1,024; at least 1.
    pub index: u64,
}
crate::assert_packed!(ChunkKey, 16);

/// Key of what one thread holds in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HeldKey {
    /// Address of the `files_struct`.
    pub files: u64,
    /// Thread id.
    pub tid: u64,
}
crate::assert_packed!(HeldKey, 16);

/// Bits of [`ProcRow::flags`].
pub mod proc_flag {
    /// Named by the user.
    pub const TARGET: u32 = 1;
    /// Existed before the hooks were attached.
    pub const SEEDED: u32 = 2;
    /// Has gone through an exec under trace.
    pub const EXECED: u32 = 4;
    /// Its spawner is followed too.
    pub const SPAWNER_KNOWN: u32 = 8;
    /// It is under a seccomp filter with a listener.
    pub const NOTIFIED: u32 = 16;
    /// It is the command of `fdtide run`, and waits for its first exec.
    pub const WAITING: u32 = 32;
    /// It was not traced before its exec, which showed that it is a target.
    pub const CAUGHT: u32 = 64;
}

/// Bit of [`ProcRow::group`]: the kernel could not tell whether the group is meant; the agent decides.
pub const UNSURE: u32 = 0x8000_0000;

/// Bit of a key of decisions that names one process by its id, and not a group.
pub const ALONE: u64 = 1 << 32;

/// What the agent has decided of a group, or of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Decision {
    /// 1 if its processes are traced no longer.
    pub leave: u32,
    /// Else the group that they belong to from now on.
    pub group: u32,
}
crate::assert_packed!(Decision, 8);

/// Values of [`Wanted::kind`].
pub mod wanted {
    /// A name of a process, with zeros at its end.
    pub const COMM: u32 = 1;
    /// A real user id, in the first four bytes.
    pub const UID: u32 = 2;
    /// The identity of a version 2 cgroup, in the first eight bytes: processes in it, and below.
    pub const CGROUP: u32 = 4;
    /// Not a kind of key, but a bit of the switch beside the others: what no key fits is traced until the agent has decided.
    pub const UNSURE: u32 = 8;
}

/// What makes a process a target at its exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Wanted {
    /// [`wanted`].
    pub kind: u64,
    /// What it must be.
    pub value: [u8; COMM],
}
crate::assert_packed!(Wanted, 8 + COMM);

/// A traced process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ProcRow {
    /// Boot time at which its leader started, nanoseconds; with `tgid` its identity.
    pub start_ns: u64,
    /// Address of the table that the process uses.
    pub files: u64,
    /// Identity of that table; 0 while it could not be followed.
    pub table_id: u64,
    /// `self_exec_id`: counts execs in this task.
    pub exec_id: u64,
    /// Start of the process that forked it.
    pub spawner_start_ns: u64,
    /// Table of the forking thread.
    pub spawner_files: u64,
    /// Its identity.
    pub spawner_table_id: u64,
    /// Sum of the numbers that the listeners of its seccomp filters will give away next, when the table was last read anew.
    pub notified: u64,
    /// Process id in the initial namespace.
    pub tgid: u32,
    /// Process id in its own namespace.
    pub ns_tgid: u32,
    /// [`proc_flag`] bits.
    pub flags: u32,
    /// Process that forked it.
    pub spawner_tgid: u32,
    /// Thread that forked it.
    pub spawner_tid: u32,
    /// 1 once its end is being told.
    pub ended: u32,
    /// Identity of the target whose tree it belongs to, never reused; with [`UNSURE`] that of an exec that is not decided yet.
    pub group: u32,
    /// Always 0.
    pub spare: u32,
    /// Its name.
    pub comm: [u8; COMM],
    /// Name of the process that forked it, at that time.
    pub spawner_comm: [u8; COMM],
    /// Name of the thread that forked it, at that time.
    pub spawner_thread: [u8; COMM],
}
crate::assert_packed!(ProcRow, 8 * 8 + 8 * 4 + 3 * COMM);
