//! A trace for Perfetto's viewer: a counter per table, slices for execs and crests, instants for failures and remarks.

mod levels;
mod packets;
mod proto;

use std::io::{self, Write};

use crate::event::{Event, Reason, TableId};
use crate::model::report::{ExecRecord, TableRow};
use crate::model::{FailureRow, Report};
use levels::Levels;
use packets::{Group, Packets};

/// Gathers what the events tell beyond a report.
#[derive(Default)]
pub struct Trace {
    levels: Levels,
    crests: Vec<Crest>,
    notes: Vec<(u64, String)>,
}

struct Crest {
    table: TableId,
    from_ns: u64,
    to_ns: u64,
    floor: u32,
    high: u32,
    top_ns: u64,
}

impl Trace {
    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        self.levels.event(event);
        if let Event::Table(seen) = event
            && seen.reason == Reason::Crest
        {
            let head = &seen.table;
            self.crests.push(Crest {
                table: head.id,
                from_ns: head.crest_from_ns,
                to_ns: event.at_ns(),
                floor: head.crest_floor,
                high: head.crest.live,
                top_ns: head.crest.at_ns,
            });
        }
    }

    /// Takes a person's remark.
    pub fn note(&mut self, at_ns: u64, text: &str) {
        self.notes.push((at_ns, text.to_owned()));
    }

    /// Writes the trace. Times are boot time, which the viewer shows as wall clock too.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn write(mut self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let end_ns = report.anchor.boot_ns.saturating_add(report.duration_ns);
        let mut packets = Packets::new(report.anchor);
        for row in &report.tables {
            self.table(&mut packets, row);
        }
        execs(&mut packets, &report.execs, end_ns);
        self.crests(&mut packets, report);
        for row in &report.tables {
            failures(&mut packets, row);
        }
        if !self.notes.is_empty() {
            let track = packets.track(Group::Notes, 0, "remarks");
            self.notes.iter().for_each(|(at_ns, text)| packets.instant(track, *at_ns, text, "note", &[]));
        }
        packets.write(out)
    }

    fn table(&mut self, packets: &mut Packets, row: &TableRow) {
        let track = packets.counter(row.table, &name(row));
        for (at_ns, live) in self.levels.of(row) {
            packets.level(track, at_ns, live);
        }
    }

    fn crests(&mut self, packets: &mut Packets, report: &Report) {
        self.crests.sort_by_key(|crest| (crest.table, crest.to_ns));
        let mut last = (TableId(0), 0);
        for crest in &self.crests {
            // The run command's table was fdtide's own before.
            let Some(row) = report.tables.iter().find(|row| row.table == crest.table.0) else { continue };
            if crest.top_ns < row.first_ns {
                continue;
            }
            let free_ns = if last.0 == crest.table { last.1 } else { 0 };
            let from_ns = crest.from_ns.max(free_ns).max(row.first_ns).min(crest.to_ns);
            last = (crest.table, crest.to_ns);
            let track = packets.track(Group::Crests, row.table, &format!("crests · {}", name(row)));
            let figures = [("high_water", crest.high), ("floor", crest.floor)];
            let figures = figures.map(|(name, value)| (name, packets::Value::Number(value.into())));
            packets.slice(track, (from_ns, crest.to_ns), &format!("crest {}", crest.high), "crest", &figures);
        }
    }
}

fn name(row: &TableRow) -> String {
    let pid = row.pids.first().map_or(String::new(), |pid| format!("[{pid}]"));
    format!("{}{pid} table {}", row.comm.text(), row.table)
}

/// Execs on as few lanes as they need: those on one lane do not overlap.
fn execs(packets: &mut Packets, execs: &[ExecRecord], end_ns: u64) {
    let mut sorted: Vec<&ExecRecord> = execs.iter().collect();
    sorted.sort_by_key(|record| (record.at_ns, record.seq));
    let mut lanes: Vec<u64> = Vec::new();
    for record in sorted {
        let from_ns = record.at_ns;
        let to_ns = record.image.end_ns.unwrap_or(end_ns).max(from_ns);
        let lane = lanes.iter().position(|free_ns| *free_ns <= from_ns).unwrap_or_else(|| {
            lanes.push(0);
            lanes.len() - 1
        });
        // A slice without a length would end where it begins, and the next one could not be told from it.
        lanes[lane] = to_ns.max(from_ns + 1);
        let track = packets.track(Group::Execs, lane as u64, &format!("execs, lane {}", lane + 1));
        packets.slice(track, (from_ns, lanes[lane]), &record.program.text(), "exec", &figures(record));
    }
}

fn figures(record: &ExecRecord) -> Vec<(&'static str, packets::Value)> {
    let number = |name, value: Option<u32>| value.map(|value| (name, packets::Value::Number(value.into())));
    let mut figures = vec![
        ("seq", packets::Value::Number(record.seq)),
        ("pid", packets::Value::Number(record.pid.into())),
        ("spawner", packets::Value::Text(record.spawner.comm.text())),
        ("path", packets::Value::Text(record.path.text())),
    ];
    figures.extend(number("spawner_pid", Some(record.spawner.pid)));
    figures.extend(number("window_high_water", record.spawn_window.high_water));
    figures.extend(number("before_exec_high_water", record.before_exec.high_water));
    figures.extend(number("image_high_water", record.image.high_water));
    figures.extend(record.image.exit.map(|exit| ("exit", packets::Value::Text(exit.to_string()))));
    figures
}

fn failures(packets: &mut Packets, row: &TableRow) {
    let timed = |failure: &FailureRow| failure.first_ns.map(|at_ns| (at_ns, failure.clone()));
    let mut failures: Vec<(u64, FailureRow)> = row.failures.iter().filter_map(timed).collect();
    failures.sort_by_key(|(at_ns, _)| *at_ns);
    for (at_ns, failure) in failures {
        let track = packets.track(Group::Failures, row.table, &format!("failures · {}", name(row)));
        let text = format!("{} {}", failure.errno, failure.syscall);
        let number = |name, value: Option<u32>| value.map(|value| (name, packets::Value::Number(value.into())));
        let mut figures = vec![("count", packets::Value::Number(failure.count))];
        figures.extend(number("live", failure.live));
        figures.extend(number("soft_limit", failure.soft_limit));
        packets.instant(track, at_ns, &text, "failure", &figures);
    }
}
