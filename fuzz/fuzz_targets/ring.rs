//! Any records, as the ring could hold them, give a report; the recording of them gives the same one.
#![no_main]

use fdtide::{
    event::decode,
    model::{Model, Options, meter::MeterOptions},
    pipeline::Pipeline,
    record::{Closing, Input, Reader, Start, Writer},
    replay::replay_with,
    sink::json,
};
use fdtide_fuzz::{decode_alone, form, tell};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let records = form::unpack(bytes);
    records.iter().for_each(|(_, record)| decode_alone(record));
    let live = traced(&records);
    tell(&live);
    let recording = recorded(&records);
    let (_, replayed) = replay_with(|| Reader::new(recording.as_slice()), false, |_| {}).expect("a recording");
    let json = |report| {
        let mut out = Vec::new();
        json::write(report, &mut out).expect("memory has room");
        out
    };
    assert!(json(&live) == json(&replayed), "the recording gives another report");
    streamed(&records);
});

fn input((look, record): &(bool, Vec<u8>)) -> Input<'_> {
    if *look { Input::Look(record) } else { Input::Record(record) }
}

/// The end, at a time that the records can't move.
fn end() -> Input<'static> {
    Input::End(Box::default())
}

fn traced(records: &[(bool, Vec<u8>)]) -> fdtide::model::Report {
    let mut pipeline = Pipeline::new(Start::default(), false);
    pipeline.meter(MeterOptions::default());
    for record in records {
        pipeline.take(input(record));
        let view = pipeline.live(&[]);
        for table in &view.tables {
            assert!(table.failures < u64::MAX && table.pids.len() == table.ns_pids.len());
        }
    }
    let _ = pipeline.reading(&[], 1 << 40);
    pipeline.take(end());
    pipeline.finish()
}

fn recorded(records: &[(bool, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &Start::default()).expect("memory has room");
    for record in records {
        let event = decode(&record.1).ok();
        writer.push(&input(record), event.as_ref()).expect("memory has room");
    }
    writer.push(&Input::End(Box::<Closing>::default()), None).expect("memory has room");
    writer.finish().expect("memory has room");
    bytes
}

/// A model that hands its execs on tells as many.
fn streamed(records: &[(bool, Vec<u8>)]) {
    let mut kept = Model::new(Options::default());
    let mut stream = Model::new(Options { stream: true, ..Options::default() });
    let mut drained = 0;
    for event in records.iter().filter(|(look, _)| !look).filter_map(|(_, record)| decode(record).ok()) {
        kept.apply(&event);
        stream.apply(&event);
        drained += stream.drain_completed().len();
    }
    let running = stream.live(&[]).execs_total;
    assert!(drained as u64 <= running + 1, "more execs than there were");
    assert_eq!(kept.live(&[]).execs_total, running);
}
