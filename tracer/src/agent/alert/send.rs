//! Commands and posts, on a few threads of their own: the trace never waits for them.

mod command;
mod post;

pub(super) use post::authorities;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, SyncSender, TrySendError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use caps::CapSet;

use super::{Alert, Cause};
use crate::agent::{
    config::{self, Webhook},
    control::message::Alerts as Counts,
};

/// Alerts that wait for a thread at most.
const WAITING: usize = 16;

/// Threads that tell, and what became of it.
pub(super) struct Senders {
    queue: Option<SyncSender<Alert>>,
    threads: Vec<JoinHandle<()>>,
    counted: Arc<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

/// What is done with an alert.
#[derive(Clone, Debug)]
struct Job {
    on_failure: Vec<String>,
    on_headroom: Vec<String>,
    webhook: Option<Webhook>,
    ca_file: Option<PathBuf>,
    timeout: Duration,
}

impl Senders {
    /// As many threads as may be under way at a time; none where nobody is to be told.
    pub fn new(config: &config::Alerts) -> Senders {
        Senders::with(config, Arc::default())
    }

    /// The same under another configuration; what is under way ends by itself.
    pub fn again(&self, config: &config::Alerts) -> Senders {
        Senders::with(config, Arc::clone(&self.counted))
    }

    fn with(config: &config::Alerts, counted: Arc<Counted>) -> Senders {
        let job = Job {
            on_failure: config.on_failure.clone(),
            on_headroom: config.on_headroom.clone(),
            webhook: config.webhook.clone(),
            ca_file: config.ca_file.clone(),
            timeout: config.timeout.0,
        };
        if job.on_failure.is_empty() && job.on_headroom.is_empty() && job.webhook.is_none() {
            return Senders { queue: None, threads: Vec::new(), counted };
        }
        let (queue, waiting) = mpsc::sync_channel(WAITING);
        let waiting = Arc::new(Mutex::new(waiting));
        let start = |_| {
            let (job, waiting, counted) = (job.clone(), Arc::clone(&waiting), Arc::clone(&counted));
            thread::Builder::new().name("alerts".to_owned()).spawn(move || work(&job, &waiting, &counted))
        };
        let threads: Result<Vec<_>, _> = (0..config.at_once.max(1)).map(start).collect();
        match threads {
            Ok(threads) => Senders { queue: Some(queue), threads, counted },
            Err(error) => {
                tracing::error!("no alerts will be sent: no thread for them ({error})");
                Senders { queue: None, threads: Vec::new(), counted }
            }
        }
    }

    /// Tells it soon, or counts that it could not be.
    pub fn send(&self, alert: Alert) {
        let Some(queue) = &self.queue else { return };
        if let Err(TrySendError::Full(alert) | TrySendError::Disconnected(alert)) = queue.try_send(alert) {
            self.counted.dropped.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("too many alerts are under way, this one is not sent: {}", alert.text);
        }
    }

    /// What became of all.
    pub fn counts(&self) -> Counts {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counted { sent, failed, dropped } = &*self.counted;
        Counts { sent: get(sent), failed: get(failed), dropped: get(dropped), suppressed: 0 }
    }

    /// Waits until what was asked for has been told, or that moment has come.
    pub fn finish(mut self, until: Instant) {
        self.queue = None;
        while self.threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        let late = self.threads.iter().filter(|thread| !thread.is_finished()).count();
        if late > 0 {
            tracing::warn!("{late} alerts were still under way at the end, and are given up");
        }
    }
}

fn work(job: &Job, waiting: &Mutex<Receiver<Alert>>, counted: &Counted) {
    if job.on_failure.is_empty() && job.on_headroom.is_empty() {
        // It talks to a network, and ends no command: it needs no rights, whatever the others have.
        for set in [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
            if let Err(error) = caps::clear(None, set) {
                tracing::warn!("a thread for alerts keeps rights that it does not need: {error}");
            }
        }
    }
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(alert) = next else { return };
        let command = match alert.cause {
            Cause::Failure => &job.on_failure,
            Cause::Headroom => &job.on_headroom,
        };
        if let [program, args @ ..] = command.as_slice() {
            count(command::run(program, args, &alert, job.timeout), &format!("command `{program}`"), counted);
        }
        if let Some(webhook) = &job.webhook {
            let result = post::post(webhook, job.ca_file.as_deref(), &alert, job.timeout);
            count(result, &format!("post to `{}`", webhook.0), counted);
        }
    }
}

fn count(result: Result<(), String>, what: &str, counted: &Counted) {
    match result {
        Ok(()) => counted.sent.fetch_add(1, Ordering::Relaxed),
        Err(why) => {
            tracing::error!("the {what} for an alert failed: {why}");
            counted.failed.fetch_add(1, Ordering::Relaxed)
        }
    };
}
