//! `[record]` and `[report]`: what is kept on disk.

use std::path::PathBuf;

use serde::Deserialize;

use super::{Size, Time};
use crate::record::{Depth, Trigger};

/// The flight recorder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecordConfig {
    /// Folder for dumps, and for the segments until then; without one nothing is recorded.
    pub folder: Option<PathBuf>,
    /// How far back a dump reaches.
    pub keep: Time,
    /// How much the segments take at most.
    pub max_bytes: Size,
    /// Room on that disk that is left free: recording pauses below it.
    pub min_free: Size,
    /// How much is recorded.
    pub depth: Depth,
    /// Dump when this happens: `failure`, `headroom<N`.
    #[serde(deserialize_with = "triggers")]
    pub on: Vec<Trigger>,
    /// Dumps that are kept; the oldest go.
    pub dumps: usize,
    /// How much the dumps take at most, all together; the newest one stays in any case.
    pub dump_bytes: Size,
    /// How old a dump may become.
    pub dump_age: Time,
}

impl Default for RecordConfig {
    fn default() -> Self {
        RecordConfig {
            folder: None,
            keep: Time::seconds(1800),
            max_bytes: Size::mib(256),
            min_free: Size::mib(256),
            depth: Depth::Records,
            on: vec![Trigger::Failure],
            dumps: 16,
            dump_bytes: Size::mib(1024),
            dump_age: Time::seconds(7 * 86_400),
        }
    }
}

fn triggers<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Trigger>, D::Error> {
    let texts: Vec<String> = Vec::deserialize(deserializer)?;
    texts.iter().map(|text| text.parse().map_err(serde::de::Error::custom)).collect()
}

/// The report at the end.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReportConfig {
    /// File that it is written to; without one it is told in the log, in short.
    pub file: Option<PathBuf>,
    /// In which form.
    pub format: ReportFormat,
}

/// Form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportFormat {
    /// Everything.
    #[default]
    Json,
    /// For people.
    Text,
    /// A page for a browser.
    Html,
}
