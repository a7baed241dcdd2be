//! One manual page for the tool, and one for each verb.

use std::io;

use anyhow::{Context as _, Result};
use clap::Command;
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use crate::{
    after_help::{self, Section},
    fields,
    words::{self, Does},
};

/// File names and texts.
pub fn all(command: Command, date: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let verbs: Vec<_> = command.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned().collect();
    let mut pages = vec![page(command.clone(), None, date, &verbs)?];
    for verb in &verbs {
        pages.push(page(verb.clone(), Some(verb.get_name()), date, &verbs)?);
    }
    Ok(pages)
}

fn page(command: Command, verb: Option<&str>, date: &str, verbs: &[Command]) -> Result<(String, Vec<u8>)> {
    let source = format!("fdtide {}", env!("CARGO_PKG_VERSION"));
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command).date(date).source(source).manual("fdtide");
    let mut text = Vec::new();
    definitions(&man, verb, &mut text)
        .and_then(|()| prose(&after_help::sections(&help), verb, verbs).to_writer(&mut text))
        .context("failed to render a page")?;
    Ok((man.get_filename(), text))
}

/// What the definitions of the command line say.
fn definitions(man: &Man, verb: Option<&str>, out: &mut Vec<u8>) -> io::Result<()> {
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if verb.is_none() { man.render_subcommands_section(out) } else { Ok(()) }
}

/// What they don't.
fn prose(help: &[Section], verb: Option<&str>, verbs: &[Command]) -> Roff {
    let mut roff = Roff::new();
    for section in help {
        roff.control("SH", [section.title]);
        if section.literal {
            roff.control("nf", []).text([roman(section.text.as_str())]).control("fi", []);
        } else {
            roff.text([roman(section.text.as_str())]);
        }
    }
    if verb.is_none() {
        roff.control("SH", ["EXIT STATUS"])
            .text([roman("That of the verb; its page tells it. 2 for a bad command line, with run 125.")]);
    }
    rows(&mut roff, "ENVIRONMENT", &words::environment(verb));
    rows(&mut roff, "FILES", &words::files(verb));
    roff.control("SH", ["OVERHEAD"]);
    for (at, paragraph) in verb.and_then(Does::of).unwrap_or(Does::Traces).overhead().into_iter().enumerate() {
        if at > 0 {
            roff.control("PP", []);
        }
        roff.text([roman(paragraph)]);
    }
    roff.control("SH", ["FIELDS"]).text([
        roman("What every figure of a report means, and its path in JSON, stands in "),
        bold(fields::NAME),
        roman("(5)."),
    ]);
    see_also(&mut roff, verb, verbs);
    roff
}

fn rows(roff: &mut Roff, title: &str, rows: &[(&str, &str)]) {
    if !rows.is_empty() {
        roff.control("SH", [title]);
    }
    for (name, meaning) in rows {
        roff.control("TP", []).text([bold(*name)]).text([roman(*meaning)]);
    }
}

fn see_also(roff: &mut Roff, verb: Option<&str>, verbs: &[Command]) {
    roff.control("SH", ["SEE ALSO"]);
    let mut line = Vec::new();
    let pages = [("fdtide".to_owned(), "1")].into_iter();
    let pages = pages.chain(verbs.iter().map(|verb| (format!("fdtide-{}", verb.get_name()), "1")));
    let own = verb.map_or_else(|| "fdtide".to_owned(), |verb| format!("fdtide-{verb}"));
    for (name, section) in pages.chain([(fields::NAME.to_owned(), "5")]).filter(|(name, _)| *name != own) {
        if !line.is_empty() {
            line.push(roman(", "));
        }
        line.extend([bold(name), roman(format!("({section})"))]);
    }
    roff.text(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_what_a_manual_page_has() {
        let pages = all(crate::command(), "2026-01-01").unwrap();
        assert!(pages.len() > 12);
        for (name, text) in &pages {
            let text = String::from_utf8_lossy(text);
            for title in ["NAME", "SYNOPSIS", "EXIT STATUS", "OVERHEAD", "FIELDS", "SEE ALSO"] {
                assert!(
                    text.contains(&format!(".SH {title}")) || text.contains(&format!(".SH \"{title}\"")),
                    "{name} {title}"
                );
            }
        }
    }
}
