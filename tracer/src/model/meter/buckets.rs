//! Distributions as metrics systems keep them: classic buckets with fixed bounds, and exponential ones.

use std::collections::BTreeMap;

/// Upper bounds of the classic buckets, descriptors; one more without a bound follows.
pub const BOUNDS: [u32; 14] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

/// Each exponential bucket is 2^(1/2^this) times as wide as the one before: 16 of them from one power of two to the next,
/// so that a quantile is off by less than 5 %.
pub const SCHEMA: u32 = 4;

/// How often values came, by bucket. Takes the same memory whatever comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// How many values.
    pub count: u64,
    /// What they add up to.
    pub sum: u64,
    /// Zeros among them.
    pub zeros: u64,
    classic: [u64; BOUNDS.len() + 1],
    exponential: BTreeMap<i32, u64>,
}

impl Distribution {
    /// Takes one more value.
    pub fn add(&mut self, value: u32) {
        self.count += 1;
        self.sum = self.sum.saturating_add(value.into());
        if let Some(bucket) = self.classic.get_mut(BOUNDS.partition_point(|bound| *bound < value)) {
            *bucket += 1;
        }
        match value {
            0 => self.zeros += 1,
            _ => *self.exponential.entry(index(value)).or_default() += 1,
        }
    }

    /// Takes the values of another one.
    pub fn merge(&mut self, other: &Distribution) {
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.zeros += other.zeros;
        self.classic.iter_mut().zip(other.classic).for_each(|(sum, count)| *sum += count);
        for (index, count) in &other.exponential {
            *self.exponential.entry(*index).or_default() += count;
        }
    }

    /// Upper bound and count of each classic bucket, not added up; `None` is the one without a bound.
    pub fn classic(&self) -> impl Iterator<Item = (Option<u32>, u64)> + '_ {
        BOUNDS.into_iter().map(Some).chain([None]).zip(self.classic)
    }

    /// Number and count of each exponential bucket that has values, in order: bucket `i` holds what is above
    /// `2^((i-1)/2^SCHEMA)` and not above `2^(i/2^SCHEMA)`.
    pub fn exponential(&self) -> impl Iterator<Item = (i32, u64)> + '_ {
        self.exponential.iter().map(|(index, count)| (*index, *count))
    }
}

/// The exponential bucket of a value that is not 0. Only powers of two lie on a bound, and their logarithms are exact.
fn index(value: u32) -> i32 {
    (f64::from(value).log2() * f64::from(1u32 << SCHEMA)).ceil() as i32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u32]) -> Distribution {
        let mut all = Distribution::default();
        values.iter().for_each(|value| all.add(*value));
        all
    }

    #[test]
    fn a_value_on_a_bound_is_not_above_it() {
        let all = of(&[0, 1, 8, 9, 1024, 1025, 70_000]);
        let classic: Vec<_> = all.classic().filter(|(_, count)| *count > 0).collect();
        assert_eq!(classic, [(Some(8), 3), (Some(16), 1), (Some(1024), 1), (Some(2048), 1), (None, 1)]);
        assert_eq!((all.count, all.sum, all.zeros), (7, 72_067, 1));
        assert_eq!((index(1), index(2), index(1024), index(1025)), (0, 16, 160, 161));
    }

    proptest! {
        #[test]
        fn every_value_lies_in_its_bucket(value in 1..=u32::MAX) {
            let bound = |index: i32| (f64::from(index) / 16.0).exp2();
            let index = index(value);
            prop_assert!(f64::from(value) <= bound(index) * (1.0 + 1e-12));
            prop_assert!(f64::from(value) > bound(index - 1) * (1.0 - 1e-12));
        }

        #[test]
        fn two_merged_are_one_of_all_values(
            a in proptest::collection::vec(0..100_000u32, 0..50),
            b in proptest::collection::vec(0..100_000u32, 0..50),
        ) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged.classic().map(|(_, count)| count).sum::<u64>(), (a.len() + b.len()) as u64);
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }
    }
}
