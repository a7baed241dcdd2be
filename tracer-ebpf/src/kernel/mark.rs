//! Marks: the greatest `live` in a scope, and what the table looked like then.

use fdtide_abi::{
    TableHead,
    table::{NO_NUMBER, UNSETTLED, scope},
};

use crate::kernel::slot::Act;

/// Gives every mark whose composition is the current one a copy of it, before that changes downwards.
#[inline(always)]
pub fn capture(head: *mut TableHead) {
    // SAFETY: a valid map value.
    unsafe {
        let dirty = (*head).dirty;
        if dirty == 0 {
            return;
        }
        if dirty & scope::LIFE != 0 {
            (*head).life.kinds = (*head).kinds;
        }
        if dirty & scope::IMAGE != 0 {
            (*head).image.kinds = (*head).kinds;
        }
        if dirty & scope::WINDOW != 0 {
            (*head).window.kinds = (*head).kinds;
        }
        (*head).dirty = 0;
    }
}

macro_rules! raise {
    ($act:ident, $head:ident, $mark:ident, $scope:expr) => {
        if (*$head).live > (*$head).$mark.live {
            (*$head).$mark.live = (*$head).live;
            (*$head).$mark.at_ns = $act.now;
            (*$head).$mark.soft = $act.soft;
            (*$head).dirty |= $scope;
        }
        if $act.highest != NO_NUMBER && $act.highest > (*$head).$mark.highest {
            (*$head).$mark.highest = $act.highest;
        }
    };
}

/// Raises the marks that `live` has passed.
#[inline(always)]
pub fn marks(head: *mut TableHead, act: *mut Act) {
    // SAFETY: valid map values.
    unsafe {
        let act = &mut *act;
        act.raised = 0;
        raise!(act, head, life, scope::LIFE);
        raise!(act, head, image, scope::IMAGE);
        raise!(act, head, window, scope::WINDOW);
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
        (*head).thread_high = 0;
        (*head).thread_tid = 0;
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
}

/// Starts every mark anew at the present level.
#[inline(always)]
pub fn restart_life(head: *mut TableHead, now: u64) {
    // SAFETY: a valid map value.
    unsafe {
        restart!(head, life, now, scope::LIFE);
    }
    restart_image(head, now);
}
