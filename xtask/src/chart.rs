//! Two histograms side by side, in less than 80 columns.

/// One side: a title and its values.
pub struct Side<'a> {
    pub title: &'a str,
    pub values: &'a [u64],
}

const BAR: usize = 22;
const ROWS: u64 = 16;

/// Rows of equal width from 0 to `limit`, one bar per side; values at or above the limit stand in the last row.
pub fn side_by_side(limit: u64, left: &Side<'_>, right: &Side<'_>) -> String {
    let step = limit.div_ceil(ROWS).max(1);
    let (lefts, rights) = (count(left.values, step), count(right.values, step));
    let most = lefts.iter().chain(&rights).copied().max().unwrap_or(0);
    let mut out = format!("{:>13}  {:<30}{}\n", "descriptors", left.title, right.title);
    for (row, (left, right)) in lefts.iter().zip(&rights).enumerate() {
        let from = row as u64 * step;
        let range = format!("{from:>5} – {:>5}", from + step - 1);
        let line = format!("{range:>13}  {:<30}{}", bar(*left, most), bar(*right, most));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn count(values: &[u64], step: u64) -> Vec<usize> {
    let mut rows = vec![0; ROWS as usize];
    for value in values {
        rows[(value / step).min(ROWS - 1) as usize] += 1;
    }
    rows
}

/// A bar and its number; the smallest count still shows.
fn bar(count: usize, most: usize) -> String {
    if count == 0 {
        return "·".to_owned();
    }
    let length = (count * BAR / most).max(1);
    format!("{} {count}", "█".repeat(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_its_absence_stand_at_opposite_ends() {
        let (high, low) = ([995; 100], [9; 100]);
        let left = Side { title: "eager", values: &high };
        let right = Side { title: "lazy", values: &low };
        let chart = side_by_side(1024, &left, &right);
        let lines: Vec<_> = chart.lines().collect();
        assert_eq!(lines.len(), 17);
        assert!(lines[1].contains("0 –    63") && lines[1].ends_with("█ 100"), "{chart}");
        assert!(lines[16].contains("960 –  1023  █"), "{chart}");
        assert!(lines.iter().all(|line| line.chars().count() < 80), "{chart}");
    }

    #[test]
    fn one_among_many_still_shows() {
        assert_eq!(bar(1, 1000), "█ 1");
        assert_eq!(bar(0, 1000), "·");
    }
}
