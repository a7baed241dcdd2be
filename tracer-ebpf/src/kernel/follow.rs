//! Targets that come later: caught at their exec. And processes that are traced no longer.

use aya_ebpf::helpers::generated::{bpf_get_current_ancestor_cgroup_id, bpf_get_current_uid_gid};
use fdtide_abi::{
    ProcRow,
    control::{Switch, decide},
    event::table_reason,
    table::{ALONE, COMM, UNSURE, Wanted, flag, proc_flag, wanted},
};

use crate::kernel::{
    emit,
    handlers::now,
    maps::{CONFIG, DECIDED, FOUND, PROCS, Program, SCRATCH, Scratch, WANTED, value},
    read::{Object, constant, exchange, fetch_add, offset},
    slot::forget_held,
    table, tree,
};

/// Cgroups above one that are looked at; more than anybody nests.
const LEVELS: i32 = 24;

/// The current task, which is not traced, has gone through an exec: its row, if that makes it a target.
#[inline(always)]
pub fn caught(task: Object) -> Option<*mut ProcRow> {
    let follow = value(Switch::Follow);
    if follow == 0 || fdtide_catch(follow) == 0 {
        return None;
    }
    tree::find(task)
}

/// Whether the current task is traced still: it may have been let go since its row was looked up. A symbol of its own, so that it
/// takes no room beside what follows.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_still(program: u32) -> u32 {
    u32::from(program != u32::MAX && tree::find(Object::current()).is_some())
}

/// Every exec of a process that is not decided upon is a question of its own: what it forks from now on shares the answer.
#[inline(always)]
pub fn regroup(row: *mut ProcRow) {
    // SAFETY: a valid map value.
    unsafe {
        if (*row).group & UNSURE != 0 {
            (*row).group = tree::new_group() | UNSURE;
        }
    }
}

/// Begins to trace the current task, if it is wanted or may be: 1 if so.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_catch(follow: u32) -> u32 {
    let task = Object::current();
    let parent = task.follow(offset!(task_real_parent));
    let files = task.follow(offset!(task_files));
    let agent = constant(&raw const CONFIG.agent);
    // What the agent itself starts is no target of anybody's.
    if files.is_null() || tree::tgid(task) == agent || tree::tgid(parent) == agent {
        return 0;
    }
    let sure = fdtide_wanted(follow) != 0;
    if !sure && follow & wanted::UNSURE == 0 {
        return 0;
    }
    // With the bit it gets a group of its own at once, see `regroup`.
    let group = if sure { tree::new_group() } else { UNSURE };
    let Some(row) = tree::new_row(Program::Exec, task, proc_flag::TARGET | proc_flag::CAUGHT, group) else { return 0 };
    // SAFETY: valid working memory.
    unsafe {
        (*row).files = files.address();
        (*row).spawner_tgid = tree::tgid(parent);
        (*row).spawner_tid = tree::tgid(parent);
        tree::comm_at(parent.holds(offset!(task_leader)), &raw mut (*row).spawner_comm);
        // The exec has made this table its own: what is known under its address ended unseen. Volatile, so that a number comes
        // out and not the typed pointer that went in.
        table::end(core::ptr::read_volatile(&raw const (*row).files), now(), table_reason::REPLACED);
    }
    u32::from(tree::add(row))
}

/// Whether the name, the user or a cgroup of the current task is wanted.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_wanted(follow: u32) -> u32 {
    let Some(scratch) = SCRATCH.get_ptr_mut(Program::Exec as u32) else { return 0 };
    // SAFETY: valid working memory.
    let key = unsafe { &raw mut (*scratch).wanted };
    if follow & wanted::COMM != 0 {
        // SAFETY: as above.
        unsafe {
            (*key).kind = u64::from(wanted::COMM);
            tree::comm(Object::current(), &raw mut (*key).value);
        }
        if is_wanted(key) {
            return 1;
        }
    }
    if follow & wanted::UID != 0 {
        // SAFETY: the helper has no preconditions.
        let uid = unsafe { bpf_get_current_uid_gid() } & 0xffff_ffff;
        set(key, wanted::UID, uid);
        if is_wanted(key) {
            return 1;
        }
    }
    if follow & wanted::CGROUP != 0 {
        return below(scratch);
    }
    0
}

/// Whether a cgroup of the current task, or one above it, is wanted.
#[inline(always)]
fn below(scratch: *mut Scratch) -> u32 {
    // SAFETY: valid working memory.
    let key = unsafe { &raw mut (*scratch).wanted };
    for level in 0..LEVELS {
        // SAFETY: the helper has no preconditions.
        let id = unsafe { bpf_get_current_ancestor_cgroup_id(level) };
        if id == 0 {
            break;
        }
        set(key, wanted::CGROUP, id);
        if is_wanted(key) {
            return 1;
        }
    }
    0
}

#[inline(always)]
fn set(key: *mut Wanted, kind: u32, value: u64) {
    // SAFETY: valid working memory; the value is sixteen bytes at an offset that is a multiple of eight.
    unsafe {
        (*key).kind = u64::from(kind);
        let words = (&raw mut (*key).value).cast::<[u64; COMM / 8]>();
        (*words)[0] = value;
        (*words)[1] = 0;
    }
}

#[inline(always)]
fn is_wanted(key: *const Wanted) -> bool {
    // SAFETY: valid working memory.
    let key: &Wanted = unsafe { &*key };
    WANTED.get_ptr(key).is_some()
}

/// Carries out what the agent has decided of this task. Whether a record of that is in the ring.
#[inline(always)]
pub fn decided(task: Object, errand: u32) -> bool {
    let Some(row) = tree::find(task) else { return false };
    let (tid, tgid) = (tree::tid(task), tree::tgid(task));
    if (errand == decide::PROCESSES) != (tid == tgid) {
        return false;
    }
    // SAFETY: a valid map value.
    let group = u64::from(unsafe { (*row).group });
    let Some(decision) = DECIDED.get_ptr(group).or_else(|| DECIDED.get_ptr(ALONE | u64::from(tgid))) else {
        return false;
    };
    // SAFETY: a valid map value.
    let (leave, into) = unsafe { ((*decision).leave, (*decision).group) };
    if leave == 0 {
        // SAFETY: a valid map value.
        unsafe { (*row).group = into };
    } else if tid == tgid {
        fdtide_remove(row);
    } else {
        part(row, task.follow(offset!(task_files)), tid);
    }
    if let Some(found) = FOUND.get_ptr_mut(0) {
        fetch_add(found, 1);
    }
    leave != 0 && tid == tgid
}

/// A thread of a process that is traced no longer: what is kept of it goes, and its table if that is one of its own.
#[inline(always)]
fn part(row: *const ProcRow, files: Object, tid: u32) {
    forget_held(files.address(), tid);
    // SAFETY: a valid map value.
    if files.is_null() || files.address() == unsafe { (*row).files } {
        return;
    }
    if let Some(state) = table::find(files) {
        // SAFETY: a valid map value.
        let (flags, files) = unsafe { ((*state).head.flags, (*state).head.files) };
        if flags & flag::THREAD != 0 && table::leave(state) {
            table::end(files, now(), table_reason::LEFT);
        }
    }
}

/// Traces a process no longer.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_remove(row: *mut ProcRow) -> u32 {
    if row.is_null() {
        return 0;
    }
    let now = now();
    // SAFETY: `row` and states are valid map values, as the verifier checks.
    unsafe {
        // It may be about to end, and to say so.
        if exchange(&raw mut (*row).ended, 1) != 0 {
            return 0;
        }
        let (files, tgid) = ((*row).files, (*row).tgid);
        match table::find_id(files, (*row).table_id) {
            Some(state) => {
                let last = table::leave(state);
                emit::removed(now, row, Some(&raw const (*state).head));
                // First the process and then its table: who finds the table gone finds the process gone, too.
                let _ = PROCS.remove(tgid);
                if last {
                    table::forget(files, state);
                }
            }
            None => {
                emit::removed(now, row, None);
                let _ = PROCS.remove(tgid);
            }
        }
        forget_held(files, tgid);
    }
    1
}
