//! The thread that servers and pushes run on.

use std::{
    convert::Infallible,
    future, io,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use caps::CapSet;
use tokio::sync::oneshot;

use super::{
    MetricsError, Published, Tally,
    config::Otlp,
    endpoint::Endpoint,
    otlp::{Push, events::Telling, queue::Queue},
};

/// The last push has this long.
const LAST: Duration = Duration::from_millis(1500);
/// Then the thread is left to the end of the process.
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
    stop: oneshot::Sender<()>,
    stopped: mpsc::Receiver<()>,
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
        Ok(Running { stop, stopped })
    }

    /// Has it push what there is, and end. Takes two seconds at most.
    pub fn stop(self) {
        let _ = self.stop.send(());
        if let Err(RecvTimeoutError::Timeout) = self.stopped.recv_timeout(LAST + GRACE) {
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
    asked: oneshot::Receiver<()>,
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
    tokio::select! {
        never = serve(endpoint) => match never {},
        never = pushed(push.as_mut()) => match never {},
        _ = asked => {}
    }
    if let Some(push) = &mut push {
        push.finish(LAST).await;
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
