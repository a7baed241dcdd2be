//! Keeps two looks at one table apart.

use fdtide_abi::{Counter, TableHead};

use crate::kernel::{maps::count, read::exchange};

/// Tries to get a table for oneself before going on without.
const LOCK_TRIES: u32 = 256;

/// Keeps two looks at one table from mixing. A holder that was interrupted is not waited for longer than a moment: counts
/// stay right without the lock, only a composition may be off by the other's one change, which is counted.
#[inline(always)]
pub fn lock(head: *mut TableHead) -> bool {
    for _ in 0..LOCK_TRIES {
        // SAFETY: `head` is a valid map value.
        if exchange(unsafe { &raw mut (*head).lock }, 1) == 0 {
            return true;
        }
    }
    count(Counter::LockBusy);
    false
}

/// Ends [`lock`], if it was got.
#[inline(always)]
pub fn unlock(head: *mut TableHead, locked: bool) {
    if locked {
        // SAFETY: `head` is a valid map value.
        exchange(unsafe { &raw mut (*head).lock }, 0);
    }
}
