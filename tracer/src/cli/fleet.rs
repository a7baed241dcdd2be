//! `fdtide fleet`: a program of its own, so that the agent carries no engine for queries.

use std::{
    env, io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::anyhow;

use super::{args::FleetArgs, fail};

/// The program.
const NAME: &str = "fdtide-fleet";

/// Becomes that program; comes back only if there is none.
pub(super) fn fleet(args: &FleetArgs) -> ExitCode {
    let beside = env::current_exe().ok().as_deref().and_then(Path::parent).map(|folder| folder.join(NAME));
    let program = beside.filter(|file| file.is_file()).unwrap_or_else(|| PathBuf::from(NAME));
    let error = Command::new(&program).args(&args.args).exec();
    fail::report(&refused(&program, error), fail::OTHER)
}

fn refused(program: &Path, error: io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::NotFound {
        return anyhow!(
            "there is no `{NAME}` beside fdtide or on PATH: it comes with the Debian package and the archive; from source, \
             `cargo install --path fleet`"
        );
    }
    anyhow::Error::new(error).context(format!("failed to execute `{}`", program.display()))
}
