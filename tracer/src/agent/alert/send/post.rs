//! The post of an alert.

use std::{fs, path::Path, time::Duration};

use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

use super::super::Alert;
use crate::{agent::config::Webhook, metrics::tls};

/// Posts it as JSON.
pub(super) fn post(webhook: &Webhook, ca_file: Option<&Path>, alert: &Alert, timeout: Duration) -> Result<(), String> {
    let body = serde_json::to_vec(alert).map_err(|error| error.to_string())?;
    let mut config = ureq::Agent::config_builder().timeout_global(Some(timeout)).max_redirects(0);
    if webhook.is_secure() {
        // Read anew for each: authorities are exchanged while an agent runs.
        config = config.tls_config(encrypted(&authorities(ca_file)?));
    }
    let agent = ureq::Agent::new_with_config(config.build());
    let answer = agent.post(&webhook.0).header("content-type", "application/json").send(&body[..]);
    match answer {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(format!("the answer is {}", answer.status())),
        Err(error) => Err(error.to_string()),
    }
}

fn encrypted(authorities: &[Certificate<'static>]) -> TlsConfig {
    TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(tls::provider())
        .root_certs(RootCerts::new_with_certs(authorities))
        .build()
}

/// Who is believed when a server says who it is: the authorities of this file, or the machine's own.
///
/// # Errors
///
/// When there are none.
pub(in super::super) fn authorities(ca_file: Option<&Path>) -> Result<Vec<Certificate<'static>>, String> {
    let Some(path) = ca_file else {
        let found = rustls_native_certs::load_native_certs().certs;
        if found.is_empty() {
            return Err(
                "this machine has no certificate authorities: install them (Debian: `ca-certificates`), or name a \
                        file of them with alerts.ca_file"
                    .to_owned(),
            );
        }
        return Ok(found.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect());
    };
    let named = |why: String| format!("`{}`, which alerts.ca_file names, {why}", path.display());
    let pem = fs::read(path).map_err(|error| named(format!("can't be read: {error}")))?;
    let items: Result<Vec<PemItem<'_>>, _> = parse_pem(&pem).collect();
    let items = items.map_err(|error| named(format!("has no certificate in PEM form: {error}")))?;
    let certificates = items.into_iter().filter_map(|item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = certificates.collect();
    if certificates.is_empty() { Err(named("has no certificate in PEM form".to_owned())) } else { Ok(certificates) }
}
