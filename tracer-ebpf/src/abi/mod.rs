//! The parts of the boundary, one file each.

pub mod config;
pub mod control;
pub mod counters;
pub mod event;
pub mod kind;
pub mod offsets;
pub mod table;

/// Compile-time proof that a boundary type has the size its members add up to, i.e. no padding.
#[macro_export]
macro_rules! assert_packed {
    ($type:ty, $size:expr) => {
        const _: () = assert!(
            size_of::<$type>() == $size && align_of::<$type>() <= 8 && $size % 8 == 0,
            concat!("implicit padding in ", stringify!($type))
        );
    };
}
