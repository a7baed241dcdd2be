//! Keys at a terminal reach the command from the kernel; the tool must not send them again.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    os::{
        fd::{FromRawFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::{Command, Stdio},
};

use crate::support::{self, FDTIDE};

/// Both ends of a new terminal.
pub fn terminal() -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    let nothing = std::ptr::null_mut();
    // SAFETY: two places for descriptors; no name, no settings.
    let made = unsafe { libc::openpty(&raw mut ours, &raw mut theirs, nothing, nothing.cast(), nothing.cast()) };
    assert_eq!(made, 0, "a terminal: {}", std::io::Error::last_os_error());
    support::limits::keep_descriptors_private();
    // SAFETY: two new descriptors, each with one owner.
    unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

#[test]
fn an_interrupt_from_the_keyboard_arrives_once() {
    let Some(_kernel) = support::kernel() else { return };
    let (mut ours, theirs) = terminal();
    let script = "n=0; trap 'n=$((n+1)); echo got $n' INT; trap 'exit 9' USR1; echo ready; \
                  while read line; do echo \"line $line\"; [ \"$line\" = end ] && exit 9; done";
    let mut command = Command::new(FDTIDE);
    command.args(["run", "-o", "/dev/null", "--", "bash", "-c", script]);
    let copy = || Stdio::from(theirs.try_clone().expect("a copy"));
    command.stdin(copy()).stdout(copy()).stderr(copy());
    // SAFETY: three system calls between fork and exec; 0 is the terminal by then.
    unsafe {
        command.pre_exec(|| {
            // Ignored where the tests run in the background; a shell can't trap it then.
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            Ok(())
        });
    }
    let mut child = command.spawn().expect("it starts");
    drop(theirs);
    let mut lines = BufReader::new(ours.try_clone().expect("a copy")).lines().map_while(Result::ok);
    let mut wait_for = |text: &str| {
        let mut seen = Vec::new();
        for line in &mut lines {
            seen.push(line.trim().to_owned());
            if line.contains(text) {
                return seen;
            }
        }
        panic!("no `{text}` in {seen:?}")
    };
    wait_for("ready");
    ours.write_all(b"\x03").expect("a key");
    wait_for("got 1");
    ours.write_all(b"one\nend\n").expect("keys");
    let rest = wait_for("line end");
    assert!(!rest.iter().any(|line| line.contains("got")), "the interrupt came twice: {rest:?}");
    assert_eq!(child.wait().expect("its end").code(), Some(9));
}
