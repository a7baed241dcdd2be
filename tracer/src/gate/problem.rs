//! What is wrong with a budget or a configuration, and where.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use thiserror::Error;

/// Bytes of a line that are shown, and its characters of space before it is cut.
const LINE: usize = 108;
const SPACE: usize = 20;
/// Stands for what is cut off.
const CUT: &str = "…";

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
        let (line, span) = self.line();
        let shown = line.get(..span.start).unwrap_or_default().chars().count() + 1;
        let mark = AnnotationKind::Primary.span(span).label(self.label.as_str());
        let snippet = Snippet::source(line).line_start(self.line).path(self.origin.as_str()).annotation(mark);
        let mut group = Level::ERROR.primary_title(self.message.as_str()).element(snippet);
        if !self.help.is_empty() {
            group = group.element(Level::HELP.message(self.help.as_str()));
        }
        let place = |column| format!("--> {}:{}:{column}\n", self.origin, self.line);
        // It counts in what it was given, which may be a piece of the line.
        Renderer::plain().render(&[group]).replacen(&place(shown), &place(self.column), 1)
    }

    /// The line of the place and the place in it; of a long one, or one that begins far to the right, a piece. The renderer cuts such
    /// lines too, and takes away more than there is if the place is in the space at their beginning.
    fn line(&self) -> (String, Range<usize>) {
        let text = &self.source_text;
        let (before, after) = text.split_at_checked(self.span.start).unwrap_or((text, ""));
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let end = after.find('\n').map_or(text.len(), |at| before.len() + at);
        let line = text.get(begin..end).unwrap_or_default();
        let mark = before.len() - begin..self.span.end.clamp(before.len(), end) - begin;
        let space = line.chars().take_while(|c| c.is_whitespace()).count();
        if line.len() <= LINE && space <= SPACE {
            return (line.to_owned(), mark);
        }
        let from = floor(line, mark.start.saturating_sub(LINE / 3));
        let to = floor(line, from + LINE);
        let at = |place: usize| CUT.len() + place.min(to) - from;
        let tail = if to < line.len() { CUT } else { "" };
        (format!("{CUT}{}{tail}", line.get(from..to).unwrap_or_default()), at(mark.start)..at(mark.end))
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
    fn of_a_long_line_the_piece_around_the_place_is_shown() {
        let text = format!("a = 1\n{}[here]{}\nb = 2", "x".repeat(500), "y".repeat(500));
        let rendered = raw(506..512).within("f.toml", &text).render();
        let lines: Vec<&str> = rendered.lines().collect();
        assert!(lines[1].ends_with("f.toml:2:501"), "{rendered}");
        let (shown, marks) = (lines[3], lines[4]);
        assert_eq!(shown.find("[here]").map(|at| shown[..at].chars().count()), marks.find("^^^^^^"), "{rendered}");
        assert!(shown.starts_with("2 | …xx") && shown.ends_with("yy…") && !rendered.contains("b = 2"), "{rendered}");
    }

    #[test]
    fn a_place_in_the_space_before_a_line_can_be_shown() {
        for space in [" ", "\t", "\0", "\u{3000}"] {
            for count in [21, 60, 300] {
                let text = format!("{}word{}", space.repeat(count), "é".repeat(200));
                for at in 0..text.len() {
                    let problem = raw(at..at + 1).within("f.toml", &text);
                    assert!(problem.render().contains(&format!("f.toml:1:{}", problem.column)), "{text:?}");
                }
            }
        }
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
