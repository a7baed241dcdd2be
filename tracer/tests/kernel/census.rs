//! A census and a glance against `/proc`, single installs and closes against the fixture's own count.

use std::{collections::BTreeMap, fs, path::PathBuf};

use fdtide::{
    event::{Census, CensusReason, Descriptor, Event, Kind, Opener, Slot, SocketState, decode},
    probe::{Choice, LoadOptions, Occasion, Session},
};

use crate::support::{self, fixture::Fixture, limits::kill, line::number};

/// What the records of one trace say that a test here is about.
#[derive(Default)]
struct Taken {
    rows: Vec<Descriptor>,
    censuses: Vec<Census>,
    slots: Vec<Slot>,
}

impl Taken {
    fn take(&mut self, bytes: &[u8]) {
        match decode(bytes).expect("a record of this version") {
            Event::Descriptor(row) => self.rows.push(*row),
            Event::Census(census) => self.censuses.push(census),
            Event::Slot(slot) => self.slots.push(slot),
            _ => {}
        }
    }
}

/// Where the descriptors of a process point to, by number.
fn links(pid: u32) -> BTreeMap<u32, PathBuf> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("its table").map(|entry| entry.expect("a number"));
    let number = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().parse().expect("a number");
    entries.map(|entry| (number(&entry), fs::read_link(entry.path()).expect("a link"))).collect()
}

/// Octal `flags` of fdinfo.
fn flags(pid: u32, number: u32) -> u32 {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).expect("it is open");
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).expect("flags");
    u32::from_str_radix(flags.trim(), 8).expect("octal")
}

#[test]
fn a_census_that_was_asked_for_lists_every_descriptor_as_proc_does() {
    let Some(_kernel) = support::kernel() else { return };
    const CLOEXEC: u32 = 0o2_000_000;
    let options = LoadOptions { ages: true, ..LoadOptions::default() };
    let mut session = Session::open(Choice::from_env(), &options).expect("a session");
    let mut fixture = Fixture::start("fd-holder", &["--count", "300"]);
    fixture.wait_until_it_reads();
    let pid = fixture.pid();
    session.add_target(pid).expect("it is traced");
    fixture.go();
    fixture.next().expect("the line `base`");
    let there = links(pid);
    fixture.go();
    let line = fixture.next().expect("the line `holding`");
    let mut taken = Taken::default();
    session.census(Occasion::Asked, |bytes| taken.take(bytes)).expect("a census");
    let want = links(pid);
    let [census] = taken.censuses[..] else { panic!("one census of one process: {:?}", taken.censuses) };
    assert_eq!((census.reason, census.process.pid, census.lost), (CensusReason::Asked, pid, 0));
    assert_eq!(u64::from(census.live), number(&line, "live"));
    assert_eq!(census.rows as usize, want.len());
    assert_eq!(taken.rows.iter().map(|row| row.number).collect::<Vec<_>>(), want.keys().copied().collect::<Vec<_>>());
    for row in &taken.rows {
        let about = format!("{row:?}");
        let link = want[&row.number].to_string_lossy().into_owned();
        let said = flags(pid, row.number);
        assert_eq!(row.cloexec, said & CLOEXEC != 0, "{about}");
        // The kernel adds and hides flags of its own; how it was opened is the same.
        assert_eq!(row.file_flags & 0o3, said & 0o3, "{about}");
        let old = there.contains_key(&row.number);
        assert_eq!(row.opener, if old { Opener::Before } else { Opener::Thread(pid) }, "{about}");
        assert_eq!(row.opened_ns.is_some(), !old, "{about}");
        assert!(row.opened_ns.is_none_or(|opened| opened <= row.at_ns), "{about}");
        let metadata = fs::metadata(format!("/proc/{pid}/fd/{}", row.number));
        if let Ok(metadata) = &metadata {
            assert_eq!(row.inode, std::os::unix::fs::MetadataExt::ino(metadata), "{about}");
        }
        let name = row.name.text();
        match row.kind {
            Kind::File | Kind::Dir | Kind::OPath | Kind::Fifo | Kind::Chr | Kind::Tty => {
                let link = link.strip_suffix(" (deleted)").unwrap_or(&link);
                // A long path is cut above, a long name behind.
                let cut = |text: &str| text.split('/').next_back().unwrap_or("").chars().take(39).collect::<String>();
                assert_eq!(cut(&name), cut(link), "{about} {link}");
                if name.starts_with('/') {
                    assert_eq!(name, link, "{about}");
                }
            }
            Kind::Memfd => assert_eq!(format!("/{name} (deleted)"), link, "{about}"),
            _ => {}
        }
        assert_eq!(row.socket.is_some(), link.starts_with("socket:"), "{about}");
        if let Some(socket) = row.socket {
            match row.kind {
                Kind::SocketTcp => {
                    assert_eq!(socket.state, SocketState::Listening, "{about}");
                    let (ip, port) = socket.local.expect("a listener has an address");
                    assert!(ip.is_loopback() && port != 0, "{about}");
                }
                Kind::SocketUnix => assert_eq!(socket.state, SocketState::Unconnected, "{about}"),
                _ => {}
            }
        }
    }
    kill(pid, libc::SIGTERM);
}

#[test]
fn a_glance_shows_every_table_as_it_is() {
    let Some(_kernel) = support::kernel() else { return };
    let mut session = Session::open(Choice::from_env(), &LoadOptions::default()).expect("a session");
    let mut fixture = Fixture::start("fd-holder", &["--count", "80"]);
    fixture.wait_until_it_reads();
    session.add_target(fixture.pid()).expect("it is traced");
    fixture.go();
    fixture.next().expect("the line `base`");
    fixture.go();
    let line = fixture.next().expect("the line `holding`");
    let mut seen = Vec::new();
    let take = |bytes: &[u8]| match decode(bytes).expect("a record of this version") {
        Event::Table(table) => seen.push(table.table),
        other => panic!("{other:?}"),
    };
    session.glance(take).expect("a glance");
    assert_eq!(seen.len(), 1);
    assert_eq!(u64::from(seen[0].live), number(&line, "live"));
    assert_eq!(seen[0].owner, fixture.pid());
    kill(fixture.pid(), libc::SIGTERM);
}

#[test]
fn every_install_and_close_is_told_where_each_is_asked_for() {
    let Some(_kernel) = support::kernel() else { return };
    let options = LoadOptions { slots: true, ..LoadOptions::default() };
    let mut session = Session::open(Choice::from_env(), &options).expect("a session");
    let mut fixture = Fixture::start("fd-case", &["12"]);
    fixture.wait_until_it_reads();
    let pid = fixture.pid();
    session.add_target(pid).expect("it is traced");
    fixture.go();
    let mut taken = Taken::default();
    let mut last = None;
    while let Some(line) = fixture.next() {
        session.drain(|bytes| taken.take(bytes));
        let mine = || taken.slots.iter().filter(|slot| slot.pid == pid);
        let installs = mine().filter(|slot| slot.now.is_some()).count() as u64;
        let closes = mine().filter(|slot| slot.before.is_some()).count() as u64;
        assert_eq!((installs, closes), (number(&line, "opens"), number(&line, "closes")), "{line}");
        if let Some(slot) = mine().next_back() {
            assert_eq!(u64::from(slot.live), number(&line, "live"), "{line}");
        }
        last = Some(line);
        fixture.go();
    }
    let line = last.expect("lines");
    let most = taken.slots.iter().map(|slot| slot.live).max().expect("slots");
    assert_eq!(u64::from(most), number(&line, "high_water"));
    assert!(taken.slots.iter().any(|slot| slot.now == Some(Kind::Dir) && slot.syscall.name() == "openat"));
    let stopped = session.coverage().expect("counters");
    assert_eq!((stopped.lost(), stopped.lost_slots()), (0, 0));
}

#[test]
fn a_census_inside_a_burst_of_two_milliseconds_shows_what_was_held() {
    let Some(_kernel) = support::kernel() else { return };
    let options = LoadOptions { census_at: Some(500), stacks: true, ..LoadOptions::default() };
    let mut session = Session::open(Choice::from_env(), &options).expect("a session");
    let mut fixture = Fixture::start("fd-case", &["12"]);
    fixture.wait_until_it_reads();
    session.add_target(fixture.pid()).expect("it is traced");
    fixture.go();
    let mut taken = Taken::default();
    while fixture.next().is_some() {
        session.drain(|bytes| taken.take(bytes));
        fixture.go();
    }
    session.drain(|bytes| taken.take(bytes));
    let census = taken.censuses.iter().find(|census| census.reason == CensusReason::Crest).expect("a census");
    let rows = taken.rows.iter().filter(|row| row.census == census.census && row.table == census.table);
    let dirs: Vec<_> = rows.filter(|row| row.kind == Kind::Dir).collect();
    // The one that was closed first has gone by then.
    assert!(dirs.len() >= 498, "{} directories", dirs.len());
    assert_eq!(census.lost, 0);

    let same = |stack| dirs.iter().filter(|row| row.stack == Some(stack)).count();
    let most = dirs.iter().filter_map(|row| row.stack).max_by_key(|stack| same(*stack)).expect("stacks");
    assert!(same(most) >= 450, "one loop opened them all: {} of {} alike", same(most), dirs.len());
    let frames = session.stack(most).expect("its frames");
    assert!(frames.len() >= 2, "{frames:?}");
}
