//! `fdtide ctl`: one question to a running agent.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anyhow::Context as _;
use serde_json::Value;

use super::{
    args::{Ask, CtlArgs},
    fail,
};
use crate::{
    agent::control::{self, Request, Status},
    event::visible,
    sink::text::words::count,
};

/// Runs the verb: 0 if it was done, 1 if the agent refused.
pub(super) fn ctl(args: &CtlArgs) -> ExitCode {
    match try_ctl(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

fn try_ctl(args: &CtlArgs) -> anyhow::Result<bool> {
    let answer = control::ask(&args.socket, &request(&args.ask))?;
    let mut out = io::stdout();
    let written = match (&answer.status, args.json) {
        (_, true) => serde_json::to_writer(&mut out, &answer).map_err(io::Error::from).and_then(|()| writeln!(out)),
        (Some(status), false) => tell(status, &mut out),
        (None, false) if answer.ok => writeln!(out, "{}", visible(&answer.text)),
        (None, false) => {
            fail::say(&visible(&answer.text));
            Ok(())
        }
    };
    fail::written(written).context("failed to write the answer")?;
    Ok(answer.ok)
}

fn request(ask: &Ask) -> Request {
    match ask {
        Ask::Status => Request::Status,
        Ask::Add { target } => Request::Add { target: target.clone() },
        Ask::Remove { target } => Request::Remove { target: target.clone() },
        Ask::Census => Request::Census,
        Ask::Dump => Request::Dump,
        Ask::Mark { text } => Request::Mark { text: text.clone() },
        Ask::Log { level } => Request::Log { level: (*level).into() },
    }
}

fn tell(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    let Status { version, pid, since, backend, .. } = status;
    writeln!(out, "fdtide {version}[{pid}] since {since} · {backend} backend")?;
    let targets = if status.targets.is_empty() { "nobody".to_owned() } else { status.targets.join(", ") };
    writeln!(out, "  targets    {}", visible(&targets))?;
    let (processes, tables) = (count(status.processes, "process"), count(status.tables, "table"));
    let (execs, failures) = (count(status.execs, "exec"), count(status.failures, "failure"));
    writeln!(out, "  traced     {processes} · {tables} · {execs} · {failures}")?;
    writeln!(out, "  not seen   {} lost · {} missed · {} skipped", status.lost, status.missed, status.skipped)?;
    if let Some(agent) = &status.agent {
        let (rss, cpu) = (agent.rss_bytes >> 10, agent.cpu_ms as f64 / 1000.0);
        writeln!(
            out,
            "  itself     {} · {rss} KiB · {cpu:.1} s of a processor",
            count(agent.descriptors.into(), "descriptor")
        )?;
    }
    if let Some(recorder) = &status.recorder {
        let state = if recorder.recording { "recording" } else { "paused" };
        let (dumps, kib) = (count(recorder.dumps, "dump"), recorder.bytes >> 10);
        writeln!(out, "  recorder   {state} · {kib} KiB kept · {dumps} · {}", count(recorder.pauses, "pause"))?;
    }
    let alerts = status.alerts;
    let (sent, failed, held) = (alerts.sent, alerts.failed, alerts.suppressed + alerts.dropped);
    writeln!(out, "  alerts     {sent} sent · {failed} failed · {held} held back")?;
    for (name, value) in &status.exporters {
        let told = figures("", value);
        let told = if told.is_empty() { "nothing to tell yet".to_owned() } else { told.join(" · ") };
        writeln!(out, "  {name:<10} {}", visible(&told))?;
    }
    status.trouble.iter().try_for_each(|text| writeln!(out, "  trouble    {}", visible(text)))
}

/// What an exporter says of itself, each figure with its name; nothing of what is not there, or none.
fn figures(name: &str, value: &Value) -> Vec<String> {
    // Those of metrics are looked for as they are.
    let name = if name.starts_with("fdtide_") { name.to_owned() } else { name.replace('_', " ") };
    match value {
        Value::Object(members) => members.iter().flat_map(|(name, value)| figures(name, value)).collect(),
        Value::Array(values) => values.iter().flat_map(|value| figures(&name, value)).collect(),
        Value::Null => Vec::new(),
        Value::Number(number) if number.as_f64() == Some(0.0) => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![format!("{name} {text}")],
        other => vec![format!("{name} {other}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exporter_tells_its_figures_by_their_names() {
        let status = serde_json::json!({
            "listen": "127.0.0.1:1", "push": null, "waiting": 0, "counts": {"fdtide_scrapes_total ok": 3, "refused": 0},
        });
        assert_eq!(figures("", &status), ["fdtide_scrapes_total ok 3", "listen 127.0.0.1:1"]);
    }

    #[test]
    fn a_status_is_told_in_a_few_lines_and_names_do_no_harm() {
        let status = Status {
            version: "1.0".to_owned(),
            pid: 7,
            targets: vec!["comm:a\u{1b}[2J".to_owned()],
            processes: 1,
            execs: 2,
            recorder: Some(control::Recorder { recording: false, pauses: 1, ..control::Recorder::default() }),
            trouble: vec!["no room".to_owned()],
            ..Status::default()
        };
        let mut out = Vec::new();
        tell(&status, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("1 process · 0 tables · 2 execs") && text.contains("paused"), "{text}");
        assert!(text.contains("trouble    no room") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn every_question_is_one_request() {
        let mark = Ask::Mark { text: "deploy".to_owned() };
        assert_eq!(request(&mark), Request::Mark { text: "deploy".to_owned() });
    }
}
