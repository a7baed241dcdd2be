//! The endpoint that Prometheus scrapes.

use std::{
    convert::Infallible,
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{ACCEPT, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use super::{
    MetricsError, Published, Tally,
    config::Metrics,
    families::families,
    prometheus::{self, Form},
    tls::{self, Token},
};

/// Connections at a time.
const CONNECTIONS: usize = 32;
/// A client has this long for its handshake, and for the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// A connection is closed after this time, once what it has asked for is answered.
const LIFE: Duration = Duration::from_secs(60);

/// An endpoint that listens, and is not yet served.
pub struct Endpoint {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    desk: Desk,
}

/// Who answers.
struct Desk {
    token: Option<Token>,
    published: Published,
    tally: Tally,
}

/// What the files have that the configuration names: what clients must show, and what they are shown.
///
/// # Errors
///
/// When one can't be read or used.
pub fn files(config: &Metrics) -> Result<(Option<Token>, Option<TlsAcceptor>), MetricsError> {
    let token = config.token_file.as_deref().map(|path| Token::read("metrics.token_file", path)).transpose()?;
    Ok((token, config.tls.as_ref().map(tls::acceptor).transpose()?))
}

impl Endpoint {
    /// Listens; reads the files that the configuration names.
    ///
    /// # Errors
    ///
    /// When the address or a file can't be used.
    pub fn bind(config: &Metrics, published: Published, tally: Tally) -> Result<Endpoint, MetricsError> {
        config.check()?;
        let (token, tls) = files(config)?;
        let error = |source| MetricsError::Listen { address: config.listen, source };
        let listener = TcpListener::bind(config.listen).map_err(error)?;
        listener.set_nonblocking(true).map_err(error)?;
        Ok(Endpoint { listener, tls, desk: Desk { token, published, tally } })
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// When the kernel does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until it is dropped. Needs an entered runtime.
    ///
    /// # Errors
    ///
    /// When the socket can't be waited for.
    pub async fn serve(self) -> io::Result<Infallible> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let desk = Arc::new(self.desk);
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else { continue };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors, for example: the next client may have more luck.
                    log::warn!("a client of the metrics endpoint could not be heard: {error}");
                    sleep(Duration::from_secs(1)).await;
                    continue;
                }
            };
            let (desk, tls) = (Arc::clone(&desk), self.tls.clone());
            tokio::spawn(async move {
                connection(stream, tls, desk).await;
                drop(place);
            });
        }
    }
}

async fn connection(stream: TcpStream, tls: Option<TlsAcceptor>, desk: Arc<Desk>) {
    match tls {
        None => requests(stream, desk).await,
        Some(acceptor) => match timeout(PATIENCE, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => requests(stream, desk).await,
            Ok(Err(error)) => log::debug!("a client of the metrics endpoint could not agree on TLS: {error}"),
            Err(_) => log::debug!("a client of the metrics endpoint took too long to agree on TLS"),
        },
    }
}

async fn requests(stream: impl AsyncRead + AsyncWrite + Unpin, desk: Arc<Desk>) {
    let service = service_fn(move |request| {
        let answer = desk.answer(&request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => quiet(ended),
        () = sleep(LIFE) => {
            connection.as_mut().graceful_shutdown();
            if let Ok(ended) = timeout(PATIENCE, connection).await {
                quiet(ended);
            }
        }
    }
}

/// What goes wrong with a connection is the client's business.
fn quiet(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        log::debug!("a client of the metrics endpoint went: {error}");
    }
}

impl Desk {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let answer = self.try_answer(request);
        match answer.status() {
            StatusCode::OK => self.tally.scraped(1),
            _ => self.tally.scrape_refused(1),
        }
        answer
    }

    fn try_answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered\n");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        let header = |name| request.headers().get(name).map(HeaderValue::as_bytes);
        match request.uri().path() {
            "/healthz" => self.health(),
            "/metrics" if self.token.as_ref().is_none_or(|token| token.is_shown(header(AUTHORIZATION))) => {
                let accept = header(ACCEPT).map(String::from_utf8_lossy).unwrap_or_default();
                self.metrics(Form::accepted(&accept))
            }
            "/metrics" => {
                let mut answer = text(StatusCode::UNAUTHORIZED, "a bearer token is needed\n");
                answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                answer
            }
            _ => text(StatusCode::NOT_FOUND, "the metrics are at /metrics\n"),
        }
    }

    /// Names nothing that is traced, so it needs no token.
    fn health(&self) -> Response<Full<Bytes>> {
        match self.published.last() {
            Some(last) if last.is_fresh() => text(StatusCode::OK, "ok\n"),
            _ => text(StatusCode::SERVICE_UNAVAILABLE, "the agent has not looked at the kernel for ten seconds\n"),
        }
    }

    fn metrics(&self, form: Form) -> Response<Full<Bytes>> {
        let Some(last) = self.published.last() else {
            return text(StatusCode::SERVICE_UNAVAILABLE, "nothing is known yet\n");
        };
        let families = families(&last.scrape, last.is_fresh(), &self.tally.figures());
        match prometheus::encode(families, last.scrape.since_unix_ns, form) {
            Ok(body) => with_type(StatusCode::OK, form.content_type(), body.into()),
            Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be written\n"),
        }
    }
}

fn text(status: StatusCode, body: &'static str) -> Response<Full<Bytes>> {
    with_type(status, "text/plain; charset=utf-8", Bytes::from_static(body.as_bytes()))
}

fn with_type(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
