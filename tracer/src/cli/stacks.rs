//! User stacks of a running trace: taken out of the kernel and named as soon as a census names them.

use std::collections::{HashMap, HashSet};

use crate::{
    event::{Frame, Name, Opener, Stack},
    pipeline::{Opened, Pipeline},
    probe::{Session, StackFrame, session::boot_ns},
    record::Input,
    symbols::Symbols,
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
                let frames = frames.iter().flat_map(|frame| self.name(frame, &opened)).collect();
                pipeline.take(Input::Stack(Box::new(Stack { at_ns: boot_ns(), id: opened.stack, frames })));
            }
        }
    }

    fn name(&mut self, frame: &StackFrame, opened: &Opened) -> Vec<Frame> {
        let place = match *frame {
            StackFrame::File { build_id, offset } => Ok((build_id, offset)),
            StackFrame::Address(address) => self.place(address, opened).ok_or(address),
        };
        match place {
            Ok((build_id, offset)) => self.symbols.frame(&build_id, offset),
            Err(address) => vec![Frame {
                module: Name::default(),
                build_id: String::new(),
                offset: address,
                symbol: None,
                source: None,
            }],
        }
    }

    /// Where an address of the opener is. Its process has the same mappings, and outlives it; neither may have execed since.
    fn place(&self, address: u64, opened: &Opened) -> Option<([u8; 20], u64)> {
        let thread = if let Opener::Thread(thread) = opened.by { Some(thread) } else { None };
        let at_ns = opened.at_ns?;
        let same_image = |pid: &u32| self.execs.get(pid).is_none_or(|execed| *execed <= at_ns);
        let mut who = thread.into_iter().chain(opened.process).filter(same_image);
        who.find_map(|pid| self.symbols.place(pid, address))
    }
}
