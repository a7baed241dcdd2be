//! Metrics in the words of OTLP.
//!
//! Names are those of Prometheus without `_total` and `_info`, so that a collector that hands them on to Prometheus comes to
//! the names of the endpoint.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value},
    metrics::v1::{
        AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram,
        HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
        exponential_histogram_data_point::Buckets, metric::Data, number_data_point,
    },
    resource::v1::Resource,
};

use crate::{
    metrics::{
        config::Histograms,
        families::{Family, Value},
    },
    model::meter::{Distribution, SCHEMA},
    sink::fields::metrics::MetricKind,
};

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// A push of these metrics.
#[must_use]
pub fn metrics(families: &[Family], at: Moment, form: Histograms, resource: &Resource) -> ExportMetricsServiceRequest {
    let metrics = families.iter().map(|family| metric(family, at, form)).collect();
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics, ..ScopeMetrics::default() }];
    let resource = Some(resource.clone());
    let resource_metrics = vec![ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() }];
    ExportMetricsServiceRequest { resource_metrics }
}

/// When figures are from, nanoseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// Start of counting.
    pub since_ns: u64,
    /// The moment of the figures.
    pub at_ns: u64,
}

/// Who pushes.
#[must_use]
pub fn resource(host: &str, more: &BTreeMap<String, String>) -> Resource {
    let own = [("service.name", "fdtide"), ("service.version", env!("CARGO_PKG_VERSION")), ("host.name", host)];
    let own = own.into_iter().filter(|(key, value)| !value.is_empty() && !more.contains_key(*key));
    let mut attributes: Vec<KeyValue> = own.map(|(key, value)| text(key, value)).collect();
    attributes.extend(more.iter().map(|(key, value)| text(key, value)));
    Resource { attributes, ..Resource::default() }
}

/// What makes the figures.
#[must_use]
pub fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "fdtide".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

/// An attribute.
#[must_use]
pub fn attribute(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// An attribute that is a text.
#[must_use]
pub fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, any_value::Value::StringValue(value.to_owned()))
}

fn metric(family: &Family, at: Moment, form: Histograms) -> Metric {
    let metric = family.metric;
    let name = metric.name();
    let name = name.strip_suffix("_total").or(name.strip_suffix("_info")).unwrap_or(&name);
    let unit = match (metric.kind, metric.unit) {
        (MetricKind::Info, _) => "",
        (_, "descriptors") => "{descriptor}",
        (_, "seconds") => "s",
        (_, "bytes") => "By",
        _ => "1",
    };
    let numbers = || family.series.iter().map(|(labels, value)| number(metric.labels, labels, value, at)).collect();
    let data = match metric.kind {
        MetricKind::Counter => {
            Data::Sum(Sum { data_points: numbers(), aggregation_temporality: CUMULATIVE, is_monotonic: true })
        }
        MetricKind::Gauge | MetricKind::Info => Data::Gauge(Gauge { data_points: numbers() }),
        MetricKind::Histogram => distributions(family, at, form),
    };
    Metric {
        name: name.to_owned(),
        description: metric.help(),
        unit: unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn attributes(names: &[&str], values: &[String]) -> Vec<KeyValue> {
    names.iter().zip(values).filter(|(_, value)| !value.is_empty()).map(|(name, value)| text(name, value)).collect()
}

fn number(names: &[&str], labels: &[String], value: &Value, at: Moment) -> NumberDataPoint {
    let value = match value {
        Value::Count(count) => number_data_point::Value::AsInt(i64::try_from(*count).unwrap_or(i64::MAX)),
        other => number_data_point::Value::AsDouble(other.number()),
    };
    NumberDataPoint {
        attributes: attributes(names, labels),
        start_time_unix_nano: at.since_ns,
        time_unix_nano: at.at_ns,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn distributions(family: &Family, at: Moment, form: Histograms) -> Data {
    let all = family.series.iter().filter_map(|(labels, value)| match value {
        Value::Distribution(values) => Some((attributes(family.metric.labels, labels), &**values)),
        _ => None,
    });
    match form {
        Histograms::Exponential => Data::ExponentialHistogram(ExponentialHistogram {
            data_points: all.map(|(attributes, values)| exponential(attributes, values, at)).collect(),
            aggregation_temporality: CUMULATIVE,
        }),
        Histograms::Explicit => Data::Histogram(Histogram {
            data_points: all.map(|(attributes, values)| explicit(attributes, values, at)).collect(),
            aggregation_temporality: CUMULATIVE,
        }),
    }
}

fn exponential(attributes: Vec<KeyValue>, values: &Distribution, at: Moment) -> ExponentialHistogramDataPoint {
    let mut buckets = Buckets::default();
    for (index, count) in values.exponential() {
        // OTLP numbers a bucket by its lower end.
        let index = index - 1;
        if buckets.bucket_counts.is_empty() {
            buckets.offset = index;
        }
        let place = usize::try_from(index - buckets.offset).unwrap_or(0);
        buckets.bucket_counts.resize(place, 0);
        buckets.bucket_counts.push(count);
    }
    ExponentialHistogramDataPoint {
        attributes,
        start_time_unix_nano: at.since_ns,
        time_unix_nano: at.at_ns,
        count: values.count,
        sum: Some(values.sum as f64),
        scale: SCHEMA as i32,
        zero_count: values.zeros,
        positive: Some(buckets),
        ..ExponentialHistogramDataPoint::default()
    }
}

fn explicit(attributes: Vec<KeyValue>, values: &Distribution, at: Moment) -> HistogramDataPoint {
    HistogramDataPoint {
        attributes,
        start_time_unix_nano: at.since_ns,
        time_unix_nano: at.at_ns,
        count: values.count,
        sum: Some(values.sum as f64),
        bucket_counts: values.classic().map(|(_, count)| count).collect(),
        explicit_bounds: values.classic().filter_map(|(bound, _)| bound.map(f64::from)).collect(),
        ..HistogramDataPoint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_buckets_lie_where_their_values_are() {
        let mut values = Distribution::default();
        [0, 1, 2, 3, 3, 1000].into_iter().for_each(|value| values.add(value));
        let point = exponential(Vec::new(), &values, Moment::default());
        let buckets = point.positive.unwrap();
        // A bucket of OTLP holds what is above 2^(index/16), and not above 2^((index+1)/16).
        let bound = |index: i32| (f64::from(index) / 16.0).exp2();
        let filled = buckets.bucket_counts.iter().zip(buckets.offset..).filter(|(count, _)| **count > 0);
        let expected = [(1, 1.0), (1, 2.0), (2, 3.0), (1, 1000.0)];
        for ((count, index), (wanted, value)) in filled.clone().zip(expected) {
            assert_eq!(*count, wanted);
            assert!(bound(index) < value && value <= bound(index + 1), "{index} {value}");
        }
        assert_eq!((filled.count(), point.zero_count, point.count, point.sum), (4, 1, 6, Some(1009.0)));
    }

    #[test]
    fn the_resource_says_what_the_configuration_says() {
        let more = BTreeMap::from([("service.name".to_owned(), "tide".to_owned())]);
        let resource = resource("host-7", &more);
        let keys: Vec<&str> = resource.attributes.iter().map(|attribute| attribute.key.as_str()).collect();
        assert_eq!(keys, ["service.version", "host.name", "service.name"]);
    }
}
