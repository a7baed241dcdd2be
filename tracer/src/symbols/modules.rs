//! Files with code, by build id.

use std::{
    collections::{HashMap, HashSet},
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use blazesym::helper::read_elf_build_id;

use super::{BUILD_ID, Place};

/// A file with code.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// Path as the process has it.
    pub told: String,
    /// Path at which it is to be had here.
    pub open: PathBuf,
}

/// What the processes have mapped so far.
#[derive(Debug, Default)]
pub(super) struct Modules {
    files: HashMap<[u8; BUILD_ID], File>,
    /// Device and inode of files that were looked at.
    seen: HashSet<(String, u64)>,
}

/// A mapping with code: a line of `/proc/PID/maps`.
struct Mapping<'a> {
    addresses: Range<u64>,
    offset: u64,
    device: &'a str,
    inode: u64,
    path: &'a str,
}

impl Modules {
    /// Takes in what a process has mapped.
    pub fn learn(&mut self, pid: u32) {
        let Ok(maps) = fs::read_to_string(format!("/proc/{pid}/maps")) else { return };
        for mapping in maps.lines().filter_map(code) {
            if !self.seen.insert((mapping.device.to_owned(), mapping.inode)) {
                continue;
            }
            let Some(open) = reachable(pid, mapping.path) else { continue };
            if let Some(build_id) = build_id(&open) {
                self.files.insert(build_id, File { told: mapping.path.to_owned(), open });
            }
        }
    }

    /// Takes in one file.
    pub fn learn_file(&mut self, path: &Path) {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(found) = fs::metadata(path) else { return };
        let device = found.dev();
        let device = format!("{:02x}:{:02x}", libc::major(device), libc::minor(device));
        if found.is_file()
            && self.seen.insert((device, found.ino()))
            && let Some(build_id) = build_id(path)
        {
            let told = path.to_string_lossy().into_owned();
            self.files.insert(build_id, File { told, open: path.to_owned() });
        }
    }

    /// The file with this build id, if a process had it mapped.
    pub fn file(&self, build_id: &[u8; BUILD_ID]) -> Option<&File> {
        self.files.get(build_id)
    }

    /// Where addresses of a process are: build id of the file that is mapped there now, and offset.
    pub fn places(pid: u32, addresses: &[u64]) -> Option<Vec<Option<Place>>> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        let mappings: Vec<Mapping<'_>> = maps.lines().filter_map(code).collect();
        let place = |address: &u64| {
            let mapping = mappings.iter().find(|mapping| mapping.addresses.contains(address))?;
            let file = reachable(pid, mapping.path)?;
            Some((build_id(&file)?, address - mapping.addresses.start + mapping.offset))
        };
        Some(addresses.iter().map(place).collect())
    }
}

/// The same file, seen from here: a process in another mount namespace has its own tree.
fn reachable(pid: u32, path: &str) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let there = PathBuf::from(format!("/proc/{pid}/root{path}"));
    let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    let wanted = identity(&there)?;
    // The plain path outlives the process.
    if identity(Path::new(path)) == Some(wanted) { Some(PathBuf::from(path)) } else { Some(there) }
}

fn build_id(path: &Path) -> Option<[u8; BUILD_ID]> {
    let found = read_elf_build_id(path).ok()??;
    let mut id = [0; BUILD_ID];
    let bytes = found.len().min(BUILD_ID);
    id[..bytes].copy_from_slice(&found[..bytes]);
    Some(id)
}

/// `from-to perms offset device inode path`; None where there is no code, or no file.
fn code(line: &str) -> Option<Mapping<'_>> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let addresses = hex(from)?..hex(to)?;
    let perms = words.next()?;
    let offset = hex(words.next()?)?;
    let device = words.next()?;
    let inode = words.next()?.parse().ok()?;
    let path = &line[line.find('/')?..];
    perms.contains('x').then_some(Mapping { addresses, offset, device, inode, path })
}
