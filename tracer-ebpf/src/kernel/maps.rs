//! Maps and read-only data.

use core::cell::UnsafeCell;

use aya_ebpf::{
    bindings::{BPF_F_NO_PREALLOC, BPF_F_STACK_BUILD_ID, bpf_map_def, bpf_map_type::BPF_MAP_TYPE_STACK_TRACE},
    macros::map,
    maps::{Array, HashMap, PerCpuArray, RingBuf},
};
use fdtide_abi::{
    Chunk, ChunkKey, Config, Counter, Counters, HeldKey, Offsets, ProcRow, TableState, config,
    control::{self, Errand, Switch},
    event::ExecRecord,
    table::{CHUNK_WORDS, Decision, FRAMES, RawFrame, Wanted},
};

pub use fdtide_abi::Extras;

use crate::kernel::{census::Work, look::Cursor, request::Request};

/// Where members are; the agent writes it before load. Read through [`crate::kernel::read::offset`].
#[unsafe(no_mangle)]
pub static OFFSETS: Offsets = Offsets::NONE;

/// The agent's set-up.
#[unsafe(no_mangle)]
pub static CONFIG: Config = Config { settle_ns: 50_000_000, agent: 0, want: 0, crest_min: 16, census_at: u32::MAX };

/// Class of each syscall number.
#[unsafe(no_mangle)]
pub static CLASSES: [u8; config::CLASSES] = config::X86_64;

/// Class of each syscall number of the 32-bit table.
#[unsafe(no_mangle)]
pub static CLASSES_32: [u8; config::CLASSES] = config::I386;

/// Traced processes by process id.
#[map]
pub static PROCS: HashMap<u32, ProcRow> = HashMap::with_max_entries(config::MAX_PROCS, BPF_F_NO_PREALLOC);

/// A bit for each process id, set before the first process of that id is traced and never cleared: for all others on the machine
/// it is cheaper to read than [`PROCS`], where it says no.
#[map]
pub static EVER: Array<u64> = Array::with_max_entries(config::MAX_PIDS / u64::BITS, 0);

/// Process ids that the user named, with flags for their rows; the next walk over all tasks makes rows of them.
#[map]
pub static TARGETS: HashMap<u32, u32> = HashMap::with_max_entries(4_096, BPF_F_NO_PREALLOC);

/// Tables by the address of their `files_struct`.
#[map]
pub static TABLES: HashMap<u64, TableState> = HashMap::with_max_entries(65_536, BPF_F_NO_PREALLOC);

/// Numbers from 1,024 up.
#[map]
pub static CHUNKS: HashMap<ChunkKey, Chunk> = HashMap::with_max_entries(65_536, BPF_F_NO_PREALLOC);

/// What each thread opened and is still open.
#[map]
pub static HELD: HashMap<HeldKey, u32> = HashMap::with_max_entries(262_144, BPF_F_NO_PREALLOC);

/// An empty table, locked: what a new one is copied from.
#[map]
pub static EMPTY: Array<TableState> = Array::with_max_entries(1, 0);

/// An empty chunk.
#[map]
pub static EMPTY_CHUNK: Array<Chunk> = Array::with_max_entries(1, 0);

/// The last ids given away: of a table, and of a group.
#[map]
pub static LAST_ID: Array<u64> = Array::with_max_entries(2, 0);

/// What makes a process a target at its exec.
#[map]
pub static WANTED: HashMap<Wanted, u32> = HashMap::with_max_entries(config::MAX_WANTED, BPF_F_NO_PREALLOC);

/// What the agent has decided: by group, or by process id and [`fdtide_abi::table::ALONE`].
#[map]
pub static DECIDED: HashMap<u64, Decision> = HashMap::with_max_entries(16_384, BPF_F_NO_PREALLOC);

/// Rows made by the last walk over all tasks.
#[map]
pub static FOUND: Array<u64> = Array::with_max_entries(1, 0);

/// What went wrong.
#[map]
pub static COUNTERS: PerCpuArray<Counters> = PerCpuArray::with_max_entries(1, 0);

/// Arguments of functions between their entry and their return, for hooks that see only one of the two at a time.
#[map]
pub static PENDING: HashMap<PendingKey, Pending> = HashMap::with_max_entries(8_192, 0);

/// Key of [`PENDING`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct PendingKey {
    /// Thread id.
    pub tid: u32,
    /// [`Program`].
    pub program: u32,
}

/// Arguments of a function that has not returned yet.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Pending {
    /// Address of the `files_struct`; 0 for the current task's.
    pub files: u64,
    /// Descriptor number.
    pub number: u64,
}

/// Index by [`Switch`].
#[map]
pub static SWITCHES: Array<u32> = Array::with_max_entries(control::SWITCHES, 0);

/// Sets a switch.
#[inline(always)]
pub fn turn_on(switch: Switch) {
    if let Some(value) = SWITCHES.get_ptr_mut(switch as u32) {
        // SAFETY: a valid map value.
        unsafe { *value = 1 };
    }
}

/// Whether a switch is set.
#[inline(always)]
pub fn is_on(switch: Switch) -> bool {
    value(switch) != 0
}

/// What a switch is set to.
#[inline(always)]
pub fn value(switch: Switch) -> u32 {
    // SAFETY: a valid map value.
    SWITCHES.get_ptr(switch as u32).map_or(0, |value| unsafe { *value })
}

/// Working memory of a look, one for each program: programs may interrupt each other, not themselves.
#[map]
pub static SCRATCH: PerCpuArray<Scratch> = PerCpuArray::with_max_entries(Program::COUNT, 0);

/// Working memory of a look.
#[repr(C)]
pub struct Scratch {
    /// Bitmap words of the chunk being compared.
    pub words: [u64; CHUNK_WORDS],
    /// File descriptions behind the numbers of one of them.
    pub files: [u64; 64],
    /// What their comparison found.
    pub scan: Scan,
    /// An address on its way from a typed pointer to a number.
    pub address: u64,
    /// A row being made: the stack is too small for it, and for what follows.
    pub row: ProcRow,
    /// What is to be looked at.
    pub request: Request,
    /// Where the comparison is.
    pub cursor: Cursor,
    /// A key being made.
    pub wanted: Wanted,
    /// Start of a record that the walk writes.
    pub glance: [u64; 3],
    /// Where a census is.
    pub census: Work,
}

/// Where exec records are made.
#[map]
pub static EXECS: PerCpuArray<ExecRecord> = PerCpuArray::with_max_entries(1, 0);

/// Records to the agent.
#[map]
pub static RING: RingBuf = RingBuf::with_byte_size(16 << 20, 0);

/// Single installs and closes, where they are asked for; a ring of its own, so that a flood of them costs no other record.
#[map]
pub static EVENTS: RingBuf = RingBuf::with_byte_size(16 << 20, 0);

/// What is kept beside the slots, where it is asked for; by chunk, the first included.
#[map]
pub static EXTRAS: HashMap<ChunkKey, Extras> = HashMap::with_max_entries(65_536, BPF_F_NO_PREALLOC);

/// Nothing beside the slots yet.
#[map]
pub static EMPTY_EXTRAS: Array<Extras> = Array::with_max_entries(1, 0);

/// User stacks of installs, where they are asked for.
#[unsafe(link_section = "maps")]
#[unsafe(export_name = "STACKS")]
pub static STACKS: StackMap = StackMap(UnsafeCell::new(bpf_map_def {
    type_: BPF_MAP_TYPE_STACK_TRACE,
    key_size: 4,
    value_size: (FRAMES * size_of::<RawFrame>()) as u32,
    max_entries: 16_384,
    map_flags: BPF_F_STACK_BUILD_ID,
    id: 0,
    pinning: 0,
}));

/// A map of stacks whose frames name files and offsets; the library's own has addresses.
#[repr(transparent)]
pub struct StackMap(UnsafeCell<bpf_map_def>);

// SAFETY: only its address is used, which the loader replaces.
unsafe impl Sync for StackMap {}

impl StackMap {
    /// The map, for helpers.
    #[inline(always)]
    pub fn as_ptr(&self) -> *mut core::ffi::c_void {
        self.0.get().cast()
    }
}

/// Index by [`Errand`].
#[map]
pub static ERRANDS: Array<u32> = Array::with_max_entries(control::ERRANDS, 0);

/// What the walk is to do.
#[inline(always)]
pub fn errand(errand: Errand) -> u32 {
    // SAFETY: a valid map value.
    ERRANDS.get_ptr(errand as u32).map_or(0, |value| unsafe { *value })
}

/// What a comparison of one chunk finds.
#[repr(C)]
pub struct Scan {
    /// Bits of any word that are ours and not the kernel's.
    pub clears: u64,
    /// Bits of any word that are the kernel's and not ours.
    pub sets: u64,
    /// Bits of any word of the kernel's.
    pub any: u64,
    /// Greatest number in use, counted from the chunk's first; [`fdtide_abi::table::NO_NUMBER`] for none.
    pub highest: u32,
    /// 1 if the words could be read.
    pub read: u32,
    /// Words that differ.
    pub words: u32,
    /// Always 0.
    pub spare: u32,
}

/// Who looks: index into [`SCRATCH`].
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Program {
    SysExit = 0,
    WakeupNew = 1,
    Exec = 2,
    Exit = 3,
    Walk = 4,
    Install = 5,
    Replace = 6,
    Close = 7,
    Alloc = 8,
    NewFile = 9,
    Unshare = 10,
    CloseRange = 11,
    Uring = 12,
    Duplicate = 13,
    Inotify = 14,
}

impl Program {
    const COUNT: u32 = 15;
}

/// Inserts a copy of `value`, which is too large to be passed by value. False if the map is full.
#[inline(always)]
pub fn insert<K, V>(map: &HashMap<K, V>, key: &K, value: *const V, flags: u64) -> bool {
    // SAFETY: `value` is a valid map value, as the verifier checks; the helper only reads it.
    map.insert(key, unsafe { &*value }, flags).is_ok()
}

/// Counts what could not be seen.
#[inline(always)]
pub fn count(counter: Counter) {
    if let Some(counters) = COUNTERS.get_ptr_mut(0) {
        // SAFETY: a valid per-CPU map value, and a constant index within it.
        unsafe { (*counters).values[counter as usize] += 1 };
    }
}
