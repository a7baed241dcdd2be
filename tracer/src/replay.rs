//! Recordings back to reports, through the same pipeline as a live trace.

use std::{collections::BTreeMap, io::Read, path::Path};

use crate::{
    event::{Event, Head, Reason, Seen, TableId, decode::decode},
    model::{ExecRecord, Report},
    pipeline::Pipeline,
    record::{End, Input, ReadError, Reader, Start},
};

/// The report of a recording: the one that was given live, byte for byte. Of one that breaks off or is damaged, the report
/// of what can be read, with a sentence in its coverage.
///
/// # Errors
///
/// When nothing of it can be read.
pub fn load_report(path: &Path) -> Result<Report, ReadError> {
    replay(path, false, |_| {}).map(|(_, report)| report)
}

/// As [`load_report`], with the start of the recording; with `stream`, exec records are handed over as they are completed.
///
/// # Errors
///
/// When nothing of it can be read.
pub fn replay(path: &Path, stream: bool, completed: impl FnMut(ExecRecord)) -> Result<(Start, Report), ReadError> {
    replay_with(|| Reader::open(path), stream, completed)
}

/// As [`replay`], of anything that can be read twice from its beginning.
///
/// # Errors
///
/// When nothing of it can be read.
pub fn replay_with<R: Read>(
    open: impl Fn() -> Result<Reader<R>, ReadError>,
    stream: bool,
    mut completed: impl FnMut(ExecRecord),
) -> Result<(Start, Report), ReadError> {
    let mut reader = open()?;
    let (mut pipeline, end) = run(&mut reader, stream, &mut completed);
    if !pipeline.has_ended() {
        last_looks(open()?).into_iter().for_each(|event| pipeline.apply(&event));
    }
    tell(&mut pipeline, &end);
    pipeline.drain_completed().into_iter().for_each(completed);
    let start = pipeline.start().clone();
    Ok((start, pipeline.finish()))
}

fn run<R: Read>(reader: &mut Reader<R>, stream: bool, mut completed: impl FnMut(ExecRecord)) -> (Pipeline, End) {
    let mut pipeline = Pipeline::new(reader.start().clone(), stream);
    let end = reader.inputs(|input| {
        pipeline.take(input);
        if stream {
            pipeline.drain_completed().into_iter().for_each(&mut completed);
        }
    });
    (pipeline, end)
}

/// What this recording can't tell that the live trace could have.
fn tell(pipeline: &mut Pipeline, end: &End) {
    if let Some(continued) = pipeline.start().continued {
        let before = pipeline.start().anchor.boot_ns.saturating_sub(continued.began_ns) as f64 / 1e9;
        pipeline.note(
            "continued",
            format!("the recording begins {before:.1} s after its trace; execs and marks before that are not in it"),
        );
    }
    let text = match end {
        _ if pipeline.has_ended() => return,
        End::Damaged => "the recording is damaged: this is what could be read before the damage".to_owned(),
        End::Unreadable(error) => format!("the recording could be read in part only ({error}): copy it and try again"),
        End::Whole => {
            "the recording is one segment of a flight recorder: what came after is in the next one, and what ended then \
             is told as running"
                .to_owned()
        }
        End::Cut => {
            "the recording breaks off: the agent was killed, or the file was cut; at most the second before is missing, \
             and what ended after is told as running"
                .to_owned()
        }
    };
    pipeline.note("cut", text);
}

/// The last that a recording without an end knows of each table that was still there, as the trace's own end would tell it.
fn last_looks<R: Read>(mut reader: Reader<R>) -> Vec<Event> {
    let mut last: BTreeMap<TableId, (u64, Head)> = BTreeMap::new();
    reader.inputs(|input| {
        let (Input::Record(bytes) | Input::Look(bytes)) = input else { return };
        match decode(bytes) {
            Ok(Event::Table(seen)) if matches!(seen.reason, Reason::Left | Reason::Replaced) => {
                last.remove(&seen.table.id);
            }
            Ok(Event::Table(seen)) => {
                last.insert(seen.table.id, (seen.at_ns, seen.table));
            }
            Ok(Event::Exec(exec)) => {
                // A table before its exec is not what the image after it has.
                exec.before.iter().for_each(|head| drop(last.remove(&head.id)));
                if let Some(head) = exec.spawner {
                    last.insert(head.id, (exec.at_ns, head));
                }
            }
            Ok(Event::Exit(ended)) => match ended.table {
                Some(head) if head.users == 0 => drop(last.remove(&head.id)),
                Some(head) => drop(last.insert(head.id, (ended.at_ns, head))),
                None => {}
            },
            Ok(Event::Removed(removed)) => match removed.table {
                Some(head) if removed.process.table == Some(head.id) && head.users == 0 => drop(last.remove(&head.id)),
                _ => {}
            },
            _ => {}
        }
    });
    let seen = |(at_ns, table)| Event::Table(Box::new(Seen { at_ns, reason: Reason::Snapshot, table }));
    last.into_values().map(seen).collect()
}
