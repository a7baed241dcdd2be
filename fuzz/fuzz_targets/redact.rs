//! What has gone through the redactor has no name left of those that were to go, and nothing else has changed.
#![no_main]

use std::{mem::offset_of, ops::Range};

use fdtide::{
    event::{Descriptor, Event, Exec, Name, decode},
    redact::Redactor,
};
use fdtide_abi::event::{DescriptorRecord, ExecRecord, FILENAME, NAME, NAMES};
use fdtide_fuzz::form;
use libfuzzer_sys::fuzz_target;

/// Names shorter than this stand in a placeholder by chance, or are one of its words.
const LONG: usize = 12;
/// Where names are in the records that have some, and an address's place beside them.
const PATH: Range<usize> = offset_of!(ExecRecord, filename)..offset_of!(ExecRecord, filename) + FILENAME;
const FILE: Range<usize> = offset_of!(DescriptorRecord, names)..offset_of!(DescriptorRecord, names) + NAME * NAMES;
const ADDRESSES: Range<usize> = offset_of!(DescriptorRecord, local)..offset_of!(DescriptorRecord, remote) + 16;

fuzz_target!(|bytes: &[u8]| {
    let redactor = Redactor::keyed(b"fuzz");
    for (_, record) in form::unpack(bytes) {
        let out = redactor.raw(&record);
        assert_eq!(out, redactor.raw(&record), "the same name has two placeholders");
        match (decode(&record), decode(&out)) {
            (Err(_), _) => assert!(out.is_empty(), "what could not be read was handed on"),
            (Ok(_), Err(error)) => panic!("a record that could be read no longer can: {error}"),
            (Ok(Event::Exec(before)), Ok(Event::Exec(after))) => {
                exec(&before, &after, &out);
                same(&record, &out, &[PATH]);
            }
            (Ok(Event::Descriptor(before)), Ok(Event::Descriptor(after))) => {
                descriptor(&before, &after, &out);
                same(&record, &out, &[ADDRESSES, FILE]);
            }
            (Ok(_), Ok(_)) => same(&record, &out, &[]),
        }
    }
});

/// Outside of these places, which are in their order, no byte has changed.
fn same(record: &[u8], out: &[u8], places: &[Range<usize>]) {
    let mut from = 0;
    for place in places {
        assert!(record[from..place.start] == out[from..place.start], "more than names has changed");
        from = place.end;
    }
    assert!(record[from..out.len()] == out[from..], "more than names has changed");
}

fn exec(before: &Exec, after: &Exec, out: &[u8]) {
    gone(&before.path, &[before.path.basename(), before.process.comm.clone()], &out[PATH]);
    assert_eq!(after.path.is_empty(), before.path.is_empty());
}

fn descriptor(before: &Descriptor, after: &Descriptor, out: &[u8]) {
    gone(&before.name, &[], &out[FILE]);
    assert_eq!(before.name.is_empty(), after.name.is_empty(), "a name came or went");
    if let (Some(before), Some(after)) = (&before.socket, &after.socket) {
        for (before, after) in [(before.local, after.local), (before.remote, after.remote)] {
            assert_eq!(before.map(|(_, port)| port), after.map(|(_, port)| port));
            let told = before.filter(|(ip, _)| !ip.is_loopback() && !ip.is_unspecified());
            assert!(told.is_none() || told.map(|(ip, _)| ip) != after.map(|(ip, _)| ip), "an address stays");
        }
        assert_eq!(before.state, after.state, "a socket's state has changed");
    }
}

/// No long part of the path stands in these bytes, but where one of the kept names has it too.
fn gone(path: &Name, kept: &[Name], bytes: &[u8]) {
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    for part in path.as_bytes().split(|byte| *byte == b'/').filter(|part| part.len() >= LONG && !stands_for_one(part)) {
        assert!(
            !has(bytes, part) || kept.iter().any(|name| has(name.as_bytes(), part)),
            "`{}` is still there",
            String::from_utf8_lossy(part)
        );
    }
}

/// Whether a name ends as placeholders do, `#` and eight digits: another name's may be the same.
fn stands_for_one(part: &[u8]) -> bool {
    part.len().checked_sub(9).map(|at| part.split_at(at)).is_some_and(|(_, end)| {
        let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        end.first() == Some(&b'#') && end.iter().skip(1).all(hex)
    })
}
