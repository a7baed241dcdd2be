//! Which processes are traced: by every name that they have, present and later ones, inside containers and out.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "../support/mod.rs"]
mod support;

mod later;
mod many;
mod names;
mod places;
mod world;
