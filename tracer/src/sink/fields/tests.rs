//! The table is the only place where its titles stand.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{all, of};

/// Files that show figures to people: code and templates below these.
const SHOWING: &[&str] = &["src/sink/text", "src/sink/html", "src/tui", "templates"];
/// Titles that are plain words too, and stand in sentences by themselves.
const PLAIN: &[&str] =
    &["exec", "execs", "mark", "process", "program", "error", "window", "windows", "since", "now", "child", "socket"];
/// Names columns by parts of their paths, many of which are titles as well.
const BY_PATH: &str = "sheet.rs";

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn texts() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let paths = SHOWING.iter().flat_map(|folder| files(&root.join(folder)));
    let code = |path: &PathBuf| {
        let name = path.to_string_lossy();
        !name.contains("tests") && !name.contains("golden") && !name.ends_with(BY_PATH)
    };
    paths
        .filter(code)
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let end = text.find("#[cfg(test)]").unwrap_or(text.len());
            (path, text[..end].to_owned())
        })
        .collect()
}

#[test]
fn no_output_spells_a_title_that_the_table_has() {
    let mut found = Vec::new();
    for (path, text) in texts() {
        for title in all().flat_map(|field| [field.title, field.short]).filter(|title| !title.is_empty()) {
            // In a template what stands in quotes is a name of its own.
            let code = path.extension().is_some_and(|end| end == "rs");
            let spelled = [if code { format!("\"{title}\"") } else { format!(">{title}<") }];
            if !PLAIN.contains(&title) && spelled.iter().any(|spelled| text.contains(spelled.as_str())) {
                found.push(format!("{}: {title}", path.display()));
            }
        }
    }
    found.dedup();
    assert!(found.is_empty(), "titles stand in sink/fields alone:\n{}", found.join("\n"));
}

#[test]
fn every_path_that_an_output_names_has_a_title() {
    let mut seen = 0;
    for (path, text) in texts() {
        for call in ["title(\"", "short(\""] {
            for (at, _) in text.match_indices(call) {
                let rest = &text[at + call.len()..];
                let named = rest.split('"').next().unwrap_or_default();
                let field = of(named).unwrap_or_else(|| panic!("{}: `{named}` is not in the table", path.display()));
                assert!(!field.title.is_empty(), "{}: `{named}` has no title", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "{seen}");
}
