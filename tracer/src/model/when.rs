//! Wall-clock times as text.

const DAY: u64 = 86_400;

/// Nanoseconds since 1970-01-01 UTC as RFC 3339 with milliseconds: `2026-08-01T12:00:00.123Z`.
pub fn rfc3339(unix_ns: u64) -> String {
    format!("{}.{:03}Z", to_seconds(unix_ns), unix_ns / 1_000_000 % 1000)
}

/// As [`rfc3339`], with nanoseconds.
pub fn rfc3339_ns(unix_ns: u64) -> String {
    format!("{}.{:09}Z", to_seconds(unix_ns), unix_ns % 1_000_000_000)
}

fn to_seconds(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (year, month, day) = date(seconds / DAY);
    let of_day = seconds % DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// Year, month and day of a number of days since 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    loop {
        let length = 365 + u64::from(leap(year));
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_written_as_everyone_does() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_399_999_000_000), "2000-02-28T23:59:59.999Z");
        assert_eq!(rfc3339(951_782_400_000_000_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(rfc3339(1_785_585_600_123_456_789), "2026-08-01T12:00:00.123Z");
        assert_eq!(rfc3339_ns(1_785_585_600_003_456_789), "2026-08-01T12:00:00.003456789Z");
        assert_eq!(rfc3339(u64::MAX), "2554-07-21T23:34:33.709Z");
    }
}
