//! What a table holds, descriptor by descriptor, and who put it there.

use std::net::IpAddr;

use super::{Kind, Name, ProcId, Syscall, TableId};

/// Why a census was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CensusReason {
    /// A crest has reached the threshold and begins to fall.
    Crest,
    /// A descriptor was refused, the first time for this syscall and error.
    Failure,
    /// Somebody asked.
    Asked,
    /// The trace ends.
    End,
}

/// A walk of a whole table, taken in the kernel. Its rows, with the same table and number, came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Boot time at which the walk began, nanoseconds.
    pub at_ns: u64,
    /// The table.
    pub table: TableId,
    /// Which census; with the table, never reused.
    pub census: u32,
    /// Why.
    pub reason: CensusReason,
    /// The process that it was taken in.
    pub process: ProcId,
    /// The running thread; 0 if it was none of the process's own.
    pub tid: u32,
    /// Live descriptors in the table.
    pub live: u32,
    /// Soft limit, descriptors.
    pub soft: u32,
    /// Rows sent.
    pub rows: u32,
    /// Rows that found no room in the ring.
    pub lost: u32,
    /// How long the walk took, nanoseconds.
    pub took_ns: u64,
}

/// Who opened a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Opener {
    /// It was there when the table was first seen.
    Before,
    /// Not known: found by a look that did not come from its opener.
    Unknown,
    /// This thread.
    Thread(u32),
}

/// One row of a census.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Boot time at which the walk began, nanoseconds.
    pub at_ns: u64,
    /// The table.
    pub table: TableId,
    /// Which census.
    pub census: u32,
    /// The descriptor.
    pub number: u32,
    /// What it points to.
    pub kind: Kind,
    /// Closed at exec.
    pub cloexec: bool,
    /// `f_flags` of the file description, as open(2) takes them.
    pub file_flags: u32,
    /// Who opened it.
    pub opener: Opener,
    /// Boot time of the install, nanoseconds, if that was noted.
    pub opened_ns: Option<u64>,
    /// Path as far as it was read: complete if it starts with `/`, else the end of a longer one; or the object's name.
    pub name: Name,
    /// The file has been unlinked.
    pub unlinked: bool,
    /// Inode number.
    pub inode: u64,
    /// Device number of the file system, major << 20 | minor.
    pub device: u32,
    /// What is known of a socket.
    pub socket: Option<Socket>,
    /// Identity of the user stack of the install.
    pub stack: Option<u32>,
}

/// State of a socket, in the words of the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SocketState {
    /// Neither bound nor connected.
    Unconnected,
    /// It has an address of its own.
    Bound,
    /// It takes connections.
    Listening,
    /// On its way to being connected.
    Connecting,
    /// It has a peer.
    Connected,
    /// On its way to being closed, by either side.
    Closing,
}

/// A socket as it was at a census.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Address family, `AF_*`.
    pub family: u16,
    /// Type, `SOCK_*`.
    pub socket_type: u16,
    /// Protocol, `IPPROTO_*` and others.
    pub protocol: u16,
    /// State.
    pub state: SocketState,
    /// Own address and port, if it has one.
    pub local: Option<(IpAddr, u16)>,
    /// The peer's address and port, if it has one.
    pub remote: Option<(IpAddr, u16)>,
}

/// One descriptor has come or gone; only where every one was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// The table.
    pub table: TableId,
    /// The descriptor.
    pub number: u32,
    /// What is there now.
    pub now: Option<Kind>,
    /// What was there before.
    pub before: Option<Kind>,
    /// Live descriptors after it.
    pub live: u32,
    /// The running process.
    pub pid: u32,
    /// The running thread.
    pub tid: u32,
    /// Who opened what is there now, or what has gone.
    pub opener: Opener,
    /// The syscall that the running thread is in.
    pub syscall: Syscall,
}

/// A user stack, innermost frame first. Made by the agent from what the kernel kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Boot time at which it was resolved, nanoseconds.
    pub at_ns: u64,
    /// Identity, as in [`Descriptor::stack`].
    pub id: u32,
    /// Its frames.
    pub frames: Vec<Frame>,
}

/// One frame of a user stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Path of the program or library; empty if not known.
    pub module: Name,
    /// Its build id, hexadecimal; empty if it has none.
    pub build_id: String,
    /// Offset in its file, bytes; the address if the file is not known.
    pub offset: u64,
    /// Name of the function.
    pub symbol: Option<String>,
    /// Source file and line, `file:line`.
    pub source: Option<String>,
}
