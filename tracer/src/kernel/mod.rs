//! What the running kernel looks like.

pub mod btf;
pub mod features;
pub mod offsets;
pub mod oom;
pub mod preemption;
