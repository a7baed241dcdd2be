//! What every metric is called, its type, unit and labels, and what it means: for the endpoint, the push, and
//! `docs/metrics.md`. Where a metric is a figure of the report, what it means is what the report's path says.

use super::of;

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows, from the start of the agent on.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution that only grows; classic and exponential buckets.
    Histogram,
    /// Always 1; its labels are what it tells.
    Info,
}

impl MetricKind {
    /// As exposition formats name it.
    pub const fn name(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
            MetricKind::Info => "info",
        }
    }
}

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name, without unit and suffix.
    pub base: &'static str,
    /// How it behaves.
    pub kind: MetricKind,
    /// Its unit, part of its name; empty for a number of things.
    pub unit: &'static str,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// The report's path that says what it means; empty for none.
    pub path: &'static str,
    /// What it means, or how it differs from that path.
    pub more: &'static str,
}

impl Metric {
    /// Its name in Prometheus.
    pub fn name(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!("_{}", self.unit) };
        let suffix = match self.kind {
            MetricKind::Counter => "_total",
            MetricKind::Info => "_info",
            _ => "",
        };
        format!("{}{unit}{suffix}", self.base)
    }

    /// What it means: as the report's path says, without what only a document can say.
    pub fn help(&self) -> String {
        let field = of(self.path).map_or("", |field| field.help);
        let sentences = field.split_inclusive(". ").filter(|sentence| !sentence.contains("`null`"));
        let field = sentences.collect::<String>();
        format!("{} {}", field.trim(), self.more).trim().replace('`', "")
    }
}

const WHO: &[&str] = &["comm", "container"];

const fn counter(
    base: &'static str,
    labels: &'static [&'static str],
    path: &'static str,
    more: &'static str,
) -> Metric {
    Metric { base, kind: MetricKind::Counter, unit: "", labels, path, more }
}

const fn gauge(
    base: &'static str,
    unit: &'static str,
    labels: &'static [&'static str],
    path: &'static str,
    more: &'static str,
) -> Metric {
    Metric { base, kind: MetricKind::Gauge, unit, labels, path, more }
}

const fn histogram(base: &'static str, path: &'static str, more: &'static str) -> Metric {
    Metric { base, kind: MetricKind::Histogram, unit: "descriptors", labels: WHO, path, more }
}

/// Metrics that belong together.
#[derive(Clone, Copy, Debug)]
pub struct MetricSection {
    /// Heading.
    pub title: &'static str,
    /// The metrics.
    pub metrics: &'static [Metric],
}

/// Descriptors of what runs now.
const NOW: MetricSection = MetricSection {
    title: "Now",
    metrics: &[
        gauge(
            "fdtide_open",
            "descriptors",
            &["comm", "container", "kind"],
            "",
            "Live descriptors in all tables, by kind.",
        ),
        gauge(
            "fdtide_high_water",
            "descriptors",
            WHO,
            "tables[].high_water",
            "The highest of the tables in use, since their program's exec or first sight.",
        ),
        gauge(
            "fdtide_recent_high_water",
            "descriptors",
            WHO,
            "",
            "Greatest number of live descriptors in one table in the last five minutes; a crest that has not fallen by half counts with its top. Falls again, and knows tables that have ended.",
        ),
        gauge(
            "fdtide_soft_limit",
            "descriptors",
            WHO,
            "",
            "Soft RLIMIT_NOFILE as last read, the lowest of the tables in use.",
        ),
        gauge(
            "fdtide_headroom",
            "descriptors",
            WHO,
            "tables[].headroom",
            "The least of the tables in use, with the marks of fdtide_high_water_descriptors.",
        ),
        gauge(
            "fdtide_recent_headroom",
            "ratio",
            WHO,
            "",
            "Least part of its soft limit that one table had left in the last five minutes, from 0 to 1, with the marks of fdtide_recent_high_water_descriptors.",
        ),
        gauge("fdtide_tables", "", WHO, "", "Descriptor tables in use."),
        gauge("fdtide_processes", "", WHO, "", "Traced processes."),
        gauge(
            "fdtide_orphans",
            "",
            WHO,
            "",
            "Processes that have outlived the process that forked them, or the last root, and run on.",
        ),
        gauge(
            "fdtide_lost_listeners",
            "",
            WHO,
            "",
            "Tables in use whose level came to rest one descriptor lower after a failed accept, and stayed there: a listening socket is gone.",
        ),
        gauge(
            "fdtide_growing_tables",
            "",
            &["comm", "container", "kind"],
            "",
            "Tables in use that have more descriptors of this kind in every spawn window after warm-up, and still have them: a leak is suspected.",
        ),
        gauge(
            "fdtide_growth_per_exec",
            "descriptors",
            WHO,
            "",
            "Mean growth of the settled level from exec to exec, of the table in use that grows most (growth[].per_exec of the report).",
        ),
    ],
};

/// What has happened.
const SINCE: MetricSection = MetricSection {
    title: "Since the start of the agent",
    metrics: &[
        counter("fdtide_execs", WHO, "", "Execs of children, under the name of the process that forked them."),
        histogram(
            "fdtide_exec_high_water",
            "execs[].spawn_window.high_water",
            "In the spawn window of each exec, under the name of the spawner.",
        ),
        histogram("fdtide_exec_child_high_water", "execs[].before_exec.high_water", "Under the name of the spawner."),
        counter(
            "fdtide_installs",
            &["comm", "container", "origin"],
            "",
            "Descriptors that appeared: opened while the table was followed, inherited when the table was made (fork), or found at first sight of a table that is older than the trace. Less fdtide_closes_total this is what is open.",
        ),
        counter(
            "fdtide_closes",
            &["comm", "container", "reason"],
            "",
            "Descriptors that went: closed (or replaced) by the program, by an exec (close-on-exec), by exit, with the table, or with a target that was removed and is followed no longer.",
        ),
        counter("fdtide_failed_closes", WHO, "tables[].bad_closes", ""),
        counter(
            "fdtide_failures",
            &["comm", "container", "errno", "cause"],
            "",
            "Descriptors that could not be made, by error and by what is known of the cause when it is counted (as failures[].cause in docs/fields.md).",
        ),
        counter(
            "fdtide_crests",
            WHO,
            "",
            "Crests: rises of a table by 16 descriptors or more that have fallen by half, or ended with the table.",
        ),
        counter(
            "fdtide_ended_orphans",
            WHO,
            "",
            "Processes that had outlived the process that forked them, or the last root, and have ended.",
        ),
    ],
};

/// Where processes are wanted one by one.
const PROCESSES: MetricSection = MetricSection {
    title: "Per process, with `per_process`",
    metrics: &[
        gauge(
            "fdtide_process_open",
            "descriptors",
            PID,
            "tables[].live",
            "Of the processes with the most, as many as per_process says.",
        ),
        gauge(
            "fdtide_process_high_water",
            "descriptors",
            PID,
            "tables[].high_water",
            "Since the program's exec, or first sight.",
        ),
        gauge("fdtide_process_soft_limit", "descriptors", PID, "", "Soft RLIMIT_NOFILE as last read."),
        gauge("fdtide_process_headroom", "descriptors", PID, "tables[].headroom", ""),
        gauge(
            "fdtide_processes_left_out",
            "",
            &[],
            "",
            "Processes that are not told one by one because others have more descriptors.",
        ),
    ],
};

const PID: &[&str] = &["pid", "comm", "container"];

/// What fdtide could not see, and what it costs.
const ITSELF: MetricSection = MetricSection {
    title: "fdtide itself",
    metrics: &[
        gauge(
            "fdtide_up",
            "",
            &[],
            "",
            "1 while the hooks are in place and the agent keeps up: its last look at the kernel is not older than ten seconds.",
        ),
        gauge(
            "fdtide_last_look_timestamp",
            "seconds",
            &[],
            "",
            "When the agent last looked at the kernel, since 1970-01-01 UTC.",
        ),
        Metric {
            base: "fdtide_build",
            kind: MetricKind::Info,
            unit: "",
            labels: &["version", "backend", "kernel"],
            path: "",
            more: "Version of fdtide, way of hooking, kernel release.",
        },
        counter("fdtide_lost_records", &[], "loss.lost", ""),
        counter("fdtide_missed_runs", &[], "loss.missed", ""),
        counter("fdtide_skipped_records", &[], "loss.skipped", ""),
        counter(
            "fdtide_kernel_events",
            &["counter"],
            "",
            "What the kernel program counts because it costs part of the picture: loss.counters in docs/fields.md.",
        ),
        counter("fdtide_processes_not_followed", &[], "", "Processes whose table could not be followed."),
        counter(
            "fdtide_label_overflows",
            &[],
            "",
            "Tables and execs that were counted under comm=\"other\" because there were too many label sets.",
        ),
        counter(
            "fdtide_label_sets_given_up",
            &[],
            "",
            "Label sets that have made room for others after ten minutes without a table; their series end.",
        ),
        Metric {
            base: "process_cpu",
            kind: MetricKind::Counter,
            unit: "seconds",
            labels: &[],
            path: "",
            more: "Processor time of fdtide.",
        },
        gauge("process_resident_memory", "bytes", &[], "", "Resident memory of fdtide."),
        gauge("process_open_fds", "", &[], "", "Descriptors of fdtide itself; it never counts itself elsewhere."),
        gauge("process_start_time", "seconds", &[], "", "When fdtide started, since 1970-01-01 UTC."),
        counter(
            "fdtide_scrapes",
            &["result"],
            "",
            "Requests to the endpoint: ok, refused for want of the token, or of something that is not there.",
        ),
        counter(
            "fdtide_otlp_pushes",
            &["signal", "result"],
            "",
            "Pushes to the collector: ok, failed (tried again), or given up.",
        ),
        counter(
            "fdtide_otlp_dropped_events",
            &["reason"],
            "",
            "Exec records and failures that were not pushed: no room to wait, or the collector would not have them.",
        ),
        gauge("fdtide_otlp_waiting_events", "", &[], "", "Exec records and failures that wait to be pushed."),
    ],
};

/// Every metric.
pub const METRICS: &[MetricSection] = &[NOW, SINCE, PROCESSES, ITSELF];

/// Every metric, in the order of the page.
pub fn every() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().flat_map(|section| section.metrics)
}

/// The metric of this name in Prometheus.
pub fn named(name: &str) -> Option<&'static Metric> {
    every().find(|metric| metric.name() == name)
}
