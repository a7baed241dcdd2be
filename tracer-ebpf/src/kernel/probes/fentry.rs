//! The fentry backend: trampolines at the return of the functions that change a table.
//!
//! Prototypes are those of fs/file.c, v6.1 to v7.2; a return value follows the arguments.

use aya_ebpf::{EbpfContext as _, helpers::generated::bpf_get_func_ret, macros::fexit, programs::FExitContext};

use crate::kernel::{
    handlers::{ANYWHERE, installed, poked},
    maps::Program,
    origin::take_stack,
    refusal::{duplicated, is_table_error, not_open, refused, refused_inotify},
    request::Scope,
};

/// `void fd_install(unsigned int fd, struct file *file)`
#[fexit(function = "fd_install")]
pub fn fentry_install(ctx: FExitContext) -> i32 {
    take_stack(Program::Install, ctx.as_ptr());
    installed(Program::Install, ctx.arg(0));
    0
}

/// `int do_dup2(struct files_struct *files, struct file *file, unsigned fd, unsigned flags)`
#[fexit(function = "do_dup2")]
pub fn fentry_replace(ctx: FExitContext) -> i32 {
    if ctx.arg::<i32>(4) >= 0 {
        take_stack(Program::Replace, ctx.as_ptr());
        poked(Program::Replace, ctx.arg::<*const u8>(0) as u64, Scope::Replaced, ctx.arg(2));
    }
    0
}

/// `struct file *file_close_fd_locked(struct files_struct *files, unsigned fd)`, before 6.12 `pick_file`
#[fexit(function = "file_close_fd_locked")]
pub fn fentry_close(ctx: FExitContext) -> i32 {
    // Nothing, or an error.
    if ctx.arg::<*const u8>(2) as u64 == 0 {
        not_open();
    }
    poked(Program::Close, ctx.arg::<*const u8>(0) as u64, Scope::Number, ctx.arg(1));
    0
}

/// `int ksys_dup3(unsigned int oldfd, unsigned int newfd, int flags)`
#[fexit(function = "ksys_dup3")]
pub fn fentry_dup3(ctx: FExitContext) -> i32 {
    duplicated(Program::Duplicate, i64::from(ctx.arg::<i32>(3)));
    0
}

/// `int f_dupfd(unsigned int from, struct file *file, unsigned flags)`
#[fexit(function = "f_dupfd")]
pub fn fentry_f_dupfd(ctx: FExitContext) -> i32 {
    duplicated(Program::Duplicate, i64::from(ctx.arg::<i32>(3)));
    0
}

/// `int alloc_fd(unsigned start, unsigned end, unsigned flags)`
#[fexit(function = "alloc_fd")]
pub fn fentry_alloc(ctx: FExitContext) -> i32 {
    let ret: i32 = ctx.arg(3);
    if is_table_error(i64::from(ret)) {
        refused(Program::Alloc, i64::from(ret));
    }
    0
}

/// `struct file *alloc_empty_file(int flags, const struct cred *cred)`
#[fexit(function = "alloc_empty_file")]
pub fn fentry_new_file(ctx: FExitContext) -> i32 {
    // As an argument it has the type of a file, and 6.1 lets no such pointer be held against a number.
    let mut ret = 0;
    // SAFETY: the context of this very program, and room for the value.
    let read = unsafe { bpf_get_func_ret(ctx.as_ptr(), &raw mut ret) };
    if read == 0 && is_table_error(ret as i64) {
        refused(Program::NewFile, ret as i64);
    }
    0
}

/// `int do_inotify_init(int flags)`
#[fexit(function = "do_inotify_init")]
pub fn fentry_inotify(ctx: FExitContext) -> i32 {
    let ret: i32 = ctx.arg(1);
    if is_table_error(i64::from(ret)) {
        refused_inotify(i64::from(ret));
    }
    0
}

/// `int ksys_unshare(unsigned long unshare_flags)`
#[fexit(function = "ksys_unshare")]
pub fn fentry_unshare(_: FExitContext) -> i32 {
    poked(Program::Unshare, 0, Scope::All, ANYWHERE);
    0
}

/// `long __x64_sys_close_range(const struct pt_regs *regs)`: with CLOSE_RANGE_UNSHARE the task has another table now.
#[fexit(function = "__x64_sys_close_range")]
pub fn fentry_close_range(_: FExitContext) -> i32 {
    poked(Program::CloseRange, 0, Scope::All, ANYWHERE);
    0
}
