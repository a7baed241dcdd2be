//! The agent in the fresh Debian: as its unit would start it, enabled and not, to its end.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::{deb::UNIT, trial::Debian};
use crate::sh;

/// How long the agent may take to be at work, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// `sh -c THIS - OWNER CAPABILITIES OPTION…`: folders as systemd or Kubernetes makes them, anew each time, then
/// the agent, with these capabilities and no others.
const START: &str = "
owner=$1 capabilities=$2
shift 2
rm -rf /run/fdtide /var/lib/fdtide
for folder in /var/lib/fdtide /run/fdtide; do
    mkdir -p $folder && chown $owner:$owner $folder && chmod 0700 $folder || exit 1
done
exec setpriv --no-new-privs --inh-caps=-all,$capabilities --bounding-set=-all,$capabilities \"$@\" \
    fdtide agent --config /etc/fdtide/agent.toml";

/// Who starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// systemd: as a user of its own.
    Unit,
    /// Kubernetes: as root with the same capabilities.
    Pod,
}

/// A new package starts nothing by itself.
pub fn not_enabled(debian: &Debian) -> Result<()> {
    ensure!(!link(debian).exists() && !link(debian).is_symlink(), "the package enabled the agent by itself");
    let user = debian.inside(&["getent", "passwd", "fdtide"])?;
    ensure!(user.ends_with(":/var/lib/fdtide:/usr/sbin/nologin"), "the agent's user is `{user}`");
    Ok(())
}

/// As `systemctl enable` does where systemd runs; the helper works for packages' scripts only.
pub fn enable(debian: &Debian) -> Result<()> {
    debian.inside(&["env", "DPKG_MAINTSCRIPT_PACKAGE=fdtide", "deb-systemd-helper", "enable", UNIT])?;
    enabled(debian)
}

pub fn enabled(debian: &Debian) -> Result<()> {
    ensure!(link(debian).is_symlink(), "the agent is not enabled");
    Ok(())
}

fn link(debian: &Debian) -> PathBuf {
    debian.folder.join("etc/systemd/system/multi-user.target.wants").join(UNIT)
}

/// It runs, follows, answers, and ends with a report of what it saw.
pub fn agent(debian: &Debian, who: Who) -> Result<()> {
    let capabilities = capabilities(debian)?;
    let ambient = format!("--ambient-caps=-all,{capabilities}");
    let (owner, options): (_, &[&str]) = match who {
        Who::Unit => ("fdtide", &["--reuid=fdtide", "--regid=fdtide", "--clear-groups", &ambient]),
        Who::Pod => ("root", &["--clear-groups"]),
    };
    let mut command = debian.command(&["sh", "-c", START, "-", owner, &capabilities]);
    let mut agent = command.args(options).spawn().context("failed to start the agent")?;
    let result = asked(debian, who, &mut agent);
    // Whatever came of it.
    let _ = agent.kill();
    agent.wait().context("failed to wait for the agent")?;
    result
}

fn asked(debian: &Debian, who: Who, agent: &mut Child) -> Result<()> {
    let since = Instant::now();
    let pid = loop {
        match debian.inside(&["fdtide", "ctl", "--json", "status"]) {
            Ok(text) => {
                let status: Value = serde_json::from_str(&text).context("the agent's status is no JSON")?;
                break status["status"]["pid"].as_u64().with_context(|| format!("no `pid` in {text}"))?;
            }
            Err(error) if since.elapsed() > PATIENCE => bail!("the agent does not answer: {error:#}"),
            Err(_) => ensure!(agent.try_wait()?.is_none(), "the agent ended"),
        }
        sleep(Duration::from_millis(200));
    };
    let own = fs::read_to_string(format!("/proc/{pid}/status")).context("failed to look at the agent")?;
    let line = |name: &str| own.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned();
    ensure!(line("Uid:").starts_with("0\t") == (who == Who::Pod), "the agent is user {}", line("Uid:"));
    ensure!(line("CapBnd:") == line("CapPrm:"), "the agent may have {} and has {}", line("CapBnd:"), line("CapPrm:"));
    let mut sleeper = Command::new("sleep").arg("600").spawn().context("failed to start a process to be followed")?;
    let followed = debian.inside(&["fdtide", "ctl", "add", &format!("pid:{}", sleeper.id())]);
    let marked = debian.inside(&["fdtide", "ctl", "mark", "trial"]);
    let ended = end(debian, pid, agent);
    sleeper.kill().context("failed to end the process that was followed")?;
    sleeper.wait().context("failed to wait for the process that was followed")?;
    followed.and(marked).and(ended)?;
    println!(
        "{who:?}: the agent ran as user {} with capabilities {}, and left its report",
        line("Uid:"),
        line("CapPrm:")
    );
    Ok(())
}

/// As systemd ends it.
fn end(debian: &Debian, pid: u64, agent: &mut Child) -> Result<String> {
    sh::output(Command::new("kill").args(["-TERM", &pid.to_string()]))?;
    let since = Instant::now();
    while agent.try_wait()?.is_none() {
        ensure!(since.elapsed() < PATIENCE, "the agent does not end");
        sleep(Duration::from_millis(100));
    }
    let report = debian.folder.join("var/lib/fdtide/last-report.json");
    let text = fs::read_to_string(&report).with_context(|| format!("failed to read `{}`", report.display()))?;
    let report: Value = serde_json::from_str(&text).context("the agent's report is no JSON")?;
    let comms: Vec<&str> =
        report["tables"].as_array().into_iter().flatten().filter_map(|table| table["comm"].as_str()).collect();
    ensure!(comms == ["sleep"], "the report has tables of {comms:?}");
    ensure!(report["marks"].to_string().contains("trial"), "the report has not the mark: {}", report["marks"]);
    Ok(text)
}

/// What the unit gives, as `setpriv` writes it: `+bpf,+perfmon`.
fn capabilities(debian: &Debian) -> Result<String> {
    let unit = fs::read_to_string(debian.folder.join("usr/lib/systemd/system").join(UNIT))
        .context("failed to read the unit")?;
    let line = unit.lines().find_map(|line| line.strip_prefix("AmbientCapabilities="));
    let names = line.context("the unit gives no capability")?.split_whitespace();
    let names: Vec<String> = names.map(|name| format!("+{}", name.trim_start_matches("CAP_").to_lowercase())).collect();
    Ok(names.join(","))
}
