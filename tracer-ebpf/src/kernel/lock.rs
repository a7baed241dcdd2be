//! Keeps two looks at one table apart.

use fdtide_abi::{Counter, TableState};

use crate::kernel::{maps::count, read::exchange};

/// Tries to get a table for oneself before going on without.
const LOCK_TRIES: u32 = 1024;

/// Keeps two looks at one table from mixing. A holder that was interrupted is not waited for longer than a moment: counts
/// stay right without the lock, only a composition may be off by the other's one change, which is counted.
#[inline(always)]
pub fn lock(state: *mut TableState) -> bool {
    fdtide_lock(state) != 0
}

/// [`lock`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_lock(state: *mut TableState) -> u32 {
    if state.is_null() {
        return 0;
    }
    for _ in 0..LOCK_TRIES {
        // SAFETY: valid memory of the type's size, which the verifier checks.
        if exchange(unsafe { &raw mut (*state).head.lock }, 1) == 0 {
            return 1;
        }
    }
    count(Counter::LockBusy);
    0
}

/// Ends [`lock`], if it was got.
#[inline(always)]
pub fn unlock(state: *mut TableState, locked: bool) {
    if locked {
        // SAFETY: a valid map value.
        exchange(unsafe { &raw mut (*state).head.lock }, 0);
    }
}
