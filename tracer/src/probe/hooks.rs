//! Backends and the hooks that they attach.

/// How the kernel tells that a table may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The exit of every syscall.
    Syscall,
}

/// One program of the kernel object and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Name of the program in the object, and of the tracepoint.
    pub program: &'static str,
    /// What it is for, in a few words.
    pub purpose: &'static str,
}

/// Hooks that every backend needs.
pub const LIFECYCLE: &[Hook] = &[
    Hook { program: "sched_wakeup_new", purpose: "new processes, before they run" },
    Hook { program: "sched_process_exec", purpose: "execs" },
    Hook { program: "sched_process_exit", purpose: "exits" },
];

/// The iterator that seeds what was there before.
pub const WALK: &str = "walk_task";

impl Backend {
    /// All, cheapest for others first.
    pub const ALL: &'static [Backend] = &[Backend::Syscall];

    /// The name in options and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Syscall => "syscall",
        }
    }

    /// What it attaches besides [`LIFECYCLE`].
    #[must_use]
    pub const fn hooks(self) -> &'static [Hook] {
        match self {
            Backend::Syscall => &[Hook { program: "sys_exit", purpose: "the end of every descriptor syscall" }],
        }
    }

    /// What it costs processes that are not traced.
    #[must_use]
    pub const fn cost_to_others(self) -> &'static str {
        match self {
            Backend::Syscall => "about 105 ns on every syscall of every process while attached",
        }
    }
}
