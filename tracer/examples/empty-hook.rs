//! An empty program at the exit of every syscall until stdin ends: what the hook costs without the work.
#![expect(clippy::print_stdout, reason = "whoever starts it waits for the line")]

use std::io::{self, Read as _};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _hook = fdtide::probe::baseline::Empty::on_sys_exit()?;
    println!("attached");
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
