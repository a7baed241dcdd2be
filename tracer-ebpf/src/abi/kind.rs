//! What a descriptor points to.

/// Room for kinds in every composition array; a few more than there are, so that a new kind changes no layout.
pub const KINDS: usize = 48;

macro_rules! kinds {
    ($($name:ident = $value:literal => $text:literal, $doc:literal;)*) => {
        /// What a descriptor points to. The numbers cross the boundary and are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u32)]
        pub enum Kind {
            $(#[doc = $doc] $name = $value,)*
        }

        impl Kind {
            /// Every kind, in the order of their numbers.
            pub const ALL: &'static [Kind] = &[$(Kind::$name,)*];

            /// The kind with this number, if this version knows it.
            pub const fn from_raw(raw: u32) -> Option<Kind> {
                match raw {
                    $($value => Some(Kind::$name),)*
                    _ => None,
                }
            }

            /// The name used in every output.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$name => $text,)*
                }
            }

            /// One line for the reader of a report.
            pub const fn help(self) -> &'static str {
                match self {
                    $(Kind::$name => $doc,)*
                }
            }
        }
    };
}

kinds! {
    Other = 0 => "other", "An anonymous or special object that this version has no name for.";
    File = 1 => "file", "A regular file.";
    Dir = 2 => "dir", "A directory.";
    Symlink = 3 => "symlink", "A symbolic link.";
    OPath = 4 => "o_path", "Anything opened with O_PATH: a place in the tree, not its content.";
    Pipe = 5 => "pipe", "One end of an anonymous pipe.";
    Fifo = 6 => "fifo", "A named pipe.";
    Chr = 7 => "chr", "A character device that is no terminal.";
    Blk = 8 => "blk", "A block device.";
    Tty = 9 => "tty", "A terminal or pseudo-terminal.";
    SocketUnix = 10 => "socket:unix", "A Unix domain socket.";
    SocketTcp = 11 => "socket:tcp", "A TCP socket, IPv4 or IPv6.";
    SocketUdp = 12 => "socket:udp", "A UDP socket, IPv4 or IPv6.";
    SocketRaw = 13 => "socket:raw", "A raw IP socket.";
    SocketNetlink = 14 => "socket:netlink", "A netlink socket.";
    SocketPacket = 15 => "socket:packet", "A packet socket.";
    SocketVsock = 16 => "socket:vsock", "A socket between a virtual machine and its host.";
    SocketAlg = 17 => "socket:alg", "A kernel crypto socket.";
    SocketOther = 18 => "socket:other", "A socket of another family or type.";
    Memfd = 19 => "memfd", "Anonymous memory made by memfd_create.";
    Eventfd = 20 => "eventfd", "An event counter.";
    Epoll = 21 => "epoll", "An epoll instance.";
    Timerfd = 22 => "timerfd", "A timer.";
    Signalfd = 23 => "signalfd", "A signal queue.";
    Inotify = 24 => "inotify", "An inotify instance.";
    Fanotify = 25 => "fanotify", "A fanotify group.";
    Pidfd = 26 => "pidfd", "A process.";
    Userfaultfd = 27 => "userfaultfd", "A page-fault handler.";
    IoUring = 28 => "io_uring", "An io_uring instance.";
    PerfEvent = 29 => "perf_event", "A performance counter.";
    BpfMap = 30 => "bpf-map", "A BPF map.";
    BpfProg = 31 => "bpf-prog", "A BPF program.";
    BpfLink = 32 => "bpf-link", "A BPF link.";
    LandlockRuleset = 33 => "landlock-ruleset", "A Landlock ruleset.";
    SeccompNotify = 34 => "seccomp-notify", "A seccomp user-notification listener.";
    Ns = 35 => "ns", "A namespace.";
    Mqueue = 36 => "mqueue", "A POSIX message queue.";
    Secretmem = 37 => "secretmem", "Memory made by memfd_secret.";
    DmaBuf = 38 => "dma-buf", "A DMA buffer.";
    Kvm = 39 => "kvm", "A virtual machine, one of its CPUs or its memory.";
    FsContext = 40 => "fscontext", "A mount being configured.";
    Unknown = 41 => "unknown", "The kernel object could not be read.";
}

const _: () = assert!(Kind::ALL.len() <= KINDS, "more kinds than composition arrays hold");
