//! User stacks: which function opened what.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::event::{Frame, Stack};
use crate::model::census::Taken;
use crate::model::census_row::{FrameRow, StackRow, reason};

/// Stacks remembered.
const STACKS: usize = 65_536;
/// Rows of stacks for one census.
const ROWS: usize = 64;
/// Functions through which a program opens things: not the ones that it is about.
const WRAPPERS: [&str; 12] = [
    "std::", "core::", "alloc::", "<std::", "<core::", "<alloc::", "rustix::", "nix::", "libc:", "__", "_IO_",
    "syscall",
];
/// Libraries that are not what a program is about.
const LIBRARIES: [&str; 6] = ["libc.so", "libc-", "ld-linux", "libpthread", "ld-musl", "libc.musl"];

/// Stacks by their identity.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    frames: HashMap<u32, Vec<Frame>>,
    functions: HashMap<u32, String>,
}

impl Stacks {
    /// Takes a stack.
    pub fn add(&mut self, stack: &Stack) {
        if self.frames.len() < STACKS || self.frames.contains_key(&stack.id) {
            self.frames.insert(stack.id, stack.frames.clone());
        }
    }

    /// The function that a stack stands for, once [`Stacks::find_functions`] has looked.
    pub fn function(&self, id: Option<u32>) -> Option<String> {
        self.functions.get(&id?).cloned()
    }

    /// Finds for each stack the function that it stands for: the innermost that is neither a library's nor a wrapper, nor
    /// a helper through which other stacks went as well. A helper is told by a branch: stacks that are alike up to it, and
    /// differ further out. Branches in the outer half are other callers of the whole work, which makes no helper of it.
    pub fn find_functions(&mut self) {
        let mut callers: HashMap<u64, Option<u64>> = HashMap::new();
        for frames in self.frames.values() {
            for (path, caller) in paths(frames) {
                let known = callers.entry(path).or_insert(Some(caller));
                if *known != Some(caller) {
                    *known = None;
                }
            }
        }
        let helpers = |frames: &[Frame]| {
            let branch = |(path, _): (u64, u64)| callers.get(&path) == Some(&None);
            let branches = paths(frames).map(branch).collect::<Vec<_>>();
            branches.iter().rposition(|branch| *branch).map_or(0, |last| last + 1)
        };
        let found = self.frames.iter().filter_map(|(id, frames)| {
            let own = |from: usize| frames.iter().skip(from).find(|frame| is_own(frame));
            let frame = own(helpers(frames)).or(own(0)).or(frames.iter().find(|frame| frame.symbol.is_some()))?;
            Some((*id, frame.symbol.clone()?))
        });
        self.functions = found.collect();
    }

    /// Stacks of a census with the same functions as one, most descriptors first.
    pub fn rows(&self, taken: &Taken) -> Vec<StackRow> {
        let mut groups: BTreeMap<(Vec<String>, &'static str), StackRow> = BTreeMap::new();
        for row in &taken.rows {
            let Some((id, frames)) = row.stack.and_then(|id| Some((id, self.frames.get(&id)?))) else { continue };
            let key = (frames.iter().map(place).collect(), row.kind.name());
            let group = groups.entry(key).or_insert_with(|| StackRow {
                table: taken.census.table.0,
                census: taken.census.census,
                reason: reason(taken.census.reason).into(),
                count: 0,
                kind: row.kind.name().into(),
                function: self.function(Some(id)),
                ids: Vec::new(),
                frames: frames.iter().map(frame_row).collect(),
            });
            group.count += 1;
            if !group.ids.contains(&id) {
                group.ids.push(id);
            }
        }
        let mut rows: Vec<StackRow> = groups.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows.truncate(ROWS);
        rows
    }
}

/// For each frame of the inner half: what leads to it from the innermost one, and who called it.
fn paths(frames: &[Frame]) -> impl Iterator<Item = (u64, u64)> {
    let mut path = 0;
    let inner = frames.iter().zip(frames.iter().skip(1)).take(frames.len() / 2);
    inner.map(move |(frame, caller)| {
        path = mix(path, &place(frame));
        (path, mix(0, &place(caller)))
    })
}

fn mix(seed: u64, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    name.hash(&mut hasher);
    hasher.finish()
}

fn is_own(frame: &Frame) -> bool {
    let module = frame.module.basename().text();
    let library = LIBRARIES.iter().any(|name| module.starts_with(name));
    let symbol = frame.symbol.as_deref().unwrap_or("__");
    !library && !WRAPPERS.iter().any(|prefix| symbol.starts_with(prefix))
}

/// What two frames must have in common to be the same function.
fn place(frame: &Frame) -> String {
    frame.symbol.clone().unwrap_or_else(|| format!("{}+{:#x}", frame.module.text(), frame.offset))
}

fn frame_row(frame: &Frame) -> FrameRow {
    FrameRow {
        symbol: frame.symbol.clone(),
        module: frame.module.clone(),
        build_id: frame.build_id.clone(),
        offset: frame.offset,
        source: frame.source.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Name;

    fn frame(module: &str, symbol: Option<&str>) -> Frame {
        Frame {
            module: Name::from(module),
            build_id: String::new(),
            offset: 16,
            symbol: symbol.map(str::to_owned),
            source: None,
        }
    }

    fn function(stacks: &[&[&str]], id: usize) -> Option<String> {
        let mut all = Stacks::default();
        for (id, names) in (0..).zip(stacks) {
            let frames = names.iter().map(|name| frame("/opt/burst", Some(name))).collect();
            all.add(&Stack { at_ns: 1, id, frames });
        }
        all.find_functions();
        all.function(Some(id as u32))
    }

    #[test]
    fn the_function_is_the_programs_own() {
        let mut stacks = Stacks::default();
        let frames = vec![
            frame("/usr/lib/libc.so.6", Some("openat64")),
            frame("/opt/burst", Some("std::fs::File::open")),
            frame("/opt/burst", Some("burst::prepare::eager")),
            frame("/opt/burst", Some("main")),
        ];
        stacks.add(&Stack { at_ns: 1, id: 3, frames });
        stacks.add(&Stack { at_ns: 1, id: 4, frames: vec![frame("/usr/lib/libc.so.6", Some("openat64"))] });
        stacks.add(&Stack { at_ns: 1, id: 5, frames: vec![frame("", None)] });
        stacks.find_functions();
        assert_eq!(stacks.function(Some(3)).as_deref(), Some("burst::prepare::eager"));
        assert_eq!(stacks.function(Some(4)).as_deref(), Some("openat64"), "better than nothing");
        assert_eq!((stacks.function(Some(5)), stacks.function(Some(6)), stacks.function(None)), (None, None, None));
    }

    #[test]
    fn a_helper_that_others_use_too_is_not_the_function() {
        let eager: &[&str] = &["open", "open_at", "eager", "one", "all", "work", "thread", "main"];
        let folder: &[&str] = &["open", "open_at", "prepare", "one", "all", "work", "thread", "main"];
        assert_eq!(function(&[eager, folder], 0).as_deref(), Some("eager"));
        assert_eq!(function(&[eager, folder], 1).as_deref(), Some("prepare"));
        assert_eq!(function(&[eager, eager], 0).as_deref(), Some("open"), "nothing tells that it is a helper");
        let elsewhere: &[&str] = &["open", "open_at", "eager", "one", "all", "work", "main", "start"];
        assert_eq!(function(&[eager, elsewhere], 0).as_deref(), Some("open"), "other callers of the whole work");
    }
}
