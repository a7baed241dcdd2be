//! A walk over all tasks: who is to be traced, and the walk's errands.

use fdtide_abi::{
    control::{Errand, glance},
    table::proc_flag,
};

use crate::kernel::{
    census, emit, follow,
    handlers::{look_whole, now},
    maps::{CONFIG, FOUND, Program, TARGETS, errand},
    read::{Object, constant, fetch_add, offset},
    request::{Scope, live_threads, request, soft_limit},
    table, tree,
};

/// One task of a walk over all of them, with the walk's errands; `output` is where it may write.
#[inline(always)]
pub fn walked(task: Object, output: Object) {
    let decide = errand(Errand::Decide);
    if decide != 0 {
        if follow::decided(task, decide) {
            emit::pause(output);
        }
        return;
    }
    let (look, reason) = (errand(Errand::Glance), errand(Errand::Census));
    // Who only looks takes nobody in: a process that is on the list and not awake yet is about to be told by its own hook,
    // and would be told twice.
    if look != glance::LOOK_ONLY {
        found(task);
    }
    if look == 0 && reason == 0 || tree::tid(task) != tree::tgid(task) {
        return;
    }
    let Some(row) = tree::find(task) else { return };
    let files = task.follow(offset!(task_files));
    if files.is_null() {
        return;
    }
    let Some(state) = table::find(files) else { return };
    let now = now();
    let Some(scratch) = request(Program::Walk as u32, task, files, 0, now) else { return };
    if reason != 0 {
        census::take(state, scratch, row, reason);
    }
    if look != 0 && !output.is_null() {
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
        // A process whose last thread has gone is still on the list; nobody would tell of its end any more.
        if live_threads(task) == 0 {
            return;
        }
        let inherited = !named && flags & tree::PF_KTHREAD == 0 && tree::find(parent).is_some();
        if !named && !inherited {
            return;
        }
        let state: u32 = task.load(offset!(task_state));
        if inherited && state & tree::TASK_NEW != 0 {
            // Its own hook, which comes with the wake-up, finds its parent traced.
            return;
        }
        let flags = proc_flag::SEEDED | target_flags;
        let group = match tree::find(parent) {
            // SAFETY: a valid map value.
            Some(row) if inherited => unsafe { (*row).group },
            _ => tree::new_group(),
        };
        let Some(row) = tree::new_row(Program::Walk, task, flags, group) else { return };
        if inherited {
            // SAFETY: a valid map value.
            unsafe {
                (*row).spawner_tgid = tree::tgid(parent);
                (*row).spawner_tid = tree::tgid(parent);
                tree::comm_at(parent.holds(offset!(task_leader)), &raw mut (*row).spawner_comm);
            }
        }
        if !tree::add(row) {
            return;
        }
        if let Some(found) = FOUND.get_ptr_mut(0) {
            fetch_add(found, 1);
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
                // Of what took another's place meanwhile the bitmap says nothing.
                look_whole(Program::Walk as u32, state, task, files, now, Scope::Recheck);
            }
            return;
        }
        let mut live = 0;
        if !files.is_null() {
            let known = table::find(files);
            if let Some(state) = known {
                table::join(state);
            }
            if let Some(state) = known.or_else(|| table::seed(Program::Walk as u32, task, files, tgid, now)) {
                (*row).files = files.address();
                (*row).table_id = (*state).head.id;
                live = (*state).head.live;
            }
        }
        emit::proc(now, row, live, soft_limit(task));
    }
}
