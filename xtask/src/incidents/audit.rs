//! Incident 3: seven attempts that read 24 before and 24 after.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{
    Incident,
    run::{Bench, refused},
};

/// Trigger, threads, what is held without pressure as published.
const ATTEMPTS: [(&str, u64, u64); 7] = [
    ("docker_exec_idle", 10, 54),
    ("high_concurrency_socket", 50, 174),
    ("module_import_loop", 50, 74),
    ("uds_proxy_recycle", 100, 524),
    ("container_restart_burst", 100, 324),
    ("module_import_concurrent", 200, 224),
    ("zero_spend_stress_exhaust", 500, 4524),
];

pub fn incident(bench: &Bench) -> Result<Incident> {
    let mut found = Incident::default();
    let mut plan = "timeout = \"120s\"\n".to_owned();
    let mut names = Vec::new();
    for (number, (trigger, threads, _)) in (1..).zip(ATTEMPTS) {
        names
            .push((trigger.to_owned(), add(bench, &mut plan, trigger, threads, &["--attempt", &format!("{number}")])?));
    }
    let limited = ["--attempt", "7", "--nofile", "1024"];
    names.push(("at 1024".to_owned(), add(bench, &mut plan, "zero_spend_stress_exhaust", 500, &limited)?));
    let leaky = ["--attempt", "2", "--leak", "3"];
    names.push(("leaky".to_owned(), add(bench, &mut plan, "high_concurrency_socket", 50, &leaky)?));
    let file = bench.file("plan.toml");
    fs::write(&file, plan).context("failed to write the plan")?;
    // One of them leaks, which must fail the audit.
    let value = bench.verb(&["audit", &file.to_string_lossy(), "--format", "json"], &[1])?;
    let rows = value["attempts"].as_array().context("the audit has no attempts")?;
    found.check("attempts", &json!(names.len()), &json!(rows.len()));
    for ((name, truth), row) in names.iter().zip(rows) {
        compare(&mut found, name, truth, row)?;
    }
    for ((trigger, _, held), (_, truth)) in ATTEMPTS.iter().zip(&names) {
        found.check(format!("{trigger}: held at the barrier, as published"), &json!(held), &last(truth)?["held"]);
    }
    for (row, verdict) in rows.iter().zip([["clean"; 7].as_slice(), &["failures", "leak"]].concat()) {
        found.check(format!("attempt {}: verdict", row["attempt"]), &json!(verdict), &row["verdict"]);
    }
    let sentence = |row: &Value| row["sentence"].as_str().unwrap_or("").to_owned();
    found.said = rows.iter().skip(6).map(sentence).collect();
    found.row = (
        "an audit that reads 24 descriptors before and 24 after: `zero-spend`".to_owned(),
        format!(
            "{} held in between; at a limit of 1024 still 24 → 24, with the calls that were refused meanwhile, by name and \
             count; three lost sockets fail the audit and are named",
            rows[6]["held"]
        ),
    );
    Ok(found)
}

/// Adds an attempt whose own lines go to a file; gives its path.
fn add(bench: &Bench, plan: &mut String, trigger: &str, threads: u64, args: &[&str]) -> Result<String> {
    let file = bench.file(&format!("attempt-{}.jsonl", plan.matches("[[attempt]]").count() + 1));
    let file = file.to_string_lossy().into_owned();
    // The shell becomes the fixture: they are one process, and one table.
    let script = format!("exec '{}' --brief {} > '{file}'", bench.program("zero-spend"), args.join(" "));
    let command = json!(["sh", "-c", script]);
    write!(plan, "[[attempt]]\ntrigger = \"{trigger}\"\nthreads = {threads}\ncommand = {command}\n")?;
    Ok(file)
}

/// The fixture's summary of the attempt.
fn last(file: &str) -> Result<Value> {
    let text = fs::read_to_string(Path::new(file)).context("failed to read a fixture's lines")?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let row = lines.into_iter().find(|line| line["step"] == "delayed");
    row.with_context(|| format!("no line `delayed` in `{file}`"))
}

fn compare(found: &mut Incident, name: &str, truth: &str, row: &Value) -> Result<()> {
    let truth = last(truth)?;
    found.check(format!("{name}: before"), &truth["before"], &row["before"]);
    found.check(format!("{name}: high-water"), &truth["window_high_water"], &row["held"]);
    found.check(format!("{name}: after"), &truth["after"], &row["after"]);
    found.check(format!("{name}: delayed"), &truth["live"], &row["delayed"]);
    found.check(format!("{name}: calls refused"), &json!(refused(&truth, "")), &row["failures"]);
    found.check(format!("{name}: leak"), &truth["leak"], &row["leak"]);
    Ok(())
}
