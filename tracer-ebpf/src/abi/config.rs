//! What the agent tells the kernel program before load, and the syscall classes.

/// Set-up written into frozen read-only data before load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Config {
    /// How long `live` must be still to count as settled, nanoseconds.
    pub settle_ns: u64,
    /// Process id of the agent, which is never traced.
    pub agent: u32,
    /// [`want`] bits.
    pub want: u32,
    /// A rise and fall of at least so many descriptors is a crest.
    pub crest_min: u32,
    /// A crest of at least so many descriptors is worth a census; `u32::MAX` for never.
    pub census_at: u32,
}

crate::assert_packed!(Config, 24);

/// Processes that are followed at a time.
pub const MAX_PROCS: u32 = 65_536;
/// Process ids that there can be (`PID_MAX_LIMIT`, include/linux/threads.h, v6.12).
pub const MAX_PIDS: u32 = 1 << 22;
/// Names, users and cgroups that make a process a target at its exec.
pub const MAX_WANTED: u32 = 4_096;

/// Bits of [`Config::want`]: what costs extra and is off unless asked for.
pub mod want {
    /// A record of every install and close.
    pub const SLOTS: u32 = 1;
    /// When each descriptor was installed.
    pub const AGES: u32 = 2;
    /// The user stack of each install.
    pub const STACKS: u32 = 4;
    /// A census at the first failure of each kind.
    pub const CENSUS_FAILED: u32 = 8;
}

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
    /// As [`COMPARE`], and what is new was made by the caller.
    pub const CREATE: u8 = 9;
    /// Reads that install descriptors if the file is a fanotify group or a userfaultfd.
    pub const READ: u8 = 6;
    /// recvmsg, recvmmsg: as [`CREATE`], and a failure may hide in a success.
    pub const RECEIVE: u8 = 7;
    /// pipe, pipe2, socketpair: two new descriptors, whose numbers are in user memory.
    pub const PAIR: u8 = 12;
    /// close_range: any number may have gone, and been given away again before anyone looked.
    pub const RANGE: u8 = 13;
    /// landlock_create_ruleset: as [`RET`], unless it is asked for a version, which is no descriptor.
    pub const RULESET: u8 = 10;
    /// signalfd, signalfd4: as [`RET`], unless the first argument names one that is there.
    pub const SIGNALFD: u8 = 11;
    /// seccomp: as [`COMPARE`], and from now on any syscall may install descriptors.
    pub const SECCOMP: u8 = 8;
}

/// Length of the class table; a power of two above the greatest syscall number.
pub const CLASSES: usize = 512;

const RET: &[u16] = &[
    2, 85, 257, 437, 304, // open creat openat openat2 open_by_handle_at
    41, 43, 288, // socket accept accept4
    32,  // dup
    213, 291, 284, 290, 283, 253, 294, // epoll eventfd timerfd inotify
    319, 447, 298, 434, 438, 323, 425, 300, // memfd secretmem perf pidfd getfd userfaultfd io_uring fanotify
    430, 432, 433, 428, 467, 240, // fsopen fsmount fspick open_tree open_tree_attr mq_open
];
const COMPARE: &[u16] = &[
    56, 57, 58, 435, 272, // clone fork vfork clone3 unshare
    59, 322, // execve execveat
    427, // io_uring_register
];
const CREATE: &[u16] = &[
    16, 55, 321, 426, // ioctl getsockopt bpf io_uring_enter
];

const READ: &[u16] = &[0, 17, 19, 295, 327]; // read pread64 readv preadv preadv2
const RECEIVE: &[u16] = &[47, 299]; // recvmsg recvmmsg

const fn fill(mut table: [u8; CLASSES], numbers: &[u16], class: u8) -> [u8; CLASSES] {
    let mut i = 0;
    while i < numbers.len() {
        table[numbers[i] as usize] = class;
        i += 1;
    }
    table
}

/// Class of each x86-64 syscall number.
pub const X86_64: [u8; CLASSES] = {
    let mut table = [class::NONE; CLASSES];
    table = fill(table, RET, class::RET);
    table = fill(table, COMPARE, class::COMPARE);
    table = fill(table, CREATE, class::CREATE);
    table = fill(table, READ, class::READ);
    table = fill(table, RECEIVE, class::RECEIVE);
    table[22] = class::PAIR;
    table[293] = class::PAIR;
    table[53] = class::PAIR;
    table[436] = class::RANGE;
    table[317] = class::SECCOMP;
    table[444] = class::RULESET;
    table[282] = class::SIGNALFD;
    table[289] = class::SIGNALFD;
    table[3] = class::CLOSE;
    table[33] = class::DUP2;
    table[292] = class::DUP2;
    table[72] = class::FCNTL;
    table
};

/// Calls of the 32-bit table that return a new descriptor (arch/x86/entry/syscalls/syscall_32.tbl, v6.12); from 424 on both
/// tables have the same numbers.
const RET_32: &[u16] = &[
    5, 8, 295, 437, 342, // open creat openat openat2 open_by_handle_at
    359, 364, 41, // socket accept4 dup
    254, 329, 323, 328, 322, 291, 332, // epoll eventfd timerfd inotify
    356, 447, 336, 434, 438, 374, 425, 338, // memfd secretmem perf pidfd getfd userfaultfd io_uring fanotify
    430, 432, 433, 428, 467, 277, // fsopen fsmount fspick open_tree open_tree_attr mq_open
];
const CREATE_32: &[u16] = &[
    102, 42, 331, 360, // socketcall pipe pipe2 socketpair
    55, 221, 54, 357, 426, // fcntl fcntl64 ioctl bpf io_uring_enter
];

/// Class of each syscall number of the 32-bit table. What is not named is compared, which finds every change but who made it
/// and what took another's place at the same number and is of the same kind.
pub const I386: [u8; CLASSES] = {
    let mut table = [class::COMPARE; CLASSES];
    table = fill(table, RET_32, class::RET);
    table = fill(table, CREATE_32, class::CREATE);
    table[6] = class::CLOSE;
    table[63] = class::DUP2;
    table[330] = class::DUP2;
    table[321] = class::SIGNALFD;
    table[327] = class::SIGNALFD;
    table[436] = class::RANGE;
    table[354] = class::SECCOMP;
    table[444] = class::RULESET;
    table
};

/// `SECCOMP_FILTER_FLAG_NEW_LISTENER` (include/uapi/linux/seccomp.h, v6.12): seccomp returns a descriptor.
pub const NEW_LISTENER: u32 = 8;
/// `socketpair` writes its two descriptors to its fourth argument; the pipe calls to their first.
pub const NR_SOCKETPAIR: u64 = 53;
/// `recvmsg`, whose message tells that descriptors were left out.
pub const NR_RECVMSG: u64 = 47;
/// Number of `inotify_init`.
pub const NR_INOTIFY_INIT: u16 = 253;
/// Number of `inotify_init1`.
pub const NR_INOTIFY_INIT1: u16 = 294;
/// Number of `inotify_init` in the 32-bit table.
pub const NR32_INOTIFY_INIT: u16 = 291;
/// Number of `inotify_init1` in the 32-bit table.
pub const NR32_INOTIFY_INIT1: u16 = 332;
/// Offset of `msg_flags` in `struct user_msghdr` (include/linux/socket.h, v6.12), 64-bit.
pub const MSG_FLAGS: u64 = 48;
/// Control data was cut (include/linux/socket.h, v6.12).
pub const MSG_CTRUNC: u32 = 8;
/// `IORING_OP_CLOSE` (include/uapi/linux/io_uring.h, v6.12).
pub const URING_CLOSE: u8 = 19;
/// `fcntl` commands whose result is a new descriptor: F_DUPFD and F_DUPFD_CLOEXEC.
pub const F_DUPFD: [u64; 2] = [0, 1030];
/// Marks a syscall number of the 32-bit table in a failure record.
pub const NR_COMPAT: u16 = 0x8000;
/// Marks a failure that the syscall did not return: fewer descriptors came than were sent.
pub const NR_HIDDEN: u16 = 0x4000;
/// Set in numbers of the x32 table (`__X32_SYSCALL_BIT`, arch/x86/include/uapi/asm/unistd.h, v6.12).
pub const X32: u64 = 0x4000_0000;
/// No syscall: an io_uring worker.
pub const NR_NONE: u16 = 0x3fff;
