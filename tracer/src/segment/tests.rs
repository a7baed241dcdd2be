//! Segments from the model's rows to files in their place, and what may come between.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use arrow_array::{Array as _, cast::AsArray as _, types::Int64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

use super::{
    columns::{COLUMNS, schema},
    *,
};
use crate::model::{Anchor, ExecRecord, testing::sample};

const DAY_NS: u64 = 86_400_000_000_000;
const LONG: Duration = Duration::from_secs(20);

fn origin() -> Origin {
    let anchor = Anchor { boot_ns: 1_000, wall_unix_ns: 1_785_585_600_000_000_000 };
    Origin { host: "web1".to_owned(), boot_id: "1b2c3d4e-5f60".to_owned(), anchor }
}

/// Settings of folders below this one.
fn settings(folder: &TempDir) -> Settings {
    Settings {
        url: folder.path().join("place").display().to_string(),
        spool: folder.path().join("spool"),
        interval_ns: 60_000_000_000,
        max_bytes: 1 << 20,
        spool_max_bytes: 1 << 20,
    }
}

fn marks(segments: &mut Segments, range: std::ops::Range<u64>) {
    range.for_each(|n| {
        let row = segments.origin().mark(1_000 + n, &format!("mark {n}"));
        segments.push(&[row], 1_000 + n);
    });
}

/// Ends them, with enough time for everything.
fn finished(mut segments: Segments, now_ns: u64, missing: Missing) -> Status {
    segments.finish(now_ns, Vec::new(), missing, Instant::now() + LONG);
    segments.wait()
}

/// Files below a folder, by their name below it.
fn files(folder: &Path) -> Vec<String> {
    fn all(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.flat_map(|path| if path.is_dir() { all(&path) } else { vec![path] }).collect()
    }
    let mut names: Vec<String> = all(folder)
        .iter()
        .map(|path| path.strip_prefix(folder).unwrap().display().to_string())
        .filter(|name| name != "lock")
        .collect();
    names.sort();
    names
}

/// A column of a segment, as numbers.
fn numbers(path: &Path, name: &str) -> Vec<Option<i64>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(path).unwrap()).unwrap().build().unwrap();
    let column = |batch: arrow_array::RecordBatch| -> Vec<Option<i64>> {
        batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().iter().collect()
    };
    reader.flat_map(|batch| column(batch.unwrap())).collect()
}

/// A column of all segments of the place, as texts.
fn texts(folder: &TempDir, name: &str) -> Vec<String> {
    let place = folder.path().join("place");
    let of = |file: &String| -> Vec<String> {
        let file = fs::File::open(place.join(file)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let column = |batch: arrow_array::RecordBatch| -> Vec<String> {
            let column = batch.column_by_name(name).unwrap().as_string::<i32>().clone();
            (0..column.len()).filter(|at| column.is_valid(*at)).map(|at| column.value(at).to_owned()).collect()
        };
        reader.flat_map(|batch| column(batch.unwrap())).collect()
    };
    let mut found: Vec<String> = files(&place).iter().flat_map(of).collect();
    found.sort();
    found
}

#[test]
fn a_row_says_what_the_exec_record_says() {
    let report = sample::landlock();
    let mut record = report.execs.iter().find(|record| record.seq > 0).unwrap().clone();
    record.container = Some(crate::event::Name::from("4f1c"));
    let rows = origin().exec(&record);
    let record = &record;
    let row = &rows[0];
    let window = &record.spawn_window;
    assert_eq!(row.program.as_deref(), Some(record.program.text().as_str()));
    assert_eq!(row.window_high_water, window.high_water.map(i64::from));
    assert_eq!(
        (row.window_soft_limit, row.window_headroom),
        (window.soft_limit.map(i64::from), window.headroom.map(i64::from))
    );
    assert_eq!((row.pid, row.inherited), (Some(record.pid.into()), Some(record.inherited.into())));
    assert_eq!(row.container.as_deref(), Some("4f1c"));
    let wall = origin().wall_ns(record.at_ns);
    assert_eq!(row.time, Some((wall / 1000) as i64));
    let expected: u64 = window.failures.iter().flatten().map(|failure| failure.count).sum();
    let inner =
        |record: &ExecRecord| record.before_exec.failures.iter().flatten().chain(&record.image.failures).count();
    assert_eq!(rows.len(), 1 + window.failures.iter().flatten().count() + inner(record));
    let told: i64 = rows.iter().skip(1).filter_map(|row| row.failures).sum();
    assert_eq!(row.failures, Some(told));
    assert!(told as u64 >= expected);
}

#[test]
fn every_row_comes_to_its_place_once_and_the_spool_is_empty_then() {
    let folder = TempDir::new().unwrap();
    let mut segments = Segments::start(settings(&folder), origin()).unwrap();
    assert!(segments.is_due(1_000));
    marks(&mut segments, 0..20_000);
    assert!(segments.is_due(30_000), "it is larger than a segment may be");
    segments.rotate(2_000, Vec::new(), Missing { lost: 2, ..Missing::default() });
    marks(&mut segments, 20_000..20_005);
    let status = finished(segments, 3_000, Missing { lost: 5, ..Missing::default() });
    assert_eq!((status.sent, status.sent_rows, status.waiting, status.dropped_rows), (2, 20_007, 0, 0), "{status:?}");
    let mut expected: Vec<String> = (0..20_005).map(|n| format!("mark {n}")).collect();
    expected.sort();
    assert_eq!(texts(&folder, "mark"), expected);
    let names = files(&folder.path().join("place"));
    assert_eq!(names[0], "date=2026-08-01/host=web1/1b2c3d4e5f60-3e8-000001.v1.parquet");
    let lost =
        |name: &str| numbers(&folder.path().join("place").join(name), "lost").into_iter().flatten().collect::<Vec<_>>();
    assert_eq!((lost(&names[0]), lost(&names[1])), (vec![2], vec![3]), "what is missing is told once");
    assert_eq!(files(&folder.path().join("spool")), [""; 0]);
    let size = |name: &str| fs::metadata(folder.path().join("place").join(name)).unwrap().len();
    assert!(size(&names[0]) < 120_000 && size(&names[1]) < 9_000, "{} {}", size(&names[0]), size(&names[1]));
    let (head, rows) = look(&folder.path().join("place").join(&names[1])).unwrap();
    assert_eq!((head.host.as_str(), head.segment, rows), ("web1", columns::VERSION, 6));
}

#[test]
fn a_segment_is_due_at_its_age_at_its_size_and_at_midnight() {
    let folder = TempDir::new().unwrap();
    let mut segments = Segments::start(settings(&folder), origin()).unwrap();
    marks(&mut segments, 0..1);
    assert!(!segments.is_due(59_000_000_000) && segments.is_due(60_000_001_000));
    segments.rotate(DAY_NS / 2 - 10_000_000_000, Vec::new(), Missing::default());
    assert!(!segments.is_due(DAY_NS / 2 - 1_000_000_000), "noon, and half a day");
    assert!(segments.is_due(DAY_NS / 2 + 2_000));
    segments.rotate(DAY_NS / 2 + 2_000, Vec::new(), Missing::default());
    marks(&mut segments, 0..10_000);
    assert!(segments.is_due(DAY_NS / 2 + 3_000), "a MiB of rows");
    drop(segments);
}

#[test]
fn what_a_killed_agent_leaves_is_sent_by_the_next_one_without_the_line_that_is_cut() {
    let folder = TempDir::new().unwrap();
    let settings = settings(&folder);
    {
        let spool = Spool::take(&settings.spool).unwrap();
        let mut open = spool.begin(Head::new(&origin(), 1, 1_000)).unwrap();
        (0..3).for_each(|n| open.push(&origin().mark(1_000 + n, &format!("mark {n}"))).unwrap());
        open.flush().unwrap();
        // No close: this is where it is killed, in the middle of a line.
        let name = files(&settings.spool).pop().unwrap();
        let path = settings.spool.join(name);
        let mut text = fs::read(&path).unwrap();
        text.extend_from_slice(br#"{"type":"mark","host":"we"#);
        fs::write(&path, text).unwrap();
        fs::write(settings.spool.join("half.tmp"), "PAR1").unwrap();
    }
    let segments = Segments::start(settings, origin_of("web1", 5_000)).unwrap();
    let status = finished(segments, 9_000, Missing::default());
    assert_eq!((status.sent, status.waiting, status.bad), (2, 0, 0), "{status:?}");
    assert_eq!(texts(&folder, "mark"), ["mark 0", "mark 1", "mark 2"]);
    assert_eq!(files(&folder.path().join("spool")), [""; 0]);
}

#[test]
fn a_segment_that_is_sent_twice_is_there_once() {
    let folder = TempDir::new().unwrap();
    let settings = settings(&folder);
    let rows = || {
        let spool = Spool::take(&settings.spool).unwrap();
        let mut open = spool.begin(Head::new(&origin(), 9, 1_000)).unwrap();
        open.push(&origin().mark(1_000, "once")).unwrap();
        open.flush().unwrap();
        open.close().unwrap();
    };
    for _ in 0..2 {
        rows();
        // The second time as if the agent had been killed between sending and removing.
        let segments = Segments::start(settings.clone(), origin()).unwrap();
        finished(segments, 2_000, Missing::default());
    }
    assert_eq!(texts(&folder, "mark"), ["once"]);
}

#[test]
fn a_place_that_takes_nothing_costs_room_up_to_the_cap_and_what_goes_is_counted() {
    let folder = TempDir::new().unwrap();
    let mut settings = settings(&folder);
    settings.spool_max_bytes = 40_000;
    // Where the day's folder belongs there is a file.
    fs::create_dir_all(folder.path().join("place")).unwrap();
    let blocked = folder.path().join("place/date=2026-08-01");
    fs::write(&blocked, "").unwrap();
    let mut segments = Segments::start(settings.clone(), origin()).unwrap();
    for n in 0..20 {
        marks(&mut segments, n * 100..n * 100 + 100);
        segments.rotate(2_000 + n, Vec::new(), Missing::default());
    }
    let status = finished(segments, 3_000, Missing::default());
    assert!(status.sent == 0 && status.trouble.is_some(), "{status:?}");
    let waiting: u64 =
        files(&settings.spool).iter().map(|name| fs::metadata(settings.spool.join(name)).unwrap().len()).sum();
    assert!(status.dropped > 0 && waiting <= 40_000, "{waiting} {status:?}");

    fs::remove_file(blocked).unwrap();
    let segments = Segments::start(settings, origin_of("web1", 5_000)).unwrap();
    let after = finished(segments, 9_000, Missing::default());
    assert_eq!((after.waiting, &after.trouble), (0, &None));
    let there = texts(&folder, "type").len() as u64;
    // 100 marks and a row on what is missing each, one of these at the end, and the second agent's.
    let gone = status.dropped_rows + after.dropped_rows;
    assert_eq!(there + gone, 20 * 101 + 1 + 1, "none is doubled, and what is gone is counted");
}

fn origin_of(host: &str, boot_ns: u64) -> Origin {
    Origin { host: host.to_owned(), anchor: Anchor { boot_ns, ..origin().anchor }, ..origin() }
}

#[test]
fn a_full_disk_drops_rows_by_number_and_takes_them_again_when_there_is_room() {
    let folder = TempDir::new().unwrap();
    let mut settings = settings(&folder);
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&disk).status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("skipped: no small file system can be mounted here");
        return;
    }
    settings.spool = disk.join("spool");
    let stone = disk.join("stone");
    let mut segments = Segments::start(settings, origin()).unwrap();
    marks(&mut segments, 0..10);
    segments.flush();
    // All but nothing is left.
    let _ = fs::write(&stone, vec![0; 1 << 20]);
    marks(&mut segments, 10..2_000);
    segments.flush();
    let full = segments.status();
    fs::remove_file(&stone).unwrap();
    // Before it is time to try again rows are dropped too.
    marks(&mut segments, 2_000..2_005);
    let row = segments.origin().mark(20_000_000_000, "again");
    segments.push(&[row], 20_000_000_000);
    let status = finished(segments, 21_000_000_000, Missing::default());
    let found = texts(&folder, "mark");
    Command::new("umount").arg("-l").arg(&disk).status().unwrap();
    assert!(
        full.dropped_rows > 0 && full.spool_trouble.as_ref().is_some_and(|text| text.contains("has room again")),
        "{full:?}"
    );
    assert_eq!(found.len() as u64 + status.dropped_rows, 2_006, "{status:?}");
    assert_eq!(status.spool_trouble, None);
    assert!(found.contains(&"again".to_owned()) && found.contains(&"mark 9".to_owned()), "{status:?}");
    let dropped: i64 = files(&folder.path().join("place"))
        .iter()
        .flat_map(|name| numbers(&folder.path().join("place").join(name), "dropped"))
        .flatten()
        .sum();
    assert_eq!(dropped as u64, status.dropped_rows, "and the rows say so themselves");
}

#[test]
fn what_is_no_segment_is_set_aside_and_keeps_nothing_back() {
    let folder = TempDir::new().unwrap();
    let settings = settings(&folder);
    fs::create_dir_all(&settings.spool).unwrap();
    fs::write(settings.spool.join("a.rows"), "no head\n").unwrap();
    fs::write(settings.spool.join("b.parquet"), "no Parquet").unwrap();
    let mut segments = Segments::start(settings.clone(), origin()).unwrap();
    marks(&mut segments, 0..1);
    let status = finished(segments, 2_000, Missing::default());
    assert_eq!((status.sent, status.bad, status.waiting), (1, 2, 0), "{status:?}");
    assert_eq!(files(&settings.spool), ["a.bad", "b.parquet.bad"]);
}

#[test]
fn a_spool_has_one_agent_and_a_place_is_a_folder_or_a_store() {
    let folder = TempDir::new().unwrap();
    let _first = Spool::take(folder.path()).unwrap();
    let second = Spool::take(folder.path()).unwrap_err().to_string();
    assert!(second.contains("in use by another agent"), "{second}");
    for bad in ["", "gs://bucket/x", "s3:///x", "s3://b*/x", "file://x"] {
        let error = Place::parse(bad).unwrap_err().to_string();
        assert!(error.contains("is no place for segments"), "{bad}: {error}");
    }
    let place = Place::parse("file:///srv/segments/").unwrap();
    assert_eq!(
        (place.prefix.as_str(), place.shown(&place.object("a"))),
        ("srv/segments", "/srv/segments/a".to_owned())
    );
}

#[test]
fn the_page_on_segments_has_every_column() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/segments.md");
    let mut table = String::from("| column | kind | rows | meaning |\n| --- | --- | --- | --- |\n");
    for column in COLUMNS {
        table.push_str(&format!("| `{}` | {} | {} | {} |\n", column.name, column.kind, column.rows, column.help));
    }
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- columns -->\n").unwrap();
    let (now, after) = rest.split_once("<!-- end -->\n").unwrap();
    if std::env::var_os("FDTIDE_BLESS").is_some() {
        fs::write(&path, format!("{before}<!-- columns -->\n{table}<!-- end -->\n{after}")).unwrap();
    } else {
        assert_eq!(now, table, "run with FDTIDE_BLESS=1 to write it anew");
    }
    assert_eq!(schema().fields().len(), COLUMNS.len());
}
