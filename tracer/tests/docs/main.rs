//! The commands of the README and of the quick starts, run as they are written, from an empty folder.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "../support/mod.rs"]
mod support;

mod quickstart;
mod readme;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// A page of the tree.
fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What stands between "```sh" and "```", block by block.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while lines.by_ref().any(|line| line == "```sh") {
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(block.join("\n"));
    }
    blocks
}

/// `PATH` with `fdtide` first, as where it is installed.
fn path() -> OsString {
    let own = Path::new(support::FDTIDE).parent().expect("a folder").to_owned();
    let more = std::env::var_os("PATH").unwrap_or_default();
    let all: Vec<PathBuf> = [own].into_iter().chain(std::env::split_paths(&more)).collect();
    std::env::join_paths(all).expect("a path")
}
