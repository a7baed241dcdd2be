//! Runs of a program that the kernel skipped.

use std::os::fd::{AsRawFd, BorrowedFd};

use aya_obj::generated::{bpf_attr, bpf_cmd::BPF_OBJ_GET_INFO_BY_FD, bpf_prog_info};

/// Runs skipped since load (`recursion_misses`, include/uapi/linux/bpf.h, v6.12). None if the kernel does not tell.
pub(super) fn of_program(program: BorrowedFd<'_>) -> Option<u64> {
    // SAFETY: plain integers; zero is a value of each.
    let mut info: bpf_prog_info = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut attr: bpf_attr = unsafe { std::mem::zeroed() };
    attr.info.bpf_fd = u32::try_from(program.as_raw_fd()).ok()?;
    attr.info.info_len = size_of::<bpf_prog_info>() as u32;
    attr.info.info = &raw mut info as u64;
    // SAFETY: `attr` names a live descriptor and a buffer of the stated length, which outlives the call.
    let ret = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_OBJ_GET_INFO_BY_FD as libc::c_long, &raw mut attr, size_of::<bpf_attr>())
    };
    (ret == 0).then_some(info.recursion_misses)
}
