//! The law of growth: high-water marks over a number that the user varies.
//!
//! A straight line by least squares. Its slope is descriptors per unit of the varied number; the 95 % interval is Student's t
//! with two degrees of freedom less than there are points, so it needs three points. Points at which descriptors were refused
//! say nothing about the line, only that the limit was met, and are left out of it.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Confidence of the interval.
pub const CONFIDENCE: f64 = 0.95;

/// A mark that rises by less than this part of itself over the whole range is bounded, though noise hides its slope.
const BOUNDED_RISE: f64 = 0.1;

/// What one run came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The varied number.
    pub n: u64,
    /// Greatest number of live descriptors of any table in the tree; `null` if there was no report.
    pub high_water: Option<u32>,
    /// Name of the process that has that table.
    pub comm: Option<String>,
    /// Soft limit in force at that mark.
    pub soft_limit: Option<u32>,
    /// Calls that found the table full.
    pub refused: u64,
    /// How the command ended, in words.
    pub ended: String,
    /// Why it is not part of the fit; `null` if it is.
    pub left_out: Option<String>,
}

/// A straight line through the points that are part of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Points that it goes through.
    pub points: usize,
    /// Descriptors per unit.
    pub slope: f64,
    /// Lower end of the slope's interval; `null` with two points.
    pub slope_low: Option<f64>,
    /// Upper end.
    pub slope_high: Option<f64>,
    /// Descriptors at 0.
    pub intercept: f64,
    /// Greatest distance of a point from the line, descriptors.
    pub worst: f64,
}

/// How the high-water mark follows the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Law {
    /// It does not grow with it.
    Bounded,
    /// It does.
    Proportional,
    /// The points do not tell.
    Unclear,
}

/// What the points come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The line; `null` with fewer than two points.
    pub fit: Option<Fit>,
    /// What it means.
    pub law: Law,
    /// Least number at which the line is above the soft limit; `null` if it never is.
    pub limit_at: Option<u64>,
    /// That limit.
    pub soft_limit: Option<u32>,
    /// Least number tried at which descriptors were refused.
    pub refused_at: Option<u64>,
}

impl Fit {
    /// The line through `points`, if they have two different numbers at least.
    #[must_use]
    pub fn new(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        if points.len() < 2 || spread <= 0.0 {
            return None;
        }
        let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
        let intercept = y - slope * x;
        let distance = |point: &(f64, f64)| point.1 - intercept - slope * point.0;
        let squares: f64 = points.iter().map(|point| distance(point).powi(2)).sum();
        let freedom = count - 2.0;
        let half = StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| freedom >= 1.0).map(|student| {
            let quantile = student.inverse_cdf(0.5 + CONFIDENCE / 2.0);
            quantile * (squares / freedom / spread).sqrt()
        });
        Some(Self {
            points: points.len(),
            slope,
            slope_low: half.map(|half| slope - half),
            slope_high: half.map(|half| slope + half),
            intercept,
            worst: points.iter().map(|point| distance(point).abs()).fold(0.0, f64::max),
        })
    }

    /// Least whole number at which the line is above `limit`; None if it does not rise.
    #[must_use]
    pub fn crosses(&self, limit: u32) -> Option<u64> {
        if self.slope <= 0.0 {
            return None;
        }
        // What is a whole number up to rounding is one.
        let at = (f64::from(limit) - self.intercept) / self.slope;
        let at = if (at - at.round()).abs() < 1e-6 { at.round() } else { at };
        Some((at.floor() + 1.0).max(0.0) as u64)
    }

    /// Over a `range` of the varied number, with `mean` descriptors in the middle of it.
    fn law(&self, range: f64, mean: f64) -> Law {
        let rise = self.slope * range;
        // Less than one descriptor over the whole range can't be told from none.
        if rise >= 1.0 && self.slope_low.is_none_or(|low| low > 0.0) {
            return Law::Proportional;
        }
        match self.slope_high.unwrap_or(self.slope) * range {
            high if high < (mean * BOUNDED_RISE).max(1.0) => Law::Bounded,
            _ => Law::Unclear,
        }
    }
}

impl Growth {
    /// From the points of one variation.
    #[must_use]
    pub fn of(points: &[Point]) -> Self {
        let used = || points.iter().filter(|point| point.left_out.is_none());
        let pairs: Vec<_> = used().filter_map(|point| Some((point.n as f64, f64::from(point.high_water?)))).collect();
        let fit = Fit::new(&pairs);
        let range = pairs.iter().map(|pair| pair.0).fold(f64::MIN, f64::max)
            - pairs.iter().map(|pair| pair.0).fold(f64::MAX, f64::min);
        let mean = pairs.iter().map(|pair| pair.1).sum::<f64>() / pairs.len().max(1) as f64;
        let law = fit.map_or(Law::Unclear, |fit| fit.law(range, mean));
        let soft_limit = used().filter_map(|point| point.soft_limit).min();
        let limit_at = fit.filter(|_| law == Law::Proportional).zip(soft_limit);
        let refused_at = points.iter().filter(|point| point.refused > 0).map(|point| point.n).min();
        let limit_at = limit_at.and_then(|(fit, soft)| fit.crosses(soft));
        Self { fit, law, limit_at, soft_limit, refused_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(n: u64, high_water: u32) -> Point {
        let (comm, ended) = (Some("burst".to_owned()), "exit 0".to_owned());
        Point { n, high_water: Some(high_water), comm, soft_limit: Some(1024), refused: 0, ended, left_out: None }
    }

    #[test]
    fn one_descriptor_for_each_entry_is_proportional_and_the_limit_is_told_exactly() {
        let growth = Growth::of(&[128, 256, 512, 987].map(|n| point(n, n as u32 + 8)));
        let fit = growth.fit.unwrap();
        assert!((fit.slope - 1.0).abs() < 1e-9 && (fit.intercept - 8.0).abs() < 1e-6 && fit.worst < 1e-6);
        assert!((fit.slope_low.unwrap() - 1.0).abs() < 1e-6 && (fit.slope_high.unwrap() - 1.0).abs() < 1e-6);
        assert_eq!((growth.law, growth.limit_at), (Law::Proportional, Some(1017)));
    }

    #[test]
    fn a_constant_is_bounded_and_meets_no_limit() {
        let growth = Growth::of(&[128, 256, 512, 987].map(|n| point(n, 12)));
        assert_eq!((growth.law, growth.limit_at), (Law::Bounded, None));
        assert_eq!(growth.fit.unwrap().slope, 0.0);
    }

    #[test]
    fn a_point_at_which_descriptors_were_refused_is_not_part_of_the_line() {
        let mut points = [100, 200, 300].map(|n| point(n, n as u32 + 5)).to_vec();
        points.push(Point { refused: 3, left_out: Some("refused".to_owned()), ..point(2000, 1024) });
        let growth = Growth::of(&points);
        assert!((growth.fit.unwrap().slope - 1.0).abs() < 1e-9);
        assert_eq!((growth.fit.unwrap().points, growth.refused_at, growth.limit_at), (3, Some(2000), Some(1020)));
    }

    #[test]
    fn the_interval_is_students() {
        let fit = Fit::new(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 3.0)]).unwrap();
        // Mean 2.5 and 2.25; Sxy = 2.5, Sxx = 5, slope 0.5; residuals −0.5, 1, −0.5, 0: squares 1.5, error sqrt(0.75/5).
        assert!((fit.slope - 0.5).abs() < 1e-12);
        let half = 4.302_652_729_911_275 * (0.75_f64 / 5.0).sqrt();
        assert!((fit.slope_high.unwrap() - 0.5 - half).abs() < 1e-6, "{fit:?}");
    }

    #[test]
    fn noise_without_a_trend_is_not_called_growth_and_two_points_have_no_interval() {
        let growth = Growth::of(&[point(100, 50), point(200, 90), point(300, 40), point(400, 80)]);
        assert_eq!(growth.law, Law::Unclear);
        let growth = Growth::of(&[point(100, 50), point(200, 51), point(300, 50), point(400, 51), point(500, 50)]);
        assert_eq!(growth.law, Law::Bounded);
        let growth = Growth::of(&[point(100, 110), point(200, 210)]);
        assert_eq!((growth.law, growth.fit.unwrap().slope_low), (Law::Proportional, None));
        assert_eq!(Growth::of(&[point(100, 110), point(100, 111)]).fit, None);
    }
}
