//! All boots side by side.

use std::time::Duration;

use super::{guest, kernels::Plan, outcome::Outcome};
use crate::steps::Tally;

#[derive(Default)]
pub struct Matrix {
    boots: Vec<(Plan, Duration, Outcome)>,
}

impl Matrix {
    /// Prints the boot's own results and keeps them.
    pub fn add(&mut self, plan: &Plan, took: Duration, outcome: Outcome) {
        let release = if outcome.release.is_empty() { "did not come up" } else { &outcome.release };
        println!("── {plan}: {release}, {:.1} s: {}", took.as_secs_f64(), outcome.tally);
        outcome.failures.iter().for_each(|failure| println!("failed: {}", failure.replace('\n', "\n  ")));
        self.boots.push((plan.clone(), took, outcome));
    }

    /// Prints the matrix in the order of `plans`, every skip's reason, every failure's first line. Gives the sum.
    pub fn print(mut self, plans: &[Plan], took: Duration) -> Tally {
        self.boots.sort_by_key(|boot| plans.iter().position(|plan| *plan == boot.0));
        println!("\n── kernel × backend");
        let [kernel, backend, passed, failed, skipped] = ["kernel", "backend", "passed", "failed", "skipped"];
        println!("{kernel:<18} {backend:<8} {passed:>6} {failed:>6} {skipped:>7} {:>8} {:>8}", "boot", "total");
        let mut total = Tally::NONE;
        for (plan, took, outcome) in &self.boots {
            let Tally { passed, failed, skipped } = outcome.tally;
            let (kernel, backend) = (plan.kernel_name(), plan.backend_name());
            let booted = outcome.booted.map_or("-".to_owned(), |seconds| format!("{seconds:.1} s"));
            let took = format!("{:.1} s", took.as_secs_f64());
            println!("{kernel:<18} {backend:<8} {passed:>6} {failed:>6} {skipped:>7} {booted:>8} {took:>8}");
            total = total.plus(outcome.tally);
        }
        for (plan, _, outcome) in &self.boots {
            outcome.skips.iter().for_each(|why| println!("skipped: {plan}: {why}"));
            let lines = outcome.failures.iter().filter_map(|why| why.lines().next());
            lines.for_each(|line| println!("failed: {plan}: {line}"));
        }
        println!("not run in guests, too long under emulation: tests named `{}`", guest::TOO_LONG.join("`, `"));
        println!("{:.0} s in all", took.as_secs_f64());
        total
    }
}
