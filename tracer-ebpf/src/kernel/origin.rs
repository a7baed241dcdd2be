//! When and from where each descriptor was opened, and each one told apart: only where the agent asked for it.

use aya_ebpf::{
    bindings::{BPF_F_FAST_STACK_CMP, BPF_F_USER_STACK, BPF_RB_NO_WAKEUP},
    helpers::generated::bpf_get_stackid,
};
use fdtide_abi::{
    ChunkKey, Counter, TableHead,
    config::{self, want},
    event::{Header, SlotRecord, record},
    table::CHUNK_NUMBERS,
};

use crate::kernel::{
    call::number_of,
    maps::{CONFIG, EMPTY_EXTRAS, EVENTS, EXTRAS, Extras, Program, SCRATCH, STACKS, count, insert},
    read::{Object, constant},
    request::Request,
    tree,
};

/// Whether the agent asked for it.
#[inline(always)]
pub fn asked(bit: u32) -> bool {
    constant(&raw const CONFIG.want) & bit != 0
}

/// Whether anything is kept beside the slots.
#[inline(always)]
pub fn wanted() -> bool {
    asked(want::AGES | want::STACKS)
}

/// Takes the user stack for what `program` is about to look at, if stacks are asked for.
#[inline(always)]
pub fn take_stack(program: Program, context: *mut core::ffi::c_void) {
    if !asked(want::STACKS) {
        return;
    }
    let Some(scratch) = SCRATCH.get_ptr_mut(program as u32) else { return };
    // Equal is what has the same hash of its addresses: their files can't be looked up while another thread changes the
    // mappings, and the same stack with files and without would be two that exclude each other.
    let flags = u64::from(BPF_F_USER_STACK | BPF_F_FAST_STACK_CMP);
    // SAFETY: the program's own context; a valid map value.
    unsafe {
        let id = bpf_get_stackid(context, STACKS.as_ptr(), flags);
        (*scratch).request.stack = if id < 0 { 0 } else { id as u32 + 1 };
        if id < 0 {
            count(Counter::StackLost);
        }
    }
}

/// The next look of `program` is not about something that the running thread has just opened.
#[inline(always)]
pub fn no_stack(program: Program) {
    if !asked(want::STACKS) {
        return;
    }
    if let Some(scratch) = SCRATCH.get_ptr_mut(program as u32) {
        // SAFETY: a valid map value.
        unsafe { (*scratch).request.stack = 0 };
    }
}

/// A descriptor was installed, by the running thread if `own`.
#[inline(always)]
pub fn installed(request: *const Request, number: u32, own: bool, seen: bool) {
    if !wanted() {
        return;
    }
    let index = (number & (CHUNK_NUMBERS as u32 - 1)) as usize;
    // SAFETY: valid working memory and map values, a bounded index.
    unsafe {
        let key = ChunkKey { files: (*request).files, index: u64::from(number / CHUNK_NUMBERS as u32) };
        let Some(extras) = EXTRAS.get_ptr_mut(key).or_else(|| make(&key)) else { return };
        (*extras).opened[index] = if seen { (*request).now } else { 0 };
        (*extras).stack[index] = if own { (*request).stack } else { 0 };
    }
}

#[inline(always)]
fn make(key: &ChunkKey) -> Option<*mut Extras> {
    let empty = EMPTY_EXTRAS.get_ptr(0)?;
    insert(&EXTRAS, key, empty, 0);
    let made = EXTRAS.get_ptr_mut(key);
    if made.is_none() {
        count(Counter::ChunkFull);
    }
    made
}

/// The table at this address has gone.
#[inline(always)]
pub fn dropped(files: u64, index: u64) {
    if wanted() {
        let _ = EXTRAS.remove(ChunkKey { files, index });
    }
}

/// Tells of one descriptor, if every one is asked for. `now` and `before` are slots.
#[inline(always)]
pub fn tell(head: *const TableHead, request: *mut Request, number: u32, now: u32, before: u32) {
    if asked(want::SLOTS) {
        fdtide_tell(head, request, number, now, before);
    }
}

/// [`tell`], a symbol of its own, so that the stack of its callers stays small.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_tell(
    head: *const TableHead,
    request: *mut Request,
    number: u32,
    now: u32,
    before: u32,
) -> u32 {
    use fdtide_abi::table::{SLOT_KIND, SLOT_TID_SHIFT};
    if head.is_null() || request.is_null() {
        return 0;
    }
    let task = Object::current();
    // SAFETY: valid working memory and map values.
    unsafe {
        let slot = &raw mut (*request).slot;
        (*slot).header = Header { kind: record::SLOT, len: size_of::<SlotRecord>() as u32, at_ns: (*request).now };
        (*slot).table_id = (*head).id;
        (*slot).number = number;
        (*slot).now = now & SLOT_KIND;
        (*slot).before = before & SLOT_KIND;
        (*slot).live = (*head).live;
        (*slot).tgid = tree::tgid(task);
        (*slot).tid = tree::tid(task);
        (*slot).opener = if now != 0 { now } else { before } >> SLOT_TID_SHIFT;
        // Only a thread that acts on its own table is in a syscall that has to do with it.
        (*slot).nr =
            if (*request).tid == (*slot).tid { u32::from(number_of(task)) } else { u32::from(config::NR_NONE) };
        if EVENTS.output::<SlotRecord>(&*slot, u64::from(BPF_RB_NO_WAKEUP)).is_err() {
            count(Counter::EventsFull);
        }
    }
    0
}
