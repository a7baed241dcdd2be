//! Words of the reports, and the page that tells all of it.

use crate::event::Kind;

use super::SECTIONS;

/// Words of the reports that are not plain ones.
pub const GLOSSARY: &[(&str, &str)] = &[
    ("descriptor", "the small integer by which a process names something that it has open"),
    ("descriptor table", "where the kernel keeps a process's descriptors; several processes may share one"),
    ("live", "in the table at this moment"),
    ("high-water mark", "greatest number of live descriptors in a stated time"),
    ("crest", "one rise and fall of `live`; at the crest: at its top"),
    ("settled", "`live` once it has been still for the settle time (`--settle`)"),
    ("census", "a walk of a whole table at one moment, with a row for each descriptor"),
    ("churn", "how many descriptors appeared and went, however many were live at once"),
    ("soft limit", "RLIMIT_NOFILE, the one in force: no descriptor number at or above it can be made"),
    ("limit", "in the text report: the soft limit"),
    ("headroom", "soft limit minus high-water mark"),
    ("image", "one program in a process, from its exec to the next exec or the end"),
    ("spawn window", "for the table that forks: from its previous exec, or first sight, to this child's exec"),
    ("root", "the run command, or a process that fdtide was attached to"),
    ("seeded", "there before fdtide was"),
    ("orphan", "a process that outlived the one that forked it, or the last root"),
];

/// The whole of `docs/fields.md`.
pub fn markdown() -> String {
    let mut text = String::from(INTRODUCTION);
    for (word, meaning) in GLOSSARY {
        text.push_str(&format!("| {word} | {meaning} |\n"));
    }
    text.push_str("\n## Kinds\n\n| kind | what the descriptor points to |\n| --- | --- |\n");
    for kind in Kind::ALL {
        text.push_str(&format!("| `{}` | {} |\n", kind.name(), kind.help().trim_end_matches('.')));
    }
    for section in SECTIONS {
        text.push_str(&format!("\n## {}\n\n| path | unit | meaning |\n| --- | --- | --- |\n", section.title));
        for field in section.fields() {
            text.push_str(&format!("| `{}` | {} | {} |\n", field.path, field.unit, field.help));
        }
    }
    text
}

const INTRODUCTION: &str = "\
# Fields

What every figure means. `fdtide --format json` gives one document of schema `fdtide.report/1` with these paths, `--format jsonl`
one object per line, each an entry of `execs[]`; the text report uses the same words. This file is written from
`tracer/src/sink/fields` by `FDTIDE_BLESS=1 cargo test -p fdtide --lib fields`.

- Paths: `a.b` is a key in an object, `a[]` an entry of a list, `a{}` an object from kind to number of descriptors.
- Kinds that do not occur are left out; the numbers of a composition add up to the figure beside it.
- `null` means not known, or that there is none; it never means 0.
- Times are nanoseconds of boot time (`CLOCK_BOOTTIME`), the kernel's own.
- Names and paths come from the kernel as bytes. In them `\\xNN` stands for the byte NN (two lower-case hex digits): for bytes that
  are not UTF-8, for a backslash that would read as such an escape, and, in the text report, for control characters and those that
  change the direction of text. Everything else stands as it is, so the bytes can be told back.

## Words

| word | meaning |
| --- | --- |
";
