//! The two ways to a collector: gRPC and HTTP.

use std::{error::Error, time::Duration};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Method, Request, StatusCode, Uri,
    body::Bytes,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use opentelemetry_proto::tonic::collector::{
    logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse, logs_service_client::LogsServiceClient},
    metrics::v1::{
        ExportMetricsServiceRequest, ExportMetricsServiceResponse, metrics_service_client::MetricsServiceClient,
    },
};
use tonic::{
    Code, Status,
    metadata::MetadataMap,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint},
};

use crate::metrics::{
    MetricsError,
    config::{Otlp, Protocol},
    tls::{self, Token},
};

/// The key that names the collector.
const ENDPOINT: &str = "otlp.endpoint";
/// The key that names certificate authorities.
const CA_FILE: &str = "otlp.ca_file";

/// An answer of a collector is short.
const ANSWER: usize = 64 << 10;

/// The way to a collector.
pub enum Transport {
    /// gRPC.
    Grpc(Channel, MetadataMap),
    /// Protobuf over HTTP.
    Http(Box<Http>),
}

/// HTTP.
pub struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: String,
    headers: HeaderMap,
    timeout: Duration,
}

/// What the collector has not taken of a push that arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// How many events, or points.
    pub count: u64,
    /// Why.
    pub why: String,
}

/// A push that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whether it may succeed later.
    pub again: bool,
    /// The collector asks for this much patience.
    pub after: Option<Duration>,
    /// What happened.
    pub why: String,
}

impl Transport {
    /// Gets ready; nothing is sent yet. Needs an entered runtime.
    ///
    /// # Errors
    ///
    /// When the configuration can't be used.
    pub fn new(config: &Otlp) -> Result<Transport, MetricsError> {
        config.check()?;
        let endpoint = config.endpoint.clone().unwrap_or_default();
        let headers = headers(config)?;
        match config.protocol {
            Protocol::Grpc => {
                grpc(config, endpoint).map(|channel| Transport::Grpc(channel, MetadataMap::from_headers(headers)))
            }
            Protocol::Http => Http::new(config, endpoint, headers).map(|http| Transport::Http(Box::new(http))),
        }
    }

    /// Pushes metrics.
    ///
    /// # Errors
    ///
    /// When they did not arrive.
    pub async fn metrics(&self, request: ExportMetricsServiceRequest) -> Result<Rejected, Failure> {
        let answer: ExportMetricsServiceResponse = match self {
            Transport::Grpc(channel, headers) => {
                let mut client = MetricsServiceClient::new(channel.clone());
                client.export(with(headers, request)).await.map_err(refused)?.into_inner()
            }
            Transport::Http(http) => http.post("/v1/metrics", &request).await?,
        };
        let partial = answer.partial_success.unwrap_or_default();
        Ok(Rejected { count: count(partial.rejected_data_points), why: partial.error_message })
    }

    /// Pushes events.
    ///
    /// # Errors
    ///
    /// When they did not arrive.
    pub async fn logs(&self, request: ExportLogsServiceRequest) -> Result<Rejected, Failure> {
        let answer: ExportLogsServiceResponse = match self {
            Transport::Grpc(channel, headers) => {
                let mut client = LogsServiceClient::new(channel.clone());
                client.export(with(headers, request)).await.map_err(refused)?.into_inner()
            }
            Transport::Http(http) => http.post("/v1/logs", &request).await?,
        };
        let partial = answer.partial_success.unwrap_or_default();
        Ok(Rejected { count: count(partial.rejected_log_records), why: partial.error_message })
    }
}

fn count(rejected: i64) -> u64 {
    u64::try_from(rejected).unwrap_or(0)
}

fn with<T>(headers: &MetadataMap, message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    *request.metadata_mut() = headers.clone();
    request
}

/// Whether the files can be used that the configuration names.
///
/// # Errors
///
/// When one can't be read, or has not what it should have.
pub fn check_files(config: &Otlp) -> Result<(), MetricsError> {
    headers(config)?;
    let is_secure = config.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("https"));
    match &config.ca_file {
        // Nobody reads it for gRPC that is not encrypted.
        Some(path) if is_secure || config.protocol == Protocol::Http => tls::client(CA_FILE, Some(path)).map(drop),
        _ => Ok(()),
    }
}

fn headers(config: &Otlp) -> Result<HeaderMap, MetricsError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &config.headers {
        // Looked at by `Otlp::check`.
        if let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    if let Some(path) = &config.token_file
        && let Ok(mut value) = HeaderValue::from_str(&Token::read("otlp.token_file", path)?.header())
    {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

fn grpc(config: &Otlp, endpoint: String) -> Result<Channel, MetricsError> {
    let secure = endpoint.starts_with("https");
    let problem = |error: tonic::transport::Error| MetricsError::Config {
        key: ENDPOINT,
        what: format!("`{ENDPOINT}` can't be used: {}", chain(&error)),
    };
    let mut endpoint = Endpoint::from_shared(endpoint)
        .map_err(problem)?
        .timeout(config.timeout)
        .connect_timeout(config.timeout)
        .user_agent(concat!("fdtide/", env!("CARGO_PKG_VERSION")))
        .map_err(problem)?;
    if secure {
        let tls = match &config.ca_file {
            None => ClientTlsConfig::new().with_native_roots(),
            Some(path) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(tls::read(CA_FILE, path)?)),
        };
        endpoint = endpoint.tls_config(tls).map_err(problem)?;
    }
    Ok(endpoint.connect_lazy())
}

impl Http {
    fn new(config: &Otlp, endpoint: String, headers: HeaderMap) -> Result<Http, MetricsError> {
        let builder = hyper_rustls::HttpsConnectorBuilder::new();
        let builder = match &config.ca_file {
            // The machine's own authorities are looked for where they are needed: it may have none.
            None if endpoint.starts_with("https") => {
                builder.with_provider_and_native_roots(tls::provider()).map_err(|error| {
                    let what = format!(
                        "no certificate authorities for `{ENDPOINT}`: name a file of them with `{CA_FILE}` ({error})"
                    );
                    MetricsError::Config { key: ENDPOINT, what }
                })?
            }
            file => builder.with_tls_config(tls::client(CA_FILE, file.as_deref())?),
        };
        let connector = builder.https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let base = endpoint.trim_end_matches('/').to_owned();
        Ok(Http { client, base, headers, timeout: config.timeout })
    }

    async fn post<A: prost::Message + Default>(&self, path: &str, message: &impl prost::Message) -> Result<A, Failure> {
        let wrong = |why: String| Failure { again: false, after: None, why };
        let url: Uri =
            format!("{}{path}", self.base).parse().map_err(|_| wrong(format!("`{}` is no URL", self.base)))?;
        let mut request = Request::new(Full::new(Bytes::from(message.encode_to_vec())));
        (*request.method_mut(), *request.uri_mut()) = (Method::POST, url);
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let answered = tokio::time::timeout(self.timeout, async {
            let answer = self.client.request(request).await.map_err(|error| later(chain(&error)))?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, ANSWER).collect().await.map_err(|error| later(chain(&*error)))?;
            Ok((head, body.to_bytes()))
        });
        let (head, body) = answered.await.map_err(|_| later(format!("no answer within {:?}", self.timeout)))??;
        if !head.status.is_success() {
            let again = matches!(
                head.status,
                StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::BAD_GATEWAY
                    | StatusCode::SERVICE_UNAVAILABLE
                    | StatusCode::GATEWAY_TIMEOUT
            );
            let after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            let after = after.map(Duration::from_secs);
            return Err(Failure { again, after, why: format!("the collector answered {}", head.status) });
        }
        A::decode(body).map_err(|error| wrong(format!("the answer is none of a collector: {error}")))
    }
}

/// What may succeed later.
fn later(why: String) -> Failure {
    Failure { again: true, after: None, why }
}

/// Which answers may be others later is laid down by OTLP.
fn refused(status: Status) -> Failure {
    let again = matches!(
        status.code(),
        Code::Cancelled
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unavailable
            | Code::DataLoss
    );
    let cause = status.source().map(|cause| format!(": {}", chain(cause))).unwrap_or_default();
    Failure { again, after: None, why: format!("{}: {}{cause}", status.code(), status.message()) }
}

/// An error with its causes.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
