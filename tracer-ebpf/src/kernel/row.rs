//! One row of a census: what is behind a number, its name, and what is known of a socket.

use core::ffi::c_void;

use aya_ebpf::{
    bindings::BPF_RB_NO_WAKEUP,
    helpers::generated::{bpf_loop, bpf_probe_read_kernel, bpf_probe_read_kernel_str},
};
use fdtide_abi::{
    ChunkKey, Counter, Kind, OFFSET_NONE, TableState,
    event::{DescriptorRecord, NAME, NAMES, descriptor_flag},
    table::{CHUNK_NUMBERS, SLOT_TID_SHIFT, UNCREDITED},
};

use crate::kernel::{
    emit,
    kind::fdtide_classify,
    maps::{CHUNKS, EXTRAS, RING, Scratch, count},
    origin::wanted,
    read::{self, offset, peek},
};

/// One row.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_row(state: *mut TableState, scratch: *mut Scratch) -> u32 {
    if state.is_null() || scratch.is_null() {
        return 0;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks.
    unsafe {
        let number = (*scratch).census.row.number;
        // A number that is only reserved has nothing behind it.
        let Some(file) = peek::<u64>((*scratch).request.fd + u64::from(number) * 8) else { return 0 };
        if file == 0 {
            return 0;
        }
        fdtide_classify(&raw mut (*scratch).request, file);
        let kind = core::ptr::read_volatile(&raw const (*scratch).request.kind);
        let row = &raw mut (*scratch).census.row;
        (*row).kind = kind;
        origin(state, scratch, number);
        (*row).file_flags = at(file, offset!(file_flags)).unwrap_or(0);
        let inode: u64 = peek(file + u64::from(offset!(file_inode))).unwrap_or(0);
        (*row).inode = at(inode, offset!(inode_ino)).unwrap_or(0);
        let sb: u64 = peek(inode + u64::from(offset!(inode_sb))).unwrap_or(0);
        (*row).device = at(sb, offset!(sb_dev)).unwrap_or(0);
        if at::<u32>(inode, offset!(inode_nlink)) == Some(0) && (kind == Kind::File as u32 || kind == Kind::Dir as u32)
        {
            (*row).flags |= descriptor_flag::UNLINKED;
        }
        clear(row);
        if kind >= Kind::SocketUnix as u32 && kind <= Kind::SocketOther as u32 {
            socket(row, file);
        } else {
            fdtide_names(scratch, file);
        }
        if RING.output::<DescriptorRecord>(&*row, emit::wake(u64::from(BPF_RB_NO_WAKEUP))).is_err() {
            (*scratch).census.lost += 1;
            count(Counter::RingFull);
        } else {
            (*scratch).census.rows += 1;
        }
    }
    0
}

/// A member of the object at this address; None where this kernel has no such member.
#[inline(always)]
fn at<T: Copy>(object: u64, offset: u32) -> Option<T> {
    if offset == OFFSET_NONE || object == 0 { None } else { peek(object + u64::from(offset)) }
}

#[inline(always)]
fn clear(row: *mut DescriptorRecord) {
    // SAFETY: a valid map value.
    unsafe {
        (*row).family = 0;
        (*row).socket_type = 0;
        (*row).protocol = 0;
        (*row).state = 0;
        (*row).socket_state = 0;
        (*row).local_port = 0;
        (*row).remote_port = 0;
        read::clear(&raw mut (*row).local);
        read::clear(&raw mut (*row).remote);
        read::clear(&raw mut (*row).names);
    }
}

/// Who opened it, when, and from where.
#[inline(always)]
fn origin(state: *mut TableState, scratch: *mut Scratch, number: u32) {
    let index = (number & (CHUNK_NUMBERS as u32 - 1)) as usize;
    // SAFETY: valid map values and a bounded index.
    unsafe {
        let row = &raw mut (*scratch).census.row;
        let key = ChunkKey { files: (*scratch).request.files, index: u64::from(number / CHUNK_NUMBERS as u32) };
        let slot = if key.index == 0 {
            (*state).first.slots[index]
        } else {
            CHUNKS.get_ptr(key).map_or(0, |chunk| (*chunk).slots[index])
        };
        // In use, and not counted yet: whoever opened it has not come back to say so.
        (*row).tid = if slot == 0 { UNCREDITED } else { slot >> SLOT_TID_SHIFT };
        (*row).opened_ns = 0;
        (*row).stack = u32::MAX;
        if wanted()
            && let Some(extras) = EXTRAS.get_ptr(key)
        {
            let opened = (*extras).opened[index];
            if opened != 0 {
                (*row).opened_ns = opened;
                (*row).flags |= descriptor_flag::OPENED;
            }
            (*row).stack = (*extras).stack[index].wrapping_sub(1);
        }
    }
}

/// Names of a file's dentry and of those above it, through mounts, as far as there is room.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_names(scratch: *mut Scratch, file: u64) -> u32 {
    if scratch.is_null() {
        return 0;
    }
    // SAFETY: valid memory of the type's size, which the verifier checks; the callback gets a pointer that outlives the call.
    unsafe {
        let work = &raw mut (*scratch).census;
        (*work).dentry = peek(file + u64::from(offset!(file_dentry))).unwrap_or(0);
        (*work).mnt = at(file, offset!(file_mnt)).unwrap_or(0);
        (*work).names = 0;
        let mut scratch = scratch;
        bpf_loop(STEPS, name_step as *mut c_void, (&raw mut scratch).cast(), 0);
    }
    0
}

/// Names, and mounts between them.
const STEPS: u32 = NAMES as u32 + 5;

/// One dentry: its name, then on to the one above.
unsafe extern "C" fn name_step(_: u32, scratch: *mut c_void) -> i64 {
    // SAFETY: `fdtide_names` hands over a pointer that outlives the call; a valid map value, a bounded index.
    unsafe {
        let work = &raw mut (**scratch.cast::<*mut Scratch>()).census;
        let dentry = (*work).dentry;
        let names = core::ptr::read_volatile(&raw const (*work).names);
        if dentry == 0 || names >= NAMES as u32 {
            return 1;
        }
        let Some(parent) = peek::<u64>(dentry + u64::from(offset!(dentry_parent))) else { return 1 };
        let top = parent == dentry;
        let place = &raw mut (*work).row.names[names as usize];
        if !top || names == 0 {
            let Some(text) = peek::<u64>(dentry + u64::from(offset!(dentry_name))) else { return 1 };
            bpf_probe_read_kernel_str(place.cast(), NAME as u32, text as *const c_void);
        }
        if !top {
            (*work).names = names + 1;
            (*work).dentry = parent;
            return 0;
        }
        // The root of a file system, but for objects that are in no tree: those have names of their own.
        if names == 0 && (*place)[0] != b'/' {
            return 1;
        }
        let (in_mount, up, point) = (offset!(mount_mnt), offset!(mount_parent), offset!(mount_mountpoint));
        let mnt = (*work).mnt;
        if in_mount == OFFSET_NONE || up == OFFSET_NONE || point == OFFSET_NONE || mnt == 0 {
            return 1;
        }
        let mount = mnt - u64::from(in_mount);
        let Some(above) = peek::<u64>(mount + u64::from(up)) else { return 1 };
        if above == mount {
            (*work).row.flags |= descriptor_flag::ROOTED;
            return 1;
        }
        (*work).mnt = above + u64::from(in_mount);
        (*work).dentry = peek(mount + u64::from(point)).unwrap_or(0);
    }
    0
}

/// What is known of a socket.
#[inline(always)]
fn socket(row: *mut DescriptorRecord, file: u64) {
    // SAFETY: a valid map value.
    unsafe {
        let socket: u64 = peek(file + u64::from(offset!(file_private))).unwrap_or(0);
        let sk: u64 = peek(socket + u64::from(offset!(socket_sk))).unwrap_or(0);
        if sk == 0 {
            return;
        }
        (*row).flags |= descriptor_flag::SOCKET;
        (*row).socket_state = at::<u32>(socket, offset!(socket_state)).unwrap_or(0) as u8;
        (*row).state = at(sk, offset!(sk_state)).unwrap_or(0);
        (*row).socket_type = peek(sk + u64::from(offset!(sk_type))).unwrap_or(0);
        (*row).protocol = peek(sk + u64::from(offset!(sk_protocol))).unwrap_or(0);
        let family: u16 = peek(sk + u64::from(offset!(sk_family))).unwrap_or(0);
        (*row).family = family;
        match family {
            AF_INET | AF_INET6 => {
                (*row).local_port = at(sk, offset!(sk_num)).unwrap_or(0);
                (*row).remote_port = u16::from_be(at(sk, offset!(sk_dport)).unwrap_or(0));
                if family == AF_INET {
                    address::<4>(&raw mut (*row).local, sk, offset!(sk_rcv_saddr));
                    address::<4>(&raw mut (*row).remote, sk, offset!(sk_daddr));
                } else {
                    address::<16>(&raw mut (*row).local, sk, offset!(sk_v6_rcv_saddr));
                    address::<16>(&raw mut (*row).remote, sk, offset!(sk_v6_daddr));
                }
            }
            AF_UNIX => unix(row, sk),
            _ => {}
        }
    }
}

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

#[inline(always)]
fn address<const BYTES: u32>(into: *mut [u8; 16], sk: u64, offset: u32) {
    if offset != OFFSET_NONE {
        // SAFETY: at most the room there is; the helper checks the source.
        unsafe { bpf_probe_read_kernel(into.cast(), BYTES, (sk + u64::from(offset)) as *const c_void) };
    }
}

/// The path that a Unix socket is bound to; an abstract one begins with a zero.
#[inline(always)]
fn unix(row: *mut DescriptorRecord, sk: u64) {
    /// `sun_path` follows the family (include/uapi/linux/un.h, v6.12).
    const FAMILY: u32 = 2;
    const ROOM: u32 = 2 * NAME as u32 - 1;
    let (name, len) = (offset!(unix_name), offset!(unix_len));
    let Some(bound) = at::<u64>(sk, offset!(unix_addr)) else { return };
    if bound == 0 || name == OFFSET_NONE {
        return;
    }
    // SAFETY: a valid map value with room for two names; the helper checks the source.
    unsafe {
        (*row).flags |= descriptor_flag::BOUND;
        let said: u32 = at(bound, len).unwrap_or(0);
        let bytes = said.saturating_sub(FAMILY);
        let bytes = if bytes > ROOM { ROOM } else { bytes };
        let path = bound + u64::from(name + FAMILY);
        bpf_probe_read_kernel((&raw mut (*row).names).cast(), bytes, path as *const c_void);
    }
}
