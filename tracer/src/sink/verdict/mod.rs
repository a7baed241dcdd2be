//! Verdicts in the forms that people and CI systems read.

pub mod github;
pub mod gitlab;
pub mod junit;
pub mod text;

#[cfg(test)]
mod tests;

use crate::gate::verdict::Measured;
use crate::gate::{Check, Group, Verdict};
use crate::sink::text::words::{composition, count, process, seconds};

/// `budget exceeded`, `inconclusive`, `passed`.
fn outcome(check: &Check) -> &'static str {
    match check.verdict {
        Verdict::Fail => "budget exceeded",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Pass => "passed",
    }
}

/// `for execs of true by landlock-burst`; for a group of all there is its scope, or nothing.
fn subject(check: &Check) -> String {
    let text = match &check.group {
        Group::All if check.budget.scope.rank() > 0 => format!("for {}", check.budget.scope),
        Group::All => String::new(),
        Group::Pair { spawner, program } if spawner.is_empty() => format!("for {program}, the command"),
        Group::Pair { spawner, program } => format!("for execs of {program} by {spawner}"),
        Group::Tables(comm) if comm.is_empty() => "for tables of processes without a name".to_owned(),
        Group::Tables(comm) => format!("for tables of {comm}"),
        Group::Table { table, comm, pid } => format!("for table {table} of {}", process(comm, *pid)),
    };
    text.replace('\u{a0}', " ")
}

/// `high_water <= 64 for execs of true by landlock-burst`.
fn title(check: &Check) -> String {
    format!("{} {}", check.budget, subject(check)).trim_end().to_owned()
}

/// Everything under the title: a label, which may be empty, and a sentence.
fn details(check: &Check) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    if let Some(measured) = &check.measured {
        details.push(("measured", format!("{}{}", figures(check, measured), was(check))));
        if check.verdict != Verdict::Pass {
            details.extend(evidence(check, measured));
        }
    }
    details.extend(check.reasons.iter().map(|reason| ("because", reason.clone())));
    details
}

/// `p50 1008, p99 1024, max 1024 over 100 execs`.
fn figures(check: &Check, measured: &Measured) -> String {
    let percent = if check.budget.limit.percent { "%" } else { "" };
    let show = |value: f64| format!("{}{percent}", number(value));
    let subject = &check.budget.subject;
    if !subject.measure.has_distribution() {
        return show(measured.figure);
    }
    let what = match check.group {
        Group::Pair { .. } => "exec",
        _ => "table",
    };
    let over = format!(" over {}", count(measured.count as u64, what));
    let own = subject.stat.map_or(String::new(), |stat| format!("{stat} {}; ", show(measured.figure)));
    if measured.count == 1 {
        return show(measured.figure);
    }
    if measured.min == measured.max && check.verdict == Verdict::Pass {
        return format!("{}{over}", show(measured.max));
    }
    let (p50, p99) = (show(measured.p50), show(measured.p99));
    let ends = if check.budget.op.is_lower_bound() {
        format!("min {}, p50 {p50}, max {}", show(measured.min), show(measured.max))
    } else {
        format!("p50 {p50}, p99 {p99}, max {}", show(measured.max))
    };
    format!("{own}{ends}{over}")
}

fn was(check: &Check) -> String {
    check.was.as_ref().map_or(String::new(), |(name, figure)| {
        let percent = if check.budget.limit.percent { "%" } else { "" };
        format!(" (was {}{percent} in {name})", number(*figure))
    })
}

/// What the figure was made of, which values break the budget, and the first of them.
fn evidence(check: &Check, measured: &Measured) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    if let Some(kinds) = &measured.made_of {
        let mut text = composition(kinds, 3);
        if let Some((thread, held)) = &measured.thread {
            text.push_str(&format!("; {held} held at once by thread {}", process(&thread.comm, thread.tid)));
        }
        details.push(("made of", text));
    }
    if !measured.parts.is_empty() {
        let mut parts: Vec<String> = measured.parts.iter().take(4).cloned().collect();
        if let Some(more) = measured.parts.len().checked_sub(4).filter(|more| *more > 0) {
            parts.push(format!("{more} more"));
        }
        details.push(("made of", parts.join(", ")));
    }
    let when =
        measured.first.and_then(|first| first.after_ns).map_or(String::new(), |ns| format!(" at {}", seconds(ns)));
    let first = measured.first.map_or(String::new(), |first| match first.seq {
        Some(0) => format!("first the command's own{when}"),
        Some(seq) => format!("first #{seq}{when}"),
        None => format!("first{when}"),
    });
    let sums = !check.budget.subject.measure.has_distribution();
    if sums && !when.is_empty() {
        details.push(("", first));
    } else if measured.count > 1 && measured.exceeding > 0 {
        let what = if matches!(check.group, Group::Pair { .. }) { "execs" } else { "tables" };
        let beyond = if check.budget.op.is_lower_bound() { "fall short" } else { "exceed it" };
        details.push(("", format!("{} of {} {what} {beyond}; {first}", measured.exceeding, measured.count)));
    } else if measured.exceeding > 0 && matches!(check.group, Group::Pair { .. }) {
        details.push(("", first));
    }
    details
}

/// A figure: whole ones as such, others with as many digits as tell something.
fn number(value: f64) -> String {
    if value.fract() == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = if value.abs() < 1.0 { 4 } else { 2 };
    format!("{value:.digits$}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The whole of a check in one line.
fn line(check: &Check) -> String {
    let details = details(check);
    let told = details.iter().map(|(label, text)| format!("{label} {text}").trim_start().to_owned());
    told.collect::<Vec<_>>().join("; ").replace('\u{a0}', " ")
}
