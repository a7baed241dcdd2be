//! Answers as text, CSV and JSON.

use std::io::{self, Write};

use fdtide::event::visible;
use serde_json::{Map, Value};

use crate::table::Cell;

/// Identity of the JSON format.
const SCHEMA: &str = "fdtide.fleet/1";
/// Columns of a terminal.
const WIDTH: usize = 79;
/// A name takes no more than this, where there are several columns.
const NAME: usize = 28;

/// What there is in all, and what is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Segments that were read.
    pub segments: usize,
    /// Hosts with rows.
    pub hosts: i64,
    /// First and last moment; none if there is no row.
    pub from_to: Option<(String, String)>,
    /// Records that found no room in a ring.
    pub lost: i64,
    /// Runs of hooks that did not happen.
    pub missed: i64,
    /// Records that a host's fdtide could not read.
    pub skipped: i64,
    /// Rows that never came into a segment.
    pub dropped: i64,
    /// What else there is to say.
    pub notes: Vec<String>,
}

impl Coverage {
    /// Whether something is missing.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.lost + self.missed + self.skipped + self.dropped > 0
    }

    /// What is missing, for a person.
    #[must_use]
    pub fn told(&self) -> String {
        let Coverage { lost, missed, skipped, dropped, .. } = self;
        format!("lost {lost}, missed {missed}, skipped {skipped}, dropped {dropped}")
    }

    fn json(&self) -> Value {
        let (from, to) = self.from_to.clone().map_or((Value::Null, Value::Null), |(from, to)| (from.into(), to.into()));
        serde_json::json!({
            "segments": self.segments, "hosts": self.hosts, "from": from, "to": to, "lost": self.lost,
            "missed": self.missed, "skipped": self.skipped, "dropped": self.dropped, "notes": self.notes,
        })
    }
}

/// Rows, for people: at most so many, each on one line.
///
/// # Errors
///
/// Those of `out`.
pub fn text(
    names: &[String],
    rows: &[Vec<Cell>],
    all: usize,
    coverage: &Coverage,
    out: &mut dyn Write,
) -> io::Result<()> {
    let shown: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| show(cell, names.len())).collect()).collect();
    let numbers: Vec<bool> = (0..names.len())
        .map(|at| rows.iter().any(|row| row[at].is_number()) && rows.iter().all(|row| row[at].text().is_none()))
        .collect();
    let widths: Vec<usize> = names
        .iter()
        .enumerate()
        .map(|(at, name)| shown.iter().map(|row| row[at].chars().count()).max().unwrap_or(0).max(name.chars().count()))
        .collect();
    let mut line = |cells: Vec<&str>| -> io::Result<()> {
        let mut text = String::new();
        for ((cell, width), number) in cells.iter().zip(&widths).zip(&numbers) {
            text.push_str("  ");
            text.push_str(&if *number { format!("{cell:>width$}") } else { format!("{cell:<width$}") });
        }
        writeln!(out, "{}", text.trim_end())
    };
    line(names.iter().map(String::as_str).collect())?;
    for row in &shown {
        line(row.iter().map(String::as_str).collect())?;
    }
    if rows.is_empty() {
        writeln!(out, "  nothing: no row answers this")?;
    }
    if all > rows.len() {
        writeln!(out, "  {} more rows · --rows N, or --format json or csv for all", all - rows.len())?;
    }
    writeln!(out)?;
    for part in closing(coverage) {
        writeln!(out, "{part}")?;
    }
    Ok(())
}

/// The lines below the rows.
fn closing(coverage: &Coverage) -> Vec<String> {
    let when =
        coverage.from_to.as_ref().map_or(String::new(), |(from, to)| format!(", {} to {}", minute(from), minute(to)));
    let head = format!("{} hosts, {} segments{when}", coverage.hosts, coverage.segments);
    let told = coverage.told();
    let mut lines =
        if head.len() + told.len() + 2 <= WIDTH { vec![format!("{head}; {told}")] } else { vec![head, told] };
    if coverage.is_partial() {
        lines.push("figures may be too low: `--question hosts` tells which hosts lack something".to_owned());
    }
    lines.extend(coverage.notes.iter().cloned());
    lines
}

fn minute(moment: &str) -> String {
    moment.get(..16).map_or(moment.to_owned(), |text| format!("{}Z", text))
}

fn show(cell: &Cell, columns: usize) -> String {
    match cell {
        Cell::None => "?".to_owned(),
        Cell::Whole(number) => number.to_string(),
        Cell::Part(number) => number.to_string(),
        Cell::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Cell::Text(text) if columns > 1 => cut(&visible(if is_moment(text) { &text[..19] } else { text })),
        Cell::Text(text) => visible(text),
    }
}

fn is_moment(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 24 && bytes[10] == b'T' && bytes[23] == b'Z'
}

fn cut(text: &str) -> String {
    if text.chars().count() <= NAME {
        return text.to_owned();
    }
    text.chars().take(NAME - 1).chain(['…']).collect()
}

/// Rows as they come, in a format for programs.
pub trait Rows {
    /// Begins with the names of the columns.
    ///
    /// # Errors
    ///
    /// When they can't be written.
    fn begin(&mut self, names: &[String]) -> io::Result<()>;

    /// Takes a row.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    fn row(&mut self, row: &[Cell]) -> io::Result<()>;

    /// Nothing more comes.
    ///
    /// # Errors
    ///
    /// When the end can't be written.
    fn end(&mut self, coverage: &Coverage) -> io::Result<()>;
}

/// RFC 4180, with a line of names.
pub struct Csv<W>(pub W);

impl<W: Write> Rows for Csv<W> {
    fn begin(&mut self, names: &[String]) -> io::Result<()> {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        writeln!(self.0, "{}", names.join(","))
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        let cells = row.iter().map(|cell| match cell {
            Cell::None => String::new(),
            Cell::Text(text) => quoted(text),
            other => other.json().to_string(),
        });
        writeln!(self.0, "{}", cells.collect::<Vec<_>>().join(","))
    }

    fn end(&mut self, _: &Coverage) -> io::Result<()> {
        self.0.flush()
    }
}

fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// One document: rows as objects, and the coverage.
pub struct Json<W> {
    out: W,
    question: String,
    names: Vec<String>,
    rows: u64,
}

impl<W: Write> Json<W> {
    /// For the answer to this question.
    pub fn new(out: W, question: &str) -> Self {
        Self { out, question: question.to_owned(), names: Vec::new(), rows: 0 }
    }
}

impl<W: Write> Rows for Json<W> {
    fn begin(&mut self, names: &[String]) -> io::Result<()> {
        self.names = names.to_vec();
        let question = Value::from(self.question.as_str());
        write!(self.out, "{{\n\"schema\": \"{SCHEMA}\",\n\"question\": {question},\n\"rows\": [")
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        let object: Map<String, Value> = self.names.iter().cloned().zip(row.iter().map(Cell::json)).collect();
        self.out.write_all(if self.rows == 0 { b"\n" } else { b",\n" })?;
        self.rows += 1;
        serde_json::to_writer(&mut self.out, &object).map_err(io::Error::from)
    }

    fn end(&mut self, coverage: &Coverage) -> io::Result<()> {
        writeln!(self.out, "\n],\n\"coverage\": {}\n}}", coverage.json())?;
        self.out.flush()
    }
}
