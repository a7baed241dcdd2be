//! The answer, in the words of the text report.

use crate::model::Report;
use crate::sink::text::{self, words::Entry};

/// A part of the answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// Whose figures follow.
    Head(String, String),
    /// A label and its figures, a line each.
    Figures(String, Vec<String>),
    /// A sentence.
    Text(String),
}

/// The parts, in their order. Rows made for a terminal are left out: the page has tables of its own.
pub fn parts(report: &Report) -> Vec<Part> {
    let mut parts = Vec::new();
    for entry in text::answer(report).entries() {
        match entry {
            Entry::Labelled(label, text) if label.is_empty() => match parts.last_mut() {
                Some(Part::Figures(_, lines)) => lines.push(text.clone()),
                _ => parts.push(Part::Text(text.clone())),
            },
            Entry::Labelled(label, text) => parts.push(Part::Figures(label.clone(), vec![text.clone()])),
            Entry::Text(first, _, text) if first.trim().is_empty() => parts.push(Part::Text(text.clone())),
            Entry::Text(first, _, text) => parts.push(Part::Head(first.trim().to_owned(), text.clone())),
            Entry::Gap | Entry::Row(_) => {}
        }
    }
    parts
}
