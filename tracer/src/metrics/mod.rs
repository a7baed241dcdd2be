//! What the agent sees, for other people's systems: a Prometheus endpoint and an OTLP push.
//!
//! The agent publishes a [`Scrape`] about once a second; servers and pushes run on a thread of their own and read the last
//! one. So nobody who scrapes, or does not answer, costs the trace anything. Every output is made from the same
//! [`families::Family`] list, and that from the table in `sink::fields::metrics`.

pub mod config;
pub mod endpoint;
mod exporter;
pub mod families;
pub mod otlp;
pub mod prometheus;
mod scrape;
mod tally;
mod thread;
pub(crate) mod tls;

#[cfg(test)]
mod endpoint_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::{io, path::PathBuf};

use thiserror::Error;

pub use config::{Metrics, Otlp};
pub use exporter::Exporters;
pub use scrape::{Published, Scrape};
pub use tally::Tally;

/// Why figures can't be handed on.
#[derive(Debug, Error)]
pub enum MetricsError {
    /// The address can't be listened on.
    #[error("failed to listen on `{address}`: choose another `metrics.listen`, or end what listens there")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A file of a secret or certificate can't be read.
    #[error("failed to read `{path}` ({key})")]
    File {
        /// The key that names it.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file has not what it should have.
    #[error("`{path}` ({key}) {what}")]
    Content {
        /// The key that names it.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// What the configuration says does not go together.
    #[error("{what}")]
    Config {
        /// The key that says it.
        key: &'static str,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A certificate or its key can't be used.
    #[error("the certificates can't be used ({key})")]
    Tls {
        /// The key that names them.
        key: &'static str,
        /// Why.
        source: tokio_rustls::rustls::Error,
    },
    /// The thread of servers and pushes can't be started.
    #[error("failed to start the thread of the exporters")]
    Thread(#[source] io::Error),
}

impl MetricsError {
    /// The key of the configuration that it is about; empty where it is about none.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            MetricsError::Listen { .. } => "metrics.listen",
            MetricsError::File { key, .. }
            | MetricsError::Content { key, .. }
            | MetricsError::Config { key, .. }
            | MetricsError::Tls { key, .. } => key,
            MetricsError::Thread(_) => "",
        }
    }
}

/// Whether endpoint and pushes can be had like this, as far as that is known before: what is said goes together, and the files
/// that are named can be used.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn check(metrics: &Metrics, otlp: &Otlp) -> Result<(), MetricsError> {
    metrics.check()?;
    otlp.check()?;
    if metrics.enabled {
        endpoint::files(metrics)?;
    }
    if otlp.is_on() {
        otlp::transport::check_files(otlp)?;
    }
    Ok(())
}
