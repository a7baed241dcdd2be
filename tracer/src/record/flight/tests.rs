use super::*;

const SECOND: u64 = 1_000_000_000;

fn keep() -> Keep {
    Keep { keep_ns: 60 * SECOND, max_bytes: 1 << 20, min_free: 0, triggers: Vec::new(), dumps: None }
}

fn closing(at_ns: u64) -> crate::record::Closing {
    crate::record::Closing { at_ns, ..crate::record::Closing::default() }
}

/// A recorder that has taken this many notes, one a second, with a new segment when it is time.
fn recorded(flight: &Shared, from: u64, count: u64) {
    for n in from..from + count {
        if flight.borrow_mut().is_full(n * SECOND) {
            flight.borrow_mut().rotate(n * SECOND, &[]);
        }
        let note = Note { at_ns: n * SECOND, text: format!("note {n}") };
        Tap::take(&mut Rc::clone(flight), &Input::Note(note), None);
    }
}

fn shared(folder: &Path, keep: Keep) -> Shared {
    Rc::new(RefCell::new(Flight::create(folder, keep, Start::default()).unwrap()))
}

/// Notes in a recording, in order.
fn notes(path: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    crate::record::Reader::open(path).unwrap().inputs(|input| {
        if let Input::Note(note) = input {
            notes.push(note.text);
        }
    });
    notes
}

#[test]
fn too_little_room_pauses_it_and_room_again_lets_it_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let flight = shared(folder.path(), keep());
    recorded(&flight, 1, 3);
    // Nobody has so much room.
    flight.borrow_mut().set_caps(Keep { min_free: u64::MAX >> 1, ..keep() });
    recorded(&flight, 4, 3);
    assert!(flight.borrow().paused().unwrap().contains("KiB are free"));
    assert!(flight.borrow_mut().dump("asked", &[], &closing(7)).is_err(), "no room for a dump either");
    flight.borrow_mut().set_caps(keep());
    recorded(&flight, 7, 5);
    assert_eq!((flight.borrow().paused(), flight.borrow().pauses()), (None, 1));
    let pause = flight.borrow_mut().pause_over().unwrap();
    assert!(pause.from_ns <= 4 * SECOND && pause.to_ns >= 9 * SECOND, "{pause:?}");
    let dump = flight.borrow_mut().dump("asked", &[], &closing(12 * SECOND)).unwrap();
    // The last mark holds on, also one from the pause: each segment begins with it.
    assert_eq!(notes(&dump), ["note 1", "note 2", "note 3", "note 8", "note 9", "note 10", "note 11"]);
}

#[test]
fn a_folder_that_goes_and_comes_back_pauses_it_too() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("below");
    let flight = shared(&below, Keep { keep_ns: 8 * SECOND, ..keep() });
    recorded(&flight, 1, 1);
    fs::remove_dir_all(&below).unwrap();
    fs::write(&below, "in the way").unwrap();
    recorded(&flight, 2, 2);
    assert!(flight.borrow().paused().is_some());
    fs::remove_file(&below).unwrap();
    recorded(&flight, 4, 8);
    assert_eq!(flight.borrow().paused(), None);
    assert!(flight.borrow().bytes() > 0);
}

#[test]
fn segments_age_out_also_while_it_is_paused() {
    let folder = tempfile::tempdir().unwrap();
    let flight = shared(folder.path(), Keep { keep_ns: 16 * SECOND, ..keep() });
    recorded(&flight, 1, 10);
    assert!(flight.borrow().done.len() > 2);
    flight.borrow_mut().set_caps(Keep { keep_ns: 16 * SECOND, min_free: u64::MAX >> 1, ..keep() });
    recorded(&flight, 11, 30);
    assert_eq!((flight.borrow().done.len(), flight.borrow().bytes()), (0, 0));
    let told = Tap::finish(&mut Rc::clone(&flight)).unwrap();
    assert!(told.contains("KiB are to be"), "{told}");
}

#[test]
fn the_oldest_dumps_go_and_what_is_not_ours_stays() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("fdtide-notes.txt"), "mine").unwrap();
    let gone = folder.path().join("fdtide-4194305.segments");
    fs::create_dir(&gone).unwrap();
    fs::write(gone.join("000001.fdtide"), "left by a kill").unwrap();
    let living = folder.path().join("fdtide-1.segments");
    fs::create_dir(&living).unwrap();
    let caps = Caps { count: 2, bytes: 1 << 20, age_ns: u64::MAX };
    let flight = shared(folder.path(), Keep { dumps: Some(caps), ..keep() });
    recorded(&flight, 1, 3);
    let dump = |at: u64| flight.borrow_mut().dump("asked", &[], &closing(at * SECOND)).unwrap();
    let dumps = [dump(4), dump(5), dump(6)];
    assert_eq!(dumps.each_ref().map(|path| path.exists()), [false, true, true]);
    assert!(!gone.exists() && living.exists() && folder.path().join("fdtide-notes.txt").exists());
    assert_eq!(flight.borrow().dumps(), &dumps[1..]);
    // One byte is too little for anything, and the newest stays all the same: other caps hold from the next look on.
    flight.borrow_mut().set_caps(Keep { dumps: Some(Caps { bytes: 1, ..caps }), ..keep() });
    assert!(!flight.borrow_mut().is_full(7 * SECOND));
    assert_eq!(flight.borrow().dumps(), &dumps[2..]);
    let last = dump(8);
    assert_eq!(flight.borrow().dumps(), [last]);
}

/// A start whose wall clock said this many seconds, and its boot time nothing.
fn began(wall_s: u64) -> Start {
    Start { anchor: Anchor { boot_ns: 0, wall_unix_ns: wall_s * SECOND }, ..Start::default() }
}

/// When a file or folder last changed, seconds.
fn changed(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::mtime(&path.metadata().unwrap()) as u64
}

#[test]
fn dumps_that_become_too_old_go_within_the_hour_though_no_other_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let caps = Caps { count: 9, bytes: u64::MAX, age_ns: 5400 * SECOND };
    let start = began(changed(folder.path()));
    let keep = Keep { dumps: Some(caps), ..keep() };
    let flight = Rc::new(RefCell::new(Flight::create(folder.path(), keep, start).unwrap()));
    recorded(&flight, 1, 1);
    let first = flight.borrow_mut().dump("asked", &[], &closing(2 * SECOND)).unwrap();
    let second = flight.borrow_mut().dump("asked", &[], &closing(3 * SECOND)).unwrap();
    let look = |at_s: u64| {
        let _ = flight.borrow_mut().is_full(at_s * SECOND);
    };
    look(3610);
    look(7000);
    assert!(first.exists() && second.exists(), "not so old, then no hour after the last look");
    look(7300);
    assert!(!first.exists() && second.exists(), "the newest stays");
    assert_eq!(flight.borrow().dumps(), [second]);
}

#[test]
fn what_earlier_runs_have_left_and_is_too_old_goes_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("fdtide-20260801T000000Z-end.fdtide");
    fs::write(&old, "an old dump").unwrap();
    let left = folder.path().join("fdtide-4194305.segments");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("000001.fdtide"), "left by a kill").unwrap();
    let newest = folder.path().join("fdtide-20260802T000000Z-end.fdtide");
    fs::write(&newest, "the newest").unwrap();
    let later = File::options().write(true).open(&newest).unwrap();
    later.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(5)).unwrap();
    let caps = Caps { count: 9, bytes: u64::MAX, age_ns: 3600 * SECOND };
    let create = |wall_s: u64| {
        let keep = Keep { dumps: Some(caps), ..keep() };
        Flight::create(folder.path(), keep, began(wall_s)).unwrap().discard();
    };
    create(changed(&newest) + 1800);
    assert!(old.exists() && left.exists());
    create(changed(&newest) + 7200);
    assert!(!old.exists() && !left.exists() && newest.exists());
}

#[test]
fn a_killed_run_with_the_same_process_id_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join(format!("fdtide-{}.segments", std::process::id()));
    fs::create_dir(&left).unwrap();
    fs::write(left.join("000001.fdtide"), "left by a kill").unwrap();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(5);
    File::open(&left).unwrap().set_modified(earlier).unwrap();
    let kept = left.with_file_name(format!("fdtide-{}-{}.segments", std::process::id(), changed(&left)));
    // By number alone it may stay.
    let caps = Caps { count: 1, bytes: u64::MAX, age_ns: u64::MAX };
    let flight = shared(folder.path(), Keep { dumps: Some(caps), ..keep() });
    assert_eq!(fs::read(kept.join("000001.fdtide")).unwrap(), b"left by a kill");
    recorded(&flight, 1, 1);
    let dump = flight.borrow_mut().dump("asked", &[], &closing(2 * SECOND)).unwrap();
    assert_eq!(notes(&dump), ["note 1"]);
    assert!(!kept.exists(), "it is one of the dumps, and older than this one");
}
