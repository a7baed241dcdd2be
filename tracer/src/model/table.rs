//! Descriptor tables as the model follows them.

mod row;

use crate::event::{Head, Kind, Kinds, Mark, Name, ProcId, Process, TableId};
use crate::model::crest::{CrestEnd, CrestRow, Crests};
use crate::model::failure::Tally;
use crate::model::growth::Series;
use crate::model::listener::{LostListener, Watch};
use crate::model::report::{Growth, GrowthPer};
use crate::model::window::{Segment, Windows};

/// From where on a table's cumulative figures count. Zero but for the table of the run command, which fdtide's own child
/// used before the exec.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Boot time.
    pub at_ns: u64,
    /// Installs before.
    pub installs: u64,
    /// Closes before.
    pub closes: u64,
    /// Failures before.
    pub tally: Tally,
    /// Crests before.
    pub crests: u32,
    /// Closes of nothing before.
    pub bad_closes: u32,
}

/// Processes in a PID namespace or a container of their own.
#[derive(Clone, Debug)]
struct Away {
    /// Their ids there, in the order of those outside.
    ns_pids: Vec<u32>,
    /// The container of the first of them.
    container: Option<Name>,
}

/// One table and the last that was seen of it.
#[derive(Clone, Debug)]
pub struct Table {
    id: TableId,
    first_ns: u64,
    pids: Vec<u32>,
    comm: Name,
    head: Option<Box<Head>>,
    seen_ns: u64,
    /// Failures at the last cut of a window.
    tally: Tally,
    /// The last look came after that.
    fresh: bool,
    origin: Origin,
    /// Greatest marks of images that have ended since the origin; only kept where the life's mark is older than that.
    crest: Option<Box<Mark>>,
    end: Option<u64>,
    snapshot: bool,
    /// It is followed no longer, and is still there.
    removed: bool,
    /// Where its processes are, if that is not where fdtide is.
    away: Option<Box<Away>>,
    /// Its crests. What few of ten thousand tables have is kept apart, here and below.
    crests: Option<Box<Crests>>,
    /// Levels of its spawn windows.
    levels: Option<Box<Series>>,
    /// Whether a listener went with a failed accept.
    listener: Option<Box<Watch>>,
    /// Levels at the forks of children that ended without an exec.
    forks: Option<Box<Series>>,
    /// Windows of children that were forked from it.
    pub windows: Windows,
}

impl Head {
    /// The table at this head's own moment, as a mark.
    pub fn now(&self, at_ns: u64) -> Mark {
        Mark { at_ns, live: self.live, highest: self.highest, soft: self.soft, kinds: self.kinds.clone() }
    }

    /// A mark of this head, or its own moment should that be higher.
    pub fn at_least_now(&self, mark: &Mark, at_ns: u64) -> Mark {
        if mark.live < self.live { self.now(at_ns) } else { mark.clone() }
    }
}

impl Table {
    /// Whether descriptors were refused in it, and its high-water mark.
    pub fn rank(&self) -> (bool, u32) {
        let Some(head) = &self.head else { return (false, 0) };
        let mark = self.crest.as_ref().map_or(0, |mark| mark.live);
        (head.failures_other > 0 || !head.failures.is_empty(), head.life.live.max(mark))
    }

    /// A table that nothing is known of yet.
    pub fn new(id: TableId, first_ns: u64) -> Table {
        Table {
            id,
            first_ns,
            pids: Vec::new(),
            comm: Name::default(),
            head: None,
            seen_ns: 0,
            tally: Tally::default(),
            fresh: false,
            origin: Origin::default(),
            crest: None,
            end: None,
            snapshot: false,
            removed: false,
            away: None,
            crests: None,
            levels: None,
            listener: None,
            forks: None,
            windows: Windows::default(),
        }
    }

    /// A process uses it. Called for every event of a process, so that the name stays the latest one.
    pub fn used_by(&mut self, process: &Process, comm: &Name, container: Option<&Name>) {
        let pid = process.id.pid;
        if !self.pids.contains(&pid) {
            if self.away.is_some() || process.ns_pid != pid {
                self.away().ns_pids.push(process.ns_pid);
            }
            self.pids.push(pid);
        }
        if self.pids.first() == Some(&pid) {
            self.comm = comm.clone();
            if let Some(container) = container {
                self.away().container = Some(container.clone());
            }
        }
    }

    /// Where its processes are.
    fn away(&mut self) -> &mut Away {
        self.away.get_or_insert_with(|| Box::new(Away { ns_pids: self.pids.clone(), container: None }))
    }

    /// A process that uses it is in a container.
    pub fn placed(&mut self, process: ProcId, container: &Name) {
        if self.pids.first() == Some(&process.pid) {
            self.away().container = Some(container.clone());
        }
    }

    /// It is followed no longer.
    pub fn removed(&mut self) {
        self.removed = true;
    }

    /// The process that it was first seen with, and its last name.
    pub fn first_user(&self) -> (u32, &Name) {
        (self.pids.first().copied().unwrap_or(0), &self.comm)
    }

    /// Whether nothing is known of it but that this process uses it.
    pub fn is_only_told_with(&self, pid: u32) -> bool {
        self.head.is_none() && self.end.is_none() && self.pids == [pid]
    }

    /// Takes a later look at it.
    pub fn observe(&mut self, head: &Head, at_ns: u64) {
        self.first_ns = head.first_ns;
        self.seen_ns = at_ns;
        self.fresh = true;
        self.head = Some(Box::new(head.clone()));
    }

    /// The last look, if it was not before `since_ns`.
    pub fn head_since(&self, since_ns: u64) -> Option<(&Head, u64)> {
        self.head.as_deref().filter(|_| self.seen_ns >= since_ns).map(|head| (head, self.seen_ns))
    }

    /// An image that used it has ended: this was its mark.
    pub fn image_ended(&mut self, mark: &Mark) {
        if self.origin.at_ns > 0 && self.crest.as_ref().is_none_or(|crest| crest.live < mark.live) {
            self.crest = Some(Box::new(mark.clone()));
        }
    }

    /// Everything before is not this program's.
    pub fn start_over(&mut self, origin: Origin) {
        self.tally = origin.tally.clone();
        self.origin = origin;
        self.crest = None;
        // The crest that the exec itself ended has been told, and counted, before the exec.
        self.origin.crests = self.origin.crests.max(self.crests.take().map_or(0, |mut crests| crests.start_over()));
    }

    /// Ends the spawn window at this head.
    pub fn cut(&mut self, head: &Head, at_ns: u64, settle_ns: u64) {
        let segment = Segment::cut(head, at_ns, settle_ns, &self.tally, &self.origin);
        self.tally = Tally::of(head);
        self.fresh = false;
        self.windows.push(segment);
    }

    /// It has gone. Its last window ends with it, for children that have not execed yet.
    pub fn ended(&mut self, at_ns: u64, settle_ns: u64) {
        if self.end.is_none() {
            self.end = Some(at_ns);
            if !self.windows.is_idle()
                && self.fresh
                && let Some(head) = self.head.clone()
            {
                self.cut(&head, at_ns, settle_ns);
            }
        }
    }

    /// The crest that a head shows has ended.
    pub fn crest_ended(&mut self, head: &Head, at_ns: u64, end: CrestEnd) -> Option<CrestRow> {
        let pid = self.pids.first().copied().unwrap_or(head.owner);
        let crests = self.crests.get_or_insert_default();
        let row = crests.ended(head, self.origin.at_ns, at_ns, end)?;
        Some(CrestRow { pid, comm: self.comm.clone(), ..row.clone() })
    }

    /// Crests of it, once it is over.
    pub fn take_crests(&mut self) -> Vec<CrestRow> {
        let pid = self.pids.first().copied().unwrap_or(0);
        self.crests.as_mut().map_or_else(Vec::new, |crests| crests.take_rows(pid, &self.comm))
    }

    /// It is still there at the end of the trace, and so may a crest be.
    pub fn crest_open(&mut self) {
        if let Some(head) = self.head.clone().filter(|_| self.end.is_none()) {
            let since_ns = self.origin.at_ns;
            let seen_ns = self.seen_ns;
            self.crests().ended(&head, since_ns, seen_ns, CrestEnd::Open);
        }
    }

    /// Its crests.
    pub fn crests(&mut self) -> &mut Crests {
        self.crests.get_or_insert_default()
    }

    /// Levels of its spawn windows.
    pub fn levels(&mut self) -> &mut Series {
        self.levels.get_or_insert_with(|| Box::new(Series::new(GrowthPer::Exec)))
    }

    /// Levels at the forks of children that ended without an exec.
    pub fn forks(&mut self) -> &mut Series {
        self.forks.get_or_insert_with(|| Box::new(Series::new(GrowthPer::Fork)))
    }

    /// Whether a listener went with a failed accept.
    pub fn listener(&mut self) -> &mut Watch {
        self.listener.get_or_insert_default()
    }

    /// Growth of its levels.
    pub fn growth(&self) -> impl Iterator<Item = Growth> {
        let at_end = self.head.as_ref().map(|head| &head.kinds);
        [&self.levels, &self.forks].into_iter().flatten().filter_map(move |series| series.row(self.id.0, at_end))
    }

    /// Mean growth of its settled level per exec, if there were execs enough.
    pub fn growth_per_exec(&self) -> Option<f64> {
        self.levels.as_ref()?.per_window()
    }

    /// Kinds that have grown in every window after warm-up, and are still there when it holds this.
    pub fn growing(&self, now: &Kinds) -> Vec<Kind> {
        [&self.levels, &self.forks].into_iter().flatten().flat_map(|series| series.growing(now)).collect()
    }

    /// The listener that it lost.
    pub fn lost_listener(&self) -> Option<LostListener> {
        self.listener.as_ref()?.lost(self.id.0, self.pids.first().copied().unwrap_or(0), &self.comm)
    }

    fn crest_count(&self, head: &Head) -> u64 {
        u64::from(head.crests.saturating_sub(self.origin.crests))
            + self.crests.as_ref().map_or(0, |crests| crests.unfallen())
    }

    /// It was looked at at the end of the trace.
    pub fn snapshot(&mut self) {
        self.snapshot = true;
    }

    /// Whether it was.
    pub fn was_snapshot(&self) -> bool {
        self.snapshot
    }

    /// Whether it has gone.
    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }
}

/// The table's high-water mark since its origin.
fn crest(head: &Head, seen_ns: u64, origin: &Origin, crest: Option<&Mark>) -> Mark {
    if head.life.at_ns >= origin.at_ns {
        let mut mark = head.at_least_now(&head.life, seen_ns);
        mark.highest = mark.highest.max(head.highest);
        return mark;
    }
    let mut mark = head.at_least_now(&head.image, seen_ns);
    let highest = mark.highest.max(head.highest);
    if let Some(crest) = crest
        && crest.live > mark.live
    {
        mark = crest.clone();
    }
    mark.highest = mark.highest.max(highest);
    mark
}
