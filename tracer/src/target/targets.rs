//! The processes that are meant, over the time of a trace.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    Kernel, Selector, TargetError,
    lookup::Lookup,
    scan::{Found, blind, nobody, scan},
    sift::{Answers, Sift},
};
use crate::{
    event::{Event, Exec, Place, Process, Seen, decode::decode},
    probe::{Follow, Session},
    procfs::{self, Facts, Names, Stat},
    record::Input,
};

/// All processes are looked at again after this long: what became a target without an exec is found.
const AGAIN: Duration = Duration::from_secs(5);
/// Looking at them takes at most one part of so many of the agent's time.
const SHARE: u32 = 200;
/// Decisions wait for so long, so that many are carried out by one walk.
const WAIT: Duration = Duration::from_millis(100);

/// A selector, and what it has come to.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) selector: Selector,
    /// The process that an id means.
    pub(super) pid: Option<u32>,
}

/// Which processes are traced, and which are to come.
#[derive(Debug)]
pub struct Targets {
    pub(super) root: PathBuf,
    pub(super) own: u32,
    pub(super) wishes: Vec<Wish>,
    pub(super) follow_new: bool,
    pub(super) names: Names,
    sift: Sift,
    lookup: Lookup,
    scanned: Instant,
    took: Duration,
    decided: Instant,
    /// The first process that was found.
    first: Option<u32>,
}

impl Targets {
    /// Nothing is traced yet. `root` is the folder below which `proc` stands; with `follow_new` later processes are targets too.
    #[must_use]
    pub fn new(root: &Path, selectors: Vec<Selector>, follow_new: bool) -> Targets {
        Targets {
            root: root.to_owned(),
            own: std::process::id(),
            wishes: selectors.into_iter().map(|selector| Wish { selector, pid: None }).collect(),
            follow_new,
            names: Names::new(root),
            sift: Sift::default(),
            lookup: Lookup::new(root),
            scanned: Instant::now(),
            took: Duration::ZERO,
            decided: Instant::now(),
            first: None,
        }
    }

    /// The first process that was found.
    #[must_use]
    pub fn first(&self) -> Option<u32> {
        self.first
    }

    /// The selectors in force, in the order in which they came.
    pub fn selectors(&self) -> impl Iterator<Item = &Selector> + Clone {
        self.wishes.iter().map(|wish| &wish.selector)
    }

    /// Whether targets may still come.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.follow_new && self.wishes.iter().any(|wish| !matches!(wish.selector, Selector::Pid(_)))
    }

    /// Tells the kernel what to catch, then traces what is there. Gives how many processes fit; none is no error here.
    ///
    /// # Errors
    ///
    /// When fdtide can't tell processes as the kernel does, or they can't be traced.
    pub fn begin(&mut self, session: &mut Session) -> Result<usize, TargetError> {
        procfs::check_namespace(&self.root)?;
        if let Some(blind) = blind(self.selectors()) {
            log::warn!("{blind}: processes of others may be overlooked");
        }
        // First: who execs while the others are looked at is not missed.
        self.tell(session)?;
        self.look(session, true)
    }

    /// Selectors that fit none of these processes.
    fn unmet(&self, found: &Found) -> Vec<String> {
        let none = self.wishes.iter().zip(&found.by).filter(|(_, pids)| pids.is_empty());
        none.map(|(wish, _)| wish.selector.asks()).collect()
    }

    /// The error for targets of which none is there.
    #[must_use]
    pub fn nobody(&self) -> TargetError {
        nobody(&self.root, &self.selectors().cloned().collect::<Vec<_>>())
    }

    /// No later processes any more.
    ///
    /// # Errors
    ///
    /// When the kernel can't be told.
    pub fn close(&mut self, session: &mut Session) -> Result<(), TargetError> {
        self.follow_new = false;
        self.tell(session)
    }

    /// What the kernel can tell of the selectors.
    pub(super) fn tell(&mut self, session: &mut Session) -> Result<(), TargetError> {
        let mut follow = Follow::default();
        let Self { wishes, root, names, follow_new, .. } = self;
        for selector in wishes.iter().map(|wish| &wish.selector).filter(|_| *follow_new) {
            // One that is new comes to be known when its first process is.
            follow.cgroups.extend(selector.cgroups(root, names));
            match selector.kernel(root) {
                Kernel::Nothing => {}
                Kernel::Comm(comm) => drop(follow.comms.insert(comm)),
                Kernel::Uid(uid) => drop(follow.uids.insert(uid)),
                Kernel::Cgroup(id) => drop(follow.cgroups.insert(id)),
                Kernel::Unsure => follow.unsure = true,
            }
        }
        if *session.followed() != follow {
            session.follow(&follow)?;
        }
        Ok(())
    }

    /// Looks at every process, and traces those that fit; ids are looked for the first time only.
    fn look(&mut self, session: &mut Session, first: bool) -> Result<usize, TargetError> {
        let began = Instant::now();
        let selectors: Vec<Selector> = self
            .wishes
            .iter()
            .filter(|wish| first || !matches!(wish.selector, Selector::Pid(_)))
            .map(|wish| wish.selector.clone())
            .collect();
        let found = scan(&self.root, &selectors, &mut self.names, self.own)?;
        if first {
            found.doubts.iter().for_each(|doubt| log::warn!("{doubt}"));
            if !self.follow_new && !found.pids().is_empty() {
                self.unmet(&found)
                    .iter()
                    .for_each(|what| log::warn!("no process {what}; the other targets are traced"));
            }
            for (wish, pids) in self.wishes.iter_mut().zip(&found.by) {
                wish.pid = pids.first().copied().filter(|_| matches!(wish.selector, Selector::Pid(_)));
            }
        }
        let roots = found.roots(&self.root);
        self.first = self.first.or_else(|| roots.first().copied());
        let traced = self.trace(session, &roots);
        self.scanned = Instant::now();
        self.took = began.elapsed();
        traced.map(|()| found.pids().len())
    }

    pub(super) fn trace(&self, session: &mut Session, pids: &[u32]) -> Result<(), TargetError> {
        let new = session.untraced(pids)?;
        if !new.is_empty() {
            // Those that are missing then have ended meanwhile.
            session.add_targets(&new)?;
        }
        Ok(())
    }

    /// Takes a record of the session, and hands on what there is to tell of it: nothing, if it is not of a target. With it
    /// goes what it says, where that is known here already.
    pub fn take(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Input<'_>, Option<Event>)) {
        let Ok(event) = decode(bytes) else { return sink(Input::Record(bytes), None) };
        let Self { sift, wishes, root, names, follow_new, .. } = self;
        let fits =
            |process: &Process, exec: Option<&Exec>| *follow_new && is_target(root, wishes, names, process, exec);
        let Some(bytes) = sift.sift(bytes, &event, fits) else { return };
        if let Some(place) = self.lookup.look(&event) {
            sink(Input::Place(Box::new(place)), None);
        }
        match bytes {
            Cow::Borrowed(bytes) => sink(Input::Record(bytes), Some(event)),
            Cow::Owned(bytes) => sink(Input::Record(&bytes), None),
        }
    }

    /// Whether a look at a table is at a target's.
    #[must_use]
    pub fn shows(&self, seen: &Seen) -> bool {
        self.sift.shows(seen.table.id)
    }

    /// Where the traced processes are now: for a recording that begins in the middle of a trace.
    #[must_use]
    pub fn places(&self, at_ns: u64) -> Vec<Place> {
        self.lookup.all(at_ns)
    }

    /// How long records may wait: not long while there is something to decide.
    #[must_use]
    pub fn patience(&self) -> Option<Duration> {
        (!self.sift.is_idle()).then_some(WAIT)
    }

    /// Does what is due: tells the kernel what was decided, and looks for targets that came without an exec. To be called
    /// after every record that waited has been taken, a few times a second.
    ///
    /// # Errors
    ///
    /// When the kernel can't be told, or processes can't be looked at.
    pub fn tend(&mut self, session: &mut Session) -> Result<(), TargetError> {
        if !self.sift.is_idle() && self.decided.elapsed() >= WAIT {
            self.decide(session)?;
        }
        if self.is_open() && self.scanned.elapsed() >= AGAIN.max(self.took * SHARE) {
            self.seek(session)?;
        }
        Ok(())
    }

    /// Looks for targets now. Gives how many processes fit.
    ///
    /// # Errors
    ///
    /// As [`Self::tend`].
    pub fn seek(&mut self, session: &mut Session) -> Result<usize, TargetError> {
        // A cgroup that was not there before can be told to the kernel now.
        self.tell(session)?;
        self.look(session, false)
    }

    fn decide(&mut self, session: &mut Session) -> Result<(), TargetError> {
        let Answers { verdicts, accepted } = self.sift.answers();
        session.decide(&verdicts)?;
        self.decided = Instant::now();
        if !accepted.is_empty() {
            self.tell(session)?;
        }
        // One that was about to exec while the tree that it came from was let go may have been let go with it.
        let pids: Vec<u32> = accepted.iter().map(|process| process.pid).collect();
        let mut lost = session.untraced(&pids)?;
        lost.retain(|pid| {
            let start = accepted.iter().find(|process| process.pid == *pid).map_or(0, |process| process.start_ns);
            Stat::of(&self.root, *pid).is_some_and(|stat| stat.runs() && stat.started_at(start))
        });
        if !lost.is_empty() {
            session.add_targets(&lost)?;
        }
        Ok(())
    }
}

/// Whether a process that has just gone through an exec is meant by a selector.
fn is_target(root: &Path, wishes: &[Wish], names: &mut Names, process: &Process, exec: Option<&Exec>) -> bool {
    let pid = process.id.pid;
    let there = Stat::of(root, pid).is_some_and(|stat| stat.started_at(process.id.start_ns));
    let path = exec.map(|exec| exec.path.clone()).unwrap_or_default();
    let facts = if there {
        Facts::told(root, pid, process.comm.clone(), path)
    } else {
        Facts::gone(root, pid, process.comm.clone(), path)
    };
    // A process id names one that is there, and not a later one that happens to get it.
    let mut selectors = wishes.iter().map(|wish| &wish.selector).filter(|known| !matches!(known, Selector::Pid(_)));
    selectors.any(|selector| selector.fits(&facts, names))
}
