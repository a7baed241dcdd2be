//! Reads of kernel memory: typed loads through BTF pointers, and checked copies from addresses.

use core::{mem::MaybeUninit, ptr};

use aya_ebpf::helpers::generated::{bpf_get_current_task_btf, bpf_probe_read_kernel, bpf_task_pt_regs};
use fdtide_abi::Counter;

use crate::kernel::maps::count;

/// Offset of a member, a constant to the verifier.
macro_rules! offset {
    ($field:ident) => {
        $crate::kernel::read::constant(&raw const $crate::kernel::maps::OFFSETS.$field)
    };
}
pub(crate) use offset;

/// Reads a constant that the agent wrote before load; volatile, so that the compiler does not use its own value.
#[inline(always)]
pub fn constant<T: Copy>(place: *const T) -> T {
    // SAFETY: only called with members of statics of plain integers.
    unsafe { ptr::read_volatile(place) }
}

/// A kernel structure that the verifier knows the type of. Null is a legal value.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Object(*const u8);

impl Object {
    /// Wraps a pointer that the verifier knows the type of.
    #[inline(always)]
    pub const fn new(pointer: *const u8) -> Self {
        Self(pointer)
    }

    /// The running task.
    #[inline(always)]
    pub fn current() -> Self {
        // SAFETY: the helper has no preconditions.
        Self(unsafe { bpf_get_current_task_btf() }.cast())
    }

    /// The registers that a task had when it entered the kernel.
    #[inline(always)]
    pub fn registers(task: Self) -> Self {
        // SAFETY: the helper takes a task and gives a valid pointer.
        Self(unsafe { bpf_task_pt_regs(task.0.cast_mut().cast()) } as *const u8)
    }

    /// Its address, as a key or to compare.
    #[inline(always)]
    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The member at `offset`.
    #[inline(always)]
    pub fn load<T: Copy>(self, offset: u32) -> T {
        // SAFETY: the verifier checks the offset against the type, and the kernel makes faulting loads give zero.
        unsafe { ptr::read_volatile(self.0.add(offset as usize).cast::<T>()) }
    }

    /// The structure that the pointer member at `offset` points to.
    #[inline(always)]
    pub fn follow(self, offset: u32) -> Self {
        Self(self.load::<*const u8>(offset))
    }

    /// What the pointer member at `offset` holds, 0 if it can't be read. For what is rarely read: it costs more than
    /// [`Self::follow`], but from 6.4 on the verifier compares the names of all of the kernel's types whenever it comes to a
    /// typed load of a pointer, and a start would spend most of its time on that.
    #[inline(always)]
    pub fn holds(self, offset: u32) -> u64 {
        peek(self.member(offset) as u64).unwrap_or(0)
    }

    /// The pointer itself, for helpers that want one of its type.
    #[inline(always)]
    pub const fn pointer(self) -> *mut u8 {
        self.0.cast_mut()
    }

    /// Address of the member at `offset`.
    #[inline(always)]
    pub fn member(self, offset: u32) -> *const u8 {
        self.0.wrapping_add(offset as usize)
    }
}

/// A copy of what is at a kernel address. Counted when it fails.
#[inline(always)]
pub fn peek<T: Copy>(address: u64) -> Option<T> {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: the destination has room for a `T`; the helper checks the source.
    let error = unsafe { bpf_probe_read_kernel(value.as_mut_ptr().cast(), size_of::<T>() as u32, address as *const _) };
    if error != 0 {
        count(Counter::ReadFailed);
        return None;
    }
    // SAFETY: the helper filled it.
    Some(unsafe { value.assume_init() })
}

/// Copies a whole value, map to ring or map to map, in one call.
#[inline(always)]
pub fn copy<T>(to: *mut T, from: *const T) {
    // SAFETY: both are valid for a `T`, which the verifier checks for `to`; a failing source is counted.
    let error = unsafe { bpf_probe_read_kernel(to.cast(), size_of::<T>() as u32, from.cast()) };
    if error != 0 {
        count(Counter::ReadFailed);
    }
}

/// Sets a map value's part to zeros, 8 bytes at a time. The compiler would call a function of its own that takes one at a
/// time, and the verifier would follow each.
#[inline(always)]
pub fn clear<T>(place: *mut T) {
    const { assert!(size_of::<T>().is_multiple_of(8), "whole words") };
    for word in 0..size_of::<T>() / 8 {
        // SAFETY: valid for a `T`, as the verifier checks; members of map values are at multiples of 8.
        unsafe { ptr::write_volatile(place.cast::<u64>().add(word), 0) };
    }
}

/// Stores into a map value or a ring record.
#[inline(always)]
pub fn exchange(place: *mut u32, value: u32) -> u32 {
    use core::intrinsics::{AtomicOrdering::SeqCst, atomic_xchg};
    // SAFETY: a valid, aligned place, as the verifier checks.
    unsafe { atomic_xchg::<u32, { SeqCst }>(place, value) }
}

/// Adds to a map value that others may add to at the same time; `u32::MAX` takes one away.
#[inline(always)]
pub fn add(place: *mut u32, value: u32) {
    use core::intrinsics::{AtomicOrdering::SeqCst, atomic_xadd};
    // SAFETY: a valid, aligned place, as the verifier checks.
    unsafe { atomic_xadd::<u32, u32, { SeqCst }>(place, value) };
}

/// As [`add`], and gives what was there before.
#[inline(always)]
pub fn fetch_add32(place: *mut u32, value: u32) -> u32 {
    use core::intrinsics::{AtomicOrdering::SeqCst, atomic_xadd};
    // SAFETY: a valid, aligned place, as the verifier checks.
    unsafe { atomic_xadd::<u32, u32, { SeqCst }>(place, value) }
}

/// Sets bits of a map value that others may change at the same time.
#[inline(always)]
pub fn set_bits(place: *mut u64, bits: u64) {
    use core::intrinsics::{AtomicOrdering::SeqCst, atomic_or};
    // SAFETY: a valid, aligned place, as the verifier checks.
    unsafe { atomic_or::<u64, u64, { SeqCst }>(place, bits) };
}

/// Clears bits of a map value that others may change at the same time.
#[inline(always)]
pub fn clear_bits(place: *mut u64, bits: u64) {
    use core::intrinsics::{AtomicOrdering::SeqCst, atomic_and};
    // SAFETY: a valid, aligned place, as the verifier checks.
    unsafe { atomic_and::<u64, u64, { SeqCst }>(place, !bits) };
}

/// Adds to a map value and gives what was there before.
#[inline(always)]
pub fn fetch_add(place: *mut u64, value: u64) -> u64 {
    use core::intrinsics::{AtomicOrdering::SeqCst, atomic_xadd};
    // SAFETY: a valid, aligned place, as the verifier checks.
    unsafe { atomic_xadd::<u64, u64, { SeqCst }>(place, value) }
}
