//! Audits as text, CSV and JSON.

use std::io::{self, Write};

use serde::Serialize;

use crate::gate::audit::{Row, Verdict};

/// Identity of the JSON format.
const SCHEMA: &str = "fdtide.audit/1";

/// Columns of the CSV, the first six as in the table that audits of this kind publish.
const COLUMNS: [&str; 14] = [
    "attempt",
    "trigger",
    "threads",
    "before",
    "after",
    "leak",
    "held",
    "delayed",
    "children",
    "children_failed",
    "outlived",
    "failures",
    "verdict",
    "sentence",
];

/// Writes one JSON document.
///
/// # Errors
/// Those of `out`.
pub fn json(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        attempts: &'a [Row],
    }
    serde_json::to_writer_pretty(&mut *out, &Document { schema: SCHEMA, attempts: rows })?;
    out.write_all(b"\n")
}

/// Writes CSV (RFC 4180 with plain newlines); an empty field is not known.
///
/// # Errors
/// Those of `out`.
pub fn csv(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", COLUMNS.join(","))?;
    for row in rows {
        let fields = [
            row.attempt.to_string(),
            quoted(&row.trigger),
            row.threads.to_string(),
            number(row.before, ""),
            number(row.after, ""),
            row.leak.to_string(),
            number(row.held, ""),
            number(row.delayed, ""),
            row.children.to_string(),
            row.children_failed.to_string(),
            row.outlived.to_string(),
            row.failures.to_string(),
            word(&row.verdict).to_owned(),
            quoted(&row.sentence),
        ];
        writeln!(out, "{}", fields.join(","))?;
    }
    Ok(())
}

/// Writes it for people: a table, then a sentence for each attempt.
///
/// # Errors
/// Those of `out`.
pub fn text(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let width = rows.iter().map(|row| row.trigger.chars().count()).max().unwrap_or(0).max(7);
    writeln!(
        out,
        "{:>7}  {:<width$}  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>8}  verdict",
        "attempt", "trigger", "threads", "before", "held", "after", "delayed", "failures"
    )?;
    for row in rows {
        let levels = [row.before, row.held, row.after, row.delayed].map(|level| number(level, "?"));
        let [before, held, after, delayed] = levels;
        writeln!(
            out,
            "{:>7}  {:<width$}  {:>7}  {before:>6}  {held:>6}  {after:>6}  {delayed:>7}  {:>8}  {}",
            row.attempt,
            row.trigger,
            row.threads,
            row.failures,
            word(&row.verdict)
        )?;
    }
    writeln!(out)?;
    for row in rows {
        writeln!(out, "  {}. {}: {}", row.attempt, row.trigger, row.sentence)?;
    }
    Ok(())
}

fn number(level: Option<u32>, unknown: &str) -> String {
    level.map_or_else(|| unknown.to_owned(), |level| level.to_string())
}

/// The verdict as it stands in every format.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Clean => "clean",
        Verdict::Failures => "failures",
        Verdict::Leak => "leak",
        Verdict::Broken => "broken",
        Verdict::Inconclusive => "inconclusive",
    }
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::gate::plan::Attempt;

    fn row(trigger: &str) -> Row {
        let (trigger, command) = (trigger.to_owned(), vec!["true".to_owned()]);
        let (settle, timeout, linger) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let attempt = Attempt { number: 1, trigger, threads: 10, command, nofile: None, settle, timeout, linger };
        let not_run = Row::not_run(&attempt, "no reason");
        Row { before: Some(24), after: Some(24), held: Some(54), verdict: Verdict::Clean, ..not_run }
    }

    fn written(write: fn(&[Row], &mut dyn Write) -> io::Result<()>, rows: &[Row]) -> String {
        let mut out = Vec::new();
        write(rows, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_first_columns_are_those_of_the_published_table() {
        let text = written(csv, &[row("docker_exec_idle"), row("a, \"b\"")]);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("attempt,trigger,threads,before,after,leak,held,delayed,"));
        assert!(lines[1].starts_with("1,docker_exec_idle,10,24,24,false,54,,0,0,0,0,clean,"));
        assert!(lines[2].starts_with("1,\"a, \"\"b\"\"\",10,"));
        assert_eq!(lines[1].split(',').count(), COLUMNS.len());
    }

    #[test]
    fn the_text_has_a_table_and_a_sentence_for_each_attempt() {
        let text = written(text, &[row("docker_exec_idle")]);
        assert!(
            text.contains("1  docker_exec_idle       10      24      54      24        ?         0  clean"),
            "{text}"
        );
        assert!(text.ends_with("  1. docker_exec_idle: It was not run: no reason.\n"));
        let value: serde_json::Value = serde_json::from_str(&written(json, &[row("x")])).unwrap();
        assert_eq!((&value["schema"], &value["attempts"][0]["held"]), (&"fdtide.audit/1".into(), &54.into()));
    }
}
