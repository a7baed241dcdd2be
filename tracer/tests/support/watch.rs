//! A trace by the library whose tables can be looked at while it runs.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use fdtide::{
    event::{Event, Head, TableId, decode},
    model::{Options, Report},
    pipeline::{self, Pipeline},
    probe::{Choice, LoadOptions, Session},
    record::{Depth, Input},
};
use serde_json::Value;

use super::line::{Differences, failures, number};

/// Longer than a hook takes in which the processor of a guest does something else.
const UNDER_WAY: Duration = Duration::from_millis(200);

/// Hooks attached to one process and its descendants.
pub struct Watch {
    session: Session,
    pipeline: Pipeline,
    seen: Seen,
}

/// What the records told so far.
#[derive(Default)]
struct Seen {
    tables: HashMap<u32, TableId>,
    thread_high: HashMap<TableId, u32>,
}

impl Watch {
    /// Loads and attaches the hooks; nothing is traced yet.
    pub fn start() -> Self {
        let session = Session::open(Choice::from_env(), &LoadOptions::default()).expect("a session");
        let start = pipeline::start(&session, Vec::new(), Options::default(), Depth::Records);
        Self { session, pipeline: Pipeline::new(start, false), seen: Seen::default() }
    }

    /// Traces a process and its descendants.
    pub fn attach(&mut self, pid: u32) {
        self.session.add_target(pid).expect("the process is traced");
    }

    /// Takes the records that wait.
    fn take(&mut self) {
        let Self { session, pipeline, seen } = self;
        session.drain(|bytes| {
            seen.apply(&decode(bytes).expect("a record of this version"));
            pipeline.take(Input::Record(bytes));
        });
    }

    /// The table that a process uses now.
    pub fn table(&mut self, pid: u32) -> Head {
        // What a hook missed meanwhile is made good for, as a trace does four times a second.
        self.session.heal().expect("a walk");
        self.take();
        let id = *self.seen.tables.get(&pid).unwrap_or_else(|| panic!("process {pid} is not traced"));
        let (mut found, mut all, seen) = (None, Vec::new(), &mut self.seen);
        let look = |bytes: &[u8]| {
            if let Ok(Event::Table(record)) = decode(bytes) {
                all.push((record.table.id, record.table.owner));
                seen.thread(&record.table);
                if record.table.id == id {
                    found = Some(record.table);
                }
            }
        };
        self.session.snapshot(look).expect("a snapshot");
        // A mark that an exec took meanwhile is in that exec's record.
        self.take();
        found.unwrap_or_else(|| panic!("the table {id:?} of process {pid} is not among those followed: {all:?}"))
    }

    /// The greatest number that a thread held, by all that was told so far. An exec that has just taken the mark along tells it at
    /// the end of its hook, which may be under way: what is not as expected is looked at once more.
    fn thread_high(&mut self, table: TableId, expected: u64) -> u32 {
        let told = |watch: &Self| watch.seen.thread_high.get(&table).copied().unwrap_or(0);
        if u64::from(told(self)) != expected {
            std::thread::sleep(UNDER_WAY);
            self.take();
        }
        told(self)
    }

    /// Compares a fixture's line with the table of the process that wrote it.
    pub fn compare(&mut self, line: &Value, differences: &mut Differences) {
        let pid = u32::try_from(number(line, "pid")).expect("a pid");
        let head = self.table(pid);
        let thread = self.thread_high(head.id, number(line, "thread_high_water"));
        // What a hook missed was looked at again; what was between two looks is gone, and told as such (limits.md).
        let seen = self.session.coverage().expect("counters");
        let missed: u64 = seen.missed.iter().map(|(_, count)| count).sum();
        let counted = format!("counted {:?}, missed {:?}", busy(&seen.counters), busy(&seen.missed));
        let before = differences.number();
        let near = |got: u64, want: u64| if got.abs_diff(want) <= missed { want } else { got };
        let mut check = |field: &str, got: u64, want: u64| {
            differences.check(&format!("{} {}, step {}, {field}", line["fixture"], pid, line["step"]), got, want);
        };
        let wide = u64::from;
        check("live", wide(head.live), number(line, "live"));
        check("highest number", head.highest.map_or(u64::MAX, wide), number(line, "highest_number"));
        if line["fixture"] == "after-exec" {
            // The dynamic loader opens one library after the other before the program begins.
            check("image high-water", wide(head.image.live), number(line, "high_water") + 1);
        } else {
            let [high, opens, closes] = ["high_water", "opens", "closes"].map(|field| number(line, field));
            check("high-water", near(wide(head.life.live), high), high);
            check("installs", near(head.installs, opens), opens);
            check("closes", near(head.closes, closes), closes);
            // What a ring opens counts for the thread only where the thread itself does the work, seen at that moment.
            let (most, least) = (number(line, "thread_high_water"), line["thread_high_water_least"].as_u64());
            let within = least.is_some_and(|least| (least..=most).contains(&thread.into()));
            check("thread high-water", if within { most } else { near(thread.into(), most) }, most);
        }
        check("kinds at the high-water mark, added up", head.life.kinds.total(), head.life.live.into());
        check("failures kept apart", wide(head.failures_other), 0);
        let about = format!("{} {pid}, step {}", line["fixture"], line["step"]);
        let got: BTreeMap<String, u64> =
            head.kinds.iter().map(|(kind, n)| (kind.name().to_owned(), n.into())).collect();
        differences.check(&format!("{about}, kinds"), got, super::ran::kinds(&line["kinds"]));
        let got: Vec<_> = head
            .failures
            .iter()
            .map(|f| (f.syscall.name().into_owned(), f.errno.name().into_owned(), f.count.into(), f.live.into()))
            .collect();
        differences.check(&format!("{about}, failures"), got, failures(&line["failures"]));
        for (failure, at) in head.failures.iter().zip(0..) {
            // A fixture whose limit changes says which was in force at each failure.
            let soft = line["failure_soft"][at].as_u64().unwrap_or_else(|| number(line, "soft_limit"));
            differences.check(&format!("{about}, soft limit at a failure"), failure.soft.into(), soft);
        }
        if differences.number() > before {
            differences.note(counted);
        }
    }

    /// Processes that live.
    pub fn alive(&mut self) -> usize {
        self.take();
        self.pipeline.alive()
    }

    /// Detaches; nothing may have been lost.
    pub fn finish(mut self) -> Report {
        self.take();
        let Self { session, mut pipeline, .. } = self;
        let stopped = session.stop(|bytes| pipeline.take(Input::Record(bytes))).expect("it stops");
        assert_eq!(stopped.lost(), 0);
        pipeline.take(Input::End(Box::new(pipeline::closing(&stopped, None, None))));
        pipeline.finish()
    }
}

impl Seen {
    fn apply(&mut self, event: &Event) {
        match event {
            Event::Proc(proc) => self.uses(&proc.process),
            Event::Exec(exec) => {
                exec.before.iter().chain(&exec.spawner).for_each(|head| self.thread(head));
                self.uses(&exec.process);
            }
            Event::Move(moved) => self.uses(&moved.process),
            Event::Exit(ended) => ended.table.iter().for_each(|head| self.thread(head)),
            Event::Removed(_) | Event::Place(_) => {}
            Event::Table(_) | Event::Census(_) | Event::Descriptor(_) | Event::Slot(_) | Event::Stack(_) => {}
        }
    }

    fn uses(&mut self, process: &fdtide::event::Process) {
        let table = process.table.expect("the table is followed");
        self.tables.insert(process.id.pid, table);
    }

    /// The kernel keeps the thread's mark for one spawn window; a fixture keeps its own for good.
    fn thread(&mut self, head: &Head) {
        let high = self.thread_high.entry(head.id).or_default();
        *high = head.thread_high.max(*high);
    }
}

/// Those that are not 0.
pub fn busy<T: std::fmt::Debug>(counters: &[(T, u64)]) -> Vec<&(T, u64)> {
    counters.iter().filter(|(_, count)| *count > 0).collect()
}
