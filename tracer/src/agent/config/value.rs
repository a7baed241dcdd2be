//! Values with a unit.

use std::time::Duration;

use serde::Deserialize;

/// A duration: a number and `ms`, `s`, `m`, `h` or `d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Time(pub Duration);

impl Time {
    /// So many seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Time {
        Time(Duration::from_secs(seconds))
    }

    /// In nanoseconds; a time beyond what fits is as good as for ever.
    #[must_use]
    pub fn as_ns(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Time, String> {
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let scale = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(format!("`{text}` is no time: use a number and ms, s, m, h or d, as in \"30m\"")),
        };
        let number: f64 =
            number.parse().map_err(|_| format!("`{text}` is no time: use a number and ms, s, m, h or d"))?;
        Duration::try_from_secs_f64(number * scale).map(Time).map_err(|error| error.to_string())
    }
}

/// A size in bytes: a number, or one and `K`, `M`, `G` or `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Size(pub u64);

impl Size {
    /// So many MiB.
    #[must_use]
    pub const fn mib(count: u64) -> Size {
        Size(count << 20)
    }
}

impl TryFrom<String> for Size {
    type Error = String;

    fn try_from(text: String) -> Result<Size, String> {
        let (number, shift) = match text.char_indices().next_back() {
            Some((at, 'K' | 'k')) => (&text[..at], 10),
            Some((at, 'M' | 'm')) => (&text[..at], 20),
            Some((at, 'G' | 'g')) => (&text[..at], 30),
            Some((at, 'T' | 't')) => (&text[..at], 40),
            _ => (text.as_str(), 0),
        };
        let number: u64 = number
            .parse()
            .map_err(|_| format!("`{text}` is no size: use a number and K, M, G or T, as in \"256M\""))?;
        number.checked_mul(1 << shift).map(Size).ok_or_else(|| format!("`{text}` is more than fits in 64 bits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_units_and_bad_ones_say_so() {
        let time = |text: &str| Time::try_from(text.to_owned());
        assert_eq!(time("250ms"), Ok(Time(Duration::from_millis(250))));
        assert_eq!((time("1.5h"), time("7d")), (Ok(Time::seconds(5400)), Ok(Time::seconds(604_800))));
        assert_eq!(time("30s").map(Time::as_ns), Ok(30_000_000_000));
        for bad in ["5", "", "s", "5 parsecs", "-1s", "1..2s", "9e99h"] {
            assert!(time(bad).is_err(), "{bad}");
        }
        let size = |text: &str| Size::try_from(text.to_owned());
        assert_eq!((size("64K"), size("1g"), size("17")), (Ok(Size(1 << 16)), Ok(Size(1 << 30)), Ok(Size(17))));
        assert!(size("99999999999T").unwrap_err().contains("64 bits"));
        assert!(size("").is_err() && size("M").is_err() && size("1MB").is_err() && size("é").is_err());
    }
}
