//! A day in the life of an agent, in short.

use std::{fs, path::Path, process::Command};

use fdtide::agent::control::Request;
use serde_json::Value;

use crate::{
    service::Agent,
    support::{
        self, FDTIDE,
        fixture::Fixture,
        line::{failures, list, number},
        poll,
    },
};

/// A fixture that stands still before it does anything.
fn fixture(name: &str, args: &[&str]) -> Fixture {
    let fixture = Fixture::start(name, args);
    fixture.wait_until_it_reads();
    fixture
}

/// Lets it go on to this step, and gives its line.
pub fn step(fixture: &mut Fixture, name: &str) -> Value {
    loop {
        fixture.go();
        let line = fixture.next().expect("a line");
        if line["step"] == name {
            return line;
        }
    }
}

pub fn report_of(recording: &Path) -> Value {
    let output = Command::new(FDTIDE).args(["report", "--format", "json"]).arg(recording).output().expect("fdtide");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The table of a process in a report.
fn table(report: &Value, pid: u32) -> &Value {
    let mut rows = list(report, "tables").iter().filter(|row| list(row, "pids").iter().any(|found| *found == pid));
    rows.next().unwrap_or_else(|| panic!("no table of process {pid}"))
}

/// High-water mark and failures of a process, as the fixture's line has them.
pub fn agrees(report: &Value, pid: u32, line: &Value) {
    let row = table(report, pid);
    assert_eq!(number(row, "high_water"), number(line, "high_water"), "{row}");
    assert_eq!(number(row, "live"), number(line, "live"), "{row}");
    let told = list(row, "failures").iter().map(|failure| {
        let word = |key: &str| failure[key].as_str().unwrap_or_default().to_owned();
        (word("syscall"), word("errno"), number(failure, "count"), number(failure, "live"))
    });
    assert_eq!(told.collect::<Vec<_>>(), failures(&line["failures"]));
}

#[test]
fn what_fails_is_alerted_once_and_dump_and_report_say_what_the_fixture_counted() {
    let Some(_kernel) = support::kernel() else { return };
    let mut target = fixture("fd-case", &["03", "--nofile", "64", "--hold", "52", "--execs", "9"]);
    let alert = r#"["/bin/sh", "-c", "echo $FDTIDE_CAUSE $FDTIDE_ERRNO $FDTIDE_SYSCALL $FDTIDE_PID $FDTIDE_MARK >> $0/told", "DIR"]"#;
    let config = format!(
        "[targets]\nfollow = [\"pid:{}\"]\n[record]\nfolder = \"DIR/kept\"\nmin_free = \"1M\"\non = []\n[alerts]\non_failure = {alert}\n",
        target.pid()
    );
    let agent = Agent::start(&config);
    let own = || agent.status().agent.expect("/proc is there").descriptors;
    let before = own();
    agent.ask(&Request::Mark { text: "deploy 1.4.2".to_owned() });
    let line = step(&mut target, "in-flight");
    let (ok, failed) = (number(&line, "expect.ok"), number(&line, "expect.failed"));
    assert!(ok > 0 && failed > 1, "{line}");
    let told = poll(20, "the alert", || Some(agent.status().alerts).filter(|alerts| alerts.sent + alerts.failed > 0));
    assert_eq!(told.failed, 0, "{}", agent.log());

    // The fixture hears of an exec a moment before the kernel tells it.
    poll(20, "the execs", || (agent.status().execs >= ok).then_some(()));
    let dump = agent.ask(&Request::Dump).path.expect("a path");
    let dumped = report_of(Path::new(&dump));
    agrees(&dumped, target.pid(), &line);
    assert_eq!(dumped["marks"][0]["text"], "deploy 1.4.2");
    let marked = list(&dumped, "execs").iter().filter(|exec| exec["mark"] == "deploy 1.4.2").count() as u64;
    assert_eq!(marked, ok, "each exec came after the mark");

    let line = step(&mut target, "reaped");
    assert_eq!(own(), before, "the agent's own descriptors");
    let pid = target.pid();
    let (folder, report) = agent.end();
    agrees(&report, pid, &line);
    assert_eq!(report["marks"][0]["text"], "deploy 1.4.2");
    assert_eq!(number(&report, "loss.lost") + number(&report, "loss.skipped"), 0);
    let told = fs::read_to_string(folder.path().join("told")).expect("the command has run");
    assert_eq!(told, format!("failure EMFILE pipe2 {pid} deploy 1.4.2\n"));
    let log = fs::read_to_string(folder.path().join("log")).expect("a log");
    assert_eq!(log.matches("was refused a descriptor").count(), 1, "{log}");
}

#[test]
fn a_failure_of_a_process_that_changes_nothing_else_is_alerted_too() {
    let Some(_kernel) = support::kernel() else { return };
    // At its limit before it is attached to; all that happens after that is that nothing more can be opened.
    let script = "ulimit -n 16; for n in 3 4 5 6 7 8 9 10 11 12 13 14 15; do eval \"exec $n</dev/null\"; done; \
                  echo '{}'; read line; : </dev/null; read line";
    let mut target = Fixture::spawn(Command::new("bash").args(["-c", script]).stderr(std::process::Stdio::null()));
    target.next().expect("it is full");
    let config = "[targets]\nfollow = [\"pid:PID\"]\n[alerts]\non_failure = [\"true\"]\n";
    let agent = Agent::start(&config.replace("PID", &target.pid().to_string()));
    target.go();
    agent.until_logged("was refused a descriptor");
    poll(20, "the command has run", || (agent.status().alerts.sent > 0).then_some(()));
    agent.end();
}

#[test]
fn targets_come_by_reload_and_by_request_and_an_agent_without_any_waits() {
    let Some(_kernel) = support::kernel() else { return };
    let agent = Agent::start("");
    assert_eq!((agent.status().targets.len(), agent.status().processes), (0, 0));
    let mut first = fixture("fd-holder", &["--count", "30"]);
    let mut second = fixture("fd-holder", &["--count", "40"]);
    agent.ask(&Request::Add { target: format!("pid:{}", first.pid()) });
    let config = format!("[targets]\nfollow = [\"pid:{}\"]\n", second.pid());
    agent.reload(&config);
    agent.until_logged("read the configuration again");
    assert_eq!(agent.status().targets.len(), 2, "what was added by hand stays");
    let [one, two] = [&mut first, &mut second].map(|fixture| step(fixture, "holding"));
    agent.reload("[targets]\nfolow = []\n");
    agent.until_logged("the configuration stays as it was");
    assert!(agent.log().contains("did you mean `follow`?"), "{}", agent.log());
    let (folder, report) = agent.end();
    agrees(&report, first.pid(), &one);
    agrees(&report, second.pid(), &two);
    drop(folder);
}

#[test]
fn a_later_process_of_a_name_is_followed_from_its_exec_until_it_is_removed() {
    let Some(_kernel) = support::kernel() else { return };
    let agent = Agent::start("[targets]\nfollow = [\"name:fd-holder\"]\n");
    let mut first = fixture("fd-holder", &["--count", "30"]);
    let line = step(&mut first, "holding");
    poll(20, "it is followed", || (agent.status().processes == 1).then_some(()));
    agent.ask(&Request::Remove { target: "name:fd-holder".to_owned() });
    assert_eq!((agent.status().targets.len(), agent.status().processes), (0, 0));
    let _second = fixture("fd-holder", &["--count", "40"]);
    agent.ask(&Request::Add { target: "name:nobody-yet".to_owned() });
    let (_folder, report) = agent.end();
    let rows = list(&report, "tables");
    assert!(rows.iter().all(|row| list(row, "pids")[0] != _second.pid()), "{rows:?}");
    let high = rows.iter().filter_map(|row| row["high_water"].as_u64()).max();
    // A table that is followed no longer is no row of a stream; if it is told, it is told right.
    assert!(high.is_none_or(|high| high == number(&line, "high_water")), "{rows:?}");
}

#[test]
fn after_a_kill_the_next_one_begins_anew_and_what_was_kept_is_still_there() {
    let Some(_kernel) = support::kernel() else { return };
    let mut target = fixture("fd-holder", &["--count", "30"]);
    let config =
        format!("[targets]\nfollow = [\"pid:{}\"]\n[record]\nfolder = \"DIR/kept\"\nmin_free = \"1M\"\n", target.pid());
    let agent = Agent::start(&config);
    let line = step(&mut target, "holding");
    let left = agent.path(&format!("kept/fdtide-{}.segments/000001.fdtide", agent.pid()));
    // What a kill may cost is the last second.
    let high = || report_of(&left)["tables"].as_array()?.iter().find_map(|row| row["high_water"].as_u64());
    poll(20, "the recording has the last level", || (high()? == number(&line, "high_water")).then_some(()));
    let killed = agent.pid();
    let folder = agent.kill();
    assert!(folder.path().join("agent.sock").exists(), "a kill leaves the socket");
    let left = folder.path().join(format!("kept/fdtide-{killed}.segments/000001.fdtide"));
    let told = report_of(&left);
    assert_eq!(number(table(&told, target.pid()), "high_water"), number(&line, "high_water"));
    let agent = Agent::start_in(folder, &config, |command| command);
    assert_eq!(agent.status().processes, 1);
    assert!(left.exists(), "the caps allow for it");
    let (_folder, report) = agent.end();
    assert_eq!(number(table(&report, target.pid()), "live"), number(&line, "live"));
}
