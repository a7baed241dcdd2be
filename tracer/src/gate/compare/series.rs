//! Series of counts that depend on their neighbours: how far, and how different two of them are.

/// Random numbers that are the same in every run (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }
}

/// How many values in a row depend on each other: the integrated autocorrelation time of both series together, each around
/// its own mean, by Geyer's initial positive sequence. 1 for values that don't depend on each other, or don't vary.
pub fn dependence(series: [&[f64]; 2]) -> f64 {
    let centred: Vec<Vec<f64>> = series.iter().map(|values| centre(values)).collect();
    let covariance = |lag: usize| -> f64 {
        centred.iter().map(|x| x.iter().zip(x.iter().skip(lag)).map(|(a, b)| a * b).sum::<f64>()).sum()
    };
    let variance = covariance(0);
    if variance <= 0.0 {
        return 1.0;
    }
    let longest = series.iter().map(|values| values.len()).max().unwrap_or(0);
    let mut time = -1.0;
    for lag in (0..longest / 2).step_by(2) {
        let pair = (covariance(lag) + covariance(lag + 1)) / variance;
        if pair <= 0.0 {
            break;
        }
        time += 2.0 * pair;
    }
    time.max(1.0)
}

fn centre(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| value - mean).collect()
}

/// Runs of neighbours, as counts of pooled distinct values.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Per block: index of a distinct value, and how often it is in the block.
    blocks: Vec<Vec<(usize, f64)>>,
    /// Values in each block.
    sizes: Vec<f64>,
    /// Blocks of the first series; the others are the second's.
    first: usize,
    /// Distinct values.
    distinct: usize,
}

impl Blocks {
    /// Cuts two series into blocks of about `length`.
    pub fn new(series: [&[f64]; 2], length: usize) -> Blocks {
        let mut distinct: Vec<f64> = series.concat();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let mut made = Blocks { blocks: Vec::new(), sizes: Vec::new(), first: 0, distinct: distinct.len() };
        for (which, values) in series.iter().enumerate() {
            let count = (values.len() / length.max(1)).max(1);
            for block in 0..count {
                let (from, to) = (block * values.len() / count, (block + 1) * values.len() / count);
                made.push(values.get(from..to).unwrap_or_default(), &distinct);
            }
            if which == 0 {
                made.first = count;
            }
        }
        made
    }

    fn push(&mut self, values: &[f64], distinct: &[f64]) {
        let mut counts: Vec<(usize, f64)> = Vec::new();
        for value in values {
            let index = distinct.partition_point(|known| known < value);
            match counts.iter_mut().find(|(known, _)| *known == index) {
                Some((_, count)) => *count += 1.0,
                None => counts.push((index, 1.0)),
            }
        }
        self.blocks.push(counts);
        self.sizes.push(values.len() as f64);
    }

    /// Blocks of either series.
    pub fn counts(&self) -> [usize; 2] {
        [self.first, self.blocks.len() - self.first]
    }

    /// Greatest distance between the two distribution functions (Kolmogorov–Smirnov), as the series are.
    pub fn distance(&self) -> f64 {
        self.distance_of((0..self.first).collect::<Vec<_>>().as_slice(), &self.total())
    }

    /// How many values there are of each, in all.
    fn total(&self) -> Vec<f64> {
        self.tally(0..self.blocks.len())
    }

    fn tally(&self, blocks: impl Iterator<Item = usize>) -> Vec<f64> {
        let mut counts = vec![0.0; self.distinct];
        for (index, count) in blocks.filter_map(|block| self.blocks.get(block)).flatten() {
            if let Some(sum) = counts.get_mut(*index) {
                *sum += count;
            }
        }
        counts
    }

    fn distance_of(&self, chosen: &[usize], total: &[f64]) -> f64 {
        let counts = self.tally(chosen.iter().copied());
        let size: f64 = chosen.iter().filter_map(|block| self.sizes.get(*block)).sum();
        let rest = self.sizes.iter().sum::<f64>() - size;
        let (mut one, mut other, mut most) = (0.0, 0.0, 0.0_f64);
        for (count, all) in counts.iter().zip(total) {
            one += count;
            other += all - count;
            most = most.max((one / size - other / rest).abs());
        }
        most
    }

    /// Chance of a distance at least this great if the blocks are dealt out at random. By `most` deals, or fewer once
    /// enough of them were as great to know the chance (Besag and Clifford); never below 1 / (`most` + 1), and valid as a
    /// p-value for any ties.
    pub fn chance(&self, most: usize, rng: &mut Rng) -> f64 {
        const ENOUGH: usize = 20;
        let total = self.total();
        // A last bit of difference is none.
        let seen = self.distance() - 1e-12;
        if seen <= 0.0 {
            return 1.0;
        }
        let mut deck: Vec<usize> = (0..self.blocks.len()).collect();
        let mut as_great = 0;
        for deal in 1..=most {
            for place in 0..self.first {
                let other = place + rng.below(deck.len() - place);
                deck.swap(place, other);
            }
            let chosen = deck.get(..self.first).unwrap_or_default();
            as_great += usize::from(self.distance_of(chosen, &total) >= seen);
            if as_great == ENOUGH {
                return as_great as f64 / deal as f64;
            }
        }
        (as_great + 1) as f64 / (most + 1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependence_is_one_for_noise_and_more_for_what_lingers() {
        let mut rng = Rng(1);
        let noise: Vec<f64> = (0..2000).map(|_| rng.below(100) as f64).collect();
        assert!((0.9..1.3).contains(&dependence([&noise, &noise])), "{}", dependence([&noise, &noise]));
        let held: Vec<f64> = noise.iter().flat_map(|value| [*value; 10]).collect();
        let found = dependence([&held, &held]);
        assert!((7.0..14.0).contains(&found), "{found}");
        assert_eq!(dependence([&[5.0; 9], &[7.0; 9]]), 1.0);
    }

    #[test]
    fn the_distance_is_that_of_kolmogorov_and_smirnov_with_ties() {
        let distance = |a: &[f64], b: &[f64]| Blocks::new([a, b], 1).distance();
        assert_eq!(distance(&[1.0, 1.0, 2.0], &[1.0, 1.0, 2.0]), 0.0);
        assert_eq!(distance(&[1.0, 1.0], &[2.0, 3.0, 3.0]), 1.0);
        assert!((distance(&[1.0, 2.0, 3.0, 4.0], &[3.0, 4.0, 5.0, 6.0]) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_chance_of_few_blocks_is_the_exact_one() {
        let mut rng = Rng(7);
        // 3 against 3, apart: 2 of 20 deals are as far apart.
        let blocks = Blocks::new([&[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0]], 1);
        let chance = blocks.chance(20_000, &mut rng);
        assert!((0.07..0.14).contains(&chance), "{chance}");
        assert_eq!(Blocks::new([&[1.0, 1.0], &[1.0, 1.0]], 1).chance(999, &mut rng), 1.0);
        assert_eq!(Blocks::new([&[1.0; 10], &[2.0; 10]], 10).counts(), [1, 1]);
    }
}
