//! What every figure is called, its unit, and what it means: one table for every output.
//!
//! `docs/fields.md` is [`markdown`]; a test compares them, and the paths with those of a real report.

mod found;

use crate::event::Kind;

/// One path of the JSON report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Path: `a.b` a key in an object, `a[]` an entry of a list, `a{}` an object from kind to count.
    pub path: &'static str,
    /// Unit or type.
    pub unit: &'static str,
    /// What it means.
    pub help: &'static str,
}

/// Paths that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Heading.
    pub title: &'static str,
    /// The paths.
    pub fields: &'static [Field],
}

const fn field(path: &'static str, unit: &'static str, help: &'static str) -> Field {
    Field { path, unit, help }
}

/// Every path of the JSON report.
pub const SECTIONS: &[Section] = &[
    Section {
        title: "Report",
        fields: &[
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
            field("duration_ns", "ns", "From the start to the end of the trace."),
            field("command[]", "text", "What was run, one entry per argument; empty after `attach`."),
            field("root", "object", "How the run command ended; `null` after `attach`."),
            field("root.pid", "pid", "Its process id."),
            field(
                "root.exit",
                "object",
                "`{\"code\": N}` or `{\"signal\": N, \"name\", \"core\"}`; `null` if it runs on.",
            ),
            field("root.exit.code", "0–255", "Exit status."),
            field("root.exit.signal", "number", "Signal that ended it."),
            field("root.exit.name", "text", "Name of that signal."),
            field("root.exit.core", "bool", "Whether a core was dumped."),
        ],
    },
    Section {
        title: "How it was traced",
        fields: &[
            field("plan.backend", "text", "Way of hooking that was chosen."),
            field("plan.hooks[]", "text", "Places hooked."),
            field("plan.refused[].backend", "text", "A way of hooking that would have come first."),
            field("plan.refused[].reason", "text", "Why it could not be used."),
            field("plan.kernel", "text", "Kernel release."),
            field("plan.version", "text", "Version of fdtide."),
            field("plan.self_test", "text", "Result of the self-test in a scratch child; `null` if there was none."),
            field("plan.cost", "text", "What the hooks cost others on this machine; `null` if not measured."),
            field(
                "loss.lost",
                "records",
                "Records that found no room in the ring. Rows may be missing; figures in the other rows hold, the kernel keeps the counts.",
            ),
            field("loss.missed", "runs", "Runs of a hook that did not happen. Marks in between are upper bounds."),
            field("loss.skipped", "records", "Records that this version could not read."),
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
    },
    Section {
        title: "Tables",
        fields: &[
            field(
                "tables[]",
                "rows",
                "Every descriptor table of the traced tree, in the order of first sight. With `jsonl`, tables that have gone are not kept.",
            ),
            field("tables[].table", "id", "Identity within this trace, never reused."),
            field("tables[].pids[]", "pid", "Processes that used it, the first one first."),
            field("tables[].comm", "name", "Last name of the first of them."),
            field(
                "tables[].state",
                "text",
                "`alive` at the end of the trace, `ended` before it, or `unseen`: its end did not come through.",
            ),
            field(
                "tables[].seeded",
                "bool",
                "It existed before it was first seen; what was before is not in the figures.",
            ),
            field("tables[].shared", "bool", "More than one process used it at a time."),
            field("tables[].first_ns", "ns", "First sight."),
            field("tables[].end_ns", "ns", "Its end; `null` unless `ended`."),
            field(
                "tables[].live",
                "descriptors",
                "Live descriptors at the end of the trace; 0 if the table has gone, `null` if unseen.",
            ),
            field(
                "tables[].last_kinds{}",
                "descriptors",
                "Composition at the last look: at its end, or at the end of the trace.",
            ),
            field("tables[].high_water", "descriptors", "Greatest number of live descriptors at one moment."),
            field("tables[].high_water_ns", "ns", "When that was reached."),
            field("tables[].high_water_kinds{}", "descriptors", "Composition at that moment, by kind."),
            field(
                "tables[].highest_number",
                "number",
                "Greatest descriptor number that was in use. EMFILE comes when the lowest free *number* reaches the limit.",
            ),
            field("tables[].settled", "descriptors", "Level that it last came to rest at."),
            field(
                "tables[].settled_from",
                "text",
                "`still`: it was unchanged for the settle time; `last`: it never was, this is `live` at the last look.",
            ),
            field("tables[].soft_limit", "descriptors", "Soft RLIMIT_NOFILE in force at the high-water mark."),
            field("tables[].soft_limit_last", "descriptors", "The same at the last look."),
            field("tables[].headroom", "descriptors", "`soft_limit` − `high_water`, not below 0."),
            field("tables[].installs", "descriptors", "Descriptors that appeared since first sight."),
            field("tables[].closes", "descriptors", "Descriptors that went since first sight."),
            field(
                "tables[].bad_closes",
                "times",
                "Close attempts on numbers that were not in use (EBADF). Thousands are a close storm: a program that closes whatever might be open.",
            ),
            field("tables[].crests", "crests", "Crests since first sight; `crests[]` has the highest."),
        ],
    },
    Section {
        title: "Failures",
        fields: &[
            field(
                "tables[].failures[].errno",
                "text",
                "Error that the syscall gave; `other` for failures beyond the kinds kept apart.",
            ),
            field("tables[].failures[].syscall", "text", "The syscall."),
            field("tables[].failures[].count", "times", "How often, in this scope."),
            field(
                "tables[].failures[].live",
                "descriptors",
                "Live descriptors at the first; `null` if the first was not in this scope.",
            ),
            field("tables[].failures[].soft_limit", "descriptors", "Soft limit at the first."),
            field("tables[].failures[].first_ns", "ns", "When the first was."),
            field("tables[].failures[].last_ns", "ns", "When the last was."),
            field(
                "tables[].failures[].per_second",
                "per second",
                "Rate from the first to the last; `null` for fewer than ten, or if the first was not in this scope.",
            ),
            field(
                "tables[].failures[].lowest_free",
                "number",
                "Lowest free number at the first; `null` if none of the first 1,024 was free.",
            ),
            field(
                "tables[].failures[].in_use",
                "numbers",
                "Numbers in use at the first, those being reserved included, among the first 1,024.",
            ),
            field(
                "tables[].failures[].cause",
                "text",
                "`table full`: no number below the limit was free; `another quota`: the table had room; `system-wide limit`; `beyond the limit`: dup2 or F_DUPFD asked for a number not below it; `unclear`.",
            ),
            field(
                "tables[].failures[].hidden",
                "bool",
                "The syscall returned success and delivered fewer descriptors than were sent (MSG_CTRUNC).",
            ),
        ],
    },
    Section {
        title: "Execs",
        fields: &[
            field(
                "execs[]",
                "rows",
                "One record per exec, in the order of arrival; `--format jsonl` gives the same objects, one per line, as they complete.",
            ),
            field("execs[].seq", "number", "From 1; 0 is the run command's own first exec, whose spawner is fdtide."),
            field("execs[].at_ns", "ns", "When."),
            field(
                "execs[].spawner.pid",
                "pid",
                "Process that forked this one; itself if it has execed before. 0 if not known.",
            ),
            field("execs[].spawner.tid", "tid", "Its thread that forked."),
            field("execs[].spawner.comm", "name", "Name of the process, at the fork."),
            field("execs[].spawner.thread", "name", "Name of the thread, at the fork."),
            field("execs[].pid", "pid", "The process, in the initial PID namespace."),
            field("execs[].ns_pid", "pid", "The same in its own PID namespace."),
            field(
                "execs[].program",
                "name",
                "Base name of the path; the new `comm` if the path is only a descriptor, or too long to be kept whole.",
            ),
            field("execs[].path", "name", "Path handed to exec, at most 127 bytes."),
            field("execs[].comm", "name", "Name of the process afterwards."),
            field("execs[].again", "bool", "It has execed before, or was there at attach: it is its own spawner."),
            field("execs[].table", "id", "Table that the image starts with (`tables[].table`)."),
            field("execs[].inherited", "descriptors", "Live descriptors that the image started with."),
            field("execs[].inherited_kinds{}", "descriptors", "The same by kind."),
        ],
    },
    Section {
        title: "Spawn window",
        fields: &[
            field(
                "execs[].spawn_window",
                "object",
                "The spawner's table from its previous exec (or first sight) to this one; from the one before the fork, if other children's execs came between fork and exec. All keys `null` if the table is not known.",
            ),
            field("execs[].spawn_window.table", "id", "The table."),
            field("execs[].spawn_window.start_ns", "ns", "Start of the window; `at_ns` is its end."),
            field("execs[].spawn_window.high_water", "descriptors", "Greatest number of live descriptors."),
            field("execs[].spawn_window.high_water_ns", "ns", "When that was reached."),
            field(
                "execs[].spawn_window.thread_high_water",
                "descriptors",
                "Most that one thread held at once of what it had opened.",
            ),
            field("execs[].spawn_window.thread.tid", "tid", "That thread; `thread` is `null` if no thread opened any."),
            field("execs[].spawn_window.thread.comm", "name", "Its name."),
            field("execs[].spawn_window.floor", "descriptors", "Least number of live descriptors."),
            field("execs[].spawn_window.settled", "descriptors", "Level that it last came to rest at."),
            field(
                "execs[].spawn_window.settled_from",
                "text",
                "`still`: it was unchanged for the settle time; `floor`: it never was, this is `floor`, what stays when transients have gone.",
            ),
            field("execs[].spawn_window.kinds{}", "descriptors", "Composition at the high-water mark, by kind."),
            field("execs[].spawn_window.at_exec", "descriptors", "Live descriptors at the exec."),
            field("execs[].spawn_window.at_exec_kinds{}", "descriptors", "The same by kind."),
            field("execs[].spawn_window.highest_number", "number", "Greatest descriptor number in use."),
            field("execs[].spawn_window.installs", "descriptors", "Descriptors that appeared."),
            field("execs[].spawn_window.closes", "descriptors", "Descriptors that went."),
            field("execs[].spawn_window.soft_limit", "descriptors", "Soft limit in force at the high-water mark."),
            field("execs[].spawn_window.headroom", "descriptors", "`soft_limit` − `high_water`, not below 0."),
            field(
                "execs[].spawn_window.failures[].errno",
                "text",
                "As in `tables[].failures[]`: error that the syscall gave; `other` for failures beyond the kinds kept apart.",
            ),
            field("execs[].spawn_window.failures[].syscall", "text", "The syscall."),
            field("execs[].spawn_window.failures[].count", "times", "How often, in this scope."),
            field(
                "execs[].spawn_window.failures[].live",
                "descriptors",
                "Live descriptors at the first; `null` if the first was not in this scope.",
            ),
            field("execs[].spawn_window.failures[].soft_limit", "descriptors", "Soft limit at the first."),
            field("execs[].spawn_window.failures[].first_ns", "ns", "When the first was."),
            field("execs[].spawn_window.failures[].last_ns", "ns", "When the last was."),
            field(
                "execs[].spawn_window.failures[].per_second",
                "per second",
                "Rate from the first to the last; `null` for fewer than ten, or if the first was not in this scope.",
            ),
            field(
                "execs[].spawn_window.failures[].lowest_free",
                "number",
                "Lowest free number at the first; `null` if none of the first 1,024 was free.",
            ),
            field(
                "execs[].spawn_window.failures[].in_use",
                "numbers",
                "Numbers in use at the first, those being reserved included, among the first 1,024.",
            ),
            field(
                "execs[].spawn_window.failures[].cause",
                "text",
                "`table full`: no number below the limit was free; `another quota`: the table had room; `system-wide limit`; `beyond the limit`: dup2 or F_DUPFD asked for a number not below it; `unclear`.",
            ),
            field(
                "execs[].spawn_window.failures[].hidden",
                "bool",
                "The syscall returned success and delivered fewer descriptors than were sent (MSG_CTRUNC).",
            ),
            field(
                "execs[].spawn_window.overlapping",
                "execs",
                "Other execs from this table between this child's fork and exec; their windows share time with this one.",
            ),
            field(
                "execs[].spawn_window.spawner_ended",
                "bool",
                "The table ended before the exec, and the window with it.",
            ),
        ],
    },
    Section {
        title: "Before the exec",
        fields: &[
            field(
                "execs[].before_exec.high_water",
                "descriptors",
                "High-water of the process's own table between fork and exec; of its image before, if it execs again. `null` if not known.",
            ),
            field("execs[].before_exec.kinds{}", "descriptors", "Composition at that moment."),
            field("execs[].before_exec.live", "descriptors", "Live descriptors just before the exec closed any."),
            field("execs[].before_exec.soft_limit", "descriptors", "Soft limit in force at the high-water mark."),
            field("execs[].before_exec.headroom", "descriptors", "`soft_limit` − `high_water`, not below 0."),
            field("execs[].before_exec.failures[]", "rows", "Failures in that time, as in `tables[].failures[]`."),
            field(
                "execs[].before_exec.failures[].errno",
                "text",
                "Error that the syscall gave; `other` for failures beyond the kinds kept apart.",
            ),
            field("execs[].before_exec.failures[].syscall", "text", "The syscall."),
            field("execs[].before_exec.failures[].count", "times", "How often, in this scope."),
            field(
                "execs[].before_exec.failures[].live",
                "descriptors",
                "Live descriptors at the first; `null` if the first was not in this scope.",
            ),
            field("execs[].before_exec.failures[].soft_limit", "descriptors", "Soft limit at the first."),
            field("execs[].before_exec.failures[].first_ns", "ns", "When the first was."),
            field("execs[].before_exec.failures[].last_ns", "ns", "When the last was."),
            field(
                "execs[].before_exec.failures[].per_second",
                "per second",
                "Rate from the first to the last; `null` for fewer than ten, or if the first was not in this scope.",
            ),
            field(
                "execs[].before_exec.failures[].lowest_free",
                "number",
                "Lowest free number at the first; `null` if none of the first 1,024 was free.",
            ),
            field(
                "execs[].before_exec.failures[].in_use",
                "numbers",
                "Numbers in use at the first, those being reserved included, among the first 1,024.",
            ),
            field(
                "execs[].before_exec.failures[].cause",
                "text",
                "`table full`: no number below the limit was free; `another quota`: the table had room; `system-wide limit`; `beyond the limit`: dup2 or F_DUPFD asked for a number not below it; `unclear`.",
            ),
            field(
                "execs[].before_exec.failures[].hidden",
                "bool",
                "The syscall returned success and delivered fewer descriptors than were sent (MSG_CTRUNC).",
            ),
            field(
                "execs[].before_exec.shared",
                "bool",
                "The table is or was shared (CLONE_FILES): the figures are those of all its users.",
            ),
        ],
    },
    Section {
        title: "Image",
        fields: &[
            field(
                "execs[].image.high_water",
                "descriptors",
                "Greatest number of live descriptors from the exec to the image's end. `null` if that did not come through.",
            ),
            field("execs[].image.high_water_kinds{}", "descriptors", "Composition at that moment."),
            field("execs[].image.highest_number", "number", "Greatest descriptor number in use."),
            field("execs[].image.settled", "descriptors", "Level that it last came to rest at."),
            field("execs[].image.settled_from", "text", "`still` or `last`, as for tables."),
            field("execs[].image.installs", "descriptors", "Descriptors that appeared."),
            field(
                "execs[].image.closes",
                "descriptors",
                "Descriptors that went, without those that the exec itself closed.",
            ),
            field("execs[].image.soft_limit", "descriptors", "Soft limit in force at the high-water mark."),
            field("execs[].image.headroom", "descriptors", "`soft_limit` − `high_water`, not below 0."),
            field("execs[].image.failures[]", "rows", "Failures in that time, as in `tables[].failures[]`."),
            field(
                "execs[].image.failures[].errno",
                "text",
                "Error that the syscall gave; `other` for failures beyond the kinds kept apart.",
            ),
            field("execs[].image.failures[].syscall", "text", "The syscall."),
            field("execs[].image.failures[].count", "times", "How often, in this scope."),
            field(
                "execs[].image.failures[].live",
                "descriptors",
                "Live descriptors at the first; `null` if the first was not in this scope.",
            ),
            field("execs[].image.failures[].soft_limit", "descriptors", "Soft limit at the first."),
            field("execs[].image.failures[].first_ns", "ns", "When the first was."),
            field("execs[].image.failures[].last_ns", "ns", "When the last was."),
            field(
                "execs[].image.failures[].per_second",
                "per second",
                "Rate from the first to the last; `null` for fewer than ten, or if the first was not in this scope.",
            ),
            field(
                "execs[].image.failures[].lowest_free",
                "number",
                "Lowest free number at the first; `null` if none of the first 1,024 was free.",
            ),
            field(
                "execs[].image.failures[].in_use",
                "numbers",
                "Numbers in use at the first, those being reserved included, among the first 1,024.",
            ),
            field(
                "execs[].image.failures[].cause",
                "text",
                "`table full`: no number below the limit was free; `another quota`: the table had room; `system-wide limit`; `beyond the limit`: dup2 or F_DUPFD asked for a number not below it; `unclear`.",
            ),
            field(
                "execs[].image.failures[].hidden",
                "bool",
                "The syscall returned success and delivered fewer descriptors than were sent (MSG_CTRUNC).",
            ),
            field(
                "execs[].image.at_exit",
                "descriptors",
                "Live descriptors when the process ended, before its table was torn down; `null` if another exec ended the image, or it runs on.",
            ),
            field("execs[].image.at_exit_kinds{}", "descriptors", "The same by kind."),
            field("execs[].image.exit", "object", "How the process ended; `null` unless `ended_by` is `exit`."),
            field("execs[].image.exit.code", "0–255", "Exit status, if it exited."),
            field("execs[].image.exit.signal", "number", "Signal, if one ended it."),
            field("execs[].image.exit.name", "text", "Name of that signal."),
            field("execs[].image.exit.core", "bool", "Whether a core was dumped."),
            field(
                "execs[].image.ended_by",
                "text",
                "`exec`, `exit`, `running` at the end of the trace, or `unseen`: the end did not come through.",
            ),
            field("execs[].image.end_ns", "ns", "When; `null` if it runs on."),
        ],
    },
    Section {
        title: "Distributions",
        fields: &[
            field(
                "histograms[]",
                "rows",
                "High-water per exec, one row per spawner and program. Execs whose window is not known don't count, nor does the run command's own first.",
            ),
            field("histograms[].spawner", "name", "Name of the spawner."),
            field("histograms[].program", "name", "Base name of the program."),
            field("histograms[].count", "execs", "How many windows."),
            field(
                "histograms[].p50",
                "descriptors",
                "Of the windows' high-water marks, half of them were not above this. Exact to 2,047, then to a thousandth.",
            ),
            field(
                "histograms[].p90",
                "descriptors",
                "Of the windows' high-water marks, 90 of 100 were not above this. Exact to 2,047, then to a thousandth.",
            ),
            field(
                "histograms[].p99",
                "descriptors",
                "Of the windows' high-water marks, 99 of 100 were not above this. Exact to 2,047, then to a thousandth.",
            ),
            field("histograms[].max", "descriptors", "The highest of them."),
            field(
                "histograms[].hdr",
                "base64",
                "The same values as an HdrHistogram V2, compressed (`HISTF…`), 3 significant digits, 1 to 2^20.",
            ),
            field("histograms[].before_exec", "object", "The same figures for the children between fork and exec."),
            field("histograms[].before_exec.count", "execs", "As above, for the children's marks."),
            field("histograms[].before_exec.p50", "descriptors", "As above, for the children's marks."),
            field("histograms[].before_exec.p90", "descriptors", "As above, for the children's marks."),
            field("histograms[].before_exec.p99", "descriptors", "As above, for the children's marks."),
            field("histograms[].before_exec.max", "descriptors", "As above, for the children's marks."),
            field("spawners[]", "rows", "What each spawner's execs come to, highest mark first."),
            field("spawners[].comm", "name", "Name of the spawner."),
            field("spawners[].pids[]", "pid", "Its processes."),
            field("spawners[].tables[]", "id", "Its tables."),
            field("spawners[].execs", "execs", "How many."),
            field("spawners[].programs[].program", "name", "What was execed."),
            field("spawners[].programs[].count", "execs", "How often."),
            field("spawners[].spawn_window", "object", "High-water of the spawn windows; `null` if none is known."),
            field("spawners[].spawn_window.count", "execs", "As in `histograms[]`."),
            field("spawners[].spawn_window.p50", "descriptors", "As in `histograms[]`."),
            field("spawners[].spawn_window.p90", "descriptors", "As in `histograms[]`."),
            field("spawners[].spawn_window.p99", "descriptors", "As in `histograms[]`."),
            field("spawners[].spawn_window.max", "descriptors", "As in `histograms[]`."),
            field(
                "spawners[].before_exec",
                "object",
                "High-water of the children between fork and exec; `null` if none is known.",
            ),
            field("spawners[].before_exec.count", "execs", "As in `histograms[]`."),
            field("spawners[].before_exec.p50", "descriptors", "As in `histograms[]`."),
            field("spawners[].before_exec.p90", "descriptors", "As in `histograms[]`."),
            field("spawners[].before_exec.p99", "descriptors", "As in `histograms[]`."),
            field("spawners[].before_exec.max", "descriptors", "As in `histograms[]`."),
            field("spawners[].image", "object", "High-water of the images; `null` if none is known."),
            field("spawners[].image.count", "execs", "As in `histograms[]`."),
            field("spawners[].image.p50", "descriptors", "As in `histograms[]`."),
            field("spawners[].image.p90", "descriptors", "As in `histograms[]`."),
            field("spawners[].image.p99", "descriptors", "As in `histograms[]`."),
            field("spawners[].image.max", "descriptors", "As in `histograms[]`."),
        ],
    },
    found::GROWTH,
    found::CRESTS,
    found::AGES,
    found::LISTENERS,
    found::CENSUSES,
    found::ORPHANS,
];

/// Words of the reports that are not plain ones.
pub const GLOSSARY: &[(&str, &str)] = &[
    ("descriptor", "the small integer by which a process names something that it has open"),
    ("descriptor table", "where the kernel keeps a process's descriptors; several processes may share one"),
    ("live", "in the table at this moment"),
    ("high-water mark", "greatest number of live descriptors in a stated time"),
    ("crest", "one rise and fall of `live`; at the crest: at its top"),
    ("settled", "`live` once it has been still for the settle time (`--settle`)"),
    ("census", "a walk of a whole table at one moment, with a row for each descriptor"),
    ("churn", "how many descriptors appeared and went, however many were live at once"),
    ("soft limit", "RLIMIT_NOFILE, the one in force: no descriptor number at or above it can be made"),
    ("limit", "in the text report: the soft limit"),
    ("headroom", "soft limit minus high-water mark"),
    ("image", "one program in a process, from its exec to the next exec or the end"),
    ("spawn window", "for the table that forks: from its previous exec, or first sight, to this child's exec"),
    ("root", "the run command, or a process that fdtide was attached to"),
    ("seeded", "there before fdtide was"),
    ("orphan", "a process that outlived the one that forked it, or the last root"),
];

/// The whole of `docs/fields.md`.
pub fn markdown() -> String {
    let mut text = String::from(INTRODUCTION);
    for (word, meaning) in GLOSSARY {
        text.push_str(&format!("| {word} | {meaning} |\n"));
    }
    text.push_str("\n## Kinds\n\n| kind | what the descriptor points to |\n| --- | --- |\n");
    for kind in Kind::ALL {
        text.push_str(&format!("| `{}` | {} |\n", kind.name(), kind.help().trim_end_matches('.')));
    }
    for section in SECTIONS {
        text.push_str(&format!("\n## {}\n\n| path | unit | meaning |\n| --- | --- | --- |\n", section.title));
        for field in section.fields {
            text.push_str(&format!("| `{}` | {} | {} |\n", field.path, field.unit, field.help));
        }
    }
    text
}

const INTRODUCTION: &str = "\
# Fields

What every figure means. `fdtide --format json` gives one document of schema `fdtide.report/1` with these paths, `--format jsonl`
one object per line, each an entry of `execs[]`; the text report uses the same words. This file is written from
`tracer/src/sink/fields.rs` by `FDTIDE_BLESS=1 cargo test -p fdtide --lib fields`.

- Paths: `a.b` is a key in an object, `a[]` an entry of a list, `a{}` an object from kind to number of descriptors.
- Kinds that do not occur are left out; the numbers of a composition add up to the figure beside it.
- `null` means not known, or that there is none; it never means 0.
- Times are nanoseconds of boot time (`CLOCK_BOOTTIME`), the kernel's own.
- Names and paths come from the kernel as bytes. In them `\\xNN` stands for the byte NN (two lower-case hex digits): for bytes that
  are not UTF-8, for a backslash that would read as such an escape, and, in the text report, for control characters and those that
  change the direction of text. Everything else stands as it is, so the bytes can be told back.

## Words

| word | meaning |
| --- | --- |
";
