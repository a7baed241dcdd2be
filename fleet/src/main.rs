//! `fdtide-fleet`: parse, ask, turn errors into exit codes.

use std::process::ExitCode;

fn main() -> ExitCode {
    fdtide_fleet::main(std::env::args_os())
}
