//! `[metrics]`, `[otlp]` and `[segments]`: who else is told what the agent sees.

use serde::Deserialize;

/// The Prometheus endpoint.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metrics {}

/// Metrics and events pushed by OTLP.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Otlp {}

/// Rows written for a fleet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Segments {}
