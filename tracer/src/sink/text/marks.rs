//! What people noted.

use super::words::{Lines, count, seconds};
use crate::{event::visible, model::Report, sink::fields::title};

/// Marks told: the latest.
const MARKS: usize = 5;

/// Writes them.
pub fn write(lines: &mut Lines, report: &Report) {
    if report.marks.is_empty() {
        return;
    }
    lines.gap();
    let older = report.marks.len().saturating_sub(MARKS);
    if older > 0 {
        lines.labelled(title("marks[].text"), &format!("{} before these", count(older as u64, "mark")));
    }
    for row in report.marks.iter().skip(older) {
        // A dump begins after marks that still hold.
        let when = match row.at_ns.checked_sub(report.anchor.boot_ns) {
            Some(since_ns) => format!("at {}", seconds(since_ns)),
            None => "before the recording".to_owned(),
        };
        lines.labelled(title("marks[].text"), &format!("{}, {when}", visible(&row.text.text())));
    }
}
