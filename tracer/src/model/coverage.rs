//! What the report can't tell, in sentences: what happened, and what to do.

use std::collections::BTreeMap;

use crate::event::{Name, ProcId, Process};
use crate::model::finish::End;
use crate::model::report::{Anchor, CoverageNote, Loss, TableRow, TableState};

/// Counters of the kernel program that cost nothing of the picture, or are told otherwise.
const HARMLESS: [&str; 3] = ["ring_full", "stale_row", "copy_race"];

/// Gaps that the events themselves showed.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    attached: BTreeMap<ProcId, (Name, u64)>,
    /// Processes whose table could not be followed.
    pub not_followed: u64,
    /// Execs after the end of their spawner's table.
    pub spawner_gone: u64,
    /// Execs without any knowledge of their spawner's table.
    pub spawner_unknown: u64,
    /// Rows of censuses that found no room in the ring.
    pub lost_rows: u64,
    /// Rows whose census did not come.
    pub stray_rows: u64,
    /// Tables that have gone and have no row.
    pub tables_let_go: u64,
    /// Censuses that are not kept any more.
    pub censuses_let_go: u64,
    /// Marks that are not kept any more.
    pub marks_forgotten: u64,
}

impl Seen {
    /// A process was there before the hooks.
    pub fn attached(&mut self, process: &Process, at_ns: u64) {
        let age = at_ns.saturating_sub(process.id.start_ns);
        self.attached.insert(process.id, (process.comm.clone(), age));
    }

    /// It was only waiting for its exec: nothing of the program was missed.
    pub fn covered(&mut self, id: ProcId) {
        self.attached.remove(&id);
    }
}

/// The notes of a report.
pub fn notes(end: &End, seen: &Seen, tables: &[TableRow]) -> Vec<CoverageNote> {
    let mut notes = Notes(Vec::new());
    attached(&mut notes, seen);
    loss(&mut notes, &end.loss, end.anchor);
    for refused in end.plan.refused.iter().filter(|refused| refused.backend == end.plan.backend) {
        notes.push("hook_missing", format!("the {} backend goes {}", refused.backend, refused.reason));
    }
    notes.count(seen.not_followed, "not_followed", |n| {
        format!("the table of {n} could not be followed; trace fewer processes", n = plural(n, "process"))
    });
    notes.count(seen.spawner_gone, "spawner_gone", |n| {
        format!("{} came after the end of the spawner; the spawn window ends there", plural(n, "exec"))
    });
    notes.count(seen.spawner_unknown, "spawner_unknown", |n| {
        format!("the spawner of {} was not followed, or not long enough; its window is unknown", plural(n, "exec"))
    });
    notes.count(seen.tables_let_go, "tables_let_go", |n| {
        format!("{} that ended are not told, for memory: none was higher than those that are", plural(n, "table"))
    });
    notes.count(seen.marks_forgotten, "marks_forgotten", |n| format!("the first {} are not told", plural(n, "mark")));
    notes.count(seen.lost_rows + seen.stray_rows, "census_rows", |n| {
        format!(
            "{} of a census did not come through; a census that is not `complete` shows only a part",
            plural(n, "row")
        )
    });
    notes.count(seen.censuses_let_go, "censuses_let_go", |n| {
        format!(
            "{} of lower crests are not told: memory must not depend on how long the trace runs",
            plural(n, "census")
        )
    });
    let unseen = tables.iter().filter(|row| row.state == TableState::Unseen).count();
    notes.count(unseen as u64, "end_unseen", |n| {
        format!("the end of {} was not seen; the figures are those of the last look", plural(n, "table"))
    });
    notes.0
}

struct Notes(Vec<CoverageNote>);

impl Notes {
    fn push(&mut self, code: &str, text: String) {
        self.0.push(CoverageNote { code: code.to_owned(), text });
    }

    fn count(&mut self, count: u64, code: &str, text: impl FnOnce(u64) -> String) {
        if count > 0 {
            self.push(code, text(count));
        }
    }
}

fn attached(notes: &mut Notes, seen: &Seen) {
    let oldest = seen.attached.iter().max_by_key(|(_, (_, age))| *age);
    let Some((id, (comm, age))) = oldest else { return };
    let age = seconds(*age);
    let text = match seen.attached.len() {
        1 => format!("attached {age} after {comm}[{}] started; high-water before that is unknown", id.pid),
        n => format!(
            "attached to {n} running processes, {age} after the oldest, {comm}[{}], started; \
             high-water before that is unknown",
            id.pid
        ),
    };
    notes.push("attached", text);
}

fn loss(notes: &mut Notes, loss: &Loss, anchor: Anchor) {
    notes.count(loss.lost, "lost", |n| {
        format!(
            "{} found no room in the ring: rows are missing or end early, figures in the others hold; \
             trace fewer processes, or leave the agent more processor time",
            plural(n, "record")
        )
    });
    for gap in &loss.gaps {
        let at = |ns: u64| seconds(ns.saturating_sub(anchor.boot_ns));
        notes.push(
            "missed",
            format!(
                "{} of a hook were missed between {} and {}: marks there are upper bounds, a short peak may be unseen",
                plural(gap.missed, "run"),
                at(gap.from_ns),
                at(gap.to_ns)
            ),
        );
    }
    let elsewhere = loss.missed.saturating_sub(loss.gaps.iter().map(|gap| gap.missed).sum());
    notes.count(elsewhere, "missed", |n| {
        format!(
            "{} of a hook were missed: marks in between are upper bounds, a short peak may be unseen",
            plural(n, "run")
        )
    });
    notes.count(loss.skipped, "skipped", |n| {
        format!("{} could not be read; use the kernel object that was built with this fdtide", plural(n, "record"))
    });
    for counter in &loss.counters {
        if counter.value > 0 && !HARMLESS.contains(&counter.name.as_str()) {
            let help = counter.help.trim_end_matches('.');
            notes.push(&counter.name, format!("{} × {}: {help}", counter.value, counter.name));
        }
    }
}

/// `1 exec`, `3 processes`.
fn plural(n: u64, word: &str) -> String {
    match n {
        1 => format!("1 {word}"),
        n if word.ends_with('s') => format!("{n} {word}es"),
        n => format!("{n} {word}s"),
    }
}

/// `4.2 s`, `12 ms`.
fn seconds(ns: u64) -> String {
    match ns {
        ..1_000_000_000 => format!("{} ms", ns / 1_000_000),
        1_000_000_000..100_000_000_000 => format!("{}.{} s", ns / 1_000_000_000, ns / 100_000_000 % 10),
        _ => format!("{} s", ns / 1_000_000_000),
    }
}
