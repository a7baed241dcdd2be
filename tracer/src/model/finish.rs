//! From everything that happened to the report.

use crate::event::{CensusReason, Name, ProcId};
use crate::model::StackRow;
use crate::model::census::Taken;
use crate::model::coverage;
use crate::model::image::ImageEnd;
use crate::model::process::Proc;
use crate::model::report::{
    AgeRow, Agent, Anchor, CensusRow, CrestRow, EndedBy, Growth, HistogramRow, Loss, LostListener, Plan, Report,
    RootEnd, SCHEMA, TableRow, TableState,
};
use crate::model::stack::Stacks;
use crate::model::{Model, Pair, crest, spawner, when};

/// What only the pipeline knows at the end of a trace.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// The end, boot time in nanoseconds.
    pub at_ns: u64,
    /// The start, on both clocks.
    pub anchor: Anchor,
    /// How the kernel was hooked.
    pub plan: Plan,
    /// What did not come through.
    pub loss: Loss,
    /// What the tracer itself used.
    pub agent: Option<Agent>,
    /// What was run; empty if fdtide attached.
    pub command: Vec<String>,
    /// How that ended.
    pub root: Option<RootEnd>,
}

/// See [`Model::found`].
struct Found {
    growth: Vec<Growth>,
    crests: Vec<CrestRow>,
    ages: Vec<AgeRow>,
    lost_listeners: Vec<LostListener>,
    censuses: Vec<CensusRow>,
    stacks: Vec<StackRow>,
}

impl Model {
    /// Ends the trace. Images that run on are told as far as the last look at their tables; with `Options::stream` the
    /// report has only those execs that were not drained.
    pub fn finish(mut self, end: End) -> Report {
        let mut procs: Vec<(ProcId, Proc)> = self.procs.drain().collect();
        procs.sort_by_key(|(id, _)| *id);
        for (id, proc) in &mut procs {
            self.finish_orphan(*id, proc);
            self.finish_image(proc, end.at_ns);
        }
        let mut execs = std::mem::take(&mut self.execs);
        execs.sort_by_key(|record| (record.seq, record.at_ns));
        let tables = self.finish_tables();
        let found = self.found(&tables);
        let mut orphans = std::mem::take(&mut self.orphans);
        orphans.sort_by_key(|orphan| (orphan.since_ns, orphan.pid));
        self.seen.marks_forgotten = self.marks.forgotten;
        let coverage = coverage::notes(&end, &self.seen, &tables);
        Report {
            schema: SCHEMA.into(),
            started_at: when::rfc3339(end.anchor.wall_unix_ns),
            anchor: end.anchor,
            duration_ns: end.at_ns.saturating_sub(end.anchor.boot_ns),
            command: end.command,
            root: end.root,
            plan: end.plan,
            loss: end.loss,
            coverage,
            agent: end.agent,
            tables,
            spawners: spawner::summaries(&execs),
            growth: found.growth,
            execs,
            histograms: histograms(self.values.into_iter().collect()),
            orphans,
            roots: self.roots.into_rows(),
            containers: self.places.into_rows(),
            crests: found.crests,
            ages: found.ages,
            lost_listeners: found.lost_listeners,
            censuses: found.censuses,
            stacks: found.stacks,
            marks: self.marks.into_rows(),
        }
    }

    /// What stands in the events beside tables and execs.
    fn found(&mut self, tables: &[TableRow]) -> Found {
        let censuses = std::mem::take(&mut self.censuses);
        self.seen.stray_rows = censuses.stray;
        self.seen.censuses_let_go = censuses.let_go;
        let taken = censuses.into_taken();
        self.stacks.find_functions();
        let mut growth = std::mem::take(&mut self.growth);
        growth.sort_by_key(|row| (row.table, row.per));
        growth.iter_mut().for_each(|row| opened_by(row, &taken, &self.stacks));
        let mut lost_listeners = std::mem::take(&mut self.lost_listeners);
        lost_listeners.sort_by_key(|row| (row.failed_ns, row.table));
        lost_listeners.iter_mut().for_each(|row| listening(row, &taken));
        let mut crests = std::mem::take(&mut self.crests);
        crest::keep_highest(&mut crests, usize::MAX);
        let stacks = taken.iter().flat_map(|taken| self.stacks.rows(taken)).collect();
        let censuses: Vec<CensusRow> = taken.into_iter().map(|taken| taken.into_row(&self.stacks)).collect();
        self.seen.lost_rows = censuses.iter().map(|census| census.lost).sum();
        let ages = std::mem::take(&mut self.ages).into_rows(tables);
        Found { growth, crests, ages, lost_listeners, censuses, stacks }
    }

    fn finish_image(&mut self, proc: &mut Proc, at_ns: u64) {
        let Some(open) = proc.open.take() else { return };
        let table = proc.table.and_then(|id| self.tables.get(&id));
        let looked = table.is_some_and(|table| table.was_snapshot());
        let last = table.and_then(|table| table.head_since(open.at_ns()));
        let last = last.map(|(head, seen_ns)| (head.clone(), seen_ns));
        let seen_ns = last.as_ref().map_or(at_ns, |(_, seen_ns)| *seen_ns);
        let head = last.as_ref().map(|(head, _)| head);
        self.close_image(*open, head, &proc.former, seen_ns, ImageEnd::Trace);
        if !looked && let Some(record) = self.execs.last_mut() {
            record.image.ended_by = EndedBy::Unseen;
        }
    }

    fn finish_orphan(&mut self, id: ProcId, proc: &Proc) {
        let table = proc.table.and_then(|id| self.tables.get(&id));
        let head = table.and_then(|table| table.head_since(0)).map(|(head, _)| head.clone());
        let orphan = self.orphan(id, proc, head.as_ref());
        self.orphans.extend(orphan);
    }

    fn finish_tables(&mut self) -> Vec<TableRow> {
        let mut rows = std::mem::take(&mut self.over);
        self.seen.tables_let_go = self.highest.let_go;
        rows.append(&mut self.highest.take());
        for (_, mut table) in self.tables.drain() {
            table.crest_open();
            self.crests.extend(table.take_crests());
            self.growth.extend(table.growth());
            self.lost_listeners.extend(table.lost_listener());
            let row = table.into_row(self.options.settle_ns, &mut self.kinds);
            if !(self.options.stream && row.state == TableState::Ended) {
                rows.push(row);
            }
        }
        rows.sort_by_key(|row| (row.first_ns, row.table));
        rows
    }
}

/// Who opened what grew, from the last census of the table that shows it.
fn opened_by(growth: &mut Growth, taken: &[Taken], stacks: &Stacks) {
    let table = growth.table;
    for grown in growth.suspect.iter_mut().chain(&mut growth.late) {
        let of_table = taken.iter().rev().filter(|taken| taken.census.table.0 == table);
        let found = of_table.map(|taken| taken.opened_by(&grown.kind, stacks)).find(|rows| !rows.is_empty());
        grown.opened_by = found.unwrap_or_default();
    }
}

/// Listening sockets at the table's first failure, and at its last census after that.
fn listening(lost: &mut LostListener, taken: &[Taken]) {
    let of_table = || taken.iter().filter(|taken| taken.census.table.0 == lost.table);
    let Some(failed) = of_table().find(|taken| taken.census.reason == CensusReason::Failure) else { return };
    let last = of_table().rfind(|taken| taken.census.at_ns > failed.census.at_ns);
    lost.listening_before = Some(failed.listening());
    lost.listening_after = last.map(Taken::listening);
}

pub(super) fn histograms(mut pairs: Vec<((Name, Name), Pair)>) -> Vec<HistogramRow> {
    pairs.retain(|(_, pair)| !pair.window.is_empty());
    pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
    let row = |((spawner, program), pair): ((Name, Name), Pair)| HistogramRow {
        spawner,
        program,
        window: pair.window.quantiles(),
        hdr: pair.window.hdr(),
        before_exec: (!pair.before.is_empty()).then(|| pair.before.quantiles()),
    };
    pairs.into_iter().map(row).collect()
}
