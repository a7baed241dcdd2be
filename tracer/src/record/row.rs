//! Inputs to rows.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{
    Input,
    columns::Row,
    input::{Closing, Counted, Note},
};
use crate::event::{
    Census, CensusReason, Container, Descriptor, Ended, Event, Exec, Frame, Head, Kinds, Move, Name, Opener, Place,
    Proc, ProcId, Process, Reason, Removed, Slot, Stack,
};
use crate::model::{Anchor, Gap, Pause};

impl<'a> Row<'a> {
    /// A row of an input; `event` is what its bytes mean, where it has some that can be read.
    pub(super) fn of(input: &'a Input<'_>, event: Option<&'a Event>, anchor: Anchor) -> Row<'a> {
        let mut row = match input {
            Input::Record(raw) => Row { raw: Some(raw), ..event.map_or_else(unknown, of_event) },
            Input::Look(raw) => {
                let row = event.map_or_else(unknown, of_event);
                Row { raw: Some(raw), r#type: word("look"), reason: None, ..row }
            }
            Input::Stack(stack) => Row { boot_ns: Some(stack.at_ns), ..json("stack", &Frames::of(stack)) },
            Input::Place(place) => {
                Row { boot_ns: Some(place.at_ns), pid: Some(place.process.pid), ..json("place", &Placed::of(place)) }
            }
            Input::Checked(gap) => Row { boot_ns: Some(gap.to_ns), ..json::<Gap>("check", gap) },
            Input::Counted(counted) => Row { boot_ns: Some(counted.at_ns), ..json::<Counted>("counted", counted) },
            Input::Paused(pause) => Row { boot_ns: Some(pause.to_ns), ..json::<Pause>("pause", pause) },
            Input::Note(note) => Row { boot_ns: Some(note.at_ns), ..json::<Note>("note", note) },
            Input::End(end) => Row { boot_ns: Some(end.at_ns), ..json::<Closing>("end", end) },
        };
        row.time = row.boot_ns.map(|at_ns| wall_ns(at_ns, anchor));
        row
    }
}

/// A boot time on the wall clock, as it was set when the trace began.
pub(super) fn wall_ns(boot_ns: u64, anchor: Anchor) -> i64 {
    (anchor.wall_unix_ns as i64).wrapping_add(boot_ns.wrapping_sub(anchor.boot_ns) as i64)
}

/// A stack in the form of its payload.
#[derive(Serialize)]
struct Frames<'a> {
    at_ns: u64,
    id: u32,
    frames: Vec<FrameText<'a>>,
}

#[derive(Serialize)]
struct FrameText<'a> {
    module: String,
    build_id: &'a str,
    offset: u64,
    symbol: Option<&'a str>,
    source: Option<&'a str>,
}

impl<'a> Frames<'a> {
    fn of(stack: &'a Stack) -> Self {
        let frame = |frame: &'a Frame| FrameText {
            module: frame.module.text(),
            build_id: &frame.build_id,
            offset: frame.offset,
            symbol: frame.symbol.as_deref(),
            source: frame.source.as_deref(),
        };
        Frames { at_ns: stack.at_ns, id: stack.id, frames: stack.frames.iter().map(frame).collect() }
    }
}

/// A place in the form of its payload.
#[derive(Serialize, Deserialize)]
pub(super) struct Placed<'a> {
    at_ns: u64,
    pid: u32,
    start_ns: u64,
    #[serde(flatten)]
    container: Cow<'a, Container>,
}

impl<'a> Placed<'a> {
    fn of(place: &'a Place) -> Self {
        let ProcId { pid, start_ns } = place.process;
        Placed { at_ns: place.at_ns, pid, start_ns, container: Cow::Borrowed(&place.container) }
    }

    /// Back to what it was.
    pub(super) fn input(self) -> Input<'static> {
        let process = ProcId { pid: self.pid, start_ns: self.start_ns };
        Input::Place(Box::new(Place { at_ns: self.at_ns, process, container: self.container.into_owned() }))
    }
}

fn json<T: Serialize + ?Sized>(name: &'static str, payload: &T) -> Row<'static> {
    // Plain structures with string keys: writing them does not fail.
    Row { r#type: word(name), payload: serde_json::to_string(payload).ok().map(Cow::Owned), ..Row::default() }
}

fn unknown<'a>() -> Row<'a> {
    Row { r#type: word("unknown"), ..Row::default() }
}

fn word<'a>(text: &'static str) -> Option<Cow<'a, str>> {
    Some(Cow::Borrowed(text))
}

fn text<'a>(name: &Name) -> Option<Cow<'a, str>> {
    (!name.is_empty()).then(|| Cow::Owned(name.text()))
}

fn of_event<'a>(event: &Event) -> Row<'a> {
    match event {
        Event::Proc(event) => of_proc(event),
        Event::Exec(event) => of_exec(event),
        Event::Exit(event) => of_exit(event),
        Event::Table(event) => {
            let reason = match event.reason {
                Reason::Left => "left",
                Reason::Replaced => "replaced",
                Reason::Snapshot => "snapshot",
                Reason::Crest => "crest",
            };
            Row { boot_ns: Some(event.at_ns), r#type: word("table"), reason: word(reason), ..of_head(&event.table) }
        }
        Event::Move(event) => of_move(event),
        Event::Census(event) => of_census(event),
        Event::Descriptor(event) => of_descriptor(event),
        Event::Slot(event) => of_slot(event),
        Event::Removed(event) => of_removed(event),
        // Not from the kernel: they have rows of their own.
        Event::Stack(event) => Row { boot_ns: Some(event.at_ns), r#type: word("stack"), ..Row::default() },
        Event::Place(event) => Row { boot_ns: Some(event.at_ns), r#type: word("place"), ..Row::default() },
    }
}

fn of_process<'a>(process: &Process) -> Row<'a> {
    let spawner = &process.spawner;
    Row {
        pid: Some(process.id.pid),
        comm: text(&process.comm),
        spawner_pid: (spawner.id.pid != 0).then_some(spawner.id.pid),
        spawner: text(&spawner.comm),
        table: process.table.map(|table| table.0),
        ..Row::default()
    }
}

fn of_head<'a>(head: &Head) -> Row<'a> {
    let known: u64 = head.failures.iter().map(|failure| u64::from(failure.count)).sum();
    Row {
        table: Some(head.id.0),
        live: Some(head.live),
        high_water: Some(head.life.live),
        soft_limit: Some(head.soft),
        kinds: kinds(&head.kinds),
        installs: Some(head.installs),
        closes: Some(head.closes),
        failures: Some(known + u64::from(head.failures_other)),
        crests: Some(head.crests),
        crest_high_water: Some(head.crest.live),
        crest_floor: Some(head.crest_floor),
        ..Row::default()
    }
}

fn kinds<'a>(kinds: &Kinds) -> Option<Cow<'a, str>> {
    serde_json::to_string(kinds).ok().map(Cow::Owned)
}

fn of_proc<'a>(event: &Proc) -> Row<'a> {
    Row {
        boot_ns: Some(event.at_ns),
        r#type: word("proc"),
        live: Some(event.live),
        soft_limit: Some(event.soft),
        ..of_process(&event.process)
    }
}

fn of_exec<'a>(event: &Exec) -> Row<'a> {
    let before = event.before.as_ref().filter(|before| event.process.table == Some(before.id));
    let window = if event.again { event.before.as_ref() } else { event.spawner.as_ref() };
    Row {
        boot_ns: Some(event.at_ns),
        r#type: word("exec"),
        tid: Some(event.old_tid),
        program: text(&event.path.basename()),
        path: text(&event.path),
        live: Some(event.live),
        high_water: before.map(|before| before.life.live),
        soft_limit: Some(event.soft),
        kinds: kinds(&event.kinds),
        window_table: window.map(|head| head.id.0),
        window_high_water: window.map(|head| head.window.live),
        ..of_process(&event.process)
    }
}

fn of_exit<'a>(event: &Ended) -> Row<'a> {
    Row {
        r#type: word("exit"),
        exit: Some(Cow::Owned(event.exit.to_string())),
        ..of_last(event.at_ns, &event.process, event.table.as_ref())
    }
}

fn of_removed<'a>(event: &Removed) -> Row<'a> {
    Row { r#type: word("removed"), ..of_last(event.at_ns, &event.process, event.table.as_ref()) }
}

/// The last that is told of a process.
fn of_last<'a>(at_ns: u64, process: &Process, table: Option<&Head>) -> Row<'a> {
    let process = of_process(process);
    let head = table.map(of_head).unwrap_or_default();
    Row {
        boot_ns: Some(at_ns),
        pid: process.pid,
        comm: process.comm,
        spawner_pid: process.spawner_pid,
        spawner: process.spawner,
        table: head.table.or(process.table),
        ..head
    }
}

fn of_move<'a>(event: &Move) -> Row<'a> {
    Row {
        boot_ns: Some(event.at_ns),
        r#type: word("move"),
        tid: Some(event.tid),
        table: Some(event.to.0),
        live: Some(event.live),
        ..of_process(&event.process)
    }
}

fn of_census<'a>(event: &Census) -> Row<'a> {
    let reason = match event.reason {
        CensusReason::Crest => "crest",
        CensusReason::Failure => "failure",
        CensusReason::Asked => "asked",
        CensusReason::End => "end",
    };
    Row {
        boot_ns: Some(event.at_ns),
        r#type: word("census"),
        reason: word(reason),
        pid: Some(event.process.pid),
        tid: (event.tid != 0).then_some(event.tid),
        table: Some(event.table.0),
        live: Some(event.live),
        soft_limit: Some(event.soft),
        census: Some(event.census),
        ..Row::default()
    }
}

fn of_descriptor<'a>(event: &Descriptor) -> Row<'a> {
    Row {
        boot_ns: Some(event.at_ns),
        r#type: word("descriptor"),
        tid: opener(event.opener),
        path: text(&event.name),
        table: Some(event.table.0),
        number: Some(event.number),
        kind: word(event.kind.name()),
        census: Some(event.census),
        ..Row::default()
    }
}

fn of_slot<'a>(event: &Slot) -> Row<'a> {
    let (reason, kind) = match (event.now, event.before) {
        (Some(kind), None) => ("open", Some(kind)),
        (Some(kind), Some(_)) => ("replace", Some(kind)),
        (None, kind) => ("close", kind),
    };
    Row {
        boot_ns: Some(event.at_ns),
        r#type: word("slot"),
        reason: word(reason),
        pid: Some(event.pid),
        tid: Some(event.tid),
        table: Some(event.table.0),
        live: Some(event.live),
        number: Some(event.number),
        kind: kind.and_then(|kind| word(kind.name())),
        ..Row::default()
    }
}

fn opener(opener: Opener) -> Option<u32> {
    match opener {
        Opener::Thread(tid) => Some(tid),
        Opener::Before | Opener::Unknown => None,
    }
}
