//! High-water per exec: how often each mark was reached.

use crate::hist;
use crate::model::Report;
use crate::model::report::HistogramRow;
use crate::sink::text::words;

/// Bars at most.
const BARS: u64 = 32;
/// Distributions shown.
const SHOWN: usize = 6;

/// One distribution.
#[derive(Debug)]
pub struct Distribution {
    /// Spawner and program.
    pub name: String,
    /// Its quantiles, in words.
    pub says: String,
    /// Bars, lowest marks first.
    pub bars: Vec<Bar>,
    /// Least and greatest mark.
    pub ends: (u64, u64),
}

/// One bar.
#[derive(Debug, PartialEq, Eq)]
pub struct Bar {
    /// Marks that it stands for.
    pub range: String,
    /// Execs.
    pub count: u64,
    /// Height in per cent of the highest.
    pub height: u64,
}

/// The distributions with the highest marks.
pub fn all(report: &Report) -> Vec<Distribution> {
    let mut rows: Vec<&HistogramRow> = report.histograms.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.window.max, row.window.count)));
    rows.into_iter().take(SHOWN).filter_map(one).collect()
}

fn one(row: &HistogramRow) -> Option<Distribution> {
    let values = hist::counts(&row.hdr);
    let (first, last) = (values.first()?.0, values.last()?.0);
    let step = (last - first + 1).div_ceil(BARS).max(1);
    let mut counts = vec![0; usize::try_from((last - first) / step + 1).ok()?];
    for (value, count) in values {
        let at = usize::try_from((value - first) / step).ok();
        if let Some(bar) = at.and_then(|at| counts.get_mut(at)) {
            *bar += count;
        }
    }
    let most = counts.iter().max().copied().unwrap_or(0).max(1);
    let bar = |(at, count): (usize, &u64)| {
        let from = first + at as u64 * step;
        let to = (from + step - 1).min(last);
        let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
        Bar { range, count: *count, height: (count * 100).div_ceil(most) }
    };
    Some(Distribution {
        name: format!("{} → {}", row.spawner, row.program),
        says: format!("{}: {}", words::count(row.window.count, "exec"), words::quantiles(&row.window)),
        bars: counts.iter().enumerate().map(bar).collect(),
        ends: (first, last),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::sample;

    #[test]
    fn bars_hold_every_exec() {
        for report in sample::all() {
            for (found, row) in all(&report).iter().zip(&report.histograms) {
                assert!(found.bars.len() <= BARS as usize + 1);
                assert!(
                    report.histograms.len() > 1
                        || found.bars.iter().map(|bar| bar.count).sum::<u64>() == row.window.count
                );
                assert!(found.bars.iter().any(|bar| bar.height == 100));
            }
        }
    }
}
