//! The rights that the tool needs, exactly those, and what it does with them.

use std::process::{Child, Command, Stdio};

use crate::support::{self, FDTIDE, fixture::Fixture, limits::kill, poll, program};

/// `CAP_PERFMON` and `CAP_BPF` (include/uapi/linux/capability.h, v6.12).
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;

/// The tool with these capabilities alone; None, with the reason printed, where they can't be given.
fn with(capabilities: &[&str], args: &[&str]) -> Option<Command> {
    let Some(setpriv) = program("setpriv", &[]) else {
        support::skip("no `setpriv` to take capabilities away with");
        return None;
    };
    let list = capabilities.iter().map(|name| format!(",+{name}")).collect::<String>();
    let mut command = Command::new(setpriv);
    command.arg(format!("--bounding-set=-all{list}")).arg("--inh-caps=-all").arg(FDTIDE).args(args);
    Some(command)
}

/// Permitted capabilities of a process.
fn permitted(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("CapPrm:")).expect("capabilities");
    u64::from_str_radix(line.trim(), 16).expect("hexadecimal")
}

#[test]
fn two_capabilities_are_enough_to_run_a_command() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(mut command) = with(&["bpf", "perfmon"], &["run", "--format", "json", "--", "true"]) else { return };
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["execs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn each_capability_that_is_missing_is_named_and_the_command_does_not_run() {
    let Some(_kernel) = support::kernel() else { return };
    for (have, lacks) in [("bpf", "CAP_PERFMON"), ("perfmon", "CAP_BPF")] {
        let Some(mut command) = with(&[have], &["run", "--", "echo", "ran"]) else { return };
        let output = command.output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{stderr}");
        assert!(stderr.contains(&format!("{lacks} missing")), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

/// Whether a process waits in `epoll_wait`.
fn waits(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/syscall")).is_ok_and(|text| text.starts_with("232 "))
}

/// Ends a process that was started.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_of_another_user_is_followed_and_what_is_not_needed_is_given_up() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(setpriv) = program("setpriv", &[]) else { return support::skip("no `setpriv`") };
    let other = Command::new(setpriv)
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "30"])
        .stdin(Stdio::null())
        .spawn()
        .expect("it starts");
    let other = Started(other);
    let pid = other.0.id().to_string();
    let capabilities = ["bpf", "perfmon", "sys_ptrace", "dac_read_search"];
    let args = ["attach", "--format", "json", "-p", &pid, "--duration", "30s"];
    let Some(mut command) = with(&capabilities, &args) else { return };
    let mut agent = Started(command.stdout(Stdio::piped()).spawn().expect("it starts"));
    let own = agent.0.id();
    let left = poll(10, "rights given up", || Some(permitted(own)).filter(|left| *left == PERFMON | BPF));
    assert_eq!(left, PERFMON | BPF, "what attaching took is gone");
    kill(own, libc::SIGINT);
    let stdout = agent.0.stdout.take().expect("a pipe");
    let report: serde_json::Value = serde_json::from_reader(stdout).expect("JSON");
    assert_eq!(report["tables"][0]["pids"][0], other.0.id());
}

#[test]
fn a_trace_goes_on_healing_with_the_rights_that_are_left() {
    let Some(_kernel) = support::kernel() else { return };
    let mut fixture = Fixture::start("fd-holder", &["--count", "40"]);
    fixture.wait_until_it_reads();
    let pid = fixture.pid().to_string();
    let Some(mut command) = with(&["bpf", "perfmon"], &["attach", "--format", "json", "-p", &pid]) else { return };
    let mut agent = Started(command.stdout(Stdio::piped()).spawn().expect("it starts"));
    let own = agent.0.id();
    // It gives rights up when it has attached.
    poll(10, "it has attached", || (permitted(own) == PERFMON | BPF && waits(own)).then_some(()));
    fixture.go();
    fixture.next().expect("the line `base`");
    fixture.go();
    let line = fixture.next().expect("the line `holding`");
    kill(own, libc::SIGINT);
    let stdout = agent.0.stdout.take().expect("a pipe");
    let report: serde_json::Value = serde_json::from_reader(stdout).expect("JSON");
    assert_eq!(report["tables"][0]["live"], line["live"]);
    assert_eq!(report["tables"][0]["high_water"], line["high_water"]);
    kill(fixture.pid(), libc::SIGTERM);
}
