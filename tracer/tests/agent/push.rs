//! Pushes of an agent that makes only the system calls that are left to it.

use std::{fs, io::Read as _, net::TcpListener, process::Command};

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    metrics::v1::{metric::Data, number_data_point::Value},
};
use prost::Message as _;

use crate::{
    service::Agent,
    support::{
        self,
        fixture::{Fixture, bin},
    },
    world::{accepted, post},
};

/// A fixture that holds descriptors, and an agent that follows it and pushes every second.
fn pushing(protocol: &str, listener: &TcpListener) -> (Fixture, Agent) {
    let mut fixture = Fixture::spawn(Command::new(bin("fd-holder")).args(["--count", "40", "--step"]));
    fixture.next().expect("the line `base`");
    fixture.go();
    fixture.next().expect("the line `holding`");
    let config = format!(
        "[targets]\nfollow = [\"pid:{}\"]\n[otlp]\nendpoint = \"http://localhost:{}\"\nprotocol = \"{protocol}\"\nevery = \"1s\"\n",
        fixture.pid(),
        listener.local_addr().expect("an address").port(),
    );
    let agent = Agent::start(&config);
    agent.until_logged("(seccomp)");
    (fixture, agent)
}

/// The sum of the points of a gauge.
fn gauge(request: &ExportMetricsServiceRequest, name: &str) -> u64 {
    let metrics = request.resource_metrics.iter().flat_map(|all| &all.scope_metrics).flat_map(|scope| &scope.metrics);
    let points = metrics.filter(|metric| metric.name == name).flat_map(|metric| match &metric.data {
        Some(Data::Gauge(gauge)) => &gauge.data_points,
        other => panic!("{name}: {other:?}"),
    });
    let value = |value: &Option<Value>| match value {
        Some(Value::AsInt(value)) => *value as u64,
        Some(Value::AsDouble(value)) => *value as u64,
        None => panic!("{name} has no value"),
    };
    points.map(|point| value(&point.value)).sum()
}

#[test]
fn metrics_over_http_say_how_many_descriptors_the_kernel_says_are_open() {
    let Some(_kernel) = support::kernel() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (fixture, agent) = pushing("http", &listener);
    let open = fs::metadata(format!("/proc/{}/fd", fixture.pid())).expect("it lives").len();
    let (head, body) = post(&listener);
    assert!(head.starts_with("post /v1/metrics "), "{head}");
    let request = ExportMetricsServiceRequest::decode(&*body).expect("a request");
    assert_eq!(gauge(&request, "fdtide_open_descriptors"), open);
    assert_eq!(gauge(&request, "fdtide_processes"), 1);
    drop(listener);
    agent.end();
}

#[test]
fn a_collector_that_speaks_grpc_is_called() {
    let Some(_kernel) = support::kernel() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (_fixture, agent) = pushing("grpc", &listener);
    let mut begins = [0; 24];
    accepted(&listener).read_exact(&mut begins).expect("a connection's preface");
    assert_eq!(&begins, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    drop(listener);
    agent.end();
}
