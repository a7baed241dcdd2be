//! Recordings and exports, read with the programs that people read such files with.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "../support/mod.rs"]
mod support;

mod exports;
mod flight;
mod hosts;
mod killed;
mod python;
mod replay;
mod segments;
mod verdicts;
