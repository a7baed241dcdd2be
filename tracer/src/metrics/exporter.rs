//! What the agent tells the endpoint and the push.

use std::{error::Error, time::Instant};

use serde_json::{Value, json};

use super::{
    MetricsError, Published, Scrape, Tally,
    config::{Metrics, Otlp},
    endpoint::Endpoint,
    otlp::{
        events::{Happened, Telling},
        queue::Queue,
    },
    thread::{Pushing, Running},
};
use crate::{
    agent::{Config, Exporter, Now},
    model::{
        Anchor, ExecRecord, Report,
        meter::{Failed, MeterOptions},
    },
    record::Start,
};

/// The endpoint and the push of one agent.
pub struct Exporters {
    metrics: Metrics,
    otlp: Otlp,
    published: Published,
    queue: Queue,
    tally: Tally,
    endpoint: Option<Endpoint>,
    running: Option<Running>,
    anchor: Anchor,
    backend: String,
    kernel: String,
}

impl Exporters {
    /// Listens, and reads the files that the configuration names; `None` if it wants neither an endpoint nor pushes.
    ///
    /// # Errors
    ///
    /// When the address, a file or the configuration can't be used.
    pub fn new(metrics: &Metrics, otlp: &Otlp) -> Result<Option<Exporters>, MetricsError> {
        metrics.check()?;
        otlp.check()?;
        if !metrics.enabled && !otlp.is_on() {
            return Ok(None);
        }
        let (published, tally) = (Published::default(), Tally::default());
        let endpoint = if metrics.enabled {
            let endpoint = Endpoint::bind(metrics, published.clone(), tally.clone())?;
            if let Ok(address) = endpoint.address() {
                let scheme = if metrics.tls.is_some() { "https" } else { "http" };
                log::info!("metrics are at {scheme}://{address}/metrics");
            }
            Some(endpoint)
        } else {
            None
        };
        Ok(Some(Exporters {
            metrics: metrics.clone(),
            otlp: otlp.clone(),
            queue: Queue::new(otlp.waiting, tally.clone()),
            published,
            tally,
            endpoint,
            running: None,
            anchor: Anchor::default(),
            backend: String::new(),
            kernel: String::new(),
        }))
    }

    fn unix_ns(&self, boot_ns: u64) -> u64 {
        self.anchor.wall_unix_ns.saturating_add(boot_ns).saturating_sub(self.anchor.boot_ns)
    }
}

impl Exporter for Exporters {
    fn name(&self) -> &'static str {
        "metrics"
    }

    fn meter(&self) -> Option<MeterOptions> {
        Some(self.metrics.meter(&self.otlp))
    }

    fn begin(&mut self, start: &Start) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.anchor = start.anchor;
        self.backend = start.plan.backend.clone();
        self.kernel = start.plan.kernel.clone();
        let pushing = self.otlp.is_on().then(|| Pushing {
            config: self.otlp.clone(),
            host: start.host.name.clone(),
            telling: Telling { anchor: start.anchor, paths: self.otlp.paths },
            queue: self.queue.clone(),
        });
        let running = Running::start(self.endpoint.take(), pushing, self.published.clone(), self.tally.clone())?;
        self.running = Some(running);
        Ok(())
    }

    fn exec(&mut self, record: &ExecRecord) {
        if self.otlp.is_on() && self.otlp.execs {
            self.queue.push(Happened::Exec(Box::new(record.clone())));
        }
    }

    fn failed(&mut self, failed: &Failed) {
        if self.otlp.is_on() && self.otlp.failures {
            self.queue.push(Happened::Failed(Box::new(failed.clone())));
        }
    }

    fn failed_unheard(&mut self, count: u64) {
        if self.otlp.is_on() && self.otlp.failures {
            self.tally.no_room(count);
        }
    }

    fn tick(&mut self, now: &Now<'_>) {
        let Some(reading) = now.reading else { return };
        let counters = now.counted.counters.iter().map(|counter| (counter.name.clone(), counter.value));
        self.published.publish(Scrape {
            at_unix_ns: self.unix_ns(now.at_ns),
            since_unix_ns: self.anchor.wall_unix_ns,
            reading: reading.clone(),
            lost: now.counted.lost,
            missed: now.counted.missed.values().sum(),
            skipped: now.skipped,
            counters: counters.collect(),
            agent: now.agent.unwrap_or_default(),
            backend: self.backend.clone(),
            kernel: self.kernel.clone(),
            more: Vec::new(),
        });
    }

    fn reload(&mut self, config: &Config) -> Vec<String> {
        let changed = [("metrics", config.metrics != self.metrics), ("otlp", config.otlp != self.otlp)];
        let changed = changed.into_iter().filter(|(_, changed)| *changed);
        changed.map(|(section, _)| format!("[{section}] has changed, which counts from the next start on")).collect()
    }

    fn status(&self) -> Value {
        let figures = self.tally.figures().into_iter().map(|figure| {
            let name = [&[figure.name.to_owned()], figure.labels.as_slice()].concat().join(" ");
            (name, json!(figure.value as u64))
        });
        json!({
            "listen": self.metrics.enabled.then(|| self.metrics.listen.to_string()),
            "push": self.otlp.endpoint,
            "waiting": self.queue.len(),
            "counts": figures.collect::<serde_json::Map<String, Value>>(),
        })
    }

    fn finish(&mut self, _report: &Report, until: Instant) {
        if let Some(running) = &mut self.running {
            running.stop(until);
        }
    }

    fn wait(&mut self) {
        if let Some(running) = self.running.take() {
            running.wait();
        }
    }
}
