//! The life of one program image, from its exec to its end.

use crate::event::{Exit, Head, Mark, TableId};
use crate::model::Model;
use crate::model::failure::Tally;
use crate::model::report::{EndedBy, ExecRecord, Image, SettledFrom};

/// An exec record whose image still runs.
#[derive(Clone, Debug)]
pub struct Open {
    record: Box<ExecRecord>,
    base: Option<Base>,
    carry: Option<Mark>,
}

/// Cumulative figures of the table when the image began.
#[derive(Clone, Debug)]
pub struct Base {
    /// Which table.
    pub table: TableId,
    /// Installs before.
    pub installs: u64,
    /// Closes before, with those of the exec itself.
    pub closes: u64,
    /// Its settled level before.
    pub settled: Option<u32>,
    /// Failures before.
    pub tally: Tally,
}

/// What ends an image.
#[derive(Clone, Copy, Debug)]
pub enum ImageEnd {
    /// Another exec of the process.
    Exec,
    /// The end of the process.
    Exit(Exit),
    /// The process is traced no longer.
    Removed,
    /// The end of the trace.
    Trace,
}

impl Open {
    /// The image begins; without a base what it adds to the cumulative figures is not known.
    pub fn new(record: Box<ExecRecord>, base: Option<Base>) -> Open {
        Open { record, base, carry: None }
    }

    /// Failures of the table when the image began.
    pub fn failures_at_start(&self) -> Tally {
        self.base.as_ref().map(|base| base.tally.clone()).unwrap_or_default()
    }

    /// When the image began, boot time.
    pub fn at_ns(&self) -> u64 {
        self.record.at_ns
    }

    /// A table that the image has used, and that its process has left, looked like this.
    pub fn carry(&mut self, head: &Head, at_ns: u64) {
        let mark = head.at_least_now(&head.image, at_ns);
        if self.carry.as_ref().is_none_or(|carry| carry.live < mark.live) {
            self.carry = Some(mark);
        }
    }

    /// The record as it stands.
    pub fn into_record(self) -> ExecRecord {
        *self.record
    }
}

impl Model {
    /// Completes the record of an image. `head` is its table at its end, `former` are tables that it used earlier.
    pub(super) fn close_image(
        &mut self,
        mut open: Open,
        head: Option<&Head>,
        former: &[TableId],
        at_ns: u64,
        end: ImageEnd,
    ) {
        for table in former {
            if let Some((head, seen_ns)) = self.tables.get(table).and_then(|table| table.head_since(open.at_ns())) {
                open.carry(head, seen_ns);
            }
        }
        let mut image = match head {
            Some(head) => self.image(&open, head, at_ns),
            None => Image::running(),
        };
        (image.ended_by, image.exit) = match end {
            ImageEnd::Exec => (EndedBy::Exec, None),
            ImageEnd::Exit(exit) => (EndedBy::Exit, Some(exit)),
            ImageEnd::Removed => (EndedBy::Removed, None),
            ImageEnd::Trace => (EndedBy::Running, None),
        };
        image.end_ns = (!matches!(end, ImageEnd::Trace)).then_some(at_ns);
        if let (ImageEnd::Exit(_), Some(head)) = (end, head) {
            image.at_exit = Some(head.live);
            image.at_exit_kinds = Some(self.kinds.get(&head.kinds));
        }
        open.record.image = image;
        self.keep(open);
    }

    fn image(&mut self, open: &Open, head: &Head, at_ns: u64) -> Image {
        let mut mark = head.at_least_now(&head.image, at_ns);
        if let Some(table) = self.tables.get_mut(&head.id) {
            table.image_ended(&mark);
        }
        let mut highest = mark.highest.max(head.highest);
        if let Some(carry) = &open.carry {
            highest = highest.max(carry.highest);
            if carry.live > mark.live {
                mark = carry.clone();
            }
        }
        let base = open.base.as_ref().filter(|base| base.table == head.id);
        let still = at_ns.saturating_sub(head.last_change_ns.max(open.at_ns())) >= self.options.settle_ns;
        // A level from before the exec is not the image's.
        let level = head.settled.filter(|level| base.is_none_or(|base| base.settled != Some(*level)));
        let (settled, from) = match level {
            _ if still => (head.live, SettledFrom::Still),
            Some(level) => (level, SettledFrom::Still),
            None => (head.live, SettledFrom::Last),
        };
        Image {
            high_water: Some(mark.live),
            high_water_kinds: Some(self.kinds.get(&mark.kinds)),
            highest_number: highest,
            settled: Some(settled),
            settled_from: Some(from),
            installs: base.map(|base| head.installs.saturating_sub(base.installs)),
            closes: base.map(|base| head.closes.saturating_sub(base.closes)),
            soft_limit: Some(mark.soft),
            headroom: Some(mark.soft.saturating_sub(mark.live)),
            failures: base.map_or_else(Vec::new, |base| base.tally.since(head)),
            ..Image::running()
        }
    }
}

impl Image {
    /// Nothing is known of its life yet.
    pub(super) fn running() -> Image {
        Image {
            high_water: None,
            high_water_kinds: None,
            highest_number: None,
            settled: None,
            settled_from: None,
            installs: None,
            closes: None,
            soft_limit: None,
            headroom: None,
            failures: Vec::new(),
            at_exit: None,
            at_exit_kinds: None,
            exit: None,
            ended_by: EndedBy::Running,
            end_ns: None,
        }
    }
}
