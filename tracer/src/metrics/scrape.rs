//! What there is to tell at one moment, and where the last one lies.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::model::{Agent, meter::Reading};

/// A scrape older than this says that the agent does not keep up, or is blind.
const FRESH: Duration = Duration::from_secs(10);

/// Everything that is told of one moment.
#[derive(Clone, Debug, Default)]
pub struct Scrape {
    /// The moment, nanoseconds since 1970-01-01 UTC.
    pub at_unix_ns: u64,
    /// Start of the agent, nanoseconds since 1970-01-01 UTC: what counters count from.
    pub since_unix_ns: u64,
    /// Figures by label set.
    pub reading: Reading,
    /// Records that found no room in the ring.
    pub lost: u64,
    /// Runs of a hook that did not happen.
    pub missed: u64,
    /// Records that could not be read.
    pub skipped: u64,
    /// Counters of the kernel program, by name.
    pub counters: Vec<(String, u64)>,
    /// What the agent itself uses.
    pub agent: Agent,
    /// Way of hooking.
    pub backend: String,
    /// Kernel release.
    pub kernel: String,
    /// Figures of other parts of the agent: name of a metric of the table, its labels' values, the figure.
    pub more: Vec<More>,
}

/// A figure of another part of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct More {
    /// Name in Prometheus, of a metric in `sink::fields::metrics`.
    pub name: &'static str,
    /// Values of its labels, in the order of the table.
    pub labels: Vec<String>,
    /// The figure.
    pub value: f64,
}

/// The last scrape, for every thread.
#[derive(Clone, Debug, Default)]
pub struct Published(Arc<Mutex<Option<Last>>>);

/// The last scrape.
#[derive(Clone, Debug)]
pub struct Last {
    /// What it told.
    pub scrape: Arc<Scrape>,
    published: Instant,
}

impl Last {
    /// Whether the agent still looks at the kernel.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.published.elapsed() <= FRESH
    }
}

impl Published {
    /// Puts a new one in the place of the last.
    pub fn publish(&self, scrape: Scrape) {
        let last = Last { scrape: Arc::new(scrape), published: Instant::now() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }

    /// The last one; none before the first.
    pub fn last(&self) -> Option<Last> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
