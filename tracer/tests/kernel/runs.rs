//! `fdtide run` over each fixture: the report against what the fixture says of itself.

use std::path::PathBuf;

use serde_json::json;

use crate::support::{
    self,
    case::{base, before_main, case, row_agrees},
    fixture::bin,
    line::{at, list, number},
    ran::{kinds, run, run_with},
};

#[test]
fn case_01_the_burst_is_in_the_childs_life_before_exec() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["01", "--execs", "3"]);
    let (b, end) = (base(&ran), ran.step("end"));
    row_agrees(&ran, "fd-case", end);
    let execs = ran.execs_of("true");
    assert_eq!(execs.len(), 3);
    for exec in execs {
        assert_eq!(number(exec, "before_exec.high_water"), b + 987);
        assert_eq!(number(exec, "before_exec.kinds.o_path"), 987);
        assert_eq!(number(exec, "inherited"), number(ran.step("child-held"), "expect.after_exec"));
        assert_eq!(number(exec, "image.high_water"), b + 1, "libraries are opened one at a time");
        assert_eq!(exec["image"]["exit"], json!({ "code": 0 }));
        assert_eq!(number(exec, "image.at_exit"), b);
        assert!(number(exec, "spawn_window.high_water") <= b + 1, "the parent knows nothing of it");
        assert_eq!(number(exec, "spawner.pid"), number(end, "pid"));
        assert_eq!(*at(exec, "before_exec.failures"), json!([]));
    }
}

#[test]
fn case_02_churn_is_told_as_churn() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let ran = case(&["02"]);
    let row = row_agrees(&ran, "fd-case", ran.step("end"));
    assert_eq!(number(row, "high_water"), base(&ran) + 2);
    let exec = ran.execs_of("true")[0];
    assert_eq!(number(exec, "spawn_window.high_water"), base(&ran) + 2);
    assert_eq!(number(exec, "spawn_window.installs"), 988 + before_main("fd-case"));
    assert_eq!(number(exec, "spawn_window.closes"), 987 + before_main("fd-case"));
    assert_eq!(number(exec, "before_exec.high_water"), base(&ran) + 1);
}

#[test]
fn case_03_the_first_refused_syscall_is_named() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["03"]);
    let end = ran.step("end");
    let row = row_agrees(&ran, "fd-case", end);
    let failure = &list(row, "failures")[0];
    assert_eq!((&failure["syscall"], &failure["errno"]), (&json!("pipe2"), &json!("EMFILE")));
    assert_eq!(failure["cause"], "table full");
    assert_eq!(number(failure, "soft_limit"), 1024);
    assert_eq!(number(row, "headroom"), 1024 - number(row, "high_water"));
    let ok = number(&ran.step("in-flight")["expect"], "ok");
    assert_eq!(ran.execs_of("true").len() as u64, ok, "only what could be made was executed");
}

#[test]
fn case_04_open_and_accept_are_refused_at_the_limit() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["04"]);
    let row = row_agrees(&ran, "fd-case", ran.step("end"));
    assert_eq!(number(row, "high_water"), 32);
    assert_eq!(number(row, "headroom"), 0);
    let named: Vec<_> = list(row, "failures").iter().map(|f| (f["syscall"].as_str(), number(f, "count"))).collect();
    assert_eq!(named, [(Some("openat"), 1), (Some("accept4"), 1)]);
    let crest = kinds(&row["high_water_kinds"]);
    assert_eq!(crest["socket:tcp"], 2);
}

#[test]
fn case_05_every_exec_settles_one_higher() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["05"]);
    let (b, end) = (base(&ran), ran.step("end"));
    let row = ran.table(number(end, "pid"));
    assert_eq!(number(row, "high_water"), b + 200);
    assert_eq!(kinds(&row["high_water_kinds"])["eventfd"], 200);
    assert_eq!(number(row, "installs"), 200 + before_main("fd-case"));
    let execs = ran.execs_of("true");
    assert_eq!(execs.len(), 200);
    for (exec, lost) in execs.iter().zip(1..) {
        // Never still for the settle time: the floor, where the window began.
        assert_eq!(number(exec, "spawn_window.settled"), b + lost - 1, "{exec}");
        assert_eq!(number(exec, "spawn_window.at_exec"), b + lost);
        assert_eq!(number(exec, "before_exec.high_water"), b + lost);
        assert_eq!(number(exec, "inherited"), b);
    }
    let growth = &list(&ran.report, "growth")[0];
    assert_eq!((growth["per_exec"].as_f64(), number(growth, "last")), (Some(1.0), b + 199));
    let suspect = list(growth, "suspect");
    assert_eq!((suspect.len(), &suspect[0]["kind"], number(&suspect[0], "growth")), (1, &json!("eventfd"), 199));
    assert_eq!((growth["slope"].as_f64(), growth["per"].as_str()), (Some(1.0), Some("exec")));
    assert_eq!(number(growth, "limit_in"), number(row, "soft_limit") - b - 199);
    assert_eq!(number(row, "settled"), b + 200, "what was lost stays lost");
}

#[test]
fn case_06_lost_pidfds_are_the_parents() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["06"]);
    let (b, pid) = (base(&ran), number(ran.step("end"), "pid"));
    let row = ran.table(pid);
    assert_eq!(number(row, "high_water"), b + 300);
    assert_eq!(kinds(&row["high_water_kinds"])["pidfd"], 300);
    assert_eq!(ran.tables().len(), 301, "each child had a table, though it executed nothing");
    let mut children: Vec<_> = ran.tables().iter().filter(|row| list(row, "pids")[0] != pid).collect();
    children.sort_by_key(|row| number(row, "first_ns"));
    for (child, copied) in children.iter().zip(0..) {
        assert_eq!(number(child, "high_water"), b + copied, "a copy of the parent's");
        assert_eq!((number(child, "installs"), number(child, "closes")), (0, 0));
    }
    let growth = list(&ran.report, "growth");
    assert_eq!((growth.len(), number(&growth[0], "table")), (1, number(row, "table")), "not the children's");
    assert_eq!((growth[0]["per"].as_str(), growth[0]["slope"].as_f64()), (Some("fork"), Some(1.0)));
    let suspect = &list(&growth[0], "suspect")[0];
    assert_eq!((suspect["kind"].as_str(), number(suspect, "growth")), (Some("pidfd"), 299));
}

#[test]
fn case_12_a_deep_walk_has_its_crest_and_its_failure() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["12"]);
    let row = row_agrees(&ran, "fd-case", ran.step("end"));
    assert_eq!(number(row, "high_water"), base(&ran) + 501);
    assert_eq!(kinds(&row["high_water_kinds"])["dir"], 501);
    assert_eq!(number(row, "settled"), base(&ran));
    assert_eq!(number(&list(row, "failures")[0], "soft_limit"), 256);
    assert_eq!(number(row, "soft_limit_last"), 256);
}

#[test]
fn case_13_an_exec_from_a_thread_is_one_process() {
    let Some(_kernel) = support::kernel() else { return };
    for (args, program) in
        [(&["13"][..], "fd-case"), (&["13", "--leader", "exit"], "fd-case"), (&["13", "--program", "true"], "true")]
    {
        let ran = case(args);
        let held = ran.step("thread-held");
        let (b, pid) = (number(held, "base"), number(held, "pid"));
        let pids: Vec<_> = ran.tables().iter().flat_map(|row| list(row, "pids")).collect();
        assert!(pids.iter().all(|found| **found == pid), "{args:?}: {pids:?}");
        assert_eq!(ran.execs().len(), 2);
        let exec = &ran.execs()[1];
        assert_eq!((number(exec, "pid"), &exec["program"]), (pid, &json!(program)));
        assert_eq!(number(exec, "spawner.pid"), pid, "{args:?}: it is its own spawner");
        assert_eq!(exec["again"], true);
        assert_eq!(number(exec, "before_exec.high_water"), b + 50, "{args:?}");
        assert_eq!(number(exec, "before_exec.live"), b + 50, "{args:?}");
        assert_eq!(number(exec, "inherited"), b, "{args:?}");
        assert_eq!(number(exec, "image.high_water"), b + 1, "{args:?}");
        assert_eq!(number(exec, "image.at_exit"), b, "{args:?}");
        assert_eq!(*at(&ran.execs()[0], "image.ended_by"), "exec");
        assert_eq!(number(&ran.execs()[0], "image.high_water"), b + 50, "{args:?}");
        let high = ran.tables().iter().map(|row| number(row, "high_water")).max();
        assert_eq!(high, Some(b + 50), "{args:?}");
    }
}

#[test]
fn case_15_an_orphan_is_told_with_what_it_holds() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["15"]);
    let (b, root) = (base(&ran), number(ran.step("end"), "pid"));
    row_agrees(&ran, "fd-case", ran.step("end"));
    let held = ran.step("orphan-held");
    let orphan = &list(&ran.report, "orphans")[0];
    assert_eq!(number(orphan, "pid"), number(held, "pid"));
    assert_ne!(number(orphan, "spawner"), root);
    assert_eq!((orphan["outlived"].as_str(), number(orphan, "spawner_exit.code")), (Some("spawner"), 0));
    assert!(orphan["root_since_ns"].is_null(), "the root waited for it: {orphan}");
    let roots = list(&ran.report, "roots");
    assert_eq!((roots.len(), number(&roots[0], "pid"), number(&roots[0], "exit.code")), (1, root, 0));
    let row = ran.table(number(held, "pid"));
    assert_eq!((number(row, "high_water"), number(row, "live")), (b + 5, 0));
    assert_eq!(kinds(&row["high_water_kinds"])["file"], kinds(&held["kinds"])["file"]);
    assert_eq!(kinds(&row["high_water_kinds"]), kinds(&held["kinds"]));
}

#[test]
fn case_15_an_orphan_that_lives_on_at_the_commands_end_is_listed_alive() {
    let Some(_kernel) = support::kernel() else { return };
    // Its stdout must not be ours: we would wait for its end.
    let ran = run_with(&[], &bin("fd-case"), &["15", "--root", "exits", "--linger", "3000"], |command| {
        command.stdout(std::process::Stdio::null())
    });
    let ran = ran.ended_well().checked();
    let orphan = &list(&ran.report, "orphans")[0];
    let row = ran.table(number(orphan, "pid"));
    assert_eq!(row["state"], "alive", "{row}");
    let kinds = kinds(&orphan["kinds"]);
    assert_eq!((kinds["pipe"], kinds["file"]), (2 + piped_stdio(), 3), "{kinds:?}");
    assert_eq!(number(orphan, "live"), number(row, "live"));
    assert_eq!(number(row, "live"), 3 + 2 + 3);
    assert!(orphan["end_ns"].is_null());
    assert_eq!(number(orphan, "root_since_ns"), number(&list(&ran.report, "roots")[0], "end_ns"));
}

/// stdin and stdout are /dev/null in that run, stderr is a pipe to the test.
fn piped_stdio() -> u64 {
    1
}

#[test]
fn case_22_a_killed_process_keeps_what_it_held_in_its_last_record() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["22"]);
    let (b, child) = (base(&ran), number(ran.step("child-held"), "pid"));
    row_agrees(&ran, "fd-case", ran.step("end"));
    let row = ran.table(child);
    assert_eq!((number(row, "high_water"), number(row, "live")), (b + 300, 0));
    assert_eq!(kinds(&row["last_kinds"]), kinds(&ran.step("child-held")["kinds"]));
}

#[test]
fn case_22_a_killed_image_tells_the_signal_and_what_it_held() {
    let Some(_kernel) = support::kernel() else { return };
    let script = "exec 7</ 8</ 9</; kill -9 $$";
    let ran = run(&[], &PathBuf::from("/bin/sh"), &["-c", script]).checked();
    assert_eq!(ran.output.status.code(), Some(128 + 9));
    let image = &ran.execs()[0]["image"];
    assert_eq!((number(image, "exit.signal"), number(image, "at_exit")), (9, 6));
    assert_eq!(kinds(&image["at_exit_kinds"])["dir"], 3);
    assert_eq!(*at(&ran.report, "root.exit.signal"), 9);
    assert_eq!(number(&list(&ran.report, "roots")[0], "exit.signal"), 9);
}

#[test]
fn case_26_a_probe_of_the_limit_settles_where_it_began() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["26"]);
    let row = row_agrees(&ran, "fd-case", ran.step("end"));
    assert_eq!(number(row, "high_water"), base(&ran) + 1000);
    assert_eq!(number(row, "settled"), base(&ran));
    assert_eq!(kinds(&row["high_water_kinds"]), kinds(&ran.step("probed")["kinds"]));
    assert_eq!(number(row, "soft_limit"), 1024);
}
