//! An agent that root starts, without a service manager: whom it becomes, and what is left to it and its threads.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Command, Output},
};

use fdtide::agent::control::Request;
use tempfile::TempDir;

use crate::{
    life::{agrees, report_of, step},
    rights::tools,
    service::Agent,
    support::{self, FDTIDE, fixture::Fixture, line::number, poll},
    world::{AGENT, UNIT_NUMBERS, capabilities, copied, folder_of, free_port, loose, metrics, posted, status, target},
};

/// The `mark` of another user.
fn marked_by(uid: u32, agent: &Agent, tool: &Path) -> Output {
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={uid}"), &format!("--regid={uid}"), "--clear-groups"]).arg(tool);
    command.args(["ctl", "mark", "x", "--socket"]).arg(agent.socket()).output().expect("fdtide")
}

/// The threads of a process, as `/proc` has them.
fn threads(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it lives");
    tasks.map(|task| format!("{pid}/task/{}", task.expect("a thread").file_name().to_string_lossy())).collect()
}

/// Whether it talks to a network or to a disk for the agent: two for alerts, one for metrics, one for segments.
fn is_a_helper(thread: &str) -> bool {
    ["alerts", "exporters", "segments"].contains(&status(thread, "Name").as_str())
}

/// An agent of root's that becomes a user, with everything that it has threads for, and a fixture that it follows.
fn becomes_a_user(listener: &TcpListener, port: u16) -> (Agent, Fixture) {
    // The folder is root's: what the agent needs of it, it makes.
    let folder = TempDir::new().expect("a folder");
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o711)).expect("rights");
    let args = ["03", "--nofile", "64", "--hold", "52", "--execs", "9"];
    let (fixture, exe) = target(folder.path(), "fd-case", "of-another-user", &args);
    let config = format!(
        "[service]\nuser = \"{AGENT}:{group}\"\n[targets]\nfollow = [\"exe:{exe}\"]\n\
         [record]\nfolder = \"DIR/var/kept\"\nmin_free = \"1M\"\non = [\"failure\"]\n[report]\nfile = \"DIR/var/report.json\"\n\
         [metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n[alerts]\nwebhook = \"http://localhost:{hook}/\"\n\
         [segments]\nurl = \"DIR/var/place\"\nspool = \"DIR/spool\"\n",
        group = AGENT + 1,
        exe = exe.display(),
        hook = listener.local_addr().expect("an address").port(),
    );
    let agent = Agent::start_in(folder, &config, |command| command);
    agent.until_logged("(seccomp)");
    (agent, fixture)
}

#[test]
fn started_as_root_it_becomes_the_user_of_its_configuration() {
    let Some(_kernel) = support::kernel() else { return };
    if !tools() {
        return;
    }
    let (listener, port) = (TcpListener::bind("127.0.0.1:0").expect("a port"), free_port());
    let (agent, mut fixture) = becomes_a_user(&listener, port);
    let (user, group) = (AGENT, AGENT + 1);
    let all = threads(agent.pid());
    assert_eq!(all.iter().filter(|thread| is_a_helper(thread)).count(), 4, "{all:?}");
    for thread in &all {
        assert_eq!(status(thread, "Uid"), format!("{user} {user} {user} {user}"), "{thread}");
        assert_eq!(status(thread, "Gid"), format!("{group} {group} {group} {group}"), "{thread}");
        assert_eq!((status(thread, "Groups"), status(thread, "Seccomp")), (String::new(), "2".to_owned()), "{thread}");
        let want = if is_a_helper(thread) { &[][..] } else { &UNIT_NUMBERS };
        // A thread gives up its own, first of all.
        poll(20, "few rights", || (capabilities(thread, "CapPrm") == want).then_some(()));
    }
    assert_eq!(capabilities(&agent.pid().to_string(), "CapEff"), UNIT_NUMBERS);
    assert!(agent.log().contains(&format!("runs as user {user} and group {group}")), "{}", agent.log());

    let line = step(&mut fixture, "in-flight");
    let told = posted(&listener);
    assert!(told.contains("\"errno\":\"EMFILE\"") && told.contains("of-another-user"), "{told}");
    let dump = agent.ask(&Request::Dump).path.expect("a path");
    agrees(&report_of(Path::new(&dump)), fixture.pid(), &line);
    poll(20, "the endpoint", || metrics(port).contains("comm=\"of-another-user\"").then_some(()));

    // The socket is the new user's, who may ask as root may; others may not.
    let socket = fs::metadata(agent.socket()).expect("a socket");
    assert_eq!((socket.uid(), socket.mode() & 0o777), (user, 0o600));
    let place = folder_of(user);
    let tool = copied(place.path(), Path::new(FDTIDE), "fdtide-copy");
    assert!(marked_by(user, &agent, &tool).status.success());
    assert!(!marked_by(user + 1, &agent, &tool).status.success());

    let line = step(&mut fixture, "reaped");
    let pid = fixture.pid();
    let folder = ends(agent);
    let report = fs::read(folder.path().join("var/report.json")).expect("a report");
    let report = serde_json::from_slice(&report).expect("JSON");
    agrees(&report, pid, &line);
    assert_eq!(number(&report, "loss.lost") + number(&report, "loss.skipped"), 0);
    for below in ["var", "spool"] {
        assert_eq!(loose(&folder.path().join(below), user), <[&Path; 0]>::default(), "{below}");
    }
    let sent = fs::read_dir(folder.path().join("var/place")).expect("the place").count();
    assert!(sent > 0, "segments are sent");
}

/// Ends it; the socket, in a folder of root's, is the one thing that it can't take away.
fn ends(agent: Agent) -> TempDir {
    support::limits::kill(agent.pid(), libc::SIGTERM);
    agent.until_ended()
}

#[test]
fn root_that_stays_root_keeps_few_rights_in_every_thread() {
    let Some(_kernel) = support::kernel() else { return };
    let port = free_port();
    let config = format!(
        "[metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n[alerts]\nwebhook = \"http://127.0.0.1:9/\"\n\
         [segments]\nurl = \"DIR/place\"\nspool = \"DIR/spool\"\n"
    );
    let agent = Agent::start(&config);
    agent.until_logged("(seccomp)");
    assert!(agent.log().contains("would give up root"), "{}", agent.log());
    // CAP_DAC_OVERRIDE and CAP_KILL beside those of the unit.
    let mut most = UNIT_NUMBERS.to_vec();
    most.extend([1, 5]);
    for thread in threads(agent.pid()) {
        let most = if is_a_helper(&thread) { &[1][..] } else { &most };
        // A thread gives up its own, first of all.
        poll(20, "few rights", || {
            capabilities(&thread, "CapPrm").iter().all(|number| most.contains(number)).then_some(())
        });
        assert_eq!(status(&thread, "Seccomp"), "2", "{thread}");
    }
    assert!(!agent.log().contains("keeps rights"), "{}", agent.log());
    let (folder, _) = agent.end();
    for below in ["place", "spool"] {
        assert_eq!(loose(&folder.path().join(below), 0), <[&Path; 0]>::default(), "{below}");
    }
}

#[test]
fn a_command_that_a_reload_brings_is_not_run_by_an_agent_that_gave_up_starting_processes() {
    let Some(_kernel) = support::kernel() else { return };
    let agent = Agent::start("");
    agent.until_logged("starts no process");
    agent.reload("[alerts]\non_failure = [\"true\"]\n");
    agent.until_logged("no command is run on an alert before a restart");
    agent.until_logged("read the configuration again");
    let (folder, _) = agent.end();
    let agent = Agent::start_in(folder, "[service]\nseccomp = false\n", |command| command);
    agent.until_logged("every system call is left to the agent");
    assert_eq!(status(&agent.pid().to_string(), "Seccomp"), "0");
    agent.reload("[service]\nseccomp = true\n");
    agent.until_logged("who the agent is and what it may do, [service], can't change");
    agent.end();
}
