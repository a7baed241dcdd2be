//! Segments: what an agent writes for the questions that are asked of many machines at once.
//!
//! Rows of completed execs, failures, tables, marks and coverage become Parquet files below a folder or in object storage,
//! `date=…/host=…/`. They lie in a spool on the machine first: what ends the agent loses the last second at most, and a
//! store that can't be reached costs nothing but room. `docs/segments.md` has the columns.

pub mod columns;
mod error;
mod file;
mod name;
mod place;
mod row;
mod spool;
mod upload;

#[cfg(test)]
mod tests;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

pub use columns::Row;
pub use error::Error;
pub use file::{Writer, head, look};
pub use name::{Head, version_of};
pub use place::Place;
pub use row::{Missing, Origin};
pub use upload::Status;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use spool::{Open, Spool};
use upload::{Order, Shared, Uploader};

/// After rows could not be written it is tried again so much later, nanoseconds.
const AGAIN_NS: u64 = 10_000_000_000;
/// What can't be cut short, as making a file of rows, may take the thread that sends so much longer than it has. Then it is left to
/// the end of the process.
const GRACE: Duration = Duration::from_millis(300);

/// Where segments go, and how large they become.
#[derive(Clone, Debug)]
pub struct Settings {
    /// As [`Place::parse`] takes it.
    pub url: String,
    /// Folder on this machine in which they wait.
    pub spool: PathBuf,
    /// A segment is closed after so long, nanoseconds; and at midnight, UTC.
    pub interval_ns: u64,
    /// And when its rows have so many bytes in the spool.
    pub max_bytes: u64,
    /// Closed segments may take so many bytes in the spool; beyond that the oldest are removed.
    pub spool_max_bytes: u64,
}

/// Writes the segments of a trace.
pub struct Segments {
    settings: Settings,
    origin: Origin,
    spool: Arc<Spool>,
    open: Option<(Open, u64)>,
    number: u64,
    again_ns: u64,
    told: Missing,
    status: Shared,
    orders: UnboundedSender<Order>,
    /// The thread that sends has ended when nobody is there at its other end.
    ended: mpsc::Receiver<()>,
    /// By when it is to end, once that is known.
    until: Option<Instant>,
}

impl Segments {
    /// Takes the spool and begins to send what lies in it.
    ///
    /// # Errors
    ///
    /// When place or spool can't be used. A store that does not answer is none: it is tried again.
    pub fn start(settings: Settings, origin: Origin) -> Result<Segments, Error> {
        let place = Place::parse(&settings.url)?;
        place.make()?;
        let spool = Arc::new(Spool::take(&settings.spool)?);
        let status = Shared::default();
        let uploader =
            Uploader { spool: Arc::clone(&spool), place, max_bytes: settings.spool_max_bytes, status: status.clone() };
        let (orders, taken) = unbounded_channel();
        let (running, ended) = mpsc::channel();
        let work = move || {
            uploader.run(taken);
            // Whoever hears of the end may take the spool.
            drop(uploader);
            drop(running);
        };
        let thread = std::thread::Builder::new().name("segments".to_owned());
        thread.spawn(work).map_err(Error::file("start a thread for", &settings.spool))?;
        let (open, until, told) = (None, None, Missing::default());
        Ok(Segments { settings, origin, spool, open, number: 0, again_ns: 0, told, status, orders, ended, until })
    }

    /// What the rows of this trace have in common, and how they are made.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Adds rows: those of [`Origin`]. `now_ns` is boot time.
    pub fn push(&mut self, rows: &[Row], now_ns: u64) {
        if self.open.is_none() && now_ns >= self.again_ns {
            self.begin(now_ns);
        }
        let Some((open, _)) = &mut self.open else {
            return self.status.change(|status| status.dropped_rows += rows.len() as u64);
        };
        for (at, row) in rows.iter().enumerate() {
            if let Err(error) = open.push(row) {
                let left = (rows.len() - at - 1) as u64;
                self.status.change(|status| status.dropped_rows += left);
                self.again_ns = now_ns.saturating_add(AGAIN_NS);
                return self.broken(&error.to_string());
            }
        }
    }

    /// Adds a mark.
    pub fn mark(&mut self, at_ns: u64, text: &str) {
        let row = self.origin.mark(at_ns, text);
        self.push(&[row], at_ns);
        self.flush();
    }

    /// Whether the segment is due: call [`Segments::rotate`].
    #[must_use]
    pub fn is_due(&self, now_ns: u64) -> bool {
        match &self.open {
            Some((open, from_ns)) => {
                now_ns.saturating_sub(*from_ns) >= self.settings.interval_ns
                    || open.bytes() >= self.settings.max_bytes
                    || name::day(self.origin.wall_ns(now_ns)) != open.head().date
            }
            None => now_ns >= self.again_ns,
        }
    }

    /// Closes the segment with these rows of tables in use and what may be missing, and begins the next one.
    pub fn rotate(&mut self, now_ns: u64, tables: Vec<Row>, missing: Missing) {
        if self.open.is_some() {
            self.end(now_ns, tables, missing);
        }
        self.begin(now_ns);
    }

    /// What was added is handed to the system: call it every second or so.
    pub fn flush(&mut self) {
        let Some((open, _)) = &mut self.open else { return };
        if let Err(error) = open.flush() {
            return self.broken(&error.to_string());
        }
        if self.status.get().spool_trouble.is_some() {
            self.status.change(|status| status.spool_trouble = None);
            log::info!("rows are written to the spool `{}` again", self.spool.folder().display());
        }
    }

    /// How far segments have come.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.get()
    }

    /// The trace has ended: closes the segment as [`Segments::rotate`] does. Until that moment is sent what can be sent;
    /// [`Segments::wait`] waits for it.
    pub fn finish(&mut self, now_ns: u64, tables: Vec<Row>, missing: Missing, until: Instant) {
        self.end(now_ns, tables, missing);
        self.stop(until);
    }

    /// Waits until everything is sent, or for as long as there is time for it; how far segments have come then.
    pub fn wait(self) -> Status {
        if let Some(until) = self.until {
            self.join(until);
        }
        self.status.get()
    }

    fn end(&mut self, now_ns: u64, mut rows: Vec<Row>, missing: Missing) {
        let now = Missing { dropped: self.status.get().dropped_rows, ..missing };
        rows.push(self.origin.coverage(now_ns, self.told, now));
        self.push(&rows, now_ns);
        self.flush();
        if let Some((open, _)) = self.open.take() {
            self.told = now;
            if let Err(error) = open.close() {
                self.broken(&error.to_string());
            }
            // A thread that has gone has told why.
            let _ = self.orders.send(Order::Closed);
        }
    }

    fn begin(&mut self, now_ns: u64) {
        self.number += 1;
        match self.spool.begin(Head::new(&self.origin, self.number, now_ns)) {
            Ok(open) => self.open = Some((open, now_ns)),
            Err(error) => {
                self.again_ns = now_ns.saturating_add(AGAIN_NS);
                self.broken(&format!("{error}"));
            }
        }
    }

    /// The open segment can't be written: it is closed with what is in it.
    fn broken(&mut self, why: &str) {
        let text = format!(
            "rows could not be written to the spool `{}` ({why}); they are counted as dropped until it has room again",
            self.spool.folder().display()
        );
        if self.status.get().spool_trouble.is_none() {
            log::warn!("{text}");
        }
        self.status.change(|status| status.spool_trouble = Some(text));
        if let Some((open, _)) = self.open.take() {
            self.status.change(|status| status.dropped_rows += open.pending());
            // It is told already.
            let _ = open.close();
        }
    }

    fn stop(&mut self, until: Instant) {
        self.until = Some(until);
        // A thread that has gone has told why.
        let _ = self.orders.send(Order::End(until));
    }

    fn join(&self, until: Instant) {
        let wait = until.saturating_duration_since(Instant::now()) + GRACE;
        if matches!(self.ended.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
            log::warn!(
                "the thread that sends segments did not end in time; what it has not sent stays in the spool `{}` for the next agent",
                self.spool.folder().display()
            );
        }
    }
}

/// An agent that ends in trouble leaves its segments to the next one.
impl Drop for Segments {
    fn drop(&mut self) {
        self.flush();
        if let Some((open, _)) = self.open.take() {
            let _ = open.close();
        }
        if self.until.is_none() {
            let now = Instant::now();
            self.stop(now);
            self.join(now);
        }
    }
}
