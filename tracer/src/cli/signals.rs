//! Signals as a descriptor that can be waited for.

use std::{
    io, mem,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use tokio::io::{Interest, unix::AsyncFd};

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    /// Its number.
    pub number: i32,
    /// Whether the kernel sent it, as it does for keys at a terminal: then the whole foreground group has it.
    pub from_kernel: bool,
}

/// Blocked signals, to be read one by one.
pub(super) struct Signals(AsyncFd<OwnedFd>);

/// Blocks `numbers` in this thread and every thread it starts. Call it before there are others.
pub(super) fn block(numbers: &[i32]) -> io::Result<libc::sigset_t> {
    // SAFETY: a set that is filled by the calls below.
    let mut set: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: a valid set, valid signal numbers.
    unsafe {
        libc::sigemptyset(&raw mut set);
        for number in numbers {
            libc::sigaddset(&raw mut set, *number);
        }
        if libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(set)
}

impl Signals {
    /// Starts to read the signals of `set`, which are blocked. Needs a running runtime.
    pub(super) fn new(set: &libc::sigset_t) -> io::Result<Self> {
        // SAFETY: a valid set.
        let fd = unsafe { libc::signalfd(-1, set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that nobody else has.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: the descriptor stays the same and open for as long as the registration owns it.
        Ok(Self(unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?))
    }

    /// Waits for the next signal.
    pub(super) async fn next(&self) -> io::Result<Signal> {
        loop {
            let mut guard = self.0.readable().await?;
            let read = guard.try_io(|fd| {
                // SAFETY: plain integers; zero is a value of each.
                let mut info: libc::signalfd_siginfo = unsafe { mem::zeroed() };
                let size = size_of::<libc::signalfd_siginfo>();
                // SAFETY: a buffer of the stated size.
                let got = unsafe { libc::read(fd.as_raw_fd(), (&raw mut info).cast(), size) };
                if got == size as isize { Ok(info) } else { Err(io::Error::last_os_error()) }
            });
            if let Ok(info) = read {
                let info = info?;
                return Ok(Signal { number: info.ssi_signo as i32, from_kernel: info.ssi_code == libc::SI_KERNEL });
            }
        }
    }
}
