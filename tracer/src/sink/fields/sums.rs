//! What many execs and tables come to.

use super::{Section, field};

pub(super) const DISTRIBUTIONS: Section = Section {
    title: "Distributions",
    groups: &[&[
        field(
            "histograms[]",
            "rows",
            "High-water per exec, one row per spawner and program. Execs whose window is not known don't count, nor does the run command's own first.",
        ),
        field("histograms[].spawner", "name", "Name of the spawner.").titled("spawner", "spawner"),
        field("histograms[].program", "name", "Base name of the program.").titled("program", "program"),
        field("histograms[].count", "execs", "How many windows.").titled("execs", "execs"),
        field(
            "histograms[].p50",
            "descriptors",
            "Of the windows' high-water marks, half of them were not above this. Exact to 2,047, then to a thousandth.",
        )
        .titled("p50", "p50"),
        field(
            "histograms[].p90",
            "descriptors",
            "Of the windows' high-water marks, 90 of 100 were not above this. Exact to 2,047, then to a thousandth.",
        )
        .titled("p90", "p90"),
        field(
            "histograms[].p99",
            "descriptors",
            "Of the windows' high-water marks, 99 of 100 were not above this. Exact to 2,047, then to a thousandth.",
        )
        .titled("p99", "p99"),
        field("histograms[].max", "descriptors", "The highest of them.").titled("max", "max"),
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
    ]],
};
