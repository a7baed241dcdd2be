//! Crests: each burst is one, with its height, its threads and the exec that it was made for.

use crate::support::{
    self,
    case::{base, case},
    fixture::bin,
    line::{list, number},
    ran::{kinds, run},
};

#[test]
fn every_eager_burst_is_one_crest_before_its_exec() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let ran = run(&[], &bin("landlock-burst"), &["--mode", "eager", "--execs", "20"]).ended_well().checked();
    let end = ran.step("end");
    let (b, held) = (number(end, "base"), number(end, "prepare_held"));
    let row = ran.table(number(end, "pid"));
    assert_eq!(number(row, "crests"), 20);
    let mine: Vec<_> = list(&ran.report, "crests").iter().filter(|crest| crest["table"] == row["table"]).collect();
    assert_eq!(mine.len(), 5, "the highest are kept");
    for crest in mine {
        assert_eq!(number(crest, "high_water"), b + held);
        assert!(number(crest, "height") >= held - 8, "a rise from near the base: {crest}");
        assert_eq!((crest["ended_by"].as_str(), number(crest, "execs_total")), (Some("fall"), 1), "{crest}");
        assert_eq!(kinds(&crest["kinds"])["o_path"], 988);
        assert_eq!(number(&list(crest, "threads")[0], "held"), number(end, "thread_high_water"));
        assert!(number(crest, "top_ns") < number(crest, "end_ns"));
        let exec = list(crest, "execs")[0].as_u64().expect("a number");
        let exec = ran.execs().iter().find(|row| number(row, "seq") == exec).expect("the exec");
        assert!(number(crest, "end_ns") < number(exec, "at_ns"), "it had fallen before the exec");
    }
}

#[test]
fn a_childs_burst_ends_with_its_exec() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["01"]);
    let crest = &list(&ran.report, "crests")[0];
    assert_eq!((number(crest, "height"), crest["ended_by"].as_str()), (987, Some("exec")), "{crest}");
    assert_eq!(number(crest, "floor"), base(&ran));
    assert_eq!(kinds(&crest["kinds"])["o_path"], 987);
}

#[test]
fn a_churn_that_is_not_held_is_no_crest() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let ran = case(&["02"]);
    assert_eq!(list(&ran.report, "crests").len(), 0, "{}", ran.report["crests"]);
}
