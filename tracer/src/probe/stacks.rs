//! User stacks that the kernel program has kept.

use std::os::fd::{AsFd as _, AsRawFd as _};

use aya::maps::Map;
use aya_obj::generated::{bpf_attr, bpf_cmd::BPF_MAP_LOOKUP_ELEM};
use fdtide_abi::table::{FRAMES, RawFrame};

use super::session::Session;

/// One frame of a user stack, innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackFrame {
    /// In a file: its build id, and the offset.
    File {
        /// Build id of the file.
        build_id: [u8; 20],
        /// Offset in the file, bytes.
        offset: u64,
    },
    /// At an address of which the kernel could not tell the file.
    Address(u64),
}

impl Session {
    /// The user stack with this identity; None if there is none, or not any more.
    #[must_use]
    pub fn stack(&self, id: u32) -> Option<Vec<StackFrame>> {
        let Map::StackTraceMap(map) = self.ebpf.map("STACKS")? else { return None };
        let mut frames = [RawFrame { status: 0, build_id: [0; 20], at: 0 }; FRAMES];
        // SAFETY: plain integers; zero is a value of each.
        let mut attr: bpf_attr = unsafe { std::mem::zeroed() };
        attr.__bindgen_anon_2.map_fd = u32::try_from(map.fd().as_fd().as_raw_fd()).ok()?;
        attr.__bindgen_anon_2.key = &raw const id as u64;
        attr.__bindgen_anon_2.__bindgen_anon_1.value = frames.as_mut_ptr() as u64;
        // SAFETY: a live map, and a key and a value of its sizes that outlive the call.
        let ret = unsafe {
            libc::syscall(libc::SYS_bpf, BPF_MAP_LOOKUP_ELEM as libc::c_long, &raw mut attr, size_of::<bpf_attr>())
        };
        if ret != 0 {
            return None;
        }
        let frame = |frame: &RawFrame| match frame.status {
            1 => Some(StackFrame::File { build_id: frame.build_id, offset: frame.at }),
            2 => Some(StackFrame::Address(frame.at)),
            _ => None,
        };
        Some(frames.iter().map_while(frame).collect())
    }
}
