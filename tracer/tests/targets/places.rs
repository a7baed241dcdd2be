//! Containers, and both ids of the processes in them: in every output, and the same from a recording.

use std::{fs, os::unix::process::CommandExt as _};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    support::{
        self,
        line::{list, number},
        poll,
        ran::fdtide,
    },
    world::{Cgroup, attach, attach_as, child_of, contained, holder_as, holding, pids, stop, table},
};

/// An id that no container has.
fn id(digit: char) -> String {
    format!("{}{:08x}", String::from(digit).repeat(56), std::process::id())
}

#[test]
fn processes_with_the_same_id_in_two_containers_are_told_apart_and_replayed_so() {
    let Some(_kernel) = support::kernel() else { return };
    let ids = [id('a'), id('b')];
    let names = [format!("docker-{}.scope", ids[0]), format!("libpod-{}.scope", ids[1])];
    let cgroups: Vec<_> = names.iter().filter_map(|name| Cgroup::new(name)).collect();
    let [first, second] = cgroups.as_slice() else { return };
    let folder = TempDir::new().expect("a folder");
    let program = holder_as(&folder, "openshell-sandbox");
    let lives: Vec<_> = [(first, 21), (second, 34)]
        .map(|(cgroup, count)| {
            let (fixture, line) = holding(&mut contained(&program), count);
            let pid = child_of(fixture.pid());
            cgroup.take(pid);
            (fixture, pid, line)
        })
        .into();
    let recording = folder.path().join("r.fdtide");
    let agent = attach(&["-n", "openshell-sandbox", "--record", &recording.to_string_lossy()]);
    let report = stop(agent);
    assert_eq!(list(&report, "tables").len(), 2);
    for ((_, pid, line), id) in lives.iter().zip(&ids) {
        let row = table(&report, *pid);
        assert_eq!((&row["ns_pids"], &row["container"]), (&json!([1]), &json!(id)));
        assert_eq!(number(row, "live"), number(line, "live"));
    }
    let runtimes: Vec<&Value> = list(&report, "containers").iter().map(|row| &row["runtime"]).collect();
    assert_eq!(runtimes, ["docker", "podman"]);
    let replayed = fdtide(&["report", "--format", "json"]).arg(&recording).output().expect("it starts");
    let replayed: Value = serde_json::from_slice(&replayed.stdout).expect("a report");
    assert_eq!(replayed, report);
    // By the start of its id, one is found and not the other.
    let one = stop(attach(&["--container", &ids[1][..12]]));
    assert_eq!(pids(&one), [u64::from(lives[1].1)]);
}

#[test]
fn a_container_that_starts_later_is_followed_with_what_it_execs() {
    let Some(_kernel) = support::kernel() else { return };
    let id = id('c');
    let Some(cgroup) = Cgroup::new(&format!("fdtide-pods/cri-containerd-{id}.scope")) else { return };
    let agent = attach_as("jsonl", &["--container", &id, "--follow-new", "--wait"]);
    // As a runtime does: a process moves there, then becomes the program.
    let procs = cgroup.procs();
    let mut command = contained(std::path::Path::new("sh"));
    command.args(["-c", "/bin/true; /bin/true; exit 0"]);
    // SAFETY: writes a file between fork and exec, and allocates nothing.
    unsafe { command.pre_exec(move || fs::write(&procs, "0")) };
    assert!(command.status().expect("it starts").success());
    support::limits::kill(agent.id(), libc::SIGINT);
    let output = agent.wait_with_output().expect("its end");
    let lines = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<(&Value, &Value)> = lines.iter().map(|line| (&line["program"], &line["container"])).collect();
    let at = json!(id);
    let mut told = told;
    told.sort_by_key(|(name, _)| name.to_string());
    let programs = ["sh", "true", "true", "unshare"].map(|name| json!(name));
    assert_eq!(told, programs.iter().map(|name| (name, &at)).collect::<Vec<_>>());
    assert!(lines.iter().any(|line| line["ns_pid"] == 1));
    drop(cgroup);
    let parent = ["/sys/fs/cgroup/unified/fdtide-pods", "/sys/fs/cgroup/fdtide-pods"];
    poll(5, "the folder above can go", || parent.iter().any(|path| fs::remove_dir(path).is_ok()).then_some(()));
}
