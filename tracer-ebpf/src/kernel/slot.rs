//! One slot: what is behind a number, and what a change of it means for the table and for the thread.

use fdtide_abi::{
    Chunk, Counter, HeldKey, Kind, TableHead, TableState,
    abi::kind::KINDS,
    table::{CHUNK_NUMBERS, NO_NUMBER, SLOT_KIND, SLOT_TID_SHIFT},
};

use crate::kernel::{
    kind::fdtide_classify,
    look::Request,
    maps::{CONFIG, HELD, count},
    mark::{capture, marks},
    read::{constant, exchange},
};

/// What a change of a slot needs besides the slot: integers only, so that it can be handed to a function of its own.
#[repr(C)]
pub struct Act {
    /// Address of the `files_struct`.
    pub(super) files: u64,
    /// Boot time, nanoseconds.
    pub(super) now: u64,
    /// The thread that acts; 0 where it is not known.
    tid: u32,
    /// Soft limit, descriptors.
    pub(super) soft: u32,
    /// Greatest number found in use; [`NO_NUMBER`] for none.
    pub(super) highest: u32,
    /// Whether what is found was there before first sight.
    seed: u32,
    /// Whether `live` went up without the marks having been set.
    pub(super) raised: u32,
    /// Always 0.
    spare: u32,
}

/// Fills `act` for the changes that `request` finds.
#[inline(always)]
pub fn start(act: *mut Act, request: &Request, seed: bool) {
    // SAFETY: valid working memory.
    unsafe {
        (*act).files = request.files;
        (*act).now = request.now;
        (*act).tid = request.tid;
        (*act).soft = request.soft;
        (*act).highest = NO_NUMBER;
        (*act).seed = u32::from(seed);
        (*act).raised = 0;
        (*act).spare = 0;
    }
}

/// [`fdtide_apply`].
#[inline(always)]
pub fn apply(state: *mut TableState, chunk: *mut Chunk, act: *mut Act, number: u32, file: u64) -> u32 {
    fdtide_apply(state, chunk, act, number, file)
}

/// Brings one slot up to date with `file`, the file description behind `number` or 0. 1 if it was and is of one kind.
///
/// A symbol of its own, so that the verifier checks it once and not in every place that it is called from.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_apply(
    state: *mut TableState,
    chunk: *mut Chunk,
    act: *mut Act,
    number: u32,
    file: u64,
) -> u32 {
    if state.is_null() || chunk.is_null() || act.is_null() {
        return 0;
    }
    let index = (number & (CHUNK_NUMBERS as u32 - 1)) as usize;
    let word = index / 64;
    let bit = 1u64 << (number & 63);
    let kind = if file == 0 { 0 } else { (fdtide_classify(file) + 1) & 63 };
    // SAFETY: valid map values and bounded indices, here and below; the lock keeps other looks away.
    unsafe {
        let head = &raw mut (*state).head;
        let act = &mut *act;
        let tid = if act.seed != 0 { 0 } else { act.tid };
        let slot = &raw mut (*chunk).slots[index];
        if *slot & SLOT_KIND == kind {
            return u32::from(kind != 0);
        }
        let old = exchange(slot, if kind == 0 { 0 } else { kind | tid << SLOT_TID_SHIFT });
        let old_kind = old & SLOT_KIND;
        let gone = u32::from(old_kind != 0);
        let come = u32::from(kind != 0);
        if gone != 0 {
            if act.raised != 0 {
                marks(head, act);
            }
            capture(head);
        }
        if gone != come && act.seed == 0 {
            still(head, act);
        }
        if gone != 0 {
            let at = (old_kind - 1) as usize & 63;
            if at < KINDS {
                (*head).kinds[at] -= 1;
            }
            if act.seed == 0 {
                (*head).closes += 1;
            }
            released(act.files, old >> SLOT_TID_SHIFT);
        }
        if come != 0 {
            let at = (kind - 1) as usize & 63;
            if at < KINDS {
                (*head).kinds[at] += 1;
            }
            (*chunk).mask[word] |= bit;
            act.raised = 1;
            if act.seed == 0 {
                (*head).installs += 1;
                taken(head, act, tid);
            }
        } else {
            (*chunk).mask[word] &= !bit;
        }
        (*head).live = (*head).live + come - gone;
        (*head).changes += 1;
    }
    0
}

/// One descriptor took another's place at the same number and is of the same kind.
#[inline(always)]
pub fn replace(state: *mut TableState, chunk: *mut Chunk, act: *mut Act, number: u32) {
    let index = (number & (CHUNK_NUMBERS as u32 - 1)) as usize;
    // SAFETY: valid map values and a bounded index.
    unsafe {
        let head = &raw mut (*state).head;
        let act = &*act;
        let slot = &raw mut (*chunk).slots[index];
        let old = exchange(slot, *slot & SLOT_KIND | act.tid << SLOT_TID_SHIFT);
        (*head).installs += 1;
        (*head).closes += 1;
        released(act.files, old >> SLOT_TID_SHIFT);
        taken(head, act, act.tid);
    }
}

/// The level that `live` is about to leave was settled if it was still for long enough.
#[inline(always)]
fn still(head: *mut TableHead, act: &Act) {
    // SAFETY: a static of plain integers; a valid map value.
    unsafe {
        let settle = constant(&raw const CONFIG.settle_ns);
        let last = (*head).last_change_ns;
        if last != act.now && act.now - last >= settle {
            (*head).settled = (*head).live;
            (*head).window_settled = (*head).live;
        }
        (*head).last_change_ns = act.now;
    }
}

/// A thread opened a descriptor.
#[inline(always)]
fn taken(head: *mut TableHead, act: &Act, tid: u32) {
    if tid == 0 {
        return;
    }
    let key = HeldKey { files: act.files, tid: u64::from(tid) };
    let held = if let Some(held) = HELD.get_ptr_mut(key) {
        // SAFETY: a valid map value; only its own thread adds.
        unsafe {
            *held += 1;
            *held
        }
    } else {
        if HELD.insert(key, 1, 0).is_err() {
            count(Counter::HeldFull);
        }
        1
    };
    // SAFETY: a valid map value.
    unsafe {
        if held > (*head).thread_high {
            (*head).thread_high = held;
            if (*head).thread_tid != tid {
                (*head).thread_tid = tid;
                // The opener is the running task wherever its thread is known.
                aya_ebpf::helpers::generated::bpf_get_current_comm(
                    (&raw mut (*head).thread_comm).cast(),
                    fdtide_abi::table::COMM as u32,
                );
            }
        }
    }
}

/// A descriptor that a thread opened has gone.
#[inline(always)]
fn released(files: u64, tid: u32) {
    if tid == 0 {
        return;
    }
    let key = HeldKey { files, tid: u64::from(tid) };
    if let Some(held) = HELD.get_ptr_mut(key) {
        // SAFETY: a valid map value.
        unsafe {
            if *held != 0 {
                *held -= 1;
            }
        }
    }
}

const _: () = assert!(Kind::ALL.len() < SLOT_KIND as usize, "kind + 1 fits its bits of a slot");
