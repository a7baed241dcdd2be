//! The kprobe backend: the functions of the fentry backend where there are no trampolines. Arguments are seen at the entry,
//! the table at the return.

use aya_ebpf::{
    EbpfContext as _,
    macros::{kprobe, kretprobe},
    programs::{ProbeContext, RetProbeContext},
};
use fdtide_abi::Counter;

use crate::kernel::{
    handlers::{ANYWHERE, installed, poked},
    maps::{PENDING, Pending, PendingKey, Program, count},
    origin::take_stack,
    read::Object,
    refusal::{duplicated, is_table_error, not_open, refused, refused_inotify},
    request::Scope,
    tree,
};

/// Keeps the arguments of a function that the current task is about to enter, if it is traced.
#[inline(always)]
fn entered(program: Program, files: u64, number: Option<u32>) {
    let task = Object::current();
    if tree::find(task).is_none() {
        return;
    }
    let key = PendingKey { tid: tree::tid(task), program: program as u32 };
    let pending = Pending { files, number: u64::from(number.unwrap_or(ANYWHERE)) };
    if PENDING.insert(key, pending, 0).is_err() {
        count(Counter::PendingFull);
    }
}

/// Arguments as they were at the entry, if it was seen.
#[inline(always)]
fn arguments(program: Program) -> Option<Pending> {
    let key = PendingKey { tid: tree::tid(Object::current()), program: program as u32 };
    // SAFETY: a valid map value, which only this thread changes.
    let pending = unsafe { *PENDING.get_ptr(key)? };
    let _ = PENDING.remove(key);
    Some(pending)
}

/// Calls `then` with what the arguments said. Without them, looks anywhere.
#[inline(always)]
fn returned(program: Program, then: impl FnOnce(Pending)) {
    match arguments(program) {
        Some(pending) => then(pending),
        None => poked(program, 0, Scope::All, ANYWHERE),
    }
}

#[kprobe(function = "fd_install")]
pub fn kprobe_install(ctx: ProbeContext) -> u32 {
    entered(Program::Install, 0, ctx.arg(0));
    0
}

#[kretprobe(function = "fd_install")]
pub fn kretprobe_install(ctx: RetProbeContext) -> u32 {
    take_stack(Program::Install, ctx.as_ptr());
    returned(Program::Install, |pending| installed(Program::Install, pending.number as u32));
    0
}

#[kprobe(function = "do_dup2")]
pub fn kprobe_replace(ctx: ProbeContext) -> u32 {
    entered(Program::Replace, ctx.arg(0).unwrap_or(0), ctx.arg(2));
    0
}

#[kretprobe(function = "do_dup2")]
pub fn kretprobe_replace(ctx: RetProbeContext) -> u32 {
    take_stack(Program::Replace, ctx.as_ptr());
    let scope = if ctx.ret::<i32>() >= 0 { Scope::Replaced } else { Scope::Number };
    returned(Program::Replace, |pending| poked(Program::Replace, pending.files, scope, pending.number as u32));
    0
}

#[kprobe(function = "file_close_fd_locked")]
pub fn kprobe_close(ctx: ProbeContext) -> u32 {
    entered(Program::Close, ctx.arg(0).unwrap_or(0), ctx.arg(1));
    0
}

#[kretprobe(function = "file_close_fd_locked")]
pub fn kretprobe_close(ctx: RetProbeContext) -> u32 {
    if ctx.ret::<u64>() == 0 {
        not_open();
    }
    returned(Program::Close, |pending| poked(Program::Close, pending.files, Scope::Number, pending.number as u32));
    0
}

#[kretprobe(function = "ksys_dup3")]
pub fn kretprobe_dup3(ctx: RetProbeContext) -> u32 {
    duplicated(Program::Duplicate, i64::from(ctx.ret::<i32>()));
    0
}

#[kretprobe(function = "f_dupfd")]
pub fn kretprobe_f_dupfd(ctx: RetProbeContext) -> u32 {
    duplicated(Program::Duplicate, i64::from(ctx.ret::<i32>()));
    0
}

#[kretprobe(function = "alloc_fd")]
pub fn kretprobe_alloc(ctx: RetProbeContext) -> u32 {
    let ret: i32 = ctx.ret();
    if is_table_error(i64::from(ret)) {
        refused(Program::Alloc, i64::from(ret));
    }
    0
}

#[kretprobe(function = "alloc_empty_file")]
pub fn kretprobe_new_file(ctx: RetProbeContext) -> u32 {
    let ret: i64 = ctx.ret();
    if is_table_error(ret) {
        refused(Program::NewFile, ret);
    }
    0
}

#[kretprobe(function = "do_inotify_init")]
pub fn kretprobe_inotify(ctx: RetProbeContext) -> u32 {
    let ret: i32 = ctx.ret();
    if is_table_error(i64::from(ret)) {
        refused_inotify(i64::from(ret));
    }
    0
}

#[kretprobe(function = "ksys_unshare")]
pub fn kretprobe_unshare(_: RetProbeContext) -> u32 {
    poked(Program::Unshare, 0, Scope::All, ANYWHERE);
    0
}

#[kretprobe(function = "__x64_sys_close_range")]
pub fn kretprobe_close_range(_: RetProbeContext) -> u32 {
    poked(Program::CloseRange, 0, Scope::All, ANYWHERE);
    0
}
