//! The test: blocks of execs dealt out at random, Kolmogorov–Smirnov distance, Holm's correction over all rows.
//!
//! Execs of one process depend on their neighbours, so not execs but blocks of them are dealt: four times as long as the
//! dependence lasts. Where that leaves fewer than eight blocks on a side, blocks are cut to eight, and as shorter blocks alone
//! would find differences too easily, the series must also lie far apart. How long dependence lasts is an estimate, so the test
//! is held to a quarter of the stated rate; the tests measure the rate that comes of it.
//!
//! Where execs are concurrent, marks depend on how the machine ran them, which changes from run to run and which two runs
//! can't tell from a change of the program: a busy machine turns what is rare into what is usual. There half of one report
//! must lie above all of the other, by more than two.

use serde::Serialize;

use super::series::{Blocks, Rng, dependence};
use super::{Change, Options, Row};

/// Blocks on a side below which the length of blocks is cut.
const BLOCKS: usize = 8;
/// Blocks per length of dependence.
const LENGTHS: f64 = 4.0;
/// Dependence up to this is none.
const NONE: f64 = 1.05;
/// Deals at least and at most.
const DEALS: (usize, usize) = (9_999, 199_999);
/// What the stated rate is multiplied with.
const MARGIN: f64 = 0.25;
/// Distance from which on half of a distribution has moved.
const HALF: f64 = 0.5;
/// Descriptors that the order of concurrent execs may add or take.
const ORDER: f64 = 2.0;
/// How many times as far as the narrower series is wide the medians of series must be apart, if blocks are short.
const APART: f64 = 3.0;
/// Any number; the same input gives the same output.
const SEED: u64 = 0x7469_6465;

/// What the test says about one row.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Greatest distance between the two distribution functions, 0 to 1.
    pub distance: f64,
    /// Chance of such a distance if nothing has changed.
    pub p: f64,
    /// The same, corrected for the number of rows (Holm).
    pub p_adjusted: f64,
    /// Execs in a block.
    pub block: usize,
    /// Blocks of the base and of the new report.
    pub blocks: [usize; 2],
    /// Execs that depend on each other, in a row.
    pub dependence: f64,
    /// Blocks are shorter than the dependence calls for: only series that lie far apart count as different.
    pub short_blocks: bool,
    #[serde(skip)]
    series: [Vec<f64>; 2],
}

impl Outcome {
    /// For the values of both sides in the order of time.
    pub(super) fn untested(base: Vec<f64>, new: Vec<f64>) -> Outcome {
        Outcome {
            distance: 0.0,
            p: 1.0,
            p_adjusted: 1.0,
            block: 1,
            blocks: [base.len(), new.len()],
            dependence: 1.0,
            short_blocks: false,
            series: [base, new],
        }
    }

    fn run(&mut self, deals: usize, rng: &mut Rng) {
        let [base, new] = [self.series[0].as_slice(), self.series[1].as_slice()];
        self.dependence = dependence([base, new]);
        let wanted = if self.dependence <= NONE { 1 } else { (self.dependence * LENGTHS).ceil() as usize };
        let longest = (base.len().min(new.len()) / BLOCKS).max(1);
        self.short_blocks = wanted > longest;
        self.block = wanted.min(longest);
        let blocks = Blocks::new([base, new], self.block);
        self.blocks = blocks.counts();
        self.distance = blocks.distance();
        self.p = blocks.chance(deals, rng);
    }

    /// Whether the series lie farther from each other than either is wide; or, with most of them, by far than one is.
    fn far_apart(&self, median: f64) -> bool {
        let range = |values: &[f64]| {
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
        };
        let [(a_low, a_high), (b_low, b_high)] = [range(&self.series[0]), range(&self.series[1])];
        let (a, b) = (a_high - a_low, b_high - b_low);
        (a_low - b_high).max(b_low - a_high) > a.max(b) || self.distance >= HALF && median.abs() > APART * a.min(b)
    }

    /// The least p that these blocks can give, whatever is in them.
    fn least(&self, deals: usize) -> f64 {
        let [few, many] = [self.blocks[0].min(self.blocks[1]), self.blocks[0] + self.blocks[1]];
        let ways = (0..few).fold(1.0, |ways: f64, i| ways * (many - i) as f64 / (i + 1) as f64);
        (2.0 / ways).max(1.0 / (deals + 1) as f64)
    }
}

/// Tests every row, and says what became of it.
pub(super) fn run(rows: &mut [Row], options: &Options) {
    let count = rows.len();
    let rate = options.error_rate * MARGIN;
    let enough = (20.0 * count as f64 / rate) as usize;
    let deals = enough.clamp(DEALS.0, DEALS.1);
    let mut rng = Rng(SEED);
    rows.iter_mut().for_each(|row| row.test.run(deals, &mut rng));
    adjust(rows);
    for row in rows {
        let test = &row.test;
        let change = match direction(row, options) {
            // What the order of concurrent execs may do is no change of the program.
            _ if row.concurrent && !beyond(row) => Change::None,
            change => change,
        };
        let apart = !test.short_blocks || test.far_apart(row.difference.p50);
        row.change = match change {
            Change::None => Change::None,
            change if test.p_adjusted <= rate && apart => change,
            // Significant only because blocks are short, or out of reach for any values of so few blocks.
            _ if test.p_adjusted <= rate || test.least(deals) > rate / count as f64 && test.distance >= HALF => {
                Change::Untold
            }
            _ => Change::None,
        };
    }
}

/// Holm: the smallest p times the number of rows, the next times one less, and none smaller than the one before.
fn adjust(rows: &mut [Row]) {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let p = |rows: &[Row], at: usize| rows.get(at).map_or(1.0, |row| row.test.p);
    order.sort_by(|a, b| p(rows, *a).total_cmp(&p(rows, *b)));
    let mut least = 0.0_f64;
    for (rank, at) in order.iter().enumerate() {
        least = least.max((p(rows, *at) * (rows.len() - rank) as f64).min(1.0));
        if let Some(row) = rows.get_mut(*at) {
            row.test.p_adjusted = least;
        }
    }
}

/// Which way the figures went; nowhere if all differences are tolerated.
fn direction(row: &Row, options: &Options) -> Change {
    let moved: Vec<f64> = row
        .base
        .list()
        .into_iter()
        .zip(row.difference.list())
        .filter(|((_, base), (_, by))| matters(*base, *by, options))
        .map(|(_, (_, by))| by)
        .collect();
    match (moved.iter().any(|by| *by > 0.0), moved.iter().any(|by| *by < 0.0)) {
        (true, true) => Change::Mixed,
        (true, false) => Change::Higher,
        (false, true) => Change::Lower,
        // The figures are the same, what lies between them is not.
        (false, false) if !matters(row.base.mean, row.difference.mean, options) => Change::None,
        (false, false) if row.difference.mean > 0.0 => Change::Higher,
        (false, false) => Change::Lower,
    }
}

/// Whether half of one report lies above all of the other, by more than what the order of execs may do.
fn beyond(row: &Row) -> bool {
    let (base, new) = (&row.base, &row.new);
    new.p50 > base.max + ORDER || base.p50 > new.max + ORDER
}

fn matters(base: f64, difference: f64, options: &Options) -> bool {
    let tolerance = options.tolerance;
    let most = if tolerance.percent { base.abs() * tolerance.number / 100.0 } else { tolerance.number };
    difference.abs() > most
}
