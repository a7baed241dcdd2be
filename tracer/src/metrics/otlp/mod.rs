//! OTLP: metrics at intervals, exec records and failures as log events.
//!
//! Metrics are cumulative, so of a push that failed nothing is kept: the next one tells more. Events wait in a queue with an
//! end, in their order, until the collector has them; those that find no room are counted.

pub mod convert;
pub mod events;
pub mod queue;
pub mod transport;

#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    time::{Duration, SystemTime},
};

use opentelemetry_proto::tonic::resource::v1::Resource;
use tokio::time::{Instant, sleep_until, timeout};

use self::{
    convert::Moment,
    events::Telling,
    queue::Queue,
    transport::{Failure, Transport},
};
use super::{MetricsError, Published, Tally, config::Otlp, families::families, scrape::More};

/// How often waiting events are looked for.
const EVENTS: Duration = Duration::from_secs(1);
/// Events in one push.
const BATCH: usize = 512;
/// After a first failure it is tried again this soon; then half as soon each time, down to [`SLOWEST`].
const SOON: Duration = Duration::from_secs(1);
const SLOWEST: Duration = Duration::from_secs(60);

/// Pushes until it is dropped.
pub struct Push {
    config: Otlp,
    transport: Transport,
    published: Published,
    queue: Queue,
    telling: Telling,
    resource: Resource,
    tally: Tally,
    metrics: Patience,
    logs: Patience,
}

/// When one of the two kinds of push is made next.
struct Patience {
    what: &'static str,
    at: Instant,
    failures: u32,
}

impl Patience {
    fn new(what: &'static str, at: Instant) -> Patience {
        Patience { what, at, failures: 0 }
    }

    fn arrived(&mut self, next: Duration) {
        if self.failures > 0 {
            log::info!("OTLP: {} arrive again", self.what);
        }
        self.failures = 0;
        self.at = Instant::now() + next;
    }

    /// Waits longer after each failure, not everywhere equally long.
    fn failed(&mut self, failure: &Failure) {
        // One line for a collector that is down, however long.
        if self.failures == 0 {
            log::warn!("OTLP: {} did not arrive: {}; it is tried again", self.what, failure.why);
        } else {
            log::debug!("OTLP: {} did not arrive: {}", self.what, failure.why);
        }
        let longer = SOON * 2u32.saturating_pow(self.failures.min(6));
        self.failures = self.failures.saturating_add(1);
        let wait = failure.after.unwrap_or(longer).clamp(SOON, SLOWEST);
        let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.subsec_nanos());
        let share = f64::from(nanos % 1000) / 1000.0;
        self.at = Instant::now() + wait.mul_f64(0.8 + 0.4 * share);
    }
}

impl Push {
    /// Gets ready. Needs an entered runtime.
    ///
    /// # Errors
    ///
    /// When the configuration can't be used.
    pub fn new(
        config: &Otlp,
        host: &str,
        telling: Telling,
        published: Published,
        queue: Queue,
        tally: Tally,
    ) -> Result<Push, MetricsError> {
        let now = Instant::now();
        Ok(Push {
            transport: Transport::new(config)?,
            resource: convert::resource(host, &config.resource),
            config: config.clone(),
            published,
            queue,
            telling,
            tally,
            // The first scrape is there about a second after the start.
            metrics: Patience::new("metrics", now + EVENTS.min(config.every)),
            logs: Patience::new("events", now + EVENTS),
        })
    }

    /// Pushes at intervals, for ever.
    pub async fn run(&mut self) -> Infallible {
        loop {
            sleep_until(self.metrics.at.min(self.logs.at)).await;
            let now = Instant::now();
            if self.metrics.at <= now {
                self.push_metrics().await;
            }
            if self.logs.at <= now {
                self.push_logs().await;
            }
        }
    }

    /// The last figures, and what waits, in `within` at most.
    pub async fn finish(&mut self, within: Duration) {
        let _ = timeout(within, async {
            self.push_metrics().await;
            while !self.queue.is_empty() && self.push_logs().await {}
        })
        .await;
        let left = self.queue.len();
        if left > 0 {
            log::warn!("OTLP: {left} events were not pushed before the end");
        }
    }

    async fn push_metrics(&mut self) {
        let Some(last) = self.published.last() else {
            self.metrics.at = Instant::now() + EVENTS;
            return;
        };
        let mut more = self.tally.figures();
        more.push(More { name: "fdtide_otlp_waiting_events", labels: Vec::new(), value: self.queue.len() as f64 });
        let families = families(&last.scrape, last.is_fresh(), &more);
        let at = Moment { since_ns: last.scrape.since_unix_ns, at_ns: last.scrape.at_unix_ns };
        let request = convert::metrics(&families, at, self.config.histograms, &self.resource);
        match self.transport.metrics(request).await {
            Ok(rejected) => {
                self.tally.metrics_pushed(1);
                if rejected.count > 0 {
                    log::warn!("OTLP: the collector has not taken {} points: {}", rejected.count, rejected.why);
                }
                self.metrics.arrived(self.config.every);
            }
            Err(failure) if failure.again => {
                self.tally.metrics_failed(1);
                self.metrics.failed(&failure);
            }
            Err(failure) => {
                self.tally.metrics_given_up(1);
                self.metrics.failed(&failure);
                self.metrics.at = Instant::now() + self.config.every;
            }
        }
    }

    /// Pushes the first of the waiting events. True if they are out of the queue.
    async fn push_logs(&mut self) -> bool {
        let events = self.queue.first(BATCH);
        if events.is_empty() {
            self.logs.at = Instant::now() + EVENTS;
            return false;
        }
        let now_ns = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
        let request = events::logs(&events, self.telling, now_ns, &self.resource);
        match self.transport.logs(request).await {
            Ok(rejected) => {
                self.queue.done(events.len());
                self.tally.logs_pushed(1);
                if rejected.count > 0 {
                    log::warn!("OTLP: the collector has not taken {} events: {}", rejected.count, rejected.why);
                    self.tally.refused(rejected.count);
                }
                let next = if self.queue.len() >= BATCH { Duration::ZERO } else { EVENTS };
                self.logs.arrived(next);
                true
            }
            Err(failure) if failure.again => {
                self.tally.logs_failed(1);
                self.logs.failed(&failure);
                false
            }
            Err(failure) => {
                self.queue.done(events.len());
                self.tally.logs_given_up(1);
                self.tally.refused(events.len() as u64);
                self.logs.failed(&failure);
                true
            }
        }
    }
}
