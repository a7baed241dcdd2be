//! The metrics against the table that names them, and against the report.

use std::collections::{BTreeSet, HashSet};

use super::{
    Tally,
    families::{Family, Value, families},
    prometheus::{Form, encode},
    testing::{Run, run},
};
use crate::sink::fields::{
    metrics::{every, named},
    metrics_page,
};

fn all(run: &Run) -> Vec<Family> {
    families(&run.scrape, true, &Tally::default().figures())
}

/// The sum of the series that have these values among their labels.
fn sum(families: &[Family], name: &str, with: &[&str]) -> f64 {
    let family = families.iter().find(|family| family.metric.name() == name).unwrap_or_else(|| panic!("no {name}"));
    let has = |labels: &[String]| with.iter().all(|value| labels.iter().any(|label| label == value));
    family.series.iter().filter(|(labels, _)| has(labels)).map(|(_, value)| value.number()).sum()
}

#[test]
fn every_series_has_the_labels_of_the_table_and_none_comes_twice() {
    let run = run();
    let families = all(&run);
    for Family { metric, series } in &families {
        let mut seen = HashSet::new();
        for (labels, _) in series {
            assert_eq!(labels.len(), metric.labels.len(), "{}", metric.name());
            assert!(seen.insert(labels.clone()), "{} {labels:?}", metric.name());
        }
    }
    let used: BTreeSet<String> = families.iter().map(|family| family.metric.name()).collect();
    let unused: Vec<String> = every().map(|metric| metric.name()).filter(|name| !used.contains(name)).collect();
    // Waiting events are told by the push alone.
    assert_eq!(unused, ["fdtide_otlp_waiting_events"]);
}

#[test]
fn names_are_unique_and_as_prometheus_wants_them() {
    let names: Vec<String> = every().map(|metric| metric.name()).collect();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    for metric in every() {
        let name = metric.name();
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert!(metric.help().ends_with('.') && metric.help().len() > 10, "{name}: {}", metric.help());
        assert!(metric.path.is_empty() || crate::sink::fields::of(metric.path).is_some(), "{name}: {}", metric.path);
    }
    for figure in Tally::default().figures() {
        let metric = named(figure.name).unwrap_or_else(|| panic!("{} is not in the table", figure.name));
        assert_eq!(metric.labels.len(), figure.labels.len(), "{}", figure.name);
    }
}

#[test]
fn figures_are_those_of_the_report() {
    let run = run();
    let (families, report) = (all(&run), &run.report);
    let server = report.tables.iter().find(|row| row.comm.text() == "server" && row.end_ns.is_none()).unwrap();
    let of = |name: &str, with: &[&str]| sum(&families, name, &[&["server", "web-1"], with].concat());
    assert_eq!(of("fdtide_open_descriptors", &[]), f64::from(server.live.unwrap()));
    assert_eq!(of("fdtide_open_descriptors", &["eventfd"]), 20.0);
    assert_eq!(of("fdtide_high_water_descriptors", &[]), f64::from(server.high_water.unwrap()));
    assert_eq!(of("fdtide_headroom_descriptors", &[]), f64::from(server.headroom.unwrap()));
    assert_eq!(of("fdtide_soft_limit_descriptors", &[]), f64::from(server.soft_limit_last.unwrap()));
    assert_eq!(of("fdtide_installs_total", &["found"]), 5.0);
    assert_eq!(of("fdtide_execs_total", &[]), 20.0);
    assert_eq!(of("fdtide_failures_total", &["EMFILE"]), 4.0);
    assert_eq!(of("fdtide_failures_total", &["ENFILE", "system-wide limit"]), 2.0);
    assert_eq!(of("fdtide_failed_closes_total", &[]), 17.0);
    assert_eq!(of("fdtide_growing_tables", &["eventfd"]), 1.0);
    assert_eq!(of("fdtide_growth_per_exec_descriptors", &[]), report.growth[0].per_exec);
    let all_tables = |of: fn(&crate::model::report::TableRow) -> Option<u64>| {
        report.tables.iter().filter_map(of).sum::<u64>() as f64
    };
    assert_eq!(sum(&families, "fdtide_installs_total", &["opened"]), all_tables(|row| row.installs));
    let closes = ["closed", "exec"].map(|reason| sum(&families, "fdtide_closes_total", &[reason]));
    assert_eq!(closes[0] + closes[1], all_tables(|row| row.closes));
    assert_eq!(sum(&families, "fdtide_crests_total", &[]), all_tables(|row| row.crests));
    let came = sum(&families, "fdtide_installs_total", &[]);
    let went = sum(&families, "fdtide_closes_total", &[]);
    assert_eq!(came - went, sum(&families, "fdtide_open_descriptors", &[]));
    let high = families.iter().find(|family| family.metric.base == "fdtide_exec_high_water").unwrap();
    let Value::Distribution(values) = &high.series[0].1 else { panic!() };
    assert_eq!((values.count, report.histograms[0].window.count), (20, 20));
}

#[test]
fn every_form_shows_every_series() {
    let run = run();
    let series: usize = all(&run).iter().map(|family| family.series.len()).sum();
    let text = |form| String::from_utf8(encode(all(&run), run.scrape.since_unix_ns, form).unwrap()).unwrap();
    let (plain, open) = (text(Form::Text), text(Form::OpenMetrics));
    let samples = |text: &str| {
        let part = |line: &&str| ["_bucket{", "_sum{"].iter().any(|part| line.contains(part));
        text.lines().filter(|line| !line.starts_with('#') && !part(line)).count()
    };
    assert_eq!((samples(&plain), samples(&open)), (series, series));
    assert!(open.ends_with("# EOF\n") && !plain.contains("# EOF"), "{open}");
    assert!(open.contains("# UNIT fdtide_open_descriptors descriptors\n"), "{open}");
    assert!(
        open.contains("# TYPE fdtide_installs counter\n") && plain.contains("# TYPE fdtide_installs_total counter\n")
    );
    // A hostile name stays one line, and one label.
    assert!(plain.contains(r#"fdtide_tables{comm="a\"b\\c\\x0a{d=\"e\"}"} 1"#), "{plain}");
    let bytes = encode(all(&run), run.scrape.since_unix_ns, Form::Protobuf).unwrap();
    assert!(bytes.len() > 1000);
}

#[test]
fn nothing_tells_a_path() {
    let run = run();
    let text = String::from_utf8(encode(all(&run), 0, Form::Text).unwrap()).unwrap();
    assert!(!text.contains("/bin/true"), "{text}");
}

#[test]
fn the_exposition_is_what_it_was() {
    let run = run();
    for (name, form) in [("metrics.txt", Form::Text), ("openmetrics.txt", Form::OpenMetrics)] {
        let path = format!("{}/src/metrics/golden/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = String::from_utf8(encode(all(&run), run.scrape.since_unix_ns, form).unwrap()).unwrap();
        // The version is not.
        let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        if std::env::var_os("FDTIDE_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == golden, "{name} has changed: look at the difference after FDTIDE_BLESS=1\n{text}");
    }
}

#[test]
fn metrics_have_their_page() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/metrics.md");
    if std::env::var_os("FDTIDE_BLESS").is_some() {
        std::fs::write(path, metrics_page::markdown()).unwrap();
    }
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(page == metrics_page::markdown(), "docs/metrics.md is not what sink/fields gives: see its head");
}

#[test]
fn a_scrape_grows_old() {
    let run = run();
    let old = families(&run.scrape, false, &[]);
    assert_eq!((sum(&all(&run), "fdtide_up", &[]), sum(&old, "fdtide_up", &[])), (1.0, 0.0));
}
