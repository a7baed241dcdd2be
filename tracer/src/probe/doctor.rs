//! What this kernel allows, found out by trying.

use std::{fs, path::Path};

use serde::Serialize;

use super::{
    Backend, LoadOptions, Session,
    backend::Choice,
    hooks::{LIFECYCLE, Place},
    privileges,
};
use crate::{
    kernel::{btf::Btf, features, offsets, preemption},
    procfs::{self, NotHost},
};

/// How a thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is there and works.
    Yes,
    /// It is not.
    No,
    /// It can't be told.
    Unknown,
}

/// One thing looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub name: String,
    /// How it stands.
    pub state: State,
    /// What was found.
    pub text: String,
    /// What to do, if something is to be done.
    pub advice: Option<String>,
}

/// Everything looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// Identity of the JSON format.
    pub schema: &'static str,
    /// The backend that `auto` takes; none if none works.
    pub backend: Option<&'static str>,
    /// What it costs processes that are not traced.
    pub cost_to_others: Option<&'static str>,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Finding {
    fn new(name: &str, state: State, text: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state, text: text.into(), advice: None }
    }

    fn advise(mut self, advice: &str) -> Self {
        self.advice = Some(advice.to_owned());
        self
    }
}

/// Looks at everything. Loads and attaches programs for a moment, if it may.
#[must_use]
pub fn examine(options: &LoadOptions) -> Examination {
    let mut findings = vec![release(), btf(&options.btf)];
    findings.extend(functions(&options.btf));
    let mut usable = Vec::new();
    for backend in Backend::ALL.iter().copied() {
        let finding = match Session::open(Choice::Only(backend), options) {
            Ok(session) => {
                let attached = session.attached().len();
                usable.push(backend);
                let text = format!("{attached} hooks attached, self-test passed; {}", backend.cost_to_others());
                Finding::new(backend.name(), State::Yes, text)
            }
            Err(error) => Finding::new(backend.name(), State::No, chain(&error)),
        };
        findings.push(finding);
    }
    findings.extend([namespace(), capabilities(), memlock(), lockdown(), modules(), preemption()]);
    let chosen = Choice::Auto.candidates().into_iter().find(|backend| usable.contains(backend));
    Examination {
        schema: "fdtide.doctor/1",
        backend: chosen.map(Backend::name),
        cost_to_others: chosen.map(Backend::cost_to_others),
        findings,
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn release() -> Finding {
    match read("/proc/sys/kernel/osrelease") {
        Some(release) => Finding::new("kernel", State::Yes, release),
        None => Finding::new("kernel", State::Unknown, "/proc can't be read").advise("mount /proc"),
    }
}

fn btf(path: &Path) -> Finding {
    let shown = path.display();
    let Ok(bytes) = fs::read(path) else {
        return Finding::new("BTF", State::No, format!("{shown} can't be read"))
            .advise("use a kernel built with CONFIG_DEBUG_INFO_BTF, and mount /sys");
    };
    let found = Btf::parse(&bytes).map_err(|error| error.to_string()).and_then(|types| {
        features::check(&types).map_err(|error| error.to_string())?;
        offsets::resolve(&types).map_err(|error| error.to_string())
    });
    match found {
        Ok(_) => Finding::new("BTF", State::Yes, format!("{shown}, every member found")),
        Err(error) => Finding::new("BTF", State::No, error).advise("use Linux 6.1 or later"),
    }
}

/// Functions and tracepoints that backends want, and whether BTF lists them.
fn functions(path: &Path) -> Option<Finding> {
    let bytes = fs::read(path).ok()?;
    let types = Btf::parse(&bytes).ok()?;
    let mut missing = Vec::new();
    for hook in LIFECYCLE.iter().chain(Backend::ALL.iter().flat_map(|backend| backend.hooks())) {
        let there = match hook.place {
            Place::Tracepoint => types.has_typedef(&format!("btf_trace_{}", hook.program)),
            Place::Walk => types.has_function("bpf_iter_task"),
            Place::Exit(names) | Place::Probe(names) | Place::ReturnProbe(names) => {
                names.iter().any(|name| types.has_function(name))
            }
        };
        if !there {
            missing.push(format!("{} ({})", hook.program, hook.purpose));
        }
    }
    missing.dedup();
    Some(if missing.is_empty() {
        Finding::new("functions", State::Yes, "every function and tracepoint of every backend is in BTF")
    } else {
        Finding::new("functions", State::No, format!("not in BTF: {}", missing.join(", ")))
    })
}

/// Processes must have the same ids here as in the kernel.
fn namespace() -> Finding {
    match procfs::check_namespace(Path::new("/")) {
        Ok(()) => Finding::new("PID namespace", State::Yes, "the machine's own"),
        Err(error @ NotHost::Inner(_)) => Finding::new("PID namespace", State::No, error.to_string())
            .advise("start the container with --pid=host, in Kubernetes with hostPID: true"),
        Err(error @ NotHost::NoProc) => {
            Finding::new("PID namespace", State::No, error.to_string()).advise("mount /proc")
        }
    }
}

fn capabilities() -> Finding {
    let missing = privileges::missing();
    if missing.is_empty() {
        return Finding::new("privileges", State::Yes, format!("{} held", privileges::names(&privileges::NEEDED)));
    }
    Finding::new("privileges", State::No, format!("{} missing", privileges::names(&missing)))
        .advise("run as root, or give the binary CAP_BPF and CAP_PERFMON")
}

/// Kernels before 5.11 count map memory against this limit; later ones against the memory cgroup.
fn memlock() -> Finding {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid place for the limit.
    unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    let text =
        if limit.rlim_cur == libc::RLIM_INFINITY { "no limit".to_owned() } else { format!("{} bytes", limit.rlim_cur) };
    Finding::new("memlock", State::Yes, format!("{text}; not used, map memory counts against the memory cgroup"))
}

fn lockdown() -> Finding {
    match read("/sys/kernel/security/lockdown") {
        Some(text) if text.contains("[confidentiality]") => Finding::new("lockdown", State::No, text)
            .advise("confidentiality forbids reading kernel memory: use integrity or none"),
        Some(text) => Finding::new("lockdown", State::Yes, text),
        None => Finding::new("lockdown", State::Unknown, "can't be read; securityfs is not mounted, or there is none"),
    }
}

fn modules() -> Finding {
    match read("/sys/kernel/security/lsm") {
        Some(text) => Finding::new("security modules", State::Yes, text),
        None => Finding::new("security modules", State::Unknown, "can't be read"),
    }
}

fn preemption() -> Finding {
    match preemption::models() {
        Some(models) if preemption::inside_of_programs() => Finding::new(
            "preemption",
            State::Yes,
            format!(
                "{models}: also inside of trampolines, which are skipped for others then, so that kprobe goes before fentry"
            ),
        ),
        Some(models) => Finding::new("preemption", State::Yes, models),
        None => {
            let version = read("/proc/version").unwrap_or_default();
            let built = ["PREEMPT_DYNAMIC", "PREEMPT_RT", "PREEMPT"].into_iter().find(|word| version.contains(word));
            let text = built.map_or_else(
                || "none built in".to_owned(),
                |word| format!("{word} built in; the mode in force can't be read"),
            );
            Finding::new("preemption", State::Unknown, text)
        }
    }
}
