use std::{collections::BTreeSet, mem};

use fdtide_abi::event::{DescriptorRecord, ExecRecord, SlotRecord, descriptor_flag, record};

use super::*;
use crate::{
    event::{Descriptor, Event, decode},
    record::{Input, Note, Reader, Writer},
};

fn bytes_of<T: fdtide_abi::event::Record>(record: &T) -> Vec<u8> {
    // SAFETY: integers without padding, by the trait's contract.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(record).cast(), size_of::<T>()) }.to_vec()
}

fn zeroed<T: fdtide_abi::event::Record>() -> T {
    // SAFETY: integers; zero is a value of each.
    unsafe { mem::zeroed() }
}

fn exec(path: &str, comm: &str) -> Vec<u8> {
    let mut raw: ExecRecord = zeroed();
    (raw.header.kind, raw.header.len) = (record::EXEC, size_of::<ExecRecord>() as u32);
    raw.filename[..path.len()].copy_from_slice(path.as_bytes());
    raw.row.comm[..comm.len()].copy_from_slice(comm.as_bytes());
    bytes_of(&raw)
}

/// A descriptor by its names, its own first.
fn row(names: &[&[u8]], flags: u32, family: u16, remote: [u8; 16]) -> Vec<u8> {
    let mut raw: DescriptorRecord = zeroed();
    (raw.header.kind, raw.header.len) = (record::DESCRIPTOR, size_of::<DescriptorRecord>() as u32);
    (raw.kind, raw.flags, raw.family, raw.remote, raw.stack) = (1, flags, family, remote, u32::MAX);
    for (field, name) in raw.names.iter_mut().zip(names) {
        field[..name.len()].copy_from_slice(name);
    }
    bytes_of(&raw)
}

fn path_of(bytes: &[u8]) -> String {
    match decode(bytes).unwrap() {
        Event::Exec(event) => event.path.text(),
        Event::Descriptor(row) => row.name.text(),
        other => panic!("{other:?}"),
    }
}

fn descriptor(bytes: &[u8]) -> Descriptor {
    match decode(bytes).unwrap() {
        Event::Descriptor(row) => *row,
        other => panic!("{other:?}"),
    }
}

const KEY: &[u8] = b"a secret of the operator";

fn redacted(bytes: &[u8]) -> String {
    path_of(&Redactor::keyed(KEY).raw(bytes))
}

#[test]
fn a_program_keeps_its_own_name_and_loses_its_folder() {
    let one = redacted(&exec("/srv/customer/bin/server", "server"));
    assert!(one.starts_with("dir#") && one.ends_with("/server") && one.len() == 12 + 7, "{one}");
    assert_eq!(redacted(&exec("/srv/customer/bin/client", "client")).split('/').next(), one.split('/').next());
    assert_ne!(redacted(&exec("/srv/other/bin/server", "server")), one);
    for plain in ["server", "/dev/fd/7", "/proc/self/fd/12", ""] {
        assert_eq!(redacted(&exec(plain, "x")), plain);
    }
    let cut = format!("/srv/customer/{}", "x".repeat(FILL));
    assert!(redacted(&exec(&cut, "runner")).ends_with("/runner"));
}

/// So that a path fills its field.
const FILL: usize = 127 - 14;

#[test]
fn a_file_keeps_its_kind_its_depth_and_whether_its_path_is_whole() {
    let rooted = descriptor_flag::ROOTED;
    let whole = redacted(&row(&[b"ledger.db", b"customer", b"srv", b"/"], rooted, 0, [0; 16]));
    let parts: Vec<&str> = whole.split('/').collect();
    assert!(parts[0].is_empty() && parts[1].starts_with("dir#") && parts[2].starts_with("file#"), "{whole}");
    let sibling = redacted(&row(&[b"other.db", b"customer", b"srv", b"/"], rooted, 0, [0; 16]));
    assert_eq!(sibling.rsplit_once('/').map(|(folder, _)| folder), whole.rsplit_once('/').map(|(folder, _)| folder));
    assert_ne!(sibling, whole);
    let cut = redacted(&row(&[b"ledger.db", b"customer"], 0, 0, [0; 16]));
    assert!(cut.starts_with("dir#"), "{cut}");
    assert_eq!(redacted(&row(&[b"/"], rooted, 0, [0; 16])), "/");
    assert_eq!(redacted(&row(&[], 0, 0, [0; 16])), "");
    let top = redacted(&row(&[b"ledger.db", b"/"], rooted, 0, [0; 16]));
    assert!(top.starts_with("/file#"), "{top}");
}

#[test]
fn sockets_lose_their_paths_and_their_peers_but_not_their_state() {
    let unix = descriptor_flag::SOCKET | descriptor_flag::BOUND;
    let named = redacted(&row(&[b"/run/customer/agent.sock"], unix, 1, [0; 16]));
    assert!(named.starts_with("socket#") && named.len() == 15, "{named}");
    let hidden = redacted(&row(&[b"\0customer"], unix, 1, [0; 16]));
    assert!(hidden.starts_with("@socket#"), "{hidden}");
    let redactor = Redactor::keyed(KEY);
    let remote = |family, address: [u8; 16]| {
        let bytes = row(&[], descriptor_flag::SOCKET, family, address);
        descriptor(&redactor.raw(&bytes)).socket.and_then(|socket| socket.remote).map(|(ip, _)| ip.to_string())
    };
    let v4 = |a, b, c, d| {
        let mut address = [0; 16];
        address[..4].copy_from_slice(&[a, b, c, d]);
        remote(2, address)
    };
    let first: u8 = v4(10, 1, 2, 3).unwrap().split('.').next().unwrap().parse().unwrap();
    assert!(first >= 240);
    assert_eq!(v4(10, 1, 2, 3), v4(10, 1, 2, 3));
    assert_ne!(v4(10, 1, 2, 3), v4(10, 1, 2, 4));
    assert_eq!(v4(127, 0, 0, 1).as_deref(), Some("127.0.0.1"));
    let mut v6 = [7; 16];
    v6[0] = 0xfe;
    assert!(remote(10, v6).unwrap().starts_with("2001:db8::"));
}

#[test]
fn what_is_not_known_is_not_handed_on() {
    let redactor = Redactor::keyed(KEY);
    let mut later = exec("/srv/customer/bin/server", "server");
    later[0] = 99;
    assert!(redactor.raw(&later).is_empty(), "a record of a later version may have names anywhere");
    let cut = &exec("/srv/customer/bin/server", "server")[..600];
    assert!(redactor.raw(cut).is_empty());
    assert!(redactor.raw(b"/srv/customer").is_empty());
    // A record without names, but longer than it is known to be, may have got some; what lies behind one is not part of it.
    let mut slot: SlotRecord = zeroed();
    (slot.header.kind, slot.header.len) = (record::SLOT, size_of::<SlotRecord>() as u32);
    assert_eq!(*redactor.raw(&[&bytes_of(&slot)[..], b"/srv/customer"].concat()), bytes_of(&slot));
    slot.header.len += 13;
    assert!(redactor.raw(&[&bytes_of(&slot)[..], b"/srv/customer"].concat()).is_empty());
}

#[test]
fn placeholders_are_the_same_under_one_key_and_others_under_another() {
    let word = |redactor: Redactor| redactor.word("file", b"/srv/customer/ledger.db");
    assert_eq!(word(Redactor::keyed(KEY)), word(Redactor::keyed(KEY)));
    let others = [Redactor::keyed(b""), Redactor::random().unwrap(), Redactor::random().unwrap()].map(word);
    assert_eq!(others.iter().collect::<BTreeSet<_>>().len(), 3);
    assert!(!format!("{:?}", Redactor::keyed(KEY)).contains("secret"));
    let command = ["/srv/customer/run".to_owned(), "--token=hush".to_owned()];
    let told = Redactor::keyed(KEY).command(&command).join(" ");
    assert!(told.contains("/run arg#") && !told.contains("hush") && !told.contains("customer"), "{told}");
}

#[test]
fn a_recording_is_rewritten_without_names_and_breaks_off_where_it_did() {
    let start = Start { command: vec!["/srv/customer/run".to_owned(), "hush".to_owned()], ..Start::default() };
    let records = [exec("/srv/customer/bin/server", "server"), row(&[b"ledger.db", b"customer"], 0, 0, [0; 16])];
    let frame = Frame {
        module: "/srv/customer/lib.so".into(),
        build_id: "ab".to_owned(),
        offset: 1,
        symbol: Some("open_all".to_owned()),
        source: Some("/srv/customer/src/main.rs:7".to_owned()),
    };
    for whole in [true, false] {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, &start).unwrap();
        for record in &records {
            writer.push(&Input::Record(record), decode(record).ok().as_ref()).unwrap();
        }
        let stack = Stack { at_ns: 3, id: 1, frames: vec![frame.clone()] };
        writer.push(&Input::Stack(Box::new(stack)), None).unwrap();
        writer.push(&Input::Note(Note { at_ns: 4, text: "deploy".to_owned() }), None).unwrap();
        if whole {
            writer.finish().unwrap();
        } else {
            writer.flush().unwrap();
        }
        let mut out = Vec::new();
        rewrite::rewrite_from(Reader::new(&bytes[..]).unwrap(), &mut out, &Redactor::keyed(KEY)).unwrap();
        let mut reader = Reader::new(&out[..]).unwrap();
        let mut told = format!("{:?}", reader.start().command);
        let end = reader.inputs(|input| match input {
            Input::Record(bytes) => told.push_str(&String::from_utf8_lossy(bytes)),
            other => told.push_str(&format!("{other:?}")),
        });
        assert_eq!(end == crate::record::End::Whole, whole);
        for kept in ["server", "open_all", "lib.so", "deploy", "source#", ":7"] {
            assert!(told.contains(kept), "{kept}: {told}");
        }
        for gone in ["customer", "hush", "ledger", "main.rs"] {
            assert!(!told.contains(gone), "{gone}: {told}");
        }
    }
}
