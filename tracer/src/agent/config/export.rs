//! `[metrics]`, `[otlp]` and `[segments]`: who else is told what the agent sees.

use serde::Deserialize;

pub use crate::metrics::config::{Metrics, Otlp};

/// Rows written for a fleet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Segments {}
