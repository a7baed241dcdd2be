//! What is to be looked at: prepared by handlers, worked on by looks.

use fdtide_abi::{
    OFFSET_NONE,
    config::{RLIMIT_NOFILE, RLIMIT_SIZE},
    event::SlotRecord,
};

use crate::kernel::{
    maps::{Program, SCRATCH, Scratch},
    read::{Object, offset, peek},
};

/// What a look is about, and who is credited with what it finds.
#[derive(Clone, Copy, PartialEq)]
#[repr(u32)]
pub enum Scope {
    /// This number, and whatever else changed among its 1,024 neighbours; nobody is known to have opened it.
    Number,
    /// This number, which the caller has opened.
    Own,
    /// This number, which the caller has opened in place of what it held before.
    Replaced,
    /// Every number; nobody is known to have opened what is new.
    All,
    /// Every number; the caller has opened what is new.
    AllOwn,
    /// Every number, each slot anew: what took another's place shows too.
    Recheck,
    /// Every number, and what is found was there before the table was first seen.
    Seed,
    /// Every number, only for what has gone.
    Gone,
}

/// Bytes of a `struct file` or `struct inode` that are copied in one go.
pub(super) const WINDOW: usize = 128;
/// A window, with room behind it for a member that starts in its last byte: what the verifier takes for possible.
pub(super) type Window = [u64; WINDOW / 8 + 1];

/// What a handler wants looked at, and what the look is at: integers only, so that it can be handed to functions that the
/// verifier checks once, each on its own, and not in every place that they are called from. Working memory.
#[repr(C)]
pub struct Request {
    /// Address of the `files_struct`.
    pub(super) files: u64,
    /// Address of the `fd` array.
    pub(super) fd: u64,
    /// Address of the `open_fds` bitmap.
    pub(super) open: u64,
    /// Boot time, nanoseconds.
    pub(super) now: u64,
    /// Numbers that the table has room for.
    pub(super) max: u32,
    /// The thread that acts; 0 where it is not known.
    pub(super) tid: u32,
    /// Soft limit, descriptors.
    pub(super) soft: u32,
    /// Threads that may be changing the table: those of its process. More than one where that one goes on during the look.
    pub(super) threads: u32,
    /// [`Scope`].
    pub(super) scope: u32,
    /// The number, for the scopes that have one.
    pub(super) number: u32,
    /// Greatest number found in use; [`NO_NUMBER`] for none.
    pub(super) highest: u32,
    /// The thread credited with what comes: [`UNCREDITED`] where it is not known, 0 for what was there before.
    pub(super) credit: u32,
    /// What the file being looked at is, the number of its [`fdtide_abi::Kind`].
    pub(super) kind: u32,
    /// A census is due, and why.
    pub(super) census: u32,
    /// Address of the `close_on_exec` bitmap; 0 if it is not known where that is.
    pub(super) cloexec: u64,
    /// Identity of the caller's user stack plus 1; 0 for none.
    pub(super) stack: u32,
    /// Lowest free number, as [`crate::kernel::failed::fdtide_room`] found it.
    pub(super) lowest_free: u32,
    /// Numbers in use, reserved ones included, as it found them.
    pub(super) in_use: u32,
    /// Whether the marks have kept what they are made of before this look, [`crate::kernel::mark::fdtide_keep`].
    pub(super) kept: u32,
    /// Always 0.
    pub(super) spare: u32,
    /// A record of one descriptor being made.
    pub(super) slot: SlotRecord,
    /// Start of the kernel object being classified.
    pub(super) window: Window,
}

/// Prepares a look at `files` in the working memory of `program`, a [`crate::kernel::maps::Program`]. None if the kernel has taken the table away meanwhile.
#[inline(always)]
pub fn request(program: u32, task: Object, files: Object, tid: u32, now: u64) -> Option<*mut Scratch> {
    let fdt = files.follow(offset!(files_fdt));
    if fdt.is_null() {
        return None;
    }
    let scratch = SCRATCH.get_ptr_mut(program)?;
    // SAFETY: a valid per-CPU map value. Newer kernels give pointers to integers a type too; it is lost on the way through
    // memory, and what is read back is a number.
    unsafe {
        let request = &raw mut (*scratch).request;
        (*request).files = files.address();
        (*request).fd = fdt.follow(offset!(fdt_fd)).address();
        (*request).open = fdt.follow(offset!(fdt_open)).address();
        (*request).now = now;
        (*request).max = fdt.load(offset!(fdt_max));
        (*request).tid = tid;
        let signal = task.follow(offset!(task_signal));
        (*request).soft = loaded_limit(signal);
        (*request).threads =
            if program == Program::Walk as u32 { u32::MAX } else { signal.load(offset!(signal_threads)) };
        (*request).census = 0;
        (*request).cloexec = match offset!(fdt_cloexec) {
            OFFSET_NONE => 0,
            offset => fdt.follow(offset).address(),
        };
        Some(scratch)
    }
}

/// Where the soft limit on descriptors is among the limits.
const SOFT: u32 = (RLIMIT_NOFILE * RLIMIT_SIZE) as u32;

/// Soft limit on descriptors of a task's process. A function of its own for its stack.
#[inline(never)]
pub fn soft_limit(task: Object) -> u32 {
    limit(peek(task.holds(offset!(task_signal)) + u64::from(SOFT + offset!(signal_rlim))).unwrap_or(0))
}

/// Soft limit on descriptors of a process, by its `signal_struct`.
#[inline(always)]
pub fn loaded_limit(signal: Object) -> u32 {
    limit(signal.load(SOFT + offset!(signal_rlim)))
}

/// A limit as descriptors are counted.
#[inline(always)]
fn limit(soft: u64) -> u32 {
    if soft > u64::from(u32::MAX) { u32::MAX } else { soft as u32 }
}

/// Threads of a task's process. A function of its own for its stack.
#[inline(never)]
pub fn threads(task: Object) -> u32 {
    peek(task.holds(offset!(task_signal)) + u64::from(offset!(signal_threads))).unwrap_or(0)
}

/// Those of them that have not ended. A function of its own for its stack.
#[inline(never)]
pub fn live_threads(task: Object) -> u32 {
    peek(task.holds(offset!(task_signal)) + u64::from(offset!(signal_live))).unwrap_or(0)
}
