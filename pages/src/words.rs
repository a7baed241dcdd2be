//! What no definition of an option says: costs, environment, files.

use fdtide::probe::Backend;

const READS: &str = "None outside its own process: it reads files and hooks nothing. It needs no privilege.";
const TRACES: &str = "\
    Besides what the kernel's work at each traced process costs that process, a backend has a price for processes that \
    are not traced, for as long as it is attached:";
const TRIES: &str = "\
    Each backend is attached for a moment, one after the other, and follows a scratch child. Meanwhile processes that \
    are not traced pay:";
const CHOICE: &str = "\
    Without --backend the first that proves itself on this kernel is taken, in this order. fdtide doctor says which, \
    and every report has it under plan.";

/// What a verb does to the machine, and what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Hooks the kernel for as long as it runs.
    Traces,
    /// Hooks the kernel for a moment.
    Tries,
    /// Reads and writes files only.
    Reads,
}

impl Does {
    /// `None` for a verb that this table does not know; a test looks for that.
    pub fn of(verb: &str) -> Option<Self> {
        match verb {
            "run" | "attach" | "top" | "record" | "agent" | "scale" | "audit" => Some(Self::Traces),
            "doctor" => Some(Self::Tries),
            "report" | "export" | "check" | "compare" | "init-ci" | "ctl" | "fleet" => Some(Self::Reads),
            _ => None,
        }
    }

    /// Paragraphs of OVERHEAD.
    pub fn overhead(self) -> Vec<String> {
        let costs = Backend::ALL.iter().map(|backend| format!("{}: {}.", backend.name(), backend.cost_to_others()));
        match self {
            Self::Reads => vec![READS.to_owned()],
            Self::Tries => [TRIES.to_owned()].into_iter().chain(costs).collect(),
            Self::Traces => [TRACES.to_owned()].into_iter().chain(costs).chain([CHOICE.to_owned()]).collect(),
        }
    }
}

/// Name, and what it does: of a verb, or of the tool.
pub fn environment(verb: Option<&str>) -> Vec<(&'static str, &'static str)> {
    let does = verb.and_then(Does::of);
    let mut rows = Vec::new();
    if verb.is_none() || does == Some(Does::Traces) {
        rows.push((
            "FDTIDE_BACKEND",
            "The backend where nobody chose one on the command line: fentry, kprobe or syscall.",
        ));
    }
    if verb.is_none() || does != Some(Does::Reads) {
        rows.push((
            "FDTIDE_BPF_OBJECT",
            "Path of a kernel object to load in place of the built-in one; for development.",
        ));
    }
    if verb.is_none() || does == Some(Does::Traces) {
        rows.push((
            "FDTIDE_HOST",
            "The name of the machine in everything that is written, in the place of the kernel's: in a pod that is the \
             pod's.",
        ));
    }
    if matches!(verb, None | Some("run" | "check")) {
        rows.push(("GITHUB_STEP_SUMMARY", "Where --verdict summary goes if it names no file."));
    }
    if matches!(verb, None | Some("agent")) {
        rows.push((
            "JOURNAL_STREAM",
            "Set by systemd: if stderr is that stream, log lines have priorities, and no times.",
        ));
        rows.push(("NOTIFY_SOCKET", "Set by systemd: told of start, reload, end and status."));
        rows.push(("WATCHDOG_USEC", "Set by systemd: a sign of life is given twice in this time."));
    }
    if matches!(verb, None | Some("top" | "attach")) {
        rows.push(("NO_COLOR", "If set and not empty, the view has no colours."));
        rows.push(("TERM", "If empty or dumb, there is no view: attach prints its report."));
    }
    rows
}

/// Path, and what it is for: of a verb, or of the tool.
pub fn files(verb: Option<&str>) -> Vec<(&'static str, &'static str)> {
    let mut rows = Vec::new();
    if matches!(verb, None | Some("check" | "run" | "init-ci")) {
        let help = "Budgets. check takes it by itself if neither --budget nor --config is given, run with --gate; \
                    init-ci writes it.";
        rows.push(("./fdtide.toml", help));
    }
    if matches!(verb, None | Some("attach" | "top" | "record")) {
        let help = "Who is there, in which cgroup and container, with which ids. Names of containers come from the files of \
                    docker, podman, CRI-O and containerd below /var/lib and /run.";
        rows.push(("/proc, /sys/fs/cgroup", help));
    }
    if matches!(verb, None | Some("agent")) {
        rows.push(("/etc/fdtide/agent.toml", "The configuration, if --config names none."));
    }
    if matches!(verb, None | Some("agent" | "ctl")) {
        rows.push(("/run/fdtide/agent.sock", "The agent's control socket, if nothing else is said."));
    }
    if verb.and_then(Does::of) != Some(Does::Reads) {
        rows.push((
            "/sys/kernel/btf/vmlinux",
            "Where members of the kernel's structures are. fdtide can't trace without it.",
        ));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_is_known() {
        for verb in fdtide::cli::command().get_subcommands() {
            assert!(Does::of(verb.get_name()).is_some(), "{}", verb.get_name());
        }
    }
}
