//! Which system calls are left to the agent once it has attached: those on a list, by seccomp. Everything else fails with
//! EPERM, so that what asked for it can say so; the kernel notes each refusal in its audit log, with program and call.
//!
//! The filter holds for every thread and, as no filter can be taken off, for the commands of alerts. An agent without such
//! commands starts no process at all. One with commands has the calls of ordinary programs too, but nobody below it changes
//! users, mounts, loads, traces or makes namespaces; and nothing below it gains rights by an exec (`no_new_privs`).

mod calls;
mod rules;

#[cfg(test)]
mod tests;

use std::{env, io, ptr};

use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompFilter, TargetArch};

/// For whom the calls are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The agent, which starts no process.
    Alone,
    /// The commands of its alerts too.
    WithCommands,
}

/// Why there is no filter.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// It can't be made for this machine.
    #[error("failed to make the filter of system calls: set `seccomp = false` under [service] to go without")]
    Make(#[from] BackendError),
    /// The kernel does not take it.
    #[error("the kernel refuses the filter of system calls: set `seccomp = false` under [service] to go without")]
    Refused(#[source] io::Error),
    /// A thread has another filter.
    #[error(
        "thread `{0}` has a filter of system calls of its own: set `seccomp = false` under [service] to go without ours"
    )]
    Thread(i64),
}

/// Leaves to every thread of this process, to those that it starts and to the programs that it runs, only what is on the list.
///
/// # Errors
///
/// When the filter can't be made, or the kernel does not take it.
pub fn confine(scope: Scope) -> Result<(), ConfineError> {
    let [absent, listed] = programs(scope)?;
    // SAFETY: integers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(ConfineError::Refused(io::Error::last_os_error()));
    }
    // The list comes last: it does not have the call that installs it.
    install(&absent, 0)?;
    install(&listed, libc::SECCOMP_FILTER_FLAG_LOG)
}

/// What fails as on an older kernel, and the list.
fn programs(scope: Scope) -> Result<[BpfProgram; 2], BackendError> {
    let architecture = TargetArch::try_from(env::consts::ARCH)?;
    let errno = |number: i32| SeccompAction::Errno(number.unsigned_abs());
    let absent = SeccompFilter::new(rules::absent(), SeccompAction::Allow, errno(libc::ENOSYS), architecture)?;
    let listed = SeccompFilter::new(rules::listed(scope)?, errno(libc::EPERM), SeccompAction::Allow, architecture)?;
    Ok([absent.try_into()?, listed.try_into()?])
}

/// For all threads at once.
fn install(program: &BpfProgram, flags: libc::c_ulong) -> Result<(), ConfineError> {
    let length = u16::try_from(program.len()).map_err(|error| ConfineError::Refused(io::Error::other(error)))?;
    let program = libc::sock_fprog { len: length, filter: ptr::from_ref(program.as_slice()).cast_mut().cast() };
    let flags = flags | libc::SECCOMP_FILTER_FLAG_TSYNC;
    // SAFETY: the kernel copies a program of the stated length, whose entries have the kernel's form.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    match result {
        0 => Ok(()),
        thread if thread > 0 => Err(ConfineError::Thread(thread)),
        _ => Err(ConfineError::Refused(io::Error::last_os_error())),
    }
}
