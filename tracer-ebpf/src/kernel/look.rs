//! One look at one table: compare the kernel's bitmap with ours, bring the slots that differ up to date, set the marks.
//!
//! Nothing here adds or subtracts on the word of a hook. A slot is what `fd[n]` says it is when it is looked at, so a look
//! too many does no harm and a look too few is made good by the next one.

use core::{ffi::c_void, ptr};

use aya_ebpf::helpers::generated::bpf_loop;
use fdtide_abi::{
    Chunk, ChunkKey, Counter, TableState,
    table::{CHUNK_NUMBERS, CHUNK_WORDS, MAX_CHUNKS, NO_NUMBER, UNCREDITED, flag},
};

use crate::kernel::{
    maps::{CHUNKS, CONFIG, EMPTY_CHUNK, Scratch, count, insert},
    mark::{crest, fdtide_keep, marks},
    read::{constant, peek},
    request::{Request, Scope},
    scan::{CHUNK_BYTES, FILLED, fdtide_filled, fdtide_scan},
    slot::{apply, own},
    table::{fdtide_begin, fdtide_fallen, fdtide_forget},
};

/// What callbacks get a pointer to. What changes from call to call is in [`Cursor`], in memory that the verifier does not
/// follow, so that one pass through a callback stands for all.
#[repr(C)]
struct Look {
    /// The table's state.
    state: *mut TableState,
    /// Chunk being compared.
    chunk: *mut Chunk,
    /// Working memory.
    scratch: *mut Scratch,
}

/// Where a comparison is.
#[repr(C)]
pub struct Cursor {
    /// Numbers of the word that are still to be looked at.
    bits: u64,
    /// First number of the chunk.
    pub base: u32,
    /// Index of the word.
    word: u32,
    /// What the pass works on, [`pass`].
    pass: u32,
    /// Index of the chunk that comes next.
    chunk: u32,
}

/// Values of [`Cursor::pass`].
mod pass {
    /// Numbers that went.
    pub const CLEARS: u32 = 0;
    /// Numbers that came.
    pub const SETS: u32 = 1;
    /// Every number in use.
    pub const RECHECK: u32 = 2;
}

/// Looks. The caller holds the lock, or went on without.
#[inline(always)]
pub fn look(scratch: *mut Scratch, state: *mut TableState, scope: u32, number: u32) {
    // SAFETY: valid working memory.
    unsafe {
        let request = &raw mut (*scratch).request;
        (*request).scope = scope;
        (*request).number = number;
        (*request).kept = 0;
        if (*state).head.flags & flag::INCOMPLETE != 0 {
            fdtide_forget(state, scratch);
        }
        let mut then = fdtide_look(state, scratch);
        if then == next::FAR {
            then = fdtide_look_far(state, scratch);
        }
        if then == next::AGAIN {
            (*request).scope = Scope::All as u32;
            fdtide_look(state, scratch);
            then = fdtide_look_far(state, scratch);
        }
        if then == next::GONE {
            (*request).scope = Scope::Gone as u32;
            fdtide_look(state, scratch);
            fdtide_look_far(state, scratch);
        }
        if (*state).head.flags & (flag::UNSEEN | flag::INCOMPLETE) == flag::UNSEEN {
            (*state).head.flags &= !flag::UNSEEN;
            fdtide_begin(state, scratch, 0);
        }
    }
}

/// A look at the first 1,024 numbers of a table that was just made, if there was no room for the others.
#[inline(always)]
pub fn look_near(scratch: *mut Scratch, state: *mut TableState) {
    // SAFETY: valid working memory.
    unsafe {
        (*scratch).request.scope = Scope::Seed as u32;
        (*scratch).request.kept = 0;
    }
    fdtide_look(state, scratch);
}

/// What is to be done after a part of a look. The parts are functions of their own because the stack is too small for one.
mod next {
    /// Nothing.
    pub const DONE: u32 = 0;
    /// Numbers from 1,024 up.
    pub const FAR: u32 = 1;
    /// Everything: it has lost its highest number, and all of it is looked at to know the next.
    pub const AGAIN: u32 = 2;
    /// Everything, for what has gone: see [`is_doubtful`](super::is_doubtful).
    pub const GONE: u32 = 3;
}

/// The part of a look that concerns the first 1,024 numbers.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_look(state: *mut TableState, scratch: *mut Scratch) -> u32 {
    if state.is_null() || scratch.is_null() {
        return next::DONE;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks.
    unsafe {
        let request = &raw mut (*scratch).request;
        (*request).highest = NO_NUMBER;
        if (*state).head.dirty != 0 && (*request).kept == 0 && is_raced(state, request) {
            fdtide_keep(state, request);
        }
        let whole = (*request).scope >= Scope::All as u32;
        let number = (*request).number;
        if !whole && number >= (*request).max {
            return next::DONE;
        }
        if !whole && number >= CHUNK_NUMBERS as u32 {
            return next::FAR;
        }
        let mut look = Look { state, chunk: &raw mut (*state).first, scratch };
        (*look.cursor()).base = 0;
        compare(&mut look, if whole { NO_NUMBER } else { number });
        if whole && ((*request).max > CHUNK_NUMBERS as u32 || (*state).head.top_chunk != 0) {
            return next::FAR;
        }
        finish(state, request)
    }
}

/// The part of a look that concerns the numbers from 1,024 up.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_look_far(state: *mut TableState, scratch: *mut Scratch) -> u32 {
    if state.is_null() || scratch.is_null() {
        return next::DONE;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks; the callback gets a look that outlives the call.
    unsafe {
        let request = &raw mut (*scratch).request;
        let mut look = Look { state, chunk: &raw mut (*state).first, scratch };
        // A table that is a shorter copy of another has chunks beyond its end, until they are looked at.
        let kept = (*state).head.top_chunk + 1;
        let chunks = (*request).max / CHUNK_NUMBERS as u32;
        let chunks = if chunks < kept { kept } else { chunks };
        let chunks = if chunks > MAX_CHUNKS { MAX_CHUNKS } else { chunks };
        let mut from = 0;
        let mut steps = chunks;
        if (*request).scope < Scope::All as u32 {
            from = (*request).number / CHUNK_NUMBERS as u32;
            steps = 1;
            if from >= MAX_CHUNKS {
                count(Counter::BeyondRange);
                return next::DONE;
            }
        }
        (*look.cursor()).chunk = from;
        bpf_loop(steps, chunk_step as *mut c_void, (&raw mut look).cast(), 0);
        if (*request).scope < Scope::All as u32
            && (*request).highest == NO_NUMBER
            && (*state).head.highest / CHUNK_NUMBERS as u32 == from
        {
            return next::AGAIN;
        }
        finish(state, request)
    }
}

/// Whether a mark is about to be raised where other threads act. What they closed before this open must not count with it: it may
/// be in another chunk, it may have gone since the bitmap was read, and its number may have been given away again to a call that
/// has not filled it.
#[inline(always)]
fn is_doubtful(state: *const TableState, request: *const Request) -> bool {
    // SAFETY: valid map values; a static of plain integers.
    unsafe {
        let head = &raw const (*state).head;
        let live = (*head).live;
        let crest = live > (*head).crest.live && live - (*head).crest_floor >= constant(&raw const CONFIG.crest_min);
        let raises = crest || live > (*head).life.live || live > (*head).image.live || live > (*head).window.live;
        raises && (*request).scope < Scope::Seed as u32 && is_raced(state, request)
    }
}

/// Whether others may change the table during a look.
#[inline(always)]
fn is_raced(state: *const TableState, request: *const Request) -> bool {
    // SAFETY: valid map values.
    unsafe { (*request).threads > 1 || (*state).head.users > 1 }
}

/// Notes what the look as a whole has found. Gives what is to be done before that, [`next`].
#[inline(always)]
fn finish(state: *mut TableState, request: *mut Request) -> u32 {
    // SAFETY: valid map values.
    unsafe {
        let head = &raw mut (*state).head;
        if is_doubtful(state, request) {
            return next::GONE;
        }
        let found = (*request).highest;
        let found = if found == NO_NUMBER { 0 } else { found };
        // A look at one chunk knows nothing of higher ones.
        let chunk = (*request).number / CHUNK_NUMBERS as u32;
        let whole = (*request).scope >= Scope::All as u32;
        if whole || found > (*head).highest || (*head).highest / CHUNK_NUMBERS as u32 == chunk {
            (*head).highest = found;
        }
        (*head).flags &= !flag::RECHECK;
        (*head).soft = (*request).soft;
        marks(head, request);
        if crest(head, (*request).now) {
            fdtide_fallen(state, (*request).now);
        }
    }
    next::DONE
}

/// The chunk of this index, above the first; made if there is none, null if there is no room. A new one is not taken for what is
/// there: that belonged to a table that has ended. A function of its own for its stack.
#[inline(never)]
fn chunk(files: u64, index: u32, new: bool) -> *mut Chunk {
    let key = ChunkKey { files, index: u64::from(index) };
    if !new && let Some(chunk) = CHUNKS.get_ptr_mut(key) {
        return chunk;
    }
    let Some(empty) = EMPTY_CHUNK.get_ptr(0) else { return ptr::null_mut() };
    insert(&CHUNKS, &key, empty, 0);
    let made = CHUNKS.get_ptr_mut(key).unwrap_or(ptr::null_mut());
    if made.is_null() {
        count(Counter::ChunkFull);
    }
    made
}

impl Look {
    #[inline(always)]
    fn request(&self) -> *mut Request {
        // SAFETY: a member of a valid per-CPU map value.
        unsafe { &raw mut (*self.scratch).request }
    }

    #[inline(always)]
    fn cursor(&self) -> *mut Cursor {
        // SAFETY: a member of a valid per-CPU map value.
        unsafe { &raw mut (*self.scratch).cursor }
    }
}

/// Turns to the chunk of this index, above the first. False if there is no room for it.
#[inline(always)]
fn enter(look: &mut Look, index: u32) -> bool {
    // SAFETY: valid map values.
    unsafe {
        let new = (*look.state).head.top_chunk < index;
        let chunk = chunk((*look.request()).files, index, new);
        if chunk.is_null() {
            (*look.state).head.flags |= flag::INCOMPLETE;
            return false;
        }
        look.chunk = chunk;
        (*look.cursor()).base = index * CHUNK_NUMBERS as u32;
        if new {
            (*look.state).head.top_chunk = index;
        }
    }
    true
}

/// Reads and compares the chunk at `base`; what lies beyond the table is 0. False if it can't be read.
#[inline(always)]
fn scan(look: &mut Look, chunk: *const Chunk) -> bool {
    // SAFETY: valid per-CPU map values.
    unsafe {
        let request = look.request();
        let base = (*look.cursor()).base;
        let room = if base >= (*request).max { 0 } else { ((*request).max - base) / 8 };
        let bytes = if room > CHUNK_BYTES { CHUNK_BYTES } else { room };
        fdtide_scan(look.scratch, chunk, (*request).open + u64::from(base / 8), bytes);
        let read = (*look.scratch).scan.read;
        if read == 0 {
            count(Counter::ReadFailed);
        }
        read != 0
    }
}

/// The file description behind a number, 0 for none. There is nothing behind the end of the table.
#[inline(always)]
fn file_at(request: *const Request, number: u32) -> Option<u64> {
    // SAFETY: valid working memory.
    unsafe { if number >= (*request).max { Some(0) } else { peek((*request).fd + u64::from(number) * 8) } }
}

/// Compares the chunk at `base`: clears first, then `number` and the sets, so that no mark counts what has gone.
#[inline(always)]
fn compare(look: &mut Look, number: u32) {
    let request = look.request();
    // SAFETY: valid map values, throughout.
    unsafe {
        let scope = (*request).scope;
        (*request).credit = UNCREDITED;
        let mut file = 0;
        // What the caller has opened is there until it closes it: read before the bitmap, all that is counted was there
        // together. Read after it, another thread's close in between would be missed, and a mark set too high.
        if number != NO_NUMBER && scope != Scope::Number as u32 {
            let Some(found) = file_at(request, number) else { return };
            file = found;
            if file == 0 {
                apply(look.state, look.chunk, request, number, 0);
            }
        }
        let chunk = look.chunk;
        if !scan(look, chunk) {
            return;
        }
        let scan = &raw const (*look.scratch).scan;
        if (*scan).highest != NO_NUMBER {
            let highest = (*look.cursor()).base + (*scan).highest;
            if (*request).highest == NO_NUMBER || (*request).highest < highest {
                (*request).highest = highest;
            }
        }
        if scope == Scope::Gone as u32 {
            if (*look.cursor()).base < FILLED {
                fdtide_filled(look.scratch, chunk);
            }
            words(look, pass::CLEARS);
            return;
        }
        let (mut clears, mut sets) = ((*scan).clears, (*scan).sets);
        if number != NO_NUMBER && scope == Scope::Number as u32 {
            let bit = 1 << (number & 63);
            // Nothing is behind a number whose bit is not set, and every read of kernel memory costs.
            if (*look.scratch).words[(number as usize / 64) & (CHUNK_WORDS - 1)] & bit != 0 {
                let Some(found) = file_at(request, number) else { return };
                file = found;
            }
            if file == 0 {
                apply(look.state, look.chunk, request, number, 0);
                // It alone has gone, the common case. Others must go before what is new is counted.
                if clears == bit && (*scan).words == 1 {
                    clears = 0;
                }
            }
        }
        if clears != 0 {
            words(look, pass::CLEARS);
        }
        if file != 0 {
            let mine = scope == Scope::Own as u32 || scope == Scope::Replaced as u32;
            (*request).credit = if mine { (*request).tid } else { UNCREDITED };
            let same = apply(look.state, look.chunk, request, number, file);
            if mine && same == 1 {
                own(look.state, look.chunk, request, number, scope == Scope::Replaced as u32);
            }
            // The only newcomer is the common case; it is in the mask by now.
            if sets == 1 << (number & 63) && (*scan).words == 1 {
                sets = 0;
            }
        }
        (*request).credit = if scope == Scope::AllOwn as u32 {
            (*request).tid
        } else if scope == Scope::Seed as u32 {
            0
        } else {
            UNCREDITED
        };
        if sets != 0 {
            words(look, pass::SETS);
        }
        if scope == Scope::Recheck as u32 || (*look.state).head.flags & flag::RECHECK != 0 {
            words(look, pass::RECHECK);
        }
    }
}

#[inline(always)]
fn words(look: &mut Look, pass: u32) {
    let cursor = look.cursor();
    // SAFETY: a valid per-CPU map value; the callback gets this look, which outlives the call.
    unsafe {
        (*cursor).pass = pass;
        (*cursor).word = 0;
        (*cursor).bits = differing(look, pass, 0);
        bpf_loop(STEPS, bit_step as *mut c_void, (&raw mut *look).cast(), 0);
    }
}

/// Numbers of a word that a pass is about.
#[inline(always)]
fn differing(look: &Look, pass: u32, word: u32) -> u64 {
    let word = (word & (CHUNK_WORDS as u32 - 1)) as usize;
    // SAFETY: valid map values and a bounded index.
    let (have, open) = unsafe { ((*look.chunk).mask[word], (*look.scratch).words[word]) };
    match pass {
        pass::CLEARS => have & !open,
        pass::SETS => open & !have,
        _ => open | have,
    }
}

/// One step of a pass: the next number of the word, or the next word. Ends the pass when there is none.
unsafe extern "C" fn bit_step(_: u32, look: *mut c_void) -> i64 {
    // SAFETY: `words` hands over a look that outlives the call; valid per-CPU map values.
    unsafe {
        let look = &mut *look.cast::<Look>();
        let cursor = look.cursor();
        let bits = (*cursor).bits;
        if bits == 0 {
            let word = (*cursor).word + 1;
            (*cursor).word = word;
            if word >= CHUNK_WORDS as u32 {
                return 1;
            }
            (*cursor).bits = differing(look, (*cursor).pass, word);
            return 0;
        }
        (*cursor).bits = bits & (bits - 1);
        let number = (*cursor).base + (*cursor).word * 64 + bits.trailing_zeros();
        let request = look.request();
        if let Some(file) = file_at(request, number) {
            apply(look.state, look.chunk, request, number, file);
        }
    }
    0
}

/// Steps of a pass at most: every number, and every word.
const STEPS: u32 = (CHUNK_NUMBERS + CHUNK_WORDS) as u32;

/// The next chunk above the first, and the requested number if the look is about one.
unsafe extern "C" fn chunk_step(_: u32, look: *mut c_void) -> i64 {
    // SAFETY: `fdtide_look_far` hands over a look that outlives the call; valid map values.
    unsafe {
        let look = &mut *look.cast::<Look>();
        let request = look.request();
        let index = (*look.cursor()).chunk;
        (*look.cursor()).chunk = index + 1;
        if index == 0 {
            return 0;
        }
        let one = (*request).scope < Scope::All as u32;
        if !one && CHUNKS.get_ptr_mut(ChunkKey { files: (*request).files, index: u64::from(index) }).is_none() {
            // Nothing has gone from where nothing was.
            if (*request).scope == Scope::Gone as u32 {
                return 0;
            }
            // Most of a large table is empty: no chunk is made for numbers that were never used.
            (*look.cursor()).base = index * CHUNK_NUMBERS as u32;
            let Some(empty) = EMPTY_CHUNK.get_ptr(0) else { return 0 };
            if !scan(look, empty) || (*look.scratch).scan.any == 0 {
                return 0;
            }
        }
        if enter(look, index) {
            compare(look, if one { (*request).number } else { NO_NUMBER });
        }
    }
    0
}
