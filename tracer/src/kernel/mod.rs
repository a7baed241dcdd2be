//! What the running kernel looks like.

pub mod btf;
pub mod offsets;
