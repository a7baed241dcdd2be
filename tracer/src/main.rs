//! `fdtide`: parse, dispatch, turn errors into exit codes.

use std::process::ExitCode;

fn main() -> ExitCode {
    fdtide::cli::main(std::env::args_os())
}
