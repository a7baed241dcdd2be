//! A table as a view or the report shows it.

use super::{Table, crest};
use crate::event::{Head, Kinds, Seen};
use crate::model::intern::Interner;
use crate::model::live::{LiveFailure, LiveTable};
use crate::model::report::{SettledFrom, TableRow, TableState};

impl Table {
    /// The later of the last record of it and this look.
    pub fn latest<'a>(&'a self, look: Option<&'a Seen>) -> Option<(&'a Head, u64)> {
        let record = self.head.as_deref().map(|head| (head, self.seen_ns));
        let look = look.map(|seen| (&seen.table, seen.at_ns));
        [record, look].into_iter().flatten().max_by_key(|(_, at_ns)| *at_ns)
    }

    /// It as it was last seen.
    pub fn live(&self, look: Option<&Seen>) -> LiveTable {
        let mut row = LiveTable {
            table: self.id.0,
            pids: self.pids.clone(),
            ns_pids: self.away.as_ref().map_or_else(|| self.pids.clone(), |away| away.ns_pids.clone()),
            container: self.away.as_ref().and_then(|away| away.container.clone()),
            comm: self.comm.clone(),
            first_ns: self.first_ns.max(self.origin.at_ns),
            seen_ns: None,
            changed_ns: 0,
            live: 0,
            kinds: Kinds::default(),
            high_water: 0,
            high_water_kinds: Kinds::default(),
            highest_number: None,
            soft_limit: 0,
            settled: None,
            installs: 0,
            closes: 0,
            crests: 0,
            failures: 0,
            shared: false,
        };
        let Some((head, seen_ns)) = self.latest(look) else { return row };
        let mark = crest(head, seen_ns, &self.origin, self.crest.as_deref());
        row.seen_ns = Some(seen_ns);
        row.changed_ns = head.last_change_ns;
        row.live = head.live;
        row.kinds = head.kinds.clone();
        row.high_water = mark.live;
        row.high_water_kinds = mark.kinds;
        row.highest_number = mark.highest;
        row.soft_limit = head.soft;
        row.settled = head.settled;
        row.installs = head.installs.saturating_sub(self.origin.installs);
        row.closes = head.closes.saturating_sub(self.origin.closes);
        row.crests = self.crest_count(head);
        row.failures = self.origin.tally.since(head).iter().map(|row| row.count).fold(0, u64::saturating_add);
        row.shared = head.shared;
        row
    }

    /// Its failures so far.
    pub fn live_failures(&self, look: Option<&Seen>) -> Vec<LiveFailure> {
        let rows = self.latest(look).map_or_else(Vec::new, |(head, _)| self.origin.tally.since(head));
        let pid = self.pids.first().copied().unwrap_or(0);
        rows.into_iter().map(|row| LiveFailure { table: self.id.0, pid, comm: self.comm.clone(), row }).collect()
    }

    /// Its row in the report.
    pub fn into_row(mut self, settle_ns: u64, kinds: &mut Interner<Kinds>) -> TableRow {
        let state = match (self.end, self.snapshot) {
            (Some(_), _) if self.removed => TableState::Removed,
            (Some(_), _) => TableState::Ended,
            (None, true) => TableState::Alive,
            (None, false) => TableState::Unseen,
        };
        let mut row = TableRow {
            table: self.id.0,
            ns_pids: self.away.as_ref().map_or_else(|| self.pids.clone(), |away| away.ns_pids.clone()),
            container: self.away.as_ref().and_then(|away| away.container.clone()),
            pids: std::mem::take(&mut self.pids),
            comm: self.comm.clone(),
            state,
            seeded: false,
            shared: false,
            first_ns: self.first_ns.max(self.origin.at_ns),
            end_ns: self.end,
            live: (state == TableState::Ended).then_some(0),
            last_kinds: None,
            high_water: None,
            high_water_ns: None,
            high_water_kinds: None,
            highest_number: None,
            settled: None,
            settled_from: None,
            soft_limit: None,
            soft_limit_last: None,
            headroom: None,
            installs: None,
            closes: None,
            bad_closes: None,
            crests: None,
            failures: Vec::new(),
        };
        let Some(head) = self.head.take() else {
            return row;
        };
        row.crests = Some(self.crest_count(&head));
        let mark = crest(&head, self.seen_ns, &self.origin, self.crest.as_deref());
        if matches!(state, TableState::Alive | TableState::Removed) {
            row.live = Some(head.live);
        }
        row.seeded = head.seeded && self.origin.at_ns == 0;
        row.shared = head.shared;
        row.last_kinds = Some(kinds.get(&head.kinds));
        row.high_water = Some(mark.live);
        row.high_water_ns = Some(mark.at_ns);
        row.high_water_kinds = Some(kinds.get(&mark.kinds));
        row.highest_number = mark.highest;
        row.soft_limit = Some(mark.soft);
        row.soft_limit_last = Some(head.soft);
        row.headroom = Some(mark.soft.saturating_sub(mark.live));
        row.installs = Some(head.installs.saturating_sub(self.origin.installs));
        row.closes = Some(head.closes.saturating_sub(self.origin.closes));
        row.bad_closes = Some(head.bad_closes.saturating_sub(self.origin.bad_closes).into());
        row.failures = self.origin.tally.since(&head);
        let still = self.seen_ns.saturating_sub(head.last_change_ns) >= settle_ns;
        let (settled, from) = match head.settled {
            _ if still => (head.live, SettledFrom::Still),
            Some(level) => (level, SettledFrom::Still),
            None => (head.live, SettledFrom::Last),
        };
        row.settled = Some(settled);
        row.settled_from = Some(from);
        row
    }
}
