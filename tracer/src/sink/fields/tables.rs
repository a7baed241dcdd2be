//! Descriptor tables and what failed in them.

use super::{Section, failures::failures, field};

pub(super) const TABLES: Section = Section {
    title: "Tables",
    groups: &[&[
        field(
            "tables[]",
            "rows",
            "Every descriptor table of the traced tree, in the order of first sight. With `jsonl`, tables that have gone are not kept.",
        ),
        field("tables[].table", "id", "Identity within this trace, never reused."),
        field("tables[].pids[]", "pid", "Processes that used it, the first one first.").titled("process", "pid"),
        field("tables[].ns_pids[]", "pid", "The same in their own PID namespaces, in the same order.")
            .titled("inside", "inside"),
        field(
            "tables[].container",
            "name",
            "Id of the container of the first of them (`containers[].id`); `null` if its cgroup names none.",
        )
        .titled("container", "container"),
        field("tables[].comm", "name", "Last name of the first of them.").titled("name", "name"),
        field(
            "tables[].state",
            "text",
            "`alive` at the end of the trace, `ended` before it, `removed` from the targets while it was there, or `unseen`: its end did not come through.",
        )
        .titled("state", "state"),
        field("tables[].seeded", "bool", "It existed before it was first seen; what was before is not in the figures."),
        field("tables[].shared", "bool", "More than one process used it at a time."),
        field("tables[].first_ns", "ns", "First sight."),
        field("tables[].end_ns", "ns", "Its end, or its removal; `null` unless `ended` or `removed`."),
        field(
            "tables[].live",
            "descriptors",
            "Live descriptors at the end of the trace; 0 if the table has gone, `null` if unseen.",
        )
        .titled("live", "live"),
        field(
            "tables[].last_kinds{}",
            "descriptors",
            "Composition at the last look: at its end, or at the end of the trace.",
        )
        .titled("at the last look", "now"),
        field("tables[].high_water", "descriptors", "Greatest number of live descriptors at one moment.")
            .titled("high-water", "high"),
        field("tables[].high_water_ns", "ns", "When that was reached.").titled("reached", "when"),
        field("tables[].high_water_kinds{}", "descriptors", "Composition at that moment, by kind.")
            .titled("at the crest", "made of"),
        field(
            "tables[].highest_number",
            "number",
            "Greatest descriptor number that was in use. EMFILE comes when the lowest free *number* reaches the limit.",
        )
        .titled("highest number", "number"),
        field("tables[].settled", "descriptors", "Level that it last came to rest at.").titled("settled", "settled"),
        field(
            "tables[].settled_from",
            "text",
            "`still`: it was unchanged for the settle time; `last`: it never was, this is `live` at the last look.",
        ),
        field("tables[].soft_limit", "descriptors", "Soft RLIMIT_NOFILE in force at the high-water mark.")
            .titled("soft limit", "limit"),
        field("tables[].soft_limit_last", "descriptors", "The same at the last look."),
        field("tables[].headroom", "descriptors", "`soft_limit` − `high_water`, not below 0.")
            .titled("headroom", "left"),
        field("tables[].installs", "descriptors", "Descriptors that appeared since first sight.")
            .titled("opened", "opened"),
        field("tables[].closes", "descriptors", "Descriptors that went since first sight.").titled("closed", "closed"),
        field(
            "tables[].bad_closes",
            "times",
            "Close attempts on numbers that were not in use (EBADF). Thousands are a close storm: a program that closes whatever might be open.",
        ),
        field("tables[].crests", "crests", "Crests since first sight; `crests[]` has the highest.")
            .titled("crests", "crests"),
    ]],
};

pub(super) const FAILURES: Section = Section { title: "Failures", groups: &[failures!("tables[].")] };
