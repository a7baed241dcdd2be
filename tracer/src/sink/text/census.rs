//! What tables held, by what the descriptors have in common, and the functions that opened them.

use crate::model::Report;
use crate::model::report::{CensusGroup, CensusRow, OpenedBy, StackRow};

use super::growth;
use super::words::{self, Lines, count, process, seconds, span};

/// Groups told of each census that is told.
const GROUPS: [usize; 2] = [5, 3];
/// Stacks told.
const STACKS: usize = 3;
/// Functions told of each.
const FRAMES: usize = 5;

/// Writes the censuses that tell most: those that somebody asked for, then at failures and crests, then at the end, of each
/// the highest first.
pub fn write(lines: &mut Lines, report: &Report) {
    let mut all: Vec<&CensusRow> = report.censuses.iter().filter(|census| !census.groups.is_empty()).collect();
    let rank = |census: &CensusRow| {
        ["asked", "failure or crest", "end"].iter().position(|words| words.contains(&*census.reason))
    };
    all.sort_by_key(|census| (rank(census), std::cmp::Reverse(census.live), census.at_ns));
    if !all.is_empty() {
        lines.gap();
    }
    for (census, groups) in all.iter().zip(GROUPS) {
        one(lines, report, census, groups);
    }
    if let Some(more) = all.len().checked_sub(GROUPS.len()).filter(|more| *more > 0) {
        let more = if more == 1 { "1 more census".to_owned() } else { format!("{more} more censuses") };
        lines.labelled("", &format!("{more} · --format json for all"));
    }
    if let Some(census) = all.first() {
        stacks(lines, report, census);
    }
}

fn one(lines: &mut Lines, report: &Report, census: &CensusRow, groups: usize) {
    let why = match &*census.reason {
        "crest" => "at a crest",
        "failure" => "at the first failure",
        "end" => "at the end",
        _ => "as asked for",
    };
    let when = seconds(census.at_ns.saturating_sub(report.anchor.boot_ns)).replace(' ', "\u{a0}");
    let known = census.descriptors.len();
    let part = if census.complete { String::new() } else { format!(", of which {known} are known") };
    let who = process(&census.comm, census.pid);
    lines.labelled("census", &format!("{who} {why}, {when}: {} live{part}", census.live));
    for group in census.groups.iter().take(groups) {
        lines.wrapped(&format!("{:22}", ""), 24, &line(group));
    }
    let rest: u64 = census.groups.iter().skip(groups).map(|group| group.count).sum();
    if rest > 0 {
        lines.labelled("", &format!("{rest} more in {}", count((census.groups.len() - groups) as u64, "group")));
    }
}

/// `987 × o_path under /tmp/x, opened by prepare-0[9814] in prepare::eager`.
fn line(group: &CensusGroup) -> String {
    let mut text = format!("{}\u{a0}×\u{a0}{}", group.count, group.kind);
    if let Some(socket) = &group.socket {
        text.push_str(&format!(" {}", socket.state));
    }
    let name = group.under.to_string().replace(' ', "\u{a0}");
    match name.starts_with('/') {
        // What is not in a folder is often named by its kind alone, `[eventfd]`.
        _ if name.is_empty() || name == group.kind || name.starts_with('[') => {}
        true if group.count > 1 => text.push_str(&format!(" under {name}")),
        false if group.folder => text.push_str(&format!(" under …/{name}")),
        _ => text.push_str(&format!(" {name}")),
    }
    match &*group.opener.by {
        "before" => text.push_str(", there before"),
        "thread" => {
            let by =
                OpenedBy { count: group.count, thread: group.opener.thread.clone(), function: group.function.clone() };
            text.push_str(&format!(", {}", growth::opened(&by)));
        }
        _ => {}
    }
    let span = |ns| span(ns).replace(' ', "\u{a0}");
    match (group.newest_ns, group.oldest_ns) {
        (Some(newest), Some(oldest)) if group.count > 1 && oldest > newest => {
            text.push_str(&format!(", {} to {}\u{a0}old", span(newest), span(oldest)));
        }
        (_, Some(oldest)) => text.push_str(&format!(", {}\u{a0}old", span(oldest))),
        _ => {}
    }
    text
}

/// `936 socket:tcp unconnected, 24 connected in the census at 0.060 s`: sockets of a table by state, in its fullest census.
pub fn sockets(report: &Report, table: u64) -> Option<String> {
    let of_table = report.censuses.iter().filter(|census| census.table == table && !census.groups.is_empty());
    let census = of_table.max_by_key(|census| census.live)?;
    let mut kinds: Vec<(&str, Vec<(&str, u64)>)> = Vec::new();
    for group in &census.groups {
        let Some(socket) = &group.socket else { continue };
        let at = kinds.iter().position(|(kind, _)| *kind == group.kind).unwrap_or(kinds.len());
        if at == kinds.len() {
            kinds.push((&group.kind, Vec::new()));
        }
        let Some((_, states)) = kinds.get_mut(at) else { continue };
        match states.iter_mut().find(|(state, _)| *state == socket.state) {
            Some((_, sum)) => *sum += group.count,
            None => states.push((&socket.state, group.count)),
        }
    }
    let told = kinds.iter().map(|(kind, states)| {
        let states = states.iter().enumerate();
        let states = states.map(|(n, (state, count))| match n {
            0 => format!("{count}\u{a0}{kind} {state}"),
            _ => format!("{count}\u{a0}{state}"),
        });
        states.collect::<Vec<_>>().join(", ")
    });
    let told = told.collect::<Vec<_>>().join(" · ");
    let when = seconds(census.at_ns.saturating_sub(report.anchor.boot_ns)).replace(' ', "\u{a0}");
    (!told.is_empty()).then(|| format!("{told} in the census at {when}"))
}

/// The function through which most of this kind were opened in a table.
pub fn function(report: &Report, table: u64, kind: &str) -> Option<String> {
    let rows = report.stacks.iter().filter(|row| row.table == table && row.kind == kind);
    rows.max_by_key(|row| row.count).and_then(|row| row.function.as_deref()).map(words::function)
}

/// `987 × landlock_burst::prepare::eager ← …`.
fn stacks(lines: &mut Lines, report: &Report, census: &CensusRow) {
    let of = |row: &&StackRow| row.table == census.table && row.census == census.census;
    for (row, label) in report.stacks.iter().filter(of).zip(["opened through", "", ""]).take(STACKS) {
        let own = row.frames.iter().position(|frame| row.function.is_some() && frame.symbol == row.function);
        let named = row.frames.iter().skip(own.unwrap_or(0)).filter_map(|frame| frame.symbol.as_deref());
        let mut names: Vec<String> = named.map(words::function).collect();
        names.dedup();
        let more = names.len() > FRAMES;
        names.truncate(FRAMES);
        if more {
            names.push("…".to_owned());
        }
        if names.is_empty() {
            names.push("functions without a name".to_owned());
        }
        lines.labelled(label, &format!("{}\u{a0}×\u{a0}{}", row.count, names.join(" ←\u{a0}")));
    }
}
