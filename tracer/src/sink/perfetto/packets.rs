//! Tracks and what is on them, as packets in the order of time.

use std::{
    collections::HashSet,
    io::{self, BufWriter, Write},
};

use prost::Message as _;

use super::proto::{
    BOOTTIME, COUNTER, Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, INSTANT, REALTIME, SLICE_BEGIN,
    SLICE_END, STATE_CLEARED, Trace, TracePacket, TrackDescriptor, TrackEvent,
};
use crate::model::Anchor;

/// All packets are of one sequence.
const SEQUENCE: u32 = 1;
/// Bits of a track's identity below its group.
const GROUP_SHIFT: u32 = 48;

/// Tracks that stand together in the viewer.
#[derive(Clone, Copy)]
pub(super) enum Group {
    Levels = 1,
    Execs = 2,
    Crests = 3,
    Failures = 4,
    Notes = 5,
}

impl Group {
    const fn title(self) -> &'static str {
        match self {
            Group::Levels => "live descriptors",
            Group::Execs => "execs",
            Group::Crests => "crests",
            Group::Failures => "failures",
            Group::Notes => "remarks",
        }
    }
}

/// What is said about a slice or an instant.
#[derive(Clone)]
pub(super) enum Value {
    Number(u64),
    Text(String),
}

/// Packets on their way to a file.
pub(super) struct Packets {
    anchor: Anchor,
    tracks: Vec<TracePacket>,
    known: HashSet<u64>,
    events: Vec<(u64, TrackEvent)>,
}

impl Packets {
    pub(super) fn new(anchor: Anchor) -> Self {
        Self { anchor, tracks: Vec::new(), known: HashSet::new(), events: Vec::new() }
    }

    /// A track, made at its first use.
    pub(super) fn track(&mut self, group: Group, id: u64, name: &str) -> u64 {
        self.describe(group, id, name, None)
    }

    /// The counter track of a table.
    pub(super) fn counter(&mut self, table: u64, name: &str) -> u64 {
        let counter = CounterDescriptor { unit_name: Some("descriptors".to_owned()) };
        self.describe(Group::Levels, table, name, Some(counter))
    }

    fn describe(&mut self, group: Group, id: u64, name: &str, counter: Option<CounterDescriptor>) -> u64 {
        let parent = (group as u64) << GROUP_SHIFT;
        // 0 is the group's own.
        let uuid = parent | (id + 1);
        let new = |uuid, name: &str, parent_uuid, counter| TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(uuid),
                name: Some(name.to_owned()),
                parent_uuid,
                counter,
            }),
            ..TracePacket::default()
        };
        if self.known.insert(parent) {
            self.tracks.push(new(parent, group.title(), None, None));
        }
        if self.known.insert(uuid) {
            self.tracks.push(new(uuid, name, Some(parent), counter));
        }
        uuid
    }

    /// `live` descriptors from here on.
    pub(super) fn level(&mut self, track: u64, at_ns: u64, live: u32) {
        let event = TrackEvent { counter_value: Some(live.into()), ..event(COUNTER, track) };
        self.events.push((at_ns, event));
    }

    /// Something that lasts.
    pub(super) fn slice(
        &mut self,
        track: u64,
        (from_ns, to_ns): (u64, u64),
        name: &str,
        category: &str,
        figures: &[(&'static str, Value)],
    ) {
        self.events.push((from_ns, named(SLICE_BEGIN, track, name, category, figures)));
        self.events.push((to_ns, event(SLICE_END, track)));
    }

    /// Something that happens.
    pub(super) fn instant(
        &mut self,
        track: u64,
        at_ns: u64,
        name: &str,
        category: &str,
        figures: &[(&'static str, Value)],
    ) {
        self.events.push((at_ns, named(INSTANT, track, name, category, figures)));
    }

    /// Writes the clocks, the tracks, and what is on them in the order of time.
    pub(super) fn write(mut self, out: &mut dyn Write) -> io::Result<()> {
        // Of one moment what was added first comes first: a slice's end before the next one's begin.
        self.events.sort_by_key(|(at_ns, _)| *at_ns);
        let mut out = BufWriter::new(out);
        let clock = |clock_id, timestamp| Clock { clock_id: Some(clock_id), timestamp: Some(timestamp) };
        let Anchor { boot_ns, wall_unix_ns } = self.anchor;
        let clocks = TracePacket {
            timestamp: Some(boot_ns),
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(STATE_CLEARED),
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![clock(BOOTTIME, boot_ns), clock(REALTIME, wall_unix_ns)],
            }),
            ..TracePacket::default()
        };
        let events = self.events.into_iter().map(|(at_ns, event)| TracePacket {
            timestamp: Some(at_ns),
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_event: Some(event),
            ..TracePacket::default()
        });
        for packet in [clocks].into_iter().chain(self.tracks).chain(events) {
            out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())?;
        }
        out.flush()
    }
}

fn event(kind: i32, track: u64) -> TrackEvent {
    TrackEvent { r#type: Some(kind), track_uuid: Some(track), ..TrackEvent::default() }
}

fn named(kind: i32, track: u64, name: &str, category: &str, figures: &[(&'static str, Value)]) -> TrackEvent {
    let annotation = |(name, value): &(&'static str, Value)| {
        let (uint_value, string_value) = match value {
            Value::Number(number) => (Some(*number), None),
            Value::Text(text) => (None, Some(text.clone())),
        };
        DebugAnnotation { name: Some((*name).to_owned()), uint_value, string_value }
    };
    TrackEvent {
        debug_annotations: figures.iter().map(annotation).collect(),
        categories: vec![category.to_owned()],
        name: Some(name.to_owned()),
        ..event(kind, track)
    }
}
