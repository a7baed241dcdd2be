//! The trace itself: when, how, and what it could not see.

use super::{Section, field};

pub(super) const REPORT: Section = Section {
    title: "Report",
    groups: &[&[
        field(
            "schema",
            "text",
            "Identity of the format. Keys may be added under the same identity, none goes or changes its meaning.",
        ),
        field("started_at", "RFC 3339, UTC", "Start of the trace, wall clock."),
        field("anchor.boot_ns", "ns", "Start of the trace, boot time. Every `_ns` that is a moment is boot time."),
        field(
            "anchor.wall_unix_ns",
            "ns",
            "The same moment, since 1970-01-01 UTC. Wall time of any moment = this + moment − `anchor.boot_ns`.",
        ),
        field("duration_ns", "ns", "From the start to the end of the trace.").titled("duration", "for"),
        field("command[]", "text", "What was run, one entry per argument; empty after `attach`.")
            .titled("command", "command"),
        field("root", "object", "How the run command ended; `null` after `attach`."),
        field("root.pid", "pid", "Its process id."),
        field("root.exit", "object", "`{\"code\": N}` or `{\"signal\": N, \"name\", \"core\"}`; `null` if it runs on."),
        field("root.exit.code", "0–255", "Exit status."),
        field("root.exit.signal", "number", "Signal that ended it."),
        field("root.exit.name", "text", "Name of that signal."),
        field("root.exit.core", "bool", "Whether a core was dumped."),
    ]],
};

pub(super) const PLAN: Section = Section {
    title: "How it was traced",
    groups: &[
&[
            field("plan.backend", "text", "Way of hooking that was chosen.").titled("backend", "backend"),
            field("plan.hooks[]", "text", "Places hooked."),
            field("plan.refused[].backend", "text", "A way of hooking that would have come first; or the one chosen, of which a hook could not be attached."),
            field("plan.refused[].reason", "text", "Why it could not be used."),
            field("plan.kernel", "text", "Kernel release.").titled("kernel", "kernel"),
            field("plan.version", "text", "Version of fdtide."),
            field("plan.self_test", "text", "Result of the self-test in a scratch child; `null` if there was none."),
            field("plan.cost", "text", "What the hooks cost processes that are not traced, in words; docs/overhead.md has what was measured.").titled("cost to others", "cost"),
            field(
                "loss.lost",
                "records",
                "Records that found no room in the ring. Rows may be missing; figures in the other rows hold, the kernel keeps the counts.",
            ).titled("lost", "lost"),
            field("loss.missed", "runs", "Runs of a hook that did not happen. Marks in between are upper bounds.").titled("missed", "missed"),
            field("loss.skipped", "records", "Records that this version could not read.").titled("skipped", "skipped"),
            field("loss.gaps[].from_ns", "ns", "Boot time of the last check at which no run of a hook was missing."),
            field("loss.gaps[].to_ns", "ns", "Boot time at which every table had been looked at again."),
            field("loss.gaps[].missed", "runs", "Runs missed in between: marks set then are upper bounds."),
            field("loss.counters[].name", "text", "A counter of the kernel program."),
            field("loss.counters[].value", "times", "How often it happened."),
            field("loss.counters[].help", "text", "What it means."),
            field(
                "coverage[].code",
                "text",
                "What the report can't tell, for programs. Empty list: nothing is known to be missing.",
            ),
            field("coverage[].text", "text", "The same as a sentence: what happened, and what to do."),
            field("agent", "object", "What fdtide itself used; it never counts itself elsewhere."),
            field("agent.pid", "pid", "Its process id."),
            field("agent.descriptors", "descriptors", "Its own descriptors at the end."),
            field("agent.rss_bytes", "bytes", "Its resident memory at the end."),
            field("agent.cpu_ms", "ms", "Its processor time."),
],
    ],
};
