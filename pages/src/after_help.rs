//! What stands below the options in `--help`, as sections of a manual page.

/// A section: what `--help` says under a heading.
#[derive(Debug, PartialEq, Eq)]
pub struct Section {
    pub title: &'static str,
    /// Lines are kept as they are.
    pub literal: bool,
    pub text: String,
}

const EXIT: &str = "Exit status: ";

/// Paragraphs by their first line: `Examples:`, `A plan:`, `Exit status: …`; what is none of these are notes.
pub fn sections(help: &str) -> Vec<Section> {
    help.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()).map(section).collect()
}

fn section(paragraph: &str) -> Section {
    if let Some(text) = paragraph.strip_prefix(EXIT) {
        return Section { title: "EXIT STATUS", literal: false, text: flow(&capital(text)) };
    }
    for (head, title) in [("Examples:\n", "EXAMPLES"), ("A plan:\n", "A PLAN")] {
        if let Some(text) = paragraph.strip_prefix(head) {
            return Section { title, literal: true, text: text.to_owned() };
        }
    }
    Section { title: "NOTES", literal: false, text: flow(paragraph) }
}

/// One line of what was broken for a terminal.
fn flow(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_become_sections_and_examples_keep_their_lines() {
        let found = sections("Examples:\n  a   b\n  c\n\nA note:\nof two lines\n\nExit status: the command's\nown.");
        let want = [
            Section { title: "EXAMPLES", literal: true, text: "  a   b\n  c".to_owned() },
            Section { title: "NOTES", literal: false, text: "A note: of two lines".to_owned() },
            Section { title: "EXIT STATUS", literal: false, text: "The command's own.".to_owned() },
        ];
        assert_eq!(found, want);
    }

    #[test]
    fn every_verb_tells_its_exit_status() {
        for verb in fdtide::cli::command().get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(sections(&help).iter().any(|section| section.title == "EXIT STATUS"), "{}", verb.get_name());
        }
    }
}
