//! Where processes run: their containers, and their ids inside.

use std::collections::HashSet;

use crate::event::{Container, Name};
use crate::model::Report;
use crate::model::report::{ContainerRow, TableRow};
use crate::sink::fields::title;

use super::words::{Lines, count, process};

/// Lines at most.
const MOST: usize = 3;

/// One line for each container, and for each process alone in a PID namespace: the first that was seen.
pub fn write(lines: &mut Lines, report: &Report) {
    let mut told: HashSet<Option<&Name>> = HashSet::new();
    let rows: Vec<&TableRow> = report
        .tables
        .iter()
        .filter(|row| row.container.is_some() || is_inside(row))
        .filter(|row| row.container.is_none() || told.insert(row.container.as_ref()))
        .collect();
    if !rows.is_empty() {
        lines.gap();
    }
    for row in rows.iter().take(MOST) {
        let container = row.container.as_ref();
        let container = container.and_then(|id| report.containers.iter().find(|container| container.id == *id));
        let path = if container.is_some() { "tables[].container" } else { "tables[].ns_pids[]" };
        lines.labelled(title(path), &one(row, container));
    }
    if let Some(more) = rows.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.labelled("", &format!("{} · --format json for all", count(more as u64, "more place")));
    }
}

fn is_inside(row: &TableRow) -> bool {
    row.ns_pids.first().is_some_and(|inside| *inside != 0 && row.pids.first() != Some(inside))
}

/// `nginx[4242] is process 1 in docker 3fa9c1d2e4b5 (web), with 3 processes more`.
fn one(row: &TableRow, container: Option<&ContainerRow>) -> String {
    let pid = row.pids.first().copied().unwrap_or(0);
    let who = process(&row.comm, pid);
    let inside = row.ns_pids.first().filter(|_| is_inside(row));
    let is = inside.map_or_else(|| "is".to_owned(), |inside| format!("is process {inside}"));
    match container {
        Some(at) => {
            let name = at.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
            let others = at.processes.saturating_sub(1);
            let others = if others > 0 { format!(", with {} more", count(others, "process")) } else { String::new() };
            format!("{who} {is} in {} {}{name}{others}", at.runtime, short(at))
        }
        None => format!("{who} {is} in its own PID namespace"),
    }
}

fn short(row: &ContainerRow) -> Name {
    Container { runtime: String::new(), id: row.id.clone(), name: None }.short()
}
