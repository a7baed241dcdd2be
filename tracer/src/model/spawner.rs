//! What the execs of each spawner come to.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::event::Name;
use crate::hist::Quantiles;
use crate::model::report::{ExecRecord, ProgramCount, SpawnerSummary};

/// One row for each name of a spawner, the one with the highest mark first.
pub fn summaries(execs: &[ExecRecord]) -> Vec<SpawnerSummary> {
    let mut by_comm: BTreeMap<&Name, Vec<&ExecRecord>> = BTreeMap::new();
    for record in execs.iter().filter(|record| record.seq > 0) {
        by_comm.entry(&record.spawner.comm).or_default().push(record);
    }
    let mut rows: Vec<SpawnerSummary> = by_comm.into_iter().map(|(comm, records)| summary(comm, &records)).collect();
    rows.sort_by_key(|row| Reverse((row.highest(), row.execs)));
    rows
}

fn summary(comm: &Name, records: &[&ExecRecord]) -> SpawnerSummary {
    let mut counts: BTreeMap<&Name, u64> = BTreeMap::new();
    let mut row = SpawnerSummary {
        comm: comm.clone(),
        pids: records.iter().map(|record| record.spawner.pid).collect(),
        tables: records.iter().filter_map(|record| record.spawn_window.table).collect(),
        execs: records.len() as u64,
        programs: Vec::new(),
        spawn_window: Quantiles::of(records.iter().filter_map(|record| record.spawn_window.high_water)),
        before_exec: Quantiles::of(records.iter().filter_map(|record| record.before_exec.high_water)),
        image: Quantiles::of(records.iter().filter_map(|record| record.image.high_water)),
    };
    row.pids.sort_unstable();
    row.pids.dedup();
    row.tables.sort_unstable();
    row.tables.dedup();
    for record in records {
        *counts.entry(&record.program).or_default() += 1;
    }
    row.programs =
        counts.into_iter().map(|(program, count)| ProgramCount { program: program.clone(), count }).collect();
    row.programs.sort_by_key(|program| Reverse(program.count));
    row
}

impl SpawnerSummary {
    /// The highest mark of any of the three lives.
    pub fn highest(&self) -> u64 {
        [self.spawn_window, self.before_exec, self.image].into_iter().flatten().map(|q| q.max).max().unwrap_or(0)
    }
}
