//! Alerts: a descriptor could not be made, or soon can't be. What happens is watched for here, rate-limited, and told by
//! commands and posts on threads of their own.

mod limiter;
mod send;
mod watch;

#[cfg(test)]
mod tests;

use std::time::Instant;

use serde::Serialize;

use super::{config, control::message::Alerts as Counts};
use crate::event::{CensusReason, Container, Event};
use limiter::Limiter;
use send::Senders;
use watch::Watch;

/// What happened. Figures are those of the table at that moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alert {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// `failure` or `headroom`.
    pub cause: Cause,
    /// Machine.
    pub host: String,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// First process of the table.
    pub pid: u32,
    /// The same in its own PID namespace, where that is known.
    pub ns_pid: Option<u32>,
    /// The container that it is in; none for one in no container.
    pub container: Option<Container>,
    /// Its name.
    pub comm: crate::event::Name,
    /// Identity of the table within the trace.
    pub table: u64,
    /// Live descriptors.
    pub live: u32,
    /// High-water mark since first sight.
    pub high_water: u32,
    /// Soft limit.
    pub soft_limit: u32,
    /// What could not be made: the error; none for `headroom`.
    pub errno: Option<String>,
    /// The syscall.
    pub syscall: Option<String>,
    /// Failures of the table so far.
    pub failures: u64,
    /// The last mark before it.
    pub mark: Option<String>,
    /// Alerts of this cause and name that were held back since the last one.
    pub suppressed: u64,
    /// In one sentence.
    pub text: String,
}

/// Identity of the JSON of an alert.
pub const SCHEMA: &str = "fdtide.alert/1";

/// Why there is an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// A descriptor could not be made.
    Failure,
    /// A table is near its soft limit.
    Headroom,
}

impl Cause {
    /// As the configuration and the environment have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Failure => "failure",
            Cause::Headroom => "headroom",
        }
    }
}

/// Why alerts can't be sent as they are configured.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct AlertError {
    /// The key of the configuration that it is about.
    pub key: &'static str,
    what: String,
}

/// Whether a webhook can be posted to at all, as far as that is known before.
///
/// # Errors
///
/// When it is to be encrypted, and there is nobody to say whom to believe.
pub fn check(config: &config::Alerts) -> Result<(), AlertError> {
    match &config.webhook {
        Some(webhook) if webhook.is_secure() => {
            let key = if config.ca_file.is_some() { "alerts.ca_file" } else { "alerts.webhook" };
            send::authorities(config.ca_file.as_deref()).map(drop).map_err(|what| AlertError { key, what })
        }
        _ => Ok(()),
    }
}

/// Watches, and tells.
pub struct Alerts {
    config: config::Alerts,
    watch: Watch,
    limiter: Limiter,
    urgent: bool,
    senders: Senders,
}

impl Alerts {
    /// As configured; `host` and the anchor of the clocks are told with each alert.
    #[must_use]
    pub fn new(config: config::Alerts, host: String, anchor: crate::model::Anchor) -> Alerts {
        let senders = Senders::new(&config);
        Alerts {
            urgent: false,
            watch: Watch::new(host, anchor, config.headroom),
            limiter: Limiter::default(),
            senders,
            config,
        }
    }

    /// Another configuration, from now on.
    pub fn reload(&mut self, config: &config::Alerts) {
        self.watch.headroom = config.headroom;
        if *config != self.config {
            self.senders = self.senders.again(config);
            self.config = config.clone();
        }
    }

    /// A mark was set.
    pub fn mark(&mut self, text: &str) {
        self.watch.mark = Some(text.to_owned());
    }

    /// Whether something failed of which more can be known by a look at the tables; true once.
    pub fn is_urgent(&mut self) -> bool {
        std::mem::take(&mut self.urgent)
    }

    /// Takes an event: tells at once what is to be told.
    pub fn event(&mut self, event: &Event) {
        // The kernel tells the first failure of each kind at once, and its figures stand in the table.
        self.urgent |= matches!(event, Event::Census(census) if census.reason == CensusReason::Failure);
        for mut alert in self.watch.event(event) {
            let key = (alert.cause, alert.comm.clone());
            match self.limiter.pass(key, alert.at_ns, self.config.every.as_ns()) {
                Some(suppressed) => {
                    alert.suppressed = suppressed;
                    tracing::warn!("{}", alert.text);
                    self.senders.send(alert);
                }
                None => tracing::debug!("held back: {}", alert.text),
            }
        }
    }

    /// What became of them so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts { suppressed: self.limiter.suppressed(), ..self.senders.counts() }
    }

    /// Waits for what is under way, until that moment at most.
    pub fn finish(self, until: Instant) {
        let held = self.limiter.suppressed();
        if held > 0 {
            tracing::info!("{held} alerts were held back because one of the same cause had gone before");
        }
        self.senders.finish(until);
    }
}
