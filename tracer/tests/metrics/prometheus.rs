//! The Prometheus of the distribution, in a folder of its own.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{poll, program, skip};

/// A program of the package; None, with the reason printed, where it is not installed.
pub fn packaged(name: &str) -> Option<PathBuf> {
    let found = program(name, &["/usr/local/bin"]);
    if found.is_none() {
        let reason = format!("no `{name}`: run `cargo xtask setup --test`");
        assert!(std::env::var_os("FDTIDE_REQUIRE_KERNEL").is_none_or(|value| value != "1"), "required: {reason}");
        skip(&reason);
    }
    found
}

/// Status and body of an answer; None if nobody listens.
pub fn http(port: u16, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

/// A running server.
pub struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    /// Scrapes an agent once a second; its data stay in `folder` from one start to the next.
    pub fn start(program: &Path, folder: &TempDir, port: u16, agent: u16, features: &[&str]) -> Prometheus {
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/prometheus/fdtide.rules.yml");
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [\"{}\"]\n\
             scrape_configs:\n  - job_name: fdtide\n    static_configs: [{{targets: [\"127.0.0.1:{agent}\"]}}]\n",
            rules.display()
        );
        let path = folder.path().join("prometheus.yml");
        fs::write(&path, config).expect("a configuration");
        let log = fs::File::create(folder.path().join("log")).expect("a log");
        let mut command = Command::new(program);
        command.arg(format!("--config.file={}", path.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        command.args(features).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().expect("Prometheus starts");
        let prometheus = Prometheus { child, port };
        poll(60, "Prometheus is ready", || http(port, "/-/ready").filter(|(status, _)| *status == 200));
        prometheus
    }

    /// What its API answers.
    pub fn api(&self, path: &str) -> Value {
        let (status, body) = http(self.port, &format!("/api/v1/{path}")).expect("an answer");
        let answer: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{status} {error}: {body}"));
        assert_eq!(answer["status"], "success", "{path}: {answer}");
        answer["data"].clone()
    }

    /// The series that an expression gives now.
    pub fn query(&self, expression: &str) -> Vec<Value> {
        let data = self.api(&format!("query?query={}", escaped(expression)));
        data["result"].as_array().cloned().unwrap_or_default()
    }

    /// The value of the only series that an expression gives now; None if there is none.
    pub fn value(&self, expression: &str) -> Option<f64> {
        let found = self.query(expression);
        assert!(found.len() < 2, "{expression} gives more than one series: {found:?}");
        let value = found.first()?["value"][1].as_str().expect("a value");
        Some(value.parse().expect("a number"))
    }

    /// Waits until an expression gives this.
    pub fn wait(&self, expression: &str, wanted: f64) {
        let mut last = None;
        let found = |last: &mut Option<f64>| {
            *last = self.value(expression);
            last.filter(|value| *value == wanted)
        };
        let begun = std::time::Instant::now();
        while found(&mut last).is_none() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{expression} is {last:?}, not {wanted}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it.
    pub fn end(mut self) {
        // SAFETY: the process is a child that has not been waited for.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        self.child.wait().expect("its end");
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// For a query string.
fn escaped(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    text.bytes().map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
