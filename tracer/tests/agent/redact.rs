//! What is redacted stands nowhere in the bytes that are written.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use fdtide::record::{Input, Reader};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

use crate::support::{self, FDTIDE, ran::fdtide};

/// Part of every path that the target uses.
const SECRET: &str = "acme-ledger";

/// A shell in a folder with a telling name, which opens a file and listens on a socket there.
fn target(folder: &Path) -> Vec<String> {
    let place = folder.join(SECRET);
    fs::create_dir(&place).expect("a folder");
    fs::copy("/bin/bash", place.join("worker")).expect("a copy");
    fs::write(place.join(format!("{SECRET}.db")), "x").expect("a file");
    // The failure at the end has every descriptor listed.
    let script = format!(
        "exec 2>/dev/null; exec 5<$1/{SECRET}.db; exec 6<$1; /bin/true; /bin/true; ulimit -S -n 3; : </dev/null; exit 0"
    );
    let words = [place.join("worker").display().to_string(), "-c".to_owned(), script, SECRET.to_owned()];
    words.into_iter().chain([place.display().to_string()]).collect()
}

fn has_secret(bytes: &[u8]) -> bool {
    bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
}

/// Everything in a recording, uncompressed.
fn inside(recording: &Path) -> Vec<u8> {
    let mut reader = Reader::open(recording).expect("a recording");
    let mut all = format!("{:?}", reader.start()).into_bytes();
    reader.inputs(|input| match input {
        Input::Record(bytes) | Input::Look(bytes) => all.extend_from_slice(bytes),
        other => all.extend(format!("{other:?}").bytes()),
    });
    let mut rows = Reader::open(recording).expect("a recording");
    while let Some(batch) = rows.next_batch() {
        all.extend(format!("{batch:?}").bytes());
    }
    all
}

/// The files that the tool makes of a recording, by kind.
fn made(folder: &Path, recording: &Path, options: &[&str]) -> Vec<(String, Vec<u8>)> {
    let verbs: [(&str, &[&str]); 7] = [
        ("report", &["--format", "text"]),
        ("report", &["--format", "json"]),
        ("report", &["--format", "jsonl"]),
        ("report", &["--format", "html"]),
        ("export", &["--to", "jsonl"]),
        ("export", &["--to", "csv"]),
        ("export", &["--to", "perfetto"]),
    ];
    let one = |(verb, args): (&str, &[&str])| {
        let out: PathBuf = folder.join("made");
        let mut command = Command::new(FDTIDE);
        command.arg(verb).args(args).args(options).arg("-o").arg(&out).arg(recording);
        let output = command.output().expect("fdtide");
        assert!(output.status.success(), "{verb} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        let bytes = [fs::read(&out).expect("what it made"), output.stdout, output.stderr].concat();
        (format!("{verb} {args:?}"), bytes)
    };
    verbs.into_iter().map(one).collect()
}

fn record(folder: &Path, options: &[&str]) -> (PathBuf, Vec<u8>) {
    let recording = folder.join("kept.fdtide");
    let command = target(folder);
    let mut tool = fdtide(&["run", "--format", "json", "--census", "1", "--ages", "--stacks", "--record"]);
    let output = tool.arg(&recording).args(options).arg("--").args(&command).output().expect("fdtide");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!has_secret(&output.stderr), "{}", String::from_utf8_lossy(&output.stderr));
    (recording, output.stdout)
}

#[test]
fn nothing_that_is_written_has_a_name_of_the_targets_and_the_figures_stay() {
    let Some(_kernel) = support::kernel() else { return };
    let [plain, hidden] = [TempDir::new().expect("a folder"), TempDir::new().expect("a folder")];
    let (recording, report) = record(plain.path(), &[]);
    assert!(has_secret(&report) && has_secret(&inside(&recording)), "there is something to hide");
    // Afterwards, of a recording that has the names.
    for (what, bytes) in made(plain.path(), &recording, &["--redact-paths"]) {
        assert!(!bytes.is_empty() && !has_secret(&bytes), "{what}: {}", String::from_utf8_lossy(&bytes));
    }
    let json = made(plain.path(), &recording, &[]);
    assert!(json.iter().any(|(_, bytes)| has_secret(bytes)), "they are there without it");

    // At once, so that they are never on a disk.
    let (recording, report) = record(hidden.path(), &["--redact-paths"]);
    let (report, inside) = (String::from_utf8_lossy(&report).into_owned(), inside(&recording));
    assert!(!has_secret(report.as_bytes()), "{report}");
    assert!(!has_secret(&inside), "{}", String::from_utf8_lossy(&inside));
    assert!(!has_secret(&fs::read(&recording).expect("a recording")));
    for word in ["file#", "dir#", "arg#", "/worker", "\"program\": \"true\""] {
        assert!(report.contains(word), "{word}: {report}");
    }
    for (what, bytes) in made(hidden.path(), &recording, &[]) {
        assert!(!has_secret(&bytes), "{what}: {}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn an_agent_that_redacts_keeps_no_name() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let command = target(folder.path());
    let script = command[2].replace("ulimit -S -n 3", "echo '{}'; read line; $1/worker -c :; ulimit -S -n 3");
    let mut shell = Command::new(&command[0]);
    let mut running = support::fixture::Fixture::spawn(shell.args(["-c", &script]).args(&command[3..]));
    running.next().expect("it holds its files");
    let config = format!(
        "redact_paths = true\n[targets]\nfollow = [\"pid:{}\"]\n[record]\nfolder = \"DIR/kept\"\nmin_free = \"1M\"\n\
         [segments]\nurl = \"DIR/store\"\nspool = \"DIR/spool\"\n",
        running.pid()
    );
    let agent = crate::service::Agent::start(&config);
    agent.ask(&fdtide::agent::control::Request::Census);
    let dump = agent.ask(&fdtide::agent::control::Request::Dump).path.expect("a dump");
    let inside = inside(Path::new(&dump));
    assert!(!has_secret(&inside) && String::from_utf8_lossy(&inside).contains("dir#"));
    // An exec by a telling path, and a failure, for the fleet.
    running.go();
    running.wait();
    let (folder, report) = agent.end();
    let report = report.to_string();
    assert!(!has_secret(report.as_bytes()) && report.contains("file#"), "{report}");
    assert!(!has_secret(&fs::read(folder.path().join("log")).expect("a log")));
    let rows = rows(&folder.path().join("store"));
    for word in ["exec", "failure", "coverage", "/worker", "dir#"] {
        assert!(rows.contains(word), "{word}: {rows}");
    }
    assert!(!has_secret(rows.as_bytes()), "{rows}");
    let spool = fs::read_dir(folder.path().join("spool")).expect("a spool").flatten();
    for file in spool.filter(|file| file.path().is_file()) {
        assert!(!has_secret(&fs::read(file.path()).expect("a file")), "{}", file.path().display());
    }
}

/// Every row of every segment below a folder, as text.
fn rows(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            text.push_str(&rows(&path));
        } else if path.extension().is_some_and(|extension| extension == "parquet") {
            let file = fs::File::open(&path).expect("a segment");
            let batches = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").build().expect("rows");
            // Debug output of a long column leaves rows out, of a single row never.
            for batch in batches.map(|batch| batch.expect("rows")) {
                (0..batch.num_rows()).for_each(|row| text.push_str(&format!("{:?}\n", batch.slice(row, 1))));
            }
        }
    }
    text
}
