//! What can be wrong with a configuration beyond its words: what an agent would not start with, and can be known without starting.

use super::{rights, setup};
use crate::{
    agent::{Config, alert},
    metrics,
    segment::Place,
};

/// What is wrong.
pub(super) struct Wrong {
    /// The key that says it, as in `metrics.tls.key`.
    pub key: &'static str,
    /// And why that can't be, with what to do.
    pub why: String,
}

/// Reads what the configuration names, as the user who asks. Folders are neither made nor looked for, and nobody is called:
/// the agent may have other rights, and who is down now may answer it.
pub(super) fn check(config: &Config) -> Result<(), Wrong> {
    metrics::check(&config.metrics, &config.otlp).map_err(|error| Wrong { key: error.key(), why: told(error) })?;
    alert::check(&config.alerts).map_err(|error| Wrong { key: error.key, why: told(error) })?;
    if !config.segments.url.is_empty() {
        Place::parse(&config.segments.url).map_err(|error| Wrong { key: "segments.url", why: told(error) })?;
    }
    if let Some(user) = &config.service.user {
        rights::ids(user).map_err(|error| Wrong { key: "service.user", why: told(error) })?;
    }
    setup::redactor(config).map_err(|error| Wrong { key: "redact_key_file", why: told(error) })?;
    Ok(())
}

/// With its causes, in one line.
fn told(error: impl Into<anyhow::Error>) -> String {
    format!("{:#}", error.into())
}
