//! The thread that servers and pushes run on.

use std::{
    convert::Infallible,
    future, io,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use caps::CapSet;
use tokio::sync::oneshot;

use super::{
    MetricsError, Published, Tally,
    config::Otlp,
    endpoint::Endpoint,
    otlp::{Push, events::Telling, queue::Queue},
};

/// The thread may take so much longer than it has. Then it is left to the end of the process.
const GRACE: Duration = Duration::from_millis(300);

/// What is pushed, and what for.
pub struct Pushing {
    /// The configuration.
    pub config: Otlp,
    /// Name of this machine.
    pub host: String,
    /// How events are told.
    pub telling: Telling,
    /// Events that wait.
    pub queue: Queue,
}

/// A thread that serves and pushes.
pub struct Running {
    stop: Option<oneshot::Sender<Instant>>,
    stopped: mpsc::Receiver<()>,
    until: Instant,
}

impl Running {
    /// Starts it, and waits until it is ready. Signals must be blocked already: they are not for this thread.
    ///
    /// # Errors
    ///
    /// When the thread can't be had, or what it is to push can't be pushed.
    pub fn start(
        endpoint: Option<Endpoint>,
        pushing: Option<Pushing>,
        published: Published,
        tally: Tally,
    ) -> Result<Running, MetricsError> {
        let (ready, is_ready) = mpsc::channel();
        let (ended, stopped) = mpsc::channel();
        let (stop, asked) = oneshot::channel();
        let work = move || {
            // It listens to a network: it has no rights that it does not need, whatever the others have.
            for set in [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
                if let Err(error) = caps::clear(None, set) {
                    log::warn!("the thread of the exporters keeps rights that it does not need: {error}");
                }
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime.map_err(MetricsError::Thread) {
                Ok(runtime) => runtime.block_on(run(endpoint, pushing, published, tally, ready, asked)),
                Err(error) => drop(ready.send(Err(error))),
            }
            drop(ended);
        };
        thread::Builder::new().name("exporters".to_owned()).spawn(work).map_err(MetricsError::Thread)?;
        match is_ready.recv() {
            Ok(ready) => ready?,
            Err(_) => return Err(MetricsError::Thread(io::Error::other("it ended at once"))),
        }
        Ok(Running { stop: Some(stop), stopped, until: Instant::now() })
    }

    /// Has it push what there is until that moment at most, and end.
    pub fn stop(&mut self, until: Instant) {
        self.until = until;
        // A thread that has gone has told why.
        let _ = self.stop.take().map(|stop| stop.send(until));
    }

    /// Waits until it has ended, or for as long as it had time for it.
    pub fn wait(self) {
        let wait = self.until.saturating_duration_since(Instant::now()) + GRACE;
        if let Err(RecvTimeoutError::Timeout) = self.stopped.recv_timeout(wait) {
            log::warn!("the exporters did not end in time");
        }
    }
}

async fn run(
    endpoint: Option<Endpoint>,
    pushing: Option<Pushing>,
    published: Published,
    tally: Tally,
    ready: mpsc::Sender<Result<(), MetricsError>>,
    asked: oneshot::Receiver<Instant>,
) {
    let push = pushing.map(|pushing| {
        let Pushing { config, host, telling, queue } = pushing;
        Push::new(&config, &host, telling, published, queue, tally)
    });
    let mut push = match push.transpose() {
        Ok(push) => push,
        Err(error) => return drop(ready.send(Err(error))),
    };
    let _ = ready.send(Ok(()));
    let until = tokio::select! {
        never = serve(endpoint) => match never {},
        never = pushed(push.as_mut()) => match never {},
        asked = asked => asked,
    };
    // Where nobody asks for it, nobody waits for a last push.
    if let (Some(push), Ok(until)) = (&mut push, until) {
        push.finish(until.saturating_duration_since(Instant::now())).await;
    }
}

async fn serve(endpoint: Option<Endpoint>) -> Infallible {
    if let Some(endpoint) = endpoint
        && let Err(error) = endpoint.serve().await
    {
        log::error!("the metrics endpoint can't go on: {error}");
    }
    future::pending().await
}

async fn pushed(push: Option<&mut Push>) -> Infallible {
    match push {
        Some(push) => push.run().await,
        None => future::pending().await,
    }
}
