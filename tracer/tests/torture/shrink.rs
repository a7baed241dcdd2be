//! A failing run made smaller: fewer operations, then fewer kinds of them.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use crate::{
    run::{self, Failure},
    setup::{self, BEFORE, Setup},
    support::fixture::bin,
};

/// Fails, with the smallest run found that fails alike.
pub fn report(setup: &Setup, failure: &Failure) -> ! {
    let until = Instant::now() + setup::patience();
    let mut smaller = Shrink { until, setup: setup.clone(), failure: failure.clone() };
    smaller.fewer_operations();
    smaller.fewer_kinds();
    smaller.fewer_operations();
    let command = smaller.setup.command();
    panic!("{failure}\n  first seen with: {}\n  smaller: {command}\n  {}", setup.command(), smaller.failure);
}

struct Shrink {
    until: Instant,
    setup: Setup,
    failure: Failure,
}

impl Shrink {
    /// Whether a candidate fails alike; then it is the one to go on with.
    fn fails(&mut self, candidate: Setup) -> bool {
        // Several threads do not do the same again.
        let tries = if candidate.threads > 1 { 4 } else { 1 };
        for _ in 0..tries {
            if Instant::now() >= self.until {
                return false;
            }
            if let Err(failure) = run::guarded(&candidate)
                && failure.class == self.failure.class
            {
                (self.setup, self.failure) = (candidate, failure);
                return true;
            }
        }
        false
    }

    /// Halves the interval in which the count of operations that fails first lies.
    fn fewer_operations(&mut self) {
        let (mut good, mut bad) = (0, self.setup.ops);
        if self.setup.attach_at != BEFORE {
            good = self.setup.attach_at * self.setup.checkpoint_every;
        }
        while good + 1 < bad {
            let middle = u64::midpoint(good, bad);
            if self.fails(Setup { ops: middle, ..self.setup.clone() }) {
                bad = middle;
            } else {
                good = middle;
            }
        }
    }

    /// Leaves out operations, many at a time at first.
    fn fewer_kinds(&mut self) {
        let mut names = names();
        names.retain(|name| !self.setup.skip.contains(name));
        let mut size = names.len() / 2;
        while size > 0 {
            let mut at = 0;
            while at < names.len() && names.len() > 1 {
                let end = (at + size).min(names.len());
                let mut skip = self.setup.skip.clone();
                skip.extend_from_slice(&names[at..end]);
                // Another set of operations makes another sequence: it gets room to come to the same.
                let ops = self.setup.ops.max(400);
                if end - at < names.len() && self.fails(Setup { skip, ops, ..self.setup.clone() }) {
                    names.drain(at..end);
                } else {
                    at = end;
                }
            }
            size /= 2;
        }
    }
}

/// Names of all operations.
fn names() -> Vec<String> {
    let mut command = Command::new(bin("fd-torture"));
    let output = command.arg("--list").stdin(Stdio::null()).output().expect("it starts");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}
