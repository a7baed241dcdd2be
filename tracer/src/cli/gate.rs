//! Budgets and verdicts between the command line and the gate.

use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};

use super::{
    fail,
    gate_args::{Form, GateArgs, Wanted},
    load::load_report,
    sink_file::Output,
};
use crate::{
    gate::{self, Budget, Check, Verdict, config, verdict},
    model::Report,
    sink::verdict::{github, gitlab, junit, text},
};

/// Environment variable with the file that GitHub shows as the job's summary.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Budgets, and where their verdicts go.
pub(super) struct Gate {
    budgets: Vec<Budget>,
    base: Option<(String, Report)>,
    wanted: Vec<Wanted>,
}

/// Opened places for verdicts.
pub(super) struct Outputs {
    places: Vec<(Form, Output)>,
    /// No text was asked for anywhere.
    says: bool,
}

impl Gate {
    /// Reads all budgets: those of the command line, and those of a configuration that it names, or of the usual one if
    /// `implied`. `None` if there is none.
    pub(super) fn read(args: &GateArgs, implied: bool) -> anyhow::Result<Option<Gate>> {
        let given = args.budget.iter().map(|text| Budget::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let usual = PathBuf::from(config::FILE_NAME);
        let path = args.config.clone().or((args.gate || (implied && given.is_empty())).then_some(usual));
        let mut budgets = path.as_deref().map(configured).transpose()?.unwrap_or_default();
        // What is said now counts more than what was written down before.
        budgets.retain(|old| !given.iter().any(|new| new.subject == old.subject && new.scope == old.scope));
        budgets.extend(given);
        if budgets.is_empty() {
            if let Some(path) = path {
                bail!("`{}` has no budgets: add some, or name them with --budget", path.display());
            }
            ensure!(args.verdict.is_empty() && args.base.is_none(), "there are no budgets: add --budget or --config");
            return Ok(None);
        }
        let base =
            args.base.as_deref().map(|path| load_report(path).map(|report| (path.display().to_string(), report)));
        let wanted = args.verdict.clone();
        Ok(Some(Gate { budgets, base: base.transpose()?, wanted }))
    }

    /// Opens every place for verdicts.
    pub(super) fn open(&self) -> anyhow::Result<Outputs> {
        let mut places = Vec::new();
        for Wanted { form, path } in &self.wanted {
            let output = match (path, form) {
                (Some(path), _) => Output::open(path, false)?,
                (None, Form::Summary) => step_summary()?,
                (None, _) => Output::Stdout(io::stdout()),
            };
            places.push((*form, output));
        }
        let says = self.wanted.iter().all(|wanted| wanted.form != Form::Text);
        Ok(Outputs { places, says })
    }

    /// Holds a report to the budgets.
    pub(super) fn judge(&self, report: &Report) -> Vec<Check> {
        let mut checks = gate::judge(report, &self.budgets);
        if let Some((name, base)) = &self.base {
            verdict::with_base(&mut checks, name, base, &self.budgets);
        }
        checks
    }
}

fn configured(path: &Path) -> anyhow::Result<Vec<Budget>> {
    let name = path.display();
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!(
                "there is no `{name}`: name budgets with --budget, or let `fdtide init-ci REPORT` write a file to start from"
            )
        }
        read => read.with_context(|| format!("failed to read `{name}`"))?,
    };
    Ok(config::parse(&name.to_string(), &text)?)
}

/// The job summary of GitHub Actions, to be added to: other steps' commands write there too.
fn step_summary() -> anyhow::Result<Output> {
    let path = std::env::var_os(STEP_SUMMARY)
        .with_context(|| format!("{STEP_SUMMARY} is not set: name a file, as --verdict summary=FILE"))?;
    let file = OpenOptions::new().append(true).create(true).open(&path);
    let file = file.with_context(|| format!("failed to open `{}` for the summary", Path::new(&path).display()))?;
    Ok(Output::Direct(file))
}

impl Outputs {
    /// Whether a file is put in its place at the end.
    pub(super) fn pending(&self) -> bool {
        self.places.iter().any(|(_, output)| matches!(output, Output::Pending(..)))
    }

    /// Writes the verdicts; the text to `default` if no other place was named for it.
    pub(super) fn write(self, checks: &[Check], exit: Option<u8>, default: &mut dyn io::Write) -> anyhow::Result<()> {
        if self.says {
            fail::written(text::write(checks, exit, default)).context("failed to write the verdicts")?;
        }
        for (form, mut output) in self.places {
            // One write each, so that a summary that others write to as well stays in one piece.
            let mut bytes = Vec::new();
            let made = match form {
                Form::Text => text::write(checks, exit, &mut bytes),
                Form::Junit => junit::write(checks, &mut bytes),
                Form::Github => github::annotations(checks, &mut bytes),
                Form::Summary => github::summary(checks, &mut bytes),
                Form::Gitlab => gitlab::write(checks, &mut bytes),
            };
            let written = made.and_then(|()| io::Write::write_all(&mut output, &bytes));
            fail::written(written.and_then(|()| output.finish())).context("failed to write the verdicts")?;
        }
        Ok(())
    }
}

/// The exit code among three.
pub(super) fn code(checks: &[Check], pass: u8, failed: u8, inconclusive: u8) -> u8 {
    match verdict::worst(checks) {
        Verdict::Pass => pass,
        Verdict::Fail => failed,
        Verdict::Inconclusive => inconclusive,
    }
}
