//! `fdtide agent`: unattended, all day.

mod answers;
mod check;
mod fan;
mod reload;
mod rights;
mod service;
mod setup;
mod start;

use std::{fs, os::unix::fs::MetadataExt as _, path::Path, process::ExitCode};

use anyhow::Context as _;

use super::{args::AgentArgs, fail};
use crate::agent::{Config, config, logs::Logs};

/// Runs the verb.
pub(super) fn agent(args: &AgentArgs) -> ExitCode {
    let config = match read(&args.config) {
        Ok(config) if args.check_config => {
            fail::say(&format!("`{}` is sound", args.config.display()));
            drop(config);
            return ExitCode::SUCCESS;
        }
        Ok(config) => config,
        Err(error) => return fail::report(&error, fail::OTHER),
    };
    let logs = Logs::start(config.log.level);
    match start::serve(&args.config, config, logs) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::from(fail::OTHER)
        }
    }
}

/// The configuration as it is now.
fn read(path: &Path) -> anyhow::Result<Config> {
    let text = fs::read_to_string(path).with_context(|| {
        format!("failed to read the configuration `{}`: name another with --config", path.display())
    })?;
    let name = path.display().to_string();
    let config = config::parse(&name, &text)?;
    check::check(&config).map_err(|wrong| config::wrong(&name, &text, wrong.key, wrong.why))?;
    if config.alerts.runs_commands() {
        nobody_else_writes(path)?;
    }
    Ok(config)
}

/// Whoever can write a configuration that names commands can run them as the agent.
fn nobody_else_writes(path: &Path) -> anyhow::Result<()> {
    let found = path.metadata().with_context(|| format!("failed to look at `{}`", path.display()))?;
    // SAFETY: no preconditions.
    let own = unsafe { libc::geteuid() };
    anyhow::ensure!(
        (found.uid() == 0 || found.uid() == own) && found.mode() & 0o022 == 0,
        "`{0}` names commands under [alerts], and others can write it: `chown root {0}; chmod go-w {0}`",
        path.display()
    );
    Ok(())
}
