//! What the test targets share: abilities, skips, fixtures, and runs of the tool.

pub mod case;
pub mod fixture;
pub mod limits;
pub mod line;
pub mod ran;
pub mod steps;
pub mod watch;

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The tool.
pub const FDTIDE: &str = env!("CARGO_BIN_EXE_fdtide");

/// Held by a test that loads programs: what it measures would not hold with another beside it.
static KERNEL: Mutex<()> = Mutex::new(());

/// Says why a test does not run.
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
}

/// A missing ability of the kernel or of this process: a skip, or a failure where the environment says so.
fn missing(reason: &str) {
    assert!(std::env::var_os("FDTIDE_REQUIRE_KERNEL").is_none_or(|value| value != "1"), "required: {reason}");
    skip(reason);
}

/// Whether the kernel preempts tasks inside of hooks, and skips these for others then.
pub fn skips_hooks() -> bool {
    fdtide::kernel::preemption::inside_of_programs()
}

/// Runs where the kernel skips hooks of its own accord, because it preempts tasks inside of them, until it skips none: what is looked
/// at then has to be exact. A few times at most: with many threads there is no such run, and what is missed is allowed for.
pub fn until_nothing_is_missed<T>(run: impl Fn() -> T, missed: impl Fn(&T) -> u64) -> T {
    let mut last = run();
    for _ in 0..4 {
        let count = missed(&last);
        if count == 0 || !skips_hooks() {
            break;
        }
        println!("again: the kernel skipped {count} runs of hooks");
        last = run();
    }
    last
}

/// Leave to load programs; None, with the reason printed, where that is not possible.
pub fn kernel() -> Option<MutexGuard<'static, ()>> {
    let guard = KERNEL.lock().unwrap_or_else(PoisonError::into_inner);
    limits::keep_descriptors_private();
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        missing("not root: programs can't be loaded");
        return None;
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        missing("no BTF at /sys/kernel/btf/vmlinux");
        return None;
    }
    Some(guard)
}

/// Whether the kernel has Landlock with ABI 3 switched on; if not, says so.
pub fn landlock() -> bool {
    // SAFETY: no attributes; the flag asks for the version only (LANDLOCK_CREATE_RULESET_VERSION).
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) };
    if abi < 3 {
        missing("no Landlock with ABI 3");
    }
    abi >= 3
}

/// Repeats `look` until it gives something, for `seconds` at most. For what the kernel does in its own time.
pub fn poll<T>(seconds: u64, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = std::time::Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed().as_secs() < seconds, "not within {seconds} s: {what}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// The program of this name on PATH, or in one of `more`.
pub fn program(name: &str, more: &[&str]) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = more.iter().map(std::path::PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|dir| dir.join(name)).find(|path| path.is_file())
}
