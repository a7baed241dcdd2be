//! `[segments]`: rows of the trace as Parquet, for questions to many machines.

use std::{error::Error, time::Instant};

use serde_json::Value;

use super::{Config, Exporter, Now, config::Segments as Settings};
use crate::{
    event::Event,
    model::{ExecRecord, Report},
    record::{Input, Start},
    segment::{self, Missing, Origin, Row, Segments, Status},
};

/// Writes segments of what the agent sees.
pub struct SegmentWriter {
    settings: Settings,
    segments: Option<Segments>,
    last: Status,
}

impl SegmentWriter {
    /// With these settings; none if they name no place.
    #[must_use]
    pub fn new(settings: &Settings) -> Option<SegmentWriter> {
        let wanted = !settings.url.is_empty();
        wanted.then(|| SegmentWriter { settings: settings.clone(), segments: None, last: Status::default() })
    }
}

impl Exporter for SegmentWriter {
    fn name(&self) -> &'static str {
        "segments"
    }

    fn begin(&mut self, start: &Start) -> Result<(), Box<dyn Error + Send + Sync>> {
        let origin =
            Origin { host: start.host.name.clone(), boot_id: start.host.boot_id.clone(), anchor: start.anchor };
        let settings = segment::Settings {
            url: self.settings.url.clone(),
            spool: self.settings.spool.clone(),
            interval_ns: self.settings.every.as_ns(),
            max_bytes: self.settings.max_bytes.0,
            spool_max_bytes: self.settings.spool_max_bytes.0,
        };
        self.segments = Some(Segments::start(settings, origin)?);
        Ok(())
    }

    fn input(&mut self, input: &Input<'_>, _: Option<&Event>) {
        if let (Some(segments), Input::Note(note)) = (&mut self.segments, input) {
            segments.mark(note.at_ns, &note.text);
        }
    }

    fn exec(&mut self, record: &ExecRecord) {
        if let Some(segments) = &mut self.segments {
            let rows = segments.origin().exec(record);
            segments.push(&rows, record.image.end_ns.unwrap_or(record.at_ns));
        }
    }

    fn tick(&mut self, now: &Now<'_>) {
        let Some(segments) = &mut self.segments else { return };
        if segments.is_due(now.at_ns) {
            let origin = segments.origin();
            let tables: Vec<Row> = now.live.tables.iter().filter_map(|table| origin.table(table, now.at_ns)).collect();
            let loss = now.counted.clone().loss();
            let missing = Missing { lost: loss.lost, missed: loss.missed, skipped: now.skipped, dropped: 0 };
            segments.rotate(now.at_ns, tables, missing);
        }
        segments.flush();
    }

    fn reload(&mut self, config: &Config) -> Vec<String> {
        let same = config.segments == self.settings;
        (!same)
            .then(|| "[segments] changes with a restart, and stays as it was until then".to_owned())
            .into_iter()
            .collect()
    }

    fn status(&self) -> Value {
        let status = self.segments.as_ref().map_or_else(|| self.last.clone(), Segments::status);
        serde_json::to_value(status).unwrap_or_default()
    }

    fn finish(&mut self, report: &Report, until: Instant) {
        let Some(segments) = &mut self.segments else { return };
        let end_ns = report.anchor.boot_ns.saturating_add(report.duration_ns);
        let origin = segments.origin();
        let tables = report.tables.iter().filter_map(|row| origin.last_of_table(row, end_ns)).collect();
        let loss = &report.loss;
        let missing = Missing { lost: loss.lost, missed: loss.missed, skipped: loss.skipped, dropped: 0 };
        segments.finish(end_ns, tables, missing, until);
    }

    fn wait(&mut self) {
        let Some(segments) = self.segments.take() else { return };
        self.last = segments.wait();
        let Status { sent, sent_rows, waiting, .. } = &self.last;
        tracing::info!("{sent} segments with {sent_rows} rows sent, {waiting} wait in the spool");
    }
}
