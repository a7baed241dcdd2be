//! `fdtide agent`: unattended, all day.

mod answers;
mod fan;
mod reload;
mod service;
mod setup;

use std::{fs, path::Path, process::ExitCode};

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
    match service::serve(&args.config, config, logs) {
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
    Ok(config::parse(&path.display().to_string(), &text)?)
}
