//! Segments of a running agent, in a folder and in an S3 that comes and goes.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    python,
    support::{
        self,
        limits::kill,
        line::{list, number},
        poll,
        ran::fdtide,
    },
};

/// A shell that runs what it is told, and says when it is done.
struct Shell {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Shell {
    fn start() -> Shell {
        let mut child = Command::new("sh").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
        let (stdin, stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Shell { child, stdin, stdout: BufReader::new(stdout) }
    }

    /// So many execs of `true`, one after the other.
    fn execs(&mut self, count: u32) {
        writeln!(self.stdin, "n=0; while [ $n -lt {count} ]; do /bin/true; n=$((n+1)); done; echo done")
            .expect("it reads");
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it says so");
        assert_eq!(line, "done\n");
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An agent of a folder, which follows this process.
struct Agent(Child);

impl Agent {
    fn start(folder: &Path, url: &str, every: &str, pid: u32, env: &[(&str, String)]) -> Agent {
        let text = format!(
            "[targets]\nfollow = [\"pid:{pid}\"]\n[control]\nsocket = \"{0}/socket\"\n[report]\nfile = \"{0}/report.json\"\n\
             [segments]\nurl = \"{url}\"\nspool = \"{0}/spool\"\nevery = \"{every}\"\n",
            folder.display()
        );
        let config = folder.join("agent.toml");
        fs::write(&config, text).expect("a configuration");
        let log = fs::File::options().create(true).append(true).open(folder.join("log")).expect("a log");
        let mut command = fdtide(&["agent", "--config"]);
        command.arg(&config).stdout(Stdio::null()).stderr(log).envs(env.iter().map(|(key, value)| (*key, value)));
        let agent = Agent(command.spawn().expect("it starts"));
        poll(20, "the agent answers", || status(folder));
        agent
    }

    fn end(mut self, signal: i32) {
        kill(self.0.id(), signal);
        self.0.wait().expect("its end");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `ctl status` says of segments.
fn status(folder: &Path) -> Option<Value> {
    let output = fdtide(&["ctl", "--json", "--socket"]).arg(folder.join("socket")).arg("status").output().ok()?;
    output.status.success().then(|| serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// The segments' part of it, wherever it stands.
fn part(status: &Value) -> Option<&Value> {
    match status {
        Value::Object(map) if map.contains_key("sent_rows") => Some(status),
        Value::Object(map) => map.values().find_map(part),
        Value::Array(list) => list.iter().find_map(part),
        _ => None,
    }
}

/// What polars finds below a place: execs of each program, marks, and rows in all.
fn found(python: &Path, place: &str, env: &[(&str, String)]) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/segment_rows.py");
    let envs = env.iter().map(|(key, value)| (*key, value));
    let output = Command::new(python).arg(path).arg(place).envs(envs).output().expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn log(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap_or_default()
}

#[test]
fn a_folder_has_the_rows_of_the_report_and_a_killed_agent_loses_the_last_second_at_most() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(python) = python::interpreter() else { return };
    let folder = TempDir::new().expect("a folder");
    let place = folder.path().join("place");
    let (url, mut shell) = (place.display().to_string(), Shell::start());
    let agent = Agent::start(folder.path(), &url, "15m", shell.child.id(), &[]);
    shell.execs(25);
    let mark = fdtide(&["ctl", "--socket"]).arg(folder.path().join("socket")).args(["mark", "deploy 1.4.2"]).output();
    assert!(mark.expect("ctl starts").status.success());
    // More than a second later nothing of this is the agent's alone.
    std::thread::sleep(Duration::from_millis(2200));
    agent.end(libc::SIGKILL);
    assert_eq!(fs::read_dir(&place).expect("a folder").count(), 0, "nothing was sent");

    let agent = Agent::start(folder.path(), &url, "15m", shell.child.id(), &[]);
    poll(20, "what was left is sent", || {
        let status = status(folder.path())?;
        part(&status).filter(|part| number(part, "sent") > 0).cloned()
    });
    let first = found(&python, &url, &[]);
    assert_eq!((number(&first, "execs.true"), &first["marks"]), (25, &Value::from(vec!["deploy 1.4.2"])), "{first}");
    shell.execs(17);
    agent.end(libc::SIGTERM);
    let both = found(&python, &url, &[]);
    assert_eq!(number(&both, "execs.true"), 42, "{both} {}", log(folder.path()));
    // The second agent's own report, made from its model: the same execs, the same figures.
    let report: Value =
        serde_json::from_slice(&fs::read(folder.path().join("report.json")).expect("a report")).expect("JSON");
    let row = list(&report, "histograms").iter().find(|row| row["program"] == "true").expect("a histogram");
    assert_eq!(number(row, "count"), 17);
    assert_eq!(number(row, "max"), number(&both, "high_water.true"));
    assert_eq!(both["hosts"].as_array().map(Vec::len), Some(1));
    assert!(number(&both, "tables") >= 1, "the shell's own table at the end: {both}");
    assert_eq!(number(&both, "doubled"), 0);
}

/// An S3 on loopback, which forgets all when it ends.
struct Moto(Child);

impl Moto {
    fn start(python: &Path, port: u16) -> Moto {
        let server = python.with_file_name("moto_server");
        let child = Command::new(server)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("moto starts");
        poll(60, "moto listens", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        Moto(child)
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_s3_that_is_down_gets_everything_once_when_it_is_back() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(python) = python::interpreter() else { return };
    let folder = TempDir::new().expect("a folder");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let env = [
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
    ];
    let mut shell = Shell::start();
    // Nobody is there yet.
    let agent = Agent::start(folder.path(), "s3://bucket/fdtide", "2s", shell.child.id(), &env);
    shell.execs(30);
    let waiting = poll(30, "segments wait", || {
        let status = status(folder.path())?;
        part(&status).filter(|part| number(part, "waiting") > 0 && !part["trouble"].is_null()).cloned()
    });
    assert_eq!(number(&waiting, "sent"), 0, "{waiting}");
    let moto = Moto::start(&python, port);
    let made = found(&python, "make:bucket", &env);
    assert_eq!(made["made"], "bucket");
    shell.execs(12);
    poll(90, "everything is sent", || {
        let status = status(folder.path())?;
        part(&status).filter(|part| number(part, "sent") > 1 && part["trouble"].is_null()).cloned()
    });
    agent.end(libc::SIGTERM);
    let rows = found(&python, "s3://bucket/fdtide", &env);
    assert_eq!((number(&rows, "execs.true"), number(&rows, "doubled")), (42, 0), "{rows} {}", log(folder.path()));
    let log = log(folder.path());
    assert!(log.contains("segments wait in the spool") && log.contains("segments are sent again"), "{log}");
    assert_eq!(fs::read_dir(folder.path().join("spool")).expect("a spool").count(), 1, "the lock alone");
    drop(moto);
}
