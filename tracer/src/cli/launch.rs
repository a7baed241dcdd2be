//! The command of `fdtide run`: forked first, so that it inherits nothing of the tracer's, and held back before its exec
//! until it is traced.

use std::{
    ffi::{CString, OsString},
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    os::unix::ffi::OsStrExt as _,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::event::Exit;

/// A child that waits before its exec.
pub(super) struct Held {
    pid: i32,
    go: PipeWriter,
    outcome: PipeReader,
}

/// A child whose exec went through.
pub(super) struct Running {
    pid: i32,
}

/// Why a command can't run, as env(1) tells them apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no such program.
    NotFound,
    /// There is, and it can't be executed: errno.
    NotExecutable(i32),
}

impl Held {
    /// Forks. Must be called while the process has one thread and nothing open but what the command shall inherit.
    pub(super) fn fork(command: &[OsString], nofile: Option<u64>) -> io::Result<Self> {
        let (go_reader, go) = io::pipe()?;
        let (outcome, outcome_writer) = io::pipe()?;
        // SAFETY: one thread only, so the child may do whatever the parent may.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop((go, outcome));
                child(command, nofile, go_reader, outcome_writer)
            }
            pid => Ok(Self { pid, go, outcome }),
        }
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// Lets it exec. The outer error is fdtide's, the inner one the command's.
    pub(super) fn release(mut self) -> io::Result<Result<Running, Refusal>> {
        self.go.write_all(&[1])?;
        let mut errno = Vec::new();
        self.outcome.read_to_end(&mut errno)?;
        let running = Running { pid: self.pid };
        let Some(errno) = errno.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes)) else { return Ok(Ok(running)) };
        running.wait()?;
        Ok(Err(match errno {
            libc::ENOENT => Refusal::NotFound,
            other => Refusal::NotExecutable(other),
        }))
    }

    /// Ends it: it has not run anything.
    pub(super) fn abandon(self) {
        let pid = self.pid;
        drop(self);
        // It ends by itself when its pipe closes.
        let _ = Running { pid }.wait();
    }
}

impl Running {
    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// Passes a signal on. A command that has gone needs none.
    pub(super) fn signal(&self, number: i32) {
        // SAFETY: the child is not reaped while this lives, so the id is still its own.
        unsafe { libc::kill(self.pid, number) };
    }

    /// How it ended, if it has.
    pub(super) fn try_wait(&self) -> io::Result<Option<Exit>> {
        self.wait_with(libc::WNOHANG)
    }

    fn wait(&self) -> io::Result<Option<Exit>> {
        self.wait_with(0)
    }

    fn wait_with(&self, flags: i32) -> io::Result<Option<Exit>> {
        let mut status = 0;
        loop {
            // SAFETY: a valid place for the status.
            let pid = unsafe { libc::waitpid(self.pid, &raw mut status, flags) };
            if pid == self.pid {
                return Ok(Some(Exit::from_wait(status as u32)));
            }
            if pid == 0 {
                return Ok(None);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// The exit code to pass on.
pub(super) fn code(exit: Exit) -> u8 {
    match exit {
        Exit::Code(code) => code,
        Exit::Signal { signal, .. } => 128 + signal,
    }
}

/// The child's part: waits, then becomes the command.
fn child(command: &[OsString], nofile: Option<u64>, mut go: PipeReader, mut outcome: PipeWriter) -> ! {
    let mut byte = [0];
    // Anything but a byte: the tracer has gone or given up.
    if matches!(go.read(&mut byte), Ok(1)) {
        drop(go);
        let error = limit(nofile).map_or_else(|error| error, |()| become_command(command));
        let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
        // The parent reads what is left to say; if it has gone, nobody does.
        let _ = outcome.write_all(&errno.to_ne_bytes());
    }
    // SAFETY: ends the child without running what the parent has registered for its own end.
    unsafe { libc::_exit(125) }
}

/// Only returns if it fails.
fn become_command(command: &[OsString]) -> io::Error {
    let words: Result<Vec<CString>, _> = command.iter().map(|word| CString::new(word.as_bytes())).collect();
    let Ok(words) = words else { return io::Error::from_raw_os_error(libc::EINVAL) };
    let Some(program) = words.first() else { return io::Error::from_raw_os_error(libc::ENOENT) };
    let mut pointers: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: valid strings, and a list of them that ends in null.
    unsafe {
        // The language's runtime ignores it for itself; the command gets what we were started with.
        libc::signal(libc::SIGPIPE, SIGPIPE_AT_START.load(Ordering::Relaxed));
        libc::execvp(program.as_ptr(), pointers.as_ptr());
    }
    io::Error::last_os_error()
}

/// What was to be done about SIGPIPE before the language's runtime changed it.
static SIGPIPE_AT_START: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// Runs before `main` and the runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE_SIGPIPE: extern "C" fn() = {
    extern "C" fn note() {
        // SAFETY: a place for the answer; nothing is changed.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action) == 0 {
                SIGPIPE_AT_START.store(action.sa_sigaction, Ordering::Relaxed);
            }
        }
    }
    note
};

/// Sets the soft limit on descriptors.
fn limit(nofile: Option<u64>) -> io::Result<()> {
    let Some(soft) = nofile else { return Ok(()) };
    let hard = hard_limit()?;
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: a valid limit.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The hard limit on descriptors.
pub(super) fn hard_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid place for the limit.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0 {
        Ok(limit.rlim_max)
    } else {
        Err(io::Error::last_os_error())
    }
}
