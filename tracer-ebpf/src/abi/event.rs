//! Records that the kernel program writes into the ring.

use crate::abi::kind::KINDS;
use crate::abi::table::{COMM, ProcRow, TableHead};

/// Room for a program's file name, with its terminating zero.
pub const FILENAME: usize = 128;

/// Values of [`Header::kind`]. Never reused.
pub mod record {
    /// [`super::ProcRecord`]: a process is followed from now on.
    pub const PROC: u32 = 1;
    /// [`super::ExecRecord`]: a process has gone through an exec.
    pub const EXEC: u32 = 2;
    /// [`super::ExitRecord`]: a process has ended.
    pub const EXIT: u32 = 3;
    /// [`super::TableRecord`]: a table as it is, or was at its end.
    pub const TABLE: u32 = 4;
    /// [`super::MoveRecord`]: a task uses another table from now on.
    pub const MOVE: u32 = 5;
    /// [`super::CensusRecord`]: a census has been taken; its rows came before.
    pub const CENSUS: u32 = 6;
    /// [`super::DescriptorRecord`]: one row of a census.
    pub const DESCRIPTOR: u32 = 7;
    /// [`super::SlotRecord`]: one descriptor has come or gone.
    pub const SLOT: u32 = 8;
    /// [`super::ExitRecord`]: a process is traced no longer, and runs on; its exit code is 0.
    pub const REMOVED: u32 = 9;
}

/// Start of every record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// [`record`].
    pub kind: u32,
    /// Length with this header, bytes.
    pub len: u32,
    /// Boot time, nanoseconds.
    pub at_ns: u64,
}
crate::assert_packed!(Header, 16);

/// A process is followed from now on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ProcRecord {
    /// Kind, length, time.
    pub header: Header,
    /// The process.
    pub row: ProcRow,
    /// Its descriptors at that moment; 0 if its table could not be followed.
    pub live: u32,
    /// Soft limit, descriptors.
    pub soft: u32,
}
crate::assert_packed!(ProcRecord, 16 + size_of::<ProcRow>() + 8);

/// Bits of [`ExecRecord::flags`].
pub mod exec_flag {
    /// `before` holds the table before the exec.
    pub const HAS_BEFORE: u32 = 1;
    /// `spawner` holds the spawner's table.
    pub const HAS_SPAWNER: u32 = 2;
    /// The process had an exec before this one, or was there at attach: it spawned nobody, it is its own spawner.
    pub const SELF: u32 = 4;
    /// The process got a table of its own at this exec, because others use the old one.
    pub const NEW_TABLE: u32 = 8;
}

/// A process has gone through an exec.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ExecRecord {
    /// Kind, length, time.
    pub header: Header,
    /// The process after the exec, with its spawner.
    pub row: ProcRow,
    /// [`exec_flag`] bits.
    pub flags: u32,
    /// Thread that called exec; from here on its id is the process's.
    pub old_tid: u32,
    /// Descriptors that the image starts with.
    pub live: u32,
    /// Greatest number among them.
    pub highest: u32,
    /// Soft limit, descriptors.
    pub soft: u32,
    /// Index of the thread mark of `spawner` that the window is credited to.
    pub thread: u32,
    /// Name of the process before.
    pub old_comm: [u8; COMM],
    /// Path handed to exec, cut at its end.
    pub filename: [u8; FILENAME],
    /// Descriptors that the image starts with, by kind.
    pub kinds: [u32; KINDS],
    /// The process's own table before the exec closed anything.
    pub before: TableHead,
    /// The spawner's table at this moment; its window ends here.
    pub spawner: TableHead,
}
crate::assert_packed!(
    ExecRecord,
    16 + size_of::<ProcRow>() + 24 + COMM + FILENAME + 4 * KINDS + 2 * size_of::<TableHead>()
);

/// A process has ended, or is traced no longer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ExitRecord {
    /// Kind, length, time.
    pub header: Header,
    /// The process.
    pub row: ProcRow,
    /// Exit code as in wait(2).
    pub exit_code: u32,
    /// 1 if `table` is filled.
    pub has_table: u32,
    /// Its table at that moment, before teardown; it has ended if its `users` is 0.
    pub table: TableHead,
}
crate::assert_packed!(ExitRecord, 16 + size_of::<ProcRow>() + 8 + size_of::<TableHead>());

/// Values of [`TableRecord::reason`].
pub mod table_reason {
    /// The last traced user left it for another table.
    pub const LEFT: u32 = 1;
    /// Another table was made at the same address; the end of this one was not seen.
    pub const REPLACED: u32 = 2;
    /// It is still there: written by the agent at the end of the trace.
    pub const SNAPSHOT: u32 = 3;
    /// Its crest has fallen by half.
    pub const CREST: u32 = 4;
}

/// A table as it is, or was at its end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TableRecord {
    /// Kind, length, time.
    pub header: Header,
    /// [`table_reason`].
    pub reason: u32,
    /// Always 0.
    pub spare: u32,
    /// The table.
    pub table: TableHead,
}
crate::assert_packed!(TableRecord, 16 + 8 + size_of::<TableHead>());

/// A task uses another table from now on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MoveRecord {
    /// Kind, length, time.
    pub header: Header,
    /// The process, with its table after the move.
    pub row: ProcRow,
    /// The table before.
    pub from_id: u64,
    /// The table after.
    pub to_id: u64,
    /// The thread.
    pub tid: u32,
    /// Descriptors in the new table.
    pub live: u32,
}
crate::assert_packed!(MoveRecord, 16 + size_of::<ProcRow>() + 24);

/// Values of [`CensusRecord::reason`].
pub mod census_reason {
    /// A crest has reached the threshold and begins to fall.
    pub const CREST: u32 = 1;
    /// A descriptor was refused, the first time for this syscall and error.
    pub const FAILURE: u32 = 2;
    /// Somebody asked.
    pub const ASKED: u32 = 3;
    /// The trace ends.
    pub const END: u32 = 4;
}

/// A census has been taken.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CensusRecord {
    /// Kind, length, time at which the walk began.
    pub header: Header,
    /// The table.
    pub table_id: u64,
    /// Start of the process that it was taken in, boot time, nanoseconds.
    pub start_ns: u64,
    /// How long the walk took, nanoseconds.
    pub took_ns: u64,
    /// The process.
    pub tgid: u32,
    /// The thread; 0 if it was not one of the process's own that was running.
    pub tid: u32,
    /// [`census_reason`].
    pub reason: u32,
    /// Identity of the census; with the table's, never reused.
    pub census: u32,
    /// Live descriptors in the table.
    pub live: u32,
    /// Soft limit, descriptors.
    pub soft: u32,
    /// Rows sent.
    pub rows: u32,
    /// Rows that found no room in the ring.
    pub lost: u32,
}
crate::assert_packed!(CensusRecord, 16 + 3 * 8 + 8 * 4);

/// Dentry names in a row of a census, the descriptor's own first.
pub const NAMES: usize = 5;
/// Room for one of them, with its terminating zero.
pub const NAME: usize = 40;

/// Bits of [`DescriptorRecord::flags`].
pub mod descriptor_flag {
    /// Closed at exec.
    pub const CLOEXEC: u32 = 1;
    /// `opened_ns` is known.
    pub const OPENED: u32 = 2;
    /// The last name is the root of the tree.
    pub const ROOTED: u32 = 4;
    /// The file has been unlinked.
    pub const UNLINKED: u32 = 8;
    /// The socket's members are filled.
    pub const SOCKET: u32 = 16;
    /// The socket has an address of its own (Unix: it is bound).
    pub const BOUND: u32 = 32;
}

/// One row of a census.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DescriptorRecord {
    /// Kind, length, time at which the walk began.
    pub header: Header,
    /// The table.
    pub table_id: u64,
    /// Boot time of the install, nanoseconds; 0 if not known.
    pub opened_ns: u64,
    /// Inode number.
    pub inode: u64,
    /// Which census.
    pub census: u32,
    /// The descriptor.
    pub number: u32,
    /// Its kind.
    pub kind: u32,
    /// [`descriptor_flag`] bits.
    pub flags: u32,
    /// Thread that opened it; 0 if it was there at first sight, [`crate::table::UNCREDITED`] if not known.
    pub tid: u32,
    /// `f_flags` of the file description.
    pub file_flags: u32,
    /// Device number of the file system, as the kernel keeps it.
    pub device: u32,
    /// Identity of the user stack of the install; `u32::MAX` if none was taken.
    pub stack: u32,
    /// Address family of a socket.
    pub family: u16,
    /// Its type.
    pub socket_type: u16,
    /// Its protocol.
    pub protocol: u16,
    /// Its `skc_state`.
    pub state: u8,
    /// Its `socket.state`.
    pub socket_state: u8,
    /// Local port, host order.
    pub local_port: u16,
    /// Remote port, host order.
    pub remote_port: u16,
    /// Always 0.
    pub spare: u32,
    /// Local address; of IPv4 the first four bytes.
    pub local: [u8; 16],
    /// Remote address; of IPv4 the first four bytes.
    pub remote: [u8; 16],
    /// Names of its dentry and of those above, cut at their end; of a bound Unix socket the first two hold its path.
    pub names: [[u8; NAME]; NAMES],
}
crate::assert_packed!(DescriptorRecord, 16 + 3 * 8 + 8 * 4 + 16 + 32 + NAMES * NAME);

/// One descriptor has come or gone.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SlotRecord {
    /// Kind, length, time.
    pub header: Header,
    /// The table.
    pub table_id: u64,
    /// The descriptor.
    pub number: u32,
    /// Kind of what is there now, plus 1; 0 for nothing.
    pub now: u32,
    /// Kind of what was there before, plus 1; 0 for nothing.
    pub before: u32,
    /// Live descriptors after it.
    pub live: u32,
    /// The running process.
    pub tgid: u32,
    /// The running thread.
    pub tid: u32,
    /// Thread that opened what is there now or what has gone; as in [`DescriptorRecord::tid`].
    pub opener: u32,
    /// Syscall that the running thread is in, as in [`crate::table::Failure::nr`].
    pub nr: u32,
}
crate::assert_packed!(SlotRecord, 16 + 8 + 8 * 4);

/// Marks boundary types that may be copied from bytes: every bit pattern is a value.
///
/// # Safety
///
/// Only `#[repr(C)]` types of integers and arrays of integers, without padding.
pub unsafe trait Record: Copy {}

// SAFETY: integers and arrays of integers without padding (asserted above).
unsafe impl Record for Header {}
// SAFETY: as above.
unsafe impl Record for ProcRecord {}
// SAFETY: as above.
unsafe impl Record for ExecRecord {}
// SAFETY: as above.
unsafe impl Record for ExitRecord {}
// SAFETY: as above.
unsafe impl Record for TableRecord {}
// SAFETY: as above.
unsafe impl Record for MoveRecord {}
// SAFETY: as above.
unsafe impl Record for CensusRecord {}
// SAFETY: as above.
unsafe impl Record for DescriptorRecord {}
// SAFETY: as above.
unsafe impl Record for SlotRecord {}
