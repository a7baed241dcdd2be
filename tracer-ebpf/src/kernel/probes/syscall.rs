//! The syscall backend: the exit of every syscall, filtered by class, then by process.

use aya_ebpf::{macros::btf_tracepoint, programs::BtfTracePointContext};
use fdtide_abi::config::{self, class};

use crate::kernel::{
    handlers::{ANYWHERE, changed, is_table_error},
    look::Scope,
    maps::{CLASSES, Program},
    read::{Object, offset},
    tree,
};

/// A syscall of the 32-bit table (`TS_COMPAT`, arch/x86/include/asm/thread_info.h, v6.12).
const TS_COMPAT: u32 = 2;

/// A syscall returns.
#[btf_tracepoint(function = "sys_exit")]
pub fn sys_exit(ctx: BtfTracePointContext) -> i32 {
    let regs = Object::new(ctx.arg(0));
    let ret: i64 = ctx.arg(1);
    let nr: u64 = regs.load(offset!(regs_orig_ax));
    let task = Object::current();
    let status: u32 = task.load(offset!(task_status));
    let compat = status & TS_COMPAT != 0;
    let class = if compat { class::COMPARE } else { class_of(nr) };
    if class == class::NONE {
        return 0;
    }
    let Some(row) = tree::find(task) else { return 0 };
    let failed =
        if is_table_error(ret) { Some((ret, nr as u16 | if compat { config::NR_COMPAT } else { 0 })) } else { None };
    let (scope, number) = match class {
        class::CLOSE => (Scope::Number, regs.load::<u32>(offset!(regs_di))),
        class::COMPARE => (Scope::All, ANYWHERE),
        _ if failed.is_some() => (Scope::All, ANYWHERE),
        _ if ret < 0 => return 0,
        class::FCNTL if !config::F_DUPFD.contains(&u64::from(regs.load::<u32>(offset!(regs_si)))) => return 0,
        class::DUP2 if regs.load::<u32>(offset!(regs_di)) != ret as u32 => (Scope::Replaced, ret as u32),
        _ => (Scope::Number, ret as u32),
    };
    changed(Program::SysExit, task, row, scope, number, failed);
    0
}

#[inline(always)]
fn class_of(nr: u64) -> u8 {
    if nr >= config::CLASSES as u64 {
        return class::NONE;
    }
    // SAFETY: a bounded index; volatile, because the agent may change the table before load.
    unsafe { core::ptr::read_volatile((&raw const CLASSES).cast::<u8>().add(nr as usize)) }
}
