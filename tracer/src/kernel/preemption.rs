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

/// Whether the kernel counts runs of probes that it skips while a map is worked on or another program runs on that processor: from
/// 6.7 on (`trace_call_bpf`, kernel/trace/bpf_trace.c).
#[must_use]
pub fn skipped_probes_are_counted() -> bool {
    fs::read_to_string("/proc/sys/kernel/osrelease").is_ok_and(|release| is_at_least(&release, (6, 7)))
}

fn is_at_least(release: &str, (major, minor): (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_their_numbers() {
        assert!(is_at_least("6.7.0-rc1", (6, 7)) && is_at_least("6.12.95+deb12-cloud-amd64", (6, 7)));
        assert!(is_at_least("7.2.13+deb14", (6, 7)) && !is_at_least("6.1.0-57-cloud-amd64", (6, 7)));
        assert!(!is_at_least("", (6, 7)));
    }

    #[test]
    fn the_model_in_force_decides() {
        assert!(is_anywhere("none voluntary (full)") && is_anywhere("full (lazy)"));
        assert!(!is_anywhere("none (voluntary) full") && !is_anywhere("(none) voluntary full lazy"));
    }
}
