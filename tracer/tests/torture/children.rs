//! Children that came and went between two checkpoints, against what their parent wrote down of them.

use serde_json::Value;

use crate::{follow::Follow, run::Differences, support::line::number};

/// Whether a child shared its parent's table until the parent left that to it.
pub fn parted(child: &Value) -> bool {
    ["unshare-self", "close-range-unshare-shared"].iter().any(|how| child["how"] == *how)
}

/// Compares each child's last record, and its image's first. Gives how many were compared.
pub fn compare(follow: &mut Follow, children: &[Value], differences: &mut Differences) -> u64 {
    children.iter().filter(|child| one(follow, child, differences)).count() as u64
}

fn one(follow: &mut Follow, child: &Value, differences: &mut Differences) -> bool {
    let pid = u32::try_from(number(child, "pid")).expect("a pid");
    let about = format!("child {child}: ");
    let how = child["how"].as_str().unwrap_or_default();
    let mut check = |what: &str, got: Option<u32>, want: u64, least: bool| {
        let same = got.is_some_and(|got| u64::from(got) == want || least && u64::from(got) > want);
        differences.check(&about, &format!("{what} ({how})"), format!("{got:?}"), want, same);
    };
    let Some(end) = follow.end(pid) else {
        check("its end", None, number(child, "live"), false);
        return false;
    };
    // Of what several threads race for a parent without a look knows nothing.
    if number(child, "base") == 0 {
        return false;
    }
    let last = match end.execs.first() {
        Some(exec) => exec.before.as_ref(),
        None => end.table.as_ref(),
    };
    if child["shared"] == false {
        // The mark of a table that was common until then may be the parent's.
        check("high-water", last.map(|head| head.life.live), number(child, "high_water"), parted(child));
        check("live", last.map(|head| head.live), number(child, "live"), false);
    }
    if let Some(after) = child["after_exec"].as_u64() {
        check("live after the exec", end.execs.first().map(|exec| exec.live), after, false);
    }
    true
}
