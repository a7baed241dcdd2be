//! Refused descriptors: told apart by syscall and error, with the evidence at the first.

use fdtide_abi::{
    Counter, TableState,
    config::{self, want},
    event::census_reason,
    table::{CHUNK_WORDS, FAILURES, NO_NUMBER},
};

use crate::kernel::{
    maps::{Scratch, count},
    origin::asked,
    scan::{CHUNK_BYTES, fdtide_scan},
};

/// Notes a refused descriptor, after a look and [`fdtide_room`]: a symbol of its own, see [`crate::kernel::look::fdtide_look`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_failed(state: *mut TableState, scratch: *mut Scratch, nr: u32, errno: u32) -> u32 {
    if state.is_null() || scratch.is_null() {
        return 0;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks; bounded indices.
    unsafe {
        let head = &raw mut (*state).head;
        let (lowest_free, in_use) = ((*scratch).request.lowest_free, (*scratch).request.in_use);
        let soft = (*scratch).request.soft;
        if nr & u32::from(config::NR_HIDDEN) != 0 && lowest_free < soft {
            // There was room: the receiver's buffer was too small, which is no failure of the table.
            return 0;
        }
        let mut free = FAILURES;
        for index in 0..FAILURES {
            let slot = &raw mut (*head).failures[index];
            if (*slot).count == 0 {
                free = index;
                break;
            }
            if u32::from((*slot).nr) == nr && u32::from((*slot).errno) == errno {
                (*slot).count += 1;
                (*slot).last_ns = (*scratch).request.now;
                return 0;
            }
        }
        if free >= FAILURES {
            (*head).failures_other += 1;
            count(Counter::FailureKinds);
            return 0;
        }
        let slot = &raw mut (*head).failures[free & (FAILURES - 1)];
        (*slot).first_ns = (*scratch).request.now;
        (*slot).last_ns = (*scratch).request.now;
        (*slot).live = (*head).live;
        (*slot).soft = soft;
        (*slot).lowest_free = lowest_free;
        (*slot).in_use = in_use;
        (*slot).nr = nr as u16;
        (*slot).errno = errno as u16;
        (*slot).count = 1;
        if asked(want::CENSUS_FAILED) {
            (*scratch).request.census = census_reason::FAILURE;
        }
    }
    0
}

/// Finds the lowest free number and the numbers in use, reserved ones included, among the first 1,024.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_room(state: *mut TableState, scratch: *mut Scratch) -> u32 {
    if state.is_null() || scratch.is_null() {
        return 0;
    }
    let mut lowest = NO_NUMBER;
    let mut in_use = 0;
    // SAFETY: valid memory of the types' sizes, which the verifier checks; constant indices.
    unsafe {
        let bytes = (*scratch).request.max / 8;
        let bytes = if bytes > CHUNK_BYTES { CHUNK_BYTES } else { bytes };
        fdtide_scan(scratch, &raw const (*state).first, (*scratch).request.open, bytes);
        for word in 0..CHUNK_WORDS {
            let open = (*scratch).words[word];
            in_use += open.count_ones();
            if lowest == NO_NUMBER && open != u64::MAX {
                lowest = word as u32 * 64 + open.trailing_ones();
            }
        }
        (*scratch).request.lowest_free = lowest;
        (*scratch).request.in_use = in_use;
    }
    0
}
