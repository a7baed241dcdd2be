//! Two reports side by side: text, Markdown, JSON.

use std::io::{self, Write};

use crate::gate::compare::{Change, Comparison, Figures, Pair, Row};
use crate::sink::text::print;
use crate::sink::text::words::{Lines, count};
use crate::sink::verdict::github::markdown as plain;

/// Rows without a change told in the text, and pairs that came or went.
const QUIET: usize = 6;

/// Writes it for a person.
pub fn text(comparison: &Comparison, base: &str, new: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Lines::default();
    lines.wrapped("", 0, &headline(comparison));
    lines.wrapped("", 0, &format!("base is {base}, new is {new}"));
    for row in comparison.rows.iter().filter(|row| row.change != Change::None) {
        block(&mut lines, row, comparison);
    }
    quiet(&mut lines, comparison);
    for (word, pairs) in [("only in new", &comparison.added), ("only in base", &comparison.gone)] {
        if !pairs.is_empty() {
            lines.gap();
        }
        for pair in pairs.iter().take(QUIET) {
            lines.wrapped(&format!("{word}: "), 4, &told(pair));
        }
        more(&mut lines, pairs.len());
    }
    if !comparison.incomplete.is_empty() {
        lines.gap();
    }
    comparison.incomplete.iter().for_each(|note| lines.wrapped("incomplete: ", 12, note));
    print(lines, out)
}

/// `1 of 3 distributions differs; chance of any false alarm at most 1%`.
fn headline(comparison: &Comparison) -> String {
    let all = comparison.rows.len();
    let differ = comparison.rows.iter().filter(|row| !matches!(row.change, Change::None | Change::Untold)).count();
    let untold = comparison.rows.iter().filter(|row| row.change == Change::Untold).count();
    if all == 0 {
        return "nothing to compare: no spawner and program is in both".to_owned();
    }
    let untold = if untold > 0 { format!(", {untold} can't be told") } else { String::new() };
    format!(
        "{differ} of {} differ{untold}; chance of any false alarm at most {}%",
        count(all as u64, "distribution"),
        comparison.error_rate * 100.0
    )
}

fn block(lines: &mut Lines, row: &Row, comparison: &Comparison) {
    lines.gap();
    lines.wrapped("", 2, &format!("{}: {}", change(row.change), title(row)));
    let mut head = format!("  {:<6}{:>7}", "", "execs");
    for (name, _) in row.base.list() {
        head.push_str(&format!("{name:>8}"));
    }
    lines.push(&head);
    for (name, figures) in [("base", &row.base), ("new", &row.new)] {
        let cells: String = figures.list().iter().map(|(_, value)| format!("{value:>8}")).collect();
        lines.push(&format!("  {name:<6}{:>7}{cells}", figures.count));
    }
    let cells: String = row.difference.list().iter().map(|(_, value)| format!("{:>8}", signed(*value))).collect();
    lines.push(&format!("  {:<13}{cells}", ""));
    lines.wrapped("  ", 2, &reason(row, comparison));
    for (word, kinds) in [("kinds only in new", &row.kinds_added), ("kinds only in base", &row.kinds_gone)] {
        if !kinds.is_empty() {
            lines.wrapped(&format!("  {word}: "), 4, &kinds.join(", "));
        }
    }
}

/// What the test says, in a sentence.
fn reason(row: &Row, comparison: &Comparison) -> String {
    let test = &row.test;
    let blocks = match test.block {
        1 => String::new(),
        n => format!(", in blocks of {n}"),
    };
    let [base, new] = test.blocks;
    let dealt = format!("{base} against {new} dealt at random{blocks}");
    match row.change {
        Change::Untold if test.short_blocks => format!(
            "execs depend on each other over {:.0} in a row: too few independent ones to tell; record more",
            test.dependence
        ),
        Change::Untold => format!(
            "too few execs to tell at {}%: {dealt} would be as far apart in {:.2}% of cases",
            comparison.error_rate * 100.0,
            test.p * 100.0
        ),
        _ => {
            format!(
                "distance {:.2}; {dealt} are as far apart in {}% of cases at most",
                test.distance,
                percent(test.p_adjusted)
            )
        }
    }
}

fn percent(p: f64) -> String {
    let value = p * 100.0;
    if value < 0.1 { format!("{value:.3}") } else { format!("{value:.1}") }
}

fn quiet(lines: &mut Lines, comparison: &Comparison) {
    let rows: Vec<&Row> = comparison.rows.iter().filter(|row| row.change == Change::None).collect();
    if !rows.is_empty() {
        lines.gap();
    }
    for row in rows.iter().take(QUIET) {
        let (base, new) = (row.base, row.new);
        let marks = if base.list() == new.list() {
            format!("p50 {}, p99 {}, max {}", new.p50, new.p99, new.max)
        } else {
            format!("p50 {} → {}, p99 {} → {}, max {} → {}", base.p50, new.p50, base.p99, new.p99, base.max, new.max)
        };
        let why = if row.concurrent && base.list() != new.list() { "; execs are concurrent" } else { "" };
        lines.wrapped("no alarm: ", 4, &format!("{}: {marks}{why}", title(row)));
    }
    more(lines, rows.len());
}

fn more(lines: &mut Lines, all: usize) {
    if let Some(more) = all.checked_sub(QUIET).filter(|more| *more > 0) {
        lines.push(&format!("  {} · --format json for all", count(more as u64, "more")));
    }
}

fn title(row: &Row) -> String {
    let life = if row.life == "window" { "high-water per exec" } else { "high-water before exec" };
    format!("{life}, {} by {}", row.program, row.spawner)
}

fn told(pair: &Pair) -> String {
    let max = pair.max.map_or(String::new(), |max| format!(", max {max}"));
    format!("{} by {}: {}{max}", pair.program, pair.spawner, count(pair.execs as u64, "exec"))
}

fn change(change: Change) -> &'static str {
    match change {
        Change::None => "no alarm",
        Change::Higher => "higher",
        Change::Lower => "lower",
        Change::Mixed => "changed",
        Change::Untold => "can't be told",
    }
}

fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{value}") } else { value.to_string() }
}

/// Writes it as Markdown, for a comment on a change.
pub fn markdown(comparison: &Comparison, base: &str, new: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut text = format!("### fdtide: {}\n\nbase is {}, new is {}\n", headline(comparison), plain(base), plain(new));
    if !comparison.rows.is_empty() {
        text.push_str(
            "\n| | distribution | execs | p50 | p90 | p99 | max |\n| --- | --- | --- | --- | --- | --- | --- |\n",
        );
    }
    for row in &comparison.rows {
        let cells = pairs(&row.base, &row.new, &row.difference);
        let mut title = plain(&title(row));
        for (sign, kinds) in [("+", &row.kinds_added), ("−", &row.kinds_gone)] {
            kinds.iter().for_each(|kind| title.push_str(&format!(" {sign}{}", plain(kind))));
        }
        let execs = format!("{} → {}", row.base.count, row.new.count);
        text.push_str(&format!("| {} | {title} | {execs} | {} |\n", change(row.change), cells.join(" | ")));
    }
    for (word, pairs) in [("only in new", &comparison.added), ("only in base", &comparison.gone)] {
        pairs.iter().for_each(|pair| text.push_str(&format!("\n- {word}: {}", plain(&told(pair)))));
    }
    comparison.incomplete.iter().for_each(|note| text.push_str(&format!("\n- incomplete: {}", plain(note))));
    out.write_all(text.trim_end().as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

fn pairs(base: &Figures, new: &Figures, difference: &Figures) -> Vec<String> {
    let all = base.list().into_iter().zip(new.list()).zip(difference.list());
    all.map(
        |(((_, was), (_, is)), (_, by))| {
            if by == 0.0 { is.to_string() } else { format!("{was} → {is} ({})", signed(by)) }
        },
    )
    .collect()
}

/// Writes it as one JSON document.
pub fn json(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, comparison)?;
    out.write_all(b"\n")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::compare::{Options, Tolerance, compare};
    use crate::model::Report;
    use crate::model::report::Name;
    use crate::model::testing::sample;

    fn compared(base: &Report, new: &Report) -> Comparison {
        compare(base, new, &Options { error_rate: 0.01, tolerance: Tolerance { number: 0.0, percent: false } })
    }

    fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_text_has_both_distributions_and_their_difference() {
        let found = compared(&sample::lazy(), &sample::landlock());
        let shown = written(|out| text(&found, "a.json", "b.json", out));
        assert!(shown.starts_with("1 of 2 distributions differ; chance of any false alarm at most 1%\n"), "{shown}");
        assert!(shown.contains("higher: high-water per exec, true by landlock-burst"), "{shown}");
        assert!(shown.contains("execs     p50     p90     p99     max"), "{shown}");
        assert!(shown.contains("  new       100    1006    1006    1024    1024"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() < 80), "{shown}");
        let same = written(|out| text(&compared(&sample::lazy(), &sample::lazy()), "a", "b", out));
        assert!(same.contains("0 of 2 distributions differ") && same.contains("no alarm: "), "{same}");
    }

    #[test]
    fn every_form_tells_of_every_sample_and_names_do_nothing() {
        for base in sample::all() {
            let mut new = sample::landlock();
            let name = Name::from_c(b"a|<b>\n\x1b[2J`x`");
            new.execs.iter_mut().for_each(|record| record.spawner.comm = name.clone());
            for comparison in [compared(&base, &new), compared(&base, &base)] {
                let shown = written(|out| text(&comparison, "a", "b", out));
                let page = written(|out| markdown(&comparison, "a", "b", out));
                for form in [&shown, &page] {
                    assert!(!form.contains('\x1b') && !form.is_empty(), "{form:?}");
                }
                assert!(!page.contains("<b>") && !page.contains('`'), "{page}");
                let document: serde_json::Value = serde_json::from_str(&written(|out| json(&comparison, out))).unwrap();
                assert_eq!(document["schema"], "fdtide.comparison/1");
            }
        }
    }
}
