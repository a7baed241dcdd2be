//! The control socket from outside.

use std::{
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    process::{Command, Output},
};

use serde_json::Value;

use crate::{
    service::Agent,
    support::{self, FDTIDE, ran::fdtide},
};

fn ctl(agent: &Agent, args: &[&str]) -> Output {
    Command::new(FDTIDE).arg("ctl").arg("--socket").arg(agent.socket()).args(args).output().expect("fdtide")
}

#[test]
fn ctl_tells_and_asks_and_says_what_was_refused() {
    let Some(_kernel) = support::kernel() else { return };
    let agent = Agent::start("");
    let status = ctl(&agent, &["status"]);
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.status.success() && text.contains("targets    nobody") && text.contains("0 lost"), "{text}");
    let json: Value = serde_json::from_slice(&ctl(&agent, &["status", "--json"]).stdout).expect("JSON");
    assert_eq!((&json["ok"], &json["status"]["pid"]), (&true.into(), &agent.pid().into()));
    for args in [&["mark", "deploy 1.4.2"][..], &["census"], &["log", "debug"]] {
        let output = ctl(&agent, args);
        assert!(output.status.success() && !output.stdout.is_empty(), "{args:?}");
    }
    agent.until_logged("mark: deploy 1.4.2");
    assert_eq!(agent.status().level, fdtide::agent::config::Level::Debug);
    for (args, why) in [
        (&["dump"][..], "[record]"),
        (&["add", "nonsense"], "names no process"),
        (&["add", "pid:4194399"], "no process has the id"),
        (&["remove", "name:nobody"], "not one of those in force"),
        (&["add", &format!("pid:{}", agent.pid())], "never traces itself"),
        (&["mark", "two\nlines"], "one line"),
        (&["mark", ""], "one line"),
    ] {
        let output = ctl(&agent, args);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
        assert!(told.contains(why), "{args:?}: {told}");
    }
    let gone = agent.socket();
    agent.end();
    let output = Command::new(FDTIDE).args(["ctl", "status", "--socket"]).arg(gone).output().expect("fdtide");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no agent listens"));
}

#[test]
fn nobody_else_may_ask() {
    let Some(_kernel) = support::kernel() else { return };
    let agent = Agent::start("");
    assert_eq!(fs::metadata(agent.socket()).expect("a socket").permissions().mode() & 0o777, 0o600);
    // Should its rights be loosened by somebody, it still looks at who asks.
    for path in [agent.folder.path().to_owned(), agent.socket()] {
        fs::set_permissions(path, Permissions::from_mode(0o777)).expect("other rights");
    }
    // The tool may lie where that user can't go: a copy it can.
    let tool = agent.path("fdtide-copy");
    fs::copy(FDTIDE, &tool).expect("a copy");
    fs::set_permissions(&tool, Permissions::from_mode(0o755)).expect("other rights");
    let mut command = Command::new(tool);
    let output =
        command.args(["ctl", "mark", "x", "--socket"]).arg(agent.socket()).uid(65534).output().expect("fdtide");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("only root and the agent's own user"), "{told}");
    assert_eq!(agent.status().marks, 0);
    agent.end();
}

#[test]
fn a_second_agent_is_refused_and_the_first_one_goes_on() {
    let Some(_kernel) = support::kernel() else { return };
    let agent = Agent::start("");
    let output = fdtide(&["agent", "--config"]).arg(agent.path("agent.toml")).output().expect("fdtide");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another agent runs"));
    assert!(agent.socket().exists());
    agent.status();
    agent.end();
}
