//! Whether a table's level grows from window to window.
//!
//! Growth must show in every window after warm-up, in the settled level and in one kind of descriptor, before that kind is
//! suspected of leaking, and it must still be there at the end. A burst that falls back, a step at the start, ups and downs,
//! or what is released late are not. Levels are added one by one; memory does not grow with their number.

use crate::event::{Kind, Kinds, Name};
use crate::model::report::{Growth, GrowthPer, KindTrend, SuspectKind};
use crate::model::trend::{self, Slope};

/// Windows needed to speak of growth at all.
const MIN_WINDOWS: u64 = 3;
/// Windows at the start that may grow without meaning anything: at least this many, or one in ten.
const MIN_WARM_UP: u64 = 3;
/// Windows after warm-up that must all have grown.
const MIN_GROWN: u64 = 5;
/// Points kept for the slope; of longer series every second, fourth, … one.
const POINTS: usize = 256;

/// Levels of one table, one per window.
#[derive(Clone, Debug)]
pub struct Series {
    per: GrowthPer,
    level: Level,
    kinds: Vec<(Kind, Level)>,
    points: Vec<(u64, u32, Kinds)>,
    step: u64,
    windows: u64,
    pid: u32,
    comm: Name,
    soft: Option<u32>,
}

/// One level, without its history.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    first: u32,
    last: u32,
    grew: u64,
    /// Last window that was not above the one before it.
    stall: u64,
}

impl Level {
    /// Takes the value of this window.
    fn push(&mut self, window: u64, value: u32) {
        if window == 0 {
            self.first = value;
        } else if value > self.last {
            self.grew += 1;
        } else {
            self.stall = window;
        }
        self.last = value;
    }

    /// Whether every window after warm-up was above the one before it.
    fn grows(&self, windows: u64) -> bool {
        let warm_up = MIN_WARM_UP.max(windows.div_ceil(10));
        windows > warm_up + MIN_GROWN && self.stall <= warm_up
    }
}

impl Series {
    /// No window so far.
    pub fn new(per: GrowthPer) -> Series {
        Series {
            per,
            level: Level::default(),
            kinds: Vec::new(),
            points: Vec::new(),
            step: 1,
            windows: 0,
            pid: 0,
            comm: Name::default(),
            soft: None,
        }
    }

    /// Takes a window: the level that it came to rest at, and what the table held at its end.
    pub fn push(&mut self, level: u32, kinds: &Kinds, soft: Option<u32>) {
        let window = self.windows;
        self.level.push(window, level);
        for (kind, series) in &mut self.kinds {
            series.push(window, kinds.get(*kind));
        }
        for (kind, count) in kinds.iter() {
            if !self.kinds.iter().any(|(known, _)| *known == kind) {
                // Before it came there was none, in every window.
                let mut series = Level { stall: window.saturating_sub(1), ..Level::default() };
                series.push(window, count);
                self.kinds.push((kind, series));
            }
        }
        if window.is_multiple_of(self.step) {
            self.points.push((window, level, kinds.clone()));
        }
        if self.points.len() > POINTS {
            self.step *= 2;
            let step = self.step;
            self.points.retain(|(window, ..)| window.is_multiple_of(step));
        }
        self.windows += 1;
        self.soft = soft.or(self.soft);
    }

    /// The process that spawned last.
    pub fn spawned(&mut self, pid: u32, comm: &Name) {
        (self.pid, self.comm) = (pid, comm.clone());
    }

    /// Mean growth per window, if there were windows enough.
    pub fn per_window(&self) -> Option<f64> {
        let Level { first, last, .. } = self.level;
        (self.windows >= MIN_WINDOWS).then(|| (f64::from(last) - f64::from(first)) / (self.windows - 1) as f64)
    }

    /// Kinds that grew in every window after warm-up, and are still there when the table holds this.
    pub fn growing(&self, now: &Kinds) -> Vec<Kind> {
        if !self.level.grows(self.windows) {
            return Vec::new();
        }
        let stays = |(kind, level): &&(Kind, Level)| level.grows(self.windows) && now.get(*kind) >= level.last;
        self.kinds.iter().filter(stays).map(|(kind, _)| *kind).collect()
    }

    /// Its row, if there were windows enough. `at_end` is what the table held at the last look.
    pub fn row(&self, table: u64, at_end: Option<&Kinds>) -> Option<Growth> {
        if self.windows < MIN_WINDOWS {
            return None;
        }
        let Level { first, last, grew, .. } = self.level;
        let per_exec = self.per_window()?;
        let levels: Vec<(u64, u32)> = self.points.iter().map(|(window, level, _)| (*window, *level)).collect();
        let slope = trend::slope(&levels)?;
        let (suspect, late) = self.grown(at_end);
        let room = self.soft.filter(|soft| *soft < u32::MAX).map(|soft| soft.saturating_sub(last));
        let left = room.filter(|_| !suspect.is_empty() && slope.slope > 0.0);
        Some(Growth {
            table,
            pid: self.pid,
            comm: self.comm.clone(),
            per: self.per,
            windows: self.windows,
            first,
            last,
            grew,
            per_exec,
            slope: slope.slope,
            slope_low: slope.low,
            slope_high: slope.high,
            kinds: self.trends(),
            suspect,
            late,
            soft_limit: self.soft,
            limit_in: left.map(|room| (f64::from(room) / slope.slope) as u64),
        })
    }

    /// Kinds that grew in every window: those that are still there, and those that have gone since.
    fn grown(&self, at_end: Option<&Kinds>) -> (Vec<SuspectKind>, Vec<SuspectKind>) {
        if !self.level.grows(self.windows) {
            return (Vec::new(), Vec::new());
        }
        let grown = self.kinds.iter().filter(|(_, series)| series.grows(self.windows));
        let (stays, gone): (Vec<_>, Vec<_>) =
            grown.partition(|(kind, series)| at_end.is_none_or(|kinds| kinds.get(*kind) >= series.last));
        let rows = |found: Vec<&(Kind, Level)>| {
            let growth = |series: &Level| series.last.saturating_sub(series.first);
            let row = |(kind, series): &(Kind, Level)| SuspectKind {
                kind: kind.name().into(),
                growth: growth(series),
                opened_by: Vec::new(),
            };
            let mut rows: Vec<SuspectKind> = found.into_iter().map(row).collect();
            rows.sort_by_key(|suspect| (std::cmp::Reverse(suspect.growth), suspect.kind.clone()));
            rows
        };
        (rows(stays), rows(gone))
    }

    /// Kinds that are not as many as at the start, those that changed most first.
    fn trends(&self) -> Vec<KindTrend> {
        let changed = self.kinds.iter().filter(|(_, series)| series.first != series.last);
        let trend = |(kind, series): &(Kind, Level)| {
            let points: Vec<(u64, u32)> =
                self.points.iter().map(|(window, _, kinds)| (*window, kinds.get(*kind))).collect();
            let Slope { slope, low, high } = trend::slope(&points)?;
            let Level { first, last, grew, .. } = *series;
            Some(KindTrend { kind: kind.name().into(), first, last, grew, slope, slope_low: low, slope_high: high })
        };
        let mut trends: Vec<KindTrend> = changed.filter_map(trend).collect();
        trends.sort_by_key(|trend| (std::cmp::Reverse(trend.last.abs_diff(trend.first)), trend.kind.clone()));
        trends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(levels: &[u32], at_end: u32) -> Growth {
        let kinds = |count: u32| [(Kind::Eventfd, count), (Kind::File, 3)].into_iter().collect::<Kinds>();
        let mut series = Series::new(GrowthPer::Exec);
        levels.iter().for_each(|level| series.push(*level + 3, &kinds(*level), Some(1024)));
        series.row(1, Some(&kinds(at_end))).unwrap()
    }

    fn suspected(levels: &[u32]) -> bool {
        !of(levels, 2000).suspect.is_empty()
    }

    #[test]
    fn growth_must_show_in_every_window_after_warm_up() {
        let steady: Vec<u32> = (10..30).collect();
        assert!(suspected(&steady));
        let mut stalled = steady.clone();
        stalled[15] = stalled[14];
        assert!(!suspected(&stalled));
        let mut warm_up = steady;
        warm_up[1] = 10;
        assert!(suspected(&warm_up), "the first windows do not count");
    }

    #[test]
    fn transients_and_a_step_at_the_start_are_no_growth() {
        // Case 25: one more, one less, from run to run; three more once, at the start.
        assert!(!suspected(&[5, 6, 5, 6, 5, 6, 5, 6, 5, 6, 5, 6]));
        assert!(!suspected(&[5, 8, 8, 8, 8, 8, 8, 8, 8, 8]));
        let step = of(&[5, 8, 8, 8, 8, 8, 8, 8, 8, 8], 8);
        assert_eq!((step.slope, step.slope_low, step.limit_in), (0.0, 0.0, None));
        assert!(!suspected(&[1, 2, 3, 4, 5]), "too few windows");
    }

    #[test]
    fn a_leak_has_its_kind_its_slope_and_its_end() {
        let leak = of(&(1..=200).collect::<Vec<_>>(), 200);
        assert_eq!((leak.first, leak.last, leak.grew), (4, 203, 199));
        assert_eq!((leak.slope, leak.slope_low, leak.slope_high), (1.0, 1.0, 1.0));
        assert_eq!((&*leak.suspect[0].kind, leak.suspect[0].growth), ("eventfd", 199));
        assert_eq!(leak.limit_in, Some(1024 - 203));
        assert_eq!((leak.kinds.len(), &*leak.kinds[0].kind, leak.kinds[0].slope), (1, "eventfd", 1.0));
    }

    #[test]
    fn what_is_released_late_is_told_as_that() {
        let late = of(&(1..=60).map(|n| 3 * n).collect::<Vec<_>>(), 0);
        assert!(late.suspect.is_empty());
        assert_eq!((&*late.late[0].kind, late.late[0].growth), ("eventfd", 177));
    }

    #[test]
    fn a_kind_that_comes_later_has_grown_only_since_then() {
        let mut series = Series::new(GrowthPer::Exec);
        for n in 0..40u32 {
            let late = n.saturating_sub(20);
            let kinds = [(Kind::Eventfd, n), (Kind::Pidfd, late)].into_iter().collect();
            series.push(n + late, &kinds, None);
        }
        let row = series.row(1, None).unwrap();
        assert_eq!(row.suspect.iter().map(|suspect| suspect.kind.clone()).collect::<Vec<_>>(), ["eventfd"]);
    }

    #[test]
    fn long_series_take_little_memory_and_keep_their_slope() {
        let mut series = Series::new(GrowthPer::Exec);
        for n in 0..100_000u32 {
            series.push(n / 2, &[(Kind::File, n / 2)].into_iter().collect(), None);
        }
        assert!(series.points.len() <= POINTS);
        let row = series.row(1, None).unwrap();
        assert!((row.slope - 0.5).abs() < 1e-3 && row.suspect.is_empty(), "{row:?}");
        assert_eq!((row.windows, row.grew), (100_000, 49_999));
    }
}
