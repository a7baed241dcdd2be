//! The agent as its unit runs it: never root, four capabilities, one folder to write to.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

use fdtide::agent::control::Request;

use crate::{
    life::{agrees, report_of, step},
    service::{Agent, configure},
    support::{self, line::number, poll, program},
    world::{
        AGENT, UNIT, UNIT_NUMBERS, as_the_unit, capabilities, folder_of, free_port, loose, metrics, status, target,
    },
};

/// Whether the programs are there that give rights and namespaces.
pub fn tools() -> bool {
    let missing = ["setpriv", "unshare", "mount"].into_iter().find(|name| program(name, &["/sbin", "/bin"]).is_none());
    if let Some(name) = missing {
        support::skip(&format!("no `{name}`"));
    }
    missing.is_none()
}

/// What the command of an alert finds out about itself.
const COMMAND: &str = r#"["/bin/sh", "-c", "grep -E '^(Uid|CapPrm|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status >> $0/told; touch /fdtide-was-here", "DIR"]"#;

#[test]
fn all_of_it_works_as_the_unit_runs_it() {
    let Some(_kernel) = support::kernel() else { return };
    if !tools() {
        return;
    }
    let folder = folder_of(AGENT);
    let args = ["03", "--nofile", "64", "--hold", "52", "--execs", "9"];
    let (mut fixture, exe) = target(folder.path(), "fd-case", "of-another-user", &args);
    let port = free_port();
    let config = format!(
        "[targets]\nfollow = [\"exe:{}\"]\n[record]\nfolder = \"DIR/kept\"\nmin_free = \"1M\"\non = [\"failure\"]\n\
         [metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n[alerts]\non_failure = {COMMAND}\n",
        exe.display()
    );
    let mut command = as_the_unit(folder.path(), &UNIT, "");
    let agent = Agent::start_by(folder, &config, &mut command);
    let own = agent.pid().to_string();
    agent.until_logged("(seccomp)");
    assert_eq!(status(&own, "Uid"), format!("{AGENT} {AGENT} {AGENT} {AGENT}"));
    for (set, want) in [("CapPrm", &UNIT_NUMBERS[..]), ("CapEff", &UNIT_NUMBERS), ("CapInh", &[]), ("CapAmb", &[])] {
        assert_eq!(capabilities(&own, set), want, "{set}");
    }
    assert_eq!((status(&own, "NoNewPrivs"), status(&own, "Seccomp")), ("1".to_owned(), "2".to_owned()));

    let line = step(&mut fixture, "in-flight");
    assert!(number(&line, "expect.failed") > 1, "{line}");
    poll(20, "the alert", || (agent.status().alerts.sent + agent.status().alerts.failed > 0).then_some(()));
    poll(20, "the dump", || (agent.status().recorder.expect("a recorder").dumps > 0).then_some(()));
    let dump = agent.ask(&Request::Dump).path.expect("a path");
    agrees(&report_of(Path::new(&dump)), fixture.pid(), &line);
    let high = format!("fdtide_high_water_descriptors{{comm=\"of-another-user\"}} {}", number(&line, "high_water"));
    poll(20, "the endpoint has the mark", || metrics(port).lines().any(|line| line == high).then_some(()));
    assert!(!metrics(port).contains(&*exe.to_string_lossy()), "a path at the endpoint");
    agent.reload(&config.replace("[record]", "[log]\nlevel = \"debug\"\n[record]"));
    agent.until_logged("read the configuration again");

    let line = step(&mut fixture, "reaped");
    let pid = fixture.pid();
    let (folder, report) = agent.end();
    agrees(&report, pid, &line);
    assert_eq!(number(&report, "loss.lost") + number(&report, "loss.skipped"), 0);
    // The command was no more than the agent, and had no capability at all.
    let told = fs::read_to_string(folder.path().join("told")).expect("the command has run");
    for (key, value) in [("Uid", "4711"), ("CapPrm", "0000000000000000"), ("NoNewPrivs", "1"), ("Seccomp", "2")] {
        let line = told.lines().find(|line| line.starts_with(&format!("{key}:"))).expect("a line");
        assert_eq!(line.split_whitespace().nth(1), Some(value), "{told}");
    }
    assert!(!Path::new("/fdtide-was-here").exists());
    assert_eq!(loose(&folder.path().join("kept"), AGENT), <[&Path; 0]>::default());
    let made = fs::metadata(folder.path().join("report.json")).expect("a report");
    assert_eq!((made.uid(), made.permissions().mode() & 0o777), (AGENT, 0o600));
}

#[test]
fn without_one_of_its_capabilities_it_does_not_do_its_work() {
    let Some(_kernel) = support::kernel() else { return };
    if !tools() {
        return;
    }
    for lacks in ["bpf", "perfmon"] {
        let folder = folder_of(AGENT);
        configure(folder.path(), "");
        let output = as_the_unit(folder.path(), &without(lacks), "").output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(&format!("CAP_{} missing", lacks.to_uppercase())), "{told}");
    }
    // Whose program a process of another user is: only this one shows.
    let place = folder_of(AGENT);
    let (_fixture, exe) = target(place.path(), "fd-holder", "of-another-user", &["--count", "3"]);
    let config = format!("[targets]\nfollow = [\"exe:{}\"]\n", exe.display());
    assert_eq!((found(&config, &UNIT, ""), found(&config, &without("sys_ptrace"), "")), (1, 0));
}

#[test]
fn names_of_containers_that_only_root_may_read_take_the_fourth_capability() {
    let Some(_kernel) = support::kernel() else { return };
    if !tools() {
        return;
    }
    let id = format!("{}{:08x}", "d".repeat(56), std::process::id());
    let Some(cgroup) = cgroup(&format!("docker-{id}.scope")) else { return };
    let place = folder_of(AGENT);
    let (fixture, _) = target(place.path(), "fd-holder", "of-another-user", &["--count", "3"]);
    fs::write(cgroup.join("cgroup.procs"), fixture.pid().to_string()).expect("the process moves");
    let before = format!(
        "mount -t tmpfs -o mode=0755 tmpfs /var/lib; mkdir -p /var/lib/docker/containers/{id}; chmod 0710 /var/lib/docker/containers; \
         echo '{{\"Name\":\"/fdtide-named\"}}' > /var/lib/docker/containers/{id}/config.v2.json; \
         chmod 0600 /var/lib/docker/containers/{id}/config.v2.json;"
    );
    let config = "[targets]\nfollow = [\"container:fdtide-named\"]\n";
    let counts = (found(config, &UNIT, &before), found(config, &without("dac_read_search"), &before));
    drop(fixture);
    poll(5, "the cgroup can go", || fs::remove_dir(&cgroup).ok());
    assert_eq!(counts, (1, 0));
}

#[test]
fn a_user_that_is_not_root_becomes_nobody_else_and_a_report_without_a_place_is_told_at_once() {
    let Some(_kernel) = support::kernel() else { return };
    if !tools() {
        return;
    }
    for (config, why) in [
        ("[service]\nuser = 4712\n", "only root can become user 4712"),
        ("[report]\nfile = \"/etc/report.json\"\n", "failed to open `/etc/report.json`"),
        ("[record]\nfolder = \"/etc/kept\"\n", "failed to record below `/etc/kept`"),
    ] {
        let folder = folder_of(AGENT);
        configure(folder.path(), config);
        let output = as_the_unit(folder.path(), &UNIT, "").output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(why), "{told}");
        assert!(!folder.path().join("agent.sock").exists(), "the socket is left");
    }
}

/// The unit's capabilities without one.
fn without(lacks: &str) -> Vec<&'static str> {
    UNIT.into_iter().filter(|name| *name != lacks).collect()
}

/// How many processes an agent with these capabilities finds.
fn found(config: &str, capabilities: &[&str], before: &str) -> u64 {
    let folder = folder_of(AGENT);
    let mut command = as_the_unit(folder.path(), capabilities, before);
    let agent = Agent::start_by(folder, config, &mut command);
    let processes = agent.status().processes;
    agent.end();
    processes
}

/// A new cgroup of version 2.
fn cgroup(name: &str) -> Option<std::path::PathBuf> {
    let mounts = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map(Path::new);
    let mount = mounts.into_iter().find(|path| path.join("cgroup.controllers").exists());
    let made = mount.map(|mount| mount.join(name)).filter(|path| fs::create_dir(path).is_ok());
    if made.is_none() {
        support::skip("no version 2 cgroup can be made here");
    }
    made
}
