//! Which kernels there are to test on, and what each is expected to allow.

use std::fmt;

/// A way of hooking, by the tool's own name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    Fentry,
    Kprobe,
    Syscall,
}

impl Backend {
    pub const ALL: [Self; 3] = [Self::Fentry, Self::Kprobe, Self::Syscall];
}

impl fmt::Display for Backend {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Fentry => "fentry",
            Self::Kprobe => "kprobe",
            Self::Syscall => "syscall",
        })
    }
}

/// A Debian kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct Kernel {
    /// As given to `--kernel`.
    pub name: &'static str,
    /// Suites of the main archive and of the security archive that have it.
    pub suites: &'static [&'static str],
    /// What must work there; another backend may be refused, in a sentence that becomes a skip.
    pub backends: &'static [Backend],
    /// `preempt=` on its command line changes something.
    pub dynamic_preemption: bool,
}

impl Kernel {
    /// Too old: the tool must say so.
    pub const fn is_refused(&self) -> bool {
        self.backends.is_empty()
    }
}

pub const KERNELS: [Kernel; 4] = [
    Kernel { name: "5.10", suites: &["bullseye", "bullseye-security"], backends: &[], dynamic_preemption: false },
    Kernel {
        name: "6.1",
        suites: &["bookworm", "bookworm-security"],
        backends: &Backend::ALL,
        dynamic_preemption: true,
    },
    Kernel { name: "6.12", suites: &["bookworm-backports"], backends: &Backend::ALL, dynamic_preemption: true },
    // From 7.0 on there is full and lazy preemption only, so the default is preemptible as it is.
    Kernel { name: "7.2", suites: &["sid"], backends: &Backend::ALL, dynamic_preemption: false },
];

/// Run when nothing is asked for: what CI has time for.
const USUAL: [&str; 2] = ["6.1", "7.2"];

/// What a kernel that is too old lacks: the tool's refusal has to name one of these.
pub const MISSING: [&str; 6] = ["atomic", "`bpf_", "bpf_loop", "task storage", "BPF_MAP_TYPE_", "kfunc"];

/// For the command line.
pub fn by_name(name: &str) -> Result<&'static Kernel, String> {
    let names: Vec<_> = KERNELS.iter().map(|kernel| kernel.name).collect();
    KERNELS.iter().find(|kernel| kernel.name == name).ok_or_else(|| format!("not one of {}", names.join(", ")))
}

/// One boot: a kernel with a backend, so that nothing that goes wrong with one hides another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub kernel: &'static Kernel,
    pub preempt: Option<String>,
    /// None where the tool only has to refuse.
    pub backend: Option<Backend>,
}

impl Plan {
    /// The kernel, with what stands on its command line.
    pub fn kernel_name(&self) -> String {
        let preempt = self.preempt.iter().map(|model| format!(" preempt={model}"));
        preempt.fold(self.kernel.name.to_owned(), |name, preempt| name + &preempt)
    }

    pub fn backend_name(&self) -> String {
        self.backend.map_or("refusal".to_owned(), |backend| backend.to_string())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.kernel_name(), self.backend_name())
    }
}

/// The boots that were asked for, in order.
pub fn plans(named: &[&'static Kernel], backends: &[Backend], preempt: Option<&str>, all: bool) -> Vec<Plan> {
    let usual = |kernel: &&'static Kernel| all || USUAL.contains(&kernel.name);
    let kernels = if named.is_empty() { KERNELS.iter().filter(usual).collect() } else { named.to_vec() };
    let mut plans = Vec::new();
    for kernel in kernels {
        if kernel.is_refused() {
            plans.push(Plan { kernel, preempt: None, backend: None });
            continue;
        }
        let again = (all && kernel.dynamic_preemption).then_some("full");
        for preempt in std::iter::once(preempt).chain(again.map(Some)) {
            let plan = |&backend| Plan { kernel, preempt: preempt.map(str::to_owned), backend: Some(backend) };
            plans.extend(backends.iter().map(plan));
        }
    }
    plans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(named: &[&'static Kernel], preempt: Option<&str>, all: bool) -> Vec<String> {
        plans(named, &[Backend::Kprobe], preempt, all).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn all_kernels_include_full_preemption_where_it_can_be_chosen() {
        let all = [
            "5.10 refusal",
            "6.1 kprobe",
            "6.1 preempt=full kprobe",
            "6.12 kprobe",
            "6.12 preempt=full kprobe",
            "7.2 kprobe",
        ];
        assert_eq!(names(&[], None, true), all);
    }

    #[test]
    fn without_a_name_the_usual_ones_run() {
        assert_eq!(names(&[], None, false), ["6.1 kprobe", "7.2 kprobe"]);
        assert_eq!(names(&[], Some("full"), false), ["6.1 preempt=full kprobe", "7.2 preempt=full kprobe"]);
    }

    #[test]
    fn a_named_kernel_runs_alone_with_each_backend() {
        let kernel = by_name("6.12").unwrap();
        let plans = plans(&[kernel], &Backend::ALL, None, false);
        assert_eq!(plans.len(), 3);
        assert_eq!(plans[0].to_string(), "6.12 fentry");
        assert!(by_name("6.13").unwrap_err().contains("6.12"));
    }
}
