//! Marks: the greatest `live` in a scope, and what the table looked like then.

use fdtide_abi::{
    TableHead, TableState,
    event::census_reason,
    table::{NO_NUMBER, THREADS, UNSETTLED, scope},
};

use crate::kernel::{
    maps::CONFIG,
    read::{clear, constant},
    request::Request,
};

/// Gives every mark whose composition is the current one a copy of it, before that changes downwards.
#[inline(always)]
pub fn capture(head: *mut TableHead, request: *mut Request) {
    // SAFETY: a valid map value.
    unsafe {
        let dirty = (*head).dirty;
        if dirty == 0 {
            return;
        }
        if (*request).kept == 0 {
            copies(head, dirty);
        }
        // Not at every wave of the same height: the next census shows something new.
        let top = (*head).crest.live;
        if is_crest(head, dirty)
            && top >= constant(&raw const CONFIG.census_at)
            && top > (*head).census_live + (*head).census_live / 8
        {
            (*head).census_live = top;
            (*request).census = census_reason::CREST;
        }
        (*head).dirty = 0;
    }
}

/// As [`capture`], for a look that may find something new before it finds what has gone: what is new must not count to a mark
/// that it does not raise. The marks go on to be those of what is there.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fdtide_keep(state: *mut TableState, request: *mut Request) -> u32 {
    if state.is_null() || request.is_null() {
        return 0;
    }
    // SAFETY: valid memory of the types' sizes, which the verifier checks.
    unsafe {
        let head = &raw mut (*state).head;
        copies(head, (*head).dirty);
        (*request).kept = 1;
    }
    0
}

#[inline(always)]
fn copies(head: *mut TableHead, dirty: u32) {
    // SAFETY: a valid map value.
    unsafe {
        if dirty & scope::LIFE != 0 {
            (*head).life.kinds = (*head).kinds;
        }
        if dirty & scope::IMAGE != 0 {
            (*head).image.kinds = (*head).kinds;
        }
        if dirty & scope::WINDOW != 0 {
            (*head).window.kinds = (*head).kinds;
        }
        if is_crest(head, dirty) {
            (*head).crest.kinds = (*head).kinds;
        }
    }
}

/// A rise that is too low to be a crest may still grow; what it is made of then is not what it is made of now.
#[inline(always)]
fn is_crest(head: *const TableHead, dirty: u32) -> bool {
    // SAFETY: a valid map value; a static of plain integers.
    unsafe {
        dirty & scope::CREST != 0 && (*head).crest.live - (*head).crest_floor >= constant(&raw const CONFIG.crest_min)
    }
}

macro_rules! raise {
    ($request:ident, $head:ident, $mark:ident, $scope:expr) => {
        if (*$head).live > (*$head).$mark.live {
            (*$head).$mark.live = (*$head).live;
            (*$head).$mark.at_ns = (*$request).now;
            (*$head).$mark.soft = (*$request).soft;
            (*$head).dirty |= $scope;
        }
        if (*$request).highest != NO_NUMBER && (*$request).highest > (*$head).$mark.highest {
            (*$head).$mark.highest = (*$request).highest;
        }
    };
}

/// Raises the marks that `live` has passed.
#[inline(always)]
pub fn marks(head: *mut TableHead, request: *mut Request) {
    // SAFETY: valid map values.
    unsafe {
        raise!(request, head, life, scope::LIFE);
        raise!(request, head, image, scope::IMAGE);
        raise!(request, head, window, scope::WINDOW);
        raise!(request, head, crest, scope::CREST);
        if (*head).live < (*head).window_floor {
            (*head).window_floor = (*head).live;
        }
    }
}

macro_rules! restart {
    ($head:ident, $mark:ident, $now:ident, $scope:expr) => {
        (*$head).$mark.live = (*$head).live;
        (*$head).$mark.highest = (*$head).highest;
        (*$head).$mark.soft = (*$head).soft;
        (*$head).$mark.at_ns = $now;
        (*$head).dirty |= $scope;
    };
}

/// Looks whether the present crest has fallen by half, at the end of a look; the next one then begins. Below the least height
/// a rise is no crest, and its floor follows `live` down.
#[inline(always)]
pub fn crest(head: *mut TableHead, now: u64) -> bool {
    // SAFETY: a static of plain integers; a valid map value.
    unsafe {
        let (live, floor) = ((*head).live, (*head).crest_floor);
        if live > floor && live >= (*head).crest.live {
            return false;
        }
        let height = (*head).crest.live - floor;
        if height < constant(&raw const CONFIG.crest_min) {
            if live <= floor {
                restart_crest(head, now);
            }
            return false;
        }
        live <= floor + height / 2
    }
}

/// The next crest rises from here.
#[inline(always)]
pub fn restart_crest(head: *mut TableHead, now: u64) {
    // SAFETY: a valid map value.
    unsafe {
        restart!(head, crest, now, scope::CREST);
        (*head).crest_floor = (*head).live;
        (*head).crest_from_ns = now;
    }
}

/// Credits the window that ends to the thread that held most: the one that forks, or one that has let go of what it held,
/// whose preparation is done. Marks of the others wait for the execs that they prepare. The mark's index goes to `which`, a
/// member of a map value: the verifier would follow each index on its own if it were a variable.
#[inline(always)]
pub fn credit_window(head: *mut TableHead, forker: u32, which: *mut u32) {
    let mut most = 0;
    let mut first = u64::MAX;
    // SAFETY: valid map values, constant indices but the last, which is bounded.
    unsafe {
        which.write_volatile(0);
        for index in 0..THREADS {
            let mark = &raw const (*head).threads[index];
            let done = (*mark).done_ns;
            if done == 0 && (*mark).tid != forker {
                continue;
            }
            // Of equals the one that was done first, as requests are served in their order.
            if (*mark).high > most || (*mark).high == most && done < first {
                most = (*mark).high;
                first = done;
                which.write_volatile(index as u32);
            }
        }
        (*head).threads[which.read_volatile() as usize & (THREADS - 1)].high = 0;
    }
}

/// No thread has held anything yet.
#[inline(always)]
fn forget_threads(head: *mut TableHead) {
    // SAFETY: a valid map value.
    clear(unsafe { &raw mut (*head).threads });
}

/// Starts the spawn window anew at the present level.
#[inline(always)]
pub fn restart_window(head: *mut TableHead, now: u64) {
    // SAFETY: a valid map value.
    unsafe {
        restart!(head, window, now, scope::WINDOW);
        (*head).window_floor = (*head).live;
        (*head).window_settled = UNSETTLED;
        (*head).window_installs = (*head).installs;
        (*head).window_closes = (*head).closes;
        (*head).window_start_ns = now;
    }
}

/// Starts the image's mark, and with it the spawn window, anew at the present level.
#[inline(always)]
pub fn restart_image(head: *mut TableHead, now: u64) {
    // SAFETY: a valid map value.
    unsafe {
        restart!(head, image, now, scope::IMAGE);
    }
    restart_window(head, now);
    forget_threads(head);
    // SAFETY: a valid map value.
    unsafe { (*head).census_live = 0 };
}

/// Starts every mark anew at the present level.
#[inline(always)]
pub fn restart_life(head: *mut TableHead, now: u64) {
    // SAFETY: a valid map value.
    unsafe {
        restart!(head, life, now, scope::LIFE);
    }
    restart_crest(head, now);
    restart_image(head, now);
}
