//! What can be said to `fdtide scale`.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

use super::duration;
use crate::gate::growth_budget::{BudgetError, GrowthBudget};

/// What `--help` shows.
pub(in crate::cli) const EXAMPLES: &str = "\
Examples:
  fdtide scale --vary N=128,256,512,987 -- ./prepare --entries {N}
  fdtide scale --vary clients=1,10,100 --nofile 1024 --budget 'slope <= 0.01' -- ./load --clients {clients}

Exit status: 0; 1 if a budget is exceeded; 3 if one can't be judged; 2 if fdtide failed. What the commands print goes to
stderr.";

/// Options of `fdtide scale`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ScaleArgs {
    /// The number and its values, in the order in which to run them
    #[arg(long, value_name = "NAME=V,V,…", value_parser = vary)]
    pub vary: Vary,
    /// What must hold: `slope <= 0.01`, `limit_at >= 2000`
    #[arg(long, value_name = "BUDGET", value_parser = budget)]
    pub budget: Vec<GrowthBudget>,
    /// Soft limit on descriptors for the command
    #[arg(long, value_name = "N")]
    pub nofile: Option<u64>,
    /// Kill the command after this long: 30s, 5m
    #[arg(long, value_name = "T", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// What to write
    #[arg(long, value_enum, default_value_t = Shape::Text)]
    pub format: Shape,
    /// Where to write it; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// A level counts as settled once it has been still for this long, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub settle: u64,
    /// The command and its arguments, with {NAME} where the value goes
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Text or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Shape {
    /// For people
    Text,
    /// Everything, as one document
    Json,
}

/// A number and the values that it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Vary {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<u64>,
}

fn vary(text: &str) -> Result<Vary, String> {
    let (name, values) = text.split_once('=').ok_or_else(|| format!("`{text}` has no `=`: write N=128,256,512"))?;
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(good) {
        return Err(format!("`{name}` is no name: use letters, digits and _"));
    }
    let number = |text: &str| text.trim().parse().map_err(|_| format!("`{text}` is no whole number"));
    let values: Vec<u64> = values.split(',').map(number).collect::<Result<_, _>>()?;
    let first = values.first();
    if values.iter().all(|value| Some(value) == first) {
        return Err("a line needs two different values at least, and an interval three".to_owned());
    }
    Ok(Vary { name: name.to_owned(), values })
}

fn budget(text: &str) -> Result<GrowthBudget, BudgetError> {
    GrowthBudget::parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variation_is_a_name_and_two_values_or_more() {
        let wanted = Vary { name: "N".to_owned(), values: vec![128, 256, 987] };
        assert_eq!(vary("N=128,256, 987"), Ok(wanted));
        for (text, word) in [("N", "no `=`"), ("=1,2", "no name"), ("N=1,x", "`x`"), ("N=5", "two"), ("N=5,5", "two")] {
            assert!(vary(text).unwrap_err().contains(word), "{text}");
        }
    }
}
