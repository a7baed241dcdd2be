//! Incident 1: one descriptor for each entry before each exec, and an accept loop that dies of it.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{
    Incident,
    run::{Bench, Ran, refused},
};

const FIXTURE: &str = "landlock-burst";
const LIMIT: &str = "1024";

pub fn incident(bench: &Bench) -> Result<Incident> {
    let mut found = Incident::default();
    let args = |mode| ["--mode", mode, "--entries", "987", "--execs", "50", "--nofile", LIMIT];
    let eager = bench.trace(FIXTURE, &args("eager"), 0)?;
    let lazy = bench.trace(FIXTURE, &args("lazy"), 0)?;
    for (mode, ran) in [("eager", &eager), ("lazy", &lazy)] {
        let end = ran.line("end")?;
        let table = ran.table(&end["pid"])?;
        found.check(format!("{mode}: high-water"), &end["high_water"], &table["high_water"]);
        found.check(format!("{mode}: settled"), &end["settled"], &growth(ran, table)?["last"]);
        found.check(format!("{mode}: programs executed"), &end["ok"], &json!(execs(ran)));
        found.check(format!("{mode}: calls refused"), &json!(0), &json!(refused(table, "")));
    }
    let installs = |ran: &Ran| -> Result<Value> { Ok(ran.table(&ran.line("end")?["pid"])?["installs"].clone()) };
    found.check("opens of both modes are the same", &installs(&eager)?, &installs(&lazy)?);
    let (end, crest) = (eager.line("end")?, eager.table(&eager.line("end")?["pid"])?);
    // The root itself is opened in the same way.
    let paths = end["entries"].as_u64().context("entries")? + 1;
    found.check("eager: o_path at the crest", &json!(paths), &crest["high_water_kinds"]["o_path"]);
    found.said = bench.said(FIXTURE, &args("eager"), 0)?;

    let lost = accept_dies(bench, &mut found)?;
    let (slope, lazy_slope, limit_at) = growth_law(bench, &mut found)?;
    let high = |ran: &Ran| -> Result<Value> { Ok(ran.line("end")?["high_water"].clone()) };
    found.row = (
        "a runtime that opens 987 descriptors at once before each exec: `landlock-burst`".to_owned(),
        format!(
            "high-water per exec {} of 1024 when eager, {} when lazy, with the same opens; {slope:.2} and {lazy_slope:.2} \
             descriptors per entry, the limit passed at {limit_at} entries; an accept loop that dies of it: EMFILE on \
             `accept4`, settled {} → {}",
            high(&eager)?,
            high(&lazy)?,
            lost.0,
            lost.1
        ),
    );
    Ok(found)
}

/// Execs of the workload's programs: all but the workload's own.
fn execs(ran: &Ran) -> u64 {
    let execs = ran.report["execs"].as_array().map_or(0, |execs| execs.len() as u64);
    execs.saturating_sub(1)
}

/// Settled levels of a table over its execs.
fn growth<'a>(ran: &'a Ran, table: &Value) -> Result<&'a Value> {
    let rows = ran.report["growth"].as_array().context("the report has no growth")?;
    rows.iter().find(|row| row["table"] == table["table"]).context("no growth of that table")
}

/// The listener is lost when the table is full: gives the settled level before and after.
fn accept_dies(bench: &Bench, found: &mut Incident) -> Result<(u64, u64)> {
    let args = ["--mode", "eager", "--entries", "1100", "--execs", "5", "--nofile", LIMIT, "--accept-dies"];
    let ran = bench.trace(FIXTURE, &args, 0)?;
    let (listening, end) = (ran.line("listening")?, ran.line("end")?);
    let table = ran.table(&end["pid"])?;
    found.check("accept dies: high-water", &end["high_water"], &table["high_water"]);
    found.check("accept dies: settled afterwards", &end["settled"], &table["settled"]);
    let failure = |syscall: &str| {
        let rows = end["failures"].as_array().into_iter().flatten();
        rows.filter(|row| row["syscall"] == syscall).filter_map(|row| row["count"].as_u64()).sum::<u64>()
    };
    for syscall in ["accept4", "openat"] {
        let what = format!("accept dies: EMFILE on {syscall}");
        found.check(what, &json!(failure(syscall)), &json!(refused(table, syscall)));
    }
    let kinds = |kind: &str| table["last_kinds"].get(kind).cloned().unwrap_or(json!(0));
    let expected = end["kinds"].get("socket:unix").cloned().unwrap_or(json!(0));
    found.check("accept dies: listeners left", &expected, &kinds("socket:unix"));
    found.said.extend(bench.said(FIXTURE, &args, 0)?);
    let level = |line: &Value| line["live"].as_u64().context("no count");
    Ok((level(listening)?, level(end)?))
}

/// Slopes of both modes, and where the limit is passed.
fn growth_law(bench: &Bench, found: &mut Incident) -> Result<(f64, f64, u64)> {
    let program = bench.program(FIXTURE);
    let mut slopes = Vec::new();
    let mut limit_at = Value::Null;
    for (mode, expected) in [("eager", 1.0), ("lazy", 0.0)] {
        let command = [&program, "--mode", mode, "--brief", "--entries", "{N}"];
        let scale = ["scale", "--vary", "N=128,256,512,987", "--nofile", LIMIT, "--format", "json", "--"];
        let value = bench.verb(&[&scale[..], &command[..]].concat(), &[0])?;
        let fit = &value["growth"]["fit"];
        let slope = fit["slope"].as_f64().context("no slope")?;
        found.check(
            format!("{mode}: slope per entry"),
            &json!(format!("{expected:.2}")),
            &json!(format!("{:.2}", slope.abs())),
        );
        slopes.push(slope.abs());
        if mode == "eager" {
            limit_at = value["growth"]["limit_at"].clone();
        }
    }
    // Tried by itself, the fixture inherits what we have; under `scale` it gets nothing but stdio.
    let tried = bench.alone(FIXTURE, &["--mode", "eager", "--find-limit", "--nofile", LIMIT, "--brief"])?;
    let first = tried["first_failing"].as_u64().context("nothing failed")?;
    let first = first + tried["base"].as_u64().context("no base")? - 3;
    found.check("eager: first number of entries that fails", &json!(first), &limit_at);
    Ok((slopes[0], slopes[1], first))
}
