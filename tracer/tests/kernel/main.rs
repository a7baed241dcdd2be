//! The tool against programs that know their own descriptors: the kernel program, the records, and the report.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "../support/mod.rs"]
mod support;

mod agent;
mod bars;
mod census;
mod runs;
mod steps;
mod storm;
mod told;
