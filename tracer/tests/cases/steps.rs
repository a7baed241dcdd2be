//! A look at every step at which a case stands still: no figure may be off by one.

/// One test for each case, with one or more ways to run it.
macro_rules! steps {
    ($($test:ident: $([$($arg:literal),*])*;)*) => {
        $(#[test]
        fn $test() {
            let runs: &[&[&str]] = &[$(&[$($arg),*]),*];
            if crate::able(runs[0]) {
                crate::support::steps::agree("fd-case", runs);
            }
        })*
    };
}

steps! {
    case_07_another_quota_agrees: ["07"];
    case_08_rights_that_do_not_fit_agree: ["08"] ["08", "--sent", "253", "--nofile", "64"] ["08", "--sent", "20"];
    case_09_descriptors_given_by_others_agree: ["09"];
    case_10_late_releases_agree: ["10", "--delay", "300"];
    case_11_close_storms_agree: ["11"] ["11", "--how", "range"] ["11", "--how", "cloexec"];
    case_14_a_close_on_exec_race_agrees: ["14"] ["14", "--program", "self"];
    case_16_io_uring_agrees: ["16"];
    case_17_a_limit_that_changes_agrees: ["17"] ["17", "--number", "1500"];
    case_18_a_program_like_a_tracer_agrees: ["18"];
    case_19_a_kept_ruleset_agrees: ["19", "--program", "self"] ["19", "--program", "self", "--inherited"];
    case_20_pid_namespaces_agree: ["20"];
    case_23_a_32_bit_caller_agrees: ["23"];
    case_24_hostile_names_agree: ["24"];
    case_27_a_raised_limit_agrees: ["27"];
    case_28_a_storm_of_refusals_agrees: ["28"];
    case_29_a_lost_listener_agrees: ["29"];
}

/// Two tables of one process: the report's sums over both are not the process's own.
#[test]
fn case_11_a_close_range_that_unshares_agrees() {
    crate::support::steps::agree_while_it_runs("fd-case", &[&["11", "--how", "unshare"]]);
}
