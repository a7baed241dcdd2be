//! Numbers, names and lines as a person reads them.

use crate::event::{Kinds, Name};
use crate::hist::Quantiles;
use crate::model::{Cause, FailureRow};

/// Columns of a line at most.
pub const WIDTH: usize = 79;
/// Column in which figures start.
const COLUMN: usize = 22;

/// What the report says, before it is broken into lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Room between what belongs together.
    Gap,
    /// A label and its figures; an empty label goes on with the one before.
    Labelled(String, String),
    /// Text behind a first part; later lines are indented by so many columns.
    Text(String, usize, String),
    /// A row of a table for a terminal, or what is said of it.
    Row(String),
}

/// Lines of text, none wider than [`WIDTH`] unless a single word is.
#[derive(Debug, Default)]
pub struct Lines(Vec<Entry>);

impl Lines {
    /// An empty line, unless there is one already.
    pub fn gap(&mut self) {
        if self.0.last().is_some_and(|entry| *entry != Entry::Gap) {
            self.0.push(Entry::Gap);
        }
    }

    /// A label and its figures.
    pub fn labelled(&mut self, label: &str, text: &str) {
        self.0.push(Entry::Labelled(label.to_owned(), text.to_owned()));
    }

    /// Text behind a first part, broken between words, later lines indented.
    pub fn wrapped(&mut self, first: &str, indent: usize, text: &str) {
        self.0.push(Entry::Text(first.to_owned(), indent, text.to_owned()));
    }

    /// One line as it is.
    pub fn push(&mut self, line: &str) {
        self.0.push(Entry::Row(line.to_owned()));
    }

    /// What was said.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The lines.
    pub fn into_vec(self) -> Vec<String> {
        let mut lines = Vec::new();
        for entry in self.0 {
            match entry {
                Entry::Gap => lines.push(String::new()),
                Entry::Labelled(label, text) => {
                    wrap(&format!("  {label:<width$}", width = COLUMN - 2), COLUMN, &text, &mut lines);
                }
                Entry::Text(first, indent, text) => wrap(&first, indent, &text, &mut lines),
                Entry::Row(line) => lines.push(line.trim_end().to_owned()),
            }
        }
        lines
    }
}

fn wrap(first: &str, indent: usize, text: &str, lines: &mut Vec<String>) {
    let mut line = first.to_owned();
    let mut fresh = true;
    for word in text.split(' ') {
        let space = usize::from(!fresh);
        if !fresh && width(&line) + space + width(word) > WIDTH {
            lines.push(line.trim_end().to_owned());
            line = " ".repeat(indent);
            fresh = true;
        }
        if !fresh {
            line.push(' ');
        }
        line.push_str(word);
        fresh = false;
    }
    lines.push(line.trim_end().to_owned());
}

/// Characters of a text.
pub fn width(text: &str) -> usize {
    text.chars().count()
}

/// `1 exec`, `2 execs`, `3 processes`.
pub fn count(n: u64, word: &str) -> String {
    match n {
        1 => format!("1 {word}"),
        n if word.ends_with('s') => format!("{n} {word}es"),
        n => format!("{n} {word}s"),
    }
}

/// `comm[pid]`.
pub fn process(comm: &Name, pid: u32) -> String {
    let comm = if comm.is_empty() { "?".to_owned() } else { comm.to_string().replace(' ', "\u{a0}") };
    format!("{comm}[{pid}]")
}

/// `989 o_path · 12 socket:unix · 7 more`: the `most` commonest kinds. The parts of one kind stay on one line.
pub fn composition(kinds: &Kinds, most: usize) -> String {
    let pairs = kinds.by_count();
    // Of one kind more its name is as short as `1 more`.
    let most = if pairs.len() == most + 1 { most + 1 } else { most };
    let mut parts: Vec<String> =
        pairs.iter().take(most).map(|(kind, count)| format!("{count}\u{a0}{}", kind.name())).collect();
    let rest: u64 = pairs.iter().skip(most).map(|(_, count)| u64::from(*count)).sum();
    if rest > 0 {
        parts.push(format!("{rest}\u{a0}more"));
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(" · ") }
}

/// `p50 1008  p90 1024  p99 1024  max 1024`, or the one value there is.
pub fn quantiles(q: &Quantiles) -> String {
    match q.count {
        1 => q.max.to_string(),
        _ => format!("p50 {}  p90 {}  p99 {}  max {}", q.p50, q.p90, q.p99, q.max),
    }
}

/// `of 1024, 16 left`.
pub fn of_limit(high: u64, soft: Option<u32>) -> String {
    match soft {
        None => String::new(),
        Some(u32::MAX) => " of unlimited".to_owned(),
        Some(soft) => format!(" of {soft}, {} left", u64::from(soft).saturating_sub(high)),
    }
}

/// A soft limit; the kernel program clips an infinite one.
pub fn limit(soft: u32) -> String {
    if soft == u32::MAX { "unlimited".to_owned() } else { soft.to_string() }
}

/// `EMFILE ×19 (pipe2 ×12, socketpair ×7)`, one part per error; `EMFILE ×3995 (openat ×3995), 61,000 per second` in a storm.
pub fn failures(rows: &[FailureRow]) -> String {
    let mut errors: Vec<(&str, u64, Vec<String>, f64)> = Vec::new();
    for row in rows {
        let hidden = if row.hidden { " hidden" } else { "" };
        let call = format!("{}{hidden} ×{}", row.syscall, row.count);
        let rate = row.per_second.unwrap_or(0.0);
        match errors.iter_mut().find(|(errno, ..)| *errno == row.errno) {
            Some((_, sum, calls, most)) => {
                *sum = sum.saturating_add(row.count);
                calls.push(call);
                *most = most.max(rate);
            }
            None => errors.push((&row.errno, row.count, vec![call], rate)),
        }
    }
    let parts = errors.iter().map(|(errno, sum, calls, most)| {
        // Slower than this it is no storm, and the rate says nothing.
        let rate = if *most >= 1.0 { format!(", {} per second", grouped(round(*most))) } else { String::new() };
        format!("{errno} ×{sum} ({}){rate}", calls.join(", "))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Two digits that matter.
fn round(rate: f64) -> u64 {
    let mut unit = 1.0;
    while rate / unit >= 100.0 {
        unit *= 10.0;
    }
    ((rate / unit).round() * unit) as u64
}

/// `19,900`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What a failure says about its cause; `None` where nothing is known.
pub fn cause(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::TableFull => Some("no free number"),
        Cause::AnotherQuota => Some("another quota or a supervisor, the table had room"),
        Cause::SystemWide => Some("the limit of the whole system"),
        Cause::BeyondLimit => Some("a number at or above the limit was asked for"),
        Cause::Unclear => None,
    }
}

/// `2.118 s`.
pub fn seconds(ns: u64) -> String {
    format!("{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1000)
}

/// `812 µs`, `5.1 ms`, `51 ms`, `2.1 s`.
pub fn span(ns: u64) -> String {
    match ns {
        ..1_000_000 => format!("{} µs", ns / 1000),
        1_000_000..10_000_000 => format!("{}.{} ms", ns / 1_000_000, ns / 100_000 % 10),
        10_000_000..1_000_000_000 => format!("{} ms", ns / 1_000_000),
        1_000_000_000..100_000_000_000 => format!("{}.{} s", ns / 1_000_000_000, ns / 100_000_000 % 10),
        _ => format!("{} s", ns / 1_000_000_000),
    }
}

/// A function as a person calls it: `prepare::hold_all` without type arguments, implementations and closures, from at most
/// three parts of its path.
pub fn function(symbol: &str) -> String {
    let mut depth = 0u32;
    let mut short = String::new();
    for c in symbol.replace("->", "").chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => short.push(c),
            _ => {}
        }
    }
    // `<Type as Trait>::method` is told by its type.
    let inner = symbol.strip_prefix('<').and_then(|rest| rest.split(" as ").next()).filter(|_| short.starts_with("::"));
    let head = inner.map(|inner| inner.split('<').next().unwrap_or(inner).trim_end_matches('>')).unwrap_or_default();
    let whole = format!("{head}{short}");
    let parts: Vec<&str> = whole.split("::").filter(|part| !part.is_empty() && !part.starts_with('{')).collect();
    let last = parts.get(parts.len().saturating_sub(3)..).unwrap_or_default();
    let name = if last.is_empty() { symbol.to_owned() } else { last.join("::") };
    plain(&name).replace(' ', "\u{a0}")
}

/// A name that came as text, made harmless for a terminal.
pub fn plain(text: &str) -> String {
    Name::from(text).to_string()
}

/// Cut to this many characters, with `…` where something is missing.
pub fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_short_names() {
        let pairs = [
            ("landlock_burst::prepare::eager", "landlock_burst::prepare::eager"),
            ("a::open::<impl a::ledger::Lane>::one::{{closure}}", "a::open::one"),
            ("<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend", "vec::Vec::extend"),
            ("catch_unwind<core::result::Result<(), E>, F>", "catch_unwind"),
            ("ngx_open_file", "ngx_open_file"),
            ("{{closure}}", "{{closure}}"),
            ("<>", "<>"),
        ];
        for (symbol, short) in pairs {
            assert_eq!(function(symbol), short);
        }
    }

    #[test]
    fn rates_and_counts_are_easy_to_read() {
        assert_eq!((grouped(7), grouped(1000), grouped(19_900_123)), ("7".into(), "1,000".into(), "19,900,123".into()));
        assert_eq!((round(79_880.4), round(99.6), round(3.2)), (80_000, 100, 3));
        assert_eq!((span(999), span(5_100_000), span(51_000_000)), ("0 µs".into(), "5.1 ms".into(), "51 ms".into()));
    }
}
