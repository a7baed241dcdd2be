//! Source to model to sinks: the only file that knows all stages.
//!
//! Whatever goes into a trace goes through [`Pipeline::take`], live or from a recording, and nothing else does: the same
//! inputs give the same report.

mod facts;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use crate::{
    event::{Event, Name, Opener, ProcId, Seen, TableId, decode::decode},
    model::{
        CoverageNote, End, ExecRecord, Gap, LiveView, Loss, Model, Options, Pause, Report,
        meter::{Failed, MeterOptions, Reading},
    },
    record::{Closing, Counted, Input, Start, Tap},
    redact::Redactor,
};

pub use facts::{closing, counted, own_use, plan, start};

/// Gaps told apart in a report.
const GAPS: usize = 16;
/// Pauses of a recorder told one by one.
const PAUSES: u64 = 16;

/// Takes inputs, keeps the model.
pub struct Pipeline {
    start: Start,
    model: Model,
    alive: HashSet<ProcId>,
    skipped: u64,
    gaps: Vec<Gap>,
    pauses: u64,
    counted: Counted,
    last_ns: u64,
    closing: Option<Box<Closing>>,
    tap: Option<Box<dyn Tap>>,
    redactor: Option<Redactor>,
    notes: Vec<CoverageNote>,
    noticed: Option<Noticed>,
}

/// What whoever names user stacks wants to hear of.
#[derive(Debug, Default)]
pub struct Noticed {
    /// Processes that have come, or in which a census was taken.
    pub pids: Vec<u32>,
    /// Programs that were execed.
    pub programs: Vec<Name>,
    /// When processes last execed, boot time in nanoseconds, and that they have gone.
    pub images: Vec<(u32, Option<u64>)>,
    /// Processes in which censuses were taken, by table and number.
    pub censuses: HashMap<(TableId, u32), u32>,
    /// Stacks that rows of a census name.
    pub stacks: Vec<Opened>,
}

/// A descriptor whose user stack was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Identity of the stack.
    pub stack: u32,
    /// The table, and the census that names the stack.
    pub census: (TableId, u32),
    /// Thread that opened it.
    pub by: Opener,
    /// Boot time of that, nanoseconds.
    pub at_ns: Option<u64>,
}

impl Noticed {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::Proc(proc) => self.pids.push(proc.process.id.pid),
            Event::Exec(exec) => {
                self.pids.push(exec.process.id.pid);
                self.programs.push(exec.path.clone());
                self.images.push((exec.process.id.pid, Some(exec.at_ns)));
            }
            Event::Exit(ended) => self.images.push((ended.process.id.pid, None)),
            Event::Census(census) => {
                self.pids.push(census.process.pid);
                self.censuses.insert((census.table, census.census), census.process.pid);
            }
            Event::Descriptor(row) => self.stacks.extend(row.stack.map(|stack| Opened {
                stack,
                census: (row.table, row.census),
                by: row.opener,
                at_ns: row.opened_ns,
            })),
            _ => {}
        }
    }
}

impl Pipeline {
    /// A trace that begins like this. With `stream` the report is for what was not drained before.
    #[must_use]
    pub fn new(start: Start, stream: bool) -> Self {
        Self {
            model: Model::new(Options { stream, ..start.options }),
            last_ns: start.anchor.boot_ns,
            start,
            alive: HashSet::new(),
            skipped: 0,
            gaps: Vec::new(),
            pauses: 0,
            counted: Counted::default(),
            closing: None,
            tap: None,
            redactor: None,
            notes: Vec::new(),
            noticed: None,
        }
    }

    /// From now on every input is shown to this one too.
    pub fn record(&mut self, tap: Box<dyn Tap>) {
        self.tap = Some(tap);
    }

    /// What has been noticed since the last call; from the first one on it is collected.
    pub fn noticed(&mut self) -> Noticed {
        self.noticed.replace(Noticed::default()).unwrap_or_default()
    }

    /// From now on every input loses its names before it is taken, or keeps them. The start has lost them already.
    pub fn redact(&mut self, redactor: Option<Redactor>) {
        self.redactor = redactor;
    }

    /// The kernel's bytes as everything after this sees them.
    #[must_use]
    pub fn redacted<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.redactor.map_or(Cow::Borrowed(bytes), |redactor| redactor.raw(bytes))
    }

    /// Takes one input. What can't be read is counted.
    pub fn take(&mut self, input: Input<'_>) {
        self.take_decoded(input, None);
    }

    /// As [`Self::take`], for whoever has decoded these very bytes already: `event` is what they say.
    pub fn take_decoded(&mut self, input: Input<'_>, event: Option<Event>) {
        match self.redactor {
            Some(redactor) => {
                // Who names user stacks opens programs, and needs their paths.
                if let (Some(noticed), Input::Record(_)) = (&mut self.noticed, &input)
                    && let Some(event) = event.or_else(|| decoded(&input))
                {
                    noticed.hear(&event);
                }
                redactor.input(input, |input| {
                    let event = decoded(&input);
                    self.pass(input, event);
                });
            }
            None => {
                let event = event.or_else(|| decoded(&input));
                self.pass(input, event);
            }
        }
    }

    fn pass(&mut self, input: Input<'_>, event: Option<Event>) {
        if let Some(tap) = &mut self.tap {
            tap.take(&input, event.as_ref());
        }
        match (input, event) {
            (Input::Record(_), Some(event)) => self.apply(&event),
            (Input::Record(_), None) => self.skipped += 1,
            (Input::Look(_), event) => self.at(event.as_ref().map_or(0, Event::at_ns)),
            (Input::Stack(stack), _) => self.apply(&Event::Stack(stack)),
            (Input::Place(place), _) => self.apply(&Event::Place(place)),
            (Input::Checked(gap), _) => self.gap(gap),
            (Input::Counted(counted), _) => {
                self.at(counted.at_ns);
                self.counted = counted;
            }
            (Input::Paused(pause), _) => self.pause(&pause),
            (Input::Note(note), _) => {
                self.at(note.at_ns);
                self.model.mark(note.at_ns, &note.text);
            }
            (Input::End(closing), _) => {
                self.at(closing.at_ns);
                self.closing = Some(closing);
            }
        }
    }

    /// Takes an event that is not an input: what the reader of a recording that breaks off knows of its end.
    pub(crate) fn apply(&mut self, event: &Event) {
        self.at(event.at_ns());
        if let (Some(noticed), None) = (&mut self.noticed, &self.redactor) {
            noticed.hear(event);
        }
        match event {
            Event::Proc(proc) => {
                self.alive.insert(proc.process.id);
            }
            // A target that is caught at its exec comes without a word before.
            Event::Exec(exec) => {
                self.alive.insert(exec.process.id);
            }
            Event::Exit(ended) => {
                self.alive.remove(&ended.process.id);
            }
            Event::Removed(removed) => {
                self.alive.remove(&removed.process.id);
            }
            _ => {}
        }
        self.model.apply(event);
    }

    fn at(&mut self, at_ns: u64) {
        self.last_ns = self.last_ns.max(at_ns);
    }

    /// Runs were missed, and every table was looked at again.
    fn gap(&mut self, gap: Gap) {
        self.at(gap.to_ns);
        // Gaps that touch are one, and more of them than anyone reads are told as one.
        let full = self.gaps.len() >= GAPS;
        match self.gaps.last_mut() {
            Some(last) if last.to_ns == gap.from_ns || full => {
                last.to_ns = gap.to_ns;
                last.missed += gap.missed;
            }
            _ => self.gaps.push(gap),
        }
    }

    /// A recorder wrote nothing for a while: what a recording lacks, a live report tells too, for both are the same.
    fn pause(&mut self, pause: &Pause) {
        self.at(pause.to_ns);
        let at = |ns: u64| ns.saturating_sub(self.start.anchor.boot_ns) as f64 / 1e9;
        let text = format!(
            "the flight recorder wrote nothing between {:.1} s and {:.1} s ({}); a dump has the tables of that time as they \
             were after it; give it more room",
            at(pause.from_ns),
            at(pause.to_ns),
            pause.why
        );
        if self.pauses < PAUSES {
            self.note("record_paused", text);
        }
        self.pauses += 1;
    }

    /// Boot time has come to this: what waits to be recorded is written when it is time.
    pub fn tick(&mut self, now_ns: u64) {
        if let Some(tap) = &mut self.tap {
            tap.tick(now_ns);
        }
    }

    /// What waits to be recorded is written now.
    pub fn flush(&mut self) {
        self.tick(u64::MAX);
    }

    /// Where, when and how the trace was made.
    #[must_use]
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// What there is to see now, tables as they were at these looks.
    #[must_use]
    pub fn live(&self, looks: &[Seen]) -> LiveView {
        self.model.live(looks)
    }

    /// From now on figures are kept for a metrics system too. Before the first input.
    pub fn meter(&mut self, options: MeterOptions) {
        self.model.meter(options);
    }

    /// Everything that is metered, with tables as they were at these looks; `None` without a meter.
    pub fn reading(&mut self, looks: &[Seen], now_ns: u64) -> Option<Reading> {
        self.model.reading(looks, now_ns)
    }

    /// Failures told since the last call, and how many more found no room to wait in; where they are metered one by one.
    pub fn drain_failed(&mut self) -> (Vec<Failed>, u64) {
        self.model.drain_failed()
    }

    /// Records that could not be read so far.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Traced processes that have not ended.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.alive.len()
    }

    /// Exec records completed since the last call, with `stream`.
    pub fn drain_completed(&mut self) -> Vec<ExecRecord> {
        self.model.drain_completed()
    }

    /// Something that the report can't tell, beyond what the model knows.
    pub fn note(&mut self, code: &str, text: String) {
        self.notes.push(CoverageNote { code: code.to_owned(), text });
    }

    /// Whether the end of the trace has come in.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.closing.is_some()
    }

    /// What it all comes to. Without an end that came in, the trace ends with the last input.
    #[must_use]
    pub fn finish(mut self) -> Report {
        if let Some(trouble) = self.tap.take().and_then(|mut tap| tap.finish()) {
            self.note("not_recorded", trouble);
        }
        let closing = match self.closing {
            Some(closing) => *closing,
            None => Closing { at_ns: self.last_ns, counted: self.counted, ..Closing::default() },
        };
        if let Some(oom) = closing.oom {
            self.model.oom_kills(oom.count, oom.whole_system);
        }
        let loss = Loss { gaps: self.gaps, skipped: self.skipped, ..closing.counted.loss() };
        let Start { anchor, plan, command, .. } = self.start;
        let end = End { at_ns: closing.at_ns, anchor, plan, loss, agent: closing.agent, command, root: closing.root };
        let mut report = self.model.finish(end);
        report.coverage.append(&mut self.notes);
        report
    }
}

fn decoded(input: &Input<'_>) -> Option<Event> {
    match input {
        Input::Record(bytes) | Input::Look(bytes) => decode(bytes).ok(),
        _ => None,
    }
}
