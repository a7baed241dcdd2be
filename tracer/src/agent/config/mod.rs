//! `agent.toml`: what the agent is to do.
//!
//! Each section has a file. A key that is not known is an error: a misspelt limit would else be none.

mod alerts;
mod export;
mod near;
mod record;
mod service;
mod targets;
mod value;

use std::ops::Range;

use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use crate::gate::problem::{Problem, Raw};

pub use alerts::{Alerts, Headroom, Webhook};
pub use export::{Metrics, Otlp, Segments};
pub use record::{RecordConfig, ReportConfig, ReportFormat};
pub use service::{ControlConfig, Level, LogConfig, ServiceConfig, User};
pub use targets::{BackendName, Targets, TraceConfig};
pub use value::{Size, Time};

/// Its usual place.
pub const PATH: &str = "/etc/fdtide/agent.toml";
/// The usual place of the control socket.
pub const SOCKET: &str = "/run/fdtide/agent.sock";

/// The whole file. What is not there has its default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Names of files, programs' folders, addresses and command lines become placeholders, in everything that is written.
    pub redact_paths: bool,
    /// File whose bytes are the key of the placeholders, so that they are the same after a restart and on other hosts.
    pub redact_key_file: Option<std::path::PathBuf>,
    /// What is traced.
    pub targets: Targets,
    /// How it is traced.
    pub trace: TraceConfig,
    /// The flight recorder.
    pub record: RecordConfig,
    /// The report at the end.
    pub report: ReportConfig,
    /// The Prometheus endpoint.
    pub metrics: Metrics,
    /// Metrics and events pushed by OTLP.
    pub otlp: Otlp,
    /// Rows written for a fleet.
    pub segments: Segments,
    /// What is done when something fails.
    pub alerts: Alerts,
    /// Who it is, and what it may do.
    pub service: ServiceConfig,
    /// Logs.
    pub log: LogConfig,
    /// The socket of `fdtide ctl`.
    pub control: ControlConfig,
}

/// Where somebody finds what is allowed.
const HELP: &str = "docs/agent.md has every key with its default";

/// Reads a configuration. `path` is what messages call it.
///
/// # Errors
///
/// The first thing that is wrong, with its line and column.
pub fn parse(path: &str, text: &str) -> Result<Config, Box<Problem>> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().lines().collect::<Vec<_>>().join(": ");
        let help = near::help(&message).unwrap_or_else(|| HELP.to_owned());
        let span = narrowed(text, error.span().unwrap_or(0..0), &message);
        Raw { message, label: "here".to_owned(), help, span }.within(path, text)
    })
}

/// What is wrong with the value of a key, as in `metrics.tls.key`, of a configuration that could be read.
#[must_use]
pub fn wrong(path: &str, text: &str, key: &str, message: String) -> Box<Problem> {
    Raw { message, label: "here".to_owned(), help: HELP.to_owned(), span: place(text, key) }.within(path, text)
}

/// Where the value of a key stands; where it is not written, what it would be a part of.
fn place(text: &str, key: &str) -> Range<usize> {
    let mut span = 0..0;
    let Ok(root) = DeTable::parse(text) else { return span };
    let mut table = root.get_ref();
    for part in key.split('.') {
        let Some((_, value)) = table.iter().find(|(name, _)| name.get_ref() == part) else { break };
        span = value.span();
        let DeValue::Table(inner) = value.get_ref() else { break };
        table = inner;
    }
    span
}

/// Of a list, the entry that the message begins with: the reader of a list knows no better than the whole of it.
fn narrowed(text: &str, span: Range<usize>, message: &str) -> Range<usize> {
    let entry = message.strip_prefix('`').and_then(|rest| rest.split('`').next());
    let list = text.get(span.clone()).filter(|list| list.starts_with('['));
    let found = list.zip(entry).and_then(|(list, entry)| Some((list.find(&format!("\"{entry}\""))?, entry.len() + 2)));
    found.map_or(span.clone(), |(at, length)| span.start + at..span.start + at + length)
}

#[cfg(test)]
mod tests;
