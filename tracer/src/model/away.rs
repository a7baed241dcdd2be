//! Processes that are elsewhere: in a container, or traced no longer.

use crate::event::{Place, Removed};
use crate::model::image::ImageEnd;
use crate::model::{CrestEnd, Model};

impl Model {
    /// It is in this container, and so is what it has.
    pub(super) fn apply_place(&mut self, place: &Place) {
        self.places.found(place);
        let id = self.procs.get(&place.process).and_then(|proc| proc.table);
        if let Some(table) = id.and_then(|id| self.tables.get_mut(&id)).filter(|table| !table.is_over()) {
            table.placed(place.process, &place.container.id);
            let (pid, comm) = table.first_user();
            if let (Some(meter), Some(id)) = (self.meter.as_mut().filter(|_| pid == place.process.pid), id) {
                meter.uses(id, pid, comm, Some(self.places.label(place.process)), place.at_ns);
            }
        }
    }

    /// What is known of it ends here; it has neither ended nor left anybody behind.
    pub(super) fn apply_removed(&mut self, event: &Removed) {
        let process = &event.process;
        if let Some(head) = &event.table {
            self.use_table(head.id, process, event.at_ns);
            self.observe(head, event.at_ns);
        }
        if let Some(mut proc) = self.procs.remove(&process.id) {
            if let Some(open) = proc.open.take() {
                self.close_image(*open, event.table.as_ref(), &proc.former, event.at_ns, ImageEnd::Removed);
            }
            self.forget_fork(process.id, &mut proc);
            if let Some(spawner) = proc.spawner.and_then(|spawner| self.procs.get_mut(&spawner)) {
                spawner.part(process.id);
            }
        }
        self.places.gone(process.id);
        if let Some(head) = event.table.as_ref().filter(|head| head.users == 0) {
            if let Some(table) = self.tables.get_mut(&head.id) {
                table.removed();
            }
            if let Some(meter) = &mut self.meter {
                meter.removed(head.id, event.at_ns);
            }
            self.end_crest(head, event.at_ns, CrestEnd::Open);
            self.end_table(head.id, event.at_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Event, Group, Name, Process};
    use crate::model::report::{EndedBy, TableState};
    use crate::model::testing::{MS, exec, exec_event, head, process, sample};

    #[test]
    fn the_same_id_in_two_containers_is_two_processes() {
        let report = sample::containers();
        let inside: Vec<_> = report
            .tables
            .iter()
            .map(|row| (row.ns_pids[0], row.container.as_ref().map(|id| id.text()[..2].to_owned()), row.high_water))
            .collect();
        let at = |digits: &str| Some(digits.to_owned());
        // The child of the first has no id of its own in this script, but its parent's container.
        let child = report.tables[3].pids[0];
        let expected =
            [(1, at("33"), Some(12)), (1, at("aa"), Some(49)), (7, None, Some(4)), (child, at("33"), Some(12))];
        assert_eq!(inside, expected);
        assert_eq!(report.execs[0].container, Some(Name::from("3".repeat(64).as_str())));
        let told: Vec<_> = report.containers.iter().map(|row| (row.name.clone(), row.processes)).collect();
        assert_eq!(told, [(Some(Name::from("web")), 2), (None, 1)]);
        assert_eq!((report.roots.len(), report.roots[0].ns_pid), (1, 7));
    }

    #[test]
    fn what_is_traced_no_longer_keeps_its_figures_and_has_not_ended() {
        let report = sample::containers();
        let row = report.tables.iter().find(|row| row.high_water == Some(49)).unwrap();
        assert_eq!((row.state, row.live, row.end_ns.is_some()), (TableState::Removed, Some(49), true));
        assert!(report.orphans.is_empty() && report.coverage.iter().all(|note| note.code != "end_unseen"));
    }

    #[test]
    fn a_target_caught_at_its_exec_is_no_run_command_and_its_image_is_whole() {
        let caught = Process { caught: true, target: true, group: Group::default(), ..process(7, 1, "server") };
        let mut event = exec(5 * MS, &caught, "/bin/server", 3, head(1, 3), None);
        event.before = None;
        let end = crate::model::testing::exit(9 * MS, &caught, 0, {
            let mut last = head(1, 3).crest(&crate::model::testing::mark(7 * MS, 30)).unused();
            (last.installs, last.closes) = (27, 27);
            last
        });
        let events: [Event; 2] = [exec_event(event), end];
        let report = sample::model(&events).finish(sample::end(20 * MS));
        let exec = &report.execs[0];
        assert_eq!((exec.seq, exec.inherited, exec.image.high_water), (1, 3, Some(30)));
        assert_eq!((exec.image.installs, exec.image.closes, exec.image.ended_by), (Some(27), Some(27), EndedBy::Exit));
        assert!(report.coverage.is_empty(), "{:?}", report.coverage);
        assert_eq!(report.roots.len(), 1);
    }
}
