//! Guests' output, read.

use std::time::Duration;

use super::{super::kernels, *};

const PROOF: &str = "@@fdtide up 1.98 6.1.0-57-cloud-amd64\n@@fdtide begin proof\n\
    {\n  \"plan\": {\"backend\": \"syscall\"}\n}\n\n@@fdtide end proof 0\n";
const RESULTS: &str = "@@fdtide begin tests\n\nrunning 3 tests\n\
    test a ... ok\ntest b ... FAILED\ntest c ... ok\n\n\
    successes:\n\n---- c stdout ----\nskipped: no such thing here\n\n\n\
    successes:\n    a\n    c\n\n\
    failures:\n\n---- b stdout ----\n\nthread 'b' (7) panicked at b.rs:1:2:\nthe tool says 3, the truth is 4\n\n\n\
    failures:\n    b\n\n\
    test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s\n\n\n\
    @@fdtide end tests 101\n@@fdtide done 8.20\n";

fn outcome(kernel: &str, backend: Option<Backend>, console: &str, results: &str, timed_out: bool) -> Outcome {
    let plan = Plan { kernel: kernels::by_name(kernel).unwrap(), preempt: None, backend };
    let (console, results) = (console.to_owned(), results.to_owned());
    read(&Boot { console, results, took: Duration::from_secs(9), timed_out }, &plan)
}

#[test]
fn tests_are_counted_and_told() {
    let outcome = outcome("6.1", Some(Backend::Syscall), "", &(PROOF.to_owned() + RESULTS), false);
    let want = Outcome {
        release: "6.1.0-57-cloud-amd64".to_owned(),
        booted: Some(1.98),
        tally: Tally { passed: 1, failed: 1, skipped: 1 },
        skips: vec!["c: no such thing here".to_owned()],
        failures: vec!["b: the tool says 3, the truth is 4".to_owned()],
    };
    assert_eq!(outcome, want);
}

#[test]
fn another_backend_than_the_one_asked_for_is_a_failure() {
    let results = PROOF.replace("\"syscall\"", "\"kprobe\"") + RESULTS;
    let outcome = outcome("6.1", Some(Backend::Syscall), "", &results, false);
    assert_eq!(outcome.failures, ["the tool was told to use `syscall` and used `kprobe`"]);
}

#[test]
fn a_hang_and_a_panic_are_failures() {
    let cut = &RESULTS[..RESULTS.find("test b").unwrap()];
    for (console, timed_out, why) in [
        ("", true, "no end within 9 s"),
        ("", false, "the guest ended before its script did"),
        ("[ 1.0] x\n[ 2.0] Oops: 0002 [#1]", false, "[ 2.0] Oops: 0002 [#1]"),
    ] {
        let outcome = outcome("6.1", Some(Backend::Syscall), console, &(PROOF.to_owned() + cut), timed_out);
        assert_eq!(outcome.tally, Tally::FAILED);
        let last = outcome.failures.last().unwrap();
        assert!(last.starts_with(why), "{last}");
    }
}

#[test]
fn a_refusal_is_one_line_that_names_what_is_missing() {
    for (said, code, tally) in [
        ("fdtide: this kernel lacks `bpf_loop`", 125, Tally::PASSED),
        ("fdtide: this kernel is too old", 125, Tally::FAILED),
        ("fdtide: this kernel lacks `bpf_loop`\nand more", 125, Tally::FAILED),
        ("fdtide: this kernel lacks `bpf_loop`", 1, Tally::FAILED),
    ] {
        let results = format!("@@fdtide begin proof\n{said}\n\n@@fdtide end proof {code}\n@@fdtide done 3.0\n");
        let outcome = outcome("5.10", None, "", &results, false);
        assert_eq!(outcome.tally, tally, "{said} {code}");
    }
}
