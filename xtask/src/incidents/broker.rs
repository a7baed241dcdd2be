//! Incident 2: a broker that keeps a copy of every socket until its connection.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{
    Incident, census,
    census::Sockets,
    run::{Bench, Ran, refused},
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
        ("none", "mixed", "2500"),
        ("none", "connect", "6000"),
    ];
    let mut highs = Vec::new();
    let mut held = Vec::new();
    for (budget, workload, count) in runs {
        let (high, sockets) = one(bench, &mut found, budget, workload, count)?;
        highs.push(high);
        held.extend(sockets);
    }
    found.said = bench.said(FIXTURE, &args("none", "churn", "5000"), 0)?;
    found.said.extend(bench.said(FIXTURE, &args("none", "mixed", "2500"), 0)?);
    found.said.extend(held.iter().map(Held::sentence));
    let [none, fixed, dynamic, _, _, connect] = &highs[..] else { anyhow::bail!("six runs") };
    let mixed = held.iter().find(|held| held.workload == "mixed").context("no census of the mixed workload")?;
    found.row = (
        "a broker that keeps a copy of each socket until its connection: `socket-broker`".to_owned(),
        format!(
            "without a budget {none} of 1024, `socket` and the clean-up's `openat` refused alike; with a budget {fixed} \
             (static) and {dynamic} (dynamic) and nothing refused; {} kept before their connection, told from connected \
             ones: with every second one connected the workload holds {} unconnected and {} connected, the broker none of \
             the latter; 4096 connected sockets are the workload's alone, the broker's high-water is {connect}",
            mixed.broker.unconnected, mixed.workload_sockets.unconnected, mixed.workload_sockets.connected
        ),
    );
    Ok(found)
}

/// What both sides held, by censuses.
struct Held {
    workload: &'static str,
    broker: Sockets,
    workload_sockets: Sockets,
}

impl Held {
    fn sentence(&self) -> String {
        let side = |sockets: Sockets| format!("{} unconnected, {} connected", sockets.unconnected, sockets.connected);
        let (broker, workload) = (side(self.broker), side(self.workload_sockets));
        format!("{}: socket:tcp in the broker {broker}; in the workload {workload}", self.workload)
    }
}

/// One run; gives the broker's high-water mark, and what both sides held where both had a census.
fn one(
    bench: &Bench,
    found: &mut Incident,
    budget: &str,
    workload: &'static str,
    count: &str,
) -> Result<(Value, Option<Held>)> {
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
    let held = states(found, &ran, (gone, asked), (broker, client), workload, &what)?;
    Ok((broker["high_water"].clone(), held))
}

/// Sockets by state against what the two sides say that they hold: retained ones are not connected, and the others are not
/// the broker's.
fn states(
    found: &mut Incident,
    ran: &Ran,
    (gone, asked): (&Value, &Value),
    (broker, client): (&Value, &Value),
    workload: &'static str,
    what: &impl Fn(&str) -> String,
) -> Result<Option<Held>> {
    let mut check = |side: &str, sockets: Sockets, unconnected: &Value, connected: &Value| {
        found.check(what(&format!("{side}: unconnected")), unconnected, &json!(sockets.unconnected));
        found.check(what(&format!("{side}: connected")), connected, &json!(sockets.connected));
        found.check(what(&format!("{side}: in another state")), &json!(0), &json!(sockets.other));
    };
    let kept = (workload != "connect").then(|| census::sockets(ran, broker)).transpose()?;
    if let Some(kept) = kept.filter(|_| gone["failures"] != json!([]) || workload == "hold") {
        check("broker's census", kept, &gone["retained"], &json!(0));
    }
    let got = (workload != "churn").then(|| census::sockets(ran, client)).transpose()?;
    if let Some(got) = got {
        check("workload's census", got, &asked["held"]["unconnected"], &asked["held"]["connected"]);
    }
    Ok(kept.zip(got).map(|(broker, workload_sockets)| Held { workload, broker, workload_sockets }))
}
