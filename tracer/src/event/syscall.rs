//! Names of syscalls and errors.

use std::borrow::Cow;

/// A syscall of the 64-bit or the 32-bit table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Syscall {
    /// Its number in its table.
    pub nr: u16,
    /// It is from the 32-bit table.
    pub compat: bool,
    /// It did not return the error: fewer descriptors came than were sent.
    pub hidden: bool,
}

/// A positive error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub u16);

/// x86-64 syscalls that can make a descriptor (arch/x86/entry/syscalls/syscall_64.tbl, v6.18).
const X86_64: &[(u16, &str)] = &[
    (0, "read"),
    (2, "open"),
    (16, "ioctl"),
    (17, "pread64"),
    (19, "readv"),
    (22, "pipe"),
    (32, "dup"),
    (33, "dup2"),
    (41, "socket"),
    (43, "accept"),
    (47, "recvmsg"),
    (53, "socketpair"),
    (55, "getsockopt"),
    (56, "clone"),
    (57, "fork"),
    (58, "vfork"),
    (59, "execve"),
    (72, "fcntl"),
    (85, "creat"),
    (213, "epoll_create"),
    (240, "mq_open"),
    (253, "inotify_init"),
    (257, "openat"),
    (272, "unshare"),
    (282, "signalfd"),
    (283, "timerfd_create"),
    (284, "eventfd"),
    (288, "accept4"),
    (289, "signalfd4"),
    (290, "eventfd2"),
    (291, "epoll_create1"),
    (292, "dup3"),
    (293, "pipe2"),
    (294, "inotify_init1"),
    (295, "preadv"),
    (298, "perf_event_open"),
    (299, "recvmmsg"),
    (300, "fanotify_init"),
    (304, "open_by_handle_at"),
    (317, "seccomp"),
    (319, "memfd_create"),
    (321, "bpf"),
    (322, "execveat"),
    (323, "userfaultfd"),
    (327, "preadv2"),
    (425, "io_uring_setup"),
    (426, "io_uring_enter"),
    (427, "io_uring_register"),
    (428, "open_tree"),
    (430, "fsopen"),
    (432, "fsmount"),
    (433, "fspick"),
    (434, "pidfd_open"),
    (435, "clone3"),
    (436, "close_range"),
    (437, "openat2"),
    (438, "pidfd_getfd"),
    (444, "landlock_create_ruleset"),
    (447, "memfd_secret"),
    (467, "open_tree_attr"),
];

/// 32-bit syscalls that can make a descriptor (arch/x86/entry/syscalls/syscall_32.tbl, v6.18); numbers from 424 on are
/// those of the 64-bit table.
const I386: &[(u16, &str)] = &[
    (2, "fork"),
    (3, "read"),
    (5, "open"),
    (8, "creat"),
    (11, "execve"),
    (41, "dup"),
    (42, "pipe"),
    (54, "ioctl"),
    (55, "fcntl"),
    (63, "dup2"),
    (102, "socketcall"),
    (120, "clone"),
    (190, "vfork"),
    (221, "fcntl64"),
    (254, "epoll_create"),
    (277, "mq_open"),
    (291, "inotify_init"),
    (295, "openat"),
    (310, "unshare"),
    (321, "signalfd"),
    (322, "timerfd_create"),
    (323, "eventfd"),
    (327, "signalfd4"),
    (328, "eventfd2"),
    (329, "epoll_create1"),
    (330, "dup3"),
    (331, "pipe2"),
    (332, "inotify_init1"),
    (336, "perf_event_open"),
    (337, "recvmmsg"),
    (338, "fanotify_init"),
    (342, "open_by_handle_at"),
    (356, "memfd_create"),
    (357, "bpf"),
    (358, "execveat"),
    (359, "socket"),
    (360, "socketpair"),
    (364, "accept4"),
    (372, "recvmsg"),
    (374, "userfaultfd"),
];

/// Errors that a syscall that makes descriptors can give (include/uapi/asm-generic/errno-base.h, v6.18).
const ERRNOS: &[(u16, &str)] = &[
    (1, "EPERM"),
    (2, "ENOENT"),
    (4, "EINTR"),
    (5, "EIO"),
    (7, "E2BIG"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (19, "ENODEV"),
    (22, "EINVAL"),
    (23, "ENFILE"),
    (24, "EMFILE"),
    (28, "ENOSPC"),
    (38, "ENOSYS"),
    (105, "ENOBUFS"),
    (122, "EDQUOT"),
];

fn find(table: &[(u16, &'static str)], number: u16) -> Option<&'static str> {
    table.iter().find(|(nr, _)| *nr == number).map(|(_, name)| *name)
}

impl Syscall {
    /// `openat`, `syscall_999` where no name is known, ` (32-bit)` after one of the 32-bit table.
    pub fn name(self) -> Cow<'static, str> {
        if self.nr == Self::NONE {
            return Cow::Borrowed("io_uring");
        }
        let shared = self.nr >= 424;
        let name = if self.compat && !shared { find(I386, self.nr) } else { find(X86_64, self.nr) };
        match (name, self.compat) {
            (Some(name), false) => Cow::Borrowed(name),
            (Some(name), true) => Cow::Owned(format!("{name} (32-bit)")),
            (None, false) => Cow::Owned(format!("syscall_{}", self.nr)),
            (None, true) => Cow::Owned(format!("syscall_{} (32-bit)", self.nr)),
        }
    }

    /// No syscall: a worker of io_uring.
    pub const NONE: u16 = 0x3fff;

    /// Free numbers that it needs at least.
    pub fn needs(self) -> u32 {
        match self.name().as_ref() {
            "pipe" | "pipe2" | "socketpair" => 2,
            _ => 1,
        }
    }

    /// Whether `EMFILE` from it can mean another quota than the table: inotify and fanotify instances of a user, bytes in
    /// message queues (fs/notify/inotify/inotify_user.c, fs/notify/fanotify/fanotify_user.c, ipc/mqueue.c, v6.18).
    pub fn has_other_quota(self) -> bool {
        let name = self.name();
        ["inotify_init", "fanotify_init", "mq_open"].iter().any(|with| name.starts_with(with))
    }
}

impl Errno {
    /// No room in the table, or in another quota of the process or user.
    pub const EMFILE: Errno = Errno(24);
    /// No room in the whole system.
    pub const ENFILE: Errno = Errno(23);

    /// No such descriptor; for dup2 also a number that may not be used.
    pub const EBADF: Errno = Errno(9);
    /// An argument that can't be; for F_DUPFD a number that may not be used.
    pub const EINVAL: Errno = Errno(22);

    /// `EMFILE`, `errno_999` where no name is known.
    pub fn name(self) -> Cow<'static, str> {
        match find(ERRNOS, self.0) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("errno_{}", self.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(nr: u16, compat: bool) -> Syscall {
        Syscall { nr, compat, hidden: false }
    }

    #[test]
    fn syscalls_of_both_tables_have_names() {
        assert_eq!(call(293, false).name(), "pipe2");
        assert_eq!(call(331, true).name(), "pipe2 (32-bit)");
        assert_eq!(call(437, true).name(), "openat2 (32-bit)");
        assert_eq!(call(999, false).name(), "syscall_999");
        assert_eq!(call(7, true).name(), "syscall_7 (32-bit)");
    }

    #[test]
    fn every_class_that_the_kernel_program_watches_has_a_name() {
        use fdtide_abi::config::{X86_64 as CLASSES, class};
        for (class, nr) in CLASSES.iter().zip(0u16..) {
            if !matches!(*class, class::NONE | class::CLOSE) {
                assert!(!call(nr, false).name().starts_with("syscall_"), "syscall {nr} has no name");
            }
        }
    }

    #[test]
    fn other_quotas_are_known() {
        assert!(call(294, false).has_other_quota());
        assert!(call(291, true).has_other_quota());
        assert!(!call(257, false).has_other_quota());
    }

    #[test]
    fn errors_have_names() {
        assert_eq!(Errno::EMFILE.name(), "EMFILE");
        assert_eq!(Errno(999).name(), "errno_999");
    }
}
