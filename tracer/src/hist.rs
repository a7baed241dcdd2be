//! Distributions: the only use of HdrHistogram.
//!
//! Values are kept as counts per value while a trace runs, which stays small, and become an HdrHistogram (3 significant
//! digits, 1 to 2^20) when a report is made.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as HdrDeserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

/// Greatest value that a histogram tells apart; greater ones count as this one.
pub const HIGHEST: u64 = 1 << 20;
const DIGITS: u8 = 3;

/// How often each value came.
#[derive(Clone, Debug, Default)]
pub struct Values(BTreeMap<u32, u64>);

/// A distribution in five figures. A quantile is the least value that at least that share of the values does not exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// How many values.
    pub count: u64,
    /// Half of them are not above this.
    pub p50: u64,
    /// 90 of 100 are not above this.
    pub p90: u64,
    /// 99 of 100 are not above this.
    pub p99: u64,
    /// The greatest.
    pub max: u64,
}

impl Values {
    /// Takes one more value.
    pub fn add(&mut self, value: u32) {
        self.add_n(value, 1);
    }

    /// Takes a value that came so often, as [`counts`] tells it of another histogram: what is merged is as exact as its parts.
    pub fn add_n(&mut self, value: u32, times: u64) {
        let count = self.0.entry(value).or_insert(0);
        *count = count.saturating_add(times);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The figures. Values up to 2,047 are exact, greater ones within a thousandth; the greatest is exact.
    pub fn quantiles(&self) -> Quantiles {
        let max = self.0.keys().next_back().map_or(0, |max| u64::from(*max));
        let Some(histogram) = self.histogram() else {
            return Quantiles::default();
        };
        let at = |share| histogram.value_at_quantile(share).min(max);
        Quantiles { count: histogram.len(), p50: at(0.5), p90: at(0.9), p99: at(0.99), max }
    }

    /// The histogram in its V2 format, compressed, base64: what HdrHistogram's tools read (`HISTF…`).
    pub fn hdr(&self) -> String {
        let mut bytes = Vec::new();
        let written = self.histogram().is_some_and(|h| V2DeflateSerializer::new().serialize(&h, &mut bytes).is_ok());
        if written { STANDARD.encode(bytes) } else { String::new() }
    }

    fn histogram(&self) -> Option<Histogram<u64>> {
        // These bounds are valid ones, and values are clamped to them.
        let mut histogram = Histogram::new_with_bounds(1, HIGHEST, DIGITS).ok()?;
        for (value, count) in &self.0 {
            histogram.saturating_record_n(u64::from(*value).min(HIGHEST), *count);
        }
        Some(histogram)
    }
}

impl Quantiles {
    /// The figures of these values; `None` if there is none.
    pub fn of(values: impl IntoIterator<Item = u32>) -> Option<Quantiles> {
        let values: Values = values.into_iter().collect();
        (!values.is_empty()).then(|| values.quantiles())
    }
}

/// Values and how often each came, in their order, from the text of [`Values::hdr`]; none if it is not one.
pub fn counts(hdr: &str) -> Vec<(u64, u64)> {
    let Ok(bytes) = STANDARD.decode(hdr) else { return Vec::new() };
    let Ok(histogram) = HdrDeserializer::new().deserialize::<u64, _>(&mut bytes.as_slice()) else { return Vec::new() };
    // The bucket that holds small values is told by its upper end; none of the values is above the greatest.
    let max = histogram.max();
    let recorded = histogram.iter_recorded();
    recorded.map(|step| (step.value_iterated_to().min(max), step.count_since_last_iteration())).collect()
}

impl FromIterator<u32> for Values {
    fn from_iter<I: IntoIterator<Item = u32>>(values: I) -> Self {
        let mut all = Values::default();
        values.into_iter().for_each(|value| all.add(value));
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_values_are_exact() {
        let values: Values = (1..=100).collect();
        let expected = Quantiles { count: 100, p50: 50, p90: 90, p99: 99, max: 100 };
        assert_eq!(values.quantiles(), expected);
        assert_eq!(Values::default().quantiles(), Quantiles::default());
        assert_eq!([0].into_iter().collect::<Values>().quantiles().max, 0);
    }

    #[test]
    fn the_text_form_is_what_hdr_tools_read() {
        let values: Values = [1008, 1008, 1024].into_iter().collect();
        let text = values.hdr();
        assert!(text.starts_with("HISTF"), "{text}");
        let bytes = STANDARD.decode(text).unwrap();
        let back: Histogram<u64> = HdrDeserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!((back.len(), back.max(), back.value_at_quantile(0.5)), (3, 1024, 1008));
        assert_eq!(counts(&values.hdr()), [(1008, 2), (1024, 1)]);
        assert!(counts("HISTF").is_empty() && counts("…").is_empty());
        assert_eq!((back.low(), back.high(), back.sigfig()), (1, HIGHEST, DIGITS));
    }

    proptest! {
        #[test]
        fn quantiles_are_in_order_and_close(mut list in proptest::collection::vec(0..2_000_000u32, 1..200)) {
            let found = list.iter().copied().collect::<Values>().quantiles();
            list.sort_unstable();
            let max = u64::from(*list.last().unwrap());
            prop_assert_eq!(found.max, max);
            prop_assert!(found.p50 <= found.p90 && found.p90 <= found.p99 && found.p99 <= found.max);
            let exact = u64::from(list[list.len().div_ceil(2) - 1]).min(HIGHEST);
            prop_assert!(found.p50 >= exact && found.p50 - exact <= exact / 1000 + 1, "{} {exact}", found.p50);
        }
    }
}
