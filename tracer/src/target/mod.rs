//! Which processes are meant: what names them, who is there now, who comes later.
//!
//! A [`Selector`] says one thing, a process is a target if any of them fits it. [`Targets`] finds the ones that are there,
//! tells the kernel which later ones to trace from their exec on, and sorts out those of which only user space can tell that
//! they were not meant.

mod change;
mod error;
mod lookup;
mod scan;
mod selector;
mod sift;
mod targets;
pub mod user;

pub use change::Added;
pub use error::TargetError;
pub use scan::{Found, nobody, scan};
pub use selector::{Kernel, Selector};
pub use targets::Targets;
