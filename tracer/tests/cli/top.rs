//! The live view on a real terminal: it shows what runs, and leaves the terminal as it was.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    mem,
    os::fd::{AsRawFd as _, OwnedFd},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    support::{self, FDTIDE},
    terminal::terminal,
};

/// As long as anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A view and the other end of its terminal.
struct Watched {
    view: Child,
    target: Child,
    ours: File,
    theirs: OwnedFd,
    seen: String,
}

impl Watched {
    fn start(args: &[&str]) -> Self {
        let (ours, theirs) = terminal();
        let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: an open terminal and a size.
        let sized = unsafe { libc::ioctl(theirs.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
        assert_eq!(sized, 0);
        let target = Command::new("sleep").arg("60").spawn().expect("sleep");
        let mut command = Command::new(FDTIDE);
        let copy = || Stdio::from(theirs.try_clone().expect("a copy"));
        command.args(args).args(["-p", &target.id().to_string()]).env("TERM", "xterm-256color");
        command.stdin(copy()).stdout(copy()).stderr(copy());
        let view = command.spawn().expect("fdtide");
        // SAFETY: an open descriptor; reads shall not wait.
        unsafe { libc::fcntl(ours.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        Self { view, target, ours, theirs, seen: String::new() }
    }

    /// Reads until this has been drawn.
    fn until(&mut self, text: &str) {
        let start = Instant::now();
        while !self.seen.contains(text) {
            assert!(start.elapsed() < PATIENCE, "no `{text}` in {:?}", self.seen);
            self.read();
        }
    }

    fn read(&mut self) {
        let mut bytes = [0; 4096];
        match self.ours.read(&mut bytes) {
            Ok(count) => self.seen.push_str(&String::from_utf8_lossy(&bytes[..count])),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }

    /// Whether lines are edited and echoed, as before.
    fn is_cooked(&self) -> bool {
        // SAFETY: plain integers; zero is a value of each.
        let mut state: libc::termios = unsafe { mem::zeroed() };
        // SAFETY: an open terminal and a place for its state.
        assert_eq!(unsafe { libc::tcgetattr(self.theirs.as_raw_fd(), &raw mut state) }, 0);
        state.c_lflag & (libc::ICANON | libc::ECHO) == libc::ICANON | libc::ECHO
    }

    /// The view ends, and the terminal is what it was; gives what was printed after that.
    fn ended(mut self) -> String {
        let start = Instant::now();
        let status = loop {
            self.read();
            if let Some(status) = self.view.try_wait().expect("its state") {
                break status;
            }
            assert!(start.elapsed() < PATIENCE, "it runs on");
        };
        for _ in 0..5 {
            self.read();
        }
        assert!(status.success(), "{status}: {:?}", self.seen);
        assert!(self.is_cooked(), "the terminal is left raw");
        let (_, after) = self.seen.rsplit_once("\x1b[?1049l").expect("the other screen was left");
        assert!(self.seen.contains("\x1b[?25h"), "the cursor is shown again");
        self.target.kill().expect("ended");
        self.target.wait().expect("reaped");
        after.to_owned()
    }
}

#[test]
fn a_key_ends_the_view_and_the_report_follows() {
    let Some(_kernel) = support::kernel() else { return };
    let mut watched = Watched::start(&["top"]);
    watched.until("sleep");
    assert!(!watched.is_cooked());
    watched.ours.write_all(b"?").expect("a key");
    watched.until("RLIMIT_NOFILE");
    watched.seen.clear();
    watched.ours.write_all(b"\x1b").expect("a key");
    watched.until("crests");
    watched.ours.write_all(b"\x03").expect("a key");
    let report = watched.ended();
    assert!(report.contains("high-water") && report.contains("incomplete: attached"), "{report}");
}

#[test]
fn a_signal_ends_attach_on_a_terminal_as_a_key_does() {
    let Some(_kernel) = support::kernel() else { return };
    let mut watched = Watched::start(&["attach"]);
    watched.until("sleep");
    // SAFETY: our own child, which has not been reaped.
    unsafe { libc::kill(watched.view.id() as i32, libc::SIGTERM) };
    assert!(watched.ended().contains("high-water"));
}

#[test]
fn a_terminal_that_goes_away_ends_the_view() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report.txt");
    let mut watched = Watched::start(&["top", "-o", file.to_str().expect("a name")]);
    watched.until("sleep");
    let Watched { mut view, mut target, ours, theirs, .. } = watched;
    drop((ours, theirs));
    let start = Instant::now();
    while view.try_wait().expect("its state").is_none() {
        assert!(start.elapsed() < PATIENCE, "it runs on");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(std::fs::read_to_string(&file).expect("a report").contains("high-water"));
    target.kill().expect("ended");
    target.wait().expect("reaped");
}

#[test]
fn with_a_format_attach_is_no_view() {
    let Some(_kernel) = support::kernel() else { return };
    let mut watched = Watched::start(&["attach", "--duration", "300ms", "--format", "text"]);
    watched.until("high-water");
    assert!(!watched.seen.contains("\x1b[?1049h"));
    watched.view.wait().expect("its end");
    watched.target.kill().expect("ended");
    watched.target.wait().expect("reaped");
}

#[test]
fn without_a_terminal_top_says_what_to_do() {
    let out = Command::new(FDTIDE).args(["top", "-p", "1"]).stdin(Stdio::null()).output().expect("fdtide");
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("fdtide attach"));
}
