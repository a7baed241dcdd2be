//! What every figure is called, its unit, and what it means: one table for every output.
//!
//! `docs/fields.md` is [`markdown`]; a test compares them, and the paths with those of a real report.

mod execs;
mod failures;
mod format;
mod found;
pub mod metrics;
pub mod metrics_page;
mod report;
mod sums;
mod tables;
mod words;

#[cfg(test)]
mod tests;

pub use format::Format;
pub use words::{GLOSSARY, markdown};

/// One path of the JSON report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Path: `a.b` a key in an object, `a[]` an entry of a list, `a{}` an object from kind to count.
    pub path: &'static str,
    /// Unit or type.
    pub unit: &'static str,
    /// What it means.
    pub help: &'static str,
    /// What a person reads beside the figure; empty where no output for people shows it.
    pub title: &'static str,
    /// The same where there is little room, as over a column.
    pub short: &'static str,
}

/// Paths that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Heading.
    pub title: &'static str,
    /// The paths, in groups that follow each other.
    pub groups: &'static [&'static [Field]],
}

impl Section {
    /// The paths.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> {
        self.groups.iter().copied().flatten()
    }
}

/// One row of the table.
const fn field(path: &'static str, unit: &'static str, help: &'static str) -> Field {
    Field { path, unit, help, title: "", short: "" }
}

impl Field {
    /// With a title, and a shorter one for columns.
    const fn titled(self, title: &'static str, short: &'static str) -> Field {
        Field { title, short, ..self }
    }
}

/// Every path of the JSON report.
pub const SECTIONS: &[Section] = &[
    report::REPORT,
    report::PLAN,
    tables::TABLES,
    tables::FAILURES,
    execs::EXECS,
    execs::SPAWN_WINDOW,
    execs::BEFORE_EXEC,
    execs::IMAGE,
    sums::DISTRIBUTIONS,
    found::GROWTH,
    found::CRESTS,
    found::AGES,
    found::LISTENERS,
    found::CENSUSES,
    found::ORPHANS,
    found::CONTAINERS,
    found::MARKS,
];

/// Every row of the table.
pub fn all() -> impl Iterator<Item = &'static Field> {
    SECTIONS.iter().flat_map(Section::fields)
}

/// The row of a path.
pub fn of(path: &str) -> Option<&'static Field> {
    all().find(|field| field.path == path)
}

/// What a person reads beside the figure at a path; the path itself if the table has none, which a test looks for.
pub fn title(path: &'static str) -> &'static str {
    of(path).map(|field| field.title).filter(|title| !title.is_empty()).unwrap_or(path)
}

/// The same over a column.
pub fn short(path: &'static str) -> &'static str {
    of(path).map(|field| field.short).filter(|title| !title.is_empty()).unwrap_or(path)
}
