//! What the figures of one spawner mean, in a sentence; only where they say it.

use crate::model::report::{ExecRecord, Growth, TableRow};

use super::growth;
use super::words::Lines;

/// Windows needed for a conclusion.
const MIN_WINDOWS: usize = 3;
/// A lift below this is no burst, descriptors.
const BURST: u32 = 16;

/// Writes the sentence, and what is suspected; of a table that went far `above` its windows only the latter.
pub fn write(lines: &mut Lines, execs: &[&ExecRecord], rows: &[&Growth], above: Option<&TableRow>) {
    rows.iter().for_each(|row| growth::write(lines, row));
    let windows = execs.iter().filter_map(|record| record.spawn_window.high_water).max().unwrap_or(0);
    let far = above.and_then(|row| row.high_water).is_some_and(|high| high >= windows.saturating_add(BURST));
    if far || rows.iter().any(|row| !row.suspect.is_empty()) {
        return;
    }
    if let Some(text) = sentence(execs, rows) {
        lines.gap();
        lines.wrapped("  ", 2, &text);
    }
}

fn sentence(execs: &[&ExecRecord], rows: &[&Growth]) -> Option<String> {
    let windows = execs.iter().map(|record| &record.spawn_window);
    let pairs = windows.clone().filter_map(|window| window.high_water.zip(window.settled));
    let mut lifts: Vec<u32> = pairs.map(|(high, settled)| high.saturating_sub(settled)).collect();
    if lifts.len() < MIN_WINDOWS || rows.iter().any(|row| row.last > row.first) || rows.is_empty() {
        return None;
    }
    lifts.sort_unstable();
    let (least, median, most) = (*lifts.first()?, *lifts.get(lifts.len() / 2)?, *lifts.last()?);
    let spawner = windows.clone().filter_map(|window| window.high_water).max()?;
    let child = execs.iter().max_by_key(|record| record.before_exec.high_water)?;
    if let Some(high) = child.before_exec.high_water.filter(|high| *high >= spawner.saturating_add(BURST)) {
        return Some(format!(
            "The burst is in the children, between fork and exec: up to {high}, of which {} {} the exec. \
             The spawner's own table stays at {spawner} or less.",
            child.inherited,
            if child.inherited == 1 { "outlives" } else { "outlive" },
        ));
    }
    if least >= BURST {
        let headroom = windows.filter_map(|window| window.headroom).min()?;
        let by = if least == most { median.to_string() } else { format!("{least} to {most} (median {median})") };
        let room = if headroom == 0 { "no room".to_owned() } else { format!("room for {headroom} more") };
        return Some(format!(
            "Each exec lifts the table by {by}, and it falls back: a burst, not a leak. \
             At the highest {room} was left below the limit."
        ));
    }
    if most < BURST {
        let lift = if most == 0 { String::new() } else { format!(" by more than {most}") };
        return Some(format!("The spawner's table is flat: no exec lifts it{lift}, and it does not grow."));
    }
    Some(format!("Bursts, not a leak: execs lift the table by {least} to {most} (median {median}), and it falls back."))
}
