//! An agent with an endpoint.

use std::{
    fs,
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    prometheus::http,
    support::{FDTIDE, fixture::ARENAS, poll, ran::report_path},
};

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// A running agent.
pub struct Agent {
    child: Option<Child>,
    folder: TempDir,
    pub port: u16,
}

impl Agent {
    /// Follows these processes, with an endpoint at `port`; returns once it has looked at the kernel.
    pub fn start(port: u16, pids: &[u32], more: &str) -> Agent {
        let folder = TempDir::new().expect("a folder");
        let follow: Vec<String> = pids.iter().map(|pid| format!("\"pid:{pid}\"")).collect();
        let config = format!(
            "[targets]\nfollow = [{}]\n[control]\nsocket = \"\"\n[report]\nfile = \"{}\"\n\
             [metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n{more}\n",
            follow.join(", "),
            report_path(&folder).display()
        );
        let path = folder.path().join("agent.toml");
        fs::write(&path, config).expect("a configuration");
        let mut command = Command::new(FDTIDE);
        command.args(["agent", "--config"]).arg(path).env(ARENAS.0, ARENAS.1).stdin(Stdio::null());
        let child = command.spawn().expect("the agent starts");
        let agent = Agent { child: Some(child), folder, port };
        poll(30, "the agent looks at the kernel", || http(port, "/healthz").filter(|(status, _)| *status == 200));
        agent
    }

    /// What it says at its endpoint.
    pub fn metrics(&self) -> String {
        http(self.port, "/metrics").expect("an answer").1
    }

    /// Ends it; gives the report.
    pub fn end(mut self) -> Value {
        let mut child = self.child.take().expect("an agent");
        // SAFETY: the process is a child that has not been waited for.
        unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
        assert!(child.wait().expect("its end").success());
        let report = fs::read(report_path(&self.folder)).expect("a report");
        serde_json::from_slice(&report).expect("JSON")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
