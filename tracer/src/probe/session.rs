//! A running trace: targets in, record bytes out.

use std::{
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    path::Path,
};

use aya::{
    Btf, Ebpf,
    maps::{Array, HashMap, MapData, PerCpuArray, RingBuf},
};
use fdtide_abi::{
    Counter, Counters, Offsets, ProcRow, TableState,
    event::{Header, TableRecord, record, table_reason},
};

use super::{
    attach::{self, Link, Without},
    backend::Choice,
    backlog::Backlog,
    error::ProbeError,
    hooks::{Backend, Hook, LIFECYCLE, Place, WALK},
    load::{self, LoadOptions, Wire},
    misses::{self, ProbeLink},
    selftest,
    targets::Follow,
};
use crate::{
    memory,
    procfs::{self, Stat},
};

/// Records taken before the ring is emptied again.
const AT_A_TIME: usize = 64;

/// Attached programs. Dropping it detaches them; the kernel does the same when the process dies.
pub struct Session {
    pub(super) ebpf: Ebpf,
    lifecycle: Vec<Link>,
    triggers: Vec<Link>,
    /// The probes among them.
    probes: Vec<ProbeLink>,
    ring: RingBuf<MapData>,
    backlog: Backlog,
    /// Single installs and closes, where they were asked for.
    slots: Option<RingBuf<MapData>>,
    pub(super) offsets: Offsets,
    backend: Backend,
    without: Vec<Without>,
    refused: Vec<(Backend, String)>,
    missed: u64,
    /// What the kernel program was last told to catch.
    pub(super) followed: Follow,
}

/// What a trace could not see, as counted by the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stopped {
    /// Runs skipped, by program.
    pub missed: Vec<(&'static str, u64)>,
    /// Everything counted, by counter.
    pub counters: Vec<(Counter, u64)>,
}

impl Stopped {
    /// Records that found no room in the ring.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.count(Counter::RingFull)
    }

    /// Single installs and closes that found no room in theirs.
    #[must_use]
    pub fn lost_slots(&self) -> u64 {
        self.count(Counter::EventsFull)
    }

    pub(super) fn count(&self, which: Counter) -> u64 {
        self.counters.iter().filter(|(counter, _)| *counter == which).map(|(_, value)| value).sum()
    }
}

impl Session {
    /// Loads, attaches. Nothing is traced yet.
    ///
    /// # Errors
    ///
    /// When the kernel lacks something, refuses something, or the rights are missing; nothing is left behind then.
    pub fn start(backend: Backend, options: &LoadOptions) -> Result<Self, ProbeError> {
        Self::open(Choice::Only(backend), options)
    }

    /// Loads, and attaches the first backend that proves itself; or the one that is asked for.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn open(choice: Choice, options: &LoadOptions) -> Result<Self, ProbeError> {
        procfs::check_namespace(Path::new("/"))?;
        let btf = attach::types()?;
        let (mut ebpf, offsets) = load::load(options, &btf)?;
        if options.debug {
            // Debug output is a convenience: the trace goes on without it.
            if let Err(error) = aya_log::EbpfLogger::init(&mut ebpf) {
                log::warn!("no debug output from the kernel program: {error}");
            }
        }
        let first: Vec<Hook> = LIFECYCLE.iter().chain([&WALK]).copied().collect();
        attach::load_together(&mut ebpf, &btf, &first);
        let (lifecycle, _) = attach::attach(&mut ebpf, &btf, LIFECYCLE)?;
        attach::load_walk(&mut ebpf, &btf)?;
        let ring = ebpf.take_map("RING").ok_or(ProbeError::NotInObject("RING"))?;
        let ring = RingBuf::try_from(ring).map_err(map_error("RING"))?;
        let slots = ebpf.take_map("EVENTS").ok_or(ProbeError::NotInObject("EVENTS"))?;
        let slots = if options.slots { Some(RingBuf::try_from(slots).map_err(map_error("EVENTS"))?) } else { None };
        let mut session = Self {
            slots,
            ebpf,
            lifecycle,
            triggers: Vec::new(),
            probes: Vec::new(),
            ring,
            backlog: Backlog::default(),
            offsets,
            backend: Backend::Syscall,
            without: Vec::new(),
            refused: Vec::new(),
            missed: 0,
            followed: Follow::default(),
        };
        session.choose(choice, &btf)?;
        // The kernel's types take more memory than all the rest, and are not needed again.
        drop(btf);
        memory::trim();
        Ok(session)
    }

    fn choose(&mut self, choice: Choice, btf: &Btf) -> Result<(), ProbeError> {
        for backend in choice.candidates() {
            match self.try_backend(backend, btf) {
                Ok(()) => return Ok(()),
                Err(error) if matches!(choice, Choice::Only(_)) => return Err(error),
                Err(error) => self.refused.push((backend, error.to_string())),
            }
        }
        let refused = self.refused.iter().map(|(backend, why)| (backend.name(), why.clone())).collect();
        Err(ProbeError::NoBackend(refused))
    }

    /// Attaches a backend and has it prove itself.
    fn try_backend(&mut self, backend: Backend, btf: &Btf) -> Result<(), ProbeError> {
        self.backend = backend;
        let (triggers, without) = attach::attach(&mut self.ebpf, btf, backend.hooks())?;
        self.triggers = triggers;
        self.probes = misses::probe_links(&self.identities(backend));
        self.without = without;
        let proven = selftest::run(self);
        // What the test's child did is nobody's business.
        while self.drain(|_| {}) {}
        if proven.is_err() {
            self.probes.clear();
            self.triggers.clear();
        }
        proven
    }

    /// What told of changes.
    #[must_use]
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// Backends that come first and could not be used, and why.
    #[must_use]
    pub fn refused(&self) -> &[(Backend, String)] {
        &self.refused
    }

    /// Programs that were attached.
    #[must_use]
    pub fn attached(&self) -> Vec<&'static str> {
        let all = LIFECYCLE.iter().chain(self.backend.hooks()).map(|hook| hook.program);
        all.filter(|program| self.without.iter().all(|(without, _)| without != program)).collect()
    }

    /// Hooks of the backend that it can do without and that could not be attached, and why.
    pub fn without(&self) -> impl Iterator<Item = (&'static Hook, &str)> {
        let hook = |program| self.backend.hooks().iter().find(move |hook| hook.program == program);
        self.without.iter().filter_map(move |(program, why)| Some((hook(*program)?, why.as_str())))
    }

    /// Looks whether runs of a hook were missed since the last call; if so, looks at every table again. Gives how many.
    ///
    /// # Errors
    ///
    /// When the tables can't be looked at.
    pub fn heal(&mut self) -> Result<u64, ProbeError> {
        let missed = self.misses().iter().map(|(_, count)| count).sum::<u64>();
        let new = missed.saturating_sub(self.missed);
        self.missed = missed;
        if new > 0 {
            self.walk()?;
        }
        Ok(new)
    }

    /// Runs that were skipped, by program.
    fn misses(&self) -> Vec<(&'static str, u64)> {
        let of = |name: &'static str| {
            let program = self.ebpf.program(name)?;
            misses::of_program(program.fd().ok()?.as_fd())
        };
        let probes =
            |name| self.probes.iter().filter(move |link| link.program == name).map(misses::of_link).sum::<u64>();
        self.attached().into_iter().map(|name| (name, of(name).unwrap_or(0) + probes(name))).collect()
    }

    /// The backend's loaded probes, by the kernel's identities.
    fn identities(&self, backend: Backend) -> Vec<(u32, &'static str)> {
        let probes =
            backend.hooks().iter().filter(|hook| matches!(hook.place, Place::Probe(_) | Place::ReturnProbe(_)));
        let id = |name| self.ebpf.program(name)?.info().ok().map(|info| info.id());
        probes.filter_map(|hook| Some((id(hook.program)?, hook.program))).collect()
    }

    /// Descriptors of a traced process now; None if it has no table that is followed.
    pub(super) fn live_of(&self, pid: u32) -> Result<Option<u32>, ProbeError> {
        let rows = HashMap::<_, u32, Wire<ProcRow>>::try_from(map(&self.ebpf, "PROCS")?).map_err(map_error("PROCS"))?;
        let tables =
            HashMap::<_, u64, Wire<TableState>>::try_from(map(&self.ebpf, "TABLES")?).map_err(map_error("TABLES"))?;
        let Ok(row) = rows.get(&pid, 0) else { return Ok(None) };
        match tables.get(&row.0.files, 0) {
            Ok(state) => Ok(Some(state.0.head.live)),
            Err(aya::maps::MapError::KeyNotFound) => Ok(None),
            Err(error) => Err(map_error("TABLES")(error)),
        }
    }

    /// Whether no process is traced any more, as the kernel has it; where the map can't be read, there may be some. One whose exit's
    /// hook was skipped stays in the map, and has gone all the same.
    #[must_use]
    pub fn is_deserted(&self) -> bool {
        let rows = map(&self.ebpf, "PROCS")
            .and_then(|rows| HashMap::<_, u32, Wire<ProcRow>>::try_from(rows).map_err(map_error("PROCS")));
        let lives =
            |pid, start| Stat::of(Path::new("/"), pid).is_some_and(|stat| stat.runs() && stat.started_at(start));
        rows.is_ok_and(|rows| rows.iter().all(|row| row.is_ok_and(|(pid, row)| !lives(pid, row.0.start_ns))))
    }

    /// Rows made, and decisions carried out, by all walks so far.
    pub(super) fn found(&self) -> Result<u64, ProbeError> {
        Array::<_, u64>::try_from(map(&self.ebpf, "FOUND")?).and_then(|map| map.get(&0, 0)).map_err(map_error("FOUND"))
    }

    /// Hands over every record that waits. True if there was one.
    pub fn drain(&mut self, mut sink: impl FnMut(&[u8])) -> bool {
        let mut any = false;
        if let Some(slots) = &mut self.slots {
            while let Some(item) = slots.next() {
                any = true;
                sink(&item);
            }
        }
        loop {
            self.empty_ring();
            // A few at a time: the ring must not fill up meanwhile.
            for _ in 0..AT_A_TIME {
                if !self.backlog.pop(&mut sink) {
                    return any;
                }
                any = true;
            }
        }
    }

    /// Puts by what waits in the ring.
    pub(super) fn empty_ring(&mut self) {
        while self.backlog.has_room()
            && let Some(item) = self.ring.next()
        {
            self.backlog.push(&item);
        }
    }

    /// The tables that are followed now, as records of the ring's form. Not for the hot path.
    ///
    /// # Errors
    ///
    /// When the map can't be read.
    pub fn snapshot(&mut self, mut sink: impl FnMut(&[u8])) -> Result<(), ProbeError> {
        let at_ns = boot_ns();
        let tables =
            HashMap::<_, u64, Wire<TableState>>::try_from(map(&self.ebpf, "TABLES")?).map_err(map_error("TABLES"))?;
        // Only what orders them is kept: ten thousand heads at once would be most of the memory that a trace ever needs.
        let mut seen = Vec::new();
        for entry in tables.iter() {
            match entry {
                Ok((files, state)) => seen.push((state.0.head.id, files)),
                Err(aya::maps::MapError::KeyNotFound) => {}
                Err(error) => return Err(map_error("TABLES")(error)),
            }
        }
        seen.sort_unstable();
        seen.dedup();
        for (id, files) in seen {
            let table = match tables.get(&files, 0) {
                Ok(state) if state.0.head.id == id => state.0.head,
                // It has ended since, which a record tells.
                Ok(_) | Err(aya::maps::MapError::KeyNotFound) => continue,
                Err(error) => return Err(map_error("TABLES")(error)),
            };
            let record = TableRecord {
                header: Header { kind: record::TABLE, len: size_of::<TableRecord>() as u32, at_ns },
                reason: table_reason::SNAPSHOT,
                spare: 0,
                table,
            };
            sink(bytes_of(&record));
        }
        Ok(())
    }

    /// Detaches, hands over what waits and what is still there, and tells what was not seen.
    ///
    /// # Errors
    ///
    /// When the maps can't be read; the programs are detached all the same.
    pub fn stop(mut self, mut sink: impl FnMut(&[u8])) -> Result<Stopped, ProbeError> {
        self.triggers.clear();
        self.lifecycle.clear();
        while self.drain(&mut sink) {}
        self.snapshot(&mut sink)?;
        self.coverage()
    }

    /// What was not seen so far.
    ///
    /// # Errors
    ///
    /// When the counters can't be read.
    pub fn coverage(&self) -> Result<Stopped, ProbeError> {
        let per_cpu = PerCpuArray::<_, Wire<Counters>>::try_from(map(&self.ebpf, "COUNTERS")?)
            .and_then(|map| map.get(&0, 0))
            .map_err(map_error("COUNTERS"))?;
        let counters = Counter::ALL
            .iter()
            .map(|counter| (*counter, per_cpu.iter().map(|cpu| cpu.0.values[*counter as usize]).sum()))
            .collect();
        Ok(Stopped { missed: self.misses(), counters })
    }
}

/// Readable when records wait.
impl AsFd for Session {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring lives as long as the session.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

/// Boot time, nanoseconds: the clock of every record.
#[must_use]
pub fn boot_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the result; the clock exists on every kernel that is supported.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub(super) fn bytes_of<T: fdtide_abi::event::Record>(record: &T) -> &[u8] {
    // SAFETY: integers without padding, by the trait's contract.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(record).cast(), size_of::<T>()) }
}

pub(super) fn map<'a>(ebpf: &'a Ebpf, name: &'static str) -> Result<&'a aya::maps::Map, ProbeError> {
    ebpf.map(name).ok_or(ProbeError::NotInObject(name))
}

pub(super) fn map_mut<'a>(ebpf: &'a mut Ebpf, name: &'static str) -> Result<&'a mut aya::maps::Map, ProbeError> {
    ebpf.map_mut(name).ok_or(ProbeError::NotInObject(name))
}

pub(super) fn map_error(map: &'static str) -> impl Fn(aya::maps::MapError) -> ProbeError {
    move |source| ProbeError::Map { map, source: Box::new(source) }
}
