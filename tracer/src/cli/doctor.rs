//! `fdtide doctor`.

use std::{io, io::Write, process::ExitCode};

use super::{args::DoctorArgs, fail};
use crate::probe::{
    LoadOptions,
    doctor::{Examination, State, examine},
};

/// Width of the text.
const WIDTH: usize = 79;
/// Where texts start.
const INDENT: usize = 31;

/// Runs the verb: 0 if fdtide can run here, 1 if it can't.
pub(super) fn doctor(args: &DoctorArgs) -> ExitCode {
    let found = examine(&LoadOptions::default());
    let mut out = io::stdout();
    let written = if args.json {
        serde_json::to_writer_pretty(&mut out, &found).map_err(io::Error::from).and_then(|()| out.write_all(b"\n"))
    } else {
        text(&found, &mut out)
    };
    match fail::written(written) {
        Ok(()) if found.backend.is_some() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::from(1),
        Err(error) => fail::report(&anyhow::Error::new(error).context("failed to write the findings"), fail::OTHER),
    }
}

fn text(found: &Examination, out: &mut dyn Write) -> io::Result<()> {
    match found.backend {
        Some(backend) => writeln!(out, "fdtide can run here with the {backend} backend.")?,
        None => writeln!(out, "fdtide can't run here.")?,
    }
    for finding in &found.findings {
        let state = match finding.state {
            State::Yes => "yes",
            State::No => "no",
            State::Unknown => "?",
        };
        let head = format!("  {:<22} {state:<5} ", finding.name);
        paragraph(&head, &finding.text, out)?;
        if let Some(advice) = &finding.advice {
            paragraph(&" ".repeat(INDENT), &format!("→ {advice}"), out)?;
        }
    }
    Ok(())
}

/// Text behind a head, broken at spaces.
fn paragraph(head: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut line = format!("{head:<INDENT$}");
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{line}")?;
            line = " ".repeat(INDENT);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    writeln!(out, "{}", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_at_spaces_and_stay_behind_their_head() {
        let mut out = Vec::new();
        paragraph("  fentry            no    ", &"word ".repeat(30), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().count() > 2 && text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().skip(1).all(|line| line.starts_with(&" ".repeat(INDENT))));
    }
}
