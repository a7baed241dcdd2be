//! Every command that a page shows is one that the tool parses.

use std::{fs, path::Path};

/// Words of a line of a shell up to what ends a command: a comment, a pipe, `&&`, `||`, `&`, `;`, a redirection.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => break,
            ('|' | '&' | ';' | '>' | '<' | ')', None) => break,
            (' ', None) => words.extend(word.take()),
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    // What a variable stands for is a number on every page.
    words.iter_mut().filter(|word| word.starts_with('$')).for_each(|word| *word = "1".to_owned());
    words
}

/// Commands of the tool in the blocks for a shell.
fn shown(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some("sh" | "yaml") => inside = true,
            Some(_) => inside = false,
            None if inside && line.trim_start().starts_with("fdtide ") => found.push(words(line.trim_start())),
            None => {}
        }
    }
    found
}

#[test]
fn lines_of_a_shell_become_words() {
    let line = "fdtide run --budget 'high_water <= 64' -- ./a \"b c\" '' >x || echo no  # why";
    assert_eq!(words(line), ["fdtide", "run", "--budget", "high_water <= 64", "--", "./a", "b c", ""]);
    assert_eq!(words("fdtide top  # now"), ["fdtide", "top"]);
    assert_eq!(shown("fdtide a\n```sh\nfdtide b\nls\n```\nfdtide c\n"), [["fdtide", "b"]]);
}

#[test]
fn the_commands_of_every_page_are_parsed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).chain([root.join("README.md")]);
    let (mut count, mut wrong) = (0, Vec::new());
    for path in pages {
        for words in shown(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            if let Err(error) = crate::command().try_get_matches_from(&words) {
                wrong.push(format!("{}: {}: {error}", path.display(), words.join(" ")));
            }
        }
    }
    assert!(count > 40, "{count} commands: are they still found?");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
