//! What takes closed segments from the spool to their place: a thread of its own, so that no trace waits for it.

use std::{
    fs::{self, File},
    path::Path,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use caps::{CapSet, Capability, CapsHashSet, errors::CapsError};
use object_store::{ObjectStoreExt as _, PutPayload};
use serde::Serialize;
use tokio::{sync::mpsc::UnboundedReceiver, time};

use super::{
    Error, Place, file,
    name::READY,
    spool::{self, Spool, Waiting},
};
use crate::memory;

/// Wait after the first failure; doubled after each further one, up to [`LONGEST`].
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// How far segments have come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Segments sent since the agent started.
    pub sent: u64,
    /// Rows in them.
    pub sent_rows: u64,
    /// Bytes in them.
    pub sent_bytes: u64,
    /// Closed segments that wait in the spool.
    pub waiting: u64,
    /// Bytes of them.
    pub waiting_bytes: u64,
    /// Segments that were removed unsent, for room.
    pub dropped: u64,
    /// Rows that never came into a segment, or were in those.
    pub dropped_rows: u64,
    /// Files in the spool that could not be made sense of, and were set aside as `.bad`.
    pub bad: u64,
    /// What went wrong when segments were last sent; none since all went well.
    pub trouble: Option<String>,
    /// What went wrong when rows were last written to the spool; none since they are again.
    pub spool_trouble: Option<String>,
}

/// A status that thread and agent share.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared(Arc<Mutex<Status>>);

impl Shared {
    pub(super) fn get(&self) -> Status {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// What the agent tells the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A segment was closed.
    Closed,
    /// Send what you can until then, and end.
    End(Instant),
}

pub(super) struct Uploader {
    pub spool: Arc<Spool>,
    pub place: Place,
    pub max_bytes: u64,
    pub status: Shared,
}

/// It talks to a network. Of root's rights it keeps the one that lets it into a spool of somebody else's.
fn give_up_rights() -> Result<(), CapsError> {
    let mut left = caps::read(None, CapSet::Permitted)?;
    left.retain(|capability| *capability == Capability::CAP_DAC_OVERRIDE);
    caps::set(None, CapSet::Inheritable, &CapsHashSet::new())?;
    caps::set(None, CapSet::Effective, &left)?;
    caps::set(None, CapSet::Permitted, &left)
}

impl Uploader {
    /// Works until it is told to end.
    pub(super) fn run(&self, mut orders: UnboundedReceiver<Order>) {
        if let Err(error) = give_up_rights() {
            log::warn!("the thread that sends segments keeps rights that it does not need: {error}");
        }
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return self.trouble(&format!("failed to start a runtime for segments: {error}")),
        };
        let last = runtime.block_on(self.work(&mut orders));
        // A name that nobody resolves, or a folder of a machine that does not answer, has threads of its own: nobody waits for them.
        runtime.shutdown_background();
        self.left(last);
    }

    /// Round after round, until it is told to end. What the last one came to; none if there was no time for all of it.
    async fn work(&self, orders: &mut UnboundedReceiver<Order>) -> Option<Result<(), Error>> {
        let mut pause = FIRST;
        loop {
            let mut round = pin!(self.round());
            let (result, closed) = match until_ended(orders, round.as_mut()).await {
                Ok(done) => done,
                Err(until) => {
                    // The round may have begun before the last segment was closed: another one sends that. What there is no time
                    // for stays in the spool, as a segment is removed there once it is in its place.
                    let rest = async {
                        let _ = round.await;
                        self.round().await
                    };
                    return time::timeout_at(until.into(), rest).await.ok();
                }
            };
            let wait = match result {
                Err(error) => {
                    let wait = pause;
                    self.failed(&error, wait);
                    pause = (pause * 2).min(LONGEST);
                    wait
                }
                Ok(()) => {
                    pause = FIRST;
                    LONGEST
                }
            };
            if !closed && let Err(until) = wait_for(orders, wait).await {
                return time::timeout_at(until.into(), self.round()).await.ok();
            }
        }
    }

    /// Everything that waits, oldest first, until one fails.
    async fn round(&self) -> Result<(), Error> {
        self.convert()?;
        // One that was closed meanwhile is not ready; its order leads to the next round.
        for waiting in self.room()?.iter().filter(|waiting| waiting.ready) {
            self.send(&waiting.path).await?;
            self.count()?;
        }
        let was = self.status.get().trouble;
        self.status.change(|status| status.trouble = None);
        if let Some(was) = was {
            log::info!("segments are sent again, after: {was}");
        }
        Ok(())
    }

    /// Closed rows become Parquet, which takes a small part of their room.
    fn convert(&self) -> Result<(), Error> {
        for waiting in self.spool.waiting()?.iter().filter(|waiting| !waiting.ready) {
            let converted = file::convert(&waiting.path);
            // Columns of a whole segment were more than all that an agent keeps.
            memory::trim();
            match converted {
                Err(Error::Foreign { name, why }) => self.set_aside(&waiting.path, &format!("`{name}`: {why}"))?,
                other => drop(other?),
            }
        }
        Ok(())
    }

    async fn send(&self, path: &Path) -> Result<(), Error> {
        let (head, rows) = match file::look(path) {
            Err(Error::Foreign { name, why }) => return self.set_aside(path, &format!("`{name}`: {why}")),
            other => other?,
        };
        let bytes = fs::read(path).map_err(Error::file("read", path))?;
        let size = bytes.len() as u64;
        let object = self.place.object(&head.object);
        let failed = |source| Error::Send { name: self.place.shown(&object), source };
        let to = object_store::path::Path::parse(&object).map_err(|error| failed(error.into()))?;
        self.place.store.put(&to, PutPayload::from(bytes)).await.map_err(failed)?;
        if let Some(folder) = self.place.path() {
            // The spool's file goes next: this one must be on the disk.
            let sent = folder.join(&head.object);
            File::open(&sent).and_then(|file| file.sync_all()).map_err(Error::file("write", &sent))?;
        }
        spool::remove(path)?;
        self.status.change(|status| {
            status.sent += 1;
            status.sent_rows += rows;
            status.sent_bytes += size;
        });
        Ok(())
    }

    /// Removes the oldest segments until the others have room, and gives those.
    fn room(&self) -> Result<Vec<Waiting>, Error> {
        let mut waiting = self.count()?;
        let mut bytes: u64 = waiting.iter().map(|waiting| waiting.bytes).sum();
        while bytes > self.max_bytes && waiting.len() > 1 {
            let oldest = waiting.remove(0);
            let rows = rows_of(&oldest);
            spool::remove(&oldest.path)?;
            bytes -= oldest.bytes;
            self.status.change(|status| {
                status.dropped += 1;
                status.dropped_rows += rows;
            });
            log::warn!(
                "the spool `{}` is full: a segment of {rows} rows was removed unsent; give it more room, or see why \
                 segments can't be sent",
                self.spool.folder().display()
            );
        }
        self.count()
    }

    fn count(&self) -> Result<Vec<Waiting>, Error> {
        let waiting = self.spool.waiting()?;
        self.status.change(|status| {
            status.waiting = waiting.len() as u64;
            status.waiting_bytes = waiting.iter().map(|waiting| waiting.bytes).sum();
        });
        Ok(waiting)
    }

    /// A file that will never be a segment must not keep the others from being sent.
    fn set_aside(&self, path: &Path, why: &str) -> Result<(), Error> {
        log::warn!("{why}; it was set aside as `.bad` in the spool");
        self.status.change(|status| status.bad += 1);
        spool::rename(path, if path.extension().is_some_and(|end| end == READY) { "parquet.bad" } else { "bad" })
    }

    fn failed(&self, error: &Error, pause: Duration) {
        let text = told(error);
        let first = self.status.get().trouble.is_none();
        if first {
            log::warn!("{text}; segments wait in the spool and are tried again, in {} s at first", pause.as_secs());
        } else {
            log::debug!("{text}; tried again in {} s", pause.as_secs());
        }
        self.status.change(|status| status.trouble = Some(text));
        // How many wait now is told too, and room is made; a folder that can't be listed is the trouble already.
        let _ = self.room();
    }

    fn trouble(&self, text: &str) {
        log::warn!("{text}");
        self.status.change(|status| status.trouble = Some(text.to_owned()));
    }

    /// The agent ends: what is left waits for the next one.
    fn left(&self, result: Option<Result<(), Error>>) {
        if let Some(Err(error)) = &result {
            self.status.change(|status| status.trouble = Some(told(error)));
        }
        let left = self.spool.waiting().map_or(0, |waiting| waiting.len());
        self.status.change(|status| status.waiting = left as u64);
        if left > 0 {
            log::warn!("{left} segments stay in the spool `{}` for the next agent", self.spool.folder().display());
        }
    }
}

/// What a round comes to, and whether segments were closed meanwhile; the moment by which to end, where that is ordered before.
async fn until_ended<T>(
    orders: &mut UnboundedReceiver<Order>,
    mut round: Pin<&mut impl Future<Output = T>>,
) -> Result<(T, bool), Instant> {
    let mut closed = false;
    loop {
        tokio::select! {
            order = orders.recv() => {
                end(order)?;
                closed = true;
            }
            result = &mut round => return Ok((result, closed)),
        }
    }
}

/// Waits for an order, and for so long at most; the moment by which to end, if it is time.
async fn wait_for(orders: &mut UnboundedReceiver<Order>, wait: Duration) -> Result<(), Instant> {
    match time::timeout(wait, orders.recv()).await {
        Ok(order) => end(order),
        Err(_) => Ok(()),
    }
}

/// The moment by which to end, if that is what was ordered. Nobody is there to order more: at once.
fn end(order: Option<Order>) -> Result<(), Instant> {
    match order {
        Some(Order::Closed) => Ok(()),
        Some(Order::End(until)) => Err(until),
        None => Err(Instant::now()),
    }
}

fn rows_of(waiting: &Waiting) -> u64 {
    let mut rows = 0;
    if waiting.ready {
        rows = file::look(&waiting.path).map_or(0, |(_, rows)| rows);
    } else {
        // What can't be read has no rows to lose.
        let _ = spool::read(&waiting.path, |_| {
            rows += 1;
            Ok(())
        });
    }
    rows
}

/// An error with its causes, in one line.
fn told(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}
