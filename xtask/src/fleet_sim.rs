//! `cargo xtask fleet-sim`: a simulated fleet of known truth, and what `fdtide-fleet` says of it in how much time.

use std::{
    fs,
    io::Read as _,
    mem::MaybeUninit,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::{dist::build::FLEET_PROFILE, sh};

/// Rows of the table below this line of `docs/fleet.md`.
const DOCS: &str = "docs/fleet.md";
const BEGIN: &str = "<!-- fleet-sim -->\n";
const END: &str = "<!-- end -->\n";
/// Runs of each question; the fastest counts, so that what else the machine did does not.
const RUNS: u32 = 3;
const QUESTIONS: [(&str, &[&str]); 5] = [
    ("p99 by program", &["--by", "program"]),
    ("p99 by program, host", &["--by", "program,host"]),
    ("headroom", &["--question", "headroom"]),
    ("failed", &["--question", "failed"]),
    ("growth", &["--question", "growth", "--since-mark", "deploy 1.4.2"]),
];

#[derive(clap::Args)]
pub struct Options {
    /// Hosts
    #[arg(long, default_value_t = 200)]
    hosts: u64,
    /// Execs of each host; several for several fleets, each of which is compared with the one before
    #[arg(long, value_delimiter = ',', default_value = "5000,50000")]
    execs: Vec<u64>,
    /// Folder for the segments, which are removed again; a temporary one if not told
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Write the measured table into the page
    #[arg(long)]
    write: bool,
}

/// One fleet, measured.
struct Measured {
    rows: u64,
    segments: u64,
    bytes: u64,
    written: f64,
    /// Seconds of each question.
    took: Vec<f64>,
    /// Greatest resident memory, MiB.
    memory: u64,
}

pub fn run(options: &Options) -> Result<ExitCode> {
    let build =
        ["build", "--profile", FLEET_PROFILE, "--package=fdtide-fleet", "--bin=fdtide-fleet", "--example=fleet-sim"];
    sh::run(&mut sh::cargo(&build)?)?;
    let mut all: Vec<Measured> = Vec::new();
    for execs in &options.execs {
        let measured = one(options, *execs)?;
        println!("{}", measured.line());
        if let Some(before) = all.last() {
            measured.grows_no_faster_than(before)?;
        }
        all.push(measured);
    }
    let table = table(&all)?;
    println!("\n{table}");
    if options.write {
        let path = sh::root()?.join(DOCS);
        let text = fs::read_to_string(&path).context("failed to read the page")?;
        let (before, rest) = text.split_once(BEGIN).context("the page has no place for the table")?;
        let (_, after) = rest.split_once(END).context("the page's table has no end")?;
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).context("failed to write the page")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn one(options: &Options, execs: u64) -> Result<Measured> {
    let temp = tempfile::tempdir().context("failed to make a folder")?;
    let parent = options.folder.as_deref().unwrap_or(temp.path());
    let folder = parent.join(format!("fleet-sim-{}-{execs}", options.hosts));
    fs::create_dir_all(&folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    let result = measure(options.hosts, execs, &folder);
    // Gigabytes: they go whatever came of it.
    fs::remove_dir_all(&folder).with_context(|| format!("failed to remove `{}`", folder.display()))?;
    result
}

fn measure(hosts: u64, execs: u64, folder: &Path) -> Result<Measured> {
    let release = sh::target()?.join(FLEET_PROFILE);
    let since = Instant::now();
    let mut sim = Command::new(release.join("examples/fleet-sim"));
    sim.args(["--hosts", &hosts.to_string(), "--execs", &execs.to_string()]).arg(folder);
    let truth: Value = serde_json::from_str(&sh::output(&mut sim)?).context("the truth is no JSON")?;
    let written = since.elapsed().as_secs_f64();
    let number = |key: &str| truth[key].as_u64().with_context(|| format!("the truth has no `{key}`"));
    let mut measured = Measured {
        rows: 0,
        segments: number("segments")?,
        bytes: number("bytes")?,
        written,
        took: Vec::new(),
        memory: 0,
    };
    for (name, args) in QUESTIONS {
        let (mut least, mut answer) = (f64::MAX, Value::Null);
        for _ in 0..RUNS {
            let since = Instant::now();
            let (said, memory) = ask(&release.join("fdtide-fleet"), folder, args)?;
            least = least.min(since.elapsed().as_secs_f64());
            measured.memory = measured.memory.max(memory);
            answer = said;
        }
        measured.took.push(least);
        if name == "p99 by program" {
            measured.rows = compare(&truth, &answer)?;
        }
    }
    Ok(measured)
}

/// The answer, and the greatest resident memory in MiB.
fn ask(program: &Path, folder: &Path, args: &[&str]) -> Result<(Value, u64)> {
    let mut command = Command::new(program);
    command.arg(folder).args(args).args(["--format", "json"]).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("failed to start `{}`", program.display()))?;
    let mut text = String::new();
    let mut stdout = child.stdout.take().context("no pipe")?;
    stdout.read_to_string(&mut text).context("failed to read the answer")?;
    let pid = i32::try_from(child.id()).context("no process id")?;
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: valid places for both results; nobody else waits for this child, and a zeroed `rusage` is one.
    let usage = unsafe {
        ensure!(libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) == pid, "failed to wait for the answer");
        usage.assume_init()
    };
    ensure!(status == 0, "`{}` failed", program.display());
    let kib = u64::try_from(usage.ru_maxrss).unwrap_or(0);
    Ok((serde_json::from_str(&text).context("the answer is no JSON")?, kib / 1024))
}

/// Every figure of every program is the simulation's own; gives the execs in all.
fn compare(truth: &Value, answer: &Value) -> Result<u64> {
    let programs = truth["programs"].as_array().context("the truth has no programs")?;
    let rows = answer["rows"].as_array().context("the answer has no rows")?;
    ensure!(programs.len() == rows.len(), "{} programs, {} rows", programs.len(), rows.len());
    let mut execs = 0;
    for program in programs {
        let row = rows.iter().find(|row| row["program"] == program["program"]);
        let row = row.with_context(|| format!("no row for {program}"))?;
        for key in ["execs", "p50", "p90", "p99", "max"] {
            if row[key] != program[key] {
                bail!("`{key}` of {} is {} and not {}", program["program"], row[key], program[key]);
            }
        }
        execs += program["execs"].as_u64().unwrap_or(0);
    }
    println!("{} programs, {execs} execs: count, p50, p90, p99 and max are the simulation's own", programs.len());
    Ok(execs)
}

impl Measured {
    fn grows_no_faster_than(&self, before: &Measured) -> Result<()> {
        let rows = self.rows as f64 / before.rows as f64;
        for ((name, _), (now, then)) in QUESTIONS.iter().zip(self.took.iter().zip(&before.took)) {
            ensure!(now / then <= rows, "{name}: {now:.2} s after {then:.2} s, for {rows:.1} times the rows");
        }
        Ok(())
    }

    fn line(&self) -> String {
        let took: Vec<String> = self.took.iter().map(|seconds| format!("{seconds:.2} s")).collect();
        let mb = self.bytes as f64 / 1e6;
        let (rows, segments, written, memory) = (self.rows, self.segments, self.written, self.memory);
        format!("| {rows} | {segments} | {mb:.0} MB | {written:.0} s | {} | {memory} MiB |", took.join(" | "))
    }
}

fn table(all: &[Measured]) -> Result<String> {
    let names: Vec<&str> = QUESTIONS.iter().map(|(name, _)| *name).collect();
    let cores = std::thread::available_parallelism().context("failed to count processors")?;
    let mut text = format!("| execs | segments | size | written in | {} | memory |\n", names.join(" | "));
    text.push_str(&format!("|{}\n", " ---: |".repeat(names.len() + 5)));
    all.iter().for_each(|measured| text.push_str(&format!("{}\n", measured.line())));
    let most = all.iter().max_by_key(|measured| measured.rows).context("nothing was measured")?;
    text.push_str(&format!(
        "\nSeconds of the whole program, the fastest of {RUNS} runs, on {cores} processors; the greatest resident memory of any of \
         them. An exec takes {} bytes of a segment.\n",
        most.bytes / most.rows.max(1)
    ));
    Ok(text)
}
