//! A backend proves itself: a scratch child changes its table step by step, and after each step the count must be what the
//! child's own directory in /proc says while it stands still.

use std::{
    fs, io,
    io::{PipeReader, PipeWriter, Read as _, Write as _},
    os::fd::AsRawFd as _,
};

use super::{error::ProbeError, session::Session};

/// What the child does, in this order.
const STEPS: &[&str] = &[
    "open",
    "dup",
    "dup2 onto an open number",
    "dup2 onto a free number",
    "socket",
    "pipe",
    "close",
    "close of a closed number",
    "close_range",
    "unshare",
];

/// One step, on numbers that the child made: open, copy, moved copy, socket, pipe.
fn act(step: &str, fds: &mut [i32; 6]) {
    // SAFETY: system calls only, on numbers of the child's own.
    unsafe {
        match step {
            "open" => fds[0] = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY),
            "dup" => fds[1] = libc::dup(fds[0]),
            "dup2 onto an open number" => drop(libc::dup2(2, fds[1])),
            "dup2 onto a free number" => fds[2] = libc::dup2(fds[0], free_number()),
            "socket" => fds[3] = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0),
            "pipe" => drop(libc::pipe2(fds[4..].as_mut_ptr(), libc::O_CLOEXEC)),
            "close" | "close of a closed number" => drop(libc::close(fds[0])),
            "close_range" => drop(libc::syscall(libc::SYS_close_range, fds[2], fds[2], 0)),
            _ => drop(libc::unshare(libc::CLONE_FILES)),
        }
    }
}

/// The smallest program that stands still: `pause` in a loop. ELF, x86-64, one segment.
const STILL: &[u8] = &still();
const HEADERS: usize = 64 + 56;
const CODE: [u8; 9] = [0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7];

const fn still() -> [u8; HEADERS + CODE.len()] {
    const BASE: u64 = 0x0040_0000;
    let mut image = [0; HEADERS + CODE.len()];
    let mut at = 0;
    macro_rules! put {
        ($($value:expr),* $(,)?) => {
            $(
                let bytes = $value.to_le_bytes();
                let mut index = 0;
                while index < bytes.len() {
                    image[at] = bytes[index];
                    at += 1;
                    index += 1;
                }
            )*
        };
    }
    // e_ident: 64-bit, little-endian; then type, machine, version, entry, program headers, and sizes.
    put!(0x464c_457f_u32, 0x0001_0102_u32, 0_u64, 2_u16, 62_u16, 1_u32);
    put!(BASE + HEADERS as u64, 64_u64, 0_u64, 0_u32, 64_u16, 56_u16, 1_u16, 0_u16, 0_u16, 0_u16);
    // One segment: load, read and execute, the whole file.
    put!(1_u32, 5_u32, 0_u64, BASE, BASE, (HEADERS + CODE.len()) as u64, (HEADERS + CODE.len()) as u64, 0x1000_u64);
    let mut index = 0;
    while index < CODE.len() {
        image[at] = CODE[index];
        at += 1;
        index += 1;
    }
    image
}

/// Runs the test on the attached backend. Nothing of it stays.
pub(super) fn run(session: &mut Session) -> Result<(), ProbeError> {
    let mut child = Child::start().map_err(ProbeError::SelfTestChild)?;
    let backend = session.backend().name();
    session.add_target(child.pid as u32)?;
    let compare = |child: &Child, step: &'static str| {
        let expected = child.count().map_err(ProbeError::SelfTestChild)?;
        let got = session.live_of(child.pid as u32)?;
        if got == Some(expected) {
            return Ok(());
        }
        let got = got.map_or_else(|| "no table".to_owned(), |live| live.to_string());
        Err(ProbeError::SelfTest { backend, step, got, expected })
    };
    compare(&child, "start")?;
    for step in STEPS {
        child.next().map_err(ProbeError::SelfTestChild)?;
        compare(&child, step)?;
    }
    if child.exec().map_err(ProbeError::SelfTestChild)? {
        compare(&child, "exec with close-on-exec")?;
    }
    Ok(())
}

/// The scratch child. Killed and reaped when it is dropped.
struct Child {
    pid: i32,
    go: PipeWriter,
    done: PipeReader,
}

impl Child {
    fn start() -> io::Result<Self> {
        let (go_reader, go) = io::pipe()?;
        let (done, done_writer) = io::pipe()?;
        // SAFETY: an anonymous file; the name is a valid string.
        let program = unsafe { libc::memfd_create(c"fdtide-self-test".as_ptr(), libc::MFD_CLOEXEC) };
        if program >= 0 {
            // SAFETY: a valid buffer.
            unsafe { libc::write(program, STILL.as_ptr().cast(), STILL.len()) };
        }
        // SAFETY: the child makes system calls only.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            live(go_reader.as_raw_fd(), done_writer.as_raw_fd(), program)
        }
        if program >= 0 {
            // SAFETY: ours, and not used again.
            unsafe { libc::close(program) };
        }
        if pid < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { pid, go, done })
    }

    /// Lets it take the next step, and waits until it has.
    fn next(&mut self) -> io::Result<()> {
        self.go.write_all(&[1])?;
        self.done.read_exact(&mut [0])
    }

    /// Lets it exec. False if it can't.
    fn exec(&mut self) -> io::Result<bool> {
        self.go.write_all(&[1])?;
        // Its end of the pipe is closed by the exec.
        Ok(self.done.read(&mut [0])? == 0)
    }

    /// Entries of its descriptor directory.
    fn count(&self) -> io::Result<u32> {
        fs::read_dir(format!("/proc/{}/fd", self.pid)).map(|entries| entries.count() as u32)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: a child of ours that is not reaped yet.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// The child: one step for each byte that comes, then the exec.
fn live(go: i32, done: i32, program: i32) -> ! {
    let mut fds = [-1; 6];
    let mut byte = 0u8;
    // SAFETY: system calls only, on the child's own descriptors; ends without returning.
    unsafe {
        for step in STEPS {
            if libc::read(go, (&raw mut byte).cast(), 1) != 1 {
                libc::_exit(0);
            }
            act(step, &mut fds);
            libc::write(done, (&raw const byte).cast(), 1);
        }
        if libc::read(go, (&raw mut byte).cast(), 1) == 1 {
            let none: [*const libc::c_char; 1] = [std::ptr::null()];
            // With a name: of a program without one the kernel's log would speak.
            let argv = [c"fdtide-self-test".as_ptr(), std::ptr::null()];
            libc::syscall(libc::SYS_execveat, program, c"".as_ptr(), argv.as_ptr(), none.as_ptr(), libc::AT_EMPTY_PATH);
            libc::write(done, (&raw const byte).cast(), 1);
            libc::read(go, (&raw mut byte).cast(), 1);
        }
        libc::_exit(0)
    }
}

/// A number that is free and stays so: the lowest but one.
fn free_number() -> i32 {
    // SAFETY: system calls only, on numbers of the child's own.
    unsafe {
        let lowest = libc::dup(2);
        let next = libc::dup(2);
        libc::close(lowest);
        libc::close(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scratch_child_steps_changes_its_table_and_execs() {
        let mut child = Child::start().unwrap();
        let start = child.count().unwrap();
        let mut counts = Vec::new();
        for _ in STEPS {
            child.next().unwrap();
            counts.push(i64::from(child.count().unwrap()) - i64::from(start));
        }
        assert_eq!(counts, [1, 2, 2, 3, 4, 6, 5, 5, 4, 4]);
        assert!(child.exec().unwrap());
        // Two without close-on-exec are left of the test's own: the dup, and what was dup2ed onto.
        assert!(child.count().unwrap() < start + 3);
    }
}
