//! One run of `fd-torture` under the tool, compared at every line.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use fdtide::event::Head;
use serde_json::Value;

use crate::{
    children,
    follow::Follow,
    setup::{BEFORE, Setup},
    support::{
        fixture::Fixture,
        line::{list, number},
        ran::kinds,
    },
};

/// What a run came to.
#[derive(Debug, Default)]
pub struct Done {
    ops: u64,
    lines: u64,
    children: u64,
    /// Looks after runs of hooks had been missed: marks were not compared.
    unsure: u64,
    /// Operations that this machine does not have.
    unavailable: BTreeSet<String>,
}

impl std::ops::AddAssign for Done {
    fn add_assign(&mut self, other: Self) {
        self.ops += other.ops;
        self.lines += other.lines;
        self.children += other.children;
        self.unsure += other.unsure;
        self.unavailable.extend(other.unavailable);
    }
}

impl fmt::Display for Done {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} operations, {} looks, {} children compared", self.ops, self.lines, self.children)?;
        if self.unsure > 0 {
            write!(to, "; without marks in {} looks, after runs of hooks were missed", self.unsure)?;
        }
        if !self.unavailable.is_empty() {
            let names: Vec<_> = self.unavailable.iter().map(String::as_str).collect();
            write!(to, "; not to be had on this machine: {}", names.join(", "))?;
        }
        Ok(())
    }
}

/// Why a run is not as it should be.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What differs, without figures: the same of two runs that fail alike.
    pub class: String,
    text: String,
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        let class = text.split(|at: char| at.is_ascii_digit()).next().unwrap_or_default().to_owned();
        Self { class, text }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.text)
    }
}

/// Figures that differ.
#[derive(Default)]
pub struct Differences {
    first: Option<String>,
    all: Vec<String>,
}

impl Differences {
    /// Notes a difference of `what`, which is said of something with figures, `about`.
    pub fn check(&mut self, about: &str, what: &str, got: impl fmt::Display, want: impl fmt::Display, same: bool) {
        if !same {
            self.first.get_or_insert_with(|| what.to_owned());
            self.all.push(format!("{about}{what}: the tool says {got}, the truth is {want}"));
        }
    }

    fn none(self, place: impl FnOnce() -> String) -> Result<(), Failure> {
        match self.first {
            None => Ok(()),
            Some(class) => Err(Failure { class, text: format!("{}: {}", place(), self.all.join("; ")) }),
        }
    }
}

/// What the windows of a process told since the tool was there, for its present image.
#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    image: u64,
    least: u64,
    most: u64,
    /// The greatest count of a child in a table that this process left to it.
    parted: u64,
}

struct Run<'a> {
    setup: &'a Setup,
    follow: Option<Follow>,
    windows: HashMap<u32, Windows>,
    last: u64,
    done: Done,
}

/// [`run`], with a panic taken for a failure.
pub fn guarded(setup: &Setup) -> Result<Done, Failure> {
    catch_unwind(AssertUnwindSafe(|| run(setup))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default().into())
    })
}

/// Runs it to the end, or to the first line that differs.
fn run(setup: &Setup) -> Result<Done, Failure> {
    let arguments = setup.arguments();
    let mut fixture = Fixture::start("fd-torture", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    fixture.wait_until_it_reads();
    let follow = (setup.attach_at == BEFORE).then(|| Follow::attach(fixture.pid()));
    let mut run = Run { setup, follow, windows: HashMap::new(), last: 0, done: Done::default() };
    fixture.go();
    while let Some(line) = fixture.next() {
        if let Some(wrong) = line.get("mismatch") {
            return Err(format!("the fixture disagrees with the kernel: {wrong}").into());
        }
        run.line(&line, fixture.pid())?;
        fixture.go();
    }
    let status = fixture.wait();
    if !status.success() {
        return Err(format!("the fixture failed: {status}").into());
    }
    match run.follow.ok_or_else(|| "there was no checkpoint to attach at".to_owned())?.stop() {
        Some(escaped) => Err(escaped.into()),
        None => Ok(run.done),
    }
}

impl Run<'_> {
    fn line(&mut self, line: &Value, root: u32) -> Result<(), Failure> {
        let (process, checkpoint) = (number(line, "process"), number(line, "checkpoint"));
        let names = line["unavailable"].as_array().into_iter().flatten();
        self.done.unavailable.extend(names.filter_map(Value::as_str).map(str::to_owned));
        let Some(follow) = &mut self.follow else {
            // At the last process's line all stand still, and what comes is in windows that begin here.
            if checkpoint == self.setup.attach_at && process + 1 == self.setup.processes as u64 {
                self.follow = Some(Follow::attach(root));
            }
            return Ok(());
        };
        follow.look();
        self.done.lines += 1;
        self.done.unsure += u64::from(follow.missed() > 0);
        let mut differences = Differences::default();
        let pid = u32::try_from(number(line, "pid")).expect("a pid");
        self.windows(line, pid);
        self.compare(line, pid, &mut differences)?;
        if let Some(follow) = &mut self.follow
            && self.setup.attach_at == BEFORE
            && follow.missed() == 0
        {
            self.done.children += children::compare(follow, list(line, "children"), &mut differences);
        }
        if line["step"] == "end" {
            self.done.ops += number(line, "ops");
        }
        let (ops, image, last) = (number(line, "ops"), number(line, "image"), self.last);
        let counted = || self.follow.as_ref().map_or_else(String::new, Follow::counted);
        differences.none(|| {
            let place = format!("process {process}, {} {checkpoint}, image {image}", line["step"]);
            format!("{place}, {ops} operations (the last good: {last}), counted {}", counted())
        })?;
        self.last = ops;
        Ok(())
    }

    /// Adds the window that ends with this line.
    fn windows(&mut self, line: &Value, pid: u32) {
        let windows = self.windows.entry(pid).or_default();
        let image = number(line, "image");
        if windows.image != image {
            *windows = Windows { image, ..Windows::default() };
        }
        windows.least = windows.least.max(bound(line, "window_high_water", "_at_least"));
        windows.most = windows.most.max(bound(line, "window_high_water", "_at_most"));
        let parted = list(line, "children").iter().filter(|child| children::parted(child));
        windows.parted = parted.map(|child| number(child, "high_water")).max().unwrap_or(0).max(windows.parted);
    }

    fn compare(&self, line: &Value, pid: u32, differences: &mut Differences) -> Result<(), Failure> {
        let Some(follow) = &self.follow else { return Ok(()) };
        let head = follow.table(pid)?;
        let mut check = |what: &str, got: String, want: String| {
            let same = got == want;
            differences.check("", what, got, want, same);
        };
        check("live", head.live.to_string(), number(line, "live").to_string());
        let highest = head.highest.map_or(-1, i64::from);
        check("highest number", highest.to_string(), line["highest_number"].to_string());
        let (got, want) = unequal(head, &kinds(&line["kinds"]));
        check("kinds that differ", format!("{got:?}"), format!("{want:?}"));
        let total = head.image.kinds.total();
        // What came and went while a hook was missed, which the tool tells, is in no mark; what is there now is right all the same.
        if follow.missed() > 0 {
            return Ok(());
        }
        // Each look that went on without the lock is counted, and may have put one more or one fewer into the mark's composition.
        let (most, mark) = (u64::from(head.image.live), total);
        let same = mark.abs_diff(most) <= follow.busy();
        differences.check("", "kinds at the high-water mark, added up", mark.to_string(), most.to_string(), same);
        let windows = self.windows.get(&pid).copied().unwrap_or_default();
        let got = u64::from(follow.high(pid).unwrap_or(0));
        // The child that has the table now goes on to raise its mark.
        let most = windows.most.max(windows.parted);
        let want = if windows.least == most { most.to_string() } else { format!("{}..={most}", windows.least) };
        differences.check("", "high-water", got, want, (windows.least..=most).contains(&got));
        Ok(())
    }
}

/// Kinds whose counts are not the same, as the tool has them and as they should be.
fn unequal(head: &Head, truth: &BTreeMap<String, u64>) -> (BTreeMap<String, u64>, BTreeMap<String, u64>) {
    let all = head.kinds.iter().map(|(kind, n)| (kind.name().to_owned(), n.into()));
    let all: BTreeMap<String, u64> = all.collect();
    let without = |one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>| {
        one.iter().filter(|(kind, n)| other.get(*kind) != Some(n)).map(|(kind, n)| (kind.clone(), *n)).collect()
    };
    (without(&all, truth), without(truth, &all))
}

/// A figure of one thread, or a bound where several race.
fn bound(line: &Value, name: &str, which: &str) -> u64 {
    line[name].as_u64().unwrap_or_else(|| number(line, &format!("{name}{which}")))
}
