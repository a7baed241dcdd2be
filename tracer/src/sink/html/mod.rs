//! The report as one page that needs nothing else: no network, no other file, and for reading no script.
//!
//! The answer first, in the words of the text report; then live against time, distributions and compositions; then
//! tables that sort; then what could not be seen. Names from the kernel are escaped twice: for the eye, and for HTML.

mod answer;
mod chart;
mod distribution;
mod made;
mod page;
mod sheet;
mod timeline;

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use askama::Template as _;

use crate::model::Report;

pub use timeline::{Peak, Point, Timeline, Track};

/// Writes the page. Tables that `timeline` does not have are drawn from what the report knows of them.
pub fn write(report: &Report, timeline: &Timeline, out: &mut dyn Write) -> io::Result<()> {
    let page = page::Page::new(report, timeline).render().map_err(io::Error::other)?;
    out.write_all(page.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}
