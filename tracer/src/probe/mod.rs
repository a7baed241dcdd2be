//! The kernel program: chosen, loaded, attached, read. The only room that names aya.

pub mod error;
pub mod hooks;
pub mod load;
pub mod misses;
pub mod session;

pub use error::ProbeError;
pub use hooks::Backend;
pub use load::LoadOptions;
pub use session::{Session, Stopped};
