//! What the hooks of each backend run, in instructions, on a kernel that allows all of them.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

pub use super::kernels::Backend;
use super::{
    apt,
    boot::{self, Clock},
    guest,
    kernels::{self, Plan},
    programs,
};
use crate::sh;

/// Kernel on which they are compared: the oldest.
const KERNEL: &str = "6.1";
/// Under an exact clock a guest takes longer.
const LIMIT: Duration = Duration::from_secs(600);

/// One operation of a process under one backend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Name of the backend.
    pub backend: String,
    /// `target` or `bystander`.
    pub role: String,
    pub operation: String,
    /// Runs of programs for each operation.
    pub runs: f64,
    /// Instructions in them beyond those of as many empty ones, for each operation.
    pub instructions: f64,
}

/// The kernel's name for itself, and what was counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costs {
    pub release: String,
    /// Instructions of an empty program's run, most of which are the account itself.
    pub empty: f64,
    pub rows: Vec<Cost>,
}

/// A line of `hook-cost`.
#[derive(Deserialize)]
struct Line {
    role: String,
    operation: String,
    done: u64,
    programs: BTreeMap<String, Account>,
}

#[derive(Deserialize)]
struct Account {
    runs: u64,
    ns: u64,
}

impl Line {
    fn total(&self, of: impl Fn(&Account) -> u64) -> f64 {
        self.programs.values().map(of).sum::<u64>() as f64
    }
}

/// Boots a guest for each backend, whose clock counts instructions, and has the kernel keep account of its programs. `hook_cost` and
/// `work` are the programs to run there.
pub fn measure(hook_cost: &Path, work: &Path) -> Result<Costs> {
    apt::install_missing()?;
    let folder = sh::target()?.join("vm");
    let kernel = kernels::by_name(KERNEL).map_err(anyhow::Error::msg)?;
    apt::fetch(kernel, &folder).with_context(|| format!("failed to fetch Debian's kernel {KERNEL}"))?;
    let command = [hook_cost, work].map(|file| guest::quoted(&file.to_string_lossy())).join(" ");
    let section = |name: String| (name.clone(), format!("env FDTIDE_BACKEND={name} {command}"));
    let programs = programs::archive(&[hook_cost, work])?;
    let mut costs = Costs { release: String::new(), empty: 0.0, rows: Vec::new() };
    for backend in Backend::ALL {
        let plan = Plan { kernel, preempt: None, backend: Some(backend) };
        let script = guest::commands(&["empty".to_owned(), backend.to_string()].map(section));
        let mut archive = programs.clone();
        archive.file(Path::new("/init"), true, script.as_bytes())?;
        let boot = boot::boot(&plan, &archive.finish()?, &folder.join(KERNEL), Clock::Instructions, LIMIT)?;
        ensure!(!boot.timed_out, "the guest for {backend} took more than {} s", LIMIT.as_secs());
        costs.add(&backend.to_string(), &boot.results).with_context(|| format!("in a guest for {backend}"))?;
    }
    Ok(costs)
}

impl Costs {
    fn add(&mut self, backend: &str, results: &str) -> Result<()> {
        let up = results.lines().find_map(|line| line.strip_prefix(guest::MARK)?.strip_prefix("up "));
        self.release = up.and_then(|up| up.split_once(' ')).map(|(_, name)| name.to_owned()).unwrap_or_default();
        let lines: Vec<Line> = results.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let empty: Vec<_> = lines.iter().filter(|line| line.role == "empty").collect();
        let runs: f64 = empty.iter().map(|line| line.total(|account| account.runs)).sum();
        ensure!(runs > 0.0, "the empty program did not run; the guest said: {}", tail(results));
        self.empty = empty.iter().map(|line| line.total(|account| account.ns)).sum::<f64>() / runs;
        let before = self.rows.len();
        for line in lines.iter().filter(|line| line.role != "empty" && line.done > 0) {
            let (runs, done) = (line.total(|account| account.runs), line.done as f64);
            let instructions = (line.total(|account| account.ns) - runs * self.empty) / done;
            self.rows.push(Cost {
                backend: backend.to_owned(),
                role: line.role.clone(),
                operation: line.operation.clone(),
                runs: runs / done,
                instructions,
            });
        }
        ensure!(self.rows.len() > before, "nothing was counted; the guest said: {}", tail(results));
        Ok(())
    }
}

/// The last lines.
fn tail(results: &str) -> String {
    let lines: Vec<_> = results.lines().collect();
    lines[lines.len().saturating_sub(8)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_an_empty_program_are_taken_off() {
        let results = concat!(
            "@@fdtide up 3.1 6.1.0-test\n",
            r#"{"role":"empty","operation":"getppid","done":100,"programs":{"empty_sys_exit":{"runs":100,"ns":4000}}}"#,
            "\nsome other line\n",
            r#"{"role":"target","operation":"open","done":10,"programs":{"a":{"runs":10,"ns":2400},"b":{"runs":10,"ns":1400}}}"#,
            "\n",
        );
        let mut costs = Costs { release: String::new(), empty: 0.0, rows: Vec::new() };
        costs.add("fentry", results).unwrap();
        assert_eq!((costs.release.as_str(), costs.empty), ("6.1.0-test", 40.0));
        let row = &costs.rows[0];
        assert_eq!((row.runs, row.instructions), (2.0, 300.0));
        assert!(costs.add("kprobe", "@@fdtide up 3 x\n").unwrap_err().to_string().contains("did not run"));
    }
}
