//! What the hooks run for one operation, by the kernel's own account: how often each program ran, and for how long.
//!
//! `hook-cost FD-BENCH` starts that program and hooks it with the backend that `FDTIDE_BACKEND` names; or, where that is `empty`, puts
//! an empty program at the exit of every syscall. Writes a line of JSON for each operation and role of the process. In a machine whose
//! clock goes by a nanosecond with each instruction, as QEMU's does with `-icount shift=0`, the times are numbers of instructions.
#![expect(clippy::print_stdout, reason = "whoever starts it reads the lines")]

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdout, Command, Stdio},
};

use aya::{
    programs::loaded_programs,
    sys::{Stats, enable_stats},
};
use fdtide::probe::{Choice, LoadOptions, Session, baseline::Empty};
use serde_json::{Value, json};

/// Operations of `fd-bench`; the last has nothing to do with descriptors.
const OPERATIONS: [&str; 5] = ["open", "pipe", "socket", "dup2", "getppid"];
/// Numbers that the table has room for.
const NUMBERS: &str = "1024";

/// The program that is looked at.
struct Work {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Work {
    fn start(program: &str) -> Result<(Self, u32), Box<dyn Error>> {
        let mut command = Command::new(program);
        command.args(["--numbers", NUMBERS]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let said = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let mut work = Self { child, said };
        let pid = work.answer()?["pid"].as_u64().ok_or("no pid")?;
        Ok((work, u32::try_from(pid)?))
    }

    fn answer(&mut self) -> Result<Value, Box<dyn Error>> {
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Does an operation many times; gives how many.
    fn run(&mut self, operation: &str) -> Result<u64, Box<dyn Error>> {
        writeln!(self.child.stdin.as_mut().ok_or("no standard input")?, "run {operation} 4 2")?;
        self.answer()?["done"].as_u64().ok_or_else(|| "no count".into())
    }

    /// Each operation, and what the programs did meanwhile.
    fn measure(&mut self, role: &str) -> Result<(), Box<dyn Error>> {
        for operation in OPERATIONS {
            // The first time pages come in and maps grow.
            self.run(operation)?;
            let before = accounts()?;
            let done = self.run(operation)?;
            let mut programs = BTreeMap::new();
            for (id, (name, runs, ns)) in accounts()? {
                let (_, runs_before, ns_before) = before.get(&id).cloned().unwrap_or_default();
                if runs > runs_before {
                    programs.insert(name, json!({ "runs": runs - runs_before, "ns": ns - ns_before }));
                }
            }
            println!("{}", json!({ "role": role, "operation": operation, "done": done, "programs": programs }));
        }
        Ok(())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // The end of its stdin ends it.
        self.child.stdin = None;
        let _ = self.child.wait();
    }
}

/// Name of a program, its runs, and their nanoseconds.
type Account = (String, u64, u64);

/// The account of each loaded program, by the program's identity.
fn accounts() -> Result<BTreeMap<u32, Account>, Box<dyn Error>> {
    let mut accounts = BTreeMap::new();
    for info in loaded_programs() {
        let info = info?;
        let ns = u64::try_from(info.run_time().as_nanos())?;
        accounts.insert(info.id(), (info.name_as_str().unwrap_or_default().to_owned(), info.run_count(), ns));
    }
    Ok(accounts)
}

fn main() -> Result<(), Box<dyn Error>> {
    let program = env::args().nth(1).ok_or("usage: hook-cost FD-BENCH")?;
    let _stats = enable_stats(Stats::RunTime)?;
    let (mut work, pid) = Work::start(&program)?;
    if env::var("FDTIDE_BACKEND").is_ok_and(|name| name == "empty") {
        let _hook = Empty::on_sys_exit()?;
        return work.measure("empty");
    }
    let mut session = Session::open(Choice::from_env(), &LoadOptions::default())?;
    work.measure("bystander")?;
    session.add_target(pid)?;
    work.measure("target")?;
    let lost = session.stop(|_| ())?.lost();
    if lost > 0 {
        return Err(format!("{lost} records lost").into());
    }
    Ok(())
}
