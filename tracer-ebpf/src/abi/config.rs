//! What the agent tells the kernel program before load, and the syscall classes.

/// Set-up written into frozen read-only data before load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Config {
    /// How long `live` must be still to count as settled, nanoseconds.
    pub settle_ns: u64,
    /// Process id of the agent, which is never traced.
    pub agent: u32,
    /// Always 0.
    pub spare: u32,
}

crate::assert_packed!(Config, 16);

/// `RLIMIT_NOFILE`, index into `signal_struct.rlim` (include/uapi/asm-generic/resource.h, v6.12).
pub const RLIMIT_NOFILE: usize = 7;
/// Size of `struct rlimit`, bytes: two unsigned longs, the soft limit first.
pub const RLIMIT_SIZE: usize = 16;

/// What a syscall's exit tells about the descriptor table.
pub mod class {
    /// Nothing.
    pub const NONE: u8 = 0;
    /// The return value is a new descriptor.
    pub const RET: u8 = 1;
    /// The first argument was closed.
    pub const CLOSE: u8 = 2;
    /// dup2, dup3: the return value is a descriptor that may have replaced another one.
    pub const DUP2: u8 = 3;
    /// fcntl: the return value is a new descriptor for two commands.
    pub const FCNTL: u8 = 4;
    /// Any number may have changed, and the task may use another table now.
    pub const COMPARE: u8 = 5;
}

/// Length of the class table; a power of two above the greatest syscall number.
pub const CLASSES: usize = 512;

const RET: &[u16] = &[
    2, 85, 257, 437, 304, // open creat openat openat2 open_by_handle_at
    41, 43, 288, // socket accept accept4
    32,  // dup
    213, 291, 284, 290, 283, 282, 289, 253, 294, // epoll eventfd timerfd signalfd inotify
    319, 447, 298, 434, 438, 323, 425, 300, // memfd secretmem perf pidfd getfd userfaultfd io_uring fanotify
    430, 432, 433, 428, 467, 240, 444, // fsopen fsmount fspick open_tree open_tree_attr mq_open landlock
];
const COMPARE: &[u16] = &[
    436, // close_range
    47, 299, // recvmsg recvmmsg
    56, 57, 58, 435, 272, // clone fork vfork clone3 unshare
    59, 322, // execve execveat
    426, 427, // io_uring_enter io_uring_register
    16, 55, 321, 317, // ioctl getsockopt bpf seccomp
    22, 293, 53, // pipe pipe2 socketpair: both numbers show in the bitmap
];

const fn fill(mut table: [u8; CLASSES], numbers: &[u16], class: u8) -> [u8; CLASSES] {
    let mut i = 0;
    while i < numbers.len() {
        table[numbers[i] as usize] = class;
        i += 1;
    }
    table
}

/// Class of each x86-64 syscall number.
///
/// The flag-`VERSION` form of landlock_create_ruleset and the update form of signalfd return small numbers that are no new
/// descriptors: looking at that number does no harm.
pub const X86_64: [u8; CLASSES] = {
    let mut table = [class::NONE; CLASSES];
    table = fill(table, RET, class::RET);
    table = fill(table, COMPARE, class::COMPARE);
    table[3] = class::CLOSE;
    table[33] = class::DUP2;
    table[292] = class::DUP2;
    table[72] = class::FCNTL;
    table
};

/// `fcntl` commands whose result is a new descriptor: F_DUPFD and F_DUPFD_CLOEXEC.
pub const F_DUPFD: [u64; 2] = [0, 1030];
/// Marks a syscall number of the 32-bit table in a failure record.
pub const NR_COMPAT: u16 = 0x8000;
