//! One look at one table: compare the kernel's bitmap with ours, bring the slots that differ up to date, set the marks.
//!
//! Nothing here adds or subtracts on the word of a hook. A slot is what `fd[n]` says it is when it is looked at, so a look
//! too many does no harm and a look too few is made good by the next one.

use core::ffi::c_void;

use aya_ebpf::helpers::generated::{bpf_loop, bpf_probe_read_kernel};
use fdtide_abi::{
    Chunk, ChunkKey, Counter, TableHead, TableState,
    table::{CHUNK_NUMBERS, CHUNK_WORDS, MAX_CHUNKS, NO_NUMBER, flag},
};

use crate::kernel::{
    maps::{CHUNKS, EMPTY_CHUNK, Program, SCRATCH, Scratch, count, insert},
    mark::marks,
    read::{Object, offset, peek},
    slot::{Act, apply, replace, start},
};

/// What a look is about.
#[derive(Clone, Copy, PartialEq)]
#[repr(u32)]
pub enum Scope {
    /// This number, and whatever else changed among its 1,024 neighbours.
    Number,
    /// This number, which is known to hold something else than before even if it is of the same kind.
    Replaced,
    /// Every number.
    All,
    /// Every number, and what is found was there before the table was first seen.
    Seed,
}

/// Everything that a look needs, in one place that callbacks get a pointer to.
#[repr(C)]
struct Look {
    /// The table's state.
    state: *mut TableState,
    /// Chunk being compared.
    chunk: *mut Chunk,
    /// Working memory.
    scratch: *mut Scratch,
    /// Address of the `files_struct`.
    files: u64,
    /// Address of the `fd` array.
    fd: u64,
    /// Address of the `open_fds` bitmap.
    open: u64,
    /// Numbers of the word that are still to be looked at.
    bits: u64,
    /// Numbers that the table has room for.
    max: u32,
    /// First number of the chunk.
    base: u32,
    /// Index of the word.
    word: u32,
    /// What the pass works on, [`pass`].
    pass: u32,
    /// What a change of a slot needs.
    act: *mut Act,
}

/// Values of [`Look::pass`].
mod pass {
    /// Numbers that went.
    pub const CLEARS: u32 = 0;
    /// Numbers that came.
    pub const SETS: u32 = 1;
    /// Every number in use.
    pub const RECHECK: u32 = 2;
}

/// What a handler wants looked at: integers only, so that it can be handed to a function of its own.
#[repr(C)]
pub struct Request {
    /// Address of the `files_struct`.
    pub(super) files: u64,
    /// Address of the `fd` array.
    pub(super) fd: u64,
    /// Address of the `open_fds` bitmap.
    pub(super) open: u64,
    /// Boot time, nanoseconds.
    pub(super) now: u64,
    /// Numbers that the table has room for.
    pub(super) max: u32,
    /// The thread that acts; 0 where it is not known.
    pub(super) tid: u32,
    /// Soft limit, descriptors.
    pub(super) soft: u32,
    /// Who looks.
    pub(super) program: u32,
    /// [`Scope`].
    scope: u32,
    /// The number, for the scopes that have one.
    number: u32,
}

/// Prepares a look at `files` in the working memory of `program`. None if the kernel has taken the table away meanwhile.
#[inline(always)]
pub fn request(program: Program, task: Object, files: Object, tid: u32, now: u64) -> Option<*mut Request> {
    let fdt = files.follow(offset!(files_fdt));
    if fdt.is_null() {
        return None;
    }
    let scratch = SCRATCH.get_ptr_mut(program as u32)?;
    // SAFETY: a valid per-CPU map value. Newer kernels give pointers to integers a type too; it is lost on the way through
    // memory, and what is read back is a number.
    unsafe {
        let request = &raw mut (*scratch).request;
        (*request).files = files.address();
        (*request).fd = fdt.follow(offset!(fdt_fd)).address();
        (*request).open = fdt.follow(offset!(fdt_open)).address();
        (*request).now = now;
        (*request).max = fdt.load(offset!(fdt_max));
        (*request).tid = tid;
        (*request).soft = soft_limit(task);
        (*request).program = program as u32;
        Some(request)
    }
}

/// Looks. The caller holds the lock, or went on without.
#[inline(always)]
pub fn look(request: *mut Request, state: *mut TableState, scope: Scope, number: u32) {
    // SAFETY: valid working memory.
    unsafe {
        (*request).scope = scope as u32;
        (*request).number = number;
    }
    fdtide_look(state, request);
}

/// [`look`] as a symbol of its own, so that the verifier checks it once and not in every place that it is called
/// from.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_look(state: *mut TableState, request: *mut Request) -> u32 {
    if state.is_null() || request.is_null() {
        return 0;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks.
    let (request, head, first) = unsafe { (&*request, &raw mut (*state).head, &raw mut (*state).first) };
    let Some(scratch) = SCRATCH.get_ptr_mut(request.program) else { return 0 };
    // SAFETY: a valid per-CPU map value.
    let act = unsafe { &raw mut (*scratch).act };
    start(act, request, request.scope == Scope::Seed as u32);
    let mut look = Look {
        state,
        chunk: first,
        scratch,
        files: request.files,
        fd: request.fd,
        open: request.open,
        bits: 0,
        max: request.max,
        base: 0,
        word: 0,
        pass: pass::CLEARS,
        act,
    };
    let mut whole = request.scope >= Scope::All as u32;
    let replaced = u32::from(request.scope == Scope::Replaced as u32);
    let number = if whole { NO_NUMBER } else { request.number };
    if !whole && number >= request.max {
        return 0;
    }
    let index = if whole { 0 } else { number / CHUNK_NUMBERS as u32 };
    if index >= MAX_CHUNKS {
        count(Counter::BeyondRange);
        return 0;
    }
    if index != 0 {
        let Some(chunk) = chunk(request.files, index) else { return 0 };
        look.chunk = chunk;
        look.base = index * CHUNK_NUMBERS as u32;
        // SAFETY: as above.
        unsafe {
            if (*head).top_chunk < index {
                (*head).top_chunk = index;
            }
        }
    }
    compare(&mut look, number, replaced);
    // SAFETY: as above; the callback gets this look, which outlives the call.
    unsafe {
        // A table with more chunks that may have lost its highest number needs all of it looked at to know the next.
        if (*head).top_chunk != 0 && !whole {
            whole = (*act).highest == NO_NUMBER || (*act).highest < (*head).highest;
        }
        if whole && request.max > CHUNK_NUMBERS as u32 {
            let chunks = request.max / CHUNK_NUMBERS as u32;
            let chunks = if chunks > MAX_CHUNKS { MAX_CHUNKS } else { chunks };
            bpf_loop(chunks - 1, chunk_step as *mut c_void, (&raw mut look).cast(), 0);
        }
        if (*act).highest != NO_NUMBER {
            (*head).highest = (*act).highest;
        } else if whole || (*head).top_chunk == 0 {
            (*head).highest = 0;
        }
        (*head).flags &= !flag::RECHECK;
        (*head).soft = request.soft;
    }
    marks(head, look.act);
    0
}

impl Look {
    /// The table's head.
    #[inline(always)]
    fn head(&self) -> *mut TableHead {
        // SAFETY: a member of a valid map value.
        unsafe { &raw mut (*self.state).head }
    }
}

/// Soft limit on descriptors of a task's process.
#[inline(always)]
pub fn soft_limit(task: Object) -> u32 {
    use fdtide_abi::config::{RLIMIT_NOFILE, RLIMIT_SIZE};
    let signal = task.follow(offset!(task_signal));
    let soft: u64 = signal.load(offset!(signal_rlim) + (RLIMIT_NOFILE * RLIMIT_SIZE) as u32);
    if soft > u64::from(u32::MAX) { u32::MAX } else { soft as u32 }
}

/// The chunk of this index, above the first; made if there is none.
#[inline(always)]
fn chunk(files: u64, index: u32) -> Option<*mut Chunk> {
    let key = ChunkKey { files, index: u64::from(index) };
    if let Some(chunk) = CHUNKS.get_ptr_mut(key) {
        return Some(chunk);
    }
    let empty = EMPTY_CHUNK.get_ptr(0)?;
    insert(&CHUNKS, &key, empty, 0);
    let made = CHUNKS.get_ptr_mut(key);
    if made.is_none() {
        count(Counter::ChunkFull);
    }
    made
}

/// Reads `bytes` bytes of the bitmap at `address` into `scratch` and compares them with the mask of `chunk`.
///
/// A symbol of its own, so that the verifier checks it once and not in every place that it is called from.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_scan(scratch: *mut Scratch, chunk: *const Chunk, address: u64, bytes: u32) -> u32 {
    if scratch.is_null() || chunk.is_null() {
        return 0;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks; constant indices.
    unsafe {
        let scan = &raw mut (*scratch).scan;
        if bytes < CHUNK_BYTES {
            for word in 0..CHUNK_WORDS {
                (*scratch).words[word] = 0;
            }
        }
        let bytes = if bytes > CHUNK_BYTES { CHUNK_BYTES } else { bytes };
        (*scan).read =
            u32::from(bpf_probe_read_kernel((&raw mut (*scratch).words).cast(), bytes, address as *const c_void) == 0);
        let mut clears = 0;
        let mut sets = 0;
        let mut any = 0;
        let mut top = NO_NUMBER;
        let mut top_word = 0;
        for word in 0..CHUNK_WORDS {
            let (have, open) = ((*chunk).mask[word], (*scratch).words[word]);
            clears |= have & !open;
            sets |= open & !have;
            any |= open;
            if open != 0 {
                top = word as u32;
                top_word = open;
            }
        }
        (*scan).clears = clears;
        (*scan).sets = sets;
        (*scan).any = any;
        (*scan).highest = if top == NO_NUMBER { NO_NUMBER } else { top * 64 + 63 - top_word.leading_zeros() };
    }
    0
}

/// Bytes of one chunk's bitmap.
pub(super) const CHUNK_BYTES: u32 = CHUNK_NUMBERS as u32 / 8;

/// Reads and compares the chunk at `base`; what lies beyond the table is 0. False if it can't be read.
#[inline(always)]
fn scan(look: &mut Look, chunk: *const Chunk) -> bool {
    let room = (look.max - look.base) / 8;
    let bytes = if room > CHUNK_BYTES { CHUNK_BYTES } else { room };
    fdtide_scan(look.scratch, chunk, look.open + u64::from(look.base / 8), bytes);
    // SAFETY: a valid per-CPU map value.
    let read = unsafe { (*look.scratch).scan.read };
    if read == 0 {
        count(Counter::ReadFailed);
    }
    read != 0
}

/// Compares the chunk at `base`: clears first, then `number` and the sets, so that no mark counts what has gone.
#[inline(always)]
fn compare(look: &mut Look, number: u32, replaced: u32) -> u32 {
    let mut file = 0;
    if number != NO_NUMBER {
        let Some(found) = peek::<u64>(look.fd + u64::from(number) * 8) else { return 0 };
        file = found;
        if file == 0 {
            apply(look.state, look.chunk, look.act, number, 0);
        }
    }
    let chunk = look.chunk;
    if !scan(look, chunk) {
        return 0;
    }
    // SAFETY: a valid per-CPU map value.
    let (top, clears, mut sets) = unsafe {
        let scan = &raw const (*look.scratch).scan;
        ((*scan).highest, (*scan).clears, (*scan).sets)
    };
    if top != NO_NUMBER {
        let highest = look.base + top;
        // SAFETY: valid working memory.
        unsafe {
            if (*look.act).highest == NO_NUMBER || (*look.act).highest < highest {
                (*look.act).highest = highest;
            }
        }
    }
    if clears != 0 {
        look.pass = pass::CLEARS;
        words(look);
    }
    if file != 0 {
        let before = apply(look.state, look.chunk, look.act, number, file);
        // The same kind in the same slot: only a caller that knows can tell one descriptor from the next.
        if replaced != 0 && before == 1 {
            replace(look.state, look.chunk, look.act, number);
        }
        // The only newcomer is the common case; it is in the mask by now.
        if sets == 1 << (number & 63) {
            sets = 0;
        }
    }
    if sets != 0 {
        look.pass = pass::SETS;
        words(look);
    }
    // SAFETY: a valid map value.
    if unsafe { (*look.state).head.flags } & flag::RECHECK != 0 {
        look.pass = pass::RECHECK;
        words(look);
    }
    0
}

#[inline(always)]
fn words(look: &mut Look) {
    // SAFETY: the callback gets this look, which outlives the call.
    unsafe { bpf_loop(CHUNK_WORDS as u32, word_step as *mut c_void, (&raw mut *look).cast(), 0) };
}

/// One word of a pass.
unsafe extern "C" fn word_step(index: u32, look: *mut c_void) -> i64 {
    // SAFETY: `words` hands over a look that outlives the call.
    let look = unsafe { &mut *look.cast::<Look>() };
    let word = (index & (CHUNK_WORDS as u32 - 1)) as usize;
    // SAFETY: valid map values, bounded index.
    let (have, open) = unsafe { ((*look.chunk).mask[word], (*look.scratch).words[word]) };
    let bits = match look.pass {
        pass::CLEARS => have & !open,
        pass::SETS => open & !have,
        _ => open | have,
    };
    if bits != 0 {
        look.bits = bits;
        look.word = word as u32;
        // SAFETY: the callback gets this look, which outlives the call.
        unsafe { bpf_loop(bits.count_ones(), bit_step as *mut c_void, (&raw mut *look).cast(), 0) };
    }
    0
}

/// One number of a pass: the lowest that is left.
unsafe extern "C" fn bit_step(_: u32, look: *mut c_void) -> i64 {
    // SAFETY: `word_step` hands over a look that outlives the call.
    let look = unsafe { &mut *look.cast::<Look>() };
    let number = look.base + look.word * 64 + look.bits.trailing_zeros();
    look.bits &= look.bits - 1;
    if let Some(file) = peek::<u64>(look.fd + u64::from(number) * 8) {
        apply(look.state, look.chunk, look.act, number, file);
    }
    0
}

/// One chunk above the first.
unsafe extern "C" fn chunk_step(index: u32, look: *mut c_void) -> i64 {
    // SAFETY: `run` hands over a look that outlives the call.
    let look = unsafe { &mut *look.cast::<Look>() };
    let index = index + 1;
    let base = index * CHUNK_NUMBERS as u32;
    let key = ChunkKey { files: look.files, index: u64::from(index) };
    if CHUNKS.get_ptr_mut(key).is_none() {
        // Most of a large table is empty: no chunk is made for numbers that were never used.
        look.base = base;
        let Some(empty) = EMPTY_CHUNK.get_ptr(0) else { return 0 };
        // SAFETY: a valid per-CPU map value.
        if !scan(look, empty) || unsafe { (*look.scratch).scan.any } == 0 {
            return 0;
        }
    }
    let Some(chunk) = chunk(look.files, index) else { return 0 };
    look.chunk = chunk;
    look.base = base;
    let head = look.head();
    // SAFETY: a valid map value.
    unsafe {
        if (*head).top_chunk < index {
            (*head).top_chunk = index;
        }
    }
    compare(look, NO_NUMBER, 0);
    0
}
