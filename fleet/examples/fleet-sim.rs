//! Writes the segments of a simulated fleet, and what is true of them as JSON.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a tool of the tests: it stops at what it did not expect"
)]

#[path = "../tests/support/sim.rs"]
mod sim;

use std::path::PathBuf;

use clap::Parser;

/// A simulated fleet.
#[derive(Parser)]
struct Args {
    /// Hosts
    #[arg(long, default_value_t = 200)]
    hosts: u64,
    /// Execs of each host
    #[arg(long, default_value_t = 50_000)]
    execs: u64,
    /// Another fleet for each seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder
    folder: PathBuf,
}

fn main() {
    let args = Args::parse();
    let fleet = sim::Fleet { hosts: args.hosts, execs: args.execs, seed: args.seed };
    println!("{}", fleet.write(&args.folder).json());
}
