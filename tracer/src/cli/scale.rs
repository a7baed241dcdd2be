//! `fdtide scale`.

use std::{
    io::{self, IsTerminal as _},
    os::fd::AsFd as _,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use anyhow::Context as _;

use super::{
    args::{ScaleArgs, Shape},
    fail, launch,
    sink_file::Output,
};
use crate::{
    event::Exit,
    gate::{
        growth_budget::Kept,
        scale::{Growth, Point},
    },
    sink::scale::{self, Judged, Scale},
    testing::{self, Traced},
};

/// A budget was exceeded.
const EXCEEDED: u8 = 1;
/// A budget could not be judged.
const INCONCLUSIVE: u8 = 3;

/// Runs the verb.
pub(super) fn scale(args: &ScaleArgs) -> ExitCode {
    match try_scale(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

fn try_scale(args: &ScaleArgs) -> anyhow::Result<u8> {
    let place = format!("{{{}}}", args.vary.name);
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    anyhow::ensure!(
        words.iter().any(|word| word.contains(&place)),
        "the command has no place for `{}`: write {place} where its value goes",
        args.vary.name
    );
    if let Some(soft) = args.nofile {
        let hard = launch::hard_limit().context("failed to read the limit on descriptors")?;
        anyhow::ensure!(soft <= hard, "--nofile {soft} is above the hard limit of {hard}: name at most that");
    }
    let mut output = Output::open(&args.output, false)?;
    let mut points = Vec::new();
    for value in &args.vary.values {
        if io::stderr().is_terminal() {
            fail::say(&format!("{} = {value}", args.vary.name));
        }
        points.push(one(args, &words, &place, *value)?);
    }
    let growth = Growth::of(&points);
    let judged = args.budget.iter().map(|budget| (budget, budget.judge(&growth)));
    let budgets: Vec<_> = judged.map(|(budget, verdict)| Judged { budget: budget.to_string(), verdict }).collect();
    let verdicts = || budgets.iter().map(|judged| judged.verdict);
    let code = if verdicts().any(|verdict| verdict == Kept::Fail) {
        EXCEEDED
    } else if verdicts().any(|verdict| verdict == Kept::Inconclusive) {
        INCONCLUSIVE
    } else {
        0
    };
    let scale = Scale { variable: args.vary.name.clone(), command: words, points, growth, budgets };
    let written = match args.format {
        Shape::Text => scale::text(&scale, &mut output),
        Shape::Json => scale::json(&scale, &mut output),
    };
    fail::written(written.and_then(|()| output.finish())).context("failed to write the results")?;
    Ok(code)
}

/// One value under trace.
fn one(args: &ScaleArgs, words: &[String], place: &str, value: u64) -> anyhow::Result<Point> {
    let mut words = words.iter().map(|word| word.replace(place, &value.to_string()));
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).stdin(Stdio::null());
    // Results are alone on stdout.
    let stderr = io::stderr().as_fd().try_clone_to_owned().context("failed to copy stderr")?;
    command.stdout(stderr);
    let settle = Duration::from_millis(args.settle);
    let options = testing::Options { nofile: args.nofile, settle, timeout: args.timeout, ..Default::default() };
    let traced = testing::command(command, &options).with_context(|| format!("with {} = {value}", args.vary.name))?;
    Ok(point(value, &traced))
}

fn point(n: u64, traced: &Traced) -> Point {
    let report = &traced.report;
    // Of equal ones the first: a child begins with a copy of its parent's table.
    let seen = report.tables.iter().rev().filter(|table| table.high_water.is_some());
    let top = seen.max_by_key(|table| table.high_water);
    let full = |table: &crate::model::report::TableRow| {
        table.failures.iter().filter(|row| row.errno == "EMFILE").map(|row| row.count).sum::<u64>()
    };
    let refused = report.tables.iter().map(full).sum();
    let left_out = if traced.timed_out {
        Some("its time was over".to_owned())
    } else if report.loss.missed > 0 {
        Some(format!("{} runs of hooks were missed, the mark is an upper bound", report.loss.missed))
    } else if refused > 0 {
        Some(format!("descriptors were refused {refused} times (EMFILE)"))
    } else if top.is_none() {
        Some("no table was seen".to_owned())
    } else {
        None
    };
    Point {
        n,
        high_water: top.and_then(|table| table.high_water),
        comm: top.map(|table| table.comm.to_string()),
        soft_limit: top.and_then(|table| table.soft_limit),
        refused,
        ended: ended(traced.exit),
        left_out,
    }
}

/// How a command ended, in words.
pub(super) fn ended(exit: Option<Exit>) -> String {
    match exit {
        None => "not seen".to_owned(),
        Some(exit) => exit.to_string(),
    }
}
