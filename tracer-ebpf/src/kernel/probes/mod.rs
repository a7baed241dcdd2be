//! Shims: fetch the arguments, call the handler.

pub mod lifecycle;
pub mod syscall;
