//! What has gone through the redactor has no name left of those that were to go, and nothing else has changed.
#![no_main]

use fdtide::{
    event::{Event, Name, decode},
    redact::Redactor,
};
use fdtide_fuzz::form;
use libfuzzer_sys::fuzz_target;

/// Names shorter than this stand in a placeholder by chance, or are one of its words.
const LONG: usize = 12;

fuzz_target!(|bytes: &[u8]| {
    let redactor = Redactor::keyed(b"fuzz");
    for (_, record) in form::unpack(bytes) {
        let out = redactor.raw(&record);
        assert_eq!(out, redactor.raw(&record), "the same name has two placeholders");
        match (decode(&record), decode(&out)) {
            (Err(_), _) => assert!(out.is_empty(), "what could not be read was handed on"),
            (Ok(_), Err(error)) => panic!("a record that could be read no longer can: {error}"),
            (Ok(before), Ok(after)) => {
                assert!(out.len() <= record.len());
                compare(before, after, &out);
            }
        }
    }
});

fn compare(before: Event, after: Event, out: &[u8]) {
    match (before, after) {
        (Event::Exec(before), Event::Exec(mut after)) => {
            gone(&before.path, &[before.path.basename(), before.process.comm.clone()], after.path.as_bytes());
            gone(&before.path, &names(&before), out);
            assert_eq!(after.path.is_empty(), before.path.is_empty());
            after.path = before.path.clone();
            assert_eq!(before, after, "more than the path has changed");
        }
        (Event::Descriptor(before), Event::Descriptor(mut after)) => {
            gone(&before.name, &[], out);
            assert_eq!(before.name.is_empty(), after.name.is_empty(), "a name came or went");
            if let (Some(before), Some(after)) = (&before.socket, &mut after.socket) {
                for (before, after) in [(before.local, after.local), (before.remote, after.remote)] {
                    assert_eq!(before.map(|(_, port)| port), after.map(|(_, port)| port));
                    let told = before.filter(|(ip, _)| !ip.is_loopback() && !ip.is_unspecified());
                    assert!(told.is_none() || told.map(|(ip, _)| ip) != after.map(|(ip, _)| ip), "an address stays");
                }
                (after.local, after.remote) = (before.local, before.remote);
            }
            after.name = before.name.clone();
            assert_eq!(before, after, "more than names has changed");
        }
        (before, after) => assert_eq!(before, after),
    }
}

/// Every name that an exec may keep.
fn names(exec: &fdtide::event::Exec) -> Vec<Name> {
    let heads = exec.before.iter().chain(&exec.spawner);
    let threads =
        heads.flat_map(|head| head.threads.iter().map(|thread| thread.comm.clone()).chain([head.thread_comm.clone()]));
    let process = &exec.process;
    let own = [&process.comm, &process.spawner.comm, &process.spawner.thread, &exec.old_comm].map(Clone::clone);
    own.into_iter().chain([exec.path.basename()]).chain(threads).collect()
}

/// No long part of the path stands in these bytes, but where one of the kept names has it too.
fn gone(path: &Name, kept: &[Name], bytes: &[u8]) {
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    for part in path.as_bytes().split(|byte| *byte == b'/').filter(|part| part.len() >= LONG) {
        assert!(
            !has(bytes, part) || kept.iter().any(|name| has(name.as_bytes(), part)),
            "`{}` is still there",
            String::from_utf8_lossy(part)
        );
    }
}
