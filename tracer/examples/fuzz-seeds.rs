//! What `cargo xtask fuzz` begins with: for each target a folder of small inputs that mean something, and a list of words.
//!
//! `fuzz-seeds FOLDER [RECORDING...]`; of the recordings those that are small are taken, and the records in them.
#![expect(clippy::expect_used, reason = "a tool of the tests: it stops at what it did not expect")]

#[path = "../../fuzz/src/form.rs"]
#[expect(dead_code, reason = "the example uses its part")]
mod form;
#[path = "../benches/support/mod.rs"]
#[expect(dead_code, reason = "the example uses its part")]
mod support;

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use fdtide::{
    agent::{config::Level, control::Request},
    event::decode,
    record::{Input, Reader, Start, Writer},
};

/// Recordings longer than this are not taken, bytes.
const RECORDING: usize = 64 << 10;
/// Nor are inputs of records, which are cut into pieces of so many.
const RECORDS: usize = 40;

const CONFIG: &str = include_str!("../../deploy/agent.toml");
/// Pages that name every key, in backticks.
const PAGES: [&str; 3] = [
    include_str!("../../docs/agent.md"),
    include_str!("../../docs/metrics.md"),
    include_str!("../../docs/segments.md"),
];

fn main() {
    let mut args = env::args_os().skip(1).map(PathBuf::from);
    let folder = args.next().expect("a folder");
    let recordings: Vec<Vec<u8>> = args.map(|path| fs::read(path).expect("a recording")).collect();
    let write = |target: &str, inputs: Vec<Vec<u8>>| {
        let folder = folder.join(target);
        fs::create_dir_all(&folder).expect("a folder");
        for (number, input) in inputs.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), input).expect("a seed");
        }
    };
    let made = support::run(3);
    let mut runs = vec![made.clone()];
    runs.extend(recordings.iter().map(|bytes| records(bytes)));
    let records: Vec<Vec<u8>> = runs.iter().flat_map(|run| run.chunks(RECORDS)).map(packed).collect();
    write("ring", records.clone());
    write("redact", records);
    let mut whole: Vec<Vec<u8>> = [true, false].map(|end| recording(&made, end)).into();
    whole.extend(recordings.into_iter().filter(|bytes| bytes.len() <= RECORDING));
    write("recording", whole);
    write("control", requests());
    write("config", configs());
    let keys: Vec<&str> = PAGES.iter().flat_map(|page| page.split('`').skip(1).step_by(2)).collect();
    words(&folder.join("config.dict"), &keys.join(" "));
    words(&folder.join("control.dict"), &String::from_utf8_lossy(&requests().concat()));
}

/// The kernel's records in a recording.
fn records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    Reader::new(bytes).expect("a recording").inputs(|input| {
        if let Input::Record(record) = input {
            records.push(record.to_vec());
        }
    });
    records
}

fn packed(records: &[Vec<u8>]) -> Vec<u8> {
    records.iter().flat_map(|record| form::pack(false, record)).collect()
}

/// A recording of these records; without its end it breaks off.
fn recording(records: &[Vec<u8>], end: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &Start::default()).expect("memory has room");
    for record in records {
        writer.push(&Input::Record(record), decode(record).ok().as_ref()).expect("memory has room");
    }
    if end {
        writer.push(&Input::End(Box::default()), None).expect("memory has room");
    }
    writer.finish().expect("memory has room");
    bytes
}

/// Every request, and several in a row.
fn requests() -> Vec<Vec<u8>> {
    let targets =
        ["pid:42", "name:postgres", "exe:/opt/**/server", "cgroup:/a", "container:3f", "unit:a.service", "uid:0"];
    let targets = targets.map(|target| Request::Add { target: target.to_owned() });
    let others = [
        Request::Status,
        Request::Census,
        Request::Dump,
        Request::Remove { target: "name:postgres".to_owned() },
        Request::Mark { text: "deploy 1.4.2".to_owned() },
        Request::Log { level: Level::Debug },
    ];
    let line = |request: &Request| [serde_json::to_vec(request).expect("a request"), vec![b'\n']].concat();
    let mut all: Vec<Vec<u8>> = targets.iter().chain(&others).map(line).collect();
    all.push(all.concat());
    all
}

/// The configuration that is given out, each section of it, and every piece of TOML in the pages.
fn configs() -> Vec<Vec<u8>> {
    let sections = CONFIG.split("\n\n").map(|section| section.replace("# on_", "on_").replace("# webhook", "webhook"));
    let examples = PAGES.iter().flat_map(|page| page.split("```toml\n").skip(1));
    let examples = examples.filter_map(|rest| rest.split("```").next()).map(str::to_owned);
    std::iter::once(CONFIG.to_owned()).chain(sections).chain(examples).map(String::into_bytes).collect()
}

/// A list of words as libFuzzer reads it.
fn words(path: &Path, text: &str) {
    let words: BTreeSet<&str> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| (2..40).contains(&word.len()))
        .collect();
    let lines: Vec<String> = words.iter().map(|word| format!("\"{word}\"\n")).collect();
    fs::write(path, lines.concat()).expect("a list of words");
}
