//! `fdtide.toml`: budgets for a project.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::budget::{Budget, Place, Scope};
use super::grammar;
use super::problem::{Problem, Raw};

/// Its usual name.
pub const FILE_NAME: &str = "fdtide.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    defaults: Option<Defaults>,
    #[serde(default)]
    program: Vec<Program>,
    #[serde(default)]
    spawner: Vec<Spawner>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    budgets: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    name: String,
    spawner: Option<String>,
    budgets: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spawner {
    name: String,
    program: Option<String>,
    budgets: Vec<Spanned<String>>,
}

/// Reads the budgets of a configuration, in the order in which they stand. `path` is what messages call it.
///
/// # Errors
///
/// The first thing that is wrong, with its line and column.
pub fn parse(path: &str, text: &str) -> Result<Vec<Budget>, Box<Problem>> {
    let file: File = toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().lines().collect::<Vec<_>>().join(": ");
        let help = "[defaults], [[program]] and [[spawner]] each have budgets = [\"…\"]; the latter two have a name";
        Raw { message, label: "here".to_owned(), help: help.to_owned(), span }.within(path, text)
    })?;
    let mut budgets = Vec::new();
    let mut add = |scope: Scope, list: Vec<Spanned<String>>| -> Result<(), Box<Problem>> {
        for entry in list {
            budgets.push(entry_budget(path, text, &scope, &entry)?);
        }
        Ok(())
    };
    if let Some(defaults) = file.defaults {
        add(Scope::default(), defaults.budgets)?;
    }
    for Program { name, spawner, budgets } in file.program {
        add(Scope { spawner, program: Some(name) }, budgets)?;
    }
    for Spawner { name, program, budgets } in file.spawner {
        add(Scope { spawner: Some(name), program }, budgets)?;
    }
    budgets.sort_by_key(|budget| (budget.place.line, budget.place.column));
    Ok(budgets)
}

fn entry_budget(path: &str, text: &str, scope: &Scope, entry: &Spanned<String>) -> Result<Budget, Box<Problem>> {
    let written = entry.get_ref();
    let span = entry.span();
    let problem = |raw: Raw| {
        let span = inner(text, &span, written, &raw.span).unwrap_or(span.clone());
        Raw { span, ..raw }.within(path, text)
    };
    let budget = grammar::budget(written).map_err(problem)?;
    if budget.scope.rank() > 0 {
        return Err(problem(Raw {
            message: "a budget in a configuration has no scope of its own".to_owned(),
            label: "a scope".to_owned(),
            help: "put the budget under [[program]] or [[spawner]] with that name".to_owned(),
            span: 0..written.len(),
        }));
    }
    let here = Raw { message: String::new(), label: String::new(), help: String::new(), span: span.clone() };
    let here = here.within(path, text);
    let place = Place { path: Some(path.to_owned()), line: here.line, column: here.column };
    Ok(Budget { scope: scope.clone(), place, ..budget })
}

/// A place in a string as one in the whole text, if the string stands there as it is, without escapes.
fn inner(text: &str, string: &Range<usize>, value: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let offset = text.get(string.clone())?.find(value)? + string.start;
    Some(offset + place.start..offset + place.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[defaults]
budgets = ["high_water <= 64", 'failures == 0']

[[program]]
name = "true"
budgets = ["high_water <= 40"]

[[spawner]]
name = "landlock-burst"
program = "sh"
budgets = [
    "p99(high_water) <= 40", # measured 27
]
"#;

    #[test]
    fn each_budget_has_the_scope_of_its_table_and_its_own_line() {
        let budgets = parse("fdtide.toml", GOOD).unwrap();
        let told: Vec<String> =
            budgets.iter().map(|b| format!("{}:{} {} {b}", b.place.line, b.place.column, b.scope)).collect();
        assert_eq!(
            told,
            [
                "3:12  high_water <= 64",
                "3:32  failures == 0",
                "7:12 program=true high_water <= 40",
                "13:5 spawner=landlock-burst program=sh p99(high_water) <= 40",
            ]
        );
        assert!(parse("f", "").unwrap().is_empty());
    }

    #[test]
    fn mistakes_have_the_line_and_column_of_the_file() {
        for (text, line, column, message) in [
            ("[defaults]\nbudgets = [\"high_watr <= 1\"]", 2, 13, "`high_watr`"),
            ("[defaults]\nbudgets = [\"high_water <= \\u0031x\"]", 2, 12, "more than one"),
            ("[defaults]\nbudget = []", 2, 1, "unknown field `budget`"),
            ("[default]\nbudgets = []", 1, 2, "unknown field `default`"),
            ("[[program]]\nbudgets = []", 1, 1, "missing field `name`"),
            ("[defaults]\nbudgets = [1]", 2, 12, "invalid type"),
            ("[defaults]\nbudgets = [\"program=x: failures == 0\"]", 2, 13, "no scope of its own"),
            ("[defaults\nbudgets = []", 1, 10, "table"),
        ] {
            let problem = parse("fdtide.toml", text).unwrap_err();
            assert_eq!((problem.line, problem.column), (line, column), "{text}: {problem:?}");
            assert!(problem.message.contains(message), "{text}: {problem:?}");
            assert!(problem.render().contains(&format!("fdtide.toml:{line}:{column}")), "{}", problem.render());
        }
    }
}
