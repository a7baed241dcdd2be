//! The push, against a collector in this process, over loopback.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    future::Future,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    service::TowerToHyperService,
};
use opentelemetry_proto::tonic::{
    collector::{
        logs::v1::{
            ExportLogsPartialSuccess, ExportLogsServiceRequest, ExportLogsServiceResponse,
            logs_service_server::{LogsService, LogsServiceServer},
        },
        metrics::v1::{
            ExportMetricsServiceRequest, ExportMetricsServiceResponse,
            metrics_service_server::{MetricsService, MetricsServiceServer},
        },
    },
    common::v1::{KeyValue, any_value},
    logs::v1::LogRecord,
    metrics::v1::{Metric, metric::Data, number_data_point},
};
use prost::Message as _;
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle, time::timeout};
use tokio_rustls::TlsAcceptor;
use tonic::Status;

use super::{
    Push,
    events::{Happened, Telling},
    queue::Queue,
};
use crate::{
    metrics::{
        Published, Tally,
        config::{Histograms, Otlp, Protocol},
        endpoint_tests::certify,
        testing::run,
        tls,
    },
    model::meter::Failed,
};

/// What came, and how it is answered.
#[derive(Default)]
struct Collector {
    metrics: Mutex<Vec<Metric>>,
    pushes: AtomicU64,
    logs: Mutex<Vec<LogRecord>>,
    tokens: Mutex<Vec<String>>,
    /// So many pushes are refused before one is taken.
    busy: AtomicU64,
    /// Pushes are refused for good.
    closed: AtomicBool,
    /// So many events of each push are rejected.
    rejects: AtomicU64,
    came: Notify,
    tls: Option<TlsAcceptor>,
}

enum Answer {
    Taken,
    Busy,
    Closed,
}

impl Collector {
    fn answer(&self, token: Option<&str>) -> Answer {
        self.tokens.lock().unwrap().extend(token.map(str::to_owned));
        self.pushes.fetch_add(1, SeqCst);
        self.came.notify_one();
        let busy = self.busy.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
        match (self.closed.load(SeqCst), busy) {
            (true, _) => Answer::Closed,
            (_, true) => Answer::Busy,
            _ => Answer::Taken,
        }
    }

    fn take_metrics(&self, request: ExportMetricsServiceRequest) -> ExportMetricsServiceResponse {
        let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        *self.metrics.lock().unwrap() = scopes.flat_map(|scope| scope.metrics).collect();
        ExportMetricsServiceResponse::default()
    }

    fn take_logs(&self, request: ExportLogsServiceRequest) -> ExportLogsServiceResponse {
        let scopes = request.resource_logs.into_iter().flat_map(|resource| resource.scope_logs);
        self.logs.lock().unwrap().extend(scopes.flat_map(|scope| scope.log_records));
        let rejected = self.rejects.load(SeqCst) as i64;
        let error_message = "too much of it".to_owned();
        let partial = ExportLogsPartialSuccess { rejected_log_records: rejected, error_message };
        ExportLogsServiceResponse { partial_success: (rejected > 0).then_some(partial) }
    }

    fn grpc<T>(&self, request: tonic::Request<T>) -> Result<T, Status> {
        let token = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        match self.answer(token) {
            Answer::Taken => Ok(request.into_inner()),
            Answer::Busy => Err(Status::unavailable("busy")),
            Answer::Closed => Err(Status::unauthenticated("who are you?")),
        }
    }

    async fn http(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let token = request.headers().get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let mut response = Response::new(Full::default());
        match self.answer(token.as_deref()) {
            Answer::Taken => {
                let bytes = match path.as_str() {
                    "/v1/metrics" => {
                        self.take_metrics(ExportMetricsServiceRequest::decode(body).unwrap()).encode_to_vec()
                    }
                    "/v1/logs" => self.take_logs(ExportLogsServiceRequest::decode(body).unwrap()).encode_to_vec(),
                    other => panic!("{other}"),
                };
                *response.body_mut() = Full::from(bytes);
            }
            Answer::Busy => {
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response.headers_mut().insert("retry-after", "0".parse().unwrap());
            }
            Answer::Closed => *response.status_mut() = StatusCode::UNAUTHORIZED,
        }
        Ok(response)
    }

    /// Answers at this address until the handle is aborted.
    async fn serve(self: &Arc<Self>, protocol: Protocol, address: SocketAddr) -> (SocketAddr, JoinHandle<()>) {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let collector = Arc::clone(self);
        let handle = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let collector = Arc::clone(&collector);
                connections.spawn(async move {
                    let io: Box<dyn Stream> = match &collector.tls {
                        None => Box::new(stream),
                        Some(acceptor) => match acceptor.accept(stream).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => return,
                        },
                    };
                    let io = TokioIo::new(io);
                    match protocol {
                        Protocol::Http => {
                            let service = service_fn(move |request| Arc::clone(&collector).http(request));
                            let _ = http1::Builder::new().serve_connection(io, service).await;
                        }
                        Protocol::Grpc => {
                            let service = TowerToHyperService::new(Both(collector));
                            let _ = http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await;
                        }
                    }
                });
            }
        });
        (address, handle)
    }
}

/// A connection, plain or not.
trait Stream: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin {}

impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> Stream for T {}

#[derive(Clone)]
struct Grpc(Arc<Collector>);

#[tonic::async_trait]
impl MetricsService for Grpc {
    async fn export(
        &self,
        request: tonic::Request<ExportMetricsServiceRequest>,
    ) -> Result<tonic::Response<ExportMetricsServiceResponse>, Status> {
        self.0.grpc(request).map(|request| tonic::Response::new(self.0.take_metrics(request)))
    }
}

#[tonic::async_trait]
impl LogsService for Grpc {
    async fn export(
        &self,
        request: tonic::Request<ExportLogsServiceRequest>,
    ) -> Result<tonic::Response<ExportLogsServiceResponse>, Status> {
        self.0.grpc(request).map(|request| tonic::Response::new(self.0.take_logs(request)))
    }
}

/// Both services at one address.
#[derive(Clone)]
struct Both(Arc<Collector>);

impl tonic::codegen::Service<Request<Incoming>> for Both {
    type Response = Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let services = Grpc(Arc::clone(&self.0));
        if request.uri().path().contains("LogsService") {
            LogsServiceServer::new(services).call(request)
        } else {
            MetricsServiceServer::new(services).call(request)
        }
    }
}

struct Pushing {
    push: Push,
    queue: Queue,
    tally: Tally,
}

fn pushing(config: Otlp) -> Pushing {
    let (published, tally) = (Published::default(), Tally::default());
    let run = run();
    published.publish(run.scrape);
    let queue = Queue::new(config.waiting, tally.clone());
    let telling = Telling { anchor: run.report.anchor, paths: config.paths };
    let push = Push::new(&config, "host-7", telling, published, queue.clone(), tally.clone()).unwrap();
    Pushing { push, queue, tally }
}

fn config(protocol: Protocol, address: SocketAddr) -> Otlp {
    Otlp {
        endpoint: Some(format!("http://{address}")),
        protocol,
        every: Duration::from_millis(200),
        timeout: Duration::from_secs(5),
        ..Otlp::default()
    }
}

fn counted(tally: &Tally, labels: &[&str]) -> u64 {
    let figures = tally.figures();
    let pushes = figures.iter().filter(|figure| figure.name.starts_with("fdtide_otlp_"));
    let found: Vec<u64> = pushes.filter(|figure| figure.labels == labels).map(|figure| figure.value as u64).collect();
    assert_eq!(found.len(), 1, "{labels:?}");
    found[0]
}

/// So many events, with counts from 0 on.
fn failed(count: u64) -> impl Iterator<Item = Happened> {
    let failed: Failed = run().failed[0].clone();
    (0..count).map(move |count| {
        let mut failed = failed.clone();
        failed.row.count = count;
        Happened::Failed(Box::new(failed))
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Pushes until `done`, for twenty seconds at most.
async fn until(push: &mut Push, done: impl Fn() -> bool) {
    let wait = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), async {
        tokio::select! {
            never = push.run() => match never {},
            () = wait => {}
        }
    })
    .await
    .expect("it did not come to that");
}

fn with<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a any_value::Value> {
    attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?.value.as_ref()
}

fn integer(attributes: &[KeyValue], key: &str) -> Option<i64> {
    match with(attributes, key)? {
        any_value::Value::IntValue(value) => Some(*value),
        _ => None,
    }
}

/// The sum of a metric's points.
fn sum(metrics: &[Metric], name: &str) -> f64 {
    let metric = metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}"));
    let points = match metric.data.as_ref().unwrap() {
        Data::Sum(sum) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == 2, "{name}");
            &sum.data_points
        }
        Data::Gauge(gauge) => &gauge.data_points,
        other => panic!("{name}: {other:?}"),
    };
    let value = |value: &number_data_point::Value| match value {
        number_data_point::Value::AsInt(value) => *value as f64,
        number_data_point::Value::AsDouble(value) => *value,
    };
    points.iter().map(|point| value(point.value.as_ref().unwrap())).sum()
}

fn metrics_and_events_arrive(protocol: Protocol, histograms: Histograms) {
    runtime().block_on(async {
        let collector = Arc::new(Collector::default());
        let (address, server) = collector.serve(protocol, ([127, 0, 0, 1], 0).into()).await;
        let token = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(token.path(), "s3cret").unwrap();
        let token_file = Some(token.path().to_owned());
        let mut all = pushing(Otlp { token_file, histograms, ..config(protocol, address) });
        let run = run();
        for record in run.report.execs.iter().cloned() {
            all.queue.push(Happened::Exec(Box::new(record)));
        }
        run.failed.iter().cloned().for_each(|failed| all.queue.push(Happened::Failed(Box::new(failed))));
        let queue = all.queue.clone();
        until(&mut all.push, || queue.is_empty() && !collector.metrics.lock().unwrap().is_empty()).await;
        server.abort();

        let metrics = collector.metrics.lock().unwrap();
        let report = &run.report;
        let tables = |of: fn(&crate::model::report::TableRow) -> Option<u64>| {
            report.tables.iter().filter_map(of).sum::<u64>() as f64
        };
        let live = tables(|row| row.live.map(u64::from));
        assert_eq!(sum(&metrics, "fdtide_open_descriptors"), live);
        assert_eq!(sum(&metrics, "fdtide_installs") - sum(&metrics, "fdtide_closes"), live);
        assert_eq!(sum(&metrics, "fdtide_execs"), report.execs.iter().filter(|record| record.seq > 0).count() as f64);
        assert_eq!(sum(&metrics, "fdtide_failures"), 6.0);
        assert_eq!(sum(&metrics, "process_cpu_seconds"), 1.041);
        let high = metrics.iter().find(|metric| metric.name == "fdtide_exec_high_water_descriptors").unwrap();
        let highs: f64 = report.execs.iter().filter_map(|record| record.spawn_window.high_water).map(f64::from).sum();
        match high.data.as_ref().unwrap() {
            Data::ExponentialHistogram(all) if histograms == Histograms::Exponential => {
                let point = &all.data_points[0];
                assert_eq!((point.count, point.sum), (20, Some(highs)));
                assert_eq!(point.positive.as_ref().unwrap().bucket_counts.iter().sum::<u64>(), 20);
            }
            Data::Histogram(all) if histograms == Histograms::Explicit => {
                let point = &all.data_points[0];
                assert_eq!((point.count, point.sum), (20, Some(highs)));
                assert_eq!((point.bucket_counts.iter().sum::<u64>(), point.bucket_counts.len()), (20, 15));
            }
            other => panic!("{other:?}"),
        }

        let logs = collector.logs.lock().unwrap();
        let of = |name: &str| logs.iter().filter(|log| log.event_name == name).cloned().collect::<Vec<_>>();
        let (execs, failures) = (of("fdtide.exec"), of("fdtide.failure"));
        assert_eq!(execs.len(), report.execs.len());
        for (log, record) in execs.iter().zip(&report.execs) {
            assert_eq!(log.time_unix_nano, report.anchor.wall_unix_ns + record.at_ns - report.anchor.boot_ns);
            let high = record.spawn_window.high_water.map(i64::from);
            assert_eq!(integer(&log.attributes, "fdtide.spawn_window.high_water"), high);
            assert_eq!(integer(&log.attributes, "fdtide.seq"), Some(record.seq as i64));
            assert!(with(&log.attributes, "fdtide.path").is_none(), "paths were not asked for");
        }
        let counts: Vec<_> = failures.iter().map(|log| integer(&log.attributes, "fdtide.count")).collect();
        assert_eq!(counts, [Some(4), Some(2)]);
        assert_eq!(counted(&all.tally, &["logs", "ok"]), 1);
        assert!(collector.tokens.lock().unwrap().iter().all(|token| token == "Bearer s3cret"));
        assert!(collector.tokens.lock().unwrap().len() > 1);
    });
}

#[test]
fn metrics_and_events_arrive_over_grpc_as_the_report_has_them() {
    metrics_and_events_arrive(Protocol::Grpc, Histograms::Exponential);
}

#[test]
fn metrics_and_events_arrive_over_http_as_the_report_has_them() {
    metrics_and_events_arrive(Protocol::Http, Histograms::Explicit);
}

#[test]
fn a_collector_that_is_not_there_costs_a_bounded_queue_and_gets_it_all_once_it_is() {
    runtime().block_on(async {
        let collector = Arc::new(Collector::default());
        let (address, server) = collector.serve(Protocol::Http, ([127, 0, 0, 1], 0).into()).await;
        server.abort();
        let _ = server.await;
        let mut all = pushing(Otlp { waiting: 1000, ..config(Protocol::Http, address) });
        failed(10_000).for_each(|event| all.queue.push(event));
        assert_eq!((all.queue.len(), counted(&all.tally, &["no room"])), (1000, 9000));
        let tally = all.tally.clone();
        until(&mut all.push, || {
            counted(&tally, &["logs", "failed"]) >= 2 && counted(&tally, &["metrics", "failed"]) >= 2
        })
        .await;
        assert_eq!(all.queue.len(), 1000);
        let (_, server) = collector.serve(Protocol::Http, address).await;
        let queue = all.queue.clone();
        until(&mut all.push, || queue.is_empty()).await;
        server.abort();
        let logs = collector.logs.lock().unwrap();
        let counts: Vec<_> = logs.iter().filter_map(|log| integer(&log.attributes, "fdtide.count")).collect();
        assert_eq!(counts, (0..1000).collect::<Vec<i64>>(), "each once, in their order");
    });
}

#[test]
fn a_busy_collector_is_asked_again_and_one_that_refuses_is_not() {
    for protocol in [Protocol::Grpc, Protocol::Http] {
        runtime().block_on(async {
            let collector = Arc::new(Collector::default());
            let (address, server) = collector.serve(protocol, ([127, 0, 0, 1], 0).into()).await;
            let mut all = pushing(Otlp { every: Duration::from_secs(3600), ..config(protocol, address) });
            // The metrics, pushed first, are one of them.
            collector.busy.store(2, SeqCst);
            failed(1).for_each(|event| all.queue.push(event));
            let queue = all.queue.clone();
            until(&mut all.push, || queue.is_empty()).await;
            assert_eq!(counted(&all.tally, &["logs", "failed"]), 1, "{protocol:?}");
            collector.closed.store(true, SeqCst);
            failed(1).for_each(|event| all.queue.push(event));
            until(&mut all.push, || queue.is_empty()).await;
            assert_eq!(counted(&all.tally, &["logs", "given up"]), 1);
            assert_eq!(counted(&all.tally, &["refused"]), 1);
            assert_eq!(collector.logs.lock().unwrap().len(), 1);
            server.abort();
        });
    }
}

#[test]
fn what_a_collector_rejects_of_a_push_is_counted() {
    runtime().block_on(async {
        let collector = Arc::new(Collector::default());
        collector.rejects.store(3, SeqCst);
        let (address, server) = collector.serve(Protocol::Grpc, ([127, 0, 0, 1], 0).into()).await;
        let mut all = pushing(config(Protocol::Grpc, address));
        failed(5).for_each(|event| all.queue.push(event));
        let queue = all.queue.clone();
        until(&mut all.push, || queue.is_empty()).await;
        assert_eq!(counted(&all.tally, &["refused"]), 3);
        server.abort();
    });
}

#[test]
fn the_end_pushes_what_there_is_and_waits_for_nobody() {
    runtime().block_on(async {
        let collector = Arc::new(Collector::default());
        let (address, server) = collector.serve(Protocol::Grpc, ([127, 0, 0, 1], 0).into()).await;
        let mut all = pushing(Otlp { every: Duration::from_secs(3600), ..config(Protocol::Grpc, address) });
        failed(1200).for_each(|event| all.queue.push(event));
        all.push.finish(Duration::from_secs(10)).await;
        assert_eq!(collector.logs.lock().unwrap().len(), 1200);
        assert!(!collector.metrics.lock().unwrap().is_empty());
        server.abort();

        // A listener that never answers.
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut all = pushing(config(Protocol::Http, silent.local_addr().unwrap()));
        failed(1).for_each(|event| all.queue.push(event));
        let begun = std::time::Instant::now();
        all.push.finish(Duration::from_millis(300)).await;
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    });
}

#[test]
fn over_tls_only_a_collector_that_its_authority_vouches_for_gets_anything() {
    let folder = tempfile::TempDir::new().unwrap();
    let files = certify(folder.path());
    for (protocol, application) in [(Protocol::Http, "http/1.1"), (Protocol::Grpc, "h2")] {
        runtime().block_on(async {
            let mut server = (**tls::acceptor(&files).unwrap().config()).clone();
            server.alpn_protocols = vec![application.as_bytes().to_vec()];
            let tls = Some(TlsAcceptor::from(Arc::new(server)));
            let collector = Arc::new(Collector { tls, ..Collector::default() });
            let (address, server) = collector.serve(protocol, ([127, 0, 0, 1], 0).into()).await;
            let endpoint = Some(format!("https://localhost:{}", address.port()));
            let trusted = Otlp { endpoint, ca_file: Some(files.certificate.clone()), ..config(protocol, address) };
            let other = tempfile::TempDir::new().unwrap();
            let stranger = Otlp { ca_file: Some(certify(other.path()).certificate), ..trusted.clone() };
            let mut all = pushing(stranger);
            let tally = all.tally.clone();
            until(&mut all.push, || counted(&tally, &["metrics", "failed"]) > 0).await;
            assert_eq!(collector.pushes.load(SeqCst), 0, "{protocol:?}");
            let mut all = pushing(trusted);
            until(&mut all.push, || !collector.metrics.lock().unwrap().is_empty()).await;
            server.abort();
        });
    }
}

#[test]
fn attributes_of_the_resource_are_sent_along() {
    let more = BTreeMap::from([("deployment.environment.name".to_owned(), "test".to_owned())]);
    let resource = super::convert::resource("host-7", &more);
    assert_eq!(resource.attributes.len(), 4);
}
