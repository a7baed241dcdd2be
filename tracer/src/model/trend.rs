//! How fast a level rises, and how sure that is: Theil and Sen's slope with Sen's interval.
//!
//! The slope is the median of the slopes of all pairs of points, so single bursts, a step at the start or a drop at the end
//! do not move it as they move a least-squares line. Its interval comes from the variance of Kendall's S, corrected for
//! ties, and supposes nothing about how the levels scatter but that they do so independently (P. K. Sen, "Estimates of the
//! regression coefficient based on Kendall's tau", 1968).

use std::collections::BTreeMap;

use serde::Serialize;

/// Two-sided 95 % of the normal distribution.
const Z: f64 = 1.96;

/// A slope and its interval, descriptors per step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slope {
    /// The median slope.
    pub slope: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The slope through points (step, level), steps rising; `None` for fewer than three. Takes time and memory with the square
/// of their number.
pub fn slope(points: &[(u64, u32)]) -> Option<Slope> {
    if points.len() < 3 {
        return None;
    }
    let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
    for (index, (step, level)) in points.iter().enumerate() {
        for (later, high) in points.iter().skip(index + 1) {
            let steps = later.saturating_sub(*step).max(1) as f64;
            slopes.push((f64::from(*high) - f64::from(*level)) / steps);
        }
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let half_width = Z * kendall_variance(points).sqrt();
    let pairs = slopes.len() as f64;
    let at = |place: f64| {
        let place = (place.max(0.0) as usize).min(slopes.len() - 1);
        slopes.get(place).copied().unwrap_or(0.0)
    };
    let middle = (at((pairs - 1.0) / 2.0) + at(pairs / 2.0)) / 2.0;
    // Order statistics, counted from 0.
    Some(Slope { slope: middle, low: at((pairs - half_width) / 2.0 - 1.0), high: at((pairs + half_width) / 2.0) })
}

/// Variance of Kendall's S for these levels without a trend.
fn kendall_variance(points: &[(u64, u32)]) -> f64 {
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut same: BTreeMap<u32, u32> = BTreeMap::new();
    for (_, level) in points {
        *same.entry(*level).or_default() += 1;
    }
    let ties: f64 = same.values().map(|count| term(f64::from(*count))).sum();
    (term(points.len() as f64) - ties) / 18.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(levels: &[u32]) -> Slope {
        slope(&(0..).zip(levels.iter().copied()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_straight_line_has_its_slope_and_no_doubt() {
        assert_eq!(of(&[5, 7, 9, 11, 13, 15]), Slope { slope: 2.0, low: 2.0, high: 2.0 });
        assert_eq!(of(&[5; 40]), Slope { slope: 0.0, low: 0.0, high: 0.0 });
        assert!(slope(&[(0, 1), (1, 2)]).is_none());
    }

    #[test]
    fn bursts_and_steps_do_not_move_it() {
        let mut flat = [16; 100];
        (flat[10], flat[50], flat[51]) = (1000, 900, 950);
        assert_eq!(of(&flat).slope, 0.0);
        let mut step = [19; 100];
        step[..4].fill(16);
        assert_eq!((of(&step).slope, of(&step).low), (0.0, 0.0));
    }

    #[test]
    fn what_may_be_chance_has_zero_in_its_interval() {
        // Up and down around one level.
        let noise: Vec<u32> = (0..60u32).map(|n| 20 + (n * 7919 % 11)).collect();
        let found = of(&noise);
        assert!(found.low <= 0.0 && found.high >= 0.0, "{found:?}");
        // One descriptor in every third step, and the same noise of less than that.
        let slow: Vec<u32> = (0..60u32).map(|n| 20 + n / 3 + (n * 7919 % 3)).collect();
        let found = of(&slow);
        assert!(found.low > 0.25 && found.high < 0.42 && found.low <= found.slope, "{found:?}");
    }

    #[test]
    fn gaps_between_steps_count() {
        let found = slope(&[(0, 10), (4, 14), (8, 18), (16, 26)]).unwrap();
        assert_eq!(found.slope, 1.0);
    }
}
