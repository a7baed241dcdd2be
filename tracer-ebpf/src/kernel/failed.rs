//! Refused descriptors: told apart by syscall and error, with the evidence at the first.

use fdtide_abi::{
    Chunk, Counter, TableState, config,
    table::{CHUNK_WORDS, FAILURES, NO_NUMBER},
};

use crate::kernel::{
    look::{CHUNK_BYTES, Request, fdtide_scan},
    maps::{SCRATCH, count},
};

/// Notes a refused descriptor, after a look: a symbol of its own, see [`crate::kernel::look::fdtide_look`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_failed(state: *mut TableState, request: *mut Request, nr: u32, errno: u32) -> u32 {
    if state.is_null() || request.is_null() {
        return 0;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks; constant indices.
    unsafe {
        let request = &*request;
        let head = &raw mut (*state).head;
        let hidden = nr & u32::from(config::NR_HIDDEN) != 0;
        if hidden && room(request, &raw const (*state).first).0 < request.soft {
            // There was room: the receiver's buffer was too small, which is no failure of the table.
            return 0;
        }
        for index in 0..FAILURES {
            let slot = &raw mut (*head).failures[index];
            if (*slot).count == 0 {
                let (lowest_free, in_use) = room(request, &raw const (*state).first);
                (*slot).first_ns = request.now;
                (*slot).live = (*head).live;
                (*slot).soft = request.soft;
                (*slot).lowest_free = lowest_free;
                (*slot).in_use = in_use;
                (*slot).nr = nr as u16;
                (*slot).errno = errno as u16;
                (*slot).count = 1;
                return 0;
            }
            if u32::from((*slot).nr) == nr && u32::from((*slot).errno) == errno {
                (*slot).count += 1;
                return 0;
            }
        }
        (*head).failures_other += 1;
    }
    count(Counter::FailureKinds);
    0
}

/// Lowest free number and numbers in use, reserved ones included, among the first 1,024.
#[inline(always)]
fn room(request: &Request, first: *const Chunk) -> (u32, u32) {
    let mut lowest = NO_NUMBER;
    let mut in_use = 0;
    let Some(scratch) = SCRATCH.get_ptr_mut(request.program) else { return (lowest, in_use) };
    let bytes = request.max / 8;
    fdtide_scan(scratch, first, request.open, if bytes > CHUNK_BYTES { CHUNK_BYTES } else { bytes });
    for word in 0..CHUNK_WORDS {
        // SAFETY: a valid per-CPU map value, constant index.
        let open = unsafe { (*scratch).words[word] };
        in_use += open.count_ones();
        if lowest == NO_NUMBER && open != u64::MAX {
            lowest = word as u32 * 64 + open.trailing_ones();
        }
    }
    (lowest, in_use)
}
