//! `fdtide-fleet`: parse, ask, turn errors into exit codes.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    fdtide_fleet::main(std::env::args_os())
}
