//! What the highest crest was made of.

use crate::event::Kinds;
use crate::model::Report;
use crate::sink::text::words;

/// A composition.
#[derive(Debug)]
pub struct Made {
    /// Where and when.
    pub says: String,
    /// Kinds, most first.
    pub kinds: Vec<Part>,
}

/// One kind's share.
#[derive(Debug)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// What it points to.
    pub help: &'static str,
    /// How many.
    pub count: u32,
    /// Width of its bar in per cent of the whole.
    pub share: f64,
}

/// Of the table with the highest mark.
pub fn highest(report: &Report) -> Option<Made> {
    let row = report.tables.iter().rev().max_by_key(|row| row.high_water)?;
    let (high, kinds) = (row.high_water?, row.high_water_kinds.as_ref()?);
    let when = row
        .high_water_ns
        .map_or(String::new(), |at| format!(" at {}", words::seconds(at.saturating_sub(report.anchor.boot_ns))));
    let process = words::process(&row.comm, row.pids.first().copied().unwrap_or(0));
    Some(Made { says: format!("{high} in {process}{when}"), kinds: parts(kinds) })
}

fn parts(kinds: &Kinds) -> Vec<Part> {
    let total = kinds.total().max(1) as f64;
    let part = |(kind, count): (crate::event::Kind, u32)| Part {
        name: kind.name(),
        help: kind.help(),
        count,
        share: f64::from(count) * 100.0 / total,
    };
    kinds.by_count().into_iter().map(part).collect()
}
