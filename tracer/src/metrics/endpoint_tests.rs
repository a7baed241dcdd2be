//! The endpoint, asked over loopback.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

use super::{
    Published, Tally,
    config::{Metrics, TlsFiles},
    endpoint::Endpoint,
    testing::run,
    thread::Running,
    tls,
};

struct Served {
    address: SocketAddr,
    published: Published,
    tally: Tally,
    running: Option<Running>,
}

impl Served {
    fn new(config: Metrics) -> Served {
        let (published, tally) = (Published::default(), Tally::default());
        let config = Metrics { enabled: true, listen: ([127, 0, 0, 1], 0).into(), ..config };
        let endpoint = Endpoint::bind(&config, published.clone(), tally.clone()).unwrap();
        let address = endpoint.address().unwrap();
        let running = Running::start(Some(endpoint), None, published.clone(), tally.clone()).unwrap();
        Served { address, published, tally, running: Some(running) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Status and answer.
    fn ask(&self, request: &str) -> (u16, String) {
        exchange(self.connect(), request)
    }

    fn get(&self, path: &str, headers: &str) -> (u16, String) {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}\r\n"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let mut running = self.running.take().unwrap();
        running.stop(Instant::now());
        running.wait();
    }
}

fn exchange(mut stream: impl std::io::Read + std::io::Write, request: &str) -> (u16, String) {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

#[test]
fn metrics_are_there_once_there_is_a_scrape() {
    let served = Served::new(Metrics::default());
    assert_eq!(served.get("/metrics", "").0, 503);
    assert_eq!(served.get("/healthz", "").0, 503);
    served.published.publish(run().scrape);
    let (status, answer) = served.get("/metrics", "");
    assert!(status == 200 && answer.contains("content-type: text/plain; version=0.0.4"), "{answer}");
    assert!(answer.contains("\nfdtide_up 1\n"), "{answer}");
    let (_, answer) = served.get("/metrics", "Accept: application/openmetrics-text\r\n");
    assert!(answer.contains("application/openmetrics-text") && answer.ends_with("# EOF\n"), "{answer}");
    assert_eq!(served.get("/healthz", "").0, 200);
    let scraped = served.tally.figures().into_iter().find(|figure| figure.labels == ["ok"]).unwrap();
    assert_eq!(scraped.value, 3.0);
}

#[test]
fn what_is_not_there_or_not_asked_properly_is_told_so() {
    let served = Served::new(Metrics::default());
    served.published.publish(run().scrape);
    assert_eq!(served.get("/", "").0, 404);
    assert_eq!(served.get("/metrics/../../etc/passwd", "").0, 404);
    let post = "POST /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab";
    let (status, answer) = served.ask(post);
    assert!(status == 405 && answer.contains("allow: GET, HEAD"), "{answer}");
    let (status, answer) = served.ask("HEAD /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(status == 200 && answer.ends_with("\r\n\r\n"), "{answer}");
    assert_eq!(served.ask("nonsense\r\n\r\n").0, 400);
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(1 << 20));
    let mut stream = served.connect();
    // It may hang up before it has read all of this.
    let _ = stream.write_all(long.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains(" 200 "));
    assert_eq!(served.get("/healthz", "").0, 200);
}

#[test]
fn without_the_token_nobody_learns_a_name() {
    let folder = tempfile::TempDir::new().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "s3cret\n").unwrap();
    let served = Served::new(Metrics { token_file: Some(token), ..Metrics::default() });
    served.published.publish(run().scrape);
    for header in ["", "Authorization: Bearer wrong\r\n", "Authorization: Basic s3cret\r\n"] {
        let (status, answer) = served.get("/metrics", header);
        assert!(status == 401 && answer.contains("www-authenticate: Bearer"), "{answer}");
        assert!(!answer.contains("server"), "{answer}");
    }
    assert_eq!(served.get("/metrics", "Authorization: Bearer s3cret\r\n").0, 200);
    assert_eq!(served.get("/healthz", "").0, 200, "it names nothing");
}

#[test]
fn silent_clients_do_not_keep_others_out() {
    let served = Served::new(Metrics::default());
    served.published.publish(run().scrape);
    let silent: Vec<TcpStream> = (0..20).map(|_| served.connect()).collect();
    let mut half = served.connect();
    half.write_all(b"GET /metrics HTTP/1.1\r\nHo").unwrap();
    assert_eq!(served.get("/metrics", "").0, 200);
    drop(silent);
}

#[test]
fn over_tls_the_certificate_is_the_configured_one() {
    let folder = tempfile::TempDir::new().unwrap();
    let files = certify(folder.path());
    let served = Served::new(Metrics { tls: Some(files.clone()), ..Metrics::default() });
    served.published.publish(run().scrape);
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&files.certificate).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(tls::provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = StreamOwned::new(connection, served.connect());
    let (status, answer) = exchange(stream, "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(status == 200 && answer.contains("fdtide_up 1"), "{answer}");
    // Who does not speak TLS gets nothing.
    let mut plain = served.connect();
    plain.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("fdtide"));
}

/// A certificate for localhost.
pub(crate) fn certify(folder: &Path) -> TlsFiles {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = TlsFiles { certificate: folder.join("cert.pem"), key: folder.join("key.pem") };
    fs::write(&files.certificate, made.cert.pem()).unwrap();
    fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    files
}

#[test]
fn an_address_that_is_taken_is_named() {
    let served = Served::new(Metrics::default());
    let config = Metrics { enabled: true, listen: served.address, ..Metrics::default() };
    let error = Endpoint::bind(&config, Published::default(), Tally::default()).err().unwrap();
    assert!(error.to_string().contains(&served.address.to_string()), "{error}");
}
