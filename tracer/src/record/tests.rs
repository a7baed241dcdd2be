//! Recordings that are whole, cut, damaged and foreign.

use std::io;

use proptest::prelude::*;

use super::*;
use crate::{
    event::{Frame, Name, Stack, decode::decode},
    model::{Anchor, Gap, LossCounter, Report, RootEnd},
    pipeline::Pipeline,
    replay::replay_with,
};

#[expect(dead_code, reason = "the benchmarks use the rest")]
#[path = "../../benches/support/mod.rs"]
mod sample;

/// Ten milliseconds between execs, nanoseconds.
const STEP: u64 = 10_000_000;

fn start() -> Start {
    Start {
        version: "0.0".to_owned(),
        anchor: Anchor { boot_ns: 0, wall_unix_ns: 1_785_585_600_000_000_000 },
        command: vec!["make".to_owned()],
        ..Start::default()
    }
}

fn closing(at_ns: u64) -> Closing {
    let counter = LossCounter { name: "ring_full".to_owned(), value: 3, help: "Records refused.".to_owned() };
    let counted = Counted { at_ns, lost: 3, missed: [("a".to_owned(), 2)].into(), counters: vec![counter] };
    let root = Some(RootEnd { pid: 7, exit: Some(crate::event::Exit::Code(3)) });
    Closing { at_ns, counted, root, ..Closing::default() }
}

/// Everything that goes into a made-up trace of so many execs.
fn inputs(records: &[Vec<u8>], execs: u32) -> Vec<Input<'_>> {
    let end_ns = u64::from(execs) * STEP;
    let stack = Stack {
        at_ns: 5,
        id: 9,
        frames: vec![Frame {
            module: Name::from_c(b"/lib/\xff.so"),
            build_id: "ab".to_owned(),
            offset: 17,
            symbol: Some("open_all".to_owned()),
            source: None,
        }],
    };
    let mut inputs: Vec<Input<'_>> = records.iter().map(|bytes| Input::Record(bytes)).collect();
    inputs.insert(2, Input::Stack(Box::new(stack)));
    inputs.insert(3, Input::Checked(Gap { from_ns: 1, to_ns: 2, missed: 2 }));
    inputs.insert(4, Input::Record(b"unreadable"));
    inputs.insert(5, Input::Note(Note { at_ns: 6, text: "here".to_owned() }));
    inputs.push(Input::End(Box::new(closing(end_ns))));
    inputs
}

fn recorded(inputs: &[Input<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &start()).unwrap();
    for input in inputs {
        let event = match input {
            Input::Record(bytes) | Input::Look(bytes) => decode(bytes).ok(),
            _ => None,
        };
        writer.push(input, event.as_ref()).unwrap();
    }
    writer.finish().unwrap()
}

fn live(inputs: &[Input<'_>]) -> Report {
    let mut pipeline = Pipeline::new(start(), false);
    inputs.iter().for_each(|input| pipeline.take(input.clone()));
    pipeline.finish()
}

fn report(bytes: &[u8]) -> Result<Report, ReadError> {
    replay_with(|| Reader::new(bytes), false, |_| {}).map(|(_, report)| report)
}

fn json(report: &Report) -> String {
    serde_json::to_string(report).unwrap()
}

#[test]
fn a_recording_gives_the_report_that_was_given_live() {
    let records = sample::run(300);
    let inputs = inputs(&records, 300);
    let bytes = recorded(&inputs);
    let live = live(&inputs);
    assert_eq!((live.execs.len(), live.loss.skipped, live.loss.missed), (300, 1, 2));
    assert_eq!(json(&report(&bytes).unwrap()), json(&live));
    assert!(bytes.len() < 300 * 200, "{} bytes", bytes.len());
}

#[test]
fn every_input_comes_back_as_it_went_in() {
    let records = sample::run(3);
    let inputs = inputs(&records, 3);
    let bytes = recorded(&inputs);
    let mut reader = Reader::new(bytes.as_slice()).unwrap();
    let mut back = Vec::new();
    assert_eq!(reader.inputs(|input| back.push(format!("{input:?}"))), End::Whole);
    assert_eq!(back, inputs.iter().map(|input| format!("{input:?}")).collect::<Vec<_>>());
    assert_eq!((reader.start().format, reader.start().command.as_slice()), (FORMAT, &["make".to_owned()][..]));
}

#[test]
fn a_batch_is_written_within_a_second_of_its_first_row() {
    let records = sample::run(200);
    let mut writer = Writer::new(Vec::new(), &start()).unwrap();
    let mut sizes = vec![writer.written()];
    for bytes in &records {
        let event = decode(bytes).unwrap();
        writer.push(&Input::Record(bytes), Some(&event)).unwrap();
        sizes.push(writer.written());
    }
    let batches = sizes.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert!((2..=3).contains(&batches), "two seconds in {batches} batches");
}

#[test]
fn a_recording_without_an_end_tells_what_was_seen_last() {
    let records = sample::run(20);
    let mut inputs = inputs(&records, 20);
    let end = inputs.pop();
    assert!(matches!(end, Some(Input::End(_))));
    // As an agent that is killed leaves it: no snapshot of its own, but a look.
    let Some(Input::Record(snapshot)) = inputs.pop() else { panic!("no snapshot") };
    inputs.push(Input::Look(snapshot));
    let whole = recorded(&inputs);
    let cut = report(&whole[..whole.len() - 8]).unwrap();
    assert_eq!(cut.execs.len(), 20);
    let spawner = cut.tables.iter().find(|row| row.table == 1).unwrap();
    assert_eq!((spawner.state, spawner.live), (crate::model::report::TableState::Alive, Some(8)));
    assert_eq!(cut.coverage.iter().filter(|note| note.code == "cut").count(), 1);
    assert_eq!(cut.duration_ns, 20 * STEP);
}

#[test]
fn a_recording_cut_anywhere_is_a_report_or_an_error() {
    let records = sample::run(4);
    let whole = recorded(&inputs(&records, 4));
    let mut reports = 0;
    for length in 0..whole.len() - 8 {
        match report(&whole[..length]) {
            Ok(report) => {
                reports += 1;
                // The end may have been read before the cut: then nothing is missing.
                assert!(report.root.is_some() || report.coverage.iter().any(|note| note.code == "cut"));
            }
            Err(error) => assert!(error.to_string().contains("breaks off"), "{length}: {error}"),
        }
    }
    assert!(reports > 100, "{reports} of {}", whole.len());
}

#[test]
fn other_files_are_called_that() {
    for bytes in [&b""[..], b"PAR1", b"ARROW1\0\0rest of a file", b"\xff\xff\xff\xff\x08\0\0\0", &[0; 64], &[0xff; 64]]
    {
        let error = report(bytes).unwrap_err().to_string();
        assert!(error.contains("not a recording") || error.contains("breaks off"), "{error}");
    }
}

#[test]
fn an_arrow_stream_of_something_else_is_called_that() {
    use arrow_array::{RecordBatch, UInt32Array};
    let column: arrow_array::ArrayRef = std::sync::Arc::new(UInt32Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let error = report(&writer.into_inner().unwrap()).unwrap_err().to_string();
    assert!(error.contains("Arrow stream of something else"), "{error}");
}

#[test]
fn a_newer_recording_names_the_version_that_can_read_it() {
    let mut newer = recorded(&[]);
    let text = String::from_utf8_lossy(&newer).into_owned();
    let at = text.find("\"format\":1").map(|_| newer.windows(10).position(|bytes| bytes == b"\"format\":1").unwrap());
    newer[at.unwrap() + 9] = b'7';
    // Somebody else's writer would have the sum right.
    let length = u32::from_le_bytes(newer[4..8].try_into().unwrap()) as usize;
    let sum = crc32fast::hash(&newer[8..length]);
    newer[8 + length - 4..8 + length].copy_from_slice(&sum.to_le_bytes());
    assert!(matches!(report(&newer), Err(ReadError::Newer { format: 7, .. })));
}

#[test]
fn a_full_disk_is_told_and_ends_only_the_recording() {
    struct Small(usize);
    impl io::Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.len() > self.0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    assert!(Writer::new(Small(100), &start()).is_err());
    let mut writer = Writer::new(Small(20_000), &start()).unwrap();
    let note = Input::Note(Note { at_ns: 1, text: "x".repeat(64) });
    writer.push(&note, None).unwrap();
    let error = (0..200u64).find_map(|_| writer.push(&note, None).and_then(|()| writer.flush()).err());
    assert_eq!(error.map(|error| error.kind()), Some(io::ErrorKind::StorageFull));

    let mut file = RecordFile::create(std::path::Path::new("/dev/full")).unwrap();
    file.begin(&start());
    file.take(&note, None);
    let told = file.finish().unwrap();
    assert!(told.contains("/dev/full") && told.contains("more room"), "{told}");
}

#[test]
fn a_recording_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.fdtide");
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(RecordFile::create(&path).unwrap());
    let found = path.metadata().unwrap();
    assert_eq!((found.permissions().mode() & 0o777, found.len()), (0o600, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_flipped_byte_is_found_and_what_came_before_it_is_read(at in 0.0..1.0f64, bits in 1u8..) {
        let records = sample::run(120);
        let whole = recorded(&inputs(&records, 120));
        let mut bytes = whole.clone();
        let at = (at * whole.len() as f64) as usize;
        bytes[at] ^= bits;
        match report(&bytes) {
            Ok(report) => prop_assert!(
                report.root.is_some() || report.coverage.iter().any(|note| note.code == "cut"),
                "damage at {at} of {} is not told", whole.len()
            ),
            Err(error) => {
                let text = error.to_string();
                prop_assert!(text.contains("not a recording") || text.contains("breaks off"), "{}", text);
            }
        }
    }

    #[test]
    fn damage_that_somebody_has_put_a_good_checksum_on_is_no_panic(
        flips in proptest::collection::vec((0.0..1.0f64, 1u8..), 1..4)
    ) {
        let records = sample::run(12);
        let mut bytes = recorded(&inputs(&records, 12));
        for (at, bits) in flips {
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] ^= bits;
        }
        frame::reseal(&mut bytes);
        let _ = report(&bytes);
    }

    #[test]
    fn any_bytes_are_no_recording(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        prop_assert!(report(&bytes).is_err());
    }

    #[test]
    fn any_records_can_be_recorded(records in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 0..20)) {
        let inputs: Vec<Input<'_>> = records.iter().map(|bytes| Input::Record(bytes)).collect();
        let bytes = recorded(&inputs);
        prop_assert_eq!(json(&report(&bytes).unwrap()).len(), json(&report(&bytes).unwrap()).len());
        let mut back = Vec::new();
        Reader::new(bytes.as_slice()).unwrap().inputs(|input| if let Input::Record(raw) = input { back.push(raw.to_vec()) });
        prop_assert_eq!(back, records);
    }
}
