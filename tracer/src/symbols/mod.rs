//! Names for the frames of user stacks, also of processes that have gone: the kernel keeps each frame as a build id and an
//! offset, and the files are learned from the processes while they live.

mod modules;

use std::{
    collections::HashMap,
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use blazesym::symbolize::{Input, Symbolized, Symbolizer, source::Elf, source::Source};

use crate::event::{Frame, Name};
use modules::Modules;

/// Bytes of a build id.
pub const BUILD_ID: usize = 20;

/// Where code is: build id of its file, and offset in it, bytes.
pub type Place = ([u8; BUILD_ID], u64);

/// What names frames; one for a trace.
#[derive(Debug, Default)]
pub struct Symbols {
    modules: Modules,
    symbolizer: Symbolizer,
    named: HashMap<([u8; BUILD_ID], u64), Vec<Frame>>,
}

impl Symbols {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns the files that a process has mapped. What can't be read is left out: the process may have gone.
    pub fn learn(&mut self, pid: u32) {
        self.modules.learn(pid);
    }

    /// Learns a program by its path, for processes that are over before anyone can look at them.
    pub fn learn_program(&mut self, path: &Name) {
        if path.as_bytes().starts_with(b"/") {
            self.modules.learn_file(Path::new(OsStr::from_bytes(path.as_bytes())));
        }
    }

    /// Whether the file with this build id is known.
    #[must_use]
    pub fn knows(&self, build_id: &[u8; BUILD_ID]) -> bool {
        self.modules.file(build_id).is_some()
    }

    /// Where addresses of a process are now, by one reading of its mappings: each None where nothing with code is mapped. None
    /// if the process has gone. A thread's id does as well.
    #[must_use]
    pub fn places(pid: u32, addresses: &[u64]) -> Option<Vec<Option<Place>>> {
        Modules::places(pid, addresses)
    }

    /// A frame in a file, by its build id: inlined functions first, the one that they are in last.
    pub fn frame(&mut self, build_id: &[u8; BUILD_ID], offset: u64) -> Vec<Frame> {
        let bare = |module: Name| Frame { module, build_id: hex(build_id), offset, symbol: None, source: None };
        // It may become known later.
        let Some(file) = self.modules.file(build_id) else { return vec![bare(Name::default())] };
        let symbolizer = &self.symbolizer;
        let name = || {
            let bare = bare(Name::from_bytes(file.told.as_bytes()));
            let found = name(symbolizer, &file.open, &bare);
            if found.is_empty() { vec![bare] } else { found }
        };
        self.named.entry((*build_id, offset)).or_insert_with(name).clone()
    }
}

/// The functions at the frame's offset; empty if the file has no symbol there.
fn name(symbolizer: &Symbolizer, file: &PathBuf, bare: &Frame) -> Vec<Frame> {
    // The address is that of the next instruction, which may belong to another line or function.
    let at = bare.offset.saturating_sub(1);
    let mut elf = Elf::new(file);
    let debug = symbolizer.symbolize_single(&Source::Elf(elf.clone()), Input::FileOffset(at));
    // Debug information that can't be read does not take the file's own symbols away.
    elf.debug_syms = false;
    let plain_symbols = Source::Elf(elf);
    let found = debug.or_else(|_| symbolizer.symbolize_single(&plain_symbols, Input::FileOffset(at)));
    let Ok(Symbolized::Sym(sym)) = found else { return Vec::new() };
    let frame = |name: &str, place: Option<String>| Frame {
        symbol: Some(plain(name).to_owned()),
        source: place,
        ..bare.clone()
    };
    let place = |info: &blazesym::symbolize::CodeInfo<'_>| {
        let file = info.file.to_string_lossy();
        info.line.map_or_else(|| file.to_string(), |line| format!("{file}:{line}"))
    };
    let inlined = sym.inlined.iter().rev().map(|inlined| frame(&inlined.name, inlined.code_info.as_ref().map(place)));
    inlined.chain([frame(&sym.name, sym.code_info.as_deref().map(place))]).collect()
}

/// Without the hash that Rust's older mangling adds.
fn plain(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => path,
        _ => name,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_this_program_is_found_by_build_id_and_offset() {
        let mut symbols = Symbols::new();
        symbols.learn(std::process::id());
        let here = a_function_of_this_program_is_found_by_build_id_and_offset as *const () as u64;
        let [Some((build_id, offset)), None] = Symbols::places(std::process::id(), &[here, 0]).expect("it runs")[..]
        else {
            panic!("it is mapped, and nothing at 0")
        };
        let frames = symbols.frame(&build_id, offset + 2);
        let last = frames.last().expect("a frame");
        assert!(last.symbol.as_deref().is_some_and(|name| name.ends_with("by_build_id_and_offset")), "{frames:?}");
    }

    #[test]
    fn what_is_not_known_is_still_a_frame() {
        let frames = Symbols::new().frame(&[7; BUILD_ID], 0x40);
        assert_eq!((frames.len(), frames[0].offset, &frames[0].symbol), (1, 0x40, &None));
        assert_eq!(frames[0].build_id, "07".repeat(BUILD_ID));
    }

    #[test]
    fn the_hash_of_old_mangling_goes() {
        assert_eq!(plain("a::b::h0123456789abcdef"), "a::b");
        assert_eq!(plain("a::b::help"), "a::b::help");
    }
}
