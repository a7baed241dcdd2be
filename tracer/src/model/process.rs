//! Processes as the model follows them.

use std::collections::HashSet;

use crate::event::{self, Name, ProcId, TableId};
use crate::model::family::Left;
use crate::model::image::Open;

/// Processes that one forked and that have not ended. Most have none.
#[derive(Clone, Debug, Default)]
pub struct Children(HashSet<ProcId>);

/// A traced process that has not ended.
#[derive(Clone, Debug)]
pub struct Proc {
    /// Its name.
    pub comm: Name,
    /// The table that it uses.
    pub table: Option<TableId>,
    /// Tables that it used earlier in this image.
    pub former: Vec<TableId>,
    /// When it was forked, boot time; `None` if that was not seen.
    pub forked_ns: Option<u64>,
    /// Live descriptors that it was forked with.
    pub forked_live: u32,
    /// Who forked it, if that is followed too.
    pub spawner: Option<ProcId>,
    /// The table that it was forked from, until its first exec.
    pub forked_from: Option<TableId>,
    children: Option<Box<Children>>,
    /// Its spawner, once that has ended.
    pub left: Option<Box<Left>>,
    /// Named by the user.
    pub target: bool,
    /// The exec whose image it runs.
    pub open: Option<Box<Open>>,
}

impl Proc {
    /// As an event shows it.
    pub fn new(process: &event::Process) -> Proc {
        Proc {
            comm: process.comm.clone(),
            table: process.table,
            former: Vec::new(),
            forked_ns: None,
            forked_live: 0,
            spawner: process.spawner.known.then_some(process.spawner.id),
            forked_from: None,
            children: None,
            left: None,
            target: process.target,
            open: None,
        }
    }

    /// It has forked a process.
    pub fn bear(&mut self, child: ProcId) {
        self.children.get_or_insert_default().0.insert(child);
    }

    /// Those that have not.
    pub fn children(&self) -> impl Iterator<Item = &ProcId> {
        self.children.iter().flat_map(|children| &children.0)
    }

    /// A process that it forked has ended.
    pub fn part(&mut self, child: ProcId) {
        if let Some(children) = &mut self.children {
            children.0.remove(&child);
        }
    }
}
