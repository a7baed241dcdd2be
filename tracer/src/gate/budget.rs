//! Budgets: `[spawner=NAME] [program=NAME:] measure op value`.

use std::fmt;

use super::grammar;
use super::measure::Measure;
use super::problem::{Problem, Raw};
use crate::model::report::Name;

/// Most bytes of a process's name: `TASK_COMM_LEN` − 1, include/linux/sched.h, v6.12.
const COMM_MAX: usize = 15;

/// A rule that a report is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// For which execs.
    pub scope: Scope,
    /// About what.
    pub subject: Subject,
    /// How the value is compared.
    pub op: Op,
    /// With what.
    pub limit: Limit,
    /// Where it stands.
    pub place: Place,
}

/// Where a budget stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Path of the configuration; `None` for the command line.
    pub path: Option<String>,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

/// What a budget is about: every value, or one quantile of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// The quantity.
    pub measure: Measure,
    /// One figure of its distribution; `None`: every value.
    pub stat: Option<Stat>,
}

/// A figure of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stat {
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// The least value that at least this share, 0 to 1, does not exceed.
    Quantile(f64),
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `<=`
    Le,
    /// `<`
    Lt,
    /// `>=`
    Ge,
    /// `>`
    Gt,
    /// `==`
    Eq,
    /// `!=`
    Ne,
}

/// What a value is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The number.
    pub number: f64,
    /// In percent of the soft limit.
    pub percent: bool,
}

/// For which execs a budget is. Names may have `*` for any characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Name of the spawner.
    pub spawner: Option<String>,
    /// Base name of the program.
    pub program: Option<String>,
}

impl Budget {
    /// Reads one from the command line.
    ///
    /// # Errors
    ///
    /// With the place, and what is allowed there.
    pub fn parse(text: &str) -> Result<Budget, Box<Problem>> {
        let mut budget = grammar::budget(text).map_err(|raw: Raw| raw.within("--budget", text))?;
        budget.place.line = 1;
        budget.place.column = 1;
        Ok(budget)
    }

    /// Whether `other` holds for fewer execs and is about the same, so that it stands in for this one there.
    pub fn gives_way_to(&self, other: &Budget) -> bool {
        self.subject == other.subject && other.scope.rank() > self.scope.rank()
    }
}

impl Op {
    /// All with their signs, longer ones first.
    pub const ALL: [(&'static str, Op); 6] =
        [("<=", Op::Le), (">=", Op::Ge), ("==", Op::Eq), ("!=", Op::Ne), ("<", Op::Lt), (">", Op::Gt)];

    /// Whether the comparison holds.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Op::Le => value <= limit,
            Op::Lt => value < limit,
            Op::Ge => value >= limit,
            Op::Gt => value > limit,
            Op::Eq => value == limit,
            Op::Ne => value != limit,
        }
    }

    /// Whether lower values are the worse ones.
    pub fn is_lower_bound(self) -> bool {
        matches!(self, Op::Ge | Op::Gt)
    }
}

impl Scope {
    /// How narrow: 0 everything, 1 one name, 2 both.
    pub fn rank(&self) -> usize {
        usize::from(self.spawner.is_some()) + usize::from(self.program.is_some())
    }

    /// Whether execs of this program by this spawner are in it.
    pub fn covers(&self, spawner: &Name, program: &Name) -> bool {
        let spawner_fits = self.spawner.as_ref().is_none_or(|pattern| {
            // The kernel cuts names of processes; a longer one is meant as the kernel has it.
            let pattern = if pattern.contains('*') { pattern.as_str() } else { cut(pattern) };
            matches(pattern, &spawner.text())
        });
        spawner_fits && self.program.as_ref().is_none_or(|pattern| matches(pattern, &program.text()))
    }
}

fn cut(name: &str) -> &str {
    let end = (0..=COMM_MAX.min(name.len())).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    name.get(..end).unwrap_or(name)
}

/// Whether the whole text fits a pattern in which `*` is any number of characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = Op::ALL.iter().find(|(_, op)| *op == self.op).map_or("", |(sign, _)| sign);
        write!(f, "{} {sign} {}", self.subject, self.limit)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stat {
            None => write!(f, "{}", self.measure),
            Some(stat) => write!(f, "{stat}({})", self.measure),
        }
    }
}

impl fmt::Display for Stat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stat::Min => f.write_str("min"),
            Stat::Max => f.write_str("max"),
            Stat::Quantile(share) => write!(f, "p{}", (share * 1e6).round() / 1e4),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, if self.percent { "%" } else { "" })
    }
}

/// `spawner=landlock-burst program=true`, or nothing.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut space = "";
        for (key, name) in [("spawner", &self.spawner), ("program", &self.program)] {
            if let Some(name) = name {
                let plain = !name.is_empty() && name.chars().all(grammar::is_bare);
                let name = name.escape_debug();
                if plain {
                    write!(f, "{space}{key}={name}")?
                } else {
                    write!(f, "{space}{key}=\"{name}\"")?
                }
                space = " ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_names_only() {
        assert!(matches("true", "true") && !matches("true", "trues") && !matches("rue", "true"));
        assert!(matches("python*", "python3.11") && matches("*", "") && matches("a*b*c", "a-b-b-c"));
        assert!(!matches("a*a", "a") && !matches("a*b*c", "acb") && matches("*sh", "bash"));
    }

    #[test]
    fn a_spawner_with_a_long_name_is_meant_as_the_kernel_has_it() {
        let scope = Scope { spawner: Some("openshell-sandbox".into()), program: None };
        assert!(scope.covers(&Name::from("openshell-sandb"), &Name::from("true")));
        let scope = Scope { spawner: None, program: Some("a-very-long-program-name".into()) };
        assert!(!scope.covers(&Name::from("x"), &Name::from("a-very-long-pro")), "programs are not cut");
    }

    #[test]
    fn the_narrower_budget_for_the_same_subject_counts() {
        let parse = |text| Budget::parse(text).unwrap();
        let wide = parse("high_water <= 64");
        assert!(wide.gives_way_to(&parse("program=true: high_water <= 100")));
        assert!(!wide.gives_way_to(&parse("program=true: p99(high_water) <= 100")));
        assert!(!parse("program=true: high_water <= 9").gives_way_to(&parse("spawner=sh: high_water <= 7")));
    }
}
