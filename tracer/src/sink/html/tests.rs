//! Whole pages.

use crate::event::Name;
use crate::model::Report;
use crate::model::testing::sample;
use crate::sink::{fields, text};

use super::Timeline;

fn page(report: &Report) -> String {
    let mut bytes = Vec::new();
    super::write(report, &Timeline::default(), &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_page_needs_nothing_else() {
    for report in sample::all() {
        let page = page(&report);
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        for word in ["http://", "https://", "src=", "url(", "@import", "<link"] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(!page.contains("NaN") && !page.contains("inf%"));
    }
}

#[test]
fn a_page_says_what_the_text_says() {
    for report in sample::all() {
        let page = page(&report).replace("&#62;", ">").replace("&#39;", "'").replace("&#38;", "&");
        for entry in text::answer(&report).entries() {
            if let text::words::Entry::Labelled(_, text) = entry {
                assert!(page.contains(text.as_str()), "{text}");
            }
        }
        for note in &report.coverage {
            assert!(page.contains(&note.text), "{}", note.text);
        }
    }
}

#[test]
fn names_are_text_and_nothing_else() {
    let mut report = sample::hostile();
    let evil = Name::from_bytes(b"</td><script>alert(1)</script>\x1b[2J\xff\" onload=\"x");
    report.command = vec!["<img onerror=alert(1)>\u{202e}".to_owned()];
    for row in &mut report.tables {
        row.comm = evil.clone();
    }
    for record in &mut report.execs {
        record.program = evil.clone();
        record.spawner.comm = evil.clone();
    }
    for row in &mut report.spawners {
        row.comm = evil.clone();
    }
    for row in &mut report.histograms {
        row.spawner = evil.clone();
    }
    let page = page(&report);
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    assert!(!page.contains("<img") && !page.contains("\" onload"));
    assert!(!page.chars().any(|c| c.is_control() && c != '\n') && !page.contains('\u{202e}'));
    assert!(page.contains("alert(1)") && page.contains(r"\x1b[2J\xff"));
}

#[test]
fn every_label_of_the_page_explains_itself() {
    let page = page(&sample::landlock());
    let help = fields::of("tables[].headroom").map(|field| field.help.replace('`', "")).unwrap();
    assert!(page.replace('`', "").contains(&help));
    assert!(page.contains("<svg") && page.contains("aria-label"));
}

#[test]
fn many_execs_make_no_endless_page() {
    let mut report = sample::landlock();
    let record = report.execs[1].clone();
    report.execs.extend((0..20_000).map(|_| record.clone()));
    let page = page(&report);
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(page.contains("more are in the JSON report"));
}
