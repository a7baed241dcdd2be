//! The command of an alert: no shell, nothing of the agent's open, an end in time.

use std::{
    io::{self, Write as _},
    os::{
        fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::super::Alert;

/// Runs it. The facts are in its environment, and as JSON on its stdin.
pub(super) fn run(program: &str, args: &[String], alert: &Alert, timeout: Duration) -> Result<(), String> {
    let mut json = serde_json::to_vec(alert).map_err(|error| error.to_string())?;
    json.push(b'\n');
    let mut command = Command::new(program);
    command.args(args).envs(environment(alert)).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit());
    // SAFETY: two syscalls, which take no lock and no memory.
    unsafe { command.pre_exec(prepare) };
    let mut child = command.spawn().map_err(|error| format!("it can't be started ({error})"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // Less than a pipe holds, so that nobody waits; a command that does not read it need not.
        let _ = stdin.write_all(&json);
    }
    match wait(&mut child, timeout) {
        Ok(true) => {}
        Ok(false) => {
            kill(&mut child);
            return Err(format!("it took longer than {} s and was killed", timeout.as_secs_f64()));
        }
        Err(error) => {
            kill(&mut child);
            return Err(format!("it can't be waited for ({error})"));
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// What a script reads most easily.
fn environment(alert: &Alert) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("FDTIDE_CAUSE", alert.cause.name().to_owned()),
        ("FDTIDE_TEXT", alert.text.clone()),
        ("FDTIDE_HOST", alert.host.clone()),
        ("FDTIDE_AT", alert.at.clone()),
        ("FDTIDE_PID", alert.pid.to_string()),
        ("FDTIDE_COMM", alert.comm.text()),
        ("FDTIDE_LIVE", alert.live.to_string()),
        ("FDTIDE_HIGH_WATER", alert.high_water.to_string()),
        ("FDTIDE_SOFT_LIMIT", alert.soft_limit.to_string()),
        ("FDTIDE_FAILURES", alert.failures.to_string()),
        ("FDTIDE_SUPPRESSED", alert.suppressed.to_string()),
    ];
    let more = [("FDTIDE_ERRNO", &alert.errno), ("FDTIDE_SYSCALL", &alert.syscall), ("FDTIDE_MARK", &alert.mark)];
    all.extend(more.into_iter().filter_map(|(name, value)| value.clone().map(|value| (name, value))));
    all.extend(alert.ns_pid.map(|pid| ("FDTIDE_NS_PID", pid.to_string())));
    if let Some(container) = &alert.container {
        let name = container.name.clone().unwrap_or_else(|| container.short());
        let called = [("FDTIDE_CONTAINER", &name), ("FDTIDE_CONTAINER_ID", &container.id)];
        // From a runtime's file: a name that no environment can hold must not keep the command from its start.
        all.extend(called.map(|(variable, value)| (variable, value.text().replace('\0', ""))));
    }
    all
}

/// In the child: what the agent was started with, and did not close at exec, goes too.
fn prepare() -> io::Result<()> {
    // SAFETY: no memory is touched. Marked, not closed: the pipe that tells of a failed exec is among them.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    // Nobody would end it in time once the agent has gone.
    // SAFETY: no memory is touched.
    let bound = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if closed == 0 && bound == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether it has ended in time.
fn wait(child: &mut Child, timeout: Duration) -> io::Result<bool> {
    let pid = child.id();
    // SAFETY: no memory is touched; the child is not reaped yet, so that the id is its own.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that nobody else has.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    let until = Instant::now() + timeout;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut ready = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let millis = i32::try_from(left.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one entry, as stated.
        match unsafe { libc::poll(&raw mut ready, 1, millis) } {
            1 => return Ok(true),
            0 if left.as_millis() <= i32::MAX as u128 => return Ok(false),
            0 => {}
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

/// With all that it has started and that has stayed in its group.
fn kill(child: &mut Child) {
    // SAFETY: the child is not reaped yet, so that the group is its own.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    let _ = child.wait();
}
