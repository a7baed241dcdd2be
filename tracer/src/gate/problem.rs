//! What is wrong with a budget or a configuration, and where.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use thiserror::Error;

/// Something that can't be read as a budget or a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{origin}:{line}:{column}: {message}")]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// What stands at the place, in a few words.
    pub label: String,
    /// What is allowed there.
    pub help: String,
    /// Where the text is from: a path, or `--budget`.
    pub origin: String,
    /// Line of the place, from 1.
    pub line: usize,
    /// Column of the place, in characters from 1.
    pub column: usize,
    /// The whole text.
    pub source_text: String,
    /// The place in it, bytes.
    pub span: Range<usize>,
}

/// A problem in a piece of text that does not know yet where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// What is wrong.
    pub message: String,
    /// In a few words.
    pub label: String,
    /// What is allowed.
    pub help: String,
    /// The place, bytes.
    pub span: Range<usize>,
}

impl Raw {
    /// In its text. The text may be longer than what was read, and the span is one in the whole of it.
    pub fn within(self, origin: &str, text: &str) -> Box<Problem> {
        let clean: String = text.chars().map(|c| if acts(c) { ' ' } else { c }).collect();
        let text = if clean.len() == text.len() { clean } else { text.escape_debug().to_string() };
        let start = floor(&text, self.span.start);
        let end = floor(&text, self.span.end).max(start);
        let before = text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Box::new(Problem {
            message: shown(&self.message),
            label: shown(&self.label),
            help: shown(&self.help),
            origin: shown(origin),
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            source_text: text,
            span: start..end,
        })
    }
}

/// Control characters would act on the terminal of whoever reads the message; tabs and line ends are the text's own.
fn acts(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// A message that quotes what was written: with an escape in the text, it has what the escape stands for.
fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) { out.extend(c.escape_debug()) } else { out.push(c) }
    }
    out
}

/// The nearest boundary of a character at or before a place.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

impl Problem {
    /// The message with the line of the text and a mark under the place, for a terminal.
    pub fn render(&self) -> String {
        let mark = AnnotationKind::Primary.span(self.span.clone()).label(self.label.as_str());
        let snippet = Snippet::source(self.source_text.as_str()).path(self.origin.as_str()).annotation(mark);
        let mut group = Level::ERROR.primary_title(self.message.as_str()).element(snippet);
        if !self.help.is_empty() {
            group = group.element(Level::HELP.message(self.help.as_str()));
        }
        Renderer::plain().render(&[group])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(span: Range<usize>) -> Raw {
        Raw { message: "bad".into(), label: "here".into(), help: "better".into(), span }
    }

    #[test]
    fn line_and_column_are_those_of_the_place() {
        let problem = raw(8..9).within("f.toml", "a = 1\né=2x");
        assert_eq!((problem.line, problem.column), (2, 2));
        assert_eq!(problem.to_string(), "f.toml:2:2: bad");
        let text = problem.render();
        assert!(text.contains("f.toml:2:2") && text.contains("^") && text.contains("better"), "{text}");
    }

    #[test]
    fn a_span_beyond_the_text_or_inside_a_character_does_no_harm() {
        assert_eq!(raw(90..95).within("x", "ab").column, 3);
        assert_eq!(raw(1..2).within("x", "é").column, 1);
        assert!(!raw(0..1).within("x", "\x1b[2J").render().contains('\x1b'));
    }

    #[test]
    fn what_a_message_quotes_does_not_act_on_the_terminal() {
        let quoted = Raw { message: "unknown `a\x1b[2J`".into(), help: "not `\u{9b}`".into(), ..raw(0..1) };
        let problem = quoted.within("f\x07.toml", "\"a\\u001b[2J\"");
        assert!(problem.to_string().contains(r"unknown `a\u{1b}[2J`"), "{problem}");
        for told in [problem.to_string(), problem.render()] {
            assert!(!told.chars().any(acts), "{told:?}");
        }
    }
}
