//! What to do when something happened. Nothing here knows which kind of hook told.

use aya_ebpf::helpers::generated::{bpf_ktime_get_boot_ns, bpf_probe_read_kernel_str};
use fdtide_abi::{
    ProcRow, TableState,
    event::{ExecRecord, FILENAME, exec_flag, table_reason},
    table::{NO_NUMBER, flag, proc_flag},
};

use crate::kernel::{
    call::gives,
    census, emit,
    failed::{fdtide_failed, fdtide_room},
    follow,
    lock::{lock, unlock},
    look::look,
    maps::{PROCS, Program, SCRATCH},
    mark::{credit_window, restart_image, restart_window},
    read::{Object, copy, exchange, offset},
    request::{Scope, live_threads, loaded_limit, request, soft_limit},
    slot::forget_held,
    table, tree,
};

/// Boot time, nanoseconds.
#[inline(always)]
pub fn now() -> u64 {
    // SAFETY: the helper has no preconditions.
    unsafe { bpf_ktime_get_boot_ns() }
}

/// The current task's table, which is `files` if the hook knows, may have changed.
#[inline(never)]
pub fn poked(program: Program, files: u64, scope: Scope, number: u32) {
    let task = Object::current();
    let Some(row) = tree::find(task) else { return };
    // A table that the task is about to use, or is done with, is looked at when it is in use.
    if files != 0 && files != task.follow(offset!(task_files)).address() {
        return;
    }
    changed(program, row, scope, number, None);
}

/// The current task's table has got a descriptor at `number`.
#[inline(never)]
pub fn installed(program: Program, number: u32) {
    let task = Object::current();
    let Some(row) = tree::find(task) else { return };
    let scope = if gives(task) { Scope::Own } else { Scope::Number };
    changed(program, row, scope, number, None);
}

/// The current task's table may have changed: at `number` or, for a whole scope, anywhere.
#[inline(always)]
pub fn changed(program: Program, row: *mut ProcRow, scope: Scope, number: u32, failed: Option<(i64, u16)>) {
    let (error, nr) = failed.unwrap_or((0, 0));
    let how = program as u32 | (scope as u32) << SCOPE_SHIFT;
    let (errno, nr) = ((-error) as u32, u32::from(nr));
    // In parts one after the other and not one in the other: the kernel's stack for all of them together is small.
    if fdtide_changed(row, how, number, errno, nr) == UNKNOWN
        && follow::fdtide_still(program as u32) != 0
        && fdtide_adopt(row, program as u32) != 0
    {
        fdtide_changed(row, how, number, errno, nr);
    }
}

/// Where a scope stands beside a program.
const SCOPE_SHIFT: u32 = 8;
/// The current task uses a table that is not followed, or not this one.
const UNKNOWN: u32 = 1;

/// [`changed`], a symbol of its own, so that the verifier checks it once and not for every way to it.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_changed(row: *mut ProcRow, how: u32, number: u32, errno: u32, nr: u32) -> u32 {
    if row.is_null() {
        return 0;
    }
    let (program, scope) = (how & 0xff, how >> SCOPE_SHIFT);
    let task = Object::current();
    let files = task.follow(offset!(task_files));
    if files.is_null() {
        return 0;
    }
    let Some(state) = table::find(files) else { return UNKNOWN };
    if is_strange(row, task, files) {
        return UNKNOWN;
    }
    let now = now();
    let locked = lock(state);
    if let Some(scratch) = request(program, task, files, tree::tid(task), now) {
        look(scratch, state, scope, number);
        if errno != 0 {
            fdtide_room(state, scratch);
            fdtide_failed(state, scratch, nr, errno);
        }
    }
    unlock(state, locked);
    // Others need not wait for it.
    if let Some(scratch) = SCRATCH.get_ptr_mut(program) {
        // SAFETY: a valid map value.
        let reason = unsafe { (*scratch).request.census };
        if reason != 0 {
            census::take(state, scratch, row, reason);
        }
    }
    0
}

/// A leader comes to a table only by a copy that the kernel has just made, so what is known under its address is another one
/// that ended unseen.
#[inline(always)]
fn is_strange(row: *const ProcRow, task: Object, files: Object) -> bool {
    // SAFETY: a valid map value.
    let other = unsafe { (*row).table_id != 0 && (*row).files != files.address() };
    other && tree::tid(task) == tree::tgid(task)
}

/// Begins to follow the table of the current task. 0 if there is no room.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_adopt(row: *mut ProcRow, program: u32) -> u32 {
    if row.is_null() {
        return 0;
    }
    let task = Object::current();
    let files = task.follow(offset!(task_files));
    if files.is_null() {
        return 0;
    }
    let now = now();
    if let Some(stale) = table::find(files) {
        // Another thread may have been faster; only what is not this table has ended unseen.
        if !is_strange(row, task, files) {
            return 1;
        }
        // SAFETY: a valid map value.
        table::end(unsafe { (*stale).head.files }, now, table_reason::REPLACED);
    }
    u32::from(adopt(program, task, row, files, now).is_some())
}

/// A traced task uses a table that is not followed yet.
#[inline(always)]
fn adopt(program: u32, task: Object, row: *mut ProcRow, files: Object, now: u64) -> Option<*mut TableState> {
    let tgid = tree::tgid(task);
    // SAFETY: rows and states are valid map values, throughout.
    unsafe {
        let (old_files, old_id) = ((*row).files, (*row).table_id);
        if old_files == files.address() || old_id == 0 {
            let state = table::seed(program, task, files, tgid, now)?;
            (*row).files = files.address();
            (*row).table_id = (*state).head.id;
            return Some(state);
        }
        let old = table::find_id(old_files, old_id);
        let state = match old {
            Some(old) => table::copy(program, old, task, files, tgid, now)?,
            None => table::seed(program, task, files, tgid, now)?,
        };
        let threads = SCRATCH.get_ptr(program).map_or(1, |scratch| (*scratch).request.threads);
        let to_id = (*state).head.id;
        // The process's table is its leader's; another thread now has one of its own.
        if threads <= 1 || tree::tid(task) == tgid {
            (*row).files = files.address();
            (*row).table_id = to_id;
            forget_held(old_files, tree::tid(task));
            // Where other threads, io_uring's among them, go on with the old one, it is followed again as theirs when they
            // change it.
            if let Some(old) = old
                && table::leave(old)
            {
                table::end(old_files, now, table_reason::LEFT);
            }
        } else {
            (*state).head.flags |= flag::THREAD;
        }
        emit::moved(now, row, old_id, to_id, tree::tid(task), (*state).head.live);
        Some(state)
    }
}

/// The current task has made `child`, which has not run yet.
#[inline(always)]
pub fn forked(child: Object) {
    let parent = Object::current();
    let flags: u32 = child.load(offset!(task_flags));
    let tgid = tree::tgid(child);
    if flags & tree::PF_KTHREAD != 0 || tgid == tree::tgid(parent) {
        return;
    }
    let Some(parent_row) = tree::find(parent) else { return };
    let now = now();
    // SAFETY: a valid map value.
    let group = unsafe { (*parent_row).group };
    let Some(row) = tree::new_row(Program::WakeupNew, child, 0, group) else { return };
    let files = child.follow(offset!(task_files));
    let parent_files = parent.follow(offset!(task_files));
    let parent_state = if parent_files.is_null() { None } else { table::find(parent_files) };
    let mut live = 0;
    if !files.is_null() {
        let shared = files.address() == parent_files.address();
        let state = match parent_state {
            Some(state) if shared => {
                table::join(state);
                Some(state)
            }
            Some(state) => table::copy(Program::WakeupNew as u32, state, child, files, tgid, now),
            None => table::seed_new(Program::WakeupNew as u32, child, files, tgid, now),
        };
        if let Some(state) = state {
            // SAFETY: valid map values.
            unsafe {
                (*row).files = files.address();
                (*row).table_id = (*state).head.id;
                live = (*state).head.live;
            }
        }
    }
    // SAFETY: a valid map value.
    let parent_id = parent_state.map_or(0, |state| unsafe { (*state).head.id });
    tree::set_spawner(row, parent, parent_files.address(), parent_id);
    if tree::add(row) {
        emit::proc(now, row, live, soft_limit(child));
    }
}

/// The current task has gone through an exec; `old_tid` is the thread that called it.
#[inline(always)]
pub fn execed(task: Object, old_tid: u32, filename: Object) {
    let Some(row) = tree::find(task).or_else(|| follow::caught(task)) else { return };
    follow::regroup(row);
    let Some(record) = emit::exec() else { return };
    if task.follow(offset!(task_files)).is_null() {
        return;
    }
    let now = now();
    // In parts that the verifier checks one by one: the ways through them would multiply.
    fdtide_exec_before(record, row, old_tid, now);
    fdtide_exec_table(record, row, old_tid, now);
    // SAFETY: `row` and `record` are valid map values.
    unsafe {
        (*row).exec_id = task.load(offset!(task_exec_id));
        (*row).flags |= proc_flag::EXECED;
        tree::comm(task, &raw mut (*row).comm);
        copy(&raw mut (*record).row, row);
        (*record).old_tid = old_tid;
        (*record).soft = loaded_limit(task.follow(offset!(task_signal)));
        let name = &raw mut (*record).filename;
        bpf_probe_read_kernel_str(name.cast(), FILENAME as u32, filename.address() as *const _);
        emit::send_exec(record, now);
    }
}

/// What was before the exec: the process's own table, its spawner and that one's window.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_exec_before(record: *mut ExecRecord, row: *mut ProcRow, old_tid: u32, now: u64) -> u32 {
    if record.is_null() || row.is_null() {
        return 0;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks.
    unsafe {
        // A process that was there at attach, or that has gone through an exec, spawned nobody with this one.
        let there = (*row).flags & (proc_flag::SEEDED | proc_flag::WAITING) == proc_flag::SEEDED;
        let own = there || (*row).flags & proc_flag::EXECED != 0;
        (*record).thread = 0;
        (*record).flags = 0;
        copy(&raw mut (*record).old_comm, &raw const (*row).comm);
        if let Some(before) = table::find_id((*row).files, (*row).table_id) {
            copy(&raw mut (*record).before, &raw const (*before).head);
            (*record).flags |= exec_flag::HAS_BEFORE;
        }
        if own {
            (*record).flags |= exec_flag::SELF;
            tree::set_own_spawner(row, old_tid);
        } else if (*row).flags & proc_flag::SPAWNER_KNOWN != 0 {
            end_window(record, row, now);
        }
    }
    0
}

/// The table that the process has from now on, and what is in it.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_exec_table(record: *mut ExecRecord, row: *mut ProcRow, old_tid: u32, now: u64) -> u32 {
    if record.is_null() || row.is_null() {
        return 0;
    }
    let task = Object::current();
    let files = task.follow(offset!(task_files));
    // SAFETY: valid memory of the types' sizes, which the verifier checks; states are valid map values.
    unsafe {
        let (tgid, old_files) = ((*row).tgid, (*row).files);
        let before = table::find_id(old_files, (*row).table_id);
        let state = if old_files == files.address() {
            before.or_else(|| table::seed(Program::Exec as u32, task, files, tgid, now))
        } else {
            (*record).flags |= exec_flag::NEW_TABLE;
            let state = match (table::find(files), before) {
                (Some(state), _) => Some(state),
                (None, Some(before)) => table::copy(Program::Exec as u32, before, task, files, tgid, now),
                (None, None) => table::seed(Program::Exec as u32, task, files, tgid, now),
            };
            if let Some(before) = before
                && table::leave(before)
            {
                table::end(old_files, now, table_reason::LEFT);
            }
            state
        };
        forget_held(old_files, old_tid);
        forget_held(old_files, tgid);
        (*row).files = files.address();
        (*row).table_id = 0;
        (*record).live = 0;
        (*record).highest = 0;
        if let Some(state) = state {
            let head = &raw mut (*state).head;
            (*row).table_id = (*head).id;
            look_all(Program::Exec as u32, state, task, files, now);
            restart_image(head, now);
            copy(&raw mut (*record).kinds, &raw const (*head).kinds);
            (*record).live = (*head).live;
            (*record).highest = (*head).highest;
        }
    }
    0
}

/// The spawn window of a child's spawner ends with the child's exec.
#[inline(always)]
fn end_window(record: *mut ExecRecord, row: *const ProcRow, now: u64) {
    // SAFETY: `row`, `record` and states are valid map values.
    unsafe {
        let Some(spawner) = table::find_id((*row).spawner_files, (*row).spawner_table_id) else { return };
        let head = &raw mut (*spawner).head;
        let locked = lock(spawner);
        copy(&raw mut (*record).spawner, head);
        credit_window(head, (*row).spawner_tid, &raw mut (*record).thread);
        (*record).flags |= exec_flag::HAS_SPAWNER;
        restart_window(head, now);
        unlock(spawner, locked);
    }
}

/// A task ends; its table is still there.
#[inline(always)]
pub fn exited(task: Object) {
    let Some(row) = tree::find(task) else { return };
    let files = task.follow(offset!(task_files));
    let tid = tree::tid(task);
    let now = now();
    // SAFETY: `row` and states are valid map values, throughout.
    unsafe {
        if !files.is_null() && files.address() != (*row).files {
            // A thread with a table of its own.
            if let Some(state) = table::find(files) {
                look_all(Program::Exit as u32, state, task, files, now);
                // A table that its process has left to others is theirs.
                if (*state).head.flags & flag::THREAD != 0 && table::leave(state) {
                    table::end((*state).head.files, now, table_reason::LEFT);
                }
            }
        }
        forget_held(files.address(), tid);
        // Several that end at the same time may all see that none is left.
        if live_threads(task) != 0 || exchange(&raw mut (*row).ended, 1) != 0 {
            return;
        }
        // It may have given itself another name since.
        tree::comm_at(task.holds(offset!(task_leader)), &raw mut (*row).comm);
        let own_files = (*row).files;
        let state = table::find_id(own_files, (*row).table_id);
        let exit_code: u32 = task.load(offset!(task_exit_code));
        match state {
            Some(state) => {
                if files.address() == own_files {
                    look_all(Program::Exit as u32, state, task, files, now);
                }
                let last = table::leave(state);
                emit::exit(now, row, exit_code, Some(&raw const (*state).head));
                if last {
                    table::forget(own_files, state);
                }
            }
            None => emit::exit(now, row, exit_code, None),
        }
        let tgid = (*row).tgid;
        let _ = PROCS.remove(tgid);
    }
}

/// Looks at the whole of a task's table.
#[inline(always)]
fn look_all(program: u32, state: *mut TableState, task: Object, files: Object, now: u64) {
    look_whole(program, state, task, files, now, Scope::All);
}

/// The same, and anew at each slot where the scope says so.
#[inline(always)]
pub fn look_whole(program: u32, state: *mut TableState, task: Object, files: Object, now: u64, scope: Scope) {
    let locked = lock(state);
    if let Some(scratch) = request(program, task, files, 0, now) {
        look(scratch, state, scope as u32, ANYWHERE);
    }
    unlock(state, locked);
}

/// No number in particular.
pub const ANYWHERE: u32 = NO_NUMBER;
