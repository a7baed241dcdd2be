//! Incident 4: a runner whose end leaves sandboxes behind.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{Incident, run::Bench};

const FIXTURE: &str = "sandbox-leak";
/// What the two clocks may differ in: the fixture looks every millisecond, on a busy machine later.
const LATE_MS: f64 = 500.0;

pub fn incident(bench: &Bench) -> Result<Incident> {
    let mut found = Incident::default();
    let mut rows = Vec::new();
    for (mode, end) in [("finally", "exit 0"), ("sigterm", "SIGTERM"), ("sigkill", "SIGKILL")] {
        rows.push(watched(bench, &mut found, mode, end)?);
    }
    alone(bench, &mut found)?;
    found.said = bench.said(FIXTURE, &["--mode", "sigkill", "--ttl", "1500"], 0)?;
    let [finally, sigterm, sigkill] = &rows[..] else { anyhow::bail!("three modes") };
    found.row = (
        "sandboxes that outlive their runner: `sandbox-leak`".to_owned(),
        format!(
            "orphans: {} after a `finally`, {} after SIGTERM with a deletion that throws, {} after SIGKILL, with the runner's \
             signal, the {} descriptors that each holds, and when the backstop ended them",
            finally.0, sigterm.0, sigkill.0, sigkill.1
        ),
    );
    Ok(found)
}

/// The runner under a watcher, until the backstop has ended what was left. Gives the orphans, and what each held.
fn watched(bench: &Bench, found: &mut Incident, mode: &str, end: &str) -> Result<(u64, u64)> {
    let ran = bench.trace(FIXTURE, &["--mode", mode, "--ttl", "1500"], 0)?;
    let (left, reaped) = (ran.line("orphaned")?, ran.line("reaped")?);
    let runner = &left["runner"];
    let exit = &ran.image(runner)?["exit"];
    let ended = exit["name"].as_str().map_or_else(|| format!("exit {}", exit["code"]), str::to_owned);
    found.check(format!("{mode}: the runner's end"), &json!(end), &json!(ended));
    let orphans = ran.report["orphans"].as_array().context("the report has no orphans")?;
    found.check(format!("{mode}: orphans"), &left["orphans"], &json!(orphans.len()));
    let held: u64 = orphans.iter().filter_map(|orphan| orphan["live"].as_u64()).sum();
    found.check(format!("{mode}: descriptors that they hold"), &left["orphans_hold"], &json!(held));
    let theirs = orphans.iter().filter(|orphan| orphan["spawner"] == *runner).count();
    found.check(format!("{mode}: orphans of the runner"), &left["orphans"], &json!(theirs));
    let ended = orphans.iter().filter(|orphan| orphan["end_ns"].is_u64()).count();
    found.check(format!("{mode}: ended by the backstop"), &reaped["reaped"], &json!(ended));
    let span = |orphan: &Value| Some((orphan["end_ns"].as_f64()? - orphan["since_ns"].as_f64()?) / 1e6);
    let last = orphans.iter().filter_map(span).fold(0.0, f64::max);
    let counted = reaped["reaped_after_ms"].as_f64().context("no time of reaping")?;
    let late = if orphans.is_empty() { 0.0 } else { (counted - last).abs() };
    found.holds(format!("{mode}: when, within {LATE_MS} ms"), late < LATE_MS);
    let count = |field: &str| left[field].as_u64().with_context(|| format!("no `{field}`"));
    Ok((count("orphans")?, count("each_holds")?))
}

/// The runner is the command itself: what is left of it is alive when the report is written.
fn alone(bench: &Bench, found: &mut Incident) -> Result<()> {
    let ran = bench.trace(FIXTURE, &["--alone", "--mode", "sigkill", "--ttl", "3000"], 128 + 9)?;
    let running = ran.line("running")?;
    let sandboxes = running["sandboxes"].as_array().context("no sandboxes")?;
    found.check("alone: the root's signal", &json!("SIGKILL"), &ran.report["root"]["exit"]["name"]);
    let orphans = ran.report["orphans"].as_array().context("the report has no orphans")?;
    let alive = orphans.iter().filter(|orphan| orphan["end_ns"].is_null()).count();
    found.check("alone: orphans alive", &json!(sandboxes.len()), &json!(alive));
    let sum = |rows: &[Value]| rows.iter().filter_map(|row| row["live"].as_u64()).sum::<u64>();
    found.check("alone: descriptors that they hold", &json!(sum(sandboxes)), &json!(sum(orphans)));
    Ok(())
}
