//! Tables come and go: seeded, copied, left, ended.

use core::ffi::c_void;

use aya_ebpf::{bindings::BPF_NOEXIST, helpers::generated::bpf_loop};
use fdtide_abi::{
    ChunkKey, Counter, TableHead, TableState,
    event::table_reason,
    table::{CHUNK_WORDS, FAILURES, NO_NUMBER, UNSETTLED, flag},
};

use crate::kernel::{
    emit,
    lock::{lock, unlock},
    look::{look, look_near},
    maps::{CHUNKS, EMPTY, EMPTY_CHUNK, LAST_ID, Program, Scratch, TABLES, count, insert},
    mark::{capture, restart_crest, restart_life},
    origin::dropped,
    read::{self, Object, add, fetch_add, fetch_add32},
    request::{Scope, request, threads},
};

/// The state of this table, if it is followed.
#[inline(always)]
pub fn find(files: Object) -> Option<*mut TableState> {
    TABLES.get_ptr_mut(files.address())
}

/// The state kept under this address, if it still is the table with this identity.
#[inline(always)]
pub fn find_id(files: u64, id: u64) -> Option<*mut TableState> {
    let state = TABLES.get_ptr_mut(files)?;
    // SAFETY: a valid map value.
    if unsafe { (*state).head.id } == id { Some(state) } else { None }
}

/// Starts to follow a table that existed before: everything in it was there when it was first seen.
#[inline(always)]
pub fn seed(program: u32, task: Object, files: Object, owner: u32, now: u64) -> Option<*mut TableState> {
    let scratch = request(program, task, files, 0, now)?;
    let made = fdtide_seed(scratch, owner);
    fill(scratch, find(files)?, made)
}

/// As [`seed`], for a table that the kernel has just made: what stands at its address ended unseen.
#[inline(always)]
pub fn seed_new(program: u32, task: Object, files: Object, owner: u32, now: u64) -> Option<*mut TableState> {
    let scratch = request(program, task, files, 0, now)?;
    // SAFETY: valid working memory. Volatile, so that a number comes out of it and not the typed pointer that went in.
    end(unsafe { core::ptr::read_volatile(&raw const (*scratch).request.files) }, now, table_reason::REPLACED);
    let made = fdtide_seed(scratch, owner);
    fill(scratch, find(files)?, made)
}

/// Makes an empty, locked state for the requested table: 1, or 0 if there is one already or no room.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_seed(scratch: *mut Scratch, owner: u32) -> u32 {
    if scratch.is_null() {
        return 0;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks.
    unsafe {
        let request = &raw const (*scratch).request;
        let (files, now) = ((*request).files, (*request).now);
        let Some(empty) = EMPTY.get_ptr(0) else { return 0 };
        // The agent has set the empty table's lock: nobody looks before it is filled.
        if !insert(&TABLES, &files, empty, u64::from(BPF_NOEXIST)) {
            if TABLES.get_ptr(files).is_none() {
                count(Counter::TableFull);
            }
            return 0;
        }
        let Some(state) = TABLES.get_ptr_mut(files) else { return 0 };
        name(&raw mut (*state).head, files, owner, now, flag::SEEDED);
    }
    1
}

/// Fills a state that was just made and is still locked, and opens it to others.
#[inline(always)]
fn fill(scratch: *mut Scratch, state: *mut TableState, made: u32) -> Option<*mut TableState> {
    if made != 0 {
        // SAFETY: a valid map value.
        if unsafe { (*state).head.flags } & flag::INCOMPLETE == 0 {
            look(scratch, state, Scope::Seed as u32, NO_NUMBER);
        } else {
            look_near(scratch, state);
        }
        fdtide_begin(state, scratch, made);
    }
    Some(state)
}

/// Starts every mark at the level found, and unlocks if it was just made.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_begin(state: *mut TableState, scratch: *mut Scratch, made: u32) -> u32 {
    if state.is_null() || scratch.is_null() {
        return 0;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks.
    unsafe { restart_life(&raw mut (*state).head, (*scratch).request.now) };
    if made != 0 {
        unlock(state, true);
    }
    0
}

/// Starts to follow a table that the kernel has just copied from a followed one.
#[inline(always)]
pub fn copy(
    program: u32,
    from: *mut TableState,
    task: Object,
    files: Object,
    owner: u32,
    now: u64,
) -> Option<*mut TableState> {
    let scratch = request(program, task, files, 0, now)?;
    // With other threads about, a slot of the original may have been about to be looked at again.
    let threads = if program == Program::WakeupNew as u32 {
        threads(Object::current())
    } else {
        // SAFETY: a valid map value.
        unsafe { (*scratch).request.threads }
    };
    // SAFETY: a valid map value.
    let from = unsafe { (*from).head.files };
    let made = fdtide_copy(from, scratch, owner, if threads > 1 { flag::RECHECK } else { 0 });
    fill(scratch, find(files)?, made)
}

/// Makes a locked copy of the state at the address `from` for the requested table: 1, or 0 if there is no room. (Before 6.2
/// a map takes a value from another map only by way of a look-up, hence the address.)
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_copy(from: u64, scratch: *mut Scratch, owner: u32, flags: u32) -> u32 {
    if scratch.is_null() {
        return 0;
    }
    let Some(original) = TABLES.get_ptr_mut(from) else { return 0 };
    // SAFETY: valid memory of the types' sizes, which the verifier checks; callbacks get a job that outlives the call.
    unsafe {
        let (files, now) = ((*scratch).request.files, (*scratch).request.now);
        let locked = lock(original);
        // What stands at this address ended unseen: the kernel gives addresses away again at once.
        end(files, now, table_reason::REPLACED);
        // The copy begins with its lock set, as the original's is.
        let inserted = insert(&TABLES, &files, original, 0);
        let top = (*original).head.top_chunk;
        let mut failed = 0;
        if top != 0 {
            let mut job = ChunkJob { from, to: files, failed: 0 };
            bpf_loop(top, copy_chunk as *mut c_void, (&raw mut job).cast(), 0);
            failed = job.failed;
        }
        unlock(original, locked);
        if !inserted {
            count(Counter::TableFull);
            return 0;
        }
        let Some(state) = TABLES.get_ptr_mut(files) else { return 0 };
        let head = &raw mut (*state).head;
        name(head, files, owner, now, flags | failed);
        read::clear(&raw mut (*head).installs);
        read::clear(&raw mut (*head).closes);
        (*head).changes = 0;
        (*head).failures_other = 0;
        (*head).crests = 0;
        (*head).census_live = 0;
        (*head).bad_closes = 0;
        (*head).censuses = 0;
        for failure in 0..FAILURES {
            (*head).failures[failure].count = 0;
        }
    }
    1
}

/// Gives a new state its identity.
#[inline(always)]
fn name(head: *mut TableHead, files: u64, owner: u32, now: u64, flags: u32) {
    let id = match LAST_ID.get_ptr_mut(0) {
        Some(last) => fetch_add(last, 1) + 1,
        None => 0,
    };
    // SAFETY: a valid map value.
    unsafe {
        (*head).id = id;
        (*head).files = files;
        (*head).flags = flags;
        (*head).first_ns = now;
        (*head).last_change_ns = now;
        (*head).lock = 1;
        (*head).users = 1;
        (*head).owner = owner;
        (*head).settled = UNSETTLED;
        (*head).dirty = 0;
    }
}

/// One more process uses the table.
#[inline(always)]
pub fn join(state: *mut TableState) {
    // SAFETY: a valid map value.
    unsafe {
        add(&raw mut (*state).head.users, 1);
        (*state).head.flags |= flag::SHARED;
    }
}

/// One process fewer uses it. True if that was the last, which only one of several that leave at the same time is.
#[inline(always)]
pub fn leave(state: *mut TableState) -> bool {
    // SAFETY: a valid map value.
    unsafe {
        let users = &raw mut (*state).head.users;
        let before = fetch_add32(users, u32::MAX);
        if before == 0 {
            // Somebody came unseen.
            *users = 0;
        }
        before <= 1
    }
}

/// Stops following the table at this address, if one is followed, and says why.
#[inline(always)]
pub fn end(files: u64, now: u64, reason: u32) {
    fdtide_end(files, now, reason);
}

/// [`end`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_end(files: u64, now: u64, reason: u32) -> u32 {
    if let Some(state) = TABLES.get_ptr_mut(files) {
        // SAFETY: a valid map value.
        emit::table(now, reason, unsafe { &raw const (*state).head });
        forget(files, state);
    }
    0
}

/// Tells that the present crest has fallen, and begins the next one.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_fallen(state: *mut TableState, now: u64) -> u32 {
    if state.is_null() {
        return 0;
    }
    // SAFETY: a valid map value, which the verifier checks.
    unsafe {
        let head = &raw mut (*state).head;
        (*head).crests += 1;
        emit::table(now, table_reason::CREST, head);
        restart_crest(head, now);
    }
    0
}

/// Empties a state whose slots are not all there, and turns the look that is about to come into one that seeds it: what is
/// found then was there before, and counts anew.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_forget(state: *mut TableState, scratch: *mut Scratch) -> u32 {
    if state.is_null() || scratch.is_null() {
        return 0;
    }
    let Some(empty) = EMPTY_CHUNK.get_ptr(0) else { return 0 };
    // SAFETY: valid memory of the types' sizes, which the verifier checks; the callback gets a job that outlives the call.
    unsafe {
        let head = &raw mut (*state).head;
        capture(head, &raw mut (*scratch).request);
        let mut job = ChunkJob { from: (*head).files, to: 0, failed: 0 };
        bpf_loop((*head).top_chunk, drop_chunk as *mut c_void, (&raw mut job).cast(), 0);
        read::copy(&raw mut (*state).first, empty);
        read::clear(&raw mut (*head).kinds);
        (*head).live = 0;
        (*head).top_chunk = 0;
        (*head).flags &= !flag::INCOMPLETE;
        (*scratch).request.scope = Scope::Seed as u32;
        (*scratch).request.number = NO_NUMBER;
    }
    0
}

/// Takes the table out of the maps.
#[inline(always)]
pub fn forget(files: u64, state: *mut TableState) {
    // SAFETY: a valid map value.
    let top = unsafe { (*state).head.top_chunk };
    if top != 0 {
        let mut job = ChunkJob { from: files, to: 0, failed: 0 };
        // SAFETY: the callback gets `job`, which outlives the call.
        unsafe { bpf_loop(top, drop_chunk as *mut c_void, (&raw mut job).cast(), 0) };
    }
    dropped(files, 0);
    let _ = TABLES.remove(files);
}

/// What a walk over chunks works on.
#[repr(C)]
struct ChunkJob {
    from: u64,
    to: u64,
    /// [`flag::INCOMPLETE`] and [`flag::UNSEEN`] if a chunk found no room.
    failed: u32,
}

unsafe extern "C" fn copy_chunk(index: u32, job: *mut c_void) -> i64 {
    // SAFETY: `fdtide_copy` hands over a job that outlives the call; a valid map value, constant indices.
    unsafe {
        let job = &mut *job.cast::<ChunkJob>();
        let index = u64::from(index) + 1;
        let to = ChunkKey { files: job.to, index };
        let mut any = 0;
        let chunk = CHUNKS.get_ptr(ChunkKey { files: job.from, index });
        if let Some(chunk) = chunk {
            for word in 0..CHUNK_WORDS {
                any |= (*chunk).mask[word];
            }
        }
        // Room for a chunk is scarce where a process is made, so an empty one is not copied.
        match chunk {
            Some(chunk) if any != 0 => {
                if !insert(&CHUNKS, &to, chunk, 0) {
                    job.failed = flag::INCOMPLETE | flag::UNSEEN;
                }
            }
            // What is there belonged to a table that has ended.
            _ => {
                let _ = CHUNKS.remove(to);
            }
        }
    }
    0
}

unsafe extern "C" fn drop_chunk(index: u32, job: *mut c_void) -> i64 {
    // SAFETY: `forget` hands over a job that outlives the call.
    let job = unsafe { &*job.cast::<ChunkJob>() };
    let _ = CHUNKS.remove(ChunkKey { files: job.from, index: u64::from(index) + 1 });
    dropped(job.from, u64::from(index) + 1);
    0
}
