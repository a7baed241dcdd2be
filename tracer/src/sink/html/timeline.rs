//! Live against time: what a recording of every change knows, or what a report tells.

use std::collections::{BTreeMap, HashMap};

use crate::event::Slot;
use crate::model::Report;
use crate::model::report::ExecRecord;

/// What is known of `live` over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// One per table.
    pub tracks: Vec<Track>,
    /// Where the tracks of tables are whose slots have come.
    places: HashMap<u64, usize>,
}

/// What is known of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// `tables[].table`.
    pub table: u64,
    /// Every change is a point. Otherwise the points are the least numbers, and what was above them is in the peaks.
    pub exact: bool,
    /// Levels, in the order of time; each holds until the next.
    pub points: Vec<Point>,
    /// Marks above the level.
    pub peaks: Vec<Peak>,
}

/// So many were live from then on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Boot time.
    pub at_ns: u64,
    /// Descriptors.
    pub live: u32,
}

/// So many were live at that moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Boot time.
    pub at_ns: u64,
    /// Level that it rose from.
    pub floor: u32,
    /// Descriptors at the top.
    pub live: u32,
}

impl Timeline {
    /// The track of a table.
    pub fn track(&self, table: u64) -> Option<&Track> {
        self.tracks.iter().find(|track| track.table == table && !track.points.is_empty())
    }

    /// A descriptor came or went. Of a recording that has any of a table's it has all, but for those that were lost.
    pub fn slot(&mut self, slot: &Slot) {
        let table = slot.table.0;
        let at = *self.places.entry(table).or_insert_with(|| {
            self.tracks.push(Track { table, exact: true, ..Track::default() });
            self.tracks.len() - 1
        });
        if let Some(track) = self.tracks.get_mut(at) {
            track.points.push(Point { at_ns: slot.at_ns, live: slot.live });
        }
    }

    /// What a report tells of a table: the floor of each spawn window as the level, high-water marks and crests as peaks.
    pub fn from_report(report: &Report, table: u64) -> Track {
        let mut track = Track { table, ..Track::default() };
        let windows = report.execs.iter().filter(|record| record.spawn_window.table == Some(table));
        let mut levels: BTreeMap<u64, u32> = BTreeMap::new();
        for record in windows {
            track.window(record, &mut levels);
        }
        for crest in report.crests.iter().filter(|crest| crest.table == table) {
            levels.entry(crest.from_ns).or_insert(crest.floor);
            track.peaks.push(Peak { at_ns: crest.top_ns, floor: crest.floor, live: crest.high_water });
        }
        if let Some(row) = report.tables.iter().find(|row| row.table == table) {
            let settled = row.settled.or(row.live).or(row.high_water).unwrap_or(0);
            let first = levels.values().next().copied().unwrap_or(settled);
            levels.entry(row.first_ns).or_insert(first);
            let last = row.end_ns.unwrap_or(report.anchor.boot_ns.saturating_add(report.duration_ns));
            let end = if row.end_ns.is_some() { 0 } else { row.live.unwrap_or(settled) };
            levels.insert(last, end);
            if let (Some(at_ns), Some(live)) = (row.high_water_ns, row.high_water) {
                let below = levels.range(..=at_ns).next_back().map_or(0, |(_, level)| *level);
                track.peaks.push(Peak { at_ns, floor: below.min(live), live });
            }
        }
        track.points = levels.into_iter().map(|(at_ns, live)| Point { at_ns, live }).collect();
        track.peaks.sort_by_key(|peak| (peak.at_ns, peak.live));
        track.peaks.dedup();
        track
    }
}

impl Track {
    fn window(&mut self, record: &ExecRecord, levels: &mut BTreeMap<u64, u32>) {
        let window = &record.spawn_window;
        let (Some(start), Some(floor)) = (window.start_ns, window.floor) else { return };
        levels.insert(start, floor);
        if let (Some(at_ns), Some(live)) = (window.high_water_ns, window.high_water) {
            self.peaks.push(Peak { at_ns, floor, live });
        }
        // The next window's start says what follows; this stands where there is none.
        levels.entry(record.at_ns).or_insert(window.settled.unwrap_or(floor));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::sample;

    #[test]
    fn a_report_tells_levels_and_peaks_in_order() {
        let report = sample::landlock();
        let table = report.tables[0].table;
        let track = Timeline::from_report(&report, table);
        assert!(!track.exact && track.points.len() > 100);
        assert!(track.points.is_sorted_by_key(|point| point.at_ns));
        assert_eq!(track.peaks.iter().map(|peak| peak.live).max(), report.tables[0].high_water);
        assert!(track.peaks.iter().all(|peak| peak.floor <= peak.live));
        assert_eq!(Timeline::from_report(&report, 999_999), Track { table: 999_999, ..Track::default() });
    }
}
