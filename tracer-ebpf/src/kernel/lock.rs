//! Keeps two looks at one table apart.

use core::ffi::c_void;

use aya_ebpf::helpers::generated::bpf_loop;
use fdtide_abi::{Counter, TableState, table::flag};

use crate::kernel::{maps::count, read::exchange};

/// Tries to get a table for oneself before going on without: some milliseconds. A holder only ever takes longer if it was
/// interrupted, or if its processor was.
const TRIES: u32 = 1 << 17;

/// Keeps two looks at one table from mixing. After a while it goes on without: what that may have mixed up is counted, and
/// made good by the next look, which reads every slot again.
#[inline(always)]
pub fn lock(state: *mut TableState) -> bool {
    // Nobody else is there, nearly always.
    // SAFETY: a valid map value.
    exchange(unsafe { &raw mut (*state).head.lock }, 1) == 0 || fdtide_lock(state) != 0
}

/// [`lock`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_lock(state: *mut TableState) -> u32 {
    if state.is_null() {
        return 0;
    }
    let mut attempt = Attempt { state, got: 0 };
    // SAFETY: the callback gets this attempt, which outlives the call.
    unsafe { bpf_loop(TRIES, try_lock as *mut c_void, (&raw mut attempt).cast(), 0) };
    if attempt.got == 0 {
        count(Counter::LockBusy);
    }
    attempt.got
}

#[repr(C)]
struct Attempt {
    state: *mut TableState,
    got: u32,
}

unsafe extern "C" fn try_lock(_: u32, attempt: *mut c_void) -> i64 {
    // SAFETY: `fdtide_lock` hands over an attempt that outlives the call; a valid map value.
    unsafe {
        let attempt = &mut *attempt.cast::<Attempt>();
        if exchange(&raw mut (*attempt.state).head.lock, 1) != 0 {
            return 0;
        }
        attempt.got = 1;
    }
    1
}

/// Ends [`lock`].
#[inline(always)]
pub fn unlock(state: *mut TableState, locked: bool) {
    // SAFETY: a valid map value.
    unsafe {
        if locked {
            exchange(&raw mut (*state).head.lock, 0);
        } else {
            (*state).head.flags |= flag::RECHECK;
        }
    }
}
