//! The three lives around an exec: the spawner's window, the child before, the program after.

use crate::event::Kinds;
use crate::model::report::ExecRecord;

/// Which of the three lives around an exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The spawner's table in the spawn window.
    Window,
    /// The child between fork and exec.
    Child,
    /// The image.
    Program,
}

/// High-water, what it was made of, and the limit, of one life of one exec.
pub fn mark(record: &ExecRecord, life: Life) -> Option<(u32, &Kinds, Option<u32>)> {
    let (high, kinds, soft) = match life {
        Life::Window => {
            let window = &record.spawn_window;
            (window.high_water, window.kinds.as_ref(), window.soft_limit)
        }
        Life::Child => {
            let before = &record.before_exec;
            (before.high_water, before.kinds.as_ref(), before.soft_limit)
        }
        Life::Program => {
            let image = &record.image;
            (image.high_water, image.high_water_kinds.as_ref(), image.soft_limit)
        }
    };
    Some((high?, kinds?, soft))
}

/// The highest of the three lives and what it was made of.
pub fn greatest(record: &ExecRecord) -> Option<(u32, &Kinds)> {
    let lives = [Life::Program, Life::Child, Life::Window];
    let marks = lives.into_iter().filter_map(|life| mark(record, life));
    marks.map(|(high, kinds, _)| (high, kinds)).max_by_key(|(high, _)| *high)
}

/// The exec with the highest mark of this life; of equals the first one.
pub fn highest<'a>(execs: &[&'a ExecRecord], life: Life) -> Option<&'a ExecRecord> {
    let known = execs.iter().filter(|record| mark(record, life).is_some());
    known.rev().max_by_key(|record| mark(record, life).map(|(high, ..)| high)).copied()
}

/// Least and greatest soft limit over spawn windows, or over the children where no window is known.
pub fn limits<'a>(execs: impl Iterator<Item = &'a ExecRecord>) -> Option<(u32, u32)> {
    let mut range = None;
    for record in execs {
        if let Some(soft) = record.spawn_window.soft_limit.or(record.before_exec.soft_limit) {
            let (least, most) = range.unwrap_or((soft, soft));
            range = Some((soft.min(least), soft.max(most)));
        }
    }
    range
}
