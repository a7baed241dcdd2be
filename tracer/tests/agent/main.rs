//! The agent as a service: what it records, reports and alerts over real processes, and how it is spoken to.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "../support/mod.rs"]
mod support;

mod config;
mod container;
mod disk;
mod life;
mod manager;
mod push;
mod redact;
mod rights;
mod root;
mod service;
mod silence;
mod spoken;
mod unit;
mod world;
