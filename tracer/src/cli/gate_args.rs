//! The options of budgets, verdicts and comparisons.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::gate::compare::Tolerance;

pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  fdtide check r.json --budget 'p99(high_water) <= 40' --budget 'headroom >= 20%'
  fdtide check r.json                          by ./fdtide.toml
  fdtide check r.json --base old.json --verdict junit=fdtide.xml --verdict gitlab=quality.json

Exit status: 0 if every budget holds; 1 if one is exceeded; 3 if one is inconclusive; 2 if fdtide failed.";

pub(super) const COMPARE_EXAMPLES: &str = "\
Examples:
  fdtide compare base.json new.json
  fdtide compare base.json new.json --fail-on higher --tolerance 10%
  fdtide compare base.json new.json --format markdown -o comment.md

Exit status: 0 if there is nothing to fail on; 1 if there is; 3 if that can't be told; 2 if fdtide failed.";

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// The report, written with `--format json`; `-` is stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub gate: GateArgs,
}

#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// The report from before
    pub base: PathBuf,
    /// The report from now
    pub new: PathBuf,
    /// What makes the exit status 1; may be repeated
    #[arg(long, value_enum, value_name = "RULE")]
    pub fail_on: Vec<FailOn>,
    /// Differences of p50, p90, p99 and max up to this are no change: descriptors, or percent of the base
    #[arg(long, value_name = "N[%]", default_value = "0", value_parser = tolerance)]
    pub tolerance: Tolerance,
    /// Chance of any false alarm in the whole comparison, at most
    #[arg(long, value_name = "P", default_value = "0.01", value_parser = error_rate)]
    pub error_rate: f64,
    /// What to write
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub format: CompareFormat,
    /// Where to write it; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CompareFormat {
    /// For people
    Text,
    /// For a comment on a change
    Markdown,
    /// Everything
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// A distribution has risen
    Higher,
    /// A distribution is another
    Change,
    /// A spawner and program that were not there before
    Added,
    /// A spawner and program that are there no more
    Gone,
    /// A kind of descriptor at a crest that was not there before
    Kinds,
}

#[derive(Debug, Args)]
pub(super) struct InitCiArgs {
    /// The report, written with `--format json`; `-` is stdin
    pub report: PathBuf,
    /// The file to write; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "fdtide.toml")]
    pub output: PathBuf,
    /// Overwrite it if it is there
    #[arg(long)]
    pub force: bool,
}

/// What makes a gate.
#[derive(Debug, Args)]
pub(super) struct GateArgs {
    /// A rule, as 'high_water <= 64' or 'spawner=sh program=true: p99(high_water) <= 40'; may be repeated
    #[arg(long, value_name = "RULE", help_heading = "Gate")]
    pub budget: Vec<String>,
    /// A file with budgets
    #[arg(long, value_name = "FILE", help_heading = "Gate")]
    pub config: Option<PathBuf>,
    /// The same as --config fdtide.toml
    #[arg(long, conflicts_with = "config", help_heading = "Gate")]
    pub gate: bool,
    /// An earlier report, to tell what figures were
    #[arg(long, value_name = "FILE", help_heading = "Gate")]
    pub base: Option<PathBuf>,
    /// Write the verdicts as FORM: text, junit, github (annotations), summary (Markdown), gitlab; may be repeated. Without
    /// a file to stdout, but summary to the job summary of GitHub Actions
    #[arg(long, value_name = "FORM[=FILE]", value_parser = wanted, help_heading = "Gate")]
    pub verdict: Vec<Wanted>,
}

/// A form of verdicts, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub form: Form,
    pub path: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    Text,
    Junit,
    Github,
    Summary,
    Gitlab,
}

/// A number of descriptors, or of percent.
fn tolerance(text: &str) -> Result<Tolerance, String> {
    let (number, percent) = text.strip_suffix('%').map_or((text, false), |number| (number, true));
    match number.trim().parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(Tolerance { number, percent }),
        _ => Err(format!("`{text}` is no tolerance: use a number of descriptors, as 2, or of percent, as 10%")),
    }
}

/// A chance that a test can be held to.
fn error_rate(text: &str) -> Result<f64, String> {
    let chance = text.parse::<f64>().ok().filter(|chance| (0.001..=0.5).contains(chance));
    chance.ok_or_else(|| format!("`{text}` is no error rate: use a number from 0.001 to 0.5"))
}

/// A form, and after `=` a file.
fn wanted(text: &str) -> Result<Wanted, String> {
    let (form, path) = text.split_once('=').map_or((text, None), |(form, path)| (form, Some(path)));
    let names =
        || Form::value_variants().iter().filter_map(|form| Some(form.to_possible_value()?.get_name().to_owned()));
    let form = Form::from_str(form, false)
        .map_err(|_| format!("`{form}` is no form of verdicts: use {}", names().collect::<Vec<_>>().join(", ")))?;
    if path == Some("") {
        return Err("a file is missing after `=`".to_owned());
    }
    Ok(Wanted { form, path: path.map(PathBuf::from) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_have_a_form_and_perhaps_a_file() {
        assert_eq!(wanted("junit=a=b.xml"), Ok(Wanted { form: Form::Junit, path: Some("a=b.xml".into()) }));
        assert_eq!(wanted("summary"), Ok(Wanted { form: Form::Summary, path: None }));
        assert!(wanted("xml=x").unwrap_err().contains("text, junit, github, summary, gitlab"));
        assert!(wanted("text=").is_err());
    }

    #[test]
    fn tolerances_and_error_rates_have_bounds() {
        assert_eq!(tolerance("10%"), Ok(Tolerance { number: 10.0, percent: true }));
        assert_eq!(tolerance("2"), Ok(Tolerance { number: 2.0, percent: false }));
        assert!(tolerance("-1").is_err() && tolerance("x").is_err());
        assert_eq!(error_rate("0.05"), Ok(0.05));
        assert!(error_rate("0").is_err() && error_rate("1").is_err() && error_rate("nan").is_err());
    }
}
