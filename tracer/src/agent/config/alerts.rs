//! `[alerts]`: what is done when something fails.

use std::path::PathBuf;

use serde::Deserialize;

use super::Time;

/// What is done when descriptors can't be made, or soon can't be.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Alerts {
    /// Command that is run when a descriptor could not be made: program and arguments, no shell.
    pub on_failure: Vec<String>,
    /// Command that is run when a table comes near its soft limit.
    pub on_headroom: Vec<String>,
    /// What near is: fewer numbers left than this, or than this share of the limit.
    pub headroom: Option<Headroom>,
    /// Where an alert is posted to, as JSON.
    pub webhook: Option<Webhook>,
    /// PEM file with the certificate authorities of an `https` webhook, in the place of the machine's own.
    pub ca_file: Option<PathBuf>,
    /// Alerts of one cause are at least so far apart.
    pub every: Time,
    /// A command or a post that takes longer is given up.
    pub timeout: Time,
    /// So many at a time.
    pub at_once: usize,
}

impl Default for Alerts {
    fn default() -> Self {
        Alerts {
            on_failure: Vec::new(),
            on_headroom: Vec::new(),
            headroom: None,
            webhook: None,
            ca_file: None,
            every: Time::seconds(300),
            timeout: Time::seconds(10),
            at_once: 2,
        }
    }
}

impl Alerts {
    /// Whether any command is named.
    #[must_use]
    pub fn runs_commands(&self) -> bool {
        !self.on_failure.is_empty() || !self.on_headroom.is_empty()
    }
}

/// An address of HTTP, with TLS or without.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Webhook(pub String);

impl Webhook {
    /// Whether it is to be encrypted.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.0.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
    }
}

impl TryFrom<String> for Webhook {
    type Error = String;

    fn try_from(text: String) -> Result<Webhook, String> {
        let uri: Option<ureq::http::Uri> = text.parse().ok();
        let scheme = uri.as_ref().filter(|uri| uri.host().is_some()).and_then(|uri| uri.scheme_str());
        match scheme {
            Some("http" | "https") => Ok(Webhook(text)),
            _ => Err(format!("`{text}` is no address: use one as in \"http://127.0.0.1:9000/alert\"")),
        }
    }
}

/// How near is near: `100` or `20%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub enum Headroom {
    /// Fewer numbers left than this.
    Below(u32),
    /// Fewer per cent of the soft limit left than this.
    Percent(u32),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a number of descriptors as in 100, or a share of the limit as in \"20%\"")]
enum Written {
    Number(u32),
    Text(String),
}

impl TryFrom<Written> for Headroom {
    type Error = String;

    fn try_from(written: Written) -> Result<Headroom, String> {
        match written {
            Written::Number(least) => Ok(Headroom::Below(least)),
            Written::Text(text) => {
                let share = text.strip_suffix('%').and_then(|number| number.trim().parse().ok());
                let share = share.filter(|share| (1..=100).contains(share)).map(Headroom::Percent);
                share.or_else(|| text.parse().ok().map(Headroom::Below)).ok_or_else(|| {
                    format!("`{text}` is neither a number of descriptors nor a share: use 100 or \"20%\"")
                })
            }
        }
    }
}

impl Headroom {
    /// Whether so many numbers left of this limit are too few.
    #[must_use]
    pub fn is_near(self, left: u32, soft: u32) -> bool {
        match self {
            Headroom::Below(least) => left < least,
            Headroom::Percent(share) => u64::from(left) * 100 < u64::from(soft) * u64::from(share),
        }
    }
}
