//! One slot: what is behind a number, and what a change of it means for the table and for the thread.

use aya_ebpf::helpers::generated::bpf_get_current_comm;
use fdtide_abi::{
    Chunk, Counter, HeldKey, Kind, TableHead, TableState,
    abi::kind::KINDS,
    control::Switch,
    table::{CHUNK_NUMBERS, COMM, SLOT_KIND, SLOT_TID_SHIFT, THREADS, UNCREDITED},
};

use crate::kernel::{
    kind::fdtide_classify,
    maps::{CONFIG, HELD, TABLES, count, turn_on},
    mark::capture,
    origin::{installed, tell},
    read::{add, clear_bits, constant, exchange, set_bits},
    request::{Request, Scope},
};

/// [`fdtide_apply`].
#[inline(always)]
pub fn apply(state: *mut TableState, chunk: *mut Chunk, request: *mut Request, number: u32, file: u64) -> u32 {
    fdtide_apply(state, chunk, request, number, file)
}

/// Brings one slot up to date with `file`, the file description behind `number` or 0. 1 if it was and is of one kind.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_apply(
    state: *mut TableState,
    chunk: *mut Chunk,
    request: *mut Request,
    number: u32,
    file: u64,
) -> u32 {
    if state.is_null() || chunk.is_null() || request.is_null() {
        return 0;
    }
    let index = (number & (CHUNK_NUMBERS as u32 - 1)) as usize;
    let bit = 1u64 << (number & 63);
    // SAFETY: valid map values and bounded indices; the lock keeps other looks away.
    unsafe {
        let mut kind = 0;
        if file != 0 {
            fdtide_classify(request, file);
            kind = (core::ptr::read_volatile(&raw const (*request).kind) + 1) & 63;
        }
        let head = &raw mut (*state).head;
        let credit = (*request).credit;
        let slot = &raw mut (*chunk).slots[index];
        if *slot & SLOT_KIND == kind {
            return u32::from(kind != 0);
        }
        let seen = (*request).scope != Scope::Seed as u32;
        let old = exchange(slot, if kind == 0 { 0 } else { kind | credit << SLOT_TID_SHIFT });
        let old_kind = old & SLOT_KIND;
        if old_kind != 0 {
            // What a look finds gone may have gone before what it finds new came: no mark counts both.
            capture(head, request);
        }
        if seen && (old_kind == 0 || kind == 0) {
            still(head, (*request).now);
        }
        if old_kind != 0 {
            let at = (old_kind - 1) as usize & 63;
            if at < KINDS {
                add(&raw mut (*head).kinds[at], u32::MAX);
            }
            add(&raw mut (*head).live, u32::MAX);
            if seen {
                (*head).closes += 1;
            }
            released(head, request, old >> SLOT_TID_SHIFT);
        }
        if kind == 0 {
            clear_bits(&raw mut (*chunk).mask[index / 64], bit);
        } else {
            let at = (kind - 1) as usize & 63;
            if at < KINDS {
                add(&raw mut (*head).kinds[at], 1);
            }
            add(&raw mut (*head).live, 1);
            set_bits(&raw mut (*chunk).mask[index / 64], bit);
            installed(request, number, credit != 0 && credit == (*request).tid, seen);
            if kind == Kind::Fanotify as u32 + 1 || kind == Kind::Userfaultfd as u32 + 1 {
                turn_on(Switch::ReadsInstall);
            }
            if seen {
                (*head).installs += 1;
                taken(head, (*request).files, credit);
            }
        }
        (*head).changes += 1;
        if seen {
            tell(head, request, number, if kind == 0 { 0 } else { kind | credit << SLOT_TID_SHIFT }, old);
        }
    }
    0
}

/// The caller has opened what is at `number`, of the kind that was there: either it was found before its opener could tell,
/// or it took the place of another, which only the caller can know.
#[inline(always)]
pub fn own(state: *mut TableState, chunk: *mut Chunk, request: *mut Request, number: u32, replaced: bool) {
    let index = (number & (CHUNK_NUMBERS as u32 - 1)) as usize;
    // SAFETY: valid map values and a bounded index.
    unsafe {
        let head = &raw mut (*state).head;
        let tid = (*request).tid;
        let slot = &raw mut (*chunk).slots[index];
        let holder = *slot >> SLOT_TID_SHIFT;
        if replaced {
            (*head).installs += 1;
            (*head).closes += 1;
        } else if holder == tid || holder == 0 {
            return;
        }
        let before = exchange(slot, *slot & SLOT_KIND | tid << SLOT_TID_SHIFT);
        installed(request, number, true, true);
        if replaced {
            tell(head, request, number, *slot, before);
        }
        released(head, request, holder);
        taken(head, (*request).files, tid);
    }
}

/// The level that `live` is about to leave was settled if it was still for long enough.
#[inline(always)]
fn still(head: *mut TableHead, now: u64) {
    // SAFETY: a static of plain integers; a valid map value.
    unsafe {
        let settle = constant(&raw const CONFIG.settle_ns);
        let last = (*head).last_change_ns;
        if last != now && now - last >= settle {
            (*head).settled = (*head).live;
            (*head).window_settled = (*head).live;
        }
        (*head).last_change_ns = now;
    }
}

/// A thread opened a descriptor.
#[inline(always)]
fn taken(head: *mut TableHead, files: u64, tid: u32) {
    if tid == 0 || tid == UNCREDITED {
        return;
    }
    // SAFETY: a valid map value and a bounded index.
    unsafe {
        let mark = &raw mut (*head).threads[tid as usize & (THREADS - 1)];
        if (*mark).tid == tid {
            (*mark).held += 1;
            if (*mark).held > (*mark).high {
                (*mark).high = (*mark).held;
                (*mark).done_ns = 0;
            }
            return;
        }
        let key = HeldKey { files, tid: u64::from(tid) };
        let held = HELD.get_ptr(key).map_or(1, |held| *held + 1);
        if held <= (*mark).high {
            keep_held(key, held);
            return;
        }
        if (*mark).tid != 0 && (*mark).held != 0 {
            keep_held(HeldKey { files, tid: u64::from((*mark).tid) }, (*mark).held);
        }
        let _ = HELD.remove(key);
        (*mark).tid = tid;
        (*mark).high = held;
        (*mark).held = held;
        (*mark).done_ns = 0;
        // The opener is the running task wherever its thread is known.
        bpf_get_current_comm((&raw mut (*mark).comm).cast(), COMM as u32);
    }
}

/// What a thread holds that has no mark: another one has its place.
#[inline(always)]
fn keep_held(key: HeldKey, held: u32) {
    if HELD.insert(key, held, 0).is_err() {
        count(Counter::HeldFull);
    }
}

/// A descriptor that a thread opened has gone.
#[inline(always)]
fn released(head: *mut TableHead, request: *const Request, tid: u32) {
    if tid == 0 || tid == UNCREDITED {
        return;
    }
    // SAFETY: valid working memory.
    let (files, now) = unsafe { ((*request).files, (*request).now) };
    // SAFETY: valid map values and a bounded index.
    unsafe {
        let mark = &raw mut (*head).threads[tid as usize & (THREADS - 1)];
        if (*mark).tid != tid {
            if let Some(held) = HELD.get_ptr_mut(HeldKey { files, tid: u64::from(tid) })
                && *held != 0
            {
                *held -= 1;
            }
            return;
        }
        if (*mark).held != 0 {
            (*mark).held -= 1;
        }
        if (*mark).done_ns == 0 {
            (*mark).done_ns = now;
        }
    }
}

/// The thread has ended, or uses another table: what it opened here is nobody's.
#[inline(always)]
pub fn forget_held(files: u64, tid: u32) {
    let _ = HELD.remove(HeldKey { files, tid: u64::from(tid) });
    if let Some(state) = TABLES.get_ptr_mut(files) {
        // SAFETY: a valid map value and a bounded index.
        unsafe {
            let mark = &raw mut (*state).head.threads[tid as usize & (THREADS - 1)];
            if (*mark).tid == tid {
                (*mark).held = 0;
            }
        }
    }
}

const _: () = assert!(Kind::ALL.len() < SLOT_KIND as usize, "kind + 1 fits its bits of a slot");
