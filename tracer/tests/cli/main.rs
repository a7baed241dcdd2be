//! The command line: exit codes, signals, where output goes, and what the command sees of it all.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "../support/mod.rs"]
mod support;

mod attach;
mod compare;
mod doctor;
mod exit;
mod gate;
mod inherit;
mod output;
mod rights;
mod signals;
mod terminal;
mod top;
