//! Targets come and go while the trace runs.

use std::collections::{BTreeMap, BTreeSet};

use aya::maps::{Array, HashMap, MapError};
use fdtide_abi::{
    Counter, ProcRow,
    config::{MAX_PROCS, MAX_WANTED},
    control::{Errand, Switch, decide, glance},
    table::{ALONE, COMM, Decision, UNSURE, Wanted, proc_flag, wanted},
};

use super::{
    error::ProbeError,
    load::Wire,
    session::{Session, map, map_error, map_mut},
    walk::{LONG, SHORT},
};

/// Targets named to one walk: half of what the map has room for.
const AT_ONCE: usize = 2_048;
/// Passes over all tasks for one decision, at most: two are enough unless somebody forks without end.
const PASSES: u32 = 4;

/// What makes a process a target at its exec, as far as the kernel can tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Follow {
    /// Names, with zeros at their ends.
    pub comms: BTreeSet<[u8; COMM]>,
    /// Real users.
    pub uids: BTreeSet<u32>,
    /// Version 2 cgroups, with everything below them.
    pub cgroups: BTreeSet<u64>,
    /// Every other exec is traced too, until [`Session::decide`] says what is to become of it.
    pub unsure: bool,
}

/// What becomes of a group of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is traced, as a part of the group with this identity.
    Stays(u32),
    /// It is traced no longer.
    Leaves,
}

/// Which processes are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The target and what descends from it, but for other targets and their trees.
    Tree,
    /// That process alone.
    Alone,
}

impl Follow {
    fn keys(&self) -> BTreeSet<(u32, [u8; COMM])> {
        let comms = self.comms.iter().map(|comm| (wanted::COMM, *comm));
        let uids = self.uids.iter().map(|uid| (wanted::UID, padded(&uid.to_ne_bytes())));
        let cgroups = self.cgroups.iter().map(|id| (wanted::CGROUP, padded(&id.to_ne_bytes())));
        comms.chain(uids).chain(cgroups).collect()
    }

    fn switch(&self) -> u32 {
        let unsure = if self.unsure { wanted::UNSURE } else { 0 };
        self.keys().iter().fold(unsure, |bits, (kind, _)| bits | kind)
    }
}

fn padded(bytes: &[u8]) -> [u8; COMM] {
    let mut value = [0; COMM];
    value.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    value
}

impl Session {
    /// Traces a process and all its descendants, present and future.
    ///
    /// # Errors
    ///
    /// [`ProbeError::NoProcess`] if there is none with this id.
    pub fn add_target(&mut self, pid: u32) -> Result<(), ProbeError> {
        self.add_one(pid, proc_flag::TARGET)
    }

    /// As [`Self::add_target`], for a child that waits for its exec: what it was before is not part of the story.
    ///
    /// # Errors
    ///
    /// As [`Self::add_target`].
    pub fn add_waiting(&mut self, pid: u32) -> Result<(), ProbeError> {
        self.add_one(pid, proc_flag::TARGET | proc_flag::WAITING)
    }

    /// As [`Self::add_target`] of many, with one walk over all tasks for thousands of them. Gives those that are not there.
    ///
    /// # Errors
    ///
    /// When a map is full, or can't be used.
    pub fn add_targets(&mut self, pids: &[u32]) -> Result<Vec<u32>, ProbeError> {
        self.add_all(pids, proc_flag::TARGET)
    }

    fn add_one(&mut self, pid: u32, flags: u32) -> Result<(), ProbeError> {
        let missing = self.add_all(&[pid], flags)?;
        if missing.is_empty() { Ok(()) } else { Err(ProbeError::NoProcess(pid)) }
    }

    fn add_all(&mut self, pids: &[u32], flags: u32) -> Result<Vec<u32>, ProbeError> {
        let refused = self.refused_rows()?;
        for some in pids.chunks(AT_ONCE) {
            self.name(some, |targets, pid| targets.insert(pid, flags, 0))?;
            let walked = self.walk_until_still();
            self.name(some, |targets, pid| targets.remove(&pid))?;
            walked?;
        }
        if self.refused_rows()? > refused {
            return Err(ProbeError::Full { what: "processes", most: MAX_PROCS });
        }
        self.untraced(pids)
    }

    /// Changes the map of process ids that the user has named.
    fn name(
        &mut self,
        pids: &[u32],
        mut change: impl FnMut(&mut HashMap<&mut aya::maps::MapData, u32, u32>, u32) -> Result<(), MapError>,
    ) -> Result<(), ProbeError> {
        let mut targets =
            HashMap::<_, u32, u32>::try_from(map_mut(&mut self.ebpf, "TARGETS")?).map_err(map_error("TARGETS"))?;
        pids.iter().try_for_each(|pid| change(&mut targets, *pid)).map_err(map_error("TARGETS"))
    }

    /// Until a pass finds nothing new: who forked before its parent was known is found by the next pass.
    fn walk_until_still(&mut self) -> Result<(), ProbeError> {
        loop {
            let before = self.found()?;
            // It writes something for each process that is traced, and stops there.
            self.errand(Errand::Glance, glance::TAKE_IN)?;
            let walked = self.walk_in_steps(LONG);
            self.errand(Errand::Glance, 0)?;
            walked?;
            if self.found()? == before {
                return Ok(());
            }
        }
    }

    /// Processes that found no room in the map so far.
    fn refused_rows(&self) -> Result<u64, ProbeError> {
        Ok(self.coverage()?.count(Counter::ProcFull))
    }

    /// From now on execs of processes that are not traced are held against this, in the kernel; nothing is, where it is empty.
    ///
    /// # Errors
    ///
    /// When there is more than the kernel program has room for.
    pub fn follow(&mut self, follow: &Follow) -> Result<(), ProbeError> {
        let (old, new) = (self.followed.keys(), follow.keys());
        if new.len() > MAX_WANTED as usize / 2 {
            return Err(ProbeError::Full { what: "names, users and cgroups", most: MAX_WANTED / 2 });
        }
        let mut keys = HashMap::<_, Wire<Wanted>, u32>::try_from(map_mut(&mut self.ebpf, "WANTED")?)
            .map_err(map_error("WANTED"))?;
        let key = |(kind, value): &(u32, [u8; COMM])| Wire(Wanted { kind: u64::from(*kind), value: *value });
        for wanted in new.difference(&old) {
            keys.insert(key(wanted), 1, 0).map_err(map_error("WANTED"))?;
        }
        for wanted in old.difference(&new) {
            keys.remove(&key(wanted)).map_err(map_error("WANTED"))?;
        }
        Array::<_, u32>::try_from(map_mut(&mut self.ebpf, "SWITCHES")?)
            .and_then(|mut map| map.set(Switch::Follow as u32, follow.switch(), 0))
            .map_err(map_error("SWITCHES"))?;
        self.followed = follow.clone();
        Ok(())
    }

    /// What the kernel program was last told to catch.
    #[must_use]
    pub fn followed(&self) -> &Follow {
        &self.followed
    }

    /// Those of these processes that are not traced.
    ///
    /// # Errors
    ///
    /// When the map can't be read.
    pub fn untraced(&self, pids: &[u32]) -> Result<Vec<u32>, ProbeError> {
        let rows = HashMap::<_, u32, Wire<ProcRow>>::try_from(map(&self.ebpf, "PROCS")?).map_err(map_error("PROCS"))?;
        let mut missing = Vec::new();
        for pid in pids {
            match rows.get(pid, 0) {
                Ok(_) => {}
                Err(MapError::KeyNotFound) => missing.push(*pid),
                Err(error) => return Err(map_error("PROCS")(error)),
            }
        }
        Ok(missing)
    }

    /// Processes that are traced for their own sake, lowest id first.
    ///
    /// # Errors
    ///
    /// When the map can't be read.
    pub fn targets(&self) -> Result<BTreeSet<u32>, ProbeError> {
        let rows = HashMap::<_, u32, Wire<ProcRow>>::try_from(map(&self.ebpf, "PROCS")?).map_err(map_error("PROCS"))?;
        let mut targets = BTreeSet::new();
        for entry in rows.iter() {
            match entry {
                Ok((pid, row)) if row.0.flags & proc_flag::TARGET != 0 => drop(targets.insert(pid)),
                Ok(_) | Err(MapError::KeyNotFound) => {}
                Err(error) => return Err(map_error("PROCS")(error)),
            }
        }
        Ok(targets)
    }

    /// Carries out what was decided of groups that the kernel program was not sure of.
    ///
    /// # Errors
    ///
    /// When the walk can't be made.
    pub fn decide(&mut self, verdicts: &[(u32, Verdict)]) -> Result<(), ProbeError> {
        let decision = |verdict: Verdict| match verdict {
            Verdict::Stays(group) => Decision { leave: 0, group: group & !UNSURE },
            Verdict::Leaves => Decision { leave: 1, group: 0 },
        };
        // Of two verdicts for one group the later one counts.
        let decided: BTreeMap<u64, Decision> =
            verdicts.iter().map(|(group, verdict)| (u64::from(*group | UNSURE), decision(*verdict))).collect();
        let decided: Vec<(u64, Decision)> = decided.into_iter().collect();
        for some in decided.chunks(AT_ONCE) {
            // What was forked meanwhile is found by the next pass.
            let mut passes = PASSES;
            while self.carry_out(some)? > 0 && passes > 1 {
                passes -= 1;
            }
        }
        Ok(())
    }

    /// Traces a process no longer. Its records, up to one that says so, are left to be drained. Gives how many were removed.
    ///
    /// # Errors
    ///
    /// When it is not traced, or with [`Extent::Tree`] is a part of another target's tree.
    pub fn remove(&mut self, pid: u32, extent: Extent) -> Result<u64, ProbeError> {
        let rows = HashMap::<_, u32, Wire<ProcRow>>::try_from(map(&self.ebpf, "PROCS")?).map_err(map_error("PROCS"))?;
        let row = match rows.get(&pid, 0) {
            Ok(row) => row.0,
            Err(MapError::KeyNotFound) => return Err(ProbeError::NotTraced(pid)),
            Err(error) => return Err(map_error("PROCS")(error)),
        };
        let key = match extent {
            Extent::Alone => ALONE | u64::from(pid),
            Extent::Tree if row.flags & proc_flag::TARGET == 0 => return Err(ProbeError::NoTarget(pid)),
            Extent::Tree => u64::from(row.group),
        };
        let decided = [(key, Decision { leave: 1, group: 0 })];
        let mut removed = 0;
        // What was forked meanwhile is found by the next pass.
        loop {
            match self.carry_out(&decided)? {
                0 => return Ok(removed),
                more => removed += more,
            }
        }
    }

    /// Two walks with these decisions, over threads and over processes. Gives how many tasks they were for.
    fn carry_out(&mut self, decided: &[(u64, Decision)]) -> Result<u64, ProbeError> {
        let before = self.found()?;
        let error = || map_error("DECIDED");
        let mut map =
            HashMap::<_, u64, Wire<Decision>>::try_from(map_mut(&mut self.ebpf, "DECIDED")?).map_err(error())?;
        for (key, decision) in decided {
            map.insert(key, Wire(*decision), 0).map_err(error())?;
        }
        let walked = [decide::THREADS, decide::PROCESSES].into_iter().try_for_each(|pass| {
            self.errand(Errand::Decide, pass)?;
            self.walk_in_steps(SHORT)
        });
        self.errand(Errand::Decide, 0)?;
        let mut map =
            HashMap::<_, u64, Wire<Decision>>::try_from(map_mut(&mut self.ebpf, "DECIDED")?).map_err(error())?;
        for (key, _) in decided {
            map.remove(key).map_err(error())?;
        }
        walked?;
        Ok(self.found()? - before)
    }
}
