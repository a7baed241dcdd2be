//! What a `struct file` is, from its mode, its superblock and its name, never from link text.

use aya_ebpf::helpers::generated::bpf_probe_read_kernel;
use fdtide_abi::{Counter, Kind};

use crate::kernel::{
    maps::count,
    read::{offset, peek},
    request::{Request, WINDOW, Window},
};

/// Opened with O_PATH (`FMODE_PATH`, include/linux/fs.h, v6.12).
const FMODE_PATH: u32 = 0x4000;

/// Superblock magics (include/uapi/linux/magic.h and the file systems' own sources, v6.12).
mod magic {
    pub const ANON_INODE: u64 = 0x0904_1934;
    pub const PIDFS: u64 = 0x5049_4446;
    pub const NSFS: u64 = 0x6e73_6673;
    pub const PIPEFS: u64 = 0x5049_5045;
    pub const TMPFS: u64 = 0x0102_1994;
    pub const HUGETLBFS: u64 = 0x9584_58f6;
    pub const SECRETMEM: u64 = 0x5345_434d;
    pub const DMA_BUF: u64 = 0x444d_4142;
    pub const MQUEUE: u64 = 0x1980_0202;
    pub const GUEST_MEMFD: u64 = 0x474d_454d;
}

const S_IFMT: u16 = 0o170_000;

/// Classifies the `struct file` at this address. The number of its [`Kind`] is left in the request: by way of memory, so
/// that the compiler can't know its range and leave out what keeps it in range for the verifier.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_classify(request: *mut Request, file: u64) -> u32 {
    if request.is_null() {
        return 0;
    }
    // SAFETY: valid working memory, which the verifier checks.
    unsafe {
        let kind = read(&mut (*request).window, file).unwrap_or(Kind::Unknown);
        core::ptr::write_volatile(&raw mut (*request).kind, kind as u32);
    }
    0
}

/// Copies the start of a kernel object, so that members near it cost one read together.
#[inline(always)]
fn open_window(window: &mut Window, address: u64) -> Option<()> {
    // SAFETY: exactly the bytes of the window; the helper checks the source.
    let error = unsafe { bpf_probe_read_kernel(window.as_mut_ptr().cast(), WINDOW as u32, address as *const _) };
    if error != 0 {
        count(Counter::ReadFailed);
        return None;
    }
    Some(())
}

/// A member of the object in the window, by a read of its own if it lies beyond.
#[inline(always)]
fn member<T: Copy>(window: &Window, address: u64, offset: u32) -> Option<T> {
    if offset as usize + size_of::<T>() > WINDOW {
        return peek(address + u64::from(offset));
    }
    // SAFETY: within the window, which has no padding; the offset is a multiple of the member's alignment.
    Some(unsafe { window.as_ptr().cast::<u8>().add(offset as usize & (WINDOW - 1)).cast::<T>().read() })
}

#[inline(always)]
fn read(window: &mut Window, file: u64) -> Option<Kind> {
    open_window(window, file)?;
    let mode: u32 = member(window, file, offset!(file_mode))?;
    if mode & FMODE_PATH != 0 {
        return Some(Kind::OPath);
    }
    let inode: u64 = member(window, file, offset!(file_inode))?;
    open_window(window, inode)?;
    // What the mode tells alone needs no further read.
    let inode_mode: u16 = member(window, inode, offset!(inode_mode))?;
    match inode_mode & S_IFMT {
        0o040_000 => return Some(Kind::Dir),
        0o120_000 => return Some(Kind::Symlink),
        0o060_000 => return Some(Kind::Blk),
        0o020_000 => return Some(character(member(window, inode, offset!(inode_rdev))?)),
        0o140_000 => return socket(file),
        _ => {}
    }
    let sb: u64 = member(window, inode, offset!(inode_sb))?;
    let sb_magic: u64 = peek(sb + u64::from(offset!(sb_magic)))?;
    match sb_magic {
        magic::PIPEFS => return Some(Kind::Pipe),
        magic::ANON_INODE => return anonymous(file),
        magic::PIDFS => return Some(Kind::Pidfd),
        magic::NSFS => return Some(Kind::Ns),
        magic::SECRETMEM => return Some(Kind::Secretmem),
        magic::DMA_BUF => return Some(Kind::DmaBuf),
        magic::MQUEUE => return Some(Kind::Mqueue),
        magic::GUEST_MEMFD => return Some(Kind::Kvm),
        magic::TMPFS | magic::HUGETLBFS if is_memfd(file)? => return Some(Kind::Memfd),
        _ => {}
    }
    Some(match inode_mode & S_IFMT {
        0o100_000 => Kind::File,
        0o010_000 => Kind::Fifo,
        _ => Kind::Other,
    })
}

/// Terminals have their own major numbers (Documentation/admin-guide/devices.txt, v6.12).
#[inline(always)]
fn character(rdev: u32) -> Kind {
    match rdev >> 20 {
        2..=5 | 136..=143 | 166 | 188 | 204 | 229 => Kind::Tty,
        _ => Kind::Chr,
    }
}

#[inline(always)]
fn name(file: u64) -> Option<u64> {
    let dentry: u64 = peek(file + u64::from(offset!(file_dentry)))?;
    let name: u64 = peek(dentry + u64::from(offset!(dentry_name)))?;
    peek(name)
}

/// A memfd lives in the kernel's own mount, where every entry is its own parent; a file of that name elsewhere does not.
#[inline(always)]
fn is_memfd(file: u64) -> Option<bool> {
    let dentry: u64 = peek(file + u64::from(offset!(file_dentry)))?;
    let parent: u64 = peek(dentry + u64::from(offset!(dentry_parent)))?;
    if parent != dentry {
        return Some(false);
    }
    let text: u64 = peek(dentry + u64::from(offset!(dentry_name)))?;
    let start: u64 = peek(text)?;
    const MEMFD: u64 = u64::from_le_bytes(*b"memfd:\0\0");
    Some(start & 0xffff_ffff_ffff == MEMFD)
}

#[inline(always)]
fn anonymous(file: u64) -> Option<Kind> {
    const fn word(text: &[u8; 8]) -> u64 {
        u64::from_le_bytes(*text)
    }
    let name = name(file)?;
    const BPF_LINK: u64 = word(b"bpf_link");
    const BPF_LINK_DASH: u64 = word(b"bpf-link");
    let kind = if name == word(b"[eventfd") {
        Kind::Eventfd
    } else if name == word(b"[eventpo") {
        Kind::Epoll
    } else if name == word(b"[landloc") {
        Kind::LandlockRuleset
    } else if name == word(b"[timerfd") {
        Kind::Timerfd
    } else if name == word(b"[signalf") {
        Kind::Signalfd
    } else if name == word(b"inotify\0") {
        Kind::Inotify
    } else if name == word(b"[fanotif") {
        Kind::Fanotify
    } else if name == word(b"[userfau") {
        Kind::Userfaultfd
    } else if name == word(b"[perf_ev") {
        Kind::PerfEvent
    } else if name == word(b"[io_urin") {
        Kind::IoUring
    } else if name == word(b"bpf-map\0") {
        Kind::BpfMap
    } else if name == word(b"bpf-prog") {
        Kind::BpfProg
    } else if name == BPF_LINK || name == BPF_LINK_DASH {
        Kind::BpfLink
    } else if name == word(b"seccomp ") {
        Kind::SeccompNotify
    } else if name == word(b"[pidfd]\0") {
        Kind::Pidfd
    } else if name == word(b"[fsconte") {
        Kind::FsContext
    } else if name as u32 == u32::from_le_bytes(*b"kvm-") {
        Kind::Kvm
    } else {
        Kind::Other
    };
    Some(kind)
}

/// Address families and socket types (include/linux/socket.h and net.h, v6.12).
#[inline(always)]
fn socket(file: u64) -> Option<Kind> {
    let socket: u64 = peek(file + u64::from(offset!(file_private)))?;
    let sk: u64 = peek(socket + u64::from(offset!(socket_sk)))?;
    if sk == 0 {
        return Some(Kind::SocketOther);
    }
    let family: u16 = peek(sk + u64::from(offset!(sk_family)))?;
    Some(match family {
        1 => Kind::SocketUnix,
        2 | 10 => {
            let protocol: u16 = peek(sk + u64::from(offset!(sk_protocol)))?;
            let kind: u16 = peek(sk + u64::from(offset!(sk_type)))?;
            match (kind, protocol) {
                (1, 6 | 262) => Kind::SocketTcp,
                (2, 17 | 136) => Kind::SocketUdp,
                (3, _) => Kind::SocketRaw,
                _ => Kind::SocketOther,
            }
        }
        16 => Kind::SocketNetlink,
        17 => Kind::SocketPacket,
        38 => Kind::SocketAlg,
        40 => Kind::SocketVsock,
        _ => Kind::SocketOther,
    })
}
