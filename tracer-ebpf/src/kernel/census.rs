//! A census: a walk of a whole table at one moment, one record for each descriptor.

use core::ffi::c_void;

use aya_ebpf::helpers::generated::bpf_loop;
use fdtide_abi::{
    Counter, ProcRow, TableState,
    event::{CensusRecord, DescriptorRecord, Header, descriptor_flag, record},
    table::{CHUNK_NUMBERS, MAX_CHUNKS},
};

use crate::kernel::{
    emit,
    handlers::now,
    maps::{RING, Scratch, count},
    read::peek,
    row::fdtide_row,
};

/// Working memory of a census.
#[repr(C)]
pub struct Work {
    /// Numbers of the word that are still to come.
    bits: u64,
    /// The word's bits of the close-on-exec bitmap.
    cloexec: u64,
    /// Start of the process, boot time, nanoseconds.
    start_ns: u64,
    /// Dentry whose name comes next.
    pub(super) dentry: u64,
    /// The mount that it is in.
    pub(super) mnt: u64,
    /// The process.
    tgid: u32,
    /// Index of the word.
    word: u32,
    /// Rows sent.
    pub(super) rows: u32,
    /// Rows that found no room.
    pub(super) lost: u32,
    /// Names read.
    pub(super) names: u32,
    /// Always 0.
    spare: u32,
    /// The row being made.
    pub(super) row: DescriptorRecord,
    /// What is told at the end.
    done: CensusRecord,
}

/// What the callback of the walk gets.
#[repr(C)]
struct Job {
    state: *mut TableState,
    scratch: *mut Scratch,
}

/// Takes a census of the table that `scratch` was prepared for.
#[inline(always)]
pub fn take(state: *mut TableState, scratch: *mut Scratch, row: *const ProcRow, reason: u32) {
    // SAFETY: valid map values.
    unsafe {
        let work = &raw mut (*scratch).census;
        (*work).start_ns = (*row).start_ns;
        (*work).tgid = (*row).tgid;
    }
    fdtide_census(state, scratch, reason);
}

/// [`take`], a symbol of its own, so that the verifier checks it once.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_census(state: *mut TableState, scratch: *mut Scratch, reason: u32) -> u32 {
    if state.is_null() || scratch.is_null() {
        return 0;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks; the callback gets a job that outlives the call.
    unsafe {
        let head = &raw mut (*state).head;
        let work = &raw mut (*scratch).census;
        let began = now();
        (*head).censuses += 1;
        (*work).row.header =
            Header { kind: record::DESCRIPTOR, len: size_of::<DescriptorRecord>() as u32, at_ns: began };
        (*work).row.table_id = (*head).id;
        (*work).row.census = (*head).censuses;
        (*work).row.spare = 0;
        (*work).bits = 0;
        (*work).word = u32::MAX;
        (*work).rows = 0;
        (*work).lost = 0;
        let words = (*scratch).request.max / 64;
        let words = if words > WORDS { WORDS } else { words };
        let mut job = Job { state, scratch };
        bpf_loop(words * 65 + 1, step as *mut c_void, (&raw mut job).cast(), 0);
        let done = &raw mut (*work).done;
        (*done).header = Header { kind: record::CENSUS, len: size_of::<CensusRecord>() as u32, at_ns: began };
        (*done).table_id = (*head).id;
        (*done).start_ns = (*work).start_ns;
        (*done).took_ns = now() - began;
        (*done).tgid = (*work).tgid;
        (*done).tid = (*scratch).request.tid;
        (*done).reason = reason;
        (*done).census = (*head).censuses;
        (*done).live = (*head).live;
        (*done).soft = (*scratch).request.soft;
        (*done).rows = (*work).rows;
        (*done).lost = (*work).lost;
        if RING.output::<CensusRecord>(&*done, emit::wake(0)).is_err() {
            count(Counter::RingFull);
        }
    }
    0
}

/// Words of the bitmap that are walked at most.
const WORDS: u32 = MAX_CHUNKS * (CHUNK_NUMBERS as u32 / 64);

/// The next descriptor of the word, or the next word.
unsafe extern "C" fn step(_: u32, job: *mut c_void) -> i64 {
    // SAFETY: `fdtide_census` hands over a job that outlives the call; valid map values.
    unsafe {
        let job = &mut *job.cast::<Job>();
        let work = &raw mut (*job.scratch).census;
        let request = &raw const (*job.scratch).request;
        let bits = (*work).bits;
        if bits == 0 {
            let word = (*work).word.wrapping_add(1);
            (*work).word = word;
            if word >= (*request).max / 64 {
                return 1;
            }
            let at = u64::from(word) * 8;
            (*work).bits = peek((*request).open + at).unwrap_or(0);
            (*work).cloexec = if (*request).cloexec == 0 { 0 } else { peek((*request).cloexec + at).unwrap_or(0) };
            return 0;
        }
        (*work).bits = bits & (bits - 1);
        let bit = bits.trailing_zeros();
        (*work).row.number = (*work).word * 64 + bit;
        (*work).row.flags = if (*work).cloexec >> (bit & 63) & 1 != 0 { descriptor_flag::CLOEXEC } else { 0 };
        fdtide_row(job.state, job.scratch);
    }
    0
}
