//! Incident 2: a broker that keeps a copy of every socket until its connection.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{
    Incident,
    run::{Bench, refused},
};

const FIXTURE: &str = "socket-broker";

fn args<'a>(budget: &'a str, workload: &'a str, count: &'a str) -> [&'a str; 8] {
    ["--budget", budget, "--workload", workload, "--count", count, "--nofile", "1024"]
}

pub fn incident(bench: &Bench) -> Result<Incident> {
    let mut found = Incident::default();
    let runs = [
        ("none", "churn", "5000"),
        ("static", "churn", "5000"),
        ("dynamic", "churn", "5000"),
        ("static", "hold", "2000"),
        ("none", "connect", "6000"),
    ];
    let mut highs = Vec::new();
    for (budget, workload, count) in runs {
        highs.push(one(bench, &mut found, budget, workload, count)?);
    }
    found.said = bench.said(FIXTURE, &args("none", "churn", "5000"), 0)?;
    let [none, fixed, dynamic, _, connect] = &highs[..] else { anyhow::bail!("five runs") };
    found.row = (
        "a broker that keeps a copy of each socket until its connection: `socket-broker`".to_owned(),
        format!(
            "without a budget {none} of 1024, `socket` and the clean-up's `openat` refused alike; with a budget {fixed} \
             (static) and {dynamic} (dynamic) and nothing refused; 4096 connected sockets are the workload's alone, the \
             broker's high-water is {connect}"
        ),
    );
    Ok(found)
}

/// One run; gives the broker's high-water mark.
fn one(bench: &Bench, found: &mut Incident, budget: &str, workload: &str, count: &str) -> Result<Value> {
    let ran = bench.trace(FIXTURE, &args(budget, workload, count), 0)?;
    let (gone, asked) = (ran.line("workload-gone")?, ran.line("workload")?);
    let (broker, client) = (ran.table(&gone["pid"])?, ran.table(&asked["pid"])?);
    let what = |figure: &str| format!("{budget}/{workload} {count}: {figure}");
    found.check(what("broker's high-water"), &gone["high_water"], &broker["high_water"]);
    let sockets = |table: &Value| table["high_water_kinds"].get("socket:tcp").cloned().unwrap_or(json!(0));
    // For a connection the top is one socket on its way, or the clean-up's directory: which comes first is not said.
    if workload != "connect" {
        found.check(what("retained before connection"), &gone["retained_high"], &sockets(broker));
    }
    for syscall in ["socket", "openat"] {
        let counted = refused(gone, syscall);
        found.check(what(&format!("broker's refused {syscall}")), &json!(counted), &json!(refused(broker, syscall)));
    }
    let failed = asked["failed"].as_u64().context("no `failed`")?;
    found.check(what("sockets refused to the workload"), &json!(failed), &json!(refused(client, "socket")));
    let held = asked["live"].as_u64().zip(asked["base"].as_u64()).map_or(0, |(live, base)| live - base);
    if workload != "churn" {
        found.check(what("sockets that the workload holds"), &json!(held), &sockets(client));
    }
    Ok(broker["high_water"].clone())
}
