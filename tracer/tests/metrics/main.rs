//! Metrics as operators get them: a real Prometheus, its rules, a dashboard.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "../support/mod.rs"]
mod support;

#[path = "../readers/python.rs"]
mod python;

mod agent;
mod dashboard;
mod prometheus;
mod promtool;
mod scraped;
mod traced;
