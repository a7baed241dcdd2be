//! What a guest's output means.

use serde_json::Value;

use super::{
    boot::Boot,
    guest::{MARK, PROOF, REFUSED, TESTS},
    kernels::{Backend, MISSING, Plan},
};
use crate::{steps::Tally, summary::Summary};

/// How much of an output is shown when something went wrong.
const TAIL: usize = 40;

/// One boot's results.
#[derive(Debug, Default, PartialEq)]
pub struct Outcome {
    /// The kernel's own name for itself, where it came that far.
    pub release: String,
    /// Seconds until the script ran.
    pub booted: Option<f64>,
    pub tally: Tally,
    pub skips: Vec<String>,
    /// Each begins with a line that says what it is.
    pub failures: Vec<String>,
}

/// Part of the output: one command's.
struct Section<'a> {
    text: &'a str,
    /// None if the guest ended first.
    code: Option<i32>,
}

pub fn read(boot: &Boot, plan: &Plan) -> Outcome {
    let said = |what: &str| boot.results.lines().find_map(|line| line.strip_prefix(MARK)?.strip_prefix(what));
    let (booted, release) = said("up ").and_then(|rest| rest.split_once(' ')).unwrap_or_default();
    let mut outcome = Outcome { release: release.to_owned(), booted: booted.parse().ok(), ..Outcome::default() };
    match (broken(boot, said("done ").is_some()), plan.backend) {
        (None, None) => outcome.refusal(&boot.results),
        (None, Some(backend)) => outcome.backend(&boot.results, plan, backend),
        (Some(broken), backend) => {
            // What the tests said until then is still worth reading.
            if let (Some(backend), Some(_)) = (backend, section(&boot.results, TESTS)) {
                outcome.backend(&boot.results, plan, backend);
            }
            outcome.tally.failed = outcome.tally.failed.max(1);
            outcome.failures.push(broken);
        }
    }
    outcome
}

impl Outcome {
    fn fail(&mut self, why: String) {
        self.tally = self.tally.plus(Tally::FAILED);
        self.failures.push(why);
    }

    /// The tool has to say in one line what an old kernel lacks.
    fn refusal(&mut self, results: &str) {
        let Some(Section { text, code: Some(code) }) = section(results, PROOF) else {
            return self.fail("the tool did not answer".to_owned());
        };
        let text = text.trim();
        if code != REFUSED {
            self.fail(format!("exit code {code} instead of {REFUSED}: {}", tail(text)));
        } else if text.lines().count() != 1 || !MISSING.iter().any(|name| text.contains(name)) {
            self.fail(format!("not one line that names what the kernel lacks: {}", tail(text)));
        } else {
            self.tally = Tally::PASSED;
        }
    }

    fn backend(&mut self, results: &str, plan: &Plan, backend: Backend) {
        let Some(Section { text: proof, code: Some(code) }) = section(results, PROOF) else {
            return self.fail("the tool did not answer".to_owned());
        };
        if code == REFUSED && !plan.kernel.backends.contains(&backend) {
            self.tally.skipped = 1;
            return self.skips.push(proof.trim().to_owned());
        }
        if code != 0 {
            return self.fail(format!("exit code {code}: {}", tail(proof)));
        }
        match used_backend(proof) {
            None => return self.fail(format!("no report with a plan: {}", tail(proof))),
            Some(used) if used != backend.to_string() => {
                return self.fail(format!("the tool was told to use `{backend}` and used `{used}`"));
            }
            Some(_) => {}
        }
        let Some(Section { text, code }) = section(results, TESTS) else {
            return self.fail("the tests did not begin".to_owned());
        };
        let mut summary = Summary::default();
        text.lines().for_each(|line| summary.line(line));
        self.tally = summary.finish(code == Some(0));
        self.tell(text);
        if self.failures.is_empty() && self.tally.failed > 0 {
            let ended = code.map_or("the tests did not end".to_owned(), |code| format!("exit code {code}"));
            self.failures.push(format!("{ended}: {}", tail(text)));
        }
    }

    /// Reasons of skips and failures, from what the tests printed.
    fn tell(&mut self, text: &str) {
        let shown = shown(text);
        let skip = |(test, output): &(&str, String)| {
            Some(format!("{test}: {}", output.lines().find_map(|line| line.strip_prefix("skipped: "))?))
        };
        self.skips = shown.iter().filter_map(skip).collect();
        let failure = |name: &str| {
            let output = shown.iter().find(|shown| shown.0 == name).map_or("", |shown| shown.1.as_str());
            // Rust's own words about a panic say nothing that the name does not.
            let noise = |line: &&str| !line.starts_with("thread '") && !line.starts_with("note: run with");
            let output: Vec<_> = output.trim().lines().filter(noise).collect();
            format!("{name}: {}", output.join("\n"))
        };
        self.failures = failed_names(text).into_iter().map(failure).collect();
    }
}

/// From the report that stands among what was printed.
fn used_backend(text: &str) -> Option<String> {
    let report = &text[text.find("{\n")?..];
    let report: Value = serde_json::Deserializer::from_str(report).into_iter().next()?.ok()?;
    Some(report["plan"]["backend"].as_str()?.to_owned())
}

/// What is wrong with the boot itself.
fn broken(boot: &Boot, done: bool) -> Option<String> {
    // A processor that is stuck for a while is no more than a busy host under emulation.
    let fatal = |line: &&str| {
        let told = ["Kernel panic", "Oops", "BUG: ", "general protection"].iter().any(|text| line.contains(text));
        told && !line.contains("soft lockup")
    };
    let what = match boot.console.lines().find(fatal) {
        Some(line) => line.to_owned(),
        None if boot.timed_out => format!("no end within {:.0} s", boot.took.as_secs_f64()),
        None if !done => "the guest ended before its script did".to_owned(),
        None => return None,
    };
    Some(format!("{what}\nconsole:\n{}\nscript:\n{}", tail(&boot.console), tail(&boot.results)))
}

fn section<'a>(results: &'a str, name: &'static str) -> Option<Section<'a>> {
    let (_, rest) = results.split_once(&format!("{MARK}begin {name}\n"))?;
    Some(match rest.split_once(&format!("\n{MARK}end {name} ")) {
        Some((text, rest)) => Section { text, code: rest.lines().next().and_then(|code| code.trim().parse().ok()) },
        None => Section { text: rest, code: None },
    })
}

/// Output of each test, as `--show-output` prints it.
fn shown(text: &str) -> Vec<(&str, String)> {
    let mut tests: Vec<(&str, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            tests.push((name, String::new()));
            inside = true;
        } else if matches!(line, "failures:" | "successes:") || line.starts_with("test result: ") {
            inside = false;
        } else if let Some((_, output)) = tests.last_mut().filter(|_| inside) {
            *output += line;
            output.push('\n');
        }
    }
    tests
}

/// The lists of names after `failures:`; of each target the first such place has outputs instead.
fn failed_names(text: &str) -> Vec<&str> {
    let lists = text.split("\nfailures:\n").skip(1);
    lists.flat_map(|list| list.lines().map_while(|line| line.strip_prefix("    "))).collect()
}

/// The last lines.
fn tail(text: &str) -> String {
    let lines: Vec<_> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

#[cfg(test)]
mod tests;
