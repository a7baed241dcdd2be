//! What is read: places, patterns, versions, and what can't be.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "support/sim.rs"]
mod sim;
#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "support/tools.rs"]
mod tools;

use std::{
    fs::{self, File},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use datafusion::{
    arrow::{
        array::{Int64Array, RecordBatch, StringArray},
        datatypes::{DataType, Field, Schema},
    },
    parquet::{arrow::ArrowWriter, file::metadata::KeyValue, file::properties::WriterProperties},
};
use sim::Fleet;
use tempfile::TempDir;
use tools::{ask, fleet, number, rows, text};

fn small(folder: &Path) {
    Fleet { hosts: 4, execs: 40, seed: 3 }.write(folder);
}

/// What the program says when it has no answer.
fn refused(args: &[&str]) -> String {
    let output = fleet(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    assert!(output.stdout.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn execs(place: &Path) -> u64 {
    rows(&ask(place, &[])).iter().map(|row| number(row, "execs")).sum()
}

#[test]
fn patterns_choose_hosts_and_days() {
    let folder = TempDir::new().expect("a folder");
    small(folder.path());
    assert_eq!(execs(folder.path()), 160);
    assert_eq!(execs(&folder.path().join("date=*")), 160);
    assert_eq!(execs(&folder.path().join("date=2026-08-*/host=web000[01]")), 80);
    assert_eq!(execs(&folder.path().join("**/host=web0003/*.parquet")), 40);
    let one = folder.path().join("date=2026-08-01/host=web0002");
    assert_eq!(execs(&one), 40);
    // The same twice is there once, several places are one answer.
    let (all, one) = (folder.path().display().to_string(), one.display().to_string());
    let both = fleet(&[&all, &one, "--format", "json"]);
    let both: serde_json::Value = serde_json::from_slice(&both.stdout).expect("JSON");
    assert_eq!(rows(&both).iter().map(|row| number(row, "execs")).sum::<u64>(), 160);
}

#[test]
fn what_can_not_be_asked_is_told_by_name_with_what_to_do() {
    let folder = TempDir::new().expect("a folder");
    let place = folder.path().display().to_string();
    assert!(refused(&[&place]).contains("no segment matches"), "an empty folder");
    assert!(refused(&["/none/such"]).contains("no segment matches `/none/such`"));
    assert!(refused(&["gs://bucket/x"]).contains("`gs://bucket/x` is no place for segments"));
    assert!(refused(&[&format!("{place}/[")]).contains("pattern"));
    small(folder.path());
    assert!(refused(&[&place, "s3://bucket/x", "--by", "host"]).contains("s3"));
    assert!(refused(&[&place, "--by", "pid"]).contains("can be asked by program, spawner, host, container"));
    assert!(refused(&[&place, "--since", "yesterday"]).contains("is no moment"));
    assert!(refused(&[&place, "--question", "growth"]).contains("--since-mark"));
    let unknown = refused(&[&place, "--question", "growth", "--since-mark", "deploy 9"]);
    assert!(unknown.contains("no host has the mark `deploy 9`") && unknown.contains("`deploy 1.4.2`"), "{unknown}");
    assert!(refused(&[&place, "--sql", "select nothing from segments"]).contains("nothing"));
    assert!(refused(&[&place, "--sql", "drop table segments"]).contains("the query failed"));
    assert!(refused(&[&place, "-o", "/none/such"]).contains("/none/such"));
}

/// A Parquet file with these metadata and a few columns, one of which no version has.
fn other(path: &Path, metadata: Option<&str>) {
    let schema = Arc::new(Schema::new(vec![
        Field::new("type", DataType::Utf8, true),
        Field::new("host", DataType::Utf8, true),
        Field::new("seq", DataType::Int64, true),
        Field::new("program", DataType::Utf8, true),
        Field::new("window_high_water", DataType::Int64, true),
        Field::new("of_tomorrow", DataType::Int64, true),
    ]));
    let words = |word: &str| Arc::new(StringArray::from(vec![word; 3]));
    let numbers = |list: [i64; 3]| Arc::new(Int64Array::from(list.to_vec()));
    let columns: Vec<datafusion::arrow::array::ArrayRef> =
        vec![words("exec"), words("old"), numbers([1, 2, 3]), words("antique"), numbers([7, 8, 9]), numbers([0, 0, 0])];
    let pairs = metadata.map(|value| vec![KeyValue::new("fdtide".to_owned(), value.to_owned())]);
    let properties = WriterProperties::builder().set_key_value_metadata(pairs).build();
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).expect("a writer");
    writer.write(&RecordBatch::try_new(schema, columns).expect("a batch")).expect("it is written");
    writer.close().expect("an end");
}

#[test]
fn older_files_are_read_and_newer_and_foreign_ones_refused_by_name() {
    let folder = TempDir::new().expect("a folder");
    small(folder.path());
    let place = folder.path().display().to_string();
    let old = folder.path().join("old.v1.parquet");
    other(&old, Some(r#"{"segment":1,"host":"old"}"#));
    let answer = ask(folder.path(), &[]);
    let row = rows(&answer).iter().find(|row| text(row, "program") == "antique").expect("a row").clone();
    assert_eq!(["execs", "p50", "max", "hosts"].map(|key| number(&row, key)), [3, 8, 9, 1]);
    for question in ["headroom", "failed", "hosts", "marks"] {
        ask(folder.path(), &["--question", question]);
    }
    let newer = folder.path().join("new.parquet");
    other(&newer, Some(r#"{"segment":2,"host":"new"}"#));
    let told = refused(&[&place]);
    assert!(told.contains("new.parquet` is a segment of version 2") && told.contains("update it"), "{told}");
    fs::rename(&newer, folder.path().join("a.v7.parquet")).expect("renamed");
    assert!(refused(&[&place]).contains("version 7"), "the name is enough");
    fs::remove_file(folder.path().join("a.v7.parquet")).expect("removed");
    let foreign = folder.path().join("foreign.parquet");
    for metadata in [None, Some("{}"), Some("no JSON")] {
        other(&foreign, metadata);
        assert!(refused(&[&place]).contains("foreign.parquet` is no segment of fdtide"), "{metadata:?}");
    }
    fs::write(&foreign, "no Parquet at all").expect("written");
    let told = refused(&[&place]);
    assert!(told.contains("failed to read") && told.contains("foreign.parquet"), "{told}");
    fs::remove_file(foreign).expect("removed");
    // One that breaks off.
    let whole = fs::read(&old).expect("read");
    fs::write(&old, &whole[..whole.len() / 2]).expect("written");
    assert!(refused(&[&place]).contains("old.v1.parquet"));
}

/// An S3 on loopback, which forgets all when it ends.
struct Moto(Child);

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_s3_is_asked_as_a_folder_is() {
    let Some(python) = tools::python() else { return };
    let folder = TempDir::new().expect("a folder");
    small(folder.path());
    let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let mut server = Command::new(python.with_file_name("moto_server"));
    server.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let _moto = Moto(server.spawn().expect("moto starts"));
    let since = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(since.elapsed() < Duration::from_secs(60), "moto listens");
        std::thread::sleep(Duration::from_millis(50));
    }
    let endpoint = format!("http://127.0.0.1:{port}");
    let env = [
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
    ];
    let put = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/s3_put.py");
    let put = Command::new(&python).arg(put).arg(folder.path()).envs(env).output().expect("Python starts");
    assert!(put.status.success(), "{}", String::from_utf8_lossy(&put.stderr));
    let there = |place: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fdtide-fleet"));
        command.args([place, "--by", "program,host", "--format", "json"]).envs(env).output().expect("it starts")
    };
    let answer = there("s3://bucket/fdtide/date=*/");
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&answer.stdout).expect("JSON");
    assert_eq!(answer, ask(folder.path(), &["--by", "program,host"]));
    let nothing = there("s3://bucket/other");
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("no segment matches `s3://bucket/other`"));
    let no_bucket = String::from_utf8_lossy(&there("s3://none/x").stderr).into_owned();
    assert!(no_bucket.contains("failed to list `s3://none/x`") && no_bucket.contains("NoSuchBucket"), "{no_bucket}");
}
