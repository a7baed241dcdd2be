//! Tables of rows, their columns named by paths of the JSON report: title, unit and form come from the field table.

use serde::Serialize;
use serde_json::Value;

use crate::event::Name;
use crate::model::{FailureRow, Report};
use crate::sink::fields::{self, Field};

/// Rows shown of one list.
const ROWS: usize = 1000;

/// A table of the page.
#[derive(Debug, Default)]
pub struct Sheet {
    /// Heading.
    pub title: &'static str,
    /// Name for links.
    pub id: &'static str,
    /// What is not shown.
    pub note: String,
    /// Heads of columns.
    pub columns: Vec<&'static Field>,
    /// Cells, row by row.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell.
#[derive(Debug, Default)]
pub struct Cell {
    /// What a person reads.
    pub text: String,
    /// What rows are sorted by.
    pub key: String,
    /// It is a number.
    pub number: bool,
}

/// Title, id, list, and the columns below it.
type Plan = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// What the page shows. A failure's row has its table's name too.
pub const PLANS: &[Plan] = &[
    (
        "Tables",
        "tables",
        "tables[].",
        &[
            "pids[]",
            "comm",
            "state",
            "live",
            "high_water",
            "soft_limit",
            "headroom",
            "settled",
            "installs",
            "closes",
            "crests",
            "failures[].count",
            "high_water_kinds{}",
        ],
    ),
    (
        "Failures",
        "failures",
        "tables[].failures[].",
        &["comm", "errno", "syscall", "count", "first_ns", "live", "soft_limit", "cause"],
    ),
    (
        "Crests",
        "crests",
        "crests[].",
        &[
            "top_ns",
            "comm",
            "pid",
            "floor",
            "high_water",
            "headroom",
            "rise_ns",
            "fall_ns",
            "ended_by",
            "execs_total",
            "kinds{}",
        ],
    ),
    (
        "Execs",
        "execs",
        "execs[].",
        &[
            "seq",
            "at_ns",
            "program",
            "pid",
            "spawner.comm",
            "spawn_window.high_water",
            "before_exec.high_water",
            "image.high_water",
            "spawn_window.settled",
            "spawn_window.headroom",
            "spawn_window.failures[].count",
            "spawn_window.kinds{}",
        ],
    ),
    ("Distributions", "distributions", "histograms[].", &["spawner", "program", "count", "p50", "p90", "p99", "max"]),
    (
        "Growth",
        "growth",
        "growth[].",
        &["comm", "pid", "per", "windows", "first", "last", "grew", "slope", "limit_in", "suspect[].kind"],
    ),
    (
        "Lost listeners",
        "listeners",
        "lost_listeners[].",
        &[
            "comm",
            "syscall",
            "errno",
            "failed_ns",
            "settled_before",
            "settled_after",
            "listening_before",
            "listening_after",
        ],
    ),
    (
        "Censuses",
        "censuses",
        "censuses[].groups[].",
        &["at_ns", "comm", "reason", "count", "kind", "socket.state", "opener.thread.comm", "function", "under"],
    ),
    ("Stacks", "stacks", "stacks[].", &["reason", "count", "kind", "frames[].symbol"]),
    ("Orphans", "orphans", "orphans[].", &["comm", "pid", "spawner", "since_ns", "end_ns", "live", "kinds{}"]),
    ("Marks", "marks", "marks[].", &["at_ns", "text"]),
];

/// The tables that have rows.
pub fn all(report: &Report) -> Vec<Sheet> {
    let mut execs: Vec<_> = report.execs.iter().collect();
    execs.sort_by_key(|record| std::cmp::Reverse(record.spawn_window.high_water));
    let mut tables: Vec<_> = report.tables.iter().collect();
    tables.sort_by_key(|row| std::cmp::Reverse(row.high_water));
    let failures = report.tables.iter().flat_map(|row| row.failures.iter().map(|failure| (&row.comm, failure)));
    let failures: Vec<_> = failures.map(|(comm, row)| Failure { comm, row }).collect();
    let groups = report.censuses.iter().flat_map(|census| census.groups.iter().map(move |row| (census, row)));
    let groups: Vec<_> = groups
        .map(|(census, row)| Group { comm: &census.comm, reason: &census.reason, at_ns: census.at_ns, row })
        .collect();
    let start = report.anchor.boot_ns;
    let rows = |list: &str| match list {
        "tables[]." => values(&tables),
        "tables[].failures[]." => values(&failures),
        "crests[]." => values(&report.crests),
        "execs[]." => values(&execs),
        "histograms[]." => values(&report.histograms),
        "growth[]." => values(&report.growth),
        "lost_listeners[]." => values(&report.lost_listeners),
        "censuses[].groups[]." => values(&groups),
        "stacks[]." => values(&report.stacks),
        "marks[]." => values(&report.marks),
        _ => values(&report.orphans),
    };
    let sheets = PLANS.iter().map(|(title, id, list, columns)| {
        let (rows, left) = rows(list);
        let columns: Vec<&'static Field> = columns.iter().filter_map(|column| field_of(list, column)).collect();
        let cells = |row: &Value| columns.iter().map(|field| cell(row, field, list, start)).collect();
        let note = match left {
            0 => String::new(),
            left => format!("The {ROWS} highest; {left} more are in the JSON report."),
        };
        Sheet { title, id, note, rows: rows.iter().map(cells).collect(), columns }
    });
    sheets.filter(|sheet| !sheet.rows.is_empty()).collect()
}

/// A failure and the name of its table.
#[derive(Serialize)]
struct Failure<'a> {
    comm: &'a Name,
    #[serde(flatten)]
    row: &'a FailureRow,
}

/// Descriptors alike, and the census that found them.
#[derive(Serialize)]
struct Group<'a, R: Serialize, T: Serialize> {
    comm: &'a Name,
    reason: &'a R,
    at_ns: u64,
    #[serde(flatten)]
    row: &'a T,
}

/// What holds a list: `a[].` for `a[].b[].`.
fn outer(list: &str) -> &str {
    let inner = list.trim_end_matches('.');
    inner.rfind('.').map_or(list, |dot| &list[..=dot])
}

/// The row of a column in the field table: below the list, or below what holds the list.
fn field_of(list: &str, column: &str) -> Option<&'static Field> {
    let outer = outer(list);
    fields::of(&format!("{list}{column}")).or_else(|| fields::of(&format!("{outer}{column}")))
}

/// The first rows as JSON, and how many there are beyond.
fn values<T: Serialize>(rows: &[T]) -> (Vec<Value>, usize) {
    let shown = rows.iter().take(ROWS).filter_map(|row| serde_json::to_value(row).ok()).collect();
    (shown, rows.len().saturating_sub(ROWS))
}

fn cell(row: &Value, field: &Field, list: &str, start_ns: u64) -> Cell {
    let path = field.path.strip_prefix(list).or_else(|| field.path.strip_prefix(outer(list))).unwrap_or(field.path);
    if let Some(at) = path.strip_suffix("failures[].count") {
        return failed(find(row, &format!("{at}failures")));
    }
    let value = found(row, path.trim_end_matches("{}"));
    // A list may have nothing in it; what else is not there is not known.
    let text = match &value {
        Value::Array(all) if all.is_empty() => String::new(),
        value => field.show(value, start_ns),
    };
    let first = value.as_array().and_then(|list| list.first()).unwrap_or(&value);
    let key = match first {
        Value::Number(number) => number.to_string(),
        _ if field.is_number() => "-1".to_owned(),
        _ => text.clone(),
    };
    Cell { text, key, number: field.is_number() }
}

fn find<'a>(row: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|key| !key.is_empty()).try_fold(row, |value, key| value.get(key))
}

/// What stands at a path; of `a[].b` every `b`.
fn found(row: &Value, path: &str) -> Value {
    match path.split_once("[]") {
        None => find(row, path).cloned().unwrap_or_default(),
        Some((list, rest)) => {
            let entries = find(row, list).and_then(Value::as_array).into_iter().flatten();
            entries.map(|entry| found(entry, rest.trim_start_matches('.'))).collect()
        }
    }
}

/// Failures of a row, added up: `EMFILE ×19`.
fn failed(rows: Option<&Value>) -> Cell {
    let mut errors: Vec<(&str, u64)> = Vec::new();
    for row in rows.and_then(Value::as_array).into_iter().flatten() {
        let errno = row.get("errno").and_then(Value::as_str).unwrap_or("?");
        let count = row.get("count").and_then(Value::as_u64).unwrap_or(0);
        match errors.iter_mut().find(|(known, _)| *known == errno) {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None => errors.push((errno, count)),
        }
    }
    let total = errors.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
    let text = errors.iter().map(|(errno, count)| format!("✗ {errno} ×{count}")).collect::<Vec<_>>().join(", ");
    Cell { text, key: total.to_string(), number: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_a_row_of_the_field_table_with_a_title() {
        for (_, _, list, columns) in PLANS {
            for column in *columns {
                let field =
                    field_of(list, column).unwrap_or_else(|| panic!("{list}{column} is not in the field table"));
                assert!(!field.short.is_empty(), "{list}{column} has no short title");
            }
        }
    }
}
