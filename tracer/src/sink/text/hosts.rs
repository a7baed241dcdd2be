//! Reports of several hosts for a person: each by itself, then what they come to together.

use std::io::{self, Write};

use super::{print, words::Lines, write as write_one};
use crate::event::Name;
use crate::model::merge::Merged;

/// Rows told of the merged histograms; the others are in the JSON.
const ROWS: usize = 12;

/// Writes every report under its host, and the merged histograms.
pub fn write(merged: &Merged, out: &mut dyn Write) -> io::Result<()> {
    for host in &merged.hosts {
        let (name, file) = (Name::from(host.host.as_str()), Name::from(host.recording.as_str()));
        writeln!(out, "== {name} · {file}\n")?;
        write_one(&host.report, out)?;
        writeln!(out)?;
    }
    let mut lines = Lines::default();
    lines.push(&format!("== {} hosts together, high-water per exec", merged.hosts.len()));
    lines.gap();
    if merged.histograms.is_empty() {
        lines.push("  no exec whose spawner's window is known");
        return print(lines, out);
    }
    let mut rows: Vec<_> = merged.histograms.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.window.max, row.window.count)));
    lines.push("    execs     p50     p90     p99     max  program ← spawner");
    for row in rows.iter().take(ROWS) {
        let q = row.window;
        let names = format!("{} ← {}", row.program, row.spawner);
        lines.push(&format!("  {:>7} {:>7} {:>7} {:>7} {:>7}  {names}", q.count, q.p50, q.p90, q.p99, q.max));
    }
    if let Some(more) = rows.len().checked_sub(ROWS).filter(|more| *more > 0) {
        lines.push(&format!("  {more} more rows · --format json for all"));
    }
    print(lines, out)
}
