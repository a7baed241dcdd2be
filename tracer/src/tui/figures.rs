//! Figures in the little room of a column.

/// At most five characters: `987`, `65536`, `1.0M`, `∞` for a limit without end.
pub fn compact(value: u32) -> String {
    let value = f64::from(value);
    if value >= f64::from(u32::MAX) {
        "∞".to_owned()
    } else if value >= 999_500_000.0 {
        format!("{:.1}G", value / 1e9)
    } else if value >= 99_950_000.0 {
        format!("{:.0}M", value / 1e6)
    } else if value >= 999_500.0 {
        format!("{:.1}M", value / 1e6)
    } else if value >= 100_000.0 {
        format!("{:.0}k", value / 1e3)
    } else {
        format!("{value:.0}")
    }
}

/// What is live, what has been live at most, and what the limit leaves: `██▒▒░░`. What is there at all shows.
pub fn bar(live: u32, high: u32, limit: u32, width: usize) -> String {
    let cells = |value: u32| {
        let value = u64::from(value.min(limit));
        let filled = (value * width as u64).div_ceil(u64::from(limit.max(1)));
        usize::try_from(filled).unwrap_or(width).min(width)
    };
    let (live, high) = (cells(live), cells(high.max(live)));
    let cell = |at: usize| match at {
        at if at < live => '█',
        at if at < high => '▒',
        _ => '░',
    };
    (0..width).map(cell).collect()
}

/// `1:02:03`.
pub fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Whether less than a tenth of the limit is left.
pub fn is_close(high: u32, limit: u32) -> bool {
    limit < u32::MAX && u64::from(limit.saturating_sub(high)) * 10 < u64::from(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_fit_five_characters() {
        let cases = [(0, "0"), (65_536, "65536"), (524_288, "524k"), (999_499, "999k"), (999_500, "1.0M")];
        for (value, text) in cases.into_iter().chain([(1_048_576, "1.0M"), (1_073_741_816, "1.1G"), (u32::MAX, "∞")])
        {
            assert_eq!(compact(value), text);
        }
        for shift in 0..32 {
            assert!(compact(u32::MAX >> shift).chars().count() <= 5);
        }
    }

    #[test]
    fn a_bar_shows_what_is_there_and_what_is_left() {
        assert_eq!(bar(512, 768, 1024, 8), "████▒▒░░");
        assert_eq!(bar(1, 1, 1_000_000, 4), "█░░░");
        assert_eq!(bar(0, 1024, 1024, 4), "▒▒▒▒");
        assert_eq!(bar(0, 0, 0, 4), "░░░░");
        assert_eq!(bar(2000, 2000, 1024, 4), "████");
    }

    #[test]
    fn close_is_a_tenth() {
        assert!(is_close(995, 1024) && is_close(2000, 1024) && !is_close(900, 1024) && !is_close(9, u32::MAX));
    }
}
