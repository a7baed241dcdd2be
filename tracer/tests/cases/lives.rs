//! What lives on: released late, inherited by accident, kept over an exec.

use serde_json::{Value, json};

use crate::support::{
    self,
    case::{base, case},
    fixture::bin,
    line::{list, number},
    ran::{kinds, run},
};

#[test]
fn case_10_a_late_release_is_no_leak() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = tempfile::TempDir::new().expect("a folder");
    let recording = folder.path().join("case.fdtide");
    let options = ["--record", recording.to_str().expect("UTF-8"), "--depth", "events"];
    let late = |delay: u64| {
        let ran = run(&options, &bin("fd-case"), &["10", "--delay", &delay.to_string()]).ended_well().checked();
        // By the fixture's own count there is no crest where the execs take longer than the delay, as under emulation.
        let crest = number(ran.step("end"), "high_water") > base(&ran) + 100;
        crest.then_some((ran, delay))
    };
    let (ran, delay) = [1500, 10_000, 40_000].into_iter().find_map(late).expect("sixty execs within the delay");
    let (b, end) = (base(&ran), ran.step("end"));
    let row = ran.table(number(end, "pid"));
    assert_eq!(number(row, "high_water"), number(end, "high_water"));
    assert_eq!(number(row, "settled"), b, "all of it was released");
    assert_eq!(ran.execs_of("true").len(), 60);
    let suspects: Vec<_> = list(&ran.report, "growth").iter().map(|growth| &growth["suspect"]).collect();
    assert!(suspects.iter().all(|suspect| **suspect == json!([])), "not a leak: {suspects:?}");
    // How old each was when it went: the fixture's clock for three of them starts a moment before it opens them.
    let ages = list(&ran.report, "ages").iter().find(|row| row["kind"] == "fifo").expect("ages of FIFOs");
    assert_eq!(number(ages, "pid"), number(end, "pid"));
    assert_eq!(number(ages, "closed"), 180, "{ages}");
    assert!(number(ages, "min_ns") >= (delay - 100) * 1_000_000, "{ages}");
    // Where the machine was quick enough that nothing was released among the execs, it is told as late.
    let growth = &list(&ran.report, "growth")[0];
    if number(growth, "grew") == 59 {
        assert_eq!(list(growth, "late")[0]["kind"], "fifo");
    }
}

#[test]
fn case_14_pipes_inherited_by_accident_are_named_as_inherited() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["14"]);
    let b = base(&ran);
    let execs = ran.execs_of("true");
    assert_eq!(execs.len(), 2);
    let own = kinds(&ran.step("base")["kinds"]).get("pipe").copied().unwrap_or(0);
    for exec in execs {
        assert_eq!(number(exec, "inherited"), b + 4);
        assert_eq!(kinds(&exec["inherited_kinds"])["pipe"], own + 4);
        assert_eq!(number(exec, "image.at_exit"), b + 4, "it never closes what it does not know of");
        assert_eq!(number(exec, "spawner.pid"), number(ran.step("end"), "pid"));
    }
}

#[test]
fn case_19_a_ruleset_is_gone_after_the_exec_or_inherited() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    for (args, kept) in [(&["19"][..], 0), (&["19", "--inherited"], 1)] {
        let ran = case(args);
        let b = base(&ran);
        let exec = ran.execs_of("true")[0];
        assert_eq!((number(exec, "before_exec.high_water"), number(exec, "before_exec.live")), (b + 2, b + 1));
        assert_eq!(kinds(&exec["before_exec"]["kinds"])["landlock-ruleset"], 1);
        assert_eq!(number(exec, "inherited"), b + kept);
        let rulesets = |value: &Value| kinds(value).get("landlock-ruleset").copied().unwrap_or(0);
        assert_eq!((rulesets(&exec["inherited_kinds"]), rulesets(&exec["image"]["at_exit_kinds"])), (kept, kept));
        assert_eq!(number(exec, "spawn_window.high_water"), b + 1, "the parent made none");
    }
}
