//! Reports of several hosts together.

use std::collections::HashMap;

use serde::Serialize;

use crate::event::Name;
use crate::model::finish::histograms;
use crate::model::report::HistogramRow;
use crate::model::{Pair, Report};

/// Identity of the JSON format of several reports.
pub const SCHEMA: &str = "fdtide.reports/1";

/// Several reports, and what they come to together.
#[derive(Clone, Debug, Serialize)]
pub struct Merged {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Each report by itself, in the order given.
    pub hosts: Vec<HostReport>,
    /// High-water per exec over all of them, one row per spawner and program: the histograms of the hosts added up.
    pub histograms: Vec<HistogramRow>,
}

/// The report of one host.
#[derive(Clone, Debug, Serialize)]
pub struct HostReport {
    /// Name of the host; where two have the same, with the recording's.
    pub host: String,
    /// The recording.
    pub recording: String,
    /// Its report.
    pub report: Report,
}

impl Merged {
    /// Adds reports up: host, recording, report.
    pub fn of(reports: Vec<(String, String, Report)>) -> Merged {
        let names: Vec<String> = reports.iter().map(|(host, ..)| host.clone()).collect();
        let alone = |host: &String| !host.is_empty() && names.iter().filter(|name| *name == host).count() == 1;
        let hosts: Vec<HostReport> = reports
            .into_iter()
            .map(|(host, recording, report)| {
                let host = if alone(&host) { host } else { format!("{host}:{recording}") };
                HostReport { host, recording, report }
            })
            .collect();
        let mut pairs: HashMap<(Name, Name), Pair> = HashMap::new();
        for record in hosts.iter().flat_map(|host| &host.report.execs).filter(|record| record.seq > 0) {
            let pair = pairs.entry((record.spawner.comm.clone(), record.program.clone())).or_default();
            pair.count(record);
        }
        Merged { schema: SCHEMA, hosts, histograms: histograms(pairs.into_iter().collect()) }
    }
}
