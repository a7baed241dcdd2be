//! How a figure is written for a person: decided by its unit, once for every output.

use serde_json::Value;

use crate::event::visible;

use super::{super::text::words, Field};

/// How figures of a unit are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A number as it is.
    Number,
    /// A number with a fraction and its sign.
    Rate,
    /// A moment, told as seconds since the start of the trace.
    Moment,
    /// A duration.
    Duration,
    /// A soft limit: none is `unlimited`.
    Limit,
    /// How many of each kind.
    Composition,
    /// Words.
    Text,
}

/// Moments and durations have one unit; these are durations.
const DURATIONS: &[&str] = &["duration_ns", "rise_ns", "fall_ns"];

impl Field {
    /// How its figures are written.
    pub fn format(&self) -> Format {
        match self.unit {
            _ if self.path.ends_with("{}") => Format::Composition,
            _ if self.path.contains("soft_limit") => Format::Limit,
            "ns" if DURATIONS.iter().any(|end| self.path.ends_with(end)) => Format::Duration,
            "ns" => Format::Moment,
            unit if unit.contains("per ") => Format::Rate,
            "text" | "name" | "kind" | "object" | "bool" | "rows" | "RFC 3339, UTC" | "base64" => Format::Text,
            _ => Format::Number,
        }
    }

    /// Whether it stands at the right of a column, and is sorted as a number.
    pub fn is_number(&self) -> bool {
        !matches!(self.format(), Format::Text | Format::Composition)
    }

    /// A value of the JSON report as a person reads it; `start_ns` is the start of the trace. Not known is `?`.
    pub fn show(&self, value: &Value, start_ns: u64) -> String {
        let number = value.as_u64();
        match (self.format(), value) {
            (_, Value::Null) => "?".to_owned(),
            (Format::Moment, _) => number.map_or("?".to_owned(), |ns| words::seconds(ns.saturating_sub(start_ns))),
            (Format::Duration, _) => number.map_or("?".to_owned(), words::span),
            (Format::Limit, _) => words::limit(number.and_then(|n| u32::try_from(n).ok()).unwrap_or(u32::MAX)),
            (Format::Rate, _) => value.as_f64().map_or("?".to_owned(), |rate| format!("{rate:+.2}")),
            (Format::Composition, Value::Object(kinds)) => composition(kinds),
            (_, Value::String(text)) => visible(text),
            (_, Value::Bool(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
            (_, Value::Array(list)) => {
                list.iter().map(|entry| self.show(entry, start_ns)).collect::<Vec<_>>().join(", ")
            }
            (_, Value::Object(object)) => {
                let parts = object.iter().map(|(key, value)| format!("{key} {}", self.show(value, start_ns)));
                parts.collect::<Vec<_>>().join(", ")
            }
            (_, Value::Number(number)) => number.to_string(),
        }
    }
}

/// Kinds, most first.
fn composition(kinds: &serde_json::Map<String, Value>) -> String {
    let mut pairs: Vec<(&String, u64)> = kinds.iter().map(|(kind, n)| (kind, n.as_u64().unwrap_or(0))).collect();
    pairs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let parts: Vec<String> = pairs.iter().map(|(kind, count)| format!("{count}\u{a0}{kind}")).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(" · ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sink::fields;

    #[test]
    fn figures_are_written_by_their_unit() {
        let shown = |path, value: Value| fields::of(path).map(|field| field.show(&value, 2_000_000_000)).unwrap();
        assert_eq!(shown("tables[].live", json!(987)), "987");
        assert_eq!(shown("tables[].live", json!(null)), "?");
        assert_eq!(shown("tables[].soft_limit", json!(u32::MAX)), "unlimited");
        assert_eq!(shown("tables[].high_water_ns", json!(4_118_000_000u64)), "2.118 s");
        assert_eq!(shown("crests[].rise_ns", json!(2_100_000)), "2.1 ms");
        assert_eq!(shown("growth[].per_exec", json!(1.0)), "+1.00");
        assert_eq!(
            shown("tables[].high_water_kinds{}", json!({"pipe": 2, "o_path": 989})),
            "989\u{a0}o_path · 2\u{a0}pipe"
        );
        assert_eq!(shown("tables[].pids[]", json!([4, 7])), "4, 7");
        assert_eq!(shown("tables[].comm", json!("a\u{1b}[2J\u{202e}")), "a\\x1b[2J\\xe2\\x80\\xae");
    }
}
