//! Backends and the hooks that they attach.

/// How the kernel tells that a table may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Trampolines at the functions that change a table.
    Fentry,
    /// Probes at the same functions.
    Kprobe,
    /// The exit of every syscall.
    Syscall,
}

/// Where a program goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The tracepoint of the program's own name.
    Tracepoint,
    /// A walk over all tasks, when one is made.
    Walk,
    /// The return of the first of these functions that the kernel has.
    Exit(&'static [&'static str]),
    /// The entry of the first of these functions that can be probed.
    Probe(&'static [&'static str]),
    /// The return of the first of these functions that can be probed.
    ReturnProbe(&'static [&'static str]),
}

/// One program of the kernel object and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Name of the program in the object.
    pub program: &'static str,
    /// Where it goes.
    pub place: Place,
    /// What it is for, in a few words.
    pub purpose: &'static str,
    /// Whether the backend is of no use without it.
    pub needed: bool,
}

const fn tracepoint(program: &'static str, purpose: &'static str) -> Hook {
    Hook { program, place: Place::Tracepoint, purpose, needed: true }
}

const fn exit(program: &'static str, functions: &'static [&'static str], purpose: &'static str, needed: bool) -> Hook {
    Hook { program, place: Place::Exit(functions), purpose, needed }
}

const fn entry_probe(program: &'static str, functions: &'static [&'static str], purpose: &'static str) -> Hook {
    Hook { program, place: Place::Probe(functions), purpose, needed: true }
}

const fn return_probe(
    program: &'static str,
    functions: &'static [&'static str],
    purpose: &'static str,
    needed: bool,
) -> Hook {
    Hook { program, place: Place::ReturnProbe(functions), purpose, needed }
}

/// Functions that take a number out of a table, newest name first (fs/file.c, v6.12 and v6.1).
const CLOSERS: &[&str] = &["file_close_fd_locked", "pick_file"];

/// Functions that make inotify instances (fs/notify/inotify/inotify_user.c, v6.12), the one that both of its syscalls share first.
const INOTIFY: &[&str] = &["do_inotify_init", "__x64_sys_inotify_init1"];

/// Hooks that every backend needs.
pub const LIFECYCLE: &[Hook] = &[
    tracepoint("sched_wakeup_new", "new processes, before they run"),
    tracepoint("sched_process_exec", "execs"),
    tracepoint("sched_process_exit", "exits"),
];

/// The iterator that seeds what was there before.
pub const WALK: Hook =
    Hook { program: "walk_task", place: Place::Walk, purpose: "what was there before", needed: true };

const FENTRY: &[Hook] = &[
    exit("fentry_install", &["fd_install"], "descriptors that appear", true),
    exit("fentry_replace", &["do_dup2"], "descriptors that take another's place", true),
    exit("fentry_close", CLOSERS, "descriptors that go", true),
    exit("fentry_unshare", &["ksys_unshare"], "tables that are unshared", true),
    exit("fentry_close_range", &["__x64_sys_close_range"], "ranges closed in a table that is unshared", false),
    exit("fentry_dup3", &["ksys_dup3"], "duplicates refused past the limit", false),
    exit("fentry_f_dupfd", &["f_dupfd"], "duplicates refused past the limit", false),
    exit("fentry_alloc", &["alloc_fd"], "refused descriptors", true),
    exit("fentry_new_file", &["alloc_empty_file"], "files refused by the system-wide limit", false),
    exit("fentry_inotify", INOTIFY, "inotify instances refused by their own quota", false),
];

const KPROBE: &[Hook] = &[
    entry_probe("kprobe_install", &["fd_install"], "descriptors that appear: which"),
    return_probe("kretprobe_install", &["fd_install"], "descriptors that appear", true),
    entry_probe("kprobe_replace", &["do_dup2"], "descriptors that take another's place: which"),
    return_probe("kretprobe_replace", &["do_dup2"], "descriptors that take another's place", true),
    entry_probe("kprobe_close", CLOSERS, "descriptors that go: which"),
    return_probe("kretprobe_close", CLOSERS, "descriptors that go", true),
    return_probe("kretprobe_unshare", &["ksys_unshare"], "tables that are unshared", true),
    return_probe(
        "kretprobe_close_range",
        &["__x64_sys_close_range"],
        "ranges closed in a table that is unshared",
        false,
    ),
    return_probe("kretprobe_dup3", &["ksys_dup3"], "duplicates refused past the limit", false),
    return_probe("kretprobe_f_dupfd", &["f_dupfd"], "duplicates refused past the limit", false),
    return_probe("kretprobe_alloc", &["alloc_fd"], "refused descriptors", true),
    return_probe("kretprobe_new_file", &["alloc_empty_file"], "files refused by the system-wide limit", false),
    return_probe("kretprobe_inotify", INOTIFY, "inotify instances refused by their own quota", false),
];

const SYSCALL: &[Hook] = &[
    tracepoint("sys_exit", "the end of every descriptor syscall"),
    Hook { needed: false, ..tracepoint("io_uring_complete", "descriptors that io_uring's workers make") },
];

impl Backend {
    /// All, cheapest for others first.
    pub const ALL: &'static [Backend] = &[Backend::Fentry, Backend::Kprobe, Backend::Syscall];

    /// The name in options and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Fentry => "fentry",
            Backend::Kprobe => "kprobe",
            Backend::Syscall => "syscall",
        }
    }

    /// The backend of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|backend| backend.name() == name)
    }

    /// What it attaches besides [`LIFECYCLE`].
    #[must_use]
    pub const fn hooks(self) -> &'static [Hook] {
        match self {
            Backend::Fentry => FENTRY,
            Backend::Kprobe => KPROBE,
            Backend::Syscall => SYSCALL,
        }
    }

    /// What it costs processes that are not traced.
    #[must_use]
    pub const fn cost_to_others(self) -> &'static str {
        match self {
            Backend::Fentry => "a trampoline on each descriptor call of every process, nothing on other syscalls",
            Backend::Kprobe => "a probe on each descriptor call of every process, nothing on other syscalls",
            Backend::Syscall => "about 95 ns on every syscall of every process while attached",
        }
    }
}
