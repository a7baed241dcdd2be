//! `fdtide doctor`: what this kernel allows, and whether that is enough.

use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{self, FDTIDE, program};

/// The findings by their names, and the whole.
fn examined(output: &Output) -> (Vec<String>, Value) {
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["schema"], "fdtide.doctor/1");
    let names = found["findings"].as_array().expect("findings").iter();
    (names.map(|finding| finding["name"].as_str().expect("a name").to_owned()).collect(), found)
}

fn finding<'a>(found: &'a Value, name: &str) -> &'a Value {
    let mut findings = found["findings"].as_array().expect("findings").iter();
    findings.find(|finding| finding["name"] == name).unwrap_or_else(|| panic!("no finding `{name}`: {found}"))
}

#[test]
fn with_all_rights_a_backend_is_found_and_everything_is_looked_at() {
    let Some(_kernel) = support::kernel() else { return };
    let output = support::ran::fdtide(&["doctor", "--json"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let (names, found) = examined(&output);
    let backend = found["backend"].as_str().expect("a backend");
    assert_eq!(finding(&found, backend)["state"], "yes");
    assert!(found["cost_to_others"].is_string());
    for name in [
        "kernel",
        "BTF",
        "tracepoint programs",
        "trampoline programs",
        "probe programs",
        "fentry",
        "kprobe",
        "syscall",
        "fd_install",
        "do_dup2",
        "sys_exit",
        "sched_process_exec",
        "PID namespace",
        "privileges",
        "CAP_SYS_PTRACE",
        "CAP_DAC_READ_SEARCH",
        "memlock",
        "lockdown",
        "preemption",
    ] {
        assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
    }
    let own = match backend {
        "syscall" => "sys_exit",
        _ => "fd_install",
    };
    let text = finding(&found, own)["text"].as_str().expect("text").to_owned();
    assert!(text.starts_with("in BTF") && text.contains(&format!("attached by {backend}")), "{text}");
    // Whatever is missing comes with what to do.
    let bare = |finding: &&Value| finding["state"] != "yes" && finding["advice"].is_null();
    let bare: Vec<_> = found["findings"].as_array().expect("findings").iter().filter(bare).collect();
    assert!(bare.is_empty(), "no advice: {bare:?}");
}

#[test]
fn without_rights_it_says_which_are_missing_and_that_nothing_can_run() {
    let Some(setpriv) = program("setpriv", &[]) else {
        return support::skip("no `setpriv` to become somebody else with");
    };
    let mut command = Command::new(setpriv);
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--bounding-set=-all",
        FDTIDE,
        "doctor",
        "--json",
    ]);
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let (_, found) = examined(&output);
    assert!(found["backend"].is_null());
    let rights = finding(&found, "privileges");
    assert_eq!(rights["state"], "no");
    assert!(rights["text"].as_str().is_some_and(|text| text.contains("CAP_BPF") && text.contains("CAP_PERFMON")));
    for name in ["CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"] {
        assert_eq!(finding(&found, name)["state"], "no");
    }
    assert_eq!(finding(&found, "kernel")["state"], "yes", "what anybody may read is told");
}
