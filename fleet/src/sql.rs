//! Pieces of SQL that DataFusion, DuckDB and Spark all understand.

use fdtide::hist::HIGHEST;

/// Values below this one are told exactly by a histogram of the report: three significant digits.
const EXACT: u64 = 2048;

/// What a report's histogram tells of a value: the greatest value of its bucket. `value` is a column of whole numbers.
///
/// Buckets are one wide up to 2,047, two up to 4,095 and so on; values beyond the histogram's range count as the greatest
/// in it. It grows with the value, so the bucket of a quantile is the quantile of the buckets.
pub fn bucket(value: &str) -> String {
    let mut out = format!("case when {value} < {EXACT} then {value}");
    let (mut below, mut width) = (EXACT * 2, 2);
    while below <= HIGHEST {
        out.push_str(&format!(" when {value} < {below} then {value} | {}", width - 1));
        (below, width) = (below * 2, width * 2);
    }
    format!("{out} else {} end", HIGHEST | (width - 1))
}

/// The least value that at least so many of 100 do not exceed; of rows with `value` and `upto`, how many values of `total`
/// there are up to it. Whole numbers only, so nothing is rounded.
pub fn quantile(percent: u32) -> String {
    format!("min(case when upto * 100 >= total * {percent} then value end)")
}

/// A quantile as a report tells it.
pub fn reported(quantile: &str, max: &str) -> String {
    format!("least({}, {max})", bucket(quantile))
}

/// Columns with a prefix, separated by commas.
pub fn list(columns: &[String], prefix: &str) -> String {
    columns.iter().map(|column| format!("{prefix}{column}")).collect::<Vec<_>>().join(", ")
}

/// A column of names: not known is empty, so that it can be joined and grouped by.
pub fn named(columns: &[String]) -> String {
    columns.iter().map(|column| format!("coalesce({column}, '') as {column}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_the_histogram() {
        let text = bucket("v");
        assert!(
            text.starts_with("case when v < 2048 then v when v < 4096 then v | 1 when v < 8192 then v | 3"),
            "{text}"
        );
        assert!(text.ends_with("when v < 1048576 then v | 511 else 1049599 end"), "{text}");
    }
}
