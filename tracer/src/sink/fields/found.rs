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

/// Growth of levels.
pub const GROWTH: Section = Section {
    title: "Growth",
    fields: &[
        field(
            "growth[]",
            "rows",
            "Levels over the windows of each table with at least three (`docs/crests.md`). With `jsonl`, tables that have gone have none.",
        ),
        field("growth[].table", "id", "The table."),
        field("growth[].pid", "pid", "Process that spawned from it last."),
        field("growth[].comm", "name", "Its name."),
        field(
            "growth[].per",
            "text",
            "`exec`: a window is a spawn window, its level the settled one; `fork`: from one child that never execs to the next, its level the one at the fork, in the order of the children's ends. `per exec` below is `per child` then.",
        ),
        field("growth[].windows", "windows", "How many."),
        field("growth[].first", "descriptors", "Level of the first."),
        field("growth[].last", "descriptors", "Level of the last."),
        field("growth[].grew", "windows", "How many are above the one before; at most `windows` − 1."),
        field("growth[].per_exec", "descriptors per exec", "(`last` − `first`) / (`windows` − 1)."),
        field("growth[].slope", "descriptors per exec", "Median slope of all pairs of windows (Theil and Sen)."),
        field("growth[].slope_low", "descriptors per exec", "Lower end of its 95 % interval."),
        field("growth[].slope_high", "descriptors per exec", "Upper end."),
        field(
            "growth[].kinds[]",
            "rows",
            "Kinds that are not as many at the last window's end as at the first one's, the greatest change first.",
        ),
        field("growth[].kinds[].kind", "kind", "Which."),
        field("growth[].kinds[].first", "descriptors", "How many at the end of the first window."),
        field("growth[].kinds[].last", "descriptors", "How many at the end of the last."),
        field("growth[].kinds[].grew", "windows", "How many windows ended with more than the one before."),
        field("growth[].kinds[].slope", "descriptors per exec", "As above, for this kind."),
        field("growth[].kinds[].slope_low", "descriptors per exec", "As above, for this kind."),
        field("growth[].kinds[].slope_high", "descriptors per exec", "As above, for this kind."),
        field(
            "growth[].suspect[]",
            "rows",
            "Kinds that grew in every window after warm-up (the first 3, or one in ten), while the level did too, and are still there. Empty: no leak is suspected.",
        ),
        field("growth[].suspect[].kind", "kind", "Which."),
        field("growth[].suspect[].growth", "descriptors", "By how much, from the first window to the last."),
        field(
            "growth[].late[]",
            "rows",
            "Kinds that grew like that, but were fewer again at the last look: released late, not leaked.",
        ),
        field("growth[].late[].kind", "kind", "Which."),
        field("growth[].late[].growth", "descriptors", "By how much, from the first window to the last."),
        field("growth[].soft_limit", "descriptors", "Soft limit in the last window."),
        field(
            "growth[].limit_in",
            "execs",
            "More execs until the soft limit is reached at this slope; `null` unless a leak is suspected.",
        ),
    ],
};
