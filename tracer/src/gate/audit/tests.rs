use std::time::Duration;

use super::*;
use crate::event::Kind;
use crate::model::testing::{MS, sample, sim::Sim};

fn attempt() -> Attempt {
    Attempt {
        number: 7,
        trigger: "stress".to_owned(),
        threads: 500,
        command: vec!["zero".to_owned()],
        nofile: None,
        settle: Duration::from_millis(50),
        timeout: Duration::from_secs(1),
        linger: Duration::ZERO,
    }
}

/// A run that rests at 24, rises to 524, and rests at `after`; and the rests of it.
fn burst(after: u32) -> (Report, Vec<Rest>) {
    let mut sim = Sim::new();
    let root = sim.run("/bin/zero", &[(Kind::File, 24)]);
    let begun = sim.now;
    sim.pass(100 * MS);
    sim.open(root, Kind::SocketUnix, 500);
    sim.pass(MS);
    sim.close(root, Kind::SocketUnix, 524 - after);
    let fallen = sim.now;
    sim.pass(100 * MS);
    let identities = |count| Some((0..count).map(|n| (n, format!("socket:[{n}]"))).collect());
    let rest = |level, from_ns: u64| {
        let until_ns = Some(from_ns + 100 * MS);
        Rest { level, from_ns: Some(from_ns), until_ns, identities: identities(level) }
    };
    let rests = vec![rest(24, begun), rest(after, fallen)];
    sim.end();
    let mut end = sample::end(sim.now);
    end.root = Some(crate::model::RootEnd { pid: root, exit: None });
    (sample::model(&sim.events).finish(end), rests)
}

#[test]
fn what_comes_back_is_clean() {
    let (report, rests) = burst(24);
    let row = Row::of(&attempt(), &report, &rests, &Ended::Well);
    assert_eq!((row.before, row.held, row.after, row.delayed), (Some(24), Some(524), Some(24), Some(24)));
    assert_eq!((row.verdict, row.leak, row.rested), (Verdict::Clean, false, true));
    assert_eq!(row.sentence, "It rose from 24 to 524 and came back to 24.");
}

#[test]
fn what_is_left_is_a_leak_and_is_named() {
    let (report, rests) = burst(27);
    let row = Row::of(&attempt(), &report, &rests, &Ended::Badly("exit 1".to_owned()));
    assert_eq!((&row.verdict, row.delayed), (&Verdict::Leak, Some(27)), "a leak comes before a failed command");
    assert_eq!(row.left, ["24 → socket:[24]", "25 → socket:[25]", "26 → socket:[26]"]);
    assert!(row.sentence.starts_with("3 more descriptors after it than before: 24 → 524 → 27."), "{}", row.sentence);
}

#[test]
fn a_level_at_the_top_is_not_taken_for_the_one_afterwards() {
    let (report, mut rests) = burst(24);
    let top = report.tables[0].high_water_ns.unwrap();
    rests.insert(1, Rest { level: 524, from_ns: Some(top), until_ns: None, identities: None });
    let row = Row::of(&attempt(), &report, &rests, &Ended::Well);
    assert_eq!((row.before, row.after, row.delayed), (Some(24), Some(24), Some(24)));
}

#[test]
fn a_halt_on_the_way_up_is_not_taken_for_the_level_before() {
    let (report, rests) = burst(24);
    let top = report.tables[0].high_water_ns.unwrap();
    for level in [400, 90] {
        let mut rests = rests.clone();
        let (from_ns, until_ns) = (Some(top - 60 * MS), Some(top - MS));
        rests.insert(1, Rest { level, from_ns, until_ns, identities: None });
        assert_eq!(Row::of(&attempt(), &report, &rests, &Ended::Well).before, Some(24), "a halt at {level}");
    }
}

#[test]
fn what_failed_in_between_is_told_though_the_counts_are_the_same() {
    let (mut report, rests) = burst(24);
    report.tables[0].failures =
        sample::all().into_iter().flat_map(|report| report.tables).flat_map(|table| table.failures).collect();
    assert!(!report.tables[0].failures.is_empty());
    let row = Row::of(&attempt(), &report, &rests, &Ended::Well);
    assert_eq!((row.verdict, row.leak), (Verdict::Failures, false));
    assert!(row.sentence.contains("24 before and 24 after prove nothing") && row.sentence.contains("Calls refused"));
}

#[test]
fn without_rests_it_is_what_the_program_began_and_ended_with() {
    let (report, _) = burst(24);
    let row = Row::of(&attempt(), &report, &[], &Ended::Badly("timed out after 1s".to_owned()));
    assert_eq!((row.verdict, row.rested, row.before), (Verdict::Broken, false, Some(24)));
    assert!(row.sentence.contains("timed out"));
}

#[test]
fn an_attempt_in_which_records_were_lost_does_not_pass() {
    let (mut report, rests) = burst(24);
    report.loss.lost = 1;
    assert_eq!(Row::of(&attempt(), &report, &rests, &Ended::Well).verdict, Verdict::Inconclusive);
}
