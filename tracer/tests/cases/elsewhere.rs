//! Descriptors that come and go by unusual ways: given by others, through a ring, by 32-bit calls, in storms.

use serde_json::json;

use crate::{
    able,
    support::{
        self,
        case::{base, before_main, case, row_agrees},
        line::{list, number},
        ran::kinds,
    },
};

#[test]
fn case_09_what_was_given_counts_where_it_was_received() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["09"]);
    let (b, end) = (base(&ran), number(&ran.report, "root.pid"));
    let parent = ran.table(end);
    assert_eq!(number(parent, "high_water"), b + 51);
    assert_eq!(kinds(&parent["high_water_kinds"])["memfd"], 50);
    assert_eq!(number(parent, "installs"), 53 + before_main("fd-case"));
    let given = ran.step("child-given");
    let child = ran.table(number(given, "pid"));
    assert_eq!((number(child, "high_water"), number(child, "installs")), (b + 22, 22));
    assert_eq!(number(child, "closes"), 22);
    assert_eq!(kinds(&child["high_water_kinds"]), kinds(&given["kinds"]));
    assert_eq!(ran.tables().len(), 2);
}

#[test]
fn case_11_a_storm_of_closes_leaves_the_count_right() {
    let Some(_kernel) = support::kernel() else { return };
    for how in ["close", "range"] {
        let ran = case(&["11", "--how", how]);
        let row = row_agrees(&ran, "fd-case", ran.step("end"));
        assert_eq!((number(row, "high_water"), number(row, "settled")), (base(&ran) + 200, base(&ran)), "{how}");
        assert_eq!(row["failures"], json!([]), "{how}: a close that found nothing made no descriptor fail");
        let refused = if how == "close" { number(ran.step("stormed"), "refused_closes") } else { 0 };
        assert_eq!(number(row, "bad_closes"), refused, "{how}");
    }
}

#[test]
fn case_11_close_range_that_only_marks_closes_at_the_exec() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["11", "--how", "cloexec"]);
    let b = number(ran.step("held"), "base");
    let exec = &ran.execs()[1];
    assert_eq!((number(exec, "before_exec.live"), number(exec, "before_exec.high_water")), (b + 200, b + 200));
    assert_eq!(number(exec, "inherited"), b);
    assert_eq!(number(exec, "image.closes"), before_main("fd-case"), "the exec itself closed them");
    let row = ran.table(number(ran.step("held"), "pid"));
    let moved = 200 + 2 * before_main("fd-case");
    assert_eq!((number(row, "installs"), number(row, "closes")), (moved, moved), "{row}");
}

#[test]
fn case_11_close_range_that_unshares_makes_a_table_with_what_is_left() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["11", "--how", "unshare"]);
    let (b, pid) = (base(&ran), number(ran.step("end"), "pid"));
    let mut marks: Vec<_> = ran.tables().iter().map(|row| (number(row, "high_water"), row["pids"].clone())).collect();
    marks.sort_by_key(|(high, _)| *high);
    assert_eq!(marks, [(b, json!([pid])), (b + 200, json!([pid]))]);
}

#[test]
fn case_16_registered_files_are_no_descriptors() {
    let Some(_kernel) = support::kernel() else { return };
    if !able(&["16"]) {
        return;
    }
    let ran = case(&["16"]);
    let row = row_agrees(&ran, "fd-case", ran.step("end"));
    assert_eq!(number(row, "high_water"), base(&ran) + 11);
    assert_eq!(kinds(&row["high_water_kinds"]), kinds(&ran.step("opened")["kinds"]));
    assert_eq!(ran.tables().len(), 1, "workers of the ring use the same table");
}

#[test]
fn case_23_calls_of_32_bit_count_alike() {
    let Some(_kernel) = support::kernel() else { return };
    if !able(&["23"]) {
        return;
    }
    let ran = case(&["23"]);
    let row = row_agrees(&ran, "fd-case", ran.step("end"));
    let b = base(&ran);
    assert_eq!(number(row, "high_water"), b + 200);
    assert_eq!(kinds(&row["high_water_kinds"]), kinds(&ran.step("held")["kinds"]));
    let failure = &list(row, "failures")[0];
    assert_eq!((&failure["syscall"], &failure["cause"]), (&json!("open (32-bit)"), &json!("table full")));
}
