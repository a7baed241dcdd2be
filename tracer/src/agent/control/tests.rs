use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::agent::control::ask;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Answers every request with its own words until `peer` has ended.
fn serve<T: Send + 'static>(path: &Path, peer: impl FnOnce(PathBuf) -> T + Send + 'static) -> T {
    runtime().block_on(async {
        let mut server = Server::bind(path).unwrap();
        let there = path.to_owned();
        let mut peer = tokio::task::spawn_blocking(move || peer(there));
        loop {
            tokio::select! {
                asked = server.next() => {
                    let Asked { request, answer } = asked.unwrap();
                    let _ = answer.send(Answer::done(format!("{request:?}")));
                }
                ended = &mut peer => return ended.unwrap(),
            }
        }
    })
}

fn write(stream: &mut Probe, text: &str) {
    io::Write::write_all(stream, text.as_bytes()).unwrap();
}

fn line(stream: &mut io::BufReader<Probe>) -> String {
    let mut text = String::new();
    io::BufRead::read_line(stream, &mut text).unwrap();
    text
}

#[test]
fn requests_are_answered_one_after_the_other_and_bad_ones_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("below/agent.sock");
    serve(&path, |path| {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(ask(&path, &Request::Status).unwrap(), Answer::done("Status"));
        let mut stream = Probe::connect(&path).unwrap();
        let mut answers = io::BufReader::new(stream.try_clone().unwrap());
        write(&mut stream, "{\"do\":\"census\"}\nnonsense\n{\"do\":\"mark\",\"text\":\"a\"}\n");
        assert!(line(&mut answers).contains("Census"));
        assert!(line(&mut answers).contains("that is no request"));
        assert!(line(&mut answers).contains("Mark"));
        // One that is too long is the last.
        write(&mut stream, &"x".repeat(REQUEST_MAX));
        assert!(line(&mut answers).contains("at most"));
        assert_eq!(line(&mut answers), "");
        // One that is cut is told so, or nobody is left to be told.
        let mut half = Probe::connect(&path).unwrap();
        write(&mut half, "{\"do\":");
        half.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(line(&mut io::BufReader::new(half)).contains("one line"));
        assert_eq!(ask(&path, &Request::Dump).unwrap(), Answer::done("Dump"));
    });
    assert!(!path.exists(), "the socket goes with its agent");
}

#[test]
fn more_peers_than_are_listened_to_wait_for_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    serve(&folder.path().join("agent.sock"), |path| {
        let idle: Vec<Probe> = (0..PEERS).map(|_| Probe::connect(&path).unwrap()).collect();
        let last = path.clone();
        let waiting = std::thread::spawn(move || ask(&last, &Request::Status));
        drop(idle);
        assert!(waiting.join().unwrap().unwrap().ok);
    });
}

#[test]
fn a_second_agent_is_refused_and_a_dead_ones_socket_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sock");
    runtime().block_on(async {
        let first = Server::bind(&path).unwrap();
        let refused = Server::bind(&path).err().unwrap();
        assert!(refused.to_string().contains("another agent runs"), "{refused}");
        drop(first);
    });
    // What a kill leaves: a socket that nobody listens on.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let error = ask(&path, &Request::Status).unwrap_err();
    assert!(error.to_string().contains("no agent listens"), "{error}");
    serve(&path, |path| assert!(ask(&path, &Request::Status).unwrap().ok));
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sock");
    fs::write(&path, "precious").unwrap();
    let _runtime = runtime();
    let _entered = _runtime.enter();
    let error = Server::bind(&path).err().unwrap();
    assert!(error.to_string().contains("is no socket"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    fs::remove_file(&path).unwrap();
    // Somebody else listens there, without our lock.
    let _stranger = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(matches!(Server::bind(&path), Err(ControlError::Taken(_))));
}
