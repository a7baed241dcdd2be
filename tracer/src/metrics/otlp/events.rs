//! Exec records and failures as log events.

use opentelemetry_proto::tonic::{
    collector::logs::v1::ExportLogsServiceRequest,
    common::v1::{AnyValue, KeyValue, KeyValueList, any_value::Value},
    logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber},
    resource::v1::Resource,
};

use super::convert::{attribute, scope, text};
use crate::{
    event::{Exit, Kinds},
    model::{Anchor, ExecRecord, meter::Failed, report::EndedBy},
};

/// Something that is told by itself.
#[derive(Clone, Debug)]
pub enum Happened {
    /// An exec whose image has ended.
    Exec(Box<ExecRecord>),
    /// Descriptors could not be made.
    Failed(Box<Failed>),
}

/// How events are told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Telling {
    /// Turns boot time into wall time.
    pub anchor: Anchor,
    /// Paths of programs are told too.
    pub paths: bool,
}

/// A push of these events; `now_ns` is the wall time of the push.
#[must_use]
pub fn logs(events: &[Happened], telling: Telling, now_ns: u64, resource: &Resource) -> ExportLogsServiceRequest {
    let log_records = events.iter().map(|event| record(event, telling, now_ns)).collect();
    let scope_logs = vec![ScopeLogs { scope: Some(scope()), log_records, ..ScopeLogs::default() }];
    let resource = Some(resource.clone());
    ExportLogsServiceRequest { resource_logs: vec![ResourceLogs { resource, scope_logs, ..ResourceLogs::default() }] }
}

fn record(event: &Happened, telling: Telling, now_ns: u64) -> LogRecord {
    let (name, severity, at_ns, body, attributes) = match event {
        Happened::Exec(record) => {
            ("fdtide.exec", SeverityNumber::Info, record.at_ns, exec_sentence(record), exec(record, telling.paths))
        }
        Happened::Failed(told) => {
            let at_ns = told.row.last_ns.unwrap_or(told.at_ns);
            ("fdtide.failure", SeverityNumber::Warn, at_ns, failed_sentence(told), failed(told))
        }
    };
    LogRecord {
        time_unix_nano: wall(telling.anchor, at_ns),
        observed_time_unix_nano: now_ns,
        severity_number: severity.into(),
        severity_text: if severity == SeverityNumber::Info { "INFO" } else { "WARN" }.to_owned(),
        body: Some(AnyValue { value: Some(Value::StringValue(body)) }),
        attributes,
        event_name: name.to_owned(),
        ..LogRecord::default()
    }
}

fn wall(anchor: Anchor, at_ns: u64) -> u64 {
    anchor.wall_unix_ns.saturating_add(at_ns).saturating_sub(anchor.boot_ns)
}

fn exec_sentence(record: &ExecRecord) -> String {
    let window = &record.spawn_window;
    let (program, comm, spawner) = (&record.program, &record.spawner.comm, record.spawner.pid);
    let high = match (window.high_water, window.soft_limit) {
        (Some(high), Some(soft)) => format!("high-water {high} of {soft}"),
        _ => "high-water not known".to_owned(),
    };
    format!("exec of {program} by {comm}[{spawner}]: {high}")
}

fn failed_sentence(told: &Failed) -> String {
    let (row, comm) = (&told.row, &told.labels.comm);
    let times = if row.count == 1 { "once".to_owned() } else { format!("{} times", row.count) };
    format!("{} of {comm}[{}] failed {times} with {}: {}", row.syscall, told.pid, row.errno, row.cause.name())
}

/// Attributes that are there.
#[derive(Default)]
struct Attributes(Vec<KeyValue>);

impl Attributes {
    fn number(&mut self, key: &str, value: impl Into<Option<u64>>) {
        if let Some(value) = value.into() {
            let value = Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX));
            self.0.push(attribute(&format!("fdtide.{key}"), value));
        }
    }

    fn count(&mut self, key: &str, value: impl Into<Option<u32>>) {
        self.number(key, value.into().map(u64::from));
    }

    fn text(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.0.push(text(&format!("fdtide.{key}"), value));
        }
    }

    fn yes(&mut self, key: &str, value: bool) {
        self.0.push(attribute(&format!("fdtide.{key}"), Value::BoolValue(value)));
    }

    fn kinds(&mut self, key: &str, kinds: Option<&Kinds>) {
        let Some(kinds) = kinds else { return };
        let values = kinds.iter().map(|(kind, count)| attribute(kind.name(), Value::IntValue(count.into()))).collect();
        self.0.push(attribute(&format!("fdtide.{key}"), Value::KvlistValue(KeyValueList { values })));
    }
}

/// Keys are the report's paths below `execs[]`.
fn exec(record: &ExecRecord, paths: bool) -> Vec<KeyValue> {
    let mut all = Attributes::default();
    all.number("seq", record.seq);
    all.count("pid", record.pid);
    all.count("ns_pid", record.ns_pid);
    all.text("program", &record.program.to_string());
    if paths {
        all.text("path", &record.path.to_string());
    }
    all.text("comm", &record.comm.to_string());
    all.yes("again", record.again);
    all.count("spawner.pid", record.spawner.pid);
    all.text("spawner.comm", &record.spawner.comm.to_string());
    all.text("container", &record.container.as_ref().map(ToString::to_string).unwrap_or_default());
    all.count("inherited", record.inherited);
    let window = &record.spawn_window;
    all.number("spawn_window.table", window.table);
    all.count("spawn_window.high_water", window.high_water);
    all.count("spawn_window.settled", window.settled);
    all.count("spawn_window.at_exec", window.at_exec);
    all.count("spawn_window.soft_limit", window.soft_limit);
    all.count("spawn_window.headroom", window.headroom);
    all.number("spawn_window.installs", window.installs);
    all.number("spawn_window.closes", window.closes);
    all.kinds("spawn_window.kinds", window.kinds.as_ref());
    all.number("spawn_window.failures", failures(window.failures.as_deref()));
    let before = &record.before_exec;
    all.count("before_exec.high_water", before.high_water);
    all.count("before_exec.headroom", before.headroom);
    all.number("before_exec.failures", failures(before.failures.as_deref()));
    let image = &record.image;
    all.count("image.high_water", image.high_water);
    all.count("image.settled", image.settled);
    all.count("image.headroom", image.headroom);
    all.count("image.at_exit", image.at_exit);
    all.number("image.failures", failures(Some(&image.failures)));
    all.text("image.ended_by", ended_by(image.ended_by));
    match image.exit {
        Some(Exit::Code(code)) => all.number("image.exit.code", u64::from(code)),
        Some(Exit::Signal { signal, .. }) => all.number("image.exit.signal", u64::from(signal)),
        None => {}
    }
    all.number("image.duration_ns", image.end_ns.map(|end| end.saturating_sub(record.at_ns)));
    all.0
}

fn failures(rows: Option<&[crate::model::FailureRow]>) -> Option<u64> {
    rows.map(|rows| rows.iter().map(|row| row.count).fold(0, u64::saturating_add))
}

const fn ended_by(ended: EndedBy) -> &'static str {
    match ended {
        EndedBy::Exec => "exec",
        EndedBy::Exit => "exit",
        EndedBy::Running => "running",
        EndedBy::Unseen => "unseen",
        EndedBy::Removed => "removed",
    }
}

/// Keys are the report's paths below `tables[].failures[]`.
fn failed(told: &Failed) -> Vec<KeyValue> {
    let mut all = Attributes::default();
    let row = &told.row;
    all.count("pid", told.pid);
    all.text("comm", &told.labels.comm.to_string());
    all.text("container", &told.labels.container.to_string());
    all.number("table", told.table);
    all.text("errno", &row.errno);
    all.text("syscall", &row.syscall);
    all.number("count", row.count);
    all.text("cause", row.cause.name());
    all.yes("hidden", row.hidden);
    all.count("live", row.live);
    all.count("soft_limit", row.soft_limit);
    all.count("lowest_free", row.lowest_free);
    all.count("in_use", row.in_use);
    all.0
}
