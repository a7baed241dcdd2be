//! Who is traced.

use aya_ebpf::helpers::{bpf_get_current_pid_tgid, generated::bpf_probe_read_kernel};
use fdtide_abi::{
    Counter, OFFSET_NONE, ProcRow,
    control::Switch,
    table::{COMM, UNSURE, proc_flag},
};

use crate::kernel::{
    maps::{EVER, LAST_ID, PROCS, Program, SCRATCH, count, insert, turn_on},
    read::{Object, clear, copy, fetch_add, offset, peek, set_bits},
};

/// A kernel thread (`PF_KTHREAD`, include/linux/sched.h, v6.12).
pub const PF_KTHREAD: u32 = 0x0020_0000;
/// A worker of io_uring (`PF_IO_WORKER`, include/linux/sched.h, v6.12).
pub const PF_IO_WORKER: u32 = 0x0000_0010;
/// Forked, and not woken for the first time (`TASK_NEW`, include/linux/sched.h, v6.12).
pub const TASK_NEW: u32 = 0x0000_0800;
/// In a syscall of the 32-bit table (`TS_COMPAT`, arch/x86/include/asm/thread_info.h, v6.12).
pub const TS_COMPAT: u32 = 2;

/// Whether the current process can be one that is traced: mostly not, and then a look at its row would cost it more than this.
#[inline(always)]
pub fn may_be_traced() -> bool {
    let tgid = (bpf_get_current_pid_tgid() >> 32) as u32;
    EVER.get(tgid / u64::BITS).is_none_or(|bits| bits & (1 << (tgid % u64::BITS)) != 0)
}

/// The row of this task's process, if it is traced.
#[inline(always)]
pub fn find(task: Object) -> Option<*mut ProcRow> {
    let tgid: u32 = task.load(offset!(task_tgid));
    let row = PROCS.get_ptr_mut(tgid)?;
    let start: u64 = task.follow(offset!(task_leader)).load(offset!(task_start));
    // SAFETY: a valid map value.
    if unsafe { (*row).start_ns } != start {
        count(Counter::Stale);
        return None;
    }
    Some(row)
}

/// Thread id in the initial namespace.
#[inline(always)]
pub fn tid(task: Object) -> u32 {
    task.load(offset!(task_pid))
}

/// Process id in the initial namespace.
#[inline(always)]
pub fn tgid(task: Object) -> u32 {
    task.load(offset!(task_tgid))
}

/// A task's name.
#[inline(always)]
pub fn comm(task: Object, into: *mut [u8; COMM]) {
    // SAFETY: `into` has room for a name; the helper checks the source.
    unsafe { bpf_probe_read_kernel(into.cast(), COMM as u32, task.member(offset!(task_comm)).cast()) };
}

/// Name of the task at this address.
#[inline(always)]
pub fn comm_at(task: u64, into: *mut [u8; COMM]) {
    let place = task + u64::from(offset!(task_comm));
    // SAFETY: `into` has room for a name; the helper checks the source.
    unsafe { bpf_probe_read_kernel(into.cast(), COMM as u32, place as *const _) };
}

/// Process id in the task's own namespace. A function of its own for its stack.
#[inline(never)]
fn ns_tgid(leader: Object) -> u32 {
    let pid = leader.holds(offset!(task_thread_pid));
    let level: u32 = peek(pid + u64::from(offset!(pid_level))).unwrap_or(0);
    // Element of `numbers` (struct upid, include/linux/pid.h, v6.12): 16 bytes, the number first.
    peek(pid + u64::from(offset!(pid_numbers)) + u64::from(level & 31) * 16).unwrap_or(0)
}

/// Filters that are looked through for one with a listener; more than a program stacks.
const FILTERS: usize = 8;

/// Notes whether the task is under a seccomp filter with a listener, whose owner may install descriptors at any time.
#[inline(always)]
pub fn note_listener(row: *mut ProcRow) {
    fdtide_listener(row);
}

/// [`note_listener`], a symbol of its own, so that the verifier checks it once.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_listener(row: *mut ProcRow) -> u32 {
    if !row.is_null() {
        note(row, Object::current());
    }
    0
}

#[inline(always)]
fn note(row: *mut ProcRow, task: Object) {
    let (first, prev, notif) = (offset!(task_seccomp_filter), offset!(filter_prev), offset!(filter_notif));
    if first == OFFSET_NONE || prev == OFFSET_NONE || notif == OFFSET_NONE {
        return;
    }
    let mut filter = task.follow(first);
    for _ in 0..FILTERS {
        if filter.is_null() {
            return;
        }
        if !filter.follow(notif).is_null() {
            // SAFETY: a valid map value.
            unsafe { (*row).flags |= proc_flag::NOTIFIED };
            turn_on(Switch::Notified);
            return;
        }
        filter = filter.follow(prev);
    }
}

/// Whether a listener was told of a syscall since the last call: only then may its owner have installed something. While a
/// notification is pending the answer stays yes, because what comes of it is still to come.
#[inline(always)]
pub fn was_notified(row: *mut ProcRow) -> bool {
    fdtide_notified(row) != 0
}

/// [`was_notified`], a symbol of its own, so that the verifier checks it once.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_notified(row: *mut ProcRow) -> u32 {
    if row.is_null() { 0 } else { u32::from(told(row, Object::current())) }
}

#[inline(always)]
fn told(row: *mut ProcRow, task: Object) -> bool {
    let (first, prev, notif) = (offset!(task_seccomp_filter), offset!(filter_prev), offset!(filter_notif));
    let (next_id, pending) = (offset!(notif_next_id), offset!(notif_pending));
    if first == OFFSET_NONE
        || prev == OFFSET_NONE
        || notif == OFFSET_NONE
        || next_id == OFFSET_NONE
        || pending == OFFSET_NONE
    {
        return true;
    }
    let mut sum = 0u64;
    let mut listeners = 0u32;
    let mut quiet = true;
    let mut filter = task.follow(first);
    if filter.is_null() {
        // Another thread of the process is: what is installed is installed while that one is in a syscall.
        return false;
    }
    for _ in 0..FILTERS {
        if filter.is_null() {
            break;
        }
        let listener = filter.follow(notif);
        if !listener.is_null() {
            listeners += 1;
            sum += listener.load::<u64>(next_id);
            // An empty list points to itself.
            quiet &= listener.follow(pending).address() == listener.member(pending) as u64;
        }
        filter = filter.follow(prev);
    }
    if listeners == 0 {
        // It has gone, perhaps just now.
        return true;
    }
    // SAFETY: a valid map value.
    unsafe {
        if (*row).notified == sum {
            return false;
        }
        if quiet {
            (*row).notified = sum;
        }
    }
    true
}

/// A new identity of a group.
#[inline(always)]
pub fn new_group() -> u32 {
    LAST_ID.get_ptr_mut(1).map_or(0, |last| fetch_add(last, 1) as u32 + 1) & !UNSURE
}

/// A row for the process of `leader`, with nothing known of its table and its spawner. It is working memory of `program`.
#[inline(always)]
pub fn new_row(program: Program, leader: Object, flags: u32, group: u32) -> Option<*mut ProcRow> {
    let scratch = SCRATCH.get_ptr_mut(program as u32)?;
    // SAFETY: a valid per-CPU map value.
    unsafe {
        let row = &raw mut (*scratch).row;
        clear(row);
        (*row).start_ns = leader.load(offset!(task_start));
        (*row).exec_id = leader.load(offset!(task_exec_id));
        (*row).tgid = tgid(leader);
        (*row).ns_tgid = ns_tgid(leader);
        (*row).flags = flags;
        (*row).group = group;
        comm(leader, &raw mut (*row).comm);
        note(row, leader);
        Some(row)
    }
}

/// Names the spawner of a row.
#[inline(always)]
pub fn set_spawner(row: *mut ProcRow, task: Object, files: u64, table_id: u64) {
    let leader = task.holds(offset!(task_leader));
    // SAFETY: a valid map value.
    unsafe {
        (*row).spawner_start_ns = peek(leader + u64::from(offset!(task_start))).unwrap_or(0);
        (*row).spawner_files = files;
        (*row).spawner_table_id = table_id;
        (*row).spawner_tgid = tgid(task);
        (*row).spawner_tid = tid(task);
        (*row).flags |= proc_flag::SPAWNER_KNOWN;
        comm_at(leader, &raw mut (*row).spawner_comm);
        comm(task, &raw mut (*row).spawner_thread);
    }
}

/// A process that execs again is its own spawner; `tid` is the thread that called exec.
#[inline(always)]
pub fn set_own_spawner(row: *mut ProcRow, tid: u32) {
    // SAFETY: a valid map value.
    unsafe {
        (*row).spawner_tgid = (*row).tgid;
        (*row).spawner_tid = tid;
        (*row).spawner_start_ns = (*row).start_ns;
        (*row).spawner_files = (*row).files;
        (*row).spawner_table_id = (*row).table_id;
        copy(&raw mut (*row).spawner_comm, &raw const (*row).comm);
    }
}

/// Traces a process from now on.
#[inline(always)]
pub fn add(row: *const ProcRow) -> bool {
    // SAFETY: a valid map value.
    let tgid = unsafe { &(*row).tgid };
    if let Some(bits) = EVER.get_ptr_mut(tgid / u64::BITS) {
        set_bits(bits, 1 << (tgid % u64::BITS));
    }
    let added = insert(&PROCS, tgid, row, 0);
    if !added {
        count(Counter::ProcFull);
    }
    added
}
