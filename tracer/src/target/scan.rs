//! Who is there now.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use caps::{Capability, CapsHashSet};

use super::{Selector, TargetError};
use crate::{
    event::{Container, visible},
    probe::privileges,
    procfs::{self, Facts, Names, Stat, container_of},
};

/// What a look at all processes found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// For each selector the processes that it fits, lowest id first.
    pub by: Vec<Vec<u32>>,
    /// Ids that others have too, inside of their PID namespaces: who is traced and who else may be meant, in sentences.
    pub doubts: Vec<String>,
}

impl Found {
    /// Processes that any selector fits.
    #[must_use]
    pub fn pids(&self) -> BTreeSet<u32> {
        self.by.iter().flatten().copied().collect()
    }

    /// Those among them whose parents are not: the others are descendants of these.
    #[must_use]
    pub fn roots(&self, root: &Path) -> Vec<u32> {
        let pids = self.pids();
        let has_root = |pid: &u32| Stat::of(root, *pid).is_some_and(|stat| pids.contains(&stat.parent));
        pids.iter().copied().filter(|pid| !has_root(pid)).collect()
    }
}

/// Names suggested instead of one that nobody has.
const NEAR: usize = 3;
/// Processes listed of those that have an id inside.
const LISTED: usize = 8;
/// How like a name must be, of 1.
const ALIKE: f64 = 0.75;

/// Looks at every process of the machine below `root`, but not at `own`, which is fdtide.
///
/// # Errors
///
/// When processes can't be listed, when a process id means several, or fdtide itself.
pub fn scan(root: &Path, selectors: &[Selector], names: &mut Names, own: u32) -> Result<Found, TargetError> {
    let pids = procfs::pids(root).map_err(TargetError::List)?;
    let mut found = Found { by: vec![Vec::new(); selectors.len()], doubts: Vec::new() };
    let rest: Vec<(usize, &Selector)> =
        selectors.iter().enumerate().filter(|(_, selector)| !matches!(selector, Selector::Pid(_))).collect();
    if !rest.is_empty() {
        for pid in pids.iter().copied().filter(|pid| *pid != own) {
            // Nor what fdtide itself has started: the kernel leaves that out too.
            if !Stat::of(root, pid).is_some_and(|stat| stat.runs() && stat.parent != own) {
                continue;
            }
            let facts = Facts::of(root, pid);
            for (at, selector) in &rest {
                if selector.fits(&facts, names) {
                    found.by[*at].push(pid);
                }
            }
        }
    }
    if rest.len() < selectors.len() {
        by_pid(root, selectors, &pids, own, &mut found)?;
    }
    Ok(found)
}

/// For each id the process that has it; if there is none, or only a kernel thread, the one that has it in its own PID namespace.
fn by_pid(root: &Path, selectors: &[Selector], pids: &[u32], own: u32, found: &mut Found) -> Result<(), TargetError> {
    // Read once, however many ids are asked for.
    let mut inside: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for other in pids.iter().copied().filter(|other| *other != own && procfs::may_be_inside(root, *other)) {
        // One that is the first in several namespaces is still one.
        for inner in procfs::ns_pids(root, other).into_iter().skip(1).collect::<BTreeSet<u32>>() {
            inside.entry(inner).or_default().push(other);
        }
    }
    for (at, selector) in selectors.iter().enumerate() {
        let Selector::Pid(pid) = *selector else { continue };
        if pid == own {
            return Err(TargetError::Own(own));
        }
        let runs = |pid: &u32| Stat::of(root, *pid).is_some_and(|stat| stat.runs());
        let outside = runs(&pid);
        let inside = inside.get(&pid).into_iter().flatten().copied();
        match inside.filter(|other| *other != pid && runs(other)).collect::<Vec<_>>().as_slice() {
            [] if outside => found.by[at].push(pid),
            [] => {}
            others if outside => {
                found.by[at].push(pid);
                found.doubts.push(format!(
                    "`{pid}` is taken for the id outside, of {}; inside of a PID namespace it is that of {}: if one of these is \
                     meant, name it by its own id outside",
                    list(root, &[pid]),
                    list(root, others)
                ));
            }
            [only] => found.by[at].push(*only),
            several => return Err(TargetError::Ambiguous { pid, list: list(root, several) }),
        }
    }
    Ok(())
}

/// `4242 (sh in docker 3fa9c1d2e4b5), 4243 (sh)`.
fn list(root: &Path, pids: &[u32]) -> String {
    let one = |pid: &u32| {
        let comm = visible(&Facts::of(root, *pid).comm().text());
        let place = |at: Container| format!(" in {} {}", at.runtime, at.short());
        format!("{pid} ({comm}{})", container_of(root, *pid).map_or_else(String::new, place))
    };
    let mut all: Vec<String> = pids.iter().take(LISTED).map(one).collect();
    all.extend(pids.len().checked_sub(LISTED + 1).map(|more| format!("{} more", more + 1)));
    all.join(", ")
}

/// The error for selectors that nobody fits.
#[must_use]
pub fn nobody(root: &Path, selectors: &[Selector]) -> TargetError {
    let what = selectors.iter().map(Selector::asks).collect::<Vec<_>>().join(", or ");
    let near = selectors.iter().find_map(|selector| near(root, selector)).unwrap_or_default();
    let only_ids = selectors.iter().all(|selector| matches!(selector, Selector::Pid(_)));
    let advice = if only_ids {
        ": it may have ended; `ps -e` lists what is there"
    } else {
        "; with `--wait` fdtide waits for one"
    };
    let blind = blind(selectors.iter()).map(|what| format!("; {what}")).unwrap_or_default();
    TargetError::NoMatch { what, hint: format!("{near}{blind}{advice}") }
}

/// What these selectors ask for and this process may not read of others, and which capability that takes.
pub fn blind<'a>(selectors: impl Iterator<Item = &'a Selector> + Clone) -> Option<String> {
    told(selectors, &privileges::effective())
}

fn told<'a>(selectors: impl Iterator<Item = &'a Selector> + Clone, held: &CapsHashSet) -> Option<String> {
    let by_program = |selector: &Selector| matches!(selector, Selector::Name(_) | Selector::Exe(_));
    let by_container = |selector: &Selector| matches!(selector, Selector::Container(_));
    let needs: [(Capability, bool, &str); 2] = [
        (Capability::CAP_SYS_PTRACE, selectors.clone().any(by_program), "whose program a process of another user is"),
        (
            Capability::CAP_DAC_READ_SEARCH,
            selectors.clone().any(by_container),
            "names of containers in files of root's",
        ),
    ];
    let missing = needs.iter().filter(|(capability, asked, _)| *asked && !held.contains(capability));
    let words: Vec<_> =
        missing.map(|(capability, _, what)| format!("without {capability} can't be read {what}")).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// What a process is called in a selector's own terms.
type Called = fn(&Path, u32) -> Option<String>;

/// What there is that is written almost like it.
fn near(root: &Path, selector: &Selector) -> Option<String> {
    let (wanted, what): (&str, Called) = match selector {
        Selector::Name(name) => (name, |root, pid| Some(Facts::of(root, pid).comm().text())),
        Selector::Container(start) => (start, |root, pid| {
            let container = container_of(root, pid)?;
            Some(container.name.as_ref().unwrap_or(&container.short()).text())
        }),
        Selector::Exe(_) | Selector::Pid(_) | Selector::Cgroup(_) | Selector::Unit(_) | Selector::Uid { .. } => {
            return None;
        }
    };
    let pids = procfs::pids(root).ok()?;
    let there: BTreeSet<String> = pids
        .into_iter()
        .filter(|pid| Stat::of(root, *pid).is_some_and(|stat| stat.runs()))
        .filter_map(|pid| what(root, pid))
        .collect();
    let mut alike: Vec<(f64, &String)> = there
        .iter()
        .map(|name| (strsim::jaro_winkler(wanted, name), name))
        .filter(|(like, _)| *like >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let alike: Vec<String> = alike.iter().take(NEAR).map(|(_, name)| format!("`{}`", visible(name))).collect();
    (!alike.is_empty()).then(|| format!(", but there is {}", alike.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procfs::testing::{Machine, Made};

    const A: &str = "3fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9";

    fn look(machine: &Machine, selectors: &[&str]) -> Result<Found, TargetError> {
        let selectors: Vec<Selector> = selectors.iter().map(|text| text.parse().unwrap()).collect();
        scan(machine.root(), &selectors, &mut Names::new(machine.root()), 99)
    }

    fn machine() -> Machine {
        let machine = Machine::new();
        machine.process(Made { pid: 10, comm: "postgres", uid: 33, ..Made::default() });
        machine.process(Made { pid: 11, comm: "postgres", state: 'Z', ..Made::default() });
        machine.process(Made { pid: 12, comm: "redis-server", uid: 33, ..Made::default() });
        machine.process(Made { pid: 99, comm: "postgres", ..Made::default() });
        machine
    }

    #[test]
    fn a_process_that_fits_any_selector_is_found_once() {
        let found = look(&machine(), &["name:postgres", "uid:33", "pid:12", "name:none"]).unwrap();
        // Neither the one that has ended nor fdtide itself.
        assert_eq!(found.by, [vec![10], vec![10, 12], vec![12], vec![]]);
        assert_eq!(found.pids(), [10, 12].into());
    }

    #[test]
    fn what_can_not_be_read_of_others_is_told_with_the_capability_that_it_takes() {
        let selectors: Vec<Selector> =
            ["name:nginx", "container:web", "pid:7"].map(|text| text.parse().unwrap()).into();
        let all = [Capability::CAP_SYS_PTRACE, Capability::CAP_DAC_READ_SEARCH].into_iter().collect();
        assert_eq!(told(selectors.iter(), &all), None);
        let none = CapsHashSet::new();
        let both = told(selectors.iter(), &none).unwrap();
        assert!(both.contains("CAP_SYS_PTRACE") && both.contains("CAP_DAC_READ_SEARCH"), "{both}");
        assert!(!told(selectors[1..].iter(), &none).unwrap().contains("CAP_SYS_PTRACE"));
        assert_eq!(told(selectors[2..].iter(), &none), None, "an id is looked up in what everybody may read");
    }

    #[test]
    fn an_id_inside_is_taken_where_it_means_one_process() {
        let machine = machine();
        let cgroup = format!("0::/docker/{A}\n");
        machine.process(Made { pid: 50, ns_pids: &[1], cgroup: &cgroup, comm: "nginx", ..Made::default() });
        machine.process(Made { pid: 51, ns_pids: &[7, 7], cgroup: &cgroup, ..Made::default() });
        assert_eq!(look(&machine, &["pid:7"]).unwrap().pids(), [51].into());
        assert_eq!(look(&machine, &["pid:1"]).unwrap().pids(), [50].into());
        // One that has ended has no number any more.
        machine.process(Made { pid: 52, ns_pids: &[7], state: 'Z', ..Made::default() });
        assert_eq!(look(&machine, &["pid:7"]).unwrap().pids(), [51].into());
        // The same number outside comes first.
        machine.process(Made { pid: 7, comm: "cron", ns_pids: &[7], ..Made::default() });
        let found = look(&machine, &["pid:10", "pid:7"]).unwrap();
        assert_eq!((found.pids(), found.doubts.len()), ([7, 10].into(), 1));
        // And who else may be meant is told.
        assert!(found.doubts[0].contains("id outside, of 7 (cron); "), "{:?}", found.doubts);
        assert!(found.doubts[0].contains("that of 51 (init in docker 3fa9c1d2e4b5): "), "{:?}", found.doubts);
        machine.process(Made { pid: 60, comm: "sh", ns_pids: &[1], ..Made::default() });
        let told = look(&machine, &["pid:1"]).unwrap_err().to_string();
        assert!(told.contains("50 (nginx in docker 3fa9c1d2e4b5), 60 (sh)"), "{told}");
        for pid in 70..78 {
            machine.process(Made { pid, comm: "sh", ns_pids: &[1], ..Made::default() });
        }
        let told = look(&machine, &["pid:1"]).unwrap_err().to_string();
        assert!(told.contains("75 (sh), 2 more; "), "eight and no more are listed: {told}");
        assert!(matches!(look(&machine, &["pid:99"]), Err(TargetError::Own(99))));
    }

    #[test]
    fn who_is_not_there_is_told_with_those_that_are_called_alike() {
        let machine = machine();
        let error = |texts: &[&str]| {
            let selectors: Vec<Selector> = texts.iter().map(|text| text.parse().unwrap()).collect();
            nobody(machine.root(), &selectors).to_string()
        };
        let told = error(&["name:postgress", "uid:77"]);
        assert!(told.starts_with("no process has the name `postgress`, or runs as the user `77`"), "{told}");
        assert!(told.contains("but there is `postgres`") && told.contains("--wait"), "{told}");
        assert!(!error(&["name:zzz"]).contains("but there"), "nothing is like it");
    }
}
