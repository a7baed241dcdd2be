//! What crosses the kernel boundary of fdtide.
//!
//! Everything here is `#[repr(C)]`, made of fixed-width integers and arrays of them, without implicit padding, so that
//! the kernel program and the agent agree on every byte. No dependency, no `std`.
#![no_std]

pub mod abi;

pub use abi::config::{self, Config};
pub use abi::control;
pub use abi::counters::{Counter, Counters};
pub use abi::event;
pub use abi::kind::Kind;
pub use abi::offsets::{self, OFFSET_NONE, Offsets};
pub use abi::table::{self, Chunk, ChunkKey, Extras, Failure, HeldKey, Mark, ProcRow, TableHead, TableState};
