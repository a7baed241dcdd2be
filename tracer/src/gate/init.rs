//! A first `fdtide.toml` from a report: what was measured, and some room above it.

use std::collections::BTreeMap;

use super::budget::Budget;
use super::points::Group;
use super::verdict::{Check, Measured, Verdict, judge};
use crate::model::report::{Name, Report};

/// Room above a measured value: this part of it, but at least so many descriptors.
const ROOM: (f64, f64) = (0.25, 4.0);
/// The same of growth per exec: at least one descriptor in twenty execs.
const GROWTH_ROOM: (f64, f64) = (0.25, 0.05);
/// Percent to which headroom is rounded down.
const STEP: f64 = 5.0;

/// The file. `source` is what the report is called in it.
pub fn starting_config(report: &Report, source: &str) -> String {
    let source = clean(source);
    let mut text = format!(
        "# Budgets for `fdtide run --gate` and `fdtide check`, begun by `fdtide init-ci {source}`.\n\
         # Each has room above what was measured; make it narrower where you can. docs/gate.md has the grammar.\n\n\
         [defaults]\nbudgets = [\n"
    );
    for measure in ["failures", "orphans"] {
        if let Some(measured) = measure_all(report, measure) {
            let figure = measured.figure;
            let op = if figure > 0.0 { "<=" } else { "==" };
            text.push_str(&line(&format!("{measure} {op} {figure}"), &format!("measured {figure}")));
        }
    }
    let grown = per_group(report, "growth_per_exec");
    let most =
        grown.iter().filter_map(|check| check.measured.as_ref()).map(|m| m.max).fold(f64::NEG_INFINITY, f64::max);
    if most.is_finite() {
        let most = most.max(0.0);
        let limit = ((most + (most * GROWTH_ROOM.0).max(GROWTH_ROOM.1)) * 100.0).ceil() / 100.0;
        text.push_str(&line(&format!("growth_per_exec <= {limit}"), &format!("measured {:.3} at most", most + 0.0)));
    }
    text.push_str("]\n");
    for ((spawner, program), lines) in by_pair(report) {
        let (spawner, program) = (string(&spawner), string(&program));
        text.push_str(&format!("\n[[spawner]]\nname = {spawner}\nprogram = {program}\nbudgets = [\n"));
        lines.iter().for_each(|line| text.push_str(line));
        text.push_str("]\n");
    }
    text
}

/// Lines of each spawner and program.
fn by_pair(report: &Report) -> BTreeMap<(Name, Name), Vec<String>> {
    let mut pairs: BTreeMap<(Name, Name), Vec<String>> = BTreeMap::new();
    for name in ["high_water", "headroom", "before_exec.high_water", "image.high_water", "inherited"] {
        for check in per_group(report, name) {
            // The run command's own exec has no spawner whose budgets these could be.
            let (Group::Pair { spawner, program }, Some(measured)) = (&check.group, &check.measured) else { continue };
            if !spawner.is_empty() {
                pairs.entry((spawner.clone(), program.clone())).or_default().push(budget(name, measured));
            }
        }
    }
    pairs
}

fn budget(name: &str, measured: &Measured) -> String {
    let figures = match measured.count {
        1 => format!("measured {} in 1 exec", measured.max),
        n => format!("measured p50 {}, p99 {}, max {} over {n} execs", measured.p50, measured.p99, measured.max),
    };
    if name == "headroom" {
        let limit = (measured.min / 2.0 / STEP).floor() * STEP;
        return line(&format!("headroom >= {limit}%"), &format!("measured {:.1}% at least", measured.min));
    }
    let limit = (measured.max + (measured.max * ROOM.0).max(ROOM.1)).ceil();
    line(&format!("{name} <= {limit}"), &figures)
}

/// The checks of a budget that anything holds to.
fn per_group(report: &Report, measure: &str) -> Vec<Check> {
    let rule = match measure {
        "headroom" => "headroom >= 0%".to_owned(),
        _ => format!("{measure} <= 1e9").replace("1e9", "1000000000"),
    };
    let budget = Budget::parse(&rule);
    let checks = budget.map(|budget| judge(report, &[budget])).unwrap_or_default();
    checks.into_iter().filter(|check| check.verdict != Verdict::Fail && check.measured.is_some()).collect()
}

fn measure_all(report: &Report, measure: &str) -> Option<Measured> {
    per_group(report, measure).into_iter().next()?.measured
}

fn line(budget: &str, comment: &str) -> String {
    format!("    {:<36} # {comment}\n", format!("\"{budget}\","))
}

/// A name as a TOML string. A `*` in it would stand for any characters, which is wider but still fits.
fn string(name: &Name) -> String {
    let mut out = String::from("\"");
    for c in name.text().chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// For a comment: one line of it.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::config;
    use crate::gate::verdict::worst;
    use crate::model::testing::sample;

    #[test]
    fn every_report_holds_to_the_file_that_was_made_from_it() {
        for mut report in sample::all() {
            // What is inconclusive for other reasons is not the file's doing.
            report.coverage.clear();
            report.loss = Default::default();
            let text = starting_config(&report, "r.json\n[[x]]");
            let budgets = config::parse("fdtide.toml", &text).unwrap_or_else(|problem| panic!("{}", problem.render()));
            let checks = judge(&report, &budgets);
            assert!(worst(&checks) != Verdict::Fail, "{text}\n{checks:#?}");
        }
    }

    #[test]
    fn growth_has_room_above_what_was_measured() {
        let limit = |report: &Report| {
            let text = starting_config(report, "r.json");
            let line = text.lines().find(|line| line.contains("\"growth_per_exec <= ")).unwrap().to_owned();
            let number = |after: &str| -> f64 {
                let rest = line.split_once(after).unwrap().1;
                rest.split(['"', ' ']).next().unwrap().parse().unwrap()
            };
            (number("<= "), number("measured "))
        };
        let (limit_of_none, none) = limit(&sample::lazy());
        assert_eq!((limit_of_none, none), (0.05, 0.0));
        let (limit_of_leak, leak) = limit(&sample::leak());
        assert!(leak >= 0.9 && (1.25..1.27).contains(&(limit_of_leak / leak)), "{limit_of_leak} {leak}");
    }

    #[test]
    fn each_budget_has_the_measured_value_beside_it() {
        let text = starting_config(&sample::lazy(), "r.json");
        assert!(text.contains("\"failures == 0\",") && text.contains("# measured 0\n"), "{text}");
        assert!(text.contains("[[spawner]]\nname = \"landlock-burst\"\nprogram = \"true\"\n"), "{text}");
        let line = text.lines().find(|line| line.contains("\"high_water <= ")).unwrap();
        assert!(line.contains("# measured p50 ") && line.ends_with("over 100 execs"), "{line}");
        let budgets = config::parse("f", &text).unwrap();
        assert_eq!(worst(&judge(&sample::lazy(), &budgets)), Verdict::Pass);
        assert_eq!(worst(&judge(&sample::landlock(), &budgets)), Verdict::Fail);
    }
}
