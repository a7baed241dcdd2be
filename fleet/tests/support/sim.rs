//! A simulated fleet with known truth: execs of a day on many hosts, written as segments by the agent's own writer.
//!
//! What is true is counted here, apart from everything that answers questions: values go into plain lists of counts.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::BufWriter,
    path::Path,
};

use fdtide::{
    event::{Exit, Kind, Kinds, Name},
    hist::{Quantiles, Values},
    model::{
        Anchor, Cause, ExecRecord, FailureRow,
        report::{BeforeExec, EndedBy, Image, SettledFrom, SpawnWindow, SpawnerRow},
    },
    segment::{Head, Missing, Origin, Writer},
};
use serde_json::{Value, json};

/// 2026-08-01T00:00:00Z.
pub const DAY_NS: u64 = 1_785_542_400_000_000_000;
const HOUR_NS: u64 = 3_600_000_000_000;
/// The release of the simulated day, at noon of each host's clock.
pub const MARK: &str = "deploy 1.4.2";
/// Rows of a segment at most.
const SEGMENT: u64 = 50_000;
/// Spawner, program, usual high-water, spread, soft limit.
const PROGRAMS: [(&str, &str, u32, u32, u32); 10] = [
    ("openshell-sandb", "true", 1008, 30, 4096),
    ("openshell-sandb", "python3", 1020, 900, 4096),
    ("nginx", "worker", 180, 90, 1024),
    ("runc", "init", 24, 6, 1_048_576),
    ("cron", "sh", 12, 3, 1024),
    ("sshd", "bash", 18, 5, 1024),
    ("make", "cc1plus", 9, 2, 1024),
    ("postgres", "archive", 310, 40, 20_000),
    ("envoy", "hot-restart", 6400, 5000, 65_536),
    ("java", "jspawnhelper", 2300, 600, 1_048_576),
];

/// How large the fleet is.
#[derive(Clone, Copy, Debug)]
pub struct Fleet {
    /// Hosts.
    pub hosts: u64,
    /// Execs of each host.
    pub execs: u64,
    /// Another fleet for each seed.
    pub seed: u64,
}

/// What is true of it.
#[derive(Debug, Default)]
pub struct Truth {
    /// High-water of the spawn window: program, then value, then how often.
    pub windows: BTreeMap<&'static str, BTreeMap<u32, u64>>,
    /// The same of each host, as the report of that host would have it.
    pub histograms: BTreeMap<(u64, &'static str), Values>,
    /// Least headroom of each table's owner.
    pub headroom: BTreeMap<&'static str, u32>,
    /// Execs by program.
    pub execs: BTreeMap<&'static str, u64>,
    /// Execs that failed, and how often: program and what.
    pub failed: BTreeMap<(&'static str, String), (u64, u64)>,
    /// Settled levels of each spawner before and after the mark.
    pub settled: BTreeMap<&'static str, [Vec<u32>; 2]>,
    /// What was written.
    pub bytes: u64,
    /// Files.
    pub segments: u64,
}

/// Splitmix64: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound.max(1))) as u32
    }
}

/// Names that repeat themselves.
struct Words {
    programs: Vec<(Name, Name, Name)>,
    kinds: Kinds,
    container: Option<Name>,
}

impl Fleet {
    /// Writes the segments below a folder and tells what is true of them.
    pub fn write(&self, folder: &Path) -> Truth {
        let names = |(spawner, program, ..): (&str, &str, u32, u32, u32)| {
            (Name::from(spawner), Name::from(program), Name::from(format!("/usr/bin/{program}").as_str()))
        };
        let kinds = [(Kind::File, 3), (Kind::Pipe, 4)].into_iter().collect();
        let words =
            Words { programs: PROGRAMS.into_iter().map(names).collect(), kinds, container: Some(Name::from("4f1c")) };
        let mut truth = Truth::default();
        // Hosts are independent of each other, so that each thread takes its share.
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        let share = |first: u64| {
            let mut own = Truth::default();
            (first..self.hosts).step_by(threads as usize).for_each(|host| self.host(host, folder, &words, &mut own));
            own
        };
        std::thread::scope(|scope| {
            let shares: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
            shares.into_iter().for_each(|own| truth.add(own.join().expect("hosts are written")));
        });
        truth
    }

    fn host(&self, host: u64, folder: &Path, words: &Words, truth: &mut Truth) {
        let mut random = Random(self.seed ^ host.wrapping_mul(0x1234_5678_9abc_def1));
        let origin = Origin {
            host: format!("web{host:04}"),
            boot_id: format!("{:016x}", random.next()),
            anchor: Anchor { boot_ns: HOUR_NS, wall_unix_ns: DAY_NS },
        };
        let step = 24 * HOUR_NS / self.execs.max(1);
        let mut file = None;
        let mark_at = self.execs / 2;
        for seq in 1..=self.execs {
            let at_ns = HOUR_NS + (seq - 1) * step;
            if file.is_none() || (seq - 1).is_multiple_of(SEGMENT) {
                finish(&mut file, truth);
                file = Some(begin(folder, &Head::new(&origin, seq / SEGMENT + 1, at_ns)));
            }
            let (_, writer) = file.as_mut().expect("a file");
            if seq == mark_at + 1 {
                writer.push(&origin.mark(at_ns, MARK)).expect("a row is written");
            }
            let record = exec(seq, at_ns, host, seq > mark_at, &mut random, words, truth);
            for row in origin.exec(&record) {
                writer.push(&row).expect("a row is written");
            }
        }
        if let Some((_, writer)) = &mut file {
            let end_ns = HOUR_NS + 24 * HOUR_NS - 1;
            let missing = Missing { lost: host % 2, ..Missing::default() };
            writer.push(&origin.coverage(end_ns, Missing::default(), missing)).expect("a row is written");
        }
        finish(&mut file, truth);
    }
}

type Open = (std::path::PathBuf, Writer<BufWriter<File>>);

fn begin(folder: &Path, head: &Head) -> Open {
    let path = folder.join(&head.object);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder is made");
    let file = BufWriter::new(File::create(&path).expect("a file is made"));
    (path, Writer::new(file, head).expect("a segment begins"))
}

fn finish(file: &mut Option<Open>, truth: &mut Truth) {
    if let Some((path, writer)) = file.take() {
        writer.finish().expect("a segment ends");
        truth.bytes += path.metadata().expect("a file").len();
        truth.segments += 1;
    }
}

fn exec(
    seq: u64,
    at_ns: u64,
    host: u64,
    after: bool,
    random: &mut Random,
    words: &Words,
    truth: &mut Truth,
) -> ExecRecord {
    let which = (random.next() % PROGRAMS.len() as u64) as usize;
    let (spawner, program, usual, spread, soft) = PROGRAMS[which];
    // A long tail: the sum of two, and now and then far more; some hosts are higher than others.
    let tail = if random.below(64) == 0 { random.below(spread * 6) } else { 0 };
    let high =
        (usual + random.below(spread) + random.below(spread) + tail + (host % 5) as u32 * (spread / 3)).min(soft);
    let full = high == soft;
    // After the release the sandbox keeps a descriptor more every 40 execs.
    let leak = if after && spawner == "openshell-sandb" { (seq % 1000) as u32 / 40 + 10 } else { 0 };
    let settled = usual / 4 + leak;
    let image_high = 5 + random.below(20);
    let code = if random.below(200) == 0 { 1 } else { 0 };
    let signal = random.below(1500) == 0;
    let refused = if full { 1 + u64::from(random.below(9)) } else { 0 };

    *truth.windows.entry(program).or_default().entry(high).or_insert(0) += 1;
    truth.histograms.entry((host, program)).or_default().add(high);
    *truth.execs.entry(program).or_insert(0) += 1;
    for (owner, left) in [(spawner, soft - high), (spawner, soft - high.min(soft)), (program, 1024 - image_high)] {
        let least = truth.headroom.entry(owner).or_insert(u32::MAX);
        *least = left.min(*least);
    }
    let mut fail = |what: &str, times: u64| {
        let sum = truth.failed.entry((program, what.to_owned())).or_insert((0, 0));
        (sum.0, sum.1) = (sum.0 + 1, sum.1 + times);
    };
    if full {
        fail("EMFILE from openat, table full", refused);
    }
    match (signal, code) {
        (true, _) => fail("signal 9", 0),
        (_, 1) => fail("exit 1", 0),
        _ => {}
    }
    truth.settled.entry(spawner).or_default()[usize::from(after)].push(settled);

    let failures = if full { vec![failure(at_ns, refused, soft)] } else { Vec::new() };
    let (spawner_name, program_name, path) = words.programs[which].clone();
    ExecRecord {
        seq,
        at_ns,
        spawner: SpawnerRow { pid: 100 + which as u32, tid: 100, comm: spawner_name.clone(), thread: spawner_name },
        pid: 1000 + (seq % 4_000_000) as u32,
        ns_pid: 7,
        container: words.container.clone().filter(|_| host.is_multiple_of(2)),
        comm: program_name.clone(),
        program: program_name,
        path,
        again: false,
        table: Some(1_000_000 + seq),
        spawn_window: SpawnWindow {
            table: Some(which as u64 + 1),
            high_water: Some(high),
            settled: Some(settled),
            settled_from: Some(SettledFrom::Still),
            kinds: Some(words.kinds.clone()),
            soft_limit: Some(soft),
            headroom: Some(soft - high),
            failures: Some(failures),
            overlapping: Some(0),
            ..SpawnWindow::default()
        },
        before_exec: BeforeExec {
            high_water: Some(high.min(soft)),
            soft_limit: Some(soft),
            headroom: Some(soft - high),
            ..BeforeExec::default()
        },
        mark: None,
        inherited: 3,
        inherited_kinds: words.kinds.clone(),
        image: Image {
            high_water: Some(image_high),
            high_water_kinds: Some(words.kinds.clone()),
            highest_number: Some(image_high),
            settled: Some(4),
            settled_from: Some(SettledFrom::Last),
            installs: Some(20),
            closes: Some(18),
            soft_limit: Some(1024),
            headroom: Some(1024 - image_high),
            failures: Vec::new(),
            at_exit: Some(4),
            at_exit_kinds: None,
            exit: Some(if signal { Exit::Signal { signal: 9, core: false } } else { Exit::Code(code) }),
            ended_by: EndedBy::Exit,
            end_ns: Some(at_ns + 1_000_000),
        },
    }
}

fn failure(at_ns: u64, count: u64, soft: u32) -> FailureRow {
    FailureRow {
        errno: "EMFILE".into(),
        syscall: "openat".into(),
        count,
        live: Some(soft),
        soft_limit: Some(soft),
        first_ns: Some(at_ns),
        last_ns: Some(at_ns),
        per_second: None,
        lowest_free: None,
        in_use: Some(soft),
        cause: Cause::TableFull,
        hidden: false,
    }
}

impl Truth {
    /// Adds what is true of other hosts.
    fn add(&mut self, other: Truth) {
        for (program, counts) in other.windows {
            let own = self.windows.entry(program).or_default();
            counts.into_iter().for_each(|(value, n)| *own.entry(value).or_insert(0) += n);
        }
        self.histograms.extend(other.histograms);
        for (owner, left) in other.headroom {
            let least = self.headroom.entry(owner).or_insert(u32::MAX);
            *least = left.min(*least);
        }
        other.execs.into_iter().for_each(|(program, n)| *self.execs.entry(program).or_insert(0) += n);
        for (what, (execs, times)) in other.failed {
            let sum = self.failed.entry(what).or_insert((0, 0));
            (sum.0, sum.1) = (sum.0 + execs, sum.1 + times);
        }
        for (spawner, [before, after]) in other.settled {
            let own = self.settled.entry(spawner).or_default();
            own[0].extend(before);
            own[1].extend(after);
        }
        (self.bytes, self.segments) = (self.bytes + other.bytes, self.segments + other.segments);
    }

    /// Quantiles by the definition itself: the values in order, the least that so many of 100 do not exceed. Values that a
    /// histogram does not tell exactly are given as it gives them.
    pub fn brute(&self, program: &str) -> Quantiles {
        let counts = &self.windows[program];
        let count: u64 = counts.values().sum();
        let max = *counts.keys().next_back().expect("a value");
        let at = |percent: u64| {
            let mut seen = 0;
            let found = counts.iter().find(|(_, n)| {
                seen += **n;
                seen * 100 >= count * percent
            });
            top(u64::from(*found.expect("a value").0)).min(u64::from(max))
        };
        Quantiles { count, p50: at(50), p90: at(90), p99: at(99), max: u64::from(max) }
    }

    /// The histograms of the hosts, written and read back as HdrHistogram's own format has them, and added up.
    pub fn merged(&self, program: &str) -> Quantiles {
        let mut all = Values::default();
        for ((_, of), values) in &self.histograms {
            if *of == program {
                for (value, count) in fdtide::hist::counts(&values.hdr()) {
                    all.add_n(value as u32, count);
                }
            }
        }
        all.quantiles()
    }

    /// The two ways to the truth agree, to the digits that a histogram has.
    pub fn agrees(&self, program: &str) {
        let figures = |q: Quantiles| [top(q.p50), top(q.p90), top(q.p99), top(q.max), q.count];
        assert_eq!(figures(self.brute(program)), figures(self.merged(program)), "{program}");
    }

    /// For a program that compares: quantiles of each program.
    pub fn json(&self) -> Value {
        let rows = self.windows.keys().map(|program| {
            let Quantiles { count, p50, p90, p99, max } = self.brute(program);
            self.agrees(program);
            json!({"program": program, "execs": count, "p50": p50, "p90": p90, "p99": p99, "max": max})
        });
        json!({"bytes": self.bytes, "segments": self.segments, "programs": rows.collect::<Vec<_>>()})
    }
}

/// The greatest value that shares its three significant digits, in the terms of the histogram: 2,048 steps per power of two.
fn top(value: u64) -> u64 {
    let mut width = 1;
    while value / width >= 2048 {
        width *= 2;
    }
    value / width * width + width - 1
}
