//! What steers the kernel program while it runs: switches, and the errands of a walk. 0 is for off and for nothing.

/// Index into the map of switches: things that few programs do and that make cheap filters insufficient, set once one is
/// seen, and what the agent asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Switch {
    /// A traced table holds a fanotify group or a userfaultfd: reads may install descriptors.
    ReadsInstall = 0,
    /// A traced task is under a seccomp filter with a listener: any of its syscalls may install descriptors.
    Notified = 1,
    /// What makes a process a target at its exec, bits of [`crate::table::wanted`]. Set by the agent.
    Follow = 2,
}

/// Switches that there are.
pub const SWITCHES: u32 = 3;

/// Index into the map of errands: what a walk over all tasks does beside finding them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errand {
    /// The head of each process's table goes into the walk's output, [`glance`].
    Glance = 0,
    /// A census of each process's table is taken, for this reason: [`crate::event::census_reason`].
    Census = 1,
    /// What was decided of tasks is carried out, [`decide`].
    Decide = 2,
}

/// Errands that there are.
pub const ERRANDS: u32 = 3;

/// Values of [`Errand::Glance`].
pub mod glance {
    /// Processes are taken in and looked at.
    pub const TAKE_IN: u32 = 1;
    /// Those that are traced are looked at.
    pub const LOOK_ONLY: u32 = 2;
}

/// Values of [`Errand::Decide`].
pub mod decide {
    /// Threads that are not their process's first.
    pub const THREADS: u32 = 1;
    /// Processes, after their other threads.
    pub const PROCESSES: u32 = 2;
}
