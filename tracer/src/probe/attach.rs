//! Programs to their places.

use std::{
    fs,
    sync::{Mutex, PoisonError},
    thread,
};

use aya::{
    Btf, Ebpf,
    programs::{BtfTracePoint, FExit, Iter, KProbe, Program, ProgramError, kprobe::KProbeError, links::FdLink},
};

use super::{
    error::ProbeError,
    hooks::{Hook, Place, WALK},
    privileges,
};

/// An attached program. Dropping it detaches.
#[expect(dead_code, reason = "held for what dropping them does")]
pub(super) enum Link {
    Fd(FdLink),
    Probe(aya::programs::kprobe::KProbeLink),
}

/// A program that is not attached, and why.
pub(super) type Without = (&'static str, String);

/// The kernel's types, as aya has them.
pub(super) fn types() -> Result<Btf, ProbeError> {
    Btf::from_sys_fs().map_err(|error| ProbeError::Load(Box::new(error.into())))
}

/// What is to be loaded, and the functions that it may go to; none for a tracepoint of its own name.
type Load<'a> = (&'static str, &'a mut Program, Place);

/// Loads programs on two threads: the kernel's check of them is what a start takes longest for. What fails here fails again,
/// and is told, where the program is attached.
pub(super) fn load_together(ebpf: &mut Ebpf, btf: &Btf, hooks: &[Hook]) {
    let place = |name: &str| hooks.iter().find(|hook| hook.program == name).map(|hook| (hook.program, hook.place));
    let waiting: Vec<Load<'_>> = ebpf
        .programs_mut()
        .filter_map(|(name, program)| place(name).map(|(name, place)| (name, program, place)))
        .collect();
    let waiting = Mutex::new(waiting);
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let work = || {
        while let Some((name, program, place)) = next() {
            let _ = load(name, program, place, btf);
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
}

/// Loads one program, if it has not been.
fn load(name: &str, program: &mut Program, place: Place, btf: &Btf) -> Result<(), ProgramError> {
    if program.fd().is_ok() {
        return Ok(());
    }
    match place {
        Place::Tracepoint => <&mut BtfTracePoint>::try_from(program)?.load(name, btf),
        Place::Exit(functions) => {
            let program = <&mut FExit>::try_from(program)?;
            first(functions, |function| program.load(function, btf))
        }
        Place::Probe(_) | Place::ReturnProbe(_) => <&mut KProbe>::try_from(program)?.load(),
        Place::Walk => <&mut Iter>::try_from(program)?.load("task", btf),
    }
}

/// Loads and attaches these hooks. Gives the links, and the programs of optional hooks that could not be attached with the reason.
pub(super) fn attach(ebpf: &mut Ebpf, btf: &Btf, hooks: &[Hook]) -> Result<(Vec<Link>, Vec<Without>), ProbeError> {
    let mut links = Vec::new();
    let mut without = Vec::new();
    let mut together = !hooks.first().is_some_and(|hook| hook.place == Place::Tracepoint);
    if !together {
        load_together(ebpf, btf, hooks);
    }
    for hook in hooks {
        match attach_one(ebpf, btf, hook) {
            Ok(link) => links.push(link),
            Err(error) if hook.needed => return Err(error),
            Err(error) => without.push((hook.program, error.to_string())),
        }
        // Where functions can't be hooked the first of them says so, and nothing more is loaded in vain.
        if std::mem::take(&mut together) {
            load_together(ebpf, btf, hooks);
        }
    }
    Ok((links, without))
}

fn attach_one(ebpf: &mut Ebpf, btf: &Btf, hook: &Hook) -> Result<Link, ProbeError> {
    let name = hook.program;
    let program = ebpf.program_mut(name).ok_or(ProbeError::NotInObject(name))?;
    load(name, program, hook.place, btf).map_err(|source| program_error(name, source))?;
    let attached = match hook.place {
        Place::Tracepoint => <&mut BtfTracePoint>::try_from(program).and_then(|program| {
            let id = program.attach()?;
            program.take_link(id).map(|link| Link::Fd(link.into()))
        }),
        Place::Exit(_) => <&mut FExit>::try_from(program).and_then(|program| {
            let id = program.attach()?;
            program.take_link(id).map(|link| Link::Fd(link.into()))
        }),
        Place::Probe(functions) | Place::ReturnProbe(functions) => {
            <&mut KProbe>::try_from(program).and_then(|program| {
                let id = first(functions, |function| program.attach(function, 0))?;
                program.take_link(id).map(Link::Probe)
            })
        }
        // It is attached anew for each walk.
        Place::Walk => Err(ProgramError::NotLoaded),
    };
    attached.map_err(|source| program_error(name, source))
}

/// What works for the first function that it works for; else the last failure.
fn first<T>(functions: &[&str], mut attempt: impl FnMut(&str) -> Result<T, ProgramError>) -> Result<T, ProgramError> {
    let mut last = None;
    for function in functions {
        match attempt(function) {
            Ok(done) => return Ok(done),
            // A name that the kernel does not have says less than one that it has and refuses.
            Err(error @ ProgramError::Btf(_)) => last = last.or(Some(error)),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or(ProgramError::NotLoaded))
}

/// Loads the iterator; it is attached for each walk.
pub(super) fn load_walk(ebpf: &mut Ebpf, btf: &Btf) -> Result<(), ProbeError> {
    let name = WALK.program;
    let program = ebpf.program_mut(name).ok_or(ProbeError::NotInObject(name))?;
    load(name, program, WALK.place, btf).map_err(|source| program_error(name, source))
}

/// Puts a refusal into words: what was refused, and what to do about it.
pub(super) fn program_error(program: &'static str, source: ProgramError) -> ProbeError {
    let (at, errno, log) = match &source {
        ProgramError::LoadError { io_error, verifier_log } => {
            ("at load", io_error.raw_os_error(), last_lines(&verifier_log.to_string()))
        }
        ProgramError::KProbeError(KProbeError::FileError { filename, .. }) => (
            "at attach",
            None,
            format!("this kernel has no kprobes (CONFIG_KPROBES is off): `{}` is not there", filename.display()),
        ),
        ProgramError::SyscallError(error) => ("at attach", error.io_error.raw_os_error(), String::new()),
        ProgramError::Btf(error) => ("before load", None, error.to_string()),
        other => ("at attach", None, other.to_string()),
    };
    let why = match errno {
        Some(libc::EPERM) => denied(),
        Some(libc::EACCES) if is_perf_event(&source) => no_perf_events(paranoid()),
        Some(libc::EACCES) => format!("the verifier rejects it on this kernel; please report this: {log}"),
        Some(libc::EINVAL) => format!("this kernel lacks something that it needs: {log}"),
        Some(libc::ENOENT) => "this kernel can't probe that function".to_owned(),
        Some(errno) => format!("{} {log}", std::io::Error::from_raw_os_error(errno)),
        None => log,
    };
    log::debug!("program `{program}`: {source}");
    ProbeError::Program { program, at, why: why.trim_end_matches([' ', ':']).to_owned() }
}

/// Why the kernel says EPERM.
fn denied() -> String {
    let missing = privileges::missing();
    if missing.is_empty() {
        return format!(
            "EPERM though {} are held: a security module denies programs of this type",
            privileges::names(&privileges::NEEDED)
        );
    }
    format!("{} missing", privileges::names(&missing))
}

fn is_perf_event(source: &ProgramError) -> bool {
    matches!(source, ProgramError::SyscallError(error) if error.call == "perf_event_open")
}

/// Whom the kernel lets open perf events. Above 2, which is a distribution's own (Debian's default is 3), CAP_PERFMON does not do.
fn paranoid() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

/// Why the kernel says EACCES to a probe.
fn no_perf_events(paranoid: Option<i32>) -> String {
    match paranoid {
        Some(level @ 3..) => format!(
            "kernel.perf_event_paranoid is {level}, and above 2 only CAP_SYS_ADMIN may open perf events, which probes are; \
             set it to 2, or take another backend"
        ),
        _ => "a security module denies perf events, which probes are".to_owned(),
    }
}

/// The end of a verifier log says what was wrong; its statistics do not.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log
        .lines()
        .map(str::trim)
        .filter(|line| {
            !line.is_empty()
                && !["verification time", "stack depth", "processed "].iter().any(|noise| line.starts_with(noise))
        })
        .collect();
    lines.iter().rev().take(2).rev().copied().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_verifier_log_the_complaint_is_kept() {
        let log = "0: R1=ctx()\n1: (85) call foo#1\nunknown func foo#1\nverification time 3 usec\nprocessed 2 insns (limit 1)\n";
        assert_eq!(last_lines(log), "1: (85) call foo#1; unknown func foo#1");
        assert_eq!(last_lines(""), "");
    }

    #[test]
    fn who_may_not_open_perf_events_hears_why() {
        assert!(no_perf_events(Some(3)).starts_with("kernel.perf_event_paranoid is 3, "));
        for level in [Some(2), Some(-1), None] {
            assert!(no_perf_events(level).starts_with("a security module"), "{level:?}");
        }
    }

    #[test]
    fn the_first_function_that_works_is_taken_and_a_refusal_says_more_than_an_absence() {
        let error = |name: &str| match name {
            "absent" => ProgramError::NotLoaded,
            _ => ProgramError::AlreadyLoaded,
        };
        assert_eq!(first(&["a", "b"], |name| if name == "b" { Ok(2) } else { Err(error("absent")) }).unwrap(), 2);
        assert!(matches!(first::<()>(&["absent", "there"], |name| Err(error(name))), Err(ProgramError::AlreadyLoaded)));
    }
}
