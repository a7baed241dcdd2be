//! `fdtide-fields(5)`: the table of fields, as `docs/fields.md` has it.

use anyhow::{Context as _, Result};
use clap_mangen::roff::{Roff, bold, italic, roman};
use fdtide::sink::fields::{GLOSSARY, SECTIONS};

pub const NAME: &str = "fdtide-fields";
const INTRODUCTION: &str = "\
    --format json gives one document of schema fdtide.report/1 with these paths, --format jsonl one object per line, \
    each an entry of execs[]. a.b is a key in an object, a[] an entry of a list, a{} an object from kind to number \
    of descriptors. null means not known, or that there is none; it never means 0. Times are nanoseconds of boot time.";

/// File name and text.
pub fn page(date: &str) -> Result<(String, Vec<u8>)> {
    let mut roff = Roff::new();
    let source = format!("fdtide {}", env!("CARGO_PKG_VERSION"));
    roff.control("TH", [NAME, "5", date, &source, "fdtide"]);
    roff.control("SH", ["NAME"]).text([roman(format!("{NAME} - what every figure of a report means"))]);
    roff.control("SH", ["DESCRIPTION"]);
    roff.text([roman(INTRODUCTION)]);
    roff.control("SH", ["WORDS"]);
    for (word, meaning) in GLOSSARY {
        roff.control("TP", []).text([bold(*word)]).text([roman(*meaning)]);
    }
    for section in SECTIONS {
        roff.control("SH", [section.title.to_uppercase().as_str()]);
        for field in section.fields() {
            roff.control("TP", []).text([bold(field.path), roman(" ("), italic(field.unit), roman(")")]);
            roff.text([roman(field.help.replace('`', ""))]);
        }
    }
    roff.control("SH", ["SEE ALSO"]).text([bold("fdtide"), roman("(1)")]);
    let mut text = Vec::new();
    roff.to_writer(&mut text).context("failed to render a page")?;
    Ok((format!("{NAME}.5"), text))
}
