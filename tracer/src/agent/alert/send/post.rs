//! The post of an alert.

use std::time::Duration;

use super::super::Alert;

/// Posts it as JSON.
pub(super) fn post(url: &str, alert: &Alert, timeout: Duration) -> Result<(), String> {
    let body = serde_json::to_vec(alert).map_err(|error| error.to_string())?;
    let config = ureq::Agent::config_builder().timeout_global(Some(timeout)).max_redirects(0).build();
    let agent = ureq::Agent::new_with_config(config);
    let answer = agent.post(url).header("content-type", "application/json").send(&body[..]);
    match answer {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(format!("the answer is {}", answer.status())),
        Err(error) => Err(error.to_string()),
    }
}
