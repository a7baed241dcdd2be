//! `[metrics]`, `[otlp]` and `[segments]`: who else is told what the agent sees.

use std::path::PathBuf;

use serde::Deserialize;

use super::{Size, Time};
pub use crate::metrics::config::{Metrics, Otlp};

/// Rows written for a fleet.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Segments {
    /// Folder, `file:///folder` or `s3://bucket/prefix`; empty for none.
    pub url: String,
    /// Folder of this machine in which they wait until they are sent.
    pub spool: PathBuf,
    /// A segment is closed, and sent, after so long.
    pub every: Time,
    /// And when its rows have so many bytes in the spool.
    pub max_bytes: Size,
    /// Closed segments that can't be sent may take so many bytes; beyond that the oldest are removed, counted and told.
    pub spool_max_bytes: Size,
}

impl Default for Segments {
    fn default() -> Segments {
        Segments {
            url: String::new(),
            spool: "/var/lib/fdtide/spool".into(),
            every: Time::seconds(900),
            max_bytes: Size::mib(64),
            spool_max_bytes: Size::mib(1024),
        }
    }
}
