//! What a service manager and a journal see.

use std::{
    fs,
    os::unix::{fs::MetadataExt as _, net::UnixDatagram},
    time::Duration,
};

use tempfile::TempDir;

use crate::{
    service::Agent,
    support::{self, limits::kill},
};

/// Messages until one has this line; gives all of it.
fn until(socket: &UnixDatagram, line: &str) -> String {
    let mut bytes = [0; 4096];
    loop {
        let count = socket.recv(&mut bytes).unwrap_or_else(|error| panic!("no `{line}`: {error}"));
        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
        if text.lines().any(|found| found == line) {
            return text;
        }
    }
}

#[test]
fn the_manager_hears_of_start_reload_and_end_and_of_every_turn() {
    let Some(_kernel) = support::kernel() else { return };
    let place = TempDir::new().expect("a folder");
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    let agent = Agent::start_in(TempDir::new().expect("a folder"), "", |command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "400000")
    });
    until(&socket, "READY=1");
    until(&socket, "WATCHDOG=1");
    until(&socket, "WATCHDOG=1");
    kill(agent.pid(), libc::SIGHUP);
    let reloading = until(&socket, "RELOADING=1");
    assert!(reloading.contains("MONOTONIC_USEC="), "{reloading}");
    until(&socket, "READY=1");
    agent.end();
    until(&socket, "STOPPING=1");
}

#[test]
fn a_journal_gets_priorities_instead_of_times() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("log"), "").expect("a log");
    let log = fs::metadata(folder.path().join("log")).expect("a log");
    let stream = format!("{}:{}", log.dev(), log.ino());
    let agent = Agent::start_in(folder, "", |command| command.env("JOURNAL_STREAM", stream));
    agent.until_logged("<6>tracing with");
    let (folder, _) = agent.end();
    let log = fs::read_to_string(folder.path().join("log")).expect("a log");
    assert!(log.lines().all(|line| line.starts_with('<')), "{log}");
}
