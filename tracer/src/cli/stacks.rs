//! User stacks of a running trace: taken out of the kernel and named as soon as a census names them.

use std::collections::{HashMap, HashSet};

use crate::{
    event::{Frame, Name, Opener, Stack},
    pipeline::{Opened, Pipeline},
    probe::{Session, StackFrame, session::boot_ns},
    record::Input,
    symbols::{Place, Symbols},
};

/// What names them.
pub(super) struct Stacks {
    symbols: Symbols,
    known: HashSet<u32>,
    /// When processes execed, boot time in nanoseconds.
    execs: HashMap<u32, u64>,
}

impl Stacks {
    /// From now on the pipeline notices what is needed.
    pub(super) fn new(pipeline: &mut Pipeline) -> Self {
        pipeline.noticed();
        Self { symbols: Symbols::new(), known: HashSet::new(), execs: HashMap::new() }
    }

    /// Names the stacks that have come up since the last call, and has the pipeline take them.
    pub(super) fn resolve(&mut self, session: &Session, pipeline: &mut Pipeline) {
        let noticed = pipeline.noticed();
        for pid in noticed.pids.iter().collect::<HashSet<_>>() {
            self.symbols.learn(*pid);
        }
        noticed.programs.iter().for_each(|path| self.symbols.learn_program(path));
        for (pid, execed) in noticed.images {
            match execed {
                Some(at_ns) => self.execs.insert(pid, at_ns),
                None => self.execs.remove(&pid),
            };
        }
        for opened in noticed.stacks {
            if self.known.insert(opened.stack)
                && let Some(frames) = session.stack(opened.stack)
            {
                let process = noticed.censuses.get(&opened.census).copied();
                let frames = self.name(&frames, &opened, process);
                pipeline.take(Input::Stack(Box::new(Stack { at_ns: boot_ns(), id: opened.stack, frames })));
            }
        }
    }

    fn name(&mut self, frames: &[StackFrame], opened: &Opened, process: Option<u32>) -> Vec<Frame> {
        let address = |frame: &StackFrame| if let StackFrame::Address(address) = frame { Some(*address) } else { None };
        let addresses: Vec<u64> = frames.iter().filter_map(address).collect();
        let mut places = self.places(&addresses, opened, process).into_iter();
        let name = |frame: &StackFrame| match *frame {
            StackFrame::File { build_id, offset } => self.symbols.frame(&build_id, offset),
            StackFrame::Address(address) => match places.next().flatten() {
                Some((build_id, offset)) => self.symbols.frame(&build_id, offset),
                None => vec![Frame {
                    module: Name::default(),
                    build_id: String::new(),
                    offset: address,
                    symbol: None,
                    source: None,
                }],
            },
        };
        frames.iter().flat_map(name).collect()
    }

    /// Where addresses of the opener are. Its process has the same mappings, and outlives it; neither may have execed since.
    fn places(&self, addresses: &[u64], opened: &Opened, process: Option<u32>) -> Vec<Option<Place>> {
        let (Some(at_ns), false) = (opened.at_ns, addresses.is_empty()) else { return Vec::new() };
        let thread = if let Opener::Thread(thread) = opened.by { Some(thread) } else { None };
        let same_image = |pid: &u32| self.execs.get(pid).is_none_or(|execed| *execed <= at_ns);
        let mut who = thread.into_iter().chain(process).filter(same_image);
        who.find_map(|pid| Symbols::places(pid, addresses)).unwrap_or_default()
    }
}
