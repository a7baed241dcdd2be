//! What the fuzz targets share. `cargo xtask fuzz` runs them; CONTRIBUTING.md tells of it.

pub mod form;

use fdtide::{
    event::decode,
    model::Report,
    sink::{json, text},
};

/// A report can be told, and what is told as JSON reads back as the same.
pub fn tell(report: &Report) {
    let mut first = Vec::new();
    json::write(report, &mut first).expect("memory has room");
    let again = json::read(&first).expect("a report is one");
    let mut second = Vec::new();
    json::write(&again, &mut second).expect("memory has room");
    assert!(first == second, "a report reads back as another");
    let mut words = Vec::new();
    text::write(report, &mut words).expect("memory has room");
    let words = String::from_utf8(words).expect("text");
    assert!(!words.chars().any(|c| c.is_control() && c != '\n'), "a name acts on the terminal");
}

/// An event is made of its record's bytes and of nothing behind them.
pub fn decode_alone(record: &[u8]) {
    let event = decode(record);
    if event.is_ok() {
        let longer = [record, &[0xa5; 7]].concat();
        assert_eq!(event, decode(&longer), "bytes behind a record changed it");
    }
}
