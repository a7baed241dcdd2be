//! fdtide: exact high-water marks of open descriptors, per exec, of a live process tree.
//!
//! The way is one direction: kernel, records, [`event`], [`model`], report, [`sink`].

pub mod agent;
pub mod cli;
pub mod event;
pub mod gate;
pub mod hist;
pub mod kernel;
mod memory;
pub mod metrics;
pub mod model;
pub mod pipeline;
mod priority;
pub mod probe;
pub mod procfs;
pub mod record;
pub mod redact;
pub mod replay;
pub mod segment;
pub mod sink;
pub mod symbols;
pub mod target;
pub mod testing;
pub mod tui;
