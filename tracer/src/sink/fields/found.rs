//! Paths of what is found in the events: crests and the like.

use super::{Section, field};

/// Crests.
pub const CRESTS: Section = Section {
    title: "Crests",
    fields: &[
        field(
            "crests[]",
            "rows",
            "The highest five crests of each table, the highest first: rises of at least 16 descriptors that have fallen again (`docs/crests.md`). `tables[].crests` counts all.",
        ),
        field("crests[].table", "id", "The table."),
        field("crests[].pid", "pid", "Its first process."),
        field("crests[].comm", "name", "Name of that."),
        field("crests[].from_ns", "ns", "Last moment at the floor: the rise begins."),
        field("crests[].top_ns", "ns", "Moment of the greatest number of live descriptors."),
        field(
            "crests[].end_ns",
            "ns",
            "When it had fallen by half its height, or what else ended it; `null` if it is open.",
        ),
        field("crests[].rise_ns", "ns", "From the floor to the top."),
        field("crests[].fall_ns", "ns", "From the top to the end."),
        field(
            "crests[].ended_by",
            "text",
            "`fall` by half its height or more; `exec`: that fall was the exec's closes; `exit`: it had not fallen when the table ended; `open`: nor at the end of the trace.",
        ),
        field("crests[].floor", "descriptors", "Live descriptors that it rose from: the least since the crest before."),
        field("crests[].high_water", "descriptors", "Live descriptors at the top."),
        field("crests[].height", "descriptors", "`high_water` − `floor`."),
        field("crests[].highest_number", "number", "Greatest descriptor number in use."),
        field("crests[].soft_limit", "descriptors", "Soft limit in force at the top."),
        field("crests[].headroom", "descriptors", "`soft_limit` − `high_water`, not below 0."),
        field("crests[].kinds{}", "descriptors", "Composition at the top, by kind."),
        field("crests[].threads[].tid", "tid", "A thread that held descriptors, most first."),
        field("crests[].threads[].comm", "name", "Its name."),
        field(
            "crests[].threads[].held",
            "descriptors",
            "Most that it held at once of what it had opened, since an exec was last credited to it.",
        ),
        field(
            "crests[].execs[]",
            "number",
            "Execs (`execs[].seq`) whose spawn windows of this table overlap it; at most 32 are named.",
        ),
        field("crests[].execs_total", "execs", "How many there are."),
    ],
};
