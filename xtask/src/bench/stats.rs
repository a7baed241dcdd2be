//! Few numbers for many.

use serde::Serialize;

/// How values lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    pub min: f64,
    pub low: f64,
    pub median: f64,
    pub high: f64,
    pub max: f64,
}

impl Spread {
    /// Least, quartiles, greatest. None of no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (values.len() - 1) as f64;
            let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        (!values.is_empty()).then(|| Self {
            min: at(0.0),
            low: at(0.25),
            median: at(0.5),
            high: at(0.75),
            max: at(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_the_values_around_them() {
        let spread = Spread::of([5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(spread, Some(Spread { min: 1.0, low: 2.0, median: 3.0, high: 4.0, max: 5.0 }));
        assert_eq!(Spread::of([1.0, 2.0]).map(|spread| (spread.low, spread.median)), Some((1.25, 1.5)));
        assert_eq!(Spread::of([7.0]).map(|spread| (spread.low, spread.high)), Some((7.0, 7.0)));
        assert_eq!(Spread::of([]), None);
    }
}
