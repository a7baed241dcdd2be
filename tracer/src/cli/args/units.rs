//! Sizes and times on the command line.

use std::time::Duration;

/// A size: bytes, or with K, M, G.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = number.parse().map_err(|_| format!("`{text}` is no size: use a number and K, M or G"))?;
    number.checked_mul(1 << shift).filter(|size| *size >= 1 << 16).ok_or_else(|| "at least 64K".to_owned())
}

/// A number and its unit: ms, s (or nothing), m, h.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is no unit: use ms, s, m or h")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is no duration: use a number and ms, s, m or h"))?;
    Duration::try_from_secs_f64(number * scale).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_bad_ones_say_so() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert!(duration("5 parsecs").unwrap_err().contains("parsecs"));
        assert!(duration("s").is_err() && duration("-1s").is_err() && duration("9e99h").is_err());
    }

    #[test]
    fn sizes_have_units_and_a_least() {
        assert_eq!((bytes("64K"), bytes("256M"), bytes("2g")), (Ok(1 << 16), Ok(1 << 28), Ok(1 << 31)));
        assert!(bytes("1K").is_err() && bytes("M").is_err() && bytes("99999999999G").is_err() && bytes("").is_err());
    }
}
