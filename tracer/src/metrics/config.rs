//! `[metrics]` and `[otlp]` of the agent's configuration.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Deserializer};

use super::MetricsError;
use crate::{agent::config::Time, model::meter::MeterOptions};

/// The Prometheus endpoint.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metrics {
    /// Whether there is one.
    pub enabled: bool,
    /// Address and port that it listens on.
    pub listen: SocketAddr,
    /// Anybody who reaches that address may read: needed for one that is not a loopback address, without a token.
    pub anyone: bool,
    /// File with the token that clients must show (`Authorization: Bearer …`).
    pub token_file: Option<PathBuf>,
    /// Certificate and key of the server.
    pub tls: Option<TlsFiles>,
    /// Names and containers told apart at most; what finds no place is counted under `comm="other"`.
    pub label_sets: usize,
    /// Processes told one by one at most, those with the most descriptors; 0 for none.
    pub per_process: usize,
}

/// PEM files.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// Certificates, the server's own first.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Default for Metrics {
    fn default() -> Self {
        let MeterOptions { sets, processes, .. } = MeterOptions::default();
        Metrics {
            enabled: false,
            listen: (Ipv4Addr::LOCALHOST, 9794).into(),
            anyone: false,
            token_file: None,
            tls: None,
            label_sets: sets,
            per_process: processes,
        }
    }
}

impl Metrics {
    /// Whether it goes together.
    ///
    /// # Errors
    ///
    /// When everybody on a network could read it and nobody said so.
    pub fn check(&self) -> Result<(), MetricsError> {
        if self.enabled && !self.listen.ip().is_loopback() && self.token_file.is_none() && !self.anyone {
            let what = format!(
                "`metrics.listen` is `{}`, which others reach: name a `metrics.token_file`, or set `metrics.anyone` to true",
                self.listen
            );
            return Err(MetricsError::Config { key: "metrics.listen", what });
        }
        Ok(())
    }

    /// What has to be metered for it.
    #[must_use]
    pub fn meter(&self, otlp: &Otlp) -> MeterOptions {
        MeterOptions { sets: self.label_sets, processes: self.per_process, failed: otlp.is_on() && otlp.failures }
    }
}

/// Metrics and events pushed by OTLP.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Otlp {
    /// Where to: `http://host:4317`; without it nothing is pushed. For HTTP, `/v1/metrics` and `/v1/logs` are added.
    pub endpoint: Option<String>,
    /// How.
    pub protocol: Protocol,
    /// Headers sent along.
    pub headers: BTreeMap<String, String>,
    /// File with a token that is sent along as `authorization: Bearer …`.
    pub token_file: Option<PathBuf>,
    /// PEM file with the certificate authorities of an `https` endpoint, in the place of the machine's own.
    pub ca_file: Option<PathBuf>,
    /// Attributes of the resource, beside `service.name`, `service.version` and `host.name`.
    pub resource: BTreeMap<String, String>,
    /// How often metrics are pushed.
    #[serde(deserialize_with = "time")]
    pub every: Duration,
    /// A push that takes longer has failed.
    #[serde(deserialize_with = "time")]
    pub timeout: Duration,
    /// Form of distributions.
    pub histograms: Histograms,
    /// Failures are pushed as events.
    pub failures: bool,
    /// Exec records are pushed as events.
    pub execs: bool,
    /// Events that wait at most; those that come then are dropped, and counted.
    pub waiting: usize,
    /// Events name the paths of programs.
    pub paths: bool,
}

impl Default for Otlp {
    fn default() -> Self {
        Otlp {
            endpoint: None,
            protocol: Protocol::Grpc,
            headers: BTreeMap::new(),
            token_file: None,
            ca_file: None,
            resource: BTreeMap::new(),
            every: Duration::from_secs(60),
            timeout: Duration::from_secs(10),
            histograms: Histograms::Exponential,
            failures: true,
            execs: false,
            waiting: 2048,
            paths: false,
        }
    }
}

impl Otlp {
    /// Whether anything is pushed.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.endpoint.is_some()
    }

    /// Whether it goes together.
    ///
    /// # Errors
    ///
    /// When the endpoint is no URL, a header can't be sent, or a time is 0.
    pub fn check(&self) -> Result<(), MetricsError> {
        let Some(endpoint) = &self.endpoint else { return Ok(()) };
        let url: Option<hyper::Uri> = endpoint.parse().ok();
        if !url.is_some_and(|url| matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some()) {
            let what = format!(
                "`otlp.endpoint` is `{endpoint}`, which is no URL with http or https: write it as in `http://localhost:4317`"
            );
            return Err(MetricsError::Config { key: "otlp.endpoint", what });
        }
        for (name, value) in &self.headers {
            // The value may be a secret.
            if name.parse::<hyper::http::HeaderName>().is_err() || value.parse::<hyper::http::HeaderValue>().is_err() {
                let what = format!("`otlp.headers` has `{name}`, which is no header of HTTP");
                return Err(MetricsError::Config { key: "otlp.headers", what });
            }
        }
        for (key, time) in [("otlp.every", self.every), ("otlp.timeout", self.timeout)] {
            if time.is_zero() {
                return Err(MetricsError::Config { key, what: format!("`{key}` must be longer than 0") });
            }
        }
        Ok(())
    }
}

/// How OTLP is carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// gRPC, as a rule on port 4317.
    #[default]
    Grpc,
    /// Protobuf over HTTP, as a rule on port 4318.
    Http,
}

/// Form of distributions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Histograms {
    /// Exponential buckets, a quantile within 5 %.
    #[default]
    Exponential,
    /// The classic buckets, for collectors that know no others.
    Explicit,
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Time::deserialize(deserializer).map(|time| time.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_that_others_reach_needs_a_token_or_a_word() {
        let metrics = |text: &str| toml::from_str::<Metrics>(text).unwrap().check();
        assert!(metrics("enabled = true").is_ok());
        let refused = metrics("enabled = true\nlisten = \"0.0.0.0:9794\"").unwrap_err();
        assert!(refused.to_string().contains("metrics.token_file"), "{refused}");
        assert!(metrics("enabled = true\nlisten = \"0.0.0.0:9794\"\nanyone = true").is_ok());
        assert!(metrics("enabled = true\nlisten = \"[::1]:9794\"").is_ok());
        assert!(metrics("enabled = true\nlisten = \"10.0.0.1:1\"\ntoken_file = \"/etc/token\"").is_ok());
    }

    #[test]
    fn a_push_goes_to_a_url_with_headers_that_can_be_sent() {
        let otlp = |text: &str| toml::from_str::<Otlp>(text).unwrap().check();
        assert!(otlp("").is_ok());
        assert!(otlp("endpoint = \"https://otel.example:4317\"\nevery = \"10s\"").is_ok());
        for bad in ["localhost:4317", "ftp://a", "", "http://"] {
            assert!(otlp(&format!("endpoint = \"{bad}\"")).is_err(), "{bad}");
        }
        let secret = otlp("endpoint = \"http://a\"\nheaders = { \"x y\" = \"s3cret\" }").unwrap_err();
        assert!(!secret.to_string().contains("s3cret"), "{secret}");
        assert!(otlp("endpoint = \"http://a\"\nevery = \"0s\"").is_err());
    }
}
