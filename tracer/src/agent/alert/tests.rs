use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, pki_types::PrivateKeyDer};

use super::*;
use crate::{
    agent::config::{Headroom, Time, Webhook},
    event::{Failure, Head, Name, Place, Process, TableId},
    metrics::tls::provider,
    model::{
        Anchor,
        testing::{EMFILE, child, exit, head, mark, proc, process, snapshot},
    },
};

fn failing(count: u32) -> Head {
    Head { failures: vec![Failure { count, ..EMFILE }], ..head(1, 64) }
}

fn alerts(config: config::Alerts) -> Alerts {
    Alerts::new(config, "host-1".to_owned(), Anchor::default())
}

/// A shell that runs this with the folder as `$0`.
fn shell(folder: &Path, script: &str) -> Vec<String> {
    ["/bin/sh", "-c", script].iter().map(|word| (*word).to_owned()).chain([folder.display().to_string()]).collect()
}

/// Waits until so many have ended, well or not.
fn settle(alerts: &Alerts, ended: u64) -> Counts {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let counts = alerts.counts();
        if counts.sent + counts.failed >= ended {
            return counts;
        }
        assert!(Instant::now() < until, "{counts:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_failure_runs_its_command_once_with_the_facts_and_the_rest_is_held_back() {
    let folder = tempfile::tempdir().unwrap();
    let script = "cat > $0/stdin; env > $0/env; ls /proc/self/fd > $0/fds; echo run >> $0/runs";
    let mut alerts = alerts(config::Alerts { on_failure: shell(folder.path(), script), ..config::Alerts::default() });
    alerts.mark("deploy 1.4.2");
    // One that is open in the agent without being closed at exec: what systemd or a shell may have left.
    let open = fs::File::open("/dev/null").unwrap();
    // SAFETY: an open descriptor; copies without the flag go to the child unless somebody sees to it.
    let inherited = unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&open), libc::F_DUPFD, 200) };
    assert!(inherited >= 200);
    for count in 1..=50 {
        alerts.event(&snapshot(u64::from(count), failing(count)));
    }
    let counts = settle(&alerts, 1);
    // SAFETY: our own.
    unsafe { libc::close(inherited) };
    assert_eq!(counts, Counts { sent: 1, failed: 0, suppressed: 49, dropped: 0 });
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("runs"), "run\n");
    let told: Value = serde_json::from_str(&read("stdin")).unwrap();
    assert_eq!((&told["schema"], &told["cause"]), (&SCHEMA.into(), &"failure".into()));
    assert_eq!(
        (&told["errno"], &told["syscall"], &told["mark"]),
        (&"EMFILE".into(), &"openat".into(), &"deploy 1.4.2".into())
    );
    assert_eq!((&told["live"], &told["failures"], &told["host"]), (&64.into(), &1.into(), &"host-1".into()));
    let env = read("env");
    for line in ["FDTIDE_CAUSE=failure", "FDTIDE_ERRNO=EMFILE", "FDTIDE_LIVE=64", "FDTIDE_MARK=deploy 1.4.2"] {
        assert!(env.lines().any(|found| found == line), "{line}: {env}");
    }
    // stdin, stdout, stderr, and the folder that `ls` reads.
    assert_eq!(read("fds").lines().count(), 4, "{}", read("fds"));
}

#[test]
fn an_alert_tells_the_container_and_the_id_inside() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "cat >> $0/stdin; env | grep -E '^FDTIDE_(NS_PID|CONTAINER)' | sort | tr '\\n' ' ' >> $0/env; echo >> $0/env";
    let on_failure = shell(folder.path(), script);
    let mut alerts = alerts(config::Alerts { on_failure, at_once: 1, ..config::Alerts::default() });
    let id = "3fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9";
    let container = Container { runtime: "podman".to_owned(), id: Name::from(id), name: Some(Name::from("we\0b")) };
    let first = Process { ns_pid: 1, ..process(500, 1, "init") };
    let forked = Process { ns_pid: 7, ..child(501, 2, "worker", &first) };
    alerts.event(&Event::Place(Box::new(Place { at_ns: 1, process: first.id, container })));
    alerts.event(&proc(1, &first, 3));
    alerts.event(&proc(2, &forked, 3));
    // Its spawner has gone; where it is does not change by that.
    alerts.event(&exit(3, &first, 0, head(1, 3).unused()));
    alerts.event(&snapshot(4, Head { id: TableId(2), ..failing(1) }));
    settle(&alerts, 1);
    alerts.event(&proc(5, &process(502, 3, "cron"), 3));
    alerts.event(&snapshot(6, Head { id: TableId(3), ..failing(1) }));
    settle(&alerts, 2);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let told: Vec<Value> = read("stdin").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let places = told.iter().map(|told| (told["pid"].clone(), told["ns_pid"].clone(), told["container"].clone()));
    let inside = serde_json::json!({"runtime": "podman", "id": id, "name": "we\0b"});
    assert_eq!(places.collect::<Vec<_>>(), [(501.into(), 7.into(), inside), (502.into(), 502.into(), Value::Null)]);
    let env = format!("FDTIDE_CONTAINER=web FDTIDE_CONTAINER_ID={id} FDTIDE_NS_PID=7 \nFDTIDE_NS_PID=502 \n");
    assert_eq!(read("env"), env);
}

#[test]
fn a_command_that_hangs_is_killed_with_its_children_and_the_next_ones_wait_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    let config = config::Alerts {
        on_failure: shell(folder.path(), "echo $$ > $0/pid; sleep 30 & echo $! > $0/child; wait"),
        every: Time(Duration::ZERO),
        timeout: Time(Duration::from_secs(1)),
        at_once: 1,
        ..config::Alerts::default()
    };
    let mut alerts = alerts(config);
    let begun = Instant::now();
    for count in 1..=40 {
        alerts.event(&snapshot(u64::from(count), failing(count)));
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "the trace waits for nobody");
    let counts = settle(&alerts, 1);
    assert_eq!((counts.sent, counts.suppressed), (0, 0));
    assert!(counts.dropped >= 40 - 1 - 16 - 1, "{counts:?}");
    for name in ["pid", "child"] {
        let pid: PathBuf = Path::new("/proc").join(fs::read_to_string(folder.path().join(name)).unwrap().trim());
        // It was sent its signal; it dies when it gets the processor, and is reaped by whoever takes orphans.
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let state = fs::read_to_string(pid.join("stat")).unwrap_or_default();
            if state.is_empty() || state.contains(") Z ") {
                break;
            }
            assert!(Instant::now() < until, "{name} lives: {state}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
fn a_program_that_is_not_there_and_one_that_fails_are_counted() {
    for command in [vec!["/nowhere/page".to_owned()], vec!["false".to_owned()]] {
        let mut alerts = alerts(config::Alerts { on_failure: command, ..config::Alerts::default() });
        alerts.event(&snapshot(1, failing(1)));
        assert_eq!(settle(&alerts, 1), Counts { failed: 1, ..Counts::default() });
    }
}

#[test]
fn a_table_near_its_limit_tells_it_once_until_it_has_room_again() {
    let folder = tempfile::tempdir().unwrap();
    let config = config::Alerts {
        on_headroom: shell(folder.path(), "echo $FDTIDE_CAUSE $FDTIDE_HIGH_WATER >> $0/told"),
        headroom: Some(Headroom::Percent(20)),
        every: Time(Duration::ZERO),
        ..config::Alerts::default()
    };
    let mut alerts = alerts(config);
    let mut near = head(1, 20);
    near.crest = mark(5, 950);
    alerts.event(&snapshot(1, head(1, 800)));
    alerts.event(&snapshot(2, near.clone()));
    alerts.event(&snapshot(3, near.clone()));
    settle(&alerts, 1);
    alerts.event(&snapshot(4, head(1, 20)));
    alerts.event(&snapshot(5, near));
    settle(&alerts, 2);
    assert_eq!(fs::read_to_string(folder.path().join("told")).unwrap(), "headroom 950\nheadroom 950\n");
}

/// A server that answers one post with this status, and gives what it was told.
fn server(status: &'static str) -> (String, std::thread::JoinHandle<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/alert", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        answer(stream, status).unwrap()
    });
    (url, served)
}

/// Takes one post and answers it; an error where it does not come to that.
fn answer(stream: impl std::io::Read + std::io::Write, status: &str) -> std::io::Result<(String, Value)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.expect("a length")];
    reader.read_exact(&mut body)?;
    write!(reader.get_mut(), "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?;
    Ok((head, serde_json::from_slice(&body).unwrap()))
}

/// The same over TLS, with a certificate of its own in this file; `None` where the peer did not believe it.
fn secure_server(certificate: &Path) -> (String, std::thread::JoinHandle<Option<(String, Value)>>) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(certificate, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key));
    let config = std::sync::Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/alert", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let connection = ServerConnection::new(config).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        let told = answer(&mut stream, "204 No Content").ok();
        stream.conn.send_close_notify();
        let _ = stream.flush();
        told
    });
    (url, served)
}

#[test]
fn an_encrypted_post_goes_only_to_whom_the_authorities_know() {
    let folder = tempfile::tempdir().unwrap();
    let [own, other] = ["own.pem", "other.pem"].map(|name| folder.path().join(name));
    let config = |url: &str, ca_file: &Path| config::Alerts {
        webhook: Some(Webhook(url.to_owned())),
        ca_file: Some(ca_file.to_owned()),
        ..config::Alerts::default()
    };
    for (ca_file, want) in [(&own, 1), (&other, 0)] {
        let (url, served) = secure_server(&own);
        fs::write(&other, rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap().cert.pem()).unwrap();
        let config = config(&url, ca_file);
        check(&config).unwrap();
        let mut alerts = alerts(config);
        alerts.event(&snapshot(1, failing(3)));
        let counts = settle(&alerts, 1);
        assert_eq!((counts.sent, counts.failed), (want, 1 - want), "{}", ca_file.display());
        let told = served.join().unwrap();
        assert_eq!(told.is_some(), want == 1, "nothing is said to a stranger: {told:?}");
        if let Some((head, body)) = told {
            assert!(head.starts_with("POST /alert ") && body["failures"] == 3, "{head} {body}");
        }
    }
    fs::write(&other, "no certificate").unwrap();
    for (file, why) in [(other.as_path(), "no certificate in PEM form"), (Path::new("/nowhere.pem"), "can't be read")] {
        let error = check(&config("https://127.0.0.1:1/", file)).unwrap_err().to_string();
        assert!(error.contains("alerts.ca_file") && error.contains(why), "{error}");
        check(&config("http://127.0.0.1:1/", file)).unwrap();
    }
}

#[test]
fn a_post_has_the_alert_as_json_and_a_bad_answer_is_counted() {
    for (status, want) in [("204 No Content", 1), ("500 Internal Server Error", 0), ("302 Found", 0)] {
        let (url, served) = server(status);
        let mut alerts = alerts(config::Alerts { webhook: Some(Webhook(url)), ..config::Alerts::default() });
        alerts.event(&snapshot(1, failing(3)));
        let counts = settle(&alerts, 1);
        assert_eq!((counts.sent, counts.failed), (want, 1 - want), "{status}");
        let (head, body) = served.join().unwrap();
        assert!(head.starts_with("POST /alert ") && head.contains("application/json"), "{head}");
        assert_eq!((&body["cause"], &body["failures"]), (&"failure".into(), &3.into()));
    }
}

#[test]
fn a_server_that_does_not_answer_costs_no_more_than_the_time_for_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = config::Alerts {
        webhook: Some(Webhook(format!("http://{}/", listener.local_addr().unwrap()))),
        timeout: Time(Duration::from_millis(200)),
        ..config::Alerts::default()
    };
    let mut alerts = alerts(config);
    let begun = Instant::now();
    alerts.event(&snapshot(1, failing(1)));
    assert_eq!(settle(&alerts, 1).failed, 1);
    assert!(begun.elapsed() < Duration::from_secs(5));
    alerts.finish(Instant::now() + Duration::from_secs(2));
}

#[test]
fn with_nobody_to_tell_nothing_is_started_and_another_configuration_changes_that() {
    let folder = tempfile::tempdir().unwrap();
    let mut alerts = alerts(config::Alerts::default());
    alerts.event(&snapshot(1, failing(1)));
    assert_eq!(alerts.counts(), Counts::default());
    let on_failure = shell(folder.path(), "echo run > $0/run");
    alerts.reload(&config::Alerts { on_failure, every: Time(Duration::ZERO), ..config::Alerts::default() });
    alerts.event(&snapshot(2, failing(2)));
    assert_eq!(settle(&alerts, 1).sent, 1);
    alerts.finish(Instant::now() + Duration::from_secs(2));
    assert!(folder.path().join("run").exists());
}
