//! The test's own descriptors and limits, so that a child starts from a known state.

use std::{os::unix::process::CommandExt as _, process::Command};

/// Nothing but stdin, stdout and stderr goes to children, whatever the caller of the tests has left open.
pub fn keep_descriptors_private() {
    // SAFETY: only marks descriptors; every number is good.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Soft and hard limit on descriptors for a command, set before its exec. A hard limit that is lower is left alone.
pub fn with_nofile(command: &mut Command, soft: u64, hard: u64) -> &mut Command {
    // SAFETY: makes one system call between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
            match libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    }
}

/// Sends a signal.
pub fn kill(pid: u32, signal: i32) {
    let pid = i32::try_from(pid).expect("a pid");
    // SAFETY: kill takes integers only.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "kill -{signal} {pid}: {}", std::io::Error::last_os_error());
}
