//! The agent's end of the socket. Whoever talks to it waits; the trace does not.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::{
        fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, fchown, lchown},
        net::UnixStream as Probe,
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream},
    sync::{Semaphore, mpsc, oneshot},
    time::timeout,
};

use super::{Answer, ControlError, REQUEST_MAX, Request};

/// Peers that are listened to at a time.
const PEERS: usize = 8;
/// How long a peer may take to ask, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request that waits for its answer.
#[derive(Debug)]
pub struct Asked {
    /// What is asked.
    pub request: Request,
    /// Where the answer goes.
    pub answer: oneshot::Sender<Answer>,
}

/// The socket. Dropping it takes it away.
pub struct Server {
    path: PathBuf,
    inode: u64,
    requests: mpsc::Receiver<Asked>,
    accepting: tokio::task::JoinHandle<()>,
    /// Held for as long as the socket is ours.
    _lock: File,
}

impl Server {
    /// Makes the socket, for this user and root only, and begins to listen. Needs a running runtime.
    ///
    /// # Errors
    ///
    /// When another agent has it, or it can't be made.
    pub fn bind(path: &Path) -> Result<Server, ControlError> {
        let failed = |source| ControlError::Bind { path: path.to_owned(), source };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
            fs::DirBuilder::new().mode(0o755).recursive(true).create(folder).map_err(failed)?;
        }
        let lock = lock(path)?;
        clear(path)?;
        // From its first moment on nobody else may connect; files of other threads are made a little too private meanwhile.
        // SAFETY: no preconditions.
        let mask = unsafe { libc::umask(0o177) };
        let bound = UnixListener::bind(path);
        // SAFETY: as above.
        unsafe { libc::umask(mask) };
        let listener = bound.map_err(failed)?;
        let inode = path.symlink_metadata().map_err(failed)?.ino();
        let (ask, requests) = mpsc::channel(PEERS);
        let accepting = tokio::spawn(accept(listener, ask));
        Ok(Server { path: path.to_owned(), inode, requests, accepting, _lock: lock })
    }

    /// Makes this user its owner, as whom the agent goes on.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn give(&self, uid: u32, gid: u32) -> Result<(), ControlError> {
        let failed = |source| ControlError::Bind { path: self.path.clone(), source };
        // Not through a link that somebody has put there meanwhile.
        lchown(&self.path, Some(uid), Some(gid)).map_err(failed)?;
        fchown(&self._lock, Some(uid), Some(gid)).map_err(failed)
    }

    /// The next request.
    pub async fn next(&mut self) -> Option<Asked> {
        self.requests.recv().await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
        // Not one that somebody else has put there since.
        if self.path.symlink_metadata().is_ok_and(|found| found.ino() == self.inode)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!("the socket `{}` is left there for the next agent: {error}", self.path.display());
        }
    }
}

/// Of two agents that begin at the same time one gets it.
fn lock(path: &Path) -> Result<File, ControlError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let failed = |source| ControlError::Bind { path: path.to_owned(), source };
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(name).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(ControlError::Taken(path.to_owned())),
        Err(fs::TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Takes away what an agent left that was killed.
fn clear(path: &Path) -> Result<(), ControlError> {
    let failed = |source| ControlError::Bind { path: path.to_owned(), source };
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(failed)?,
    };
    if !found.file_type().is_socket() {
        return Err(ControlError::Foreign(path.to_owned()));
    }
    match Probe::connect(path) {
        Ok(_) => Err(ControlError::Taken(path.to_owned())),
        Err(_) => fs::remove_file(path).map_err(failed),
    }
}

async fn accept(listener: UnixListener, ask: mpsc::Sender<Asked>) {
    let room = Arc::new(Semaphore::new(PEERS));
    loop {
        // With all of them talking the next one waits in the kernel's queue.
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let ask = ask.clone();
                tokio::spawn(async move {
                    if let Err(error) = talk(stream, ask).await {
                        tracing::debug!("a peer of the control socket went: {error}");
                    }
                    drop(permit);
                });
            }
            Err(error) => {
                // The agent's own limit on descriptors, most likely: it passes.
                tracing::warn!("failed to accept on the control socket: {error}");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn talk(stream: UnixStream, ask: mpsc::Sender<Asked>) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    // SAFETY: no preconditions.
    let own = unsafe { libc::geteuid() };
    let (reader, mut writer) = stream.into_split();
    if peer.uid() != 0 && peer.uid() != own {
        tracing::warn!("refused user {} on the control socket", peer.uid());
        return say(&mut writer, &Answer::refused("only root and the agent's own user may ask")).await;
    }
    converse(reader, writer, ask).await
}

/// What a peer that may ask gets: an answer to each line, until it has no more, or can't be understood. Needs a runtime with time.
///
/// # Errors
///
/// When the peer goes, or takes too long.
pub async fn converse(
    reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    ask: mpsc::Sender<Asked>,
) -> io::Result<()> {
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut reader).take(REQUEST_MAX as u64);
        if timeout(PATIENCE, bounded.read_until(b'\n', &mut line)).await?? == 0 {
            return Ok(());
        }
        let (answer, last) = answer(&line, &ask).await;
        say(&mut writer, &answer).await?;
        if last {
            return Ok(());
        }
    }
}

/// The answer to a line, and whether the peer can't be understood any further.
async fn answer(line: &[u8], ask: &mpsc::Sender<Asked>) -> (Answer, bool) {
    if !line.ends_with(b"\n") {
        let text = format!("a request is one line of at most {REQUEST_MAX} bytes, with its end");
        return (Answer::refused(text), true);
    }
    let request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => {
            return (Answer::refused(format!("that is no request: {error}; docs/agent.md has them all")), false);
        }
    };
    let (answer, answered) = oneshot::channel();
    let gone = || Answer::refused("the agent is about to end");
    if ask.send(Asked { request, answer }).await.is_err() {
        return (gone(), true);
    }
    (answered.await.unwrap_or_else(|_| gone()), false)
}

async fn say(writer: &mut (impl AsyncWrite + Unpin), answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    timeout(PATIENCE, writer.write_all(&line)).await?
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
