//! The syscall that a task is in, as hooks on functions see it: by the registers that it came with.

use fdtide_abi::config::{self, class};

use crate::kernel::{
    maps::{CLASSES, CLASSES_32},
    read::{Object, constant, offset},
    tree,
};

/// Number of the syscall that the task is in, as a failure record has it.
#[inline(always)]
pub fn number_of(task: Object) -> u16 {
    let regs = Object::registers(task);
    let nr: u64 = regs.load(offset!(regs_orig_ax));
    let status: u32 = task.load(offset!(task_status));
    if status & tree::TS_COMPAT != 0 {
        return nr as u16 & config::NR_NONE | config::NR_COMPAT;
    }
    let hidden = nr < config::CLASSES as u64 && config::X86_64[nr as usize & (config::CLASSES - 1)] == class::RECEIVE;
    nr as u16 & config::NR_NONE | if hidden { config::NR_HIDDEN } else { 0 }
}

/// Class of a syscall, its number as a failure record has it.
#[inline(always)]
pub fn class_of(nr: u16) -> u8 {
    let at = (nr & config::NR_NONE) as usize & (config::CLASSES - 1);
    let table = if nr & config::NR_COMPAT != 0 { &raw const CLASSES_32 } else { &raw const CLASSES };
    // A bounded index.
    constant(table.cast::<u8>().wrapping_add(at))
}

/// Whether a syscall, by its number as a failure record has it, makes an inotify instance.
#[inline(always)]
pub fn is_inotify(nr: u16) -> bool {
    const INIT_32: u16 = config::NR32_INOTIFY_INIT | config::NR_COMPAT;
    const INIT1_32: u16 = config::NR32_INOTIFY_INIT1 | config::NR_COMPAT;
    matches!(nr, config::NR_INOTIFY_INIT | config::NR_INOTIFY_INIT1 | INIT_32 | INIT1_32)
}

/// Whether the syscall that a task is in gives it descriptors. In others those that appear are given by somebody else: whoever
/// listens to its seccomp filter.
#[inline(always)]
pub fn gives(task: Object) -> bool {
    let flags: u32 = task.load(offset!(task_flags));
    flags & tree::PF_IO_WORKER != 0 || class_of(number_of(task)) != class::NONE
}
