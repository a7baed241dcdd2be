//! Why a report can't vouch for a pass.

use super::measure::{Life, Measure};
use super::points::Point;
use crate::model::report::Report;

/// Notes of a report that cost no budget anything, or are looked at value by value.
const ELSEWHERE: [&str; 9] = [
    "lost",
    "missed",
    "skipped",
    "spawner_gone",
    "spawner_unknown",
    "end_unseen",
    "thread_map_full",
    "failure_kinds_full",
    "argument_map_full",
];

/// What in the report keeps a pass of this measure from being certain.
pub fn of(report: &Report, measure: &Measure, points: &[&Point<'_>]) -> Vec<String> {
    let mut reasons = Vec::new();
    let loss = &report.loss;
    for (count, what, so) in [
        (loss.lost, "records lost", "rows may be missing"),
        (loss.missed, "runs of a hook missed", "a short peak may be unseen"),
        (loss.skipped, "records not readable", "rows may be missing"),
    ] {
        if count > 0 {
            reasons.push(format!("{what}: {count}; {so}"));
        }
    }
    if let Some(result) = report.plan.self_test.as_ref().filter(|result| *result != "passed") {
        reasons.push(format!("the backend's self-test: {}", result.escape_debug()));
    }
    for note in &report.coverage {
        let matters = match note.code.as_str() {
            "attached" if matches!(measure, Measure::Failures | Measure::Orphans) => {
                reasons.push("fdtide came when processes already ran: what was before is unknown".to_owned());
                false
            }
            "attached" => false,
            // Those that a backend can do without tell of calls that were refused.
            "hook_missing" => matches!(measure, Measure::Failures),
            "lock_busy" => matches!(measure, Measure::Kinds(_)),
            code => !ELSEWHERE.contains(&code),
        };
        if matters {
            reasons.push(note.text.clone());
        }
    }
    let unknown = points.iter().filter(|point| point.value.is_none()).count();
    if unknown > 0 {
        reasons.push(format!("the value is not known for {unknown} of {}", points.len()));
    }
    let partly = points.iter().filter(|point| !point.whole).count();
    if partly > 0 && (measure.is_per_table() || *measure == Measure::Failures) {
        let of = points.len();
        reasons.push(format!("{partly} of {of} descriptor tables not seen from beginning to end"));
    } else if partly > 0 && partly == points.len() {
        reasons.push("every window began before fdtide was there".to_owned());
    }
    reasons
}

/// Why there is nothing to judge.
pub fn no_data(report: &Report, measure: &Measure, scoped: bool) -> String {
    let per_window = !matches!(measure, Measure::HighWater(Life::Table) | Measure::Headroom(Life::Table));
    if matches!(measure, Measure::GrowthPerExec | Measure::SettledDelta) && report.spawners.iter().any(|s| s.execs > 0)
    {
        return "no descriptor table has three known windows in this scope: growth takes more execs".to_owned();
    }
    let seen: Vec<String> = report
        .spawners
        .iter()
        .take(3)
        .flat_map(|s| s.programs.iter().take(3).map(|p| format!("{} by {} ({})", p.program, s.comm, p.count)))
        .collect();
    match (seen.is_empty(), scoped) {
        (true, _) if per_window => {
            "the report has no execs but the command's own; `table.high_water` and `image.high_water` need none"
                .to_owned()
        }
        (true, _) => "the report has nothing of the kind".to_owned(),
        (false, true) => format!("nothing in the report is in this scope; it has execs of {}", seen.join(", ")),
        (false, false) => "no exec of the report has a known value".to_owned(),
    }
}
