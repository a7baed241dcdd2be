//! The kernel's bitmap of one chunk beside ours.

use core::ffi::c_void;

use aya_ebpf::helpers::generated::{bpf_loop, bpf_probe_read_kernel};
use fdtide_abi::{
    Chunk, Counter,
    table::{CHUNK_NUMBERS, CHUNK_WORDS, NO_NUMBER},
};

use crate::kernel::{
    maps::{Scratch, count},
    read::clear,
};

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
            clear(&raw mut (*scratch).words);
        }
        let bytes = if bytes > CHUNK_BYTES { CHUNK_BYTES } else { bytes };
        (*scan).read =
            u32::from(bpf_probe_read_kernel((&raw mut (*scratch).words).cast(), bytes, address as *const c_void) == 0);
        // What depends on which words differ is kept in memory: the verifier would follow each value of a variable.
        let (words, highest) = (&raw mut (*scan).words, &raw mut (*scan).highest);
        words.write_volatile(0);
        highest.write_volatile(NO_NUMBER);
        let mut clears = 0;
        let mut sets = 0;
        let mut any = 0;
        for word in 0..CHUNK_WORDS {
            let (have, open) = ((*chunk).mask[word], (*scratch).words[word]);
            if have != open {
                clears |= have & !open;
                sets |= open & !have;
                words.write_volatile(words.read_volatile() + 1);
            }
            any |= open;
            if open != 0 {
                highest.write_volatile(word as u32);
            }
        }
        (*scan).clears = clears;
        (*scan).sets = sets;
        (*scan).any = any;
        let word = highest.read_volatile();
        if word != NO_NUMBER {
            let word = word & (CHUNK_WORDS as u32 - 1);
            highest.write_volatile(word * 64 + 63 - (*scratch).words[word as usize].leading_zeros());
        }
    }
    0
}

/// Takes those numbers out of the words read that nothing is behind: they are given away, and not filled yet. Only words of
/// which `chunk` has some are looked at.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_filled(scratch: *mut Scratch, chunk: *const Chunk) -> u32 {
    if scratch.is_null() || chunk.is_null() {
        return 0;
    }
    let mut job = Filled { scratch, chunk };
    // SAFETY: the callback gets this job, which outlives the call.
    unsafe { bpf_loop(CHUNK_WORDS as u32, filled_step as *mut c_void, (&raw mut job).cast(), 0) };
    0
}

#[repr(C)]
struct Filled {
    scratch: *mut Scratch,
    chunk: *const Chunk,
}

unsafe extern "C" fn filled_step(word: u32, job: *mut c_void) -> i64 {
    // SAFETY: `fdtide_filled` hands over a job that outlives the call; valid map values and bounded indices.
    unsafe {
        let job = &*job.cast::<Filled>();
        let scratch = job.scratch;
        let word = (word & (CHUNK_WORDS as u32 - 1)) as usize;
        if (*job.chunk).mask[word] & (*scratch).words[word] == 0 {
            return 0;
        }
        let first = u64::from((*scratch).cursor.base) + word as u64 * 64;
        let place = (*scratch).request.fd + first * 8;
        let files = &raw mut (*scratch).files;
        if bpf_probe_read_kernel(files.cast(), size_of::<[u64; 64]>() as u32, place as *const c_void) != 0 {
            count(Counter::ReadFailed);
            return 0;
        }
        let mut filled = 0u64;
        // What is behind a number has an address of the kernel's, whose first bit is set. Without a branch: from 7.2 on the verifier
        // would follow every one of 2^64 ways.
        for number in 0..64 {
            filled |= (*files)[number] >> 63 << number;
        }
        (*scratch).words[word] &= filled;
    }
    0
}

/// Numbers below this are looked at one by one before a mark is raised: the lowest free ones are given away first.
pub const FILLED: u32 = 4 * CHUNK_NUMBERS as u32;

/// Bytes of one chunk's bitmap.
pub const CHUNK_BYTES: u32 = CHUNK_NUMBERS as u32 / 8;
