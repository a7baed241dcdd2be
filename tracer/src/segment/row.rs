//! Rows from what the model tells.

use crate::{
    event::{Exit, Kinds, Name},
    model::{
        Anchor, ExecRecord, FailureRow, LiveTable,
        report::{TableRow, TableState},
    },
};

use super::columns::Row;

/// What all rows of a trace have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Name of the machine.
    pub host: String,
    /// Its boot.
    pub boot_id: String,
    /// Both clocks, at the start of the trace.
    pub anchor: Anchor,
}

/// What may be missing, so far in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Records that found no room in the ring.
    pub lost: u64,
    /// Runs of hooks that did not happen.
    pub missed: u64,
    /// Records that could not be read.
    pub skipped: u64,
    /// Rows that never came into a segment.
    pub dropped: u64,
}

impl Origin {
    /// Wall-clock time of a moment of boot time, nanoseconds since 1970.
    #[must_use]
    pub fn wall_ns(&self, at_ns: u64) -> u64 {
        let Anchor { boot_ns, wall_unix_ns } = self.anchor;
        if at_ns >= boot_ns {
            wall_unix_ns.saturating_add(at_ns - boot_ns)
        } else {
            wall_unix_ns.saturating_sub(boot_ns - at_ns)
        }
    }

    fn micros(&self, at_ns: u64) -> Option<i64> {
        signed(self.wall_ns(at_ns) / 1000)
    }

    fn row(&self, kind: &str, at_ns: u64) -> Row {
        Row {
            r#type: Some(kind.to_owned()),
            host: Some(self.host.clone()),
            boot_id: Some(self.boot_id.clone()),
            trace: signed(self.anchor.boot_ns),
            time: self.micros(at_ns),
            boot_ns: signed(at_ns),
            ..Row::default()
        }
    }

    /// The rows of a completed exec record: its own, and one for each kind of failure.
    #[must_use]
    pub fn exec(&self, record: &ExecRecord) -> Vec<Row> {
        let mut rows = vec![self.exec_row(record)];
        let lives = [
            ("window", record.spawn_window.failures.as_deref().unwrap_or_default()),
            ("before_exec", record.before_exec.failures.as_deref().unwrap_or_default()),
            ("image", record.image.failures.as_slice()),
        ];
        for (life, failures) in lives {
            rows.extend(failures.iter().map(|failure| self.failure(record, life, failure)));
        }
        rows[0].failures = Some(rows.iter().skip(1).filter_map(|row| row.failures).sum());
        rows
    }

    fn exec_row(&self, record: &ExecRecord) -> Row {
        let (window, before, image) = (&record.spawn_window, &record.before_exec, &record.image);
        let (exit_code, exit_signal) = match image.exit {
            Some(Exit::Code(code)) => (Some(code.into()), None),
            Some(Exit::Signal { signal, .. }) => (None, Some(signal.into())),
            None => (None, None),
        };
        Row {
            done: self.done(record),
            container: record.container.as_ref().map(Name::text),
            seq: signed(record.seq),
            pid: Some(record.pid.into()),
            ns_pid: Some(record.ns_pid.into()),
            comm: Some(record.comm.text()),
            program: Some(record.program.text()),
            path: Some(record.path.text()),
            spawner_pid: Some(record.spawner.pid.into()),
            spawner: Some(record.spawner.comm.text()),
            again: Some(record.again),
            window_table: window.table.and_then(signed),
            window_high_water: window.high_water.map(i64::from),
            window_settled: window.settled.map(i64::from),
            window_soft_limit: window.soft_limit.map(i64::from),
            window_headroom: window.headroom.map(i64::from),
            window_overlapping: window.overlapping.map(i64::from),
            before_exec_high_water: before.high_water.map(i64::from),
            before_exec_soft_limit: before.soft_limit.map(i64::from),
            before_exec_headroom: before.headroom.map(i64::from),
            inherited: Some(record.inherited.into()),
            image_high_water: image.high_water.map(i64::from),
            image_settled: image.settled.map(i64::from),
            image_soft_limit: image.soft_limit.map(i64::from),
            image_headroom: image.headroom.map(i64::from),
            image_at_exit: image.at_exit.map(i64::from),
            ended_by: word(&image.ended_by),
            exit_code,
            exit_signal,
            kinds: window.kinds.as_ref().and_then(json),
            table_id: record.table.and_then(signed),
            ..self.row("exec", record.at_ns)
        }
    }

    fn failure(&self, record: &ExecRecord, life: &str, failure: &FailureRow) -> Row {
        Row {
            done: self.done(record),
            container: record.container.as_ref().map(Name::text),
            seq: signed(record.seq),
            pid: Some(record.pid.into()),
            program: Some(record.program.text()),
            spawner_pid: Some(record.spawner.pid.into()),
            spawner: Some(record.spawner.comm.text()),
            failures: signed(failure.count),
            life: Some(life.to_owned()),
            errno: Some(failure.errno.clone().into_owned()),
            syscall: Some(failure.syscall.clone().into_owned()),
            cause: word(&failure.cause),
            hidden: Some(failure.hidden),
            live: failure.live.map(i64::from),
            soft_limit: failure.soft_limit.map(i64::from),
            ..self.row("failure", failure.first_ns.or(failure.last_ns).unwrap_or(record.at_ns))
        }
    }

    /// A table in use, as it was at this moment. One that was not looked at so far has none.
    #[must_use]
    pub fn table(&self, table: &LiveTable, at_ns: u64) -> Option<Row> {
        table.seen_ns?;
        Some(Row {
            container: table.container.as_ref().map(Name::text),
            pid: table.pids.first().map(|pid| i64::from(*pid)),
            comm: Some(table.comm.text()),
            program: Some(table.comm.text()),
            failures: signed(table.failures),
            kinds: json(&table.high_water_kinds),
            table_id: signed(table.table),
            live: Some(table.live.into()),
            high_water: Some(table.high_water.into()),
            settled: table.settled.map(i64::from),
            soft_limit: Some(table.soft_limit.into()),
            headroom: Some(table.soft_limit.saturating_sub(table.high_water).into()),
            ..self.row("table", at_ns)
        })
    }

    /// The same of a table that outlives its trace, from the report at the end. One of which nothing is known has none.
    #[must_use]
    pub fn last_of_table(&self, table: &TableRow, at_ns: u64) -> Option<Row> {
        let (live, high_water) = table.live.zip(table.high_water).filter(|_| table.state == TableState::Alive)?;
        let soft_limit = table.soft_limit_last.or(table.soft_limit);
        Some(Row {
            container: table.container.as_ref().map(Name::text),
            pid: table.pids.first().map(|pid| i64::from(*pid)),
            comm: Some(table.comm.text()),
            program: Some(table.comm.text()),
            failures: Some(table.failures.iter().filter_map(|row| signed(row.count)).sum()),
            kinds: table.high_water_kinds.as_ref().and_then(json),
            table_id: signed(table.table),
            live: Some(live.into()),
            high_water: Some(high_water.into()),
            settled: table.settled.map(i64::from),
            soft_limit: soft_limit.map(i64::from),
            headroom: soft_limit.map(|soft| soft.saturating_sub(high_water).into()),
            ..self.row("table", at_ns)
        })
    }

    /// A person's mark, such as a release.
    #[must_use]
    pub fn mark(&self, at_ns: u64, text: &str) -> Row {
        Row { mark: Some(text.to_owned()), ..self.row("mark", at_ns) }
    }

    /// What may be missing of a stretch of the trace that ends here.
    #[must_use]
    pub fn coverage(&self, at_ns: u64, before: Missing, now: Missing) -> Row {
        let since = |now: u64, before: u64| signed(now.saturating_sub(before));
        Row {
            lost: since(now.lost, before.lost),
            missed: since(now.missed, before.missed),
            skipped: since(now.skipped, before.skipped),
            dropped: since(now.dropped, before.dropped),
            ..self.row("coverage", at_ns)
        }
    }

    fn done(&self, record: &ExecRecord) -> Option<i64> {
        record.image.end_ns.and_then(|end_ns| self.micros(end_ns))
    }
}

/// As a column has it; more than fits is the greatest that does.
fn signed(value: u64) -> Option<i64> {
    Some(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The word that a report has for it.
fn word<T: serde::Serialize>(value: &T) -> Option<String> {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned))
}

fn json(kinds: &Kinds) -> Option<String> {
    serde_json::to_string(kinds).ok()
}
