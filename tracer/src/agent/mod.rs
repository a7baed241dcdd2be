//! The unattended agent, `fdtide agent`: its configuration, its logs, the words of its control socket, its alerts, and who is
//! told what it sees. The trace itself is led by `cli`, as for every verb.

pub mod alert;
pub mod config;
pub mod confine;
pub mod control;
mod exporter;
pub mod logs;
pub mod notify;
mod segments;

pub use config::Config;
pub use exporter::{Exporter, Now};
pub use segments::SegmentWriter;
