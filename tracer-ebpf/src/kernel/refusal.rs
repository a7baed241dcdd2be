//! Refused descriptors and closes of nothing: which answers of which calls are meant.

use fdtide_abi::config::{self, class};

use crate::kernel::{
    call::{class_of, is_inotify, number_of},
    handlers::{ANYWHERE, changed},
    maps::{PENDING, Pending, PendingKey, Program},
    read::{Object, add, offset},
    request::{Scope, loaded_limit},
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

/// Whether a syscall's return value says that the table, or the system, is full.
#[inline(always)]
pub fn is_table_error(ret: i64) -> bool {
    ret == EMFILE || ret == ENFILE
}

/// The current task was refused a descriptor, by a function that knows no syscall.
#[inline(never)]
pub fn refused(program: Program, error: i64) {
    let task = Object::current();
    let Some(row) = tree::find(task) else { return };
    let flags: u32 = task.load(offset!(task_flags));
    let nr = if flags & tree::PF_IO_WORKER != 0 { config::NR_NONE } else { number_of(task) };
    if is_inotify(nr) {
        let _ = PENDING.insert(told(task), Pending { files: 0, number: 0 }, 0);
    }
    changed(program, row, Scope::All, ANYWHERE, Some((error, nr)));
}

/// The current task was refused an inotify instance, which has a quota of its own: by that quota, or by a function that
/// [`refused`] has told of.
#[inline(never)]
pub fn refused_inotify(error: i64) {
    let task = Object::current();
    let Some(row) = tree::find(task) else { return };
    if PENDING.remove(told(task)).is_ok() {
        return;
    }
    changed(Program::Inotify, row, Scope::All, ANYWHERE, Some((error, number_of(task))));
}

/// Under which it is kept that the refusal which a task is about to return with has been told.
#[inline(always)]
fn told(task: Object) -> PendingKey {
    PendingKey { tid: tree::tid(task), program: Program::Inotify as u32 }
}

/// The current task's close found nothing behind its number.
#[inline(never)]
pub fn not_open() {
    let task = Object::current();
    // A range that is closed has gaps, and that is no mistake.
    if class_of(number_of(task)) == class::CLOSE && tree::find(task).is_some() {
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
    let nr = number_of(task);
    if is_past_limit(task, class_of(nr), nr & config::NR_COMPAT != 0, ret)
        && let Some(row) = tree::find(task)
    {
        changed(program, row, Scope::All, ANYWHERE, Some((ret, nr)));
    }
}

/// Whether a duplicate was refused because the number that it was to have is past the limit: EBADF from dup2 and dup3, EINVAL
/// from F_DUPFD (fs/file.c and fs/fcntl.c, v6.12). Both have other meanings too.
#[inline(always)]
pub fn is_past_limit(task: Object, class: u8, compat: bool, ret: i64) -> bool {
    let regs = Object::registers(task);
    let second: u32 = if compat { regs.load(offset!(regs_cx)) } else { regs.load(offset!(regs_si)) };
    let third: u32 = regs.load(offset!(regs_dx));
    let limit = || loaded_limit(task.follow(offset!(task_signal)));
    match class {
        class::DUP2 => ret == EBADF && second >= limit(),
        class::FCNTL => ret == EINVAL && config::F_DUPFD.contains(&u64::from(second)) && third >= limit(),
        _ => false,
    }
}
