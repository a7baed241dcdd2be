//! An HdrHistogram interval log, version 1.3, as its own tools read and plot it: the spawner's high-water per exec, one tag
//! for each spawner and program.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use crate::{
    hist::Values,
    model::{Report, rfc3339},
};

/// At most so many intervals, of at least a second.
const INTERVALS: u64 = 120;
const SECOND: u64 = 1_000_000_000;

/// Writes the log. Values are descriptors; the intervals of a tag add up to its histogram in the report.
///
/// # Errors
///
/// When it can't be written.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let start_ns = report.anchor.boot_ns;
    let seconds = report.duration_ns.div_ceil(INTERVALS).div_ceil(SECOND).max(1);
    let mut intervals: BTreeMap<(u64, String), Values> = BTreeMap::new();
    for record in report.execs.iter().filter(|record| record.seq > 0) {
        if let Some(high) = record.spawn_window.high_water {
            let interval = record.at_ns.saturating_sub(start_ns) / (seconds * SECOND);
            let tag = tag(&format!("{}/{}", record.spawner.comm.text(), record.program.text()));
            intervals.entry((interval, tag)).or_default().add(high);
        }
    }
    let mut out = io::BufWriter::new(out);
    let base = report.anchor.wall_unix_ns as f64 / 1e9;
    writeln!(out, "#[fdtide {}: live descriptors at most per exec, by spawner/program]", report.plan.version)?;
    writeln!(out, "#[Histogram log format version 1.3]")?;
    writeln!(out, "#[BaseTime: {base:.3} (seconds since epoch)]")?;
    writeln!(out, "#[StartTime: {base:.3} (seconds since epoch), {}]", rfc3339(report.anchor.wall_unix_ns))?;
    writeln!(out, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"")?;
    for ((interval, tag), values) in &intervals {
        let (start, max) = (interval * seconds, values.quantiles().max);
        writeln!(out, "Tag={tag},{start}.000,{seconds}.000,{max}.000,{}", values.hdr())?;
    }
    out.flush()
}

/// A tag may hold neither commas nor white space.
fn tag(name: &str) -> String {
    name.chars().map(|c| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}
