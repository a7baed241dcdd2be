//! The processor, when many want it.

use std::io;

/// Niceness of the thread that empties the ring. It needs little of a processor, but where a storm of processes queues for each,
/// it would have its turn only after all of them, when the ring has long been full.
const NICE: i32 = -10;

/// Has this thread served before ordinary ones. What it starts is ordinary again; one that was made to wait for others stays so.
///
/// # Errors
///
/// When `CAP_SYS_NICE` is missing. Then nothing has changed.
pub(crate) fn raise() -> io::Result<()> {
    // SAFETY: no preconditions; the thread itself is there.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    if nice > 0 {
        return Ok(());
    }
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: nice.min(NICE),
        sched_priority: 0,
        // 0 in the rest leaves what there is.
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the attributes are valid and as long as they say; 0 is this thread.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
