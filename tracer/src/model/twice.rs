//! A process that was told twice.
//!
//! A walk over all tasks may find a new process on the list a moment before its own hook runs. Each of the two gives its
//! table a number; one of them stays.

use crate::event::{Process, TableId};
use crate::model::Model;

impl Model {
    /// The process has this table, and was told with that one: of which there is nothing, if nobody ever looked at it.
    pub(super) fn one_table(&mut self, process: &Process, told: Option<TableId>, has: TableId, at_ns: u64) {
        let Some(told) = told.filter(|told| *told != has) else { return };
        let pid = process.id.pid;
        if self.tables.get(&told).is_none_or(|table| !table.is_only_told_with(pid)) {
            return;
        }
        self.tables.remove(&told);
        if let Some(meter) = &mut self.meter {
            meter.ended(told, at_ns);
        }
        self.use_table(has, process, at_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Event, Name},
        model::{
            MeterOptions,
            report::TableState,
            testing::{child, exec, exec_event, exit, head, proc, process, sample, snapshot},
        },
    };

    const MS: u64 = 1_000_000;

    /// A child that is told with these tables, has the third, and ends with or without an exec.
    fn told(tables: [u64; 2], execs: bool) -> Model {
        let parent = process(1, 1, "sh");
        let [first, second] = tables.map(|table| child(2, table, "sh", &parent));
        let has = child(2, 3, "sh", &parent);
        let mut events: Vec<Event> =
            vec![proc(MS, &parent, 5), snapshot(MS, head(1, 5)), proc(2 * MS, &first, 5), proc(2 * MS, &second, 5)];
        if execs {
            events.push(exec_event(exec(3 * MS, &has, "/bin/true", 4, head(3, 5), Some(head(1, 5)))));
        }
        events.push(exit(4 * MS, &has, 0, head(3, 4).unused()));
        let mut model = Model::default();
        model.meter(MeterOptions::default());
        events.iter().for_each(|event| model.apply(event));
        model
    }

    #[test]
    fn a_process_that_was_told_with_two_tables_has_the_one_that_it_is_seen_with() {
        for (tables, execs) in [([2, 3], true), ([3, 2], true), ([2, 3], false), ([3, 2], false)] {
            let mut model = told(tables, execs);
            let reading = model.reading(&[], 5 * MS).unwrap();
            let comms: Vec<&Name> = reading.sets.iter().map(|set| &set.labels.comm).collect();
            assert_eq!(comms, [&Name::from("sh")], "{tables:?}");
            let report = model.finish(sample::end(9 * MS));
            let rows: Vec<_> = report.tables.iter().map(|row| (row.table, row.pids[0], row.state)).collect();
            assert_eq!(rows, [(1, 1, TableState::Alive), (3, 2, TableState::Ended)], "{tables:?}, {execs}");
            assert!(report.coverage.iter().all(|note| note.code != "end_unseen"), "{:?}", report.coverage);
        }
    }
}
