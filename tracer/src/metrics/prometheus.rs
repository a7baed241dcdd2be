//! The exposition formats of Prometheus: text, OpenMetrics, and protobuf, which alone has native histograms.

use std::{
    collections::HashMap,
    fmt,
    time::{Duration, SystemTime},
};

use prometheus_client::{
    collector::Collector,
    encoding::{
        DescriptorEncoder, EncodeLabel as _, EncodeLabelSet, LabelSetEncoder, MetricEncoder, NativeHistogram,
        NativeHistogramBuckets, prometheus_protobuf, prometheus_text, text,
    },
    metrics::{MetricType, exemplar::Exemplar},
    registry::{Registry, Unit},
};

use super::families::{Family, Value};
use crate::{
    model::meter::{Distribution, SCHEMA},
    sink::fields::metrics::MetricKind,
};

/// A form that metrics can be had in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Prometheus text 0.0.4.
    Text,
    /// OpenMetrics text 1.0.0.
    OpenMetrics,
    /// Length-delimited `io.prometheus.client.MetricFamily` messages.
    Protobuf,
}

impl Form {
    /// What the client likes best of what there is, by its Accept header.
    #[must_use]
    pub fn accepted(accept: &str) -> Form {
        let mut best = (0, Form::Text);
        for part in accept.split(',') {
            let mut words = part.split(';').map(str::trim);
            let media = words.next().unwrap_or_default().to_ascii_lowercase();
            let parameters: HashMap<&str, &str> = words.filter_map(|word| word.split_once('=')).collect();
            let is = |key: &str, value: &str| parameters.get(key).is_some_and(|found| found.trim_matches('"') == value);
            let form = match media.as_str() {
                "application/vnd.google.protobuf"
                    if is("proto", "io.prometheus.client.MetricFamily") && is("encoding", "delimited") =>
                {
                    Form::Protobuf
                }
                "application/openmetrics-text" if is("version", "1.0.0") || !parameters.contains_key("version") => {
                    Form::OpenMetrics
                }
                "text/plain" | "text/*" | "*/*" => Form::Text,
                _ => continue,
            };
            let weight = parameters.get("q").map_or(1.0, |q| q.parse::<f64>().unwrap_or(0.0));
            let weight = (weight.clamp(0.0, 1.0) * 1000.0) as u32;
            if weight > best.0 {
                best = (weight, form);
            }
        }
        best.1
    }

    /// Its media type.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Form::Text => prometheus_text::CONTENT_TYPE,
            Form::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Form::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }
}

/// Writes metrics in a form. `since_unix_ns` is when counting began.
///
/// # Errors
///
/// When the exporter library refuses something, which it has no reason to.
pub fn encode(families: Vec<Family>, since_unix_ns: u64, form: Form) -> Result<Vec<u8>, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(All { families, since_unix_ns }));
    let mut written = String::new();
    match form {
        Form::Protobuf => return prometheus_protobuf::encode_to_vec(&registry).map_err(|_| fmt::Error),
        Form::OpenMetrics => text::encode(&mut written, &registry)?,
        Form::Text => prometheus_text::encode(&mut written, &registry)?,
    }
    Ok(written.into_bytes())
}

#[derive(Debug)]
struct All {
    families: Vec<Family>,
    since_unix_ns: u64,
}

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        for family in &self.families {
            let metric = family.metric;
            let unit = (!metric.unit.is_empty()).then(|| Unit::Other(metric.unit.to_owned()));
            let kind = match metric.kind {
                MetricKind::Counter => MetricType::Counter,
                MetricKind::Gauge => MetricType::Gauge,
                MetricKind::Histogram => MetricType::Histogram,
                MetricKind::Info => MetricType::Info,
            };
            let help = metric.help();
            let mut encoder = encoder.encode_descriptor(metric.base, &help, unit.as_ref(), kind)?;
            for (values, value) in &family.series {
                let labels = Labels { names: metric.labels, values };
                if metric.kind == MetricKind::Info {
                    encoder.encode_info(&labels)?;
                } else if metric.labels.is_empty() {
                    self.value(&mut encoder, metric.kind, value)?;
                } else {
                    self.value(&mut encoder.encode_family(&labels)?, metric.kind, value)?;
                }
            }
        }
        Ok(())
    }
}

/// For metrics without exemplars.
type No<'a, T> = Option<&'a Exemplar<Labels<'a>, T>>;

impl All {
    fn value(&self, encoder: &mut MetricEncoder<'_>, kind: MetricKind, value: &Value) -> fmt::Result {
        match (kind, value) {
            (_, Value::Distribution(values)) => self.distribution(encoder, values),
            (MetricKind::Counter, Value::Count(count)) => encoder.encode_counter(count, None as No<'_, f64>),
            (MetricKind::Counter, Value::Level(level)) => encoder.encode_counter(level, None as No<'_, f64>),
            (_, Value::Count(count)) => encoder.encode_gauge(count),
            (_, Value::Level(level)) => encoder.encode_gauge(level),
        }
    }

    fn distribution(&self, encoder: &mut MetricEncoder<'_>, values: &Distribution) -> fmt::Result {
        let bound = |bound: Option<u32>| bound.map_or(f64::INFINITY, f64::from);
        let classic: Vec<(f64, u64)> = values.classic().map(|(bucket, count)| (bound(bucket), count)).collect();
        let (spans, deltas) = sparse(values);
        let none = NativeHistogramBuckets { spans: &[], deltas: &[] };
        let native = NativeHistogram {
            schema: SCHEMA as i32,
            // Only 0 itself.
            zero_threshold: 0.0,
            zero_count: values.zeros,
            negative: none,
            positive: NativeHistogramBuckets { spans: &spans, deltas: &deltas },
            created: Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(self.since_unix_ns)),
        };
        encoder.encode_histogram_with_native::<Labels<'_>>(values.sum as f64, values.count, &classic, None, native)
    }
}

/// Runs of buckets that follow each other, each with its distance from the one before, and the differences of their counts.
fn sparse(values: &Distribution) -> (Vec<(i32, u32)>, Vec<i64>) {
    let (mut spans, mut deltas) = (Vec::<(i32, u32)>::new(), Vec::new());
    let (mut next, mut before) = (0, 0);
    for (index, count) in values.exponential() {
        match spans.last_mut() {
            Some((_, length)) if index == next => *length += 1,
            _ => spans.push((index - next, 1)),
        }
        next = index + 1;
        deltas.push(count as i64 - before);
        before = count as i64;
    }
    // No bucket, and a threshold of 0: without a span it would be read as a classic histogram.
    if spans.is_empty() {
        spans.push((0, 0));
    }
    (spans, deltas)
}

#[derive(Debug)]
struct Labels<'a> {
    names: &'a [&'static str],
    values: &'a [String],
}

impl EncodeLabelSet for Labels<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        for (name, value) in self.names.iter().zip(self.values) {
            // An empty label is none.
            if !value.is_empty() {
                (*name, value.as_str()).encode(encoder.encode_label())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_what_the_client_likes_best() {
        let of = Form::accepted;
        assert_eq!(of(""), Form::Text);
        assert_eq!(of("*/*"), Form::Text);
        // As Prometheus 2.42 asks, without native histograms and with them.
        let text = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                    text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(of(text), Form::OpenMetrics);
        let native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
                      application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(of(native), Form::Protobuf);
        assert_eq!(of("text/html, application/xhtml+xml, */*;q=0.8"), Form::Text);
        assert_eq!(of("application/openmetrics-text;version=2.0.0"), Form::Text);
        assert_eq!(of("application/vnd.google.protobuf;proto=other;encoding=delimited"), Form::Text);
        assert_eq!(of("application/openmetrics-text;q=nonsense,;;,=="), Form::Text);
    }

    #[test]
    fn buckets_in_a_row_are_one_span() {
        let mut values = Distribution::default();
        assert_eq!(sparse(&values), (vec![(0, 0)], vec![]));
        [1, 1, 2, 17, 18, 18, 18].into_iter().for_each(|value| values.add(value));
        let indexes: Vec<_> = values.exponential().collect();
        assert_eq!(indexes, [(0, 2), (16, 1), (66, 1), (67, 3)]);
        assert_eq!(sparse(&values), (vec![(0, 1), (15, 1), (49, 2)], vec![2, -1, 0, 2]));
    }
}
