//! What to do when something happened. Nothing here knows which kind of hook told.

use aya_ebpf::helpers::generated::{bpf_ktime_get_boot_ns, bpf_probe_read_kernel_str};
use fdtide_abi::{
    ProcRow, TableState,
    config::{self, class},
    event::{ExecRecord, FILENAME, exec_flag, table_reason},
    table::{NO_NUMBER, proc_flag},
};

use crate::kernel::{
    census, emit,
    failed::fdtide_failed,
    lock::{lock, unlock},
    look::{Scope, look, request, soft_limit},
    maps::{CLASSES, CLASSES_32, CONFIG, Errand, FOUND, PROCS, Program, SCRATCH, TARGETS, errand},
    mark::{credit_window, restart_image, restart_window},
    read::{Object, add, constant, copy, offset},
    slot::forget_held,
    table, tree,
};

/// The table is full.
pub const EMFILE: i64 = -24;
/// The system is full.
const ENFILE: i64 = -23;
/// No such descriptor.
pub const EBADF: i64 = -9;
/// A number that can't be.
const EINVAL: i64 = -22;

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
    changed(program, task, row, scope, number, None);
}

/// The current task was refused a descriptor, by a function that knows no syscall.
#[inline(never)]
pub fn refused(program: Program, error: i64) {
    let task = Object::current();
    let Some(row) = tree::find(task) else { return };
    let flags: u32 = task.load(offset!(task_flags));
    let nr = if flags & tree::PF_IO_WORKER != 0 { config::NR_NONE } else { syscall_of(task) };
    changed(program, task, row, Scope::All, ANYWHERE, Some((error, nr)));
}

/// The current task's close found nothing behind its number.
#[inline(never)]
pub fn not_open() {
    let task = Object::current();
    // A range that is closed has gaps, and that is no mistake.
    if class_of(syscall_of(task)) == class::CLOSE && tree::find(task).is_some() {
        bad_close(task);
    }
}

/// Counts a close of a number that was not in use.
#[inline(always)]
pub fn bad_close(task: Object) {
    let files = task.follow(offset!(task_files));
    if files.is_null() {
        return;
    }
    if let Some(state) = table::find(files) {
        // SAFETY: a valid map value.
        add(unsafe { &raw mut (*state).head.bad_closes }, 1);
    }
}

/// The current task's dup2, dup3 or fcntl has returned: refused for a number past the limit, perhaps.
#[inline(never)]
pub fn duplicated(program: Program, ret: i64) {
    let task = Object::current();
    if ret != EBADF && ret != EINVAL || tree::find(task).is_none() {
        return;
    }
    let nr = syscall_of(task);
    if is_past_limit(task, class_of(nr), nr & config::NR_COMPAT != 0, ret)
        && let Some(row) = tree::find(task)
    {
        changed(program, task, row, Scope::All, ANYWHERE, Some((ret, nr)));
    }
}

/// Whether a duplicate was refused because the number that it was to have is past the limit: EBADF from dup2 and dup3, EINVAL
/// from F_DUPFD (fs/file.c and fs/fcntl.c, v6.12). Both have other meanings too.
#[inline(always)]
pub fn is_past_limit(task: Object, class: u8, compat: bool, ret: i64) -> bool {
    let regs = Object::registers(task);
    let second: u32 = if compat { regs.load(offset!(regs_cx)) } else { regs.load(offset!(regs_si)) };
    let third: u32 = regs.load(offset!(regs_dx));
    match class {
        class::DUP2 => ret == EBADF && second >= soft_limit(task),
        class::FCNTL => ret == EINVAL && config::F_DUPFD.contains(&u64::from(second)) && third >= soft_limit(task),
        _ => false,
    }
}

/// Class of a syscall, its number as a failure record has it.
#[inline(always)]
fn class_of(nr: u16) -> u8 {
    let at = (nr & config::NR_NONE) as usize & (config::CLASSES - 1);
    let table = if nr & config::NR_COMPAT != 0 { &raw const CLASSES_32 } else { &raw const CLASSES };
    // A bounded index.
    constant(table.cast::<u8>().wrapping_add(at))
}

/// Number of the syscall that the task is in, as a failure record has it.
#[inline(always)]
pub fn syscall_of(task: Object) -> u16 {
    let regs = Object::registers(task);
    let nr: u64 = regs.load(offset!(regs_orig_ax));
    let status: u32 = task.load(offset!(task_status));
    if status & tree::TS_COMPAT != 0 {
        return nr as u16 & config::NR_NONE | config::NR_COMPAT;
    }
    let hidden = nr < config::CLASSES as u64 && config::X86_64[nr as usize & (config::CLASSES - 1)] == class::RECEIVE;
    nr as u16 & config::NR_NONE | if hidden { config::NR_HIDDEN } else { 0 }
}

/// The current task's table may have changed: at `number` or, for a whole scope, anywhere.
#[inline(always)]
pub fn changed(
    program: Program,
    task: Object,
    row: *mut ProcRow,
    scope: Scope,
    number: u32,
    failed: Option<(i64, u16)>,
) {
    let files = task.follow(offset!(task_files));
    if files.is_null() {
        return;
    }
    let now = now();
    let mut known = table::find(files);
    // SAFETY: a valid map value, here and in the block.
    let strange = unsafe { (*row).table_id != 0 && (*row).files != files.address() };
    if let Some(stale) = known
        && strange
        && tree::tid(task) == tree::tgid(task)
    {
        // A leader comes to a table only by a copy that the kernel has just made, so what is known under its address is
        // another one that ended unseen.
        // SAFETY: a valid map value.
        table::end(unsafe { (*stale).head.files }, now, table_reason::REPLACED);
        known = None;
    }
    let Some(state) = known.or_else(|| adopt(program, task, row, files, now)) else { return };
    let locked = lock(state);
    if let Some(scratch) = request(program, task, files, tree::tid(task), now) {
        look(scratch, state, scope, number);
        if let Some((error, nr)) = failed {
            fdtide_failed(state, scratch, u32::from(nr), (-error) as u32);
        }
    }
    unlock(state, locked);
    // Others need not wait for it.
    if let Some(scratch) = SCRATCH.get_ptr_mut(program as u32) {
        // SAFETY: a valid map value.
        let reason = unsafe { (*scratch).request.census };
        if reason != 0 {
            census::take(state, scratch, row, reason);
        }
    }
}

/// Whether a syscall's return value says that the table, or the system, is full.
#[inline(always)]
pub fn is_table_error(ret: i64) -> bool {
    ret == EMFILE || ret == ENFILE
}

/// A traced task uses a table that is not followed yet.
#[inline(always)]
fn adopt(program: Program, task: Object, row: *mut ProcRow, files: Object, now: u64) -> Option<*mut TableState> {
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
        let threads: u32 = task.follow(offset!(task_signal)).load(offset!(signal_threads));
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
    let Some(_) = tree::find(parent) else { return };
    let now = now();
    let Some(row) = tree::new_row(Program::WakeupNew, child, 0) else { return };
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
            Some(state) => table::copy(Program::WakeupNew, state, child, files, tgid, now),
            None => table::seed_new(Program::WakeupNew, child, files, tgid, now),
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
    let Some(row) = tree::find(task) else { return };
    let files = task.follow(offset!(task_files));
    let Some(record) = emit::exec() else { return };
    if files.is_null() {
        return;
    }
    let now = now();
    // SAFETY: `row`, `record` and states are valid map values, throughout.
    unsafe {
        // A process that was there at attach, or that has gone through an exec, spawned nobody with this one.
        let there = (*row).flags & (proc_flag::SEEDED | proc_flag::WAITING) == proc_flag::SEEDED;
        let own = there || (*row).flags & proc_flag::EXECED != 0;
        let old_files = (*row).files;
        let before = table::find_id(old_files, (*row).table_id);
        (*record).thread = 0;
        (*record).flags = 0;
        copy(&raw mut (*record).old_comm, &raw const (*row).comm);
        if let Some(before) = before {
            copy(&raw mut (*record).before, &raw const (*before).head);
            (*record).flags |= exec_flag::HAS_BEFORE;
        }
        if own {
            (*record).flags |= exec_flag::SELF;
            tree::set_own_spawner(row, old_tid);
        } else if (*row).flags & proc_flag::SPAWNER_KNOWN != 0 {
            end_window(record, row, now);
        }

        let tgid = (*row).tgid;
        let state = if old_files == files.address() {
            before.or_else(|| table::seed(Program::Exec, task, files, tgid, now))
        } else {
            (*record).flags |= exec_flag::NEW_TABLE;
            let state = match (table::find(files), before) {
                (Some(state), _) => Some(state),
                (None, Some(before)) => table::copy(Program::Exec, before, task, files, tgid, now),
                (None, None) => table::seed(Program::Exec, task, files, tgid, now),
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
        (*row).exec_id = task.load(offset!(task_exec_id));
        (*row).flags |= proc_flag::EXECED;
        (*row).table_id = 0;
        tree::comm(task, &raw mut (*row).comm);
        (*record).live = 0;
        (*record).highest = 0;
        if let Some(state) = state {
            let head = &raw mut (*state).head;
            (*row).table_id = (*head).id;
            look_all(Program::Exec, state, task, files, now);
            restart_image(head, now);
            copy(&raw mut (*record).kinds, &raw const (*head).kinds);
            (*record).live = (*head).live;
            (*record).highest = (*head).highest;
        }
        copy(&raw mut (*record).row, row);
        (*record).old_tid = old_tid;
        (*record).soft = soft_limit(task);
        let name = &raw mut (*record).filename;
        bpf_probe_read_kernel_str(name.cast(), FILENAME as u32, filename.address() as *const _);
        emit::send_exec(record, now);
    }
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
        (*record).thread = credit_window(head, (*row).spawner_tid);
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
        let live_threads: u32 = task.follow(offset!(task_signal)).load(offset!(signal_live));
        if !files.is_null() && files.address() != (*row).files {
            // A thread with a table of its own.
            if let Some(state) = table::find(files) {
                look_all(Program::Exit, state, task, files, now);
                if table::leave(state) {
                    table::end((*state).head.files, now, table_reason::LEFT);
                }
            }
        }
        forget_held(files.address(), tid);
        if live_threads != 0 {
            return;
        }
        // It may have given itself another name since.
        tree::comm(task.follow(offset!(task_leader)), &raw mut (*row).comm);
        let own_files = (*row).files;
        let state = table::find_id(own_files, (*row).table_id);
        let exit_code: u32 = task.load(offset!(task_exit_code));
        match state {
            Some(state) => {
                if files.address() == own_files {
                    look_all(Program::Exit, state, task, files, now);
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

#[inline(always)]
fn look_all(program: Program, state: *mut TableState, task: Object, files: Object, now: u64) {
    let locked = lock(state);
    if let Some(scratch) = request(program, task, files, 0, now) {
        look(scratch, state, Scope::All, ANYWHERE);
    }
    unlock(state, locked);
}

/// One task of a walk over all of them, with the walk's errands; `output` is where it may write.
#[inline(always)]
pub fn walked(task: Object, output: Object) {
    found(task);
    let (glance, reason) = (errand(Errand::Glance), errand(Errand::Census));
    if glance == 0 && reason == 0 || tree::tid(task) != tree::tgid(task) {
        return;
    }
    let Some(row) = tree::find(task) else { return };
    let files = task.follow(offset!(task_files));
    if files.is_null() {
        return;
    }
    let Some(state) = table::find(files) else { return };
    let now = now();
    let Some(scratch) = request(Program::Walk, task, files, 0, now) else { return };
    if reason != 0 {
        census::take(state, scratch, row, reason);
    }
    if glance != 0 && !output.is_null() {
        emit::glance(output, scratch, state, now);
    }
}

/// Traced if the user named it or its parent is traced.
#[inline(always)]
fn found(task: Object) {
    let tgid = tree::tgid(task);
    if tree::tid(task) != tgid || tgid == constant(&raw const CONFIG.agent) {
        return;
    }
    let now = now();
    let files = task.follow(offset!(task_files));
    if tree::find(task).is_none() {
        let target = TARGETS.get_ptr(tgid);
        let named = target.is_some();
        // SAFETY: a valid map value.
        let target_flags = target.map_or(0, |flags| unsafe { *flags });
        let parent = task.follow(offset!(task_real_parent));
        let flags: u32 = task.load(offset!(task_flags));
        let inherited = !named && flags & tree::PF_KTHREAD == 0 && tree::find(parent).is_some();
        if !named && !inherited {
            return;
        }
        let flags = proc_flag::SEEDED | target_flags;
        let Some(row) = tree::new_row(Program::Walk, task, flags) else { return };
        if inherited {
            // SAFETY: a valid map value.
            unsafe {
                (*row).spawner_tgid = tree::tgid(parent);
                (*row).spawner_tid = tree::tgid(parent);
                tree::comm(parent.follow(offset!(task_leader)), &raw mut (*row).spawner_comm);
            }
        }
        if !tree::add(row) {
            return;
        }
        if let Some(found) = FOUND.get_ptr_mut(0) {
            crate::kernel::read::fetch_add(found, 1);
        }
    }
    let Some(row) = tree::find(task) else { return };
    // SAFETY: `row` and states are valid map values, throughout.
    unsafe {
        if (*row).table_id != 0 {
            // A later walk: hooks were missed, and this makes good for them.
            if !files.is_null()
                && files.address() == (*row).files
                && let Some(state) = table::find_id((*row).files, (*row).table_id)
            {
                look_all(Program::Walk, state, task, files, now);
            }
            return;
        }
        let mut live = 0;
        if !files.is_null() {
            let known = table::find(files);
            if let Some(state) = known {
                table::join(state);
            }
            if let Some(state) = known.or_else(|| table::seed(Program::Walk, task, files, tgid, now)) {
                (*row).files = files.address();
                (*row).table_id = (*state).head.id;
                live = (*state).head.live;
            }
        }
        emit::proc(now, row, live, soft_limit(task));
    }
}

/// No number in particular.
pub const ANYWHERE: u32 = NO_NUMBER;
