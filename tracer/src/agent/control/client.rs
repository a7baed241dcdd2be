//! One question to an agent.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use super::{ANSWER_MAX, Answer, ControlError, Request};

/// How long an answer may take: a census or a dump of much takes seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks, and waits for the answer.
///
/// # Errors
///
/// When nobody is there, or what is there does not answer.
pub fn ask(path: &Path, request: &Request) -> Result<Answer, ControlError> {
    let talk = |source| ControlError::Talk { path: path.to_owned(), source };
    let answer = |why: String| ControlError::Answer { path: path.to_owned(), why };
    let mut stream = UnixStream::connect(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            ControlError::Nobody { path: path.to_owned(), source }
        }
        _ => talk(source),
    })?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(talk)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(talk)?;
    let mut line = serde_json::to_vec(request).map_err(|error| talk(error.into()))?;
    line.push(b'\n');
    // Whoever may not ask is told so before it has asked.
    let written = stream.write_all(&line);
    let mut text = String::new();
    let read = BufReader::new(stream).take(ANSWER_MAX as u64).read_line(&mut text);
    if text.is_empty() {
        written.map_err(talk)?;
    }
    read.map_err(talk)?;
    if text.is_empty() {
        return Err(answer("it ended before it answered, or this user may not ask".to_owned()));
    }
    serde_json::from_str(&text).map_err(|error| answer(error.to_string()))
}
