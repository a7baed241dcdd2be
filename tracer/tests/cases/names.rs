//! Names that nobody has checked: harmless on a terminal, valid in JSON, and still told in full.

use crate::support::{
    self,
    case::{base, case},
    fixture::bin,
    line::number,
    ran::fdtide,
};

#[test]
fn case_24_hostile_names_are_valid_json_and_told_in_full() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["24"]);
    let row = ran.table(number(ran.step("end"), "pid"));
    assert_eq!(row["comm"], "\u{1b}[31m\n\"\\\\xff\r\t\u{7}abc", "the one byte that is not text is escaped");
    assert_eq!(number(row, "high_water"), base(&ran) + 5);
    let exec = &ran.execs()[1];
    let program = exec["program"].as_str().expect("text");
    let start = "x\u{1b}]0;owned\u{7}\u{1b}[2J\n\"\\\\xff\\xc3(\u{202e}{}.";
    assert!(program.starts_with(start), "{program:?}");
    assert!(exec["path"].as_str().expect("text").ends_with(program), "{exec}");
}

#[test]
fn case_24_hostile_names_do_nothing_to_a_terminal() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = folder.path().join("report");
    for format in ["text", "json", "jsonl"] {
        let mut command = fdtide(&["run", "--format", format, "-o"]);
        command.arg(&path).arg("--").arg(bin("fd-case")).arg("24");
        let output = command.output().expect("fdtide starts");
        assert!(output.status.success(), "{output:?}");
        let report = std::fs::read(&path).expect("a report");
        // JSON itself escapes control characters; no output has them as they are.
        for (what, bytes) in [("report", &report), ("stderr", &output.stderr)] {
            let text = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{format} {what}: {error}"));
            let control = text.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(control, None, "{format} {what}:\n{text:?}");
            assert!(format != "text" || !text.contains('\u{202e}'), "{what}:\n{text:?}");
        }
        let text = String::from_utf8(report).expect("UTF-8");
        match format {
            "text" => assert!(text.contains("\\x1b[31m"), "{text}"),
            "json" => drop(serde_json::from_str::<serde_json::Value>(&text).expect("JSON")),
            _ => text.lines().for_each(|line| drop(serde_json::from_str::<serde_json::Value>(line).expect("JSON"))),
        }
    }
}
