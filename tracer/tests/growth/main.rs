//! What several runs come to: the law of growth, audits, and fdtide as a library of a test suite.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "../support/mod.rs"]
mod support;

mod audit;
mod library;
mod scale;
