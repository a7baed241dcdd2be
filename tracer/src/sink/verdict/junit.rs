//! Verdicts as JUnit XML: a suite per budget, a case per group of values. What is inconclusive is an error.

use std::io::{self, Write};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{details, line, outcome, subject, title};
use crate::gate::{Check, Verdict};

/// Writes the document.
pub fn write(checks: &[Check], out: &mut dyn Write) -> io::Result<()> {
    let mut report = Report::new("fdtide");
    let mut suites: Vec<(String, TestSuite)> = Vec::new();
    for check in checks {
        let scope = check.budget.scope.to_string();
        let name = if scope.is_empty() { check.budget.to_string() } else { format!("{scope}: {}", check.budget) };
        let case = case(check);
        match suites.iter_mut().find(|(known, _)| *known == name) {
            Some((_, suite)) => suite.add_test_case(case),
            None => {
                let mut suite = TestSuite::new(name.as_str());
                suite.add_test_case(case);
                suites.push((name, suite));
                continue;
            }
        };
    }
    report.add_test_suites(suites.into_iter().map(|(_, suite)| suite));
    let text = report.to_string().map_err(io::Error::other)?;
    // Jenkins' schema has no `disabled` on a suite, but `skipped`. Quotes in texts are escaped, so this is the attribute only.
    out.write_all(text.replace(" disabled=\"0\" ", " skipped=\"0\" ").as_bytes())?;
    out.flush()
}

fn case(check: &Check) -> TestCase {
    let mut status = match check.verdict {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Inconclusive => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    status.set_type(outcome(check)).set_message(format!("{}: {}", outcome(check), title(check)));
    status.set_description(line(check));
    let name = subject(check);
    let name = name.strip_prefix("for ").filter(|name| !name.is_empty()).unwrap_or("everything");
    let mut case = TestCase::new(name, status);
    case.set_classname(format!("fdtide.{}", check.budget.subject));
    if check.verdict == Verdict::Pass
        && let Some((_, measured)) = details(check).first()
    {
        case.set_system_out(format!("measured {measured}").replace('\u{a0}', " "));
    }
    case
}
