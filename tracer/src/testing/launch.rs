//! A child that waits until it is traced. Unlike the command of `fdtide run` it is forked from a process of many threads.

use std::{
    io::{self, PipeWriter, Read as _, Write as _},
    os::{fd::AsRawFd as _, unix::process::CommandExt as _},
    panic::{AssertUnwindSafe, catch_unwind},
    process::Command,
    sync::mpsc,
    thread::{self, JoinHandle},
};

use super::{Error, Options};
use crate::event::Exit;

/// Exit code of a closure that panicked; as for a test.
const PANICKED: i32 = 101;

/// A child that waits for its exec, or to call its closure.
#[derive(Debug)]
pub(super) struct Held {
    pid: i32,
    go: PipeWriter,
    /// What came of the exec.
    started: Option<Keeper>,
}

/// The thread that forked the command. The command is killed when it ends, so it ends last.
#[derive(Debug)]
struct Keeper {
    thread: JoinHandle<()>,
    outcome: mpsc::Receiver<io::Result<()>>,
    end: mpsc::Sender<()>,
    program: String,
}

/// A child that runs.
#[derive(Debug)]
pub(super) struct Running {
    pid: i32,
    reaped: bool,
    keeper: Option<Keeper>,
}

impl Held {
    /// Forks a command, in a process group of its own.
    pub(super) fn command(mut command: Command, options: &Options) -> Result<Self, Error> {
        let program = command.get_program().to_string_lossy().into_owned();
        let (go_reader, go) = io::pipe().map_err(Error::io("make a pipe"))?;
        let (mut pid_reader, pid_writer) = io::pipe().map_err(Error::io("make a pipe"))?;
        let (go_number, pid_number) = (go_reader.as_raw_fd(), pid_writer.as_raw_fd());
        let nofile = options.nofile;
        command.process_group(0);
        // SAFETY: system calls only, on descriptors that are open and close at exec.
        unsafe {
            command.pre_exec(move || wait_for_go(go_number, pid_number, nofile));
        }
        let (outcome_sender, outcome) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let keep = move || {
            let spawned = command.spawn();
            // With them the reader below learns of a fork that failed.
            drop((pid_writer, go_reader, command));
            // Nobody waits for the child by this handle; if nobody wants the outcome, the child has been given up.
            let _ = outcome_sender.send(spawned.map(drop));
            let _ = ended.recv();
        };
        let name = thread::Builder::new().name("fdtide-keeper".to_owned());
        let thread = name.spawn(keep).map_err(Error::io("start a thread"))?;
        let keeper = Keeper { thread, outcome, end, program };
        let mut pid = [0; 4];
        if pid_reader.read_exact(&mut pid).is_err() {
            keeper.outcome()?;
        }
        Ok(Self { pid: i32::from_ne_bytes(pid), go, started: Some(keeper) })
    }

    /// Forks this process; the copy calls `act`.
    pub(super) fn closure(act: impl FnOnce(), options: &Options) -> Result<Self, Error> {
        let (mut go_reader, go) = io::pipe().map_err(Error::io("make a pipe"))?;
        // SAFETY: the caller was told what a copy of a process of many threads may do.
        match unsafe { libc::fork() } {
            -1 => Err(Error::Io { what: "fork", source: io::Error::last_os_error() }),
            0 => {
                drop(go);
                let ready = options.nofile.is_none_or(|soft| limit(soft).is_ok());
                let told = matches!(go_reader.read(&mut [0]), Ok(1));
                drop(go_reader);
                let done = ready && told && catch_unwind(AssertUnwindSafe(act)).is_ok();
                // SAFETY: ends the copy without running what the caller has registered for its own end.
                unsafe { libc::_exit(if done { 0 } else { PANICKED }) }
            }
            pid => Ok(Self { pid, go, started: None }),
        }
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// Whether it is still to exec.
    pub(super) fn execs(&self) -> bool {
        self.started.is_some()
    }

    /// Lets it go.
    pub(super) fn release(mut self) -> Result<Running, Error> {
        self.go.write_all(&[1]).map_err(Error::io("let the command go"))?;
        let mut running = Running { pid: self.pid, reaped: false, keeper: None };
        if let Some(keeper) = self.started.take() {
            running.keeper = Some(match keeper.started() {
                Ok(keeper) => keeper,
                Err(error) => {
                    // The child that could not exec was waited for already.
                    running.reaped = true;
                    return Err(error);
                }
            });
        }
        Ok(running)
    }
}

impl Keeper {
    fn started(self) -> Result<Self, Error> {
        match self.outcome.recv() {
            Ok(Ok(())) => Ok(self),
            Ok(Err(source)) => Err(Error::Start { program: self.program, source }),
            Err(_) => Err(Error::Io { what: "start the command", source: io::ErrorKind::BrokenPipe.into() }),
        }
    }

    fn outcome(&self) -> Result<(), Error> {
        let gone = || Error::Io { what: "start the command", source: io::ErrorKind::BrokenPipe.into() };
        match self.outcome.recv() {
            Ok(Err(source)) => Err(Error::Start { program: self.program.clone(), source }),
            _ => Err(gone()),
        }
    }
}

impl Running {
    /// How it ended, if it has.
    pub(super) fn try_wait(&mut self) -> Result<Option<Exit>, Error> {
        let mut status = 0;
        // SAFETY: a valid place for the status.
        match unsafe { libc::waitpid(self.pid, &raw mut status, libc::WNOHANG) } {
            0 => Ok(None),
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => Ok(None),
            -1 => Err(Error::Io { what: "wait for the command", source: io::Error::last_os_error() }),
            _ => {
                self.reaped = true;
                Ok(Some(Exit::from_wait(status as u32)))
            }
        }
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// Ends it, and its process group if it leads one.
    pub(super) fn kill(&self) {
        let group = if self.keeper.is_some() { -self.pid } else { self.pid };
        // SAFETY: the child is not reaped yet, so the id is still its own.
        unsafe { libc::kill(group, libc::SIGKILL) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            // SAFETY: a child of ours that is not reaped yet.
            unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
        }
        if let Some(keeper) = self.keeper.take() {
            // It waits for nothing else.
            let _ = keeper.end.send(());
            let _ = keeper.thread.join();
        }
    }
}

/// In the child between fork and exec, of a process that has many threads.
fn wait_for_go(go: i32, pid_writer: i32, nofile: Option<u64>) -> io::Result<()> {
    let mut byte = 0_u8;
    // SAFETY: system calls only, over memory of our own.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        let pid = libc::getpid().to_ne_bytes();
        if libc::write(pid_writer, pid.as_ptr().cast(), pid.len()) != pid.len() as isize {
            return Err(io::Error::last_os_error());
        }
        if libc::read(go, (&raw mut byte).cast(), 1) != 1 {
            return Err(io::Error::from_raw_os_error(libc::ECANCELED));
        }
    }
    nofile.map_or(Ok(()), limit)
}

/// Sets the soft limit on descriptors. Safe between fork and exec.
fn limit(soft: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid limit.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = soft;
            if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) == 0 {
                return Ok(());
            }
        }
    }
    Err(io::Error::last_os_error())
}
