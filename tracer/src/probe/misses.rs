//! Runs of a program that the kernel skipped.

use std::{
    fs,
    os::fd::{AsRawFd, BorrowedFd, RawFd},
};

use aya_obj::generated::{
    bpf_attr, bpf_cmd::BPF_OBJ_GET_INFO_BY_FD, bpf_link_info, bpf_link_type::BPF_LINK_TYPE_PERF_EVENT,
    bpf_perf_event_type, bpf_prog_info,
};

/// The link of a probe, by a descriptor that somebody else holds: as long as the program is attached.
pub(super) struct ProbeLink {
    /// Name of the program.
    pub(super) program: &'static str,
    fd: RawFd,
}

/// Runs skipped since load (`recursion_misses`, include/uapi/linux/bpf.h, v6.12). None if the kernel does not tell.
pub(super) fn of_program(program: BorrowedFd<'_>) -> Option<u64> {
    // SAFETY: plain integers; zero is a value of each.
    let mut info: bpf_prog_info = unsafe { std::mem::zeroed() };
    ask(program.as_raw_fd(), &mut info)?;
    Some(info.recursion_misses)
}

/// Hits that came to no program: of a return probe those for which the kernel had no room to remember a caller, of any those that came
/// while another was served (`nmissed` of `struct kprobe` and `struct kretprobe`). Told from 6.7 on; 0 before.
pub(super) fn of_link(link: &ProbeLink) -> u64 {
    let Some(info) = link_info(link.fd) else { return 0 };
    // SAFETY: `probe_links` kept links of perf events only; plain integers.
    let event = unsafe { info.__bindgen_anon_1.perf_event };
    let kinds = [bpf_perf_event_type::BPF_PERF_EVENT_KPROBE, bpf_perf_event_type::BPF_PERF_EVENT_KRETPROBE];
    if kinds.iter().all(|kind| *kind as u32 != event.type_) {
        return 0;
    }
    // SAFETY: the member that these kinds of event have; plain integers.
    unsafe { event.__bindgen_anon_1.kprobe.missed }
}

/// The probes of these programs, by their identities, among this process's own links: the library that attaches them keeps their
/// descriptors to itself.
pub(super) fn probe_links(programs: &[(u32, &'static str)]) -> Vec<ProbeLink> {
    let Ok(open) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let link = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        let fd: RawFd = entry.file_name().to_str()?.parse().ok()?;
        let info = (target.as_os_str() == "anon_inode:bpf_link").then(|| link_info(fd))??;
        let (_, program) = programs.iter().find(|(id, _)| *id == info.prog_id)?;
        (info.type_ == BPF_LINK_TYPE_PERF_EVENT as u32).then_some(ProbeLink { program, fd })
    };
    open.flatten().filter_map(link).collect()
}

fn link_info(fd: RawFd) -> Option<bpf_link_info> {
    // SAFETY: plain integers; zero is a value of each.
    let mut info: bpf_link_info = unsafe { std::mem::zeroed() };
    ask(fd, &mut info)?;
    Some(info)
}

/// What the kernel says of an object; what it does not know stays as it is.
fn ask<T>(fd: RawFd, info: &mut T) -> Option<()> {
    // SAFETY: plain integers; zero is a value of each.
    let mut attr: bpf_attr = unsafe { std::mem::zeroed() };
    attr.info.bpf_fd = u32::try_from(fd).ok()?;
    attr.info.info_len = u32::try_from(size_of::<T>()).ok()?;
    attr.info.info = std::ptr::from_mut(info) as u64;
    // SAFETY: `attr` names a descriptor and a buffer of the stated length, which outlives the call.
    let ret = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_OBJ_GET_INFO_BY_FD as libc::c_long, &raw mut attr, size_of::<bpf_attr>())
    };
    (ret == 0).then_some(())
}
