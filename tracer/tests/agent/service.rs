//! An agent in a folder of its own.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use fdtide::agent::control::{self, Answer, Request, Status};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{limits::kill, poll, ran::fdtide};

/// A running agent, and where everything of it is.
pub struct Agent {
    child: Child,
    /// The folder.
    pub folder: TempDir,
}

impl Agent {
    /// Starts one with this configuration; `DIR` in it is its folder. Returns when it answers.
    pub fn start(config: &str) -> Agent {
        Agent::start_in(TempDir::new().expect("a folder"), config, |command| command)
    }

    /// The same in a folder that is there, with a last word on how it is started.
    pub fn start_in(folder: TempDir, config: &str, prepare: impl FnOnce(&mut Command) -> &mut Command) -> Agent {
        let mut command = fdtide(&["agent", "--config"]);
        command.arg(folder.path().join("agent.toml"));
        prepare(&mut command);
        Agent::start_by(folder, config, &mut command)
    }

    /// The same by a command that becomes the agent, with its id.
    pub fn start_by(folder: TempDir, config: &str, command: &mut Command) -> Agent {
        configure(folder.path(), config);
        let log = File::options().create(true).append(true).open(folder.path().join("log")).expect("a log");
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a copy")).stderr(log);
        let child = command.spawn().expect("fdtide starts");
        let mut agent = Agent { child, folder };
        poll(60, "it answers", || {
            if let Some(status) = agent.child.try_wait().expect("its state") {
                panic!("it has ended: {status}\n{}", agent.log());
            }
            control::ask(&agent.socket(), &Request::Status).ok()
        });
        agent
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("agent.sock")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).expect("a log")
    }

    /// Waits for a line of the log with this in it.
    pub fn until_logged(&self, text: &str) {
        let until = Instant::now() + Duration::from_secs(20);
        while !self.log().contains(text) {
            assert!(Instant::now() < until, "no `{text}` in {}", self.log());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Asks, and takes no refusal.
    pub fn ask(&self, request: &Request) -> Answer {
        let answer = control::ask(&self.socket(), request).unwrap_or_else(|error| panic!("{error}\n{}", self.log()));
        assert!(answer.ok, "{request:?}: {}", answer.text);
        answer
    }

    pub fn status(&self) -> Status {
        *self.ask(&Request::Status).status.expect("a status")
    }

    /// Another configuration, taken over by SIGHUP.
    pub fn reload(&self, config: &str) {
        configure(self.folder.path(), config);
        kill(self.pid(), libc::SIGHUP);
    }

    /// Ends it by SIGTERM, within the five seconds that it has; gives its folder and its report.
    pub fn end(mut self) -> (TempDir, Value) {
        let since = Instant::now();
        kill(self.pid(), libc::SIGTERM);
        let status = self.child.wait().expect("its end");
        assert!(status.success(), "{status}: {}", self.log());
        assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
        assert!(!self.socket().exists(), "the socket is left");
        let report = fs::read(self.path("report.json")).expect("a report");
        let folder = std::mem::replace(&mut self.folder, TempDir::new().expect("a folder"));
        (folder, serde_json::from_slice(&report).expect("JSON"))
    }

    /// Waits for its good end, for which it has been asked; gives its folder.
    pub fn until_ended(mut self) -> TempDir {
        let status = self.child.wait().expect("its end");
        assert!(status.success(), "{status}: {}", self.log());
        std::mem::replace(&mut self.folder, TempDir::new().expect("a folder"))
    }

    /// Kills it, as nobody should.
    pub fn kill(mut self) -> TempDir {
        kill(self.pid(), libc::SIGKILL);
        self.child.wait().expect("its end");
        std::mem::replace(&mut self.folder, TempDir::new().expect("a folder"))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // A test that failed half way leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Puts the configuration there, with its report and its socket in that folder.
pub fn configure(folder: &Path, config: &str) {
    let dir = folder.display().to_string();
    let report = if config.contains("[report]") { "" } else { "[report]\nfile = \"DIR/report.json\"\n" };
    let text = format!("{config}\n{report}[control]\nsocket = \"DIR/agent.sock\"\n").replace("DIR", &dir);
    fs::write(folder.join("agent.toml"), text).expect("a configuration");
}
