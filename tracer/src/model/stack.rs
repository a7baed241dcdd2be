//! User stacks: which function opened what.

use std::collections::{BTreeMap, HashMap};

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
pub struct Stacks(HashMap<u32, Vec<Frame>>);

impl Stacks {
    /// Takes a stack.
    pub fn add(&mut self, stack: &Stack) {
        if self.0.len() < STACKS || self.0.contains_key(&stack.id) {
            self.0.insert(stack.id, stack.frames.clone());
        }
    }

    /// The function that a stack stands for: the innermost that is neither a library's nor a wrapper.
    pub fn function(&self, id: Option<u32>) -> Option<String> {
        let frames = self.0.get(&id?)?;
        let own = frames.iter().find(|frame| is_own(frame));
        own.or(frames.iter().find(|frame| frame.symbol.is_some())).and_then(|frame| frame.symbol.clone())
    }

    /// Stacks of a census with the same functions as one, most descriptors first.
    pub fn rows(&self, taken: &Taken) -> Vec<StackRow> {
        let mut groups: BTreeMap<(Vec<String>, &'static str), StackRow> = BTreeMap::new();
        for row in &taken.rows {
            let Some((id, frames)) = row.stack.and_then(|id| Some((id, self.0.get(&id)?))) else { continue };
            let key = (frames.iter().map(place).collect(), row.kind.name());
            let group = groups.entry(key).or_insert_with(|| StackRow {
                table: taken.census.table.0,
                census: taken.census.census,
                reason: reason(taken.census.reason),
                count: 0,
                kind: row.kind.name(),
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
        assert_eq!(stacks.function(Some(3)).as_deref(), Some("burst::prepare::eager"));
        stacks.add(&Stack { at_ns: 1, id: 4, frames: vec![frame("/usr/lib/libc.so.6", Some("openat64"))] });
        assert_eq!(stacks.function(Some(4)).as_deref(), Some("openat64"), "better than nothing");
        stacks.add(&Stack { at_ns: 1, id: 5, frames: vec![frame("", None)] });
        assert_eq!((stacks.function(Some(5)), stacks.function(Some(6)), stacks.function(None)), (None, None, None));
    }
}
