use super::*;
use crate::gate::measure::Life;

fn read(text: &str) -> Budget {
    budget(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"))
}

#[test]
fn every_form_is_read_and_written_as_it_was_meant() {
    for (text, written) in [
        ("high_water <= 64", "high_water <= 64"),
        ("headroom>=20%", "headroom >= 20%"),
        ("headroom > 100", "headroom > 100"),
        ("growth_per_exec == 0", "growth_per_exec == 0"),
        ("growth_per_exec < 0.05", "growth_per_exec < 0.05"),
        ("settled_delta <= -2", "settled_delta <= -2"),
        ("failures == 0", "failures == 0"),
        ("inherited != 3", "inherited != 3"),
        ("  orphans==0  ", "orphans == 0"),
        ("kinds.socket <= 1_000", "kinds.socket <= 1000"),
        ("kinds.socket:tcp <= 100", "kinds.socket:tcp <= 100"),
        ("kinds.landlock-ruleset == 1", "kinds.landlock-ruleset == 1"),
        ("p99(high_water) <= 40", "p99(high_water) <= 40"),
        ("p99.9( image.high_water ) <= 40", "p99.9(image.high_water) <= 40"),
        ("min(headroom) >= 5", "min(headroom) >= 5"),
        ("max(settled) < 9", "max(settled) < 9"),
        ("p50(kinds.o_path) < 9", "p50(kinds.o_path) < 9"),
    ] {
        assert_eq!(read(text).to_string(), written);
    }
    assert_eq!(read("high_water<1").subject.measure, Measure::HighWater(Life::Window));
}

#[test]
fn a_scope_has_a_spawner_a_program_or_both() {
    let scope = |text: &str| read(text).scope;
    let both = scope("spawner=landlock-burst program=true: high_water <= 64");
    assert_eq!((both.spawner.as_deref(), both.program.as_deref()), (Some("landlock-burst"), Some("true")));
    assert_eq!(both.to_string(), "spawner=landlock-burst program=true");
    assert_eq!(scope("program=true:high_water<=64").program.as_deref(), Some("true"));
    let quoted = scope("program = \"a b:c\" : high_water <= 64");
    assert_eq!(quoted.program.as_deref(), Some("a b:c"));
    assert_eq!(quoted.to_string(), "program=\"a b:c\"");
    assert_eq!(scope("spawner=python3*: failures == 0").spawner.as_deref(), Some("python3*"));
}

#[test]
fn a_mistake_is_told_with_its_place_and_what_is_allowed() {
    for (text, at, message, help) in [
        ("", 0, "a measure is missing", "p99(high_water)"),
        ("high_watr <= 64", 0, "`high_watr`", "did you mean `high_water`"),
        ("zzz <= 64", 0, "`zzz`", "settled_delta"),
        ("kinds.sockt <= 1", 0, "`kinds.sockt`", "`kinds.socket`"),
        ("high_water", 10, "a comparison is missing", "<="),
        ("high_water => 4", 11, "`=` is no comparison", "=="),
        ("high_water = 4", 11, "`=` is no comparison", "=="),
        ("high_water <=", 13, "a number is missing", "64"),
        ("high_water <= many", 14, "a number is missing", "64"),
        ("high_water <= 1.2.3", 14, "a number is missing", "64"),
        ("high_water <= 5%", 14, "percent", "headroom"),
        ("p0(high_water) <= 5", 0, "`p0`", "p99.9"),
        ("p101(high_water) <= 5", 0, "`p101`", "p99.9"),
        ("median(high_water) <= 5", 0, "`median`", "p50"),
        ("p99(high_water <= 5", 15, "parenthesis", "close"),
        ("p99(failures) <= 5", 0, "one number", "`failures`"),
        ("p99() <= 5", 4, "no measure", "kinds.KIND"),
        ("comm=x: failures == 0", 0, "`comm`", "spawner=NAME"),
        ("program=: failures == 0", 8, "a name is missing", "quotes"),
        ("program=\"x: failures == 0", 8, "does not end", "close"),
        ("program=x program=y: failures == 0", 10, "twice", "once"),
        ("program=x failures == 0", 10, "the scope does not end", ":"),
        ("failures == 0, orphans == 0", 13, "more than one", "one budget"),
    ] {
        let problem = budget(text).unwrap_err();
        assert_eq!(problem.span.start, at, "{text}: {problem:?}");
        assert!(problem.message.contains(message), "{text}: {problem:?}");
        assert!(problem.help.contains(help), "{text}: {problem:?}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_strange(text in r#"(spawner|program|=|:|"|p9|\(|\)|high_water|<|>|=|%|[0-9]|é|\x1b| ){0,12}"#) {
        if let Err(problem) = budget(&text) {
            let shown = problem.within("--budget", &text).render();
            proptest::prop_assert!(!shown.contains('\x1b'));
        }
    }

    #[test]
    fn what_is_written_is_read_again(number in 0u32..100_000, share in 1u32..1000) {
        let text = format!("p{}(headroom) >= {number}%", f64::from(share) / 10.0);
        let first = read(&text);
        proptest::prop_assert_eq!(read(&first.to_string()), first);
    }
}
