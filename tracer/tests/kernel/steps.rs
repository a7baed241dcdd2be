//! A look at every step at which a fixture stands still: no figure may be off by one.

use fdtide::probe::{Choice, LoadOptions, Session};

/// One test for each fixture, with one or more ways to run it.
macro_rules! steps {
    ($($test:ident: $name:literal $([$($arg:literal),*])*;)*) => {
        $(#[test]
        fn $test() {
            crate::support::steps::agree($name, &[$(&[$($arg),*]),*]);
        })*
    };
}

steps! {
    an_eager_burst_agrees_at_its_crest_and_before_each_fork:
        "landlock-burst"
        ["--mode", "eager", "--entries", "987", "--execs", "3"]
        ["--mode", "eager", "--entries", "1500", "--execs", "1", "--private", "yes", "--nofile", "2000"];
    a_burst_that_does_not_fit_agrees:
        "landlock-burst" ["--mode", "eager", "--entries", "600", "--execs", "3", "--nofile", "512"];
    a_lazy_burst_agrees_at_its_crest_and_before_each_fork:
        "landlock-burst" ["--mode", "lazy", "--entries", "987", "--execs", "3"];
    many_kinds_agree: "fd-holder" ["--count", "300"];
    numbers_beyond_the_first_chunk_agree: "fd-holder" ["--count", "3000"] ["--count", "1020"] ["--count", "1022"];
    case_01_a_burst_in_the_child_agrees:
        "fd-case" ["01", "--program", "self", "--execs", "3"] ["01", "--program", "self", "--entries", "2500"];
    case_02_churn_agrees: "fd-case" ["02"] ["02", "--program", "self"];
    case_03_near_the_limit_agrees: "fd-case" ["03"] ["03", "--nofile", "256", "--hold", "250", "--execs", "3"];
    case_04_accept_at_the_limit_agrees: "fd-case" ["04"];
    case_05_a_lost_eventfd_per_exec_agrees: "fd-case" ["05"];
    case_06_a_lost_pidfd_per_child_agrees: "fd-case" ["06"];
    case_12_a_deep_walk_agrees_also_at_256: "fd-case" ["12"] ["12", "--depth", "1200"];
    case_13_an_exec_from_a_thread_agrees:
        "fd-case" ["13"] ["13", "--leader", "exit"] ["13", "--program", "true"];
    case_15_a_daemon_agrees: "fd-case" ["15"] ["15", "--root", "exits", "--linger", "10"];
    case_22_a_killed_holder_agrees: "fd-case" ["22"];
    case_26_a_program_that_probes_its_limit_agrees: "fd-case" ["26"];
    execs_one_after_the_other_agree: "exec-loop" ["--execs", "50", "--hold", "20"];
}

#[test]
fn case_00_every_hook_of_the_backend_has_its_place() {
    let Some(_kernel) = crate::support::kernel() else { return };
    let session = Session::open(Choice::from_env(), &LoadOptions::default()).expect("a session");
    let hooks = session.backend().hooks().iter().map(|hook| hook.program);
    let without: Vec<_> = hooks.filter(|program| !session.attached().contains(program)).collect();
    assert!(without.is_empty(), "{without:?} on this kernel");
}
