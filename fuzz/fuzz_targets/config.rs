//! Any text is a configuration or an error with a place in it.
#![no_main]

use fdtide::agent::config;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match config::parse("agent.toml", text) {
        Ok(read) => {
            let _ = (read.metrics.check(), read.otlp.check(), read.metrics.meter(&read.otlp));
            assert_eq!(config::parse("agent.toml", text).as_ref(), Ok(&read));
            // Written in another form it says the same.
            let table: toml::Table = toml::from_str(text).expect("it was read before");
            let printed = toml::to_string(&table).expect("a table is one");
            assert_eq!(config::parse("agent.toml", &printed).as_ref(), Ok(&read), "{printed}");
        }
        Err(problem) => {
            let lines: Vec<&str> = problem.source_text.split('\n').collect();
            let line = lines.get(problem.line.wrapping_sub(1)).expect("a line of the text");
            assert!((1..=line.chars().count() + 1).contains(&problem.column), "no column of that line");
            assert!(problem.source_text.get(problem.span.clone()).is_some(), "a place outside of the text");
            for told in [problem.render(), problem.to_string()] {
                assert!(!told.is_empty());
                assert!(
                    !told.chars().any(|c| c.is_control() && c != '\n' && c != '\t'),
                    "{told:?} acts on the terminal"
                );
            }
        }
    }
});
