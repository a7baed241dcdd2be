//! A scrape as metrics with labels and values: what every output is made from.

use std::collections::BTreeMap;

use super::scrape::{More, Scrape};
use crate::{
    event::Kind,
    model::meter::{Distribution, Figures, Labels, Now, SetRow},
    sink::fields::metrics::{METRICS, Metric, MetricKind},
};

/// One metric with its series.
#[derive(Clone, Debug)]
pub struct Family {
    /// What it is.
    pub metric: &'static Metric,
    /// Its series, each with the values of the metric's labels in their order; no two with the same.
    pub series: Vec<(Vec<String>, Value)>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number of things.
    Count(u64),
    /// A measure.
    Level(f64),
    /// A distribution.
    Distribution(Box<Distribution>),
}

impl Value {
    /// As a number; of a distribution, how many values.
    #[must_use]
    pub fn number(&self) -> f64 {
        match self {
            Value::Count(count) => *count as f64,
            Value::Level(level) => *level,
            Value::Distribution(values) => values.count as f64,
        }
    }
}

/// Series by the metric's name.
#[derive(Default)]
struct Series(BTreeMap<&'static str, Vec<(Vec<String>, Value)>>);

impl Series {
    fn add(&mut self, base: &'static str, labels: Vec<String>, value: Value) {
        self.0.entry(base).or_default().push((labels, value));
    }

    fn count(&mut self, base: &'static str, labels: Vec<String>, value: u64) {
        self.add(base, labels, Value::Count(value));
    }

    fn level(&mut self, base: &'static str, labels: Vec<String>, value: f64) {
        self.add(base, labels, Value::Level(value));
    }
}

/// All of it, in the order of the table; metrics without a series are left out. `fresh`: the agent still looks at the
/// kernel. `more` are figures that are not of the scrape.
#[must_use]
pub fn families(scrape: &Scrape, fresh: bool, more: &[More]) -> Vec<Family> {
    let mut series = Series::default();
    for set in &scrape.reading.sets {
        now(&mut series, set);
        since(&mut series, &who(&set.labels), &set.figures);
    }
    processes(&mut series, scrape);
    itself(&mut series, scrape);
    series.count("fdtide_up", Vec::new(), fresh.into());
    let mut others: BTreeMap<&str, Vec<&More>> = BTreeMap::new();
    scrape.more.iter().chain(more).for_each(|figure| others.entry(figure.name).or_default().push(figure));
    let mut families = Vec::new();
    for metric in METRICS.iter().flat_map(|section| section.metrics) {
        let mut all = series.0.remove(metric.base).unwrap_or_default();
        for figure in others.remove(metric.name().as_str()).unwrap_or_default() {
            let value = match metric.kind {
                MetricKind::Counter => Value::Count(figure.value as u64),
                _ => Value::Level(figure.value),
            };
            all.push((figure.labels.clone(), value));
        }
        if !all.is_empty() {
            families.push(Family { metric, series: all });
        }
    }
    families
}

fn who(labels: &Labels) -> Vec<String> {
    // As a terminal would show it: a label may be looked at with any tool.
    vec![labels.comm.to_string(), labels.container.to_string()]
}

fn with(mut labels: Vec<String>, more: &str) -> Vec<String> {
    labels.push(more.to_owned());
    labels
}

fn now(series: &mut Series, set: &SetRow) {
    let labels = || who(&set.labels);
    if let Some(top) = set.recent {
        series.count("fdtide_recent_high_water", labels(), top.high_water.into());
        series.level("fdtide_recent_headroom", labels(), top.headroom_ratio);
    }
    let Some(now) = &set.now else { return };
    let by_kind = |series: &mut Series, base, kinds: &BTreeMap<Kind, u64>| {
        kinds.iter().for_each(|(kind, count)| series.count(base, with(labels(), kind.name()), *count));
    };
    by_kind(series, "fdtide_open", &now.kinds);
    by_kind(series, "fdtide_growing_tables", &now.growing);
    let Now { tables, processes, orphans, high_water, soft_limit, headroom, lost_listeners, .. } = *now;
    for (base, count) in [
        ("fdtide_high_water", high_water.into()),
        ("fdtide_soft_limit", soft_limit.into()),
        ("fdtide_headroom", headroom.into()),
        ("fdtide_tables", tables),
        ("fdtide_processes", processes),
        ("fdtide_orphans", orphans),
        ("fdtide_lost_listeners", lost_listeners),
    ] {
        series.count(base, labels(), count);
    }
    if let Some(growth) = now.growth_per_exec {
        series.level("fdtide_growth_per_exec", labels(), growth);
    }
}

fn since(series: &mut Series, labels: &[String], figures: &Figures) {
    let own = || labels.to_vec();
    let Figures { installs, closes, .. } = figures;
    if figures.execs > 0 {
        series.count("fdtide_execs", own(), figures.execs);
        for (base, values) in
            [("fdtide_exec_high_water", &figures.windows), ("fdtide_exec_child_high_water", &figures.children)]
        {
            series.add(base, own(), Value::Distribution(Box::new(values.clone())));
        }
    }
    let (opened, inherited, found) = (installs.opened, installs.inherited, installs.found);
    for (origin, count) in [("opened", opened), ("inherited", inherited), ("found", found)] {
        series.count("fdtide_installs", with(own(), origin), count);
    }
    let (closed, exec, exit, removed) = (closes.closed, closes.exec, closes.exit, closes.removed);
    for (reason, count) in [("closed", closed), ("exec", exec), ("exit", exit), ("removed", removed)] {
        series.count("fdtide_closes", with(own(), reason), count);
    }
    series.count("fdtide_failed_closes", own(), figures.bad_closes);
    series.count("fdtide_crests", own(), figures.crests);
    series.count("fdtide_ended_orphans", own(), figures.orphans);
    for row in &figures.failures {
        let labels = with(with(own(), &row.errno), row.cause.name());
        series.count("fdtide_failures", labels, row.count);
    }
}

fn processes(series: &mut Series, scrape: &Scrape) {
    for row in &scrape.reading.processes {
        let labels = || [vec![row.pid.to_string()], who(&row.labels)].concat();
        series.count("fdtide_process_open", labels(), row.live.into());
        series.count("fdtide_process_high_water", labels(), row.high_water.into());
        series.count("fdtide_process_soft_limit", labels(), row.soft_limit.into());
        series.count("fdtide_process_headroom", labels(), row.headroom.into());
    }
    if !scrape.reading.processes.is_empty() {
        series.count("fdtide_processes_left_out", Vec::new(), scrape.reading.processes_left_out);
    }
}

fn itself(series: &mut Series, scrape: &Scrape) {
    let Scrape { reading, agent, .. } = scrape;
    let seconds = |ns: u64| ns as f64 / 1e9;
    for (base, count) in [
        ("fdtide_lost_records", scrape.lost),
        ("fdtide_missed_runs", scrape.missed),
        ("fdtide_skipped_records", scrape.skipped),
        ("fdtide_processes_not_followed", reading.not_followed),
        ("fdtide_label_overflows", reading.overflowed),
        ("fdtide_label_sets_given_up", reading.given_up),
        ("process_resident_memory", agent.rss_bytes),
        ("process_open_fds", agent.descriptors.into()),
    ] {
        series.count(base, Vec::new(), count);
    }
    for (counter, value) in &scrape.counters {
        series.count("fdtide_kernel_events", vec![counter.clone()], *value);
    }
    for (base, level) in [
        ("fdtide_last_look_timestamp", seconds(scrape.at_unix_ns)),
        ("process_start_time", seconds(scrape.since_unix_ns)),
        ("process_cpu", agent.cpu_ms as f64 / 1e3),
    ] {
        series.level(base, Vec::new(), level);
    }
    let build = [env!("CARGO_PKG_VERSION"), &scrape.backend, &scrape.kernel].map(str::to_owned).to_vec();
    series.count("fdtide_build", build, 1);
}
