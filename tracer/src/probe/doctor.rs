//! What this kernel allows, found out by trying.

use std::{collections::BTreeMap, fs, path::Path};

use aya::{programs::ProgramType, sys::is_program_supported};
use caps::Capability;
use fdtide_abi::{OFFSET_NONE, Offsets};
use serde::Serialize;

use super::{
    Backend, LoadOptions, Session,
    backend::Choice,
    baseline::Empty,
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
    findings.extend(program_types());
    let trials: Vec<_> = Backend::ALL.iter().map(|backend| Trial::of(*backend, options)).collect();
    findings.extend(trials.iter().map(Trial::finding));
    findings.extend(functions(&options.btf, &trials));
    findings.extend([namespace(), capabilities()]);
    findings.extend(OF_OTHERS.map(|(capability, without)| of_others(capability, without)));
    findings.extend([memlock(), lockdown(), modules(), preemption()]);
    let usable = |backend: &Backend| trials.iter().any(|trial| trial.backend == *backend && trial.refusal.is_none());
    let chosen = Choice::Auto.candidates().into_iter().find(usable);
    Examination {
        schema: "fdtide.doctor/1",
        backend: chosen.map(Backend::name),
        cost_to_others: chosen.map(Backend::cost_to_others),
        findings,
    }
}

/// Whether the kernel takes each kind of program that backends are made of, by giving it an empty one.
fn program_types() -> [Finding; 3] {
    let tracepoint = Empty::on_sys_exit().map(|_| true).map_err(|error| chain(&error));
    let other = |kind| is_program_supported(kind).map_err(|error| chain(&error));
    [
        program_type("tracepoint programs", tracepoint, "every backend needs them: use Linux 6.1 or later with BTF"),
        program_type("trampoline programs", other(ProgramType::Tracing), "kprobe and syscall do without"),
        program_type("probe programs", other(ProgramType::KProbe), "fentry and syscall do without"),
    ]
}

fn program_type(name: &str, tried: Result<bool, String>, advice: &str) -> Finding {
    match tried {
        Ok(true) => Finding::new(name, State::Yes, "loaded one"),
        Ok(false) => Finding::new(name, State::No, "the kernel does not know them").advise(advice),
        // Whoever lacks the rights learns nothing of the kernel.
        Err(error) if !privileges::missing().is_empty() => {
            Finding::new(name, State::Unknown, error).advise("run as root, or give the binary CAP_BPF and CAP_PERFMON")
        }
        Err(error) => Finding::new(name, State::No, error).advise(advice),
    }
}

/// A backend, loaded and attached for a moment.
struct Trial {
    backend: Backend,
    /// Programs that were attached.
    attached: Vec<&'static str>,
    /// Hooks that it can do without and that were not, and why.
    without: Vec<(&'static str, String)>,
    refusal: Option<String>,
}

impl Trial {
    fn of(backend: Backend, options: &LoadOptions) -> Self {
        match Session::open(Choice::Only(backend), options) {
            Ok(session) => Self {
                backend,
                attached: session.attached(),
                without: session.without().map(|(hook, why)| (hook.program, why.to_owned())).collect(),
                refusal: None,
            },
            Err(error) => Self { backend, attached: Vec::new(), without: Vec::new(), refusal: Some(chain(&error)) },
        }
    }

    fn finding(&self) -> Finding {
        if let Some(why) = &self.refusal {
            return Finding::new(self.backend.name(), State::No, why.clone()).advise(match self.backend {
                Backend::Fentry => {
                    "needs trampolines (CONFIG_FUNCTION_TRACER) and leave to use them; kprobe or syscall does without"
                }
                Backend::Kprobe => "needs CONFIG_KPROBES and leave to use them; fentry or syscall does without",
                Backend::Syscall => "needs Linux 6.1 or later with BTF, and the rights below",
            });
        }
        let text =
            format!("{} hooks attached, self-test passed; {}", self.attached.len(), self.backend.cost_to_others());
        let without = self.without.iter().map(|(program, why)| format!("; without {program}: {why}"));
        Finding::new(self.backend.name(), State::Yes, text + &without.collect::<String>())
    }

    /// What became of this hook: attached, not, or not tried.
    fn hook(&self, program: &str) -> &'static str {
        if self.attached.contains(&program) {
            "attached by"
        } else if self.refusal.as_ref().is_some_and(|why| !why.contains(&format!("`{program}`"))) {
            "not tried by"
        } else {
            "refused to"
        }
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
        Ok(offsets) => {
            let absent = Offsets::WISHES.iter().filter(|wish| (wish.get)(&offsets) == OFFSET_NONE);
            let absent: Vec<_> = absent.map(|wish| format!("{}.{}", wish.strukt, wish.path)).collect();
            let found = format!("{shown}, {} members found", Offsets::WISHES.len() - absent.len());
            if absent.is_empty() {
                return Finding::new("BTF", State::Yes, found);
            }
            Finding::new("BTF", State::Yes, format!("{found}; not there: {}", absent.join(", ")))
                .advise("counts do without these; what a census shows of names and sockets may lack something")
        }
        Err(error) => Finding::new("BTF", State::No, error).advise("use Linux 6.1 or later"),
    }
}

/// Functions and tracepoints that backends want: whether BTF lists them, and what became of the hooks on them.
fn functions(path: &Path, trials: &[Trial]) -> Vec<Finding> {
    let Some(bytes) = fs::read(path).ok() else { return Vec::new() };
    let Ok(types) = Btf::parse(&bytes) else { return Vec::new() };
    let mut rows: BTreeMap<&str, (bool, Vec<String>)> = BTreeMap::new();
    let hooks = trials.iter().flat_map(|trial| trial.backend.hooks().iter().map(move |hook| (Some(trial), hook)));
    for (trial, hook) in LIFECYCLE.iter().map(|hook| (None, hook)).chain(hooks) {
        let (name, there) = match hook.place {
            Place::Tracepoint => (hook.program, types.has_typedef(&format!("btf_trace_{}", hook.program))),
            Place::Walk => ("bpf_iter_task", types.has_function("bpf_iter_task")),
            Place::Exit(names) | Place::Probe(names) | Place::ReturnProbe(names) => {
                let found = names.iter().find(|name| types.has_function(name));
                (*found.or(names.first()).unwrap_or(&hook.program), found.is_some())
            }
        };
        let row = rows.entry(name).or_insert((there, Vec::new()));
        let told = trial.map(|trial| format!("{} {}", trial.hook(hook.program), trial.backend.name()));
        row.1.extend(told.filter(|told| !row.1.contains(told)));
    }
    let finding = |(name, (there, told)): (&str, (bool, Vec<String>))| {
        let place = if there { "in BTF" } else { "not in BTF" };
        let state = if there { State::Yes } else { State::No };
        let finding =
            Finding::new(name, state, [place.to_owned()].into_iter().chain(told).collect::<Vec<_>>().join(", "));
        if there { finding } else { finding.advise("the kernel was built without it, or has it under another name") }
    };
    rows.into_iter().map(finding).collect()
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

/// What is needed beside to trace processes of others.
const OF_OTHERS: [(Capability, &str); 2] = [
    (Capability::CAP_SYS_PTRACE, "whose program a process of another user is, and its stacks' files"),
    (Capability::CAP_DAC_READ_SEARCH, "names of containers, which are in files of root's"),
];

fn of_others(capability: Capability, without: &str) -> Finding {
    let name = capability.to_string();
    if privileges::effective().contains(&capability) {
        return Finding::new(&name, State::Yes, "held");
    }
    Finding::new(&name, State::No, format!("missing; can't be read: {without}"))
        .advise("give it to find processes of other users by name, program or container")
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
        None => Finding::new("lockdown", State::Unknown, "can't be read; securityfs is not mounted, or there is none")
            .advise("mount -t securityfs none /sys/kernel/security, to know"),
    }
}

fn modules() -> Finding {
    match read("/sys/kernel/security/lsm") {
        Some(text) => Finding::new("security modules", State::Yes, text),
        None => Finding::new("security modules", State::Unknown, "can't be read")
            .advise("mount -t securityfs none /sys/kernel/security, to know"),
    }
}

fn preemption() -> Finding {
    match preemption::models() {
        Some(models) if preemption::inside_of_programs() => Finding::new(
            "preemption",
            State::Yes,
            format!(
                "{models}: also inside of trampolines, which are skipped for others then; {}",
                if preemption::skipped_probes_are_counted() {
                    "kprobe goes before fentry"
                } else {
                    "fentry goes first all the same, as this kernel does not count the probes that it skips"
                }
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
            Finding::new("preemption", State::Unknown, text).advise("mount -t debugfs none /sys/kernel/debug, to know")
        }
    }
}
