//! The guest's `/init`, and the lines that it says on the second serial port, where the kernel never writes.

use std::path::PathBuf;

use super::{Options, kernels::Plan, programs::Programs};

/// Stands before each line of the script's own.
pub const MARK: &str = "@@fdtide ";
/// The tool's exit code when it could not do its work.
pub const REFUSED: i32 = 125;
/// Section in which the tool shows that it works, or that it refuses.
pub const PROOF: &str = "proof";
/// Section of the tests.
pub const TESTS: &str = "tests";

/// Tests with these in their names are not run: under emulation each takes minutes, and what they are about, the agent's
/// own memory, is no kernel's affair.
pub const TOO_LONG: [&str; 1] = ["4097"];

/// The script's beginning. Standard output of each section goes through a pipe, as it does on a developer's machine
/// under cargo, and its end is marked on a line of its own whatever was printed before.
const HEAD: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin 2>/dev/null
mkdir -p /proc /sys /dev /run /tmp /root /etc
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup2 /sys/fs/cgroup
chmod 1777 /tmp /dev/shm
echo root:x:0:0:root:/root:/bin/sh >/etc/passwd
echo nobody:x:65534:65534:nobody:/:/bin/false >>/etc/passwd
echo root:x:0: >/etc/group
echo nogroup:x:65534: >>/etc/group
ip link set lo up
ulimit -n 20000
export HOME=/root
stty -F /dev/ttyS1 raw
exec >/dev/ttyS1
now() { cut -d' ' -f1 /proc/uptime; }
section() {
    name=$1
    shift
    echo "@@fdtide begin $name"
    { "$@"; code=$?; echo $code >/run/code; printf '\n@@fdtide end %s %s\n' $name $code; } </dev/null 2>&1 | cat
}
echo "@@fdtide up $(now) $(uname -r)"
"#;

const TAIL: &str = "echo \"@@fdtide done $(now)\"\npoweroff -f\n";

/// A script that runs these commands, each under a name, with these variables.
pub fn commands(sections: &[(String, String)]) -> String {
    let sections: String = sections.iter().map(|(name, command)| format!("section {name} {command}\n")).collect();
    format!("{HEAD}{sections}{TAIL}")
}

/// The whole script.
pub fn init(plan: &Plan, programs: &Programs, options: &Options) -> String {
    let fdtide = quoted(&programs.fdtide.to_string_lossy());
    let filter = options.filter.as_deref().map(quoted).unwrap_or_default();
    let skip = TOO_LONG.map(|name| format!("--skip {name}")).join(" ");
    let which =
        if options.replay.is_some() { "--ignored --exact replay".to_owned() } else { format!("{skip} {filter}") };
    let target = |path: &PathBuf| {
        let path = quoted(&path.to_string_lossy());
        format!("    {path} --test-threads=1 --show-output {which} || code=$?\n")
    };
    let targets = programs.tests.iter().map(target).collect::<String>();
    let seeds = options.seeds.iter().map(|seeds| format!("export FDTIDE_TORTURE_SEEDS={}\n", quoted(seeds)));
    let ops = options.ops.iter().map(|ops| format!("export FDTIDE_TORTURE_OPS={ops}\n"));
    let replay = options.replay.iter().map(|words| format!("export FDTIDE_TORTURE_REPLAY={}\n", quoted(words)));
    let torture = seeds.chain(ops).chain(replay).collect::<String>();
    let preempt = plan.preempt.iter().map(|model| format!(" --preempt {model}")).collect::<String>();
    let guest = quoted(&format!("--kernel {}{preempt}", plan.kernel.name));
    let body = match plan.backend {
        None => format!("section {PROOF} {fdtide} run -- true\n"),
        Some(backend) => format!(
            "export FDTIDE_BACKEND={backend} FDTIDE_GUEST={guest}\n{torture}tests() {{\n    code=0\n{targets}    return $code\n}}\n\
             section {PROOF} {fdtide} run --format json -- true\n\
             [ \"$(cat /run/code)\" = {REFUSED} ] ||\n    \
             section {TESTS} tests\n"
        ),
    };
    format!("{HEAD}{body}{TAIL}")
}

/// As one word for the shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{
        super::kernels::{self, Backend},
        *,
    };

    fn script(kernel: &str, backend: Option<Backend>, filter: Option<&str>) -> String {
        let plan = Plan { kernel: kernels::by_name(kernel).unwrap(), preempt: None, backend };
        let tests = ["/t/kernel-1", "/t/cases-2"].map(Into::into).to_vec();
        let options = Options {
            kernel: Vec::new(),
            backend: Vec::new(),
            preempt: None,
            all: false,
            filter: filter.map(str::to_owned),
            target: Vec::new(),
            seeds: Some("3".to_owned()),
            ops: None,
            replay: None,
            jobs: None,
            limit: 1,
        };
        init(&plan, &Programs { archive: Default::default(), tests, fdtide: "/t/fdtide".into() }, &options)
    }

    #[test]
    fn the_backend_is_told_to_the_tool_and_the_filter_to_the_tests() {
        let script = script("6.1", Some(Backend::Kprobe), Some("it's"));
        assert!(script.contains("export FDTIDE_BACKEND=kprobe FDTIDE_GUEST='--kernel 6.1'\n"));
        for target in ["/t/kernel-1", "/t/cases-2"] {
            let line = format!("    '{target}' --test-threads=1 --show-output --skip 4097 'it'\\''s' || code=$?\n");
            assert!(script.contains(&line), "{script}");
        }
        assert!(script.contains("export FDTIDE_TORTURE_SEEDS='3'\n"));
        assert!(script.contains("section tests tests\n"));
    }

    #[test]
    fn an_old_kernel_only_has_to_be_refused() {
        let script = script("5.10", None, None);
        assert!(script.contains("section proof '/t/fdtide' run -- true\n"));
        assert!(!script.contains("FDTIDE_BACKEND"));
    }

    #[test]
    fn the_script_marks_its_lines_as_they_are_read() {
        assert_eq!(HEAD.matches(MARK).count(), 3);
        assert!(TAIL.contains(MARK));
    }
}
