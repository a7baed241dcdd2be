//! What the service manager is told. Without one nothing is told, and nothing fails.

use std::time::Duration;

use sd_notify::NotifyState;

const SECOND: Duration = Duration::from_secs(1);

/// The service manager's ear.
#[derive(Debug)]
pub struct Notify {
    /// How often it wants a sign of life.
    every: Option<Duration>,
    status: String,
}

impl Notify {
    /// As the environment says.
    #[must_use]
    pub fn from_env() -> Notify {
        // Half of the time that it waits, as its manual asks for.
        Notify { every: sd_notify::watchdog_enabled().map(|time| time / 2), status: String::new() }
    }

    /// Everything is attached.
    pub fn ready(&self) {
        tell(&[NotifyState::Ready]);
    }

    /// The configuration is being read; [`Self::ready`] follows.
    pub fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => tell(&[NotifyState::Reloading, now]),
            Err(error) => tracing::debug!("no time for the service manager: {error}"),
        }
    }

    /// The end has begun.
    pub fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }

    /// How often to [`Self::tick`].
    #[must_use]
    pub fn period(&self) -> Duration {
        self.every.map_or(SECOND, |every| every.clamp(Duration::from_millis(10), SECOND))
    }

    /// The loop turns: a sign of life if one is wanted, and the status if it has changed.
    pub fn tick(&mut self, status: String) {
        if self.every.is_some() {
            tell(&[NotifyState::Watchdog]);
        }
        if status != self.status {
            tell(&[NotifyState::Status(&status)]);
            self.status = status;
        }
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!("the service manager can't be told: {error}");
    }
}
