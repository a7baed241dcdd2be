//! The kernel program: chosen, loaded, attached, read. The only room that names aya.

mod attach;
pub mod backend;
mod backlog;
pub mod baseline;
pub mod doctor;
pub mod error;
pub mod hooks;
pub mod load;
mod misses;
pub mod privileges;
mod selftest;
pub mod session;
mod stacks;
mod survey;
mod targets;
mod walk;

pub use backend::Choice;
pub use error::ProbeError;
pub use hooks::Backend;
pub use load::LoadOptions;
pub use session::{Session, Stopped};
pub use stacks::StackFrame;
pub use targets::{Extent, Follow, Verdict};
pub use walk::Occasion;
