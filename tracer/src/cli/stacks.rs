//! User stacks of a running trace: taken out of the kernel and named as soon as a census names them.

use std::collections::HashSet;

use crate::{
    event::{Frame, Name, Stack},
    pipeline::Pipeline,
    probe::{Session, StackFrame, session::boot_ns},
    record::Input,
    symbols::Symbols,
};

/// What names them.
pub(super) struct Stacks {
    symbols: Symbols,
    known: HashSet<u32>,
}

impl Stacks {
    /// From now on the pipeline notices what is needed.
    pub(super) fn new(pipeline: &mut Pipeline) -> Self {
        pipeline.noticed();
        Self { symbols: Symbols::new(), known: HashSet::new() }
    }

    /// Names the stacks that have come up since the last call, and has the pipeline take them.
    pub(super) fn resolve(&mut self, session: &Session, pipeline: &mut Pipeline) {
        let noticed = pipeline.noticed();
        for pid in noticed.pids.iter().collect::<HashSet<_>>() {
            self.symbols.learn(*pid);
        }
        noticed.programs.iter().for_each(|path| self.symbols.learn_program(path));
        for id in noticed.stacks {
            if self.known.insert(id)
                && let Some(frames) = session.stack(id)
            {
                let frames = frames.iter().flat_map(|frame| self.name(frame)).collect();
                pipeline.take(Input::Stack(Box::new(Stack { at_ns: boot_ns(), id, frames })));
            }
        }
    }

    fn name(&mut self, frame: &StackFrame) -> Vec<Frame> {
        match frame {
            StackFrame::File { build_id, offset } => self.symbols.frame(build_id, *offset),
            StackFrame::Address(address) => vec![Frame {
                module: Name::default(),
                build_id: String::new(),
                offset: *address,
                symbol: None,
                source: None,
            }],
        }
    }
}
