//! What names processes.

use std::{
    fmt,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    str::FromStr,
};

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{error::TargetError, user};
use crate::{
    event::{Container, Name},
    procfs::{self, Cgroup, Facts, Names},
};

/// Longest name that the kernel keeps, bytes (`TASK_COMM_LEN`, include/linux/sched.h, v6.12, less the terminating zero).
const COMM: usize = 15;

/// One way to say which processes are meant.
///
/// As text, in a configuration file: `pid:4242`, `name:postgres`, `exe:/opt/**/server`, `cgroup:/web.slice`,
/// `container:3fa9c1`, `unit:nginx.service`, `uid:postgres`.
#[derive(Clone, Debug)]
pub enum Selector {
    /// The process with this id, here or in its own PID namespace.
    Pid(u32),
    /// Processes of this name: `comm`, or for a longer one than that the base name of the program, of `argv[0]` or of a script.
    Name(String),
    /// Processes whose program matches: its whole path or, for a pattern without a slash, its base name.
    Exe(GlobMatcher),
    /// Processes in this cgroup or below.
    Cgroup(PathBuf),
    /// Processes in a container whose id or name begins like this.
    Container(String),
    /// Processes of a systemd unit.
    Unit(String),
    /// Processes of this real user.
    Uid {
        /// Their number.
        uid: u32,
        /// As it was said.
        said: String,
    },
}

/// How much of a selector the kernel can decide at an exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Nothing: it names a process that is there.
    Nothing,
    /// By the name, with zeros at its end.
    Comm([u8; COMM + 1]),
    /// By the real user.
    Uid(u32),
    /// By the version 2 cgroup with this identity.
    Cgroup(u64),
    /// Not: every exec is looked at in user space.
    Unsure,
}

impl Selector {
    /// Whether it fits a process. `names` tells what containers are called.
    #[must_use]
    pub fn fits(&self, facts: &Facts<'_>, names: &mut Names) -> bool {
        match self {
            Self::Pid(pid) => facts.pid() == *pid,
            Self::Name(name) => is_named(facts, name.as_bytes()),
            Self::Exe(pattern) => facts.exe().is_some_and(|exe| matches(pattern, exe)),
            Self::Cgroup(path) => facts.cgroups().iter().any(|cgroup| cgroup.is_in(path)),
            Self::Container(_) => self.fits_cgroups(facts.cgroups(), names),
            Self::Unit(_) => self.fits_cgroups(facts.cgroups(), names),
            Self::Uid { uid, .. } => facts.uid() == Some(*uid),
        }
    }

    /// Whether a container or a unit is that of these cgroups.
    fn fits_cgroups(&self, cgroups: &[Cgroup], names: &mut Names) -> bool {
        match self {
            Self::Container(start) => procfs::container_in(cgroups)
                .is_some_and(|container| is_called(&names.fill(container), start.as_bytes())),
            Self::Unit(unit) => cgroups.iter().any(|cgroup| {
                let systemd = cgroup.controllers.is_empty() || cgroup.controllers == "name=systemd";
                systemd && cgroup.path.components().any(|part| part.as_os_str().as_bytes() == unit.as_bytes())
            }),
            _ => false,
        }
    }

    /// The version 2 cgroups of a container or a unit that are there now: of processes in them the kernel is sure.
    #[must_use]
    pub fn cgroups(&self, root: &Path, names: &mut Names) -> Vec<u64> {
        match self {
            Self::Container(_) | Self::Unit(_) => {
                procfs::ids_of(root, |cgroup| self.fits_cgroups(std::slice::from_ref(cgroup), names))
            }
            _ => Vec::new(),
        }
    }

    /// What the kernel can be told of it.
    #[must_use]
    pub fn kernel(&self, root: &Path) -> Kernel {
        match self {
            Self::Pid(_) => Kernel::Nothing,
            Self::Name(name) if name.len() <= COMM => {
                let mut comm = [0; COMM + 1];
                comm.iter_mut().zip(name.as_bytes()).for_each(|(to, from)| *to = *from);
                Kernel::Comm(comm)
            }
            Self::Cgroup(path) => procfs::id_of(root, path).map_or(Kernel::Unsure, Kernel::Cgroup),
            Self::Uid { uid, .. } => Kernel::Uid(*uid),
            Self::Name(_) | Self::Exe(_) | Self::Container(_) | Self::Unit(_) => Kernel::Unsure,
        }
    }

    /// What it asks of a process, as the end of a sentence.
    #[must_use]
    pub fn asks(&self) -> String {
        match self {
            Self::Pid(pid) => format!("has the id `{pid}`"),
            Self::Name(name) => format!("has the name `{name}`"),
            Self::Exe(pattern) => format!("runs a program like `{}`", pattern.glob()),
            Self::Cgroup(path) => format!("is in the cgroup `{}`", path.display()),
            Self::Container(start) => format!("is in a container whose id or name begins with `{start}`"),
            Self::Unit(unit) => format!("belongs to the systemd unit `{unit}`"),
            Self::Uid { said, .. } => format!("runs as the user `{said}`"),
        }
    }

    /// A selector of this kind: `name`, `exe` and so on.
    ///
    /// # Errors
    ///
    /// When the value says nothing that is understood: why, as a sentence.
    pub fn of(kind: &str, value: &str) -> Result<Self, String> {
        if value.is_empty() {
            return Err("nothing is named".to_owned());
        }
        Ok(match kind {
            "pid" => match value.parse() {
                Ok(pid @ 1..) => Self::Pid(pid),
                _ => return Err(format!("`{value}` is no process id: use a number from 1 up")),
            },
            "name" => Self::Name(value.to_owned()),
            "exe" => Self::Exe(pattern(value)?),
            "cgroup" => Self::Cgroup(PathBuf::from(value)),
            "container" => Self::Container(value.to_owned()),
            "unit" => Self::Unit(unit(value)),
            "uid" => Self::Uid { uid: user::id(value)?, said: value.to_owned() },
            _ => {
                return Err(format!(
                    "`{kind}` is none of `pid`, `name`, `exe`, `cgroup`, `container`, `unit` and `uid`"
                ));
            }
        })
    }
}

/// A unit without a suffix is a service, as for systemctl.
fn unit(name: &str) -> String {
    let suffixes = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];
    let whole = suffixes.iter().any(|suffix| name.ends_with(suffix));
    if whole { name.to_owned() } else { format!("{name}.service") }
}

/// `*` and `?` stay within a folder, `**` goes through any number of them.
fn pattern(text: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| format!("no pattern: {}", error.kind()))
}

fn matches(pattern: &GlobMatcher, exe: &Path) -> bool {
    if pattern.glob().glob().contains('/') {
        return pattern.is_match(exe);
    }
    exe.file_name().is_some_and(|name| pattern.is_match(Path::new(name)))
}

/// By `comm`; a name that does not fit there by what the program, `argv[0]` or a script is called.
fn is_named(facts: &Facts<'_>, name: &[u8]) -> bool {
    if name.len() <= COMM {
        return facts.comm().as_bytes() == name;
    }
    let base = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next() == Some(name);
    let file = |path: Option<&Path>| path.is_some_and(|path| base(path.as_os_str().as_bytes()));
    if file(facts.exe()) || file(facts.path()) {
        return true;
    }
    let words = facts.words();
    if words.first().is_some_and(|word| base(word)) {
        return true;
    }
    // A script: the interpreter's name is on the program, the script's is the process's.
    facts.comm().as_bytes() == &name[..COMM] && words.iter().skip(1).any(|word| base(word))
}

/// By the start of its id, of its name, or of a part of its name.
fn is_called(container: &Container, start: &[u8]) -> bool {
    let name = container.name.as_ref().map_or(&b""[..], Name::as_bytes);
    let parts = || name.split(|byte| *byte == b'/');
    container.id.as_bytes().starts_with(start) || name.starts_with(start) || parts().any(|part| part.starts_with(start))
}

impl FromStr for Selector {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let made = match text.split_once(':') {
            Some((kind, value)) => Self::of(kind, value),
            None => Err("write what it is before it, as in `pid:4242` or `name:postgres`".to_owned()),
        };
        made.map_err(|why| TargetError::Selector { text: text.to_owned(), why })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pid(pid) => write!(f, "pid:{pid}"),
            Self::Name(name) => write!(f, "name:{name}"),
            Self::Exe(pattern) => write!(f, "exe:{}", pattern.glob()),
            Self::Cgroup(path) => write!(f, "cgroup:{}", path.display()),
            Self::Container(start) => write!(f, "container:{start}"),
            Self::Unit(unit) => write!(f, "unit:{unit}"),
            Self::Uid { said, .. } => write!(f, "uid:{said}"),
        }
    }
}

/// Two that are written alike mean the same.
impl PartialEq for Selector {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Selector {}

impl Serialize for Selector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "selector_tests.rs"]
mod tests;
