//! Where this kernel may preempt a task.

use std::fs;

/// Models of preemption, with the one in force in brackets: `none voluntary (full)`. None where debugfs can't be read.
#[must_use]
pub fn models() -> Option<String> {
    fs::read_to_string("/sys/kernel/debug/sched/preempt").ok().map(|text| text.trim().to_owned())
}

/// Whether a task may be preempted inside of a program at a trampoline or a tracepoint, so that the program is skipped for
/// others on that processor until the task goes on. Not where it can't be known: what is skipped is counted in any case.
#[must_use]
pub fn inside_of_programs() -> bool {
    models().is_some_and(|models| is_anywhere(&models))
}

fn is_anywhere(models: &str) -> bool {
    ["(full)", "(lazy)"].iter().any(|model| models.contains(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_in_force_decides() {
        assert!(is_anywhere("none voluntary (full)") && is_anywhere("full (lazy)"));
        assert!(!is_anywhere("none (voluntary) full") && !is_anywhere("(none) voluntary full lazy"));
    }
}
