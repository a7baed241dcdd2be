//! The syscall backend: the exit of every syscall, filtered by class, then by process.

use aya_ebpf::{
    EbpfContext as _, helpers::generated::bpf_probe_read_user, macros::btf_tracepoint, programs::BtfTracePointContext,
};
use fdtide_abi::{
    OFFSET_NONE, ProcRow,
    config::{self, class},
    control::Switch,
    table::proc_flag,
};

use crate::kernel::{
    handlers::{ANYWHERE, changed, poked},
    maps::{CLASSES, CLASSES_32, Program, is_on},
    origin::{no_stack, take_stack},
    read::{Object, constant, offset, peek},
    refusal::{EBADF, EMFILE, bad_close, is_past_limit, is_table_error},
    request::Scope,
    tree,
};

/// A syscall returns.
#[btf_tracepoint(function = "sys_exit")]
pub fn sys_exit(ctx: BtfTracePointContext) -> i32 {
    let regs = Object::new(ctx.arg(0));
    let ret: i64 = ctx.arg(1);
    let nr: u64 = regs.load(offset!(regs_orig_ax));
    let task = Object::current();
    let status: u32 = task.load(offset!(task_status));
    let compat = status & tree::TS_COMPAT != 0;
    let class = class_of(nr, compat);
    let ordinary = class == class::NONE || class == class::READ;
    if ordinary && !unusual(class) {
        return 0;
    }
    if !tree::may_be_traced() {
        return 0;
    }
    let Some(row) = tree::find(task) else { return 0 };
    let listener = under_listener(row) && tree::was_notified(row);
    if class == class::NONE && !listener {
        return 0;
    }
    let failed = if is_table_error(ret) && class != class::NONE {
        Some((ret, nr as u16 & config::NR_NONE | if compat { config::NR_COMPAT } else { 0 }))
    } else if class == class::RECEIVE && ret >= 0 && cut(nr, regs) {
        Some((EMFILE, nr as u16 | config::NR_HIDDEN))
    } else if is_past_limit(task, class, compat, ret) {
        Some((ret, nr as u16 & config::NR_NONE | if compat { config::NR_COMPAT } else { 0 }))
    } else {
        None
    };
    if class == class::CLOSE && ret == EBADF {
        bad_close(task);
    }
    let first: u32 = if compat { regs.load(offset!(regs_bx)) } else { regs.load(offset!(regs_di)) };
    let made = ret >= 0;
    let mut second = ANYWHERE;
    let (scope, number) = match class {
        class::NONE => (Scope::Recheck, ANYWHERE),
        class::READ | class::COMPARE => (Scope::All, ANYWHERE),
        class::CLOSE => (Scope::Number, first),
        class::RANGE => (if is_shared(task) { Scope::Recheck } else { Scope::All }, ANYWHERE),
        class::CREATE | class::RECEIVE => (Scope::AllOwn, ANYWHERE),
        class::SECCOMP => {
            tree::note_listener(row);
            let flags: u32 = if compat { regs.load(offset!(regs_cx)) } else { regs.load(offset!(regs_si)) };
            if made && flags & config::NEW_LISTENER != 0 { (Scope::Own, ret as u32) } else { (Scope::All, ANYWHERE) }
        }
        _ if failed.is_some() => (Scope::All, ANYWHERE),
        class::PAIR if made => match pair(nr, regs) {
            Some(numbers) => {
                second = numbers[1];
                (Scope::Own, numbers[0])
            }
            None => (Scope::AllOwn, ANYWHERE),
        },
        class::DUP2 if made && first != ret as u32 => (Scope::Replaced, ret as u32),
        class::RULESET if made && regs.load::<u32>(offset!(regs_dx)) == 0 => (Scope::Own, ret as u32),
        class::SIGNALFD if made && first == u32::MAX => (Scope::Own, ret as u32),
        class::FCNTL if made && config::F_DUPFD.contains(&u64::from(regs.load::<u32>(offset!(regs_si)))) => {
            (Scope::Own, ret as u32)
        }
        class::RET if made => (Scope::Own, ret as u32),
        _ if listener => (Scope::Recheck, ANYWHERE),
        _ => return 0,
    };
    let makes = matches!(scope, Scope::Own | Scope::Replaced | Scope::AllOwn);
    if makes {
        take_stack(Program::SysExit, ctx.as_ptr())
    } else {
        no_stack(Program::SysExit)
    }
    // The second of a pair; or, under a listener, whatever its owner has put anywhere meanwhile.
    let rounds = if second != ANYWHERE || listener && scope != Scope::Recheck { 2 } else { 1 };
    let (mut scope, mut number, mut failed) = (scope, number, failed);
    for _ in 0..rounds {
        changed(Program::SysExit, row, scope, number, failed);
        scope = if second == ANYWHERE { Scope::Recheck } else { Scope::Own };
        number = second;
        failed = None;
    }
    0
}

/// A request of a ring is done, perhaps by a worker or a polling thread, which make no syscalls.
#[btf_tracepoint(function = "io_uring_complete")]
pub fn io_uring_complete(ctx: BtfTracePointContext) -> i32 {
    let request: *const u8 = ctx.arg(1);
    let scope = if has_closed(request as u64) && is_shared(Object::current()) { Scope::Recheck } else { Scope::All };
    poked(Program::Uring, 0, scope, ANYWHERE);
    0
}

/// Whether a request of a ring is one to close a descriptor. It does not say which, and another thread may have got the number
/// since, by a call that does not say so either: to the bitmap nothing has changed then.
#[inline(always)]
fn has_closed(request: u64) -> bool {
    let opcode = offset!(request_opcode);
    request != 0 && opcode != OFFSET_NONE && peek::<u8>(request + u64::from(opcode)) == Some(config::URING_CLOSE)
}

/// Whether others, threads or processes, use the task's table too.
#[inline(always)]
fn is_shared(task: Object) -> bool {
    task.follow(offset!(task_files)).load::<u32>(offset!(files_count)) > 1
}

/// The two numbers that the syscall wrote to user memory, if they can be read back.
#[inline(always)]
fn pair(nr: u64, regs: Object) -> Option<[u32; 2]> {
    let place: u64 =
        if nr == config::NR_SOCKETPAIR { regs.load(offset!(regs_r10)) } else { regs.load(offset!(regs_di)) };
    let mut numbers = [0u32; 2];
    // SAFETY: room for both; the helper checks the source.
    let error =
        unsafe { bpf_probe_read_user((&raw mut numbers).cast(), size_of::<[u32; 2]>() as u32, place as *const _) };
    (error == 0).then_some(numbers)
}

/// Whether something is about that makes such syscalls worth a look.
#[inline(always)]
fn unusual(class: u8) -> bool {
    is_on(Switch::Notified) || class == class::READ && is_on(Switch::ReadsInstall)
}

#[inline(always)]
fn under_listener(row: *const ProcRow) -> bool {
    // SAFETY: a valid map value.
    unsafe { (*row).flags & proc_flag::NOTIFIED != 0 }
}

/// Whether a received message lost part of its control data. Only the caller's full table makes that a failure; a control
/// buffer that was too small looks alike and is told apart by the table having room.
#[inline(always)]
fn cut(nr: u64, regs: Object) -> bool {
    if nr != config::NR_RECVMSG {
        return false;
    }
    let message: u64 = regs.load(offset!(regs_si));
    let mut flags = 0u32;
    // SAFETY: room for the flags; the helper checks the source.
    let error = unsafe {
        bpf_probe_read_user((&raw mut flags).cast(), size_of::<u32>() as u32, (message + config::MSG_FLAGS) as *const _)
    };
    error == 0 && flags & config::MSG_CTRUNC != 0
}

#[inline(always)]
fn class_of(nr: u64, compat: bool) -> u8 {
    if nr >= config::CLASSES as u64 {
        // No number of this table, so perhaps one of another.
        return if compat || nr & config::X32 != 0 { class::COMPARE } else { class::NONE };
    }
    let table = if compat { (&raw const CLASSES_32).cast::<u8>() } else { (&raw const CLASSES).cast::<u8>() };
    // A bounded index.
    constant(table.wrapping_add(nr as usize))
}

/// Does nothing where [`sys_exit`] sits: what the hook alone costs.
#[btf_tracepoint(function = "sys_exit")]
pub fn empty_sys_exit(_: BtfTracePointContext) -> i32 {
    0
}
