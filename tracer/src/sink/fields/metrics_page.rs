//! The page that tells all of the metrics.

use super::metrics::{METRICS, MetricKind};

/// The whole of `docs/metrics.md`.
pub fn markdown() -> String {
    let mut text = String::from(INTRODUCTION);
    for section in METRICS {
        text.push_str(&format!(
            "\n### {}\n\n| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n",
            section.title
        ));
        for metric in section.metrics {
            let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
            let kind = match (metric.kind, metric.unit) {
                (MetricKind::Info, _) | (_, "") => metric.kind.name().to_owned(),
                (kind, unit) => format!("{}, {unit}", kind.name()),
            };
            text.push_str(&format!("| `{}` | {kind} | {} | {} |\n", metric.name(), labels.join(" "), metric.help()));
        }
    }
    text
}

const INTRODUCTION: &str = r#"# Metrics

What `fdtide agent` tells Prometheus and OTLP collectors. The figures are those of the report (`docs/fields.md`), kept by name of the
process and container. This file is written from `tracer/src/sink/fields` by `FDTIDE_BLESS=1 cargo test -p fdtide --lib metrics`.

## Prometheus

```toml
[metrics]
enabled = true
# listen = "127.0.0.1:9794"
# token_file = "/etc/fdtide/metrics.token"
# tls = { certificate = "/etc/fdtide/cert.pem", key = "/etc/fdtide/key.pem" }
# label_sets = 100
# per_process = 0
```

- `/metrics` has Prometheus text, OpenMetrics, and protobuf with native histograms, whatever the client asks for. `/healthz` answers 200
  while the agent looks at the kernel; it names nothing and needs no token.
- Only this machine reaches the endpoint unless `listen` says otherwise. An address that others reach needs a `token_file`, or
  `anyone = true`. The files are read at the start.
- Figures are at most a second old. A scrape reads what the agent has published: it costs the traced programs nothing, however often.
- No label has a path. `comm` is the name of a process as the kernel has it, `container` the name of its container, or its short id.
  `pid` is a label of the metrics per process only, which `per_process` turns on.
- Labels are bounded. What finds no place among `label_sets` is counted under `comm="other"`, and `fdtide_label_overflows_total` says how
  often. A set whose tables have all gone gives its place to a new one after ten minutes.
- A counter is booked under the name that a process has at that time: what a child does before its exec is its parent's. No counter
  falls when a process ends or takes another name.
- `fdtide_installs_total` less `fdtide_closes_total`, over all labels, is `fdtide_open_descriptors`.
- Distributions have classic buckets, and in protobuf exponential ones (schema 4, a quantile within 5 %). Prometheus takes those with
  `--enable-feature=native-histograms`, or from 3.9 on with `scrape_native_histograms: true`.

Scraping it, with the rules and the dashboard of `deploy/`:

```yaml
rule_files: [fdtide.rules.yml]
scrape_configs:
  - job_name: fdtide
    static_configs: [{targets: ["127.0.0.1:9794"]}]
```

| rule | fires |
| --- | --- |
| `FdtideHeadroomLow` | a table had less than 20 % of its soft limit left within five minutes |
| `FdtideDescriptorsRefused` | a program was refused descriptors with EMFILE |
| `FdtideGrowthPerExec` | a table grows in one kind from exec to exec |
| `FdtideListenerLost` | a listening socket went with a failed accept |
| `FdtideOrphans` | processes have outlived their spawner for a quarter of an hour |
| `FdtideBlind` | records were lost, runs of hooks missed, or the agent does not look at the kernel |
| `FdtideDown` | the agent can't be scraped |

## OTLP

```toml
[otlp]
endpoint = "http://localhost:4317"
# protocol = "grpc"            # or "http", which adds /v1/metrics and /v1/logs
# every = "60s"
# timeout = "10s"
# headers = { x-scope = "team-a" }
# token_file = "/etc/fdtide/otlp.token"
# ca_file = "/etc/fdtide/collector-ca.pem"   # for https, in the place of the machine's own authorities
# resource = { "deployment.environment.name" = "prod" }
# histograms = "exponential"   # or "explicit"
# failures = true
# execs = false
# waiting = 2048
# paths = false
```

- Metrics have the same names without `_total` and `_info`, are cumulative, and count from the start of the agent. Of a push that fails
  nothing is kept: the next one tells more.
- Failures, and with `execs` exec records, are log events `fdtide.failure` and `fdtide.exec`; their attributes are the report's keys after
  `fdtide.`. Up to `waiting` of them wait for a collector, in their order. Those that find no room are dropped, and counted in
  `fdtide_otlp_dropped_events_total`.
- A collector that is down is tried again after one second, then after longer times up to a minute; one that answers that it will never
  have something is not asked for it again.

## Metrics
"#;
