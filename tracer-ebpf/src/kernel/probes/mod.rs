//! Shims: fetch the arguments, call the handler.

pub mod fentry;
pub mod kprobe;
pub mod lifecycle;
pub mod syscall;
