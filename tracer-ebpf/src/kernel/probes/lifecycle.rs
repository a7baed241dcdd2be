//! Processes come and go: the same hooks whatever the backend.

use aya_ebpf::{EbpfContext as _, macros::btf_tracepoint, programs::BtfTracePointContext};
use aya_log_ebpf::debug;

use crate::kernel::{
    handlers,
    read::{Object, offset},
    walk,
};

/// A new task is about to run for the first time. Missed on no kernel, where `sched_process_fork` is from 7.0 on.
#[btf_tracepoint(function = "sched_wakeup_new")]
pub fn sched_wakeup_new(ctx: BtfTracePointContext) -> i32 {
    handlers::forked(Object::new(ctx.arg(0)));
    0
}

/// A task has gone through an exec.
#[btf_tracepoint(function = "sched_process_exec")]
pub fn sched_process_exec(ctx: BtfTracePointContext) -> i32 {
    let task = Object::new(ctx.arg(0));
    let old_tid: u32 = ctx.arg(1);
    let filename = Object::new(ctx.arg::<*const u8>(2)).follow(offset!(bprm_filename));
    handlers::execed(task, old_tid, filename);
    debug!(&ctx, "exec in {}", ctx.pid());
    0
}

/// A task ends.
#[btf_tracepoint(function = "sched_process_exit")]
pub fn sched_process_exit(ctx: BtfTracePointContext) -> i32 {
    handlers::exited(Object::new(ctx.arg(0)));
    debug!(&ctx, "exit of {}", ctx.pid());
    0
}

/// One task of a walk over all of them (`struct bpf_iter__task`: meta, task; kernel/bpf/task_iter.c, v6.12).
#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/task")]
pub extern "C" fn walk_task(ctx: *const [*const u8; 2]) -> i32 {
    // SAFETY: the kernel hands an iterator program its two pointers.
    let (meta, task) = unsafe {
        (
            Object::new(core::ptr::read_volatile(&raw const (*ctx)[0])),
            Object::new(core::ptr::read_volatile(&raw const (*ctx)[1])),
        )
    };
    if !task.is_null() {
        walk::walked(task, meta.follow(offset!(iter_seq)));
    }
    0
}
