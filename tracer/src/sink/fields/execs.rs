//! Exec records and the three lives around an exec.

use super::{Section, failures::failures, field};

pub(super) const EXECS: Section = Section {
    title: "Execs",
    groups: &[&[
        field(
            "execs[]",
            "rows",
            "One record per exec, in the order of arrival; `--format jsonl` gives the same objects, one per line, as they complete.",
        ),
        field("execs[].seq", "number", "From 1; 0 is the run command's own first exec, whose spawner is fdtide.")
            .titled("exec", "exec"),
        field("execs[].at_ns", "ns", "When.").titled("when", "when"),
        field(
            "execs[].spawner.pid",
            "pid",
            "Process that forked this one; itself if it has execed before. 0 if not known.",
        ),
        field("execs[].spawner.tid", "tid", "Its thread that forked."),
        field("execs[].spawner.comm", "name", "Name of the process, at the fork.").titled("spawner", "spawner"),
        field("execs[].spawner.thread", "name", "Name of the thread, at the fork."),
        field("execs[].pid", "pid", "The process, in the initial PID namespace.").titled("process", "pid"),
        field("execs[].ns_pid", "pid", "The same in its own PID namespace.").titled("inside", "inside"),
        field(
            "execs[].program",
            "name",
            "Base name of the path; the new `comm` if the path is only a descriptor, or too long to be kept whole.",
        )
        .titled("program", "program"),
        field("execs[].path", "name", "Path handed to exec, at most 127 bytes."),
        field("execs[].comm", "name", "Name of the process afterwards."),
        field("execs[].again", "bool", "It has execed before, or was there at attach: it is its own spawner."),
        field(
            "execs[].container",
            "name",
            "Id of the container that the process is in (`containers[].id`); `null` if its cgroup names none.",
        ),
        field("execs[].table", "id", "Table that the image starts with (`tables[].table`)."),
        field(
            "execs[].mark",
            "text",
            "The last mark before it (`marks[].text`): what was deployed then; `null` if there was none.",
        )
        .titled("after mark", "mark"),
        field("execs[].inherited", "descriptors", "Live descriptors that the image started with."),
        field("execs[].inherited_kinds{}", "descriptors", "The same by kind."),
    ]],
};

pub(super) const SPAWN_WINDOW: Section = Section {
    title: "Spawn window",
    groups: &[
        &[
            field(
                "execs[].spawn_window",
                "object",
                "The spawner's table from its previous exec (or first sight) to this one; from the one before the fork, if other children's execs came between fork and exec. All keys `null` if the table is not known.",
            ),
            field("execs[].spawn_window.table", "id", "The table."),
            field("execs[].spawn_window.start_ns", "ns", "Start of the window; `at_ns` is its end."),
            field("execs[].spawn_window.high_water", "descriptors", "Greatest number of live descriptors.")
                .titled("high-water per exec", "high"),
            field("execs[].spawn_window.high_water_ns", "ns", "When that was reached."),
            field(
                "execs[].spawn_window.thread_high_water",
                "descriptors",
                "Most that one thread held at once of what it had opened.",
            ),
            field("execs[].spawn_window.thread.tid", "tid", "That thread; `thread` is `null` if no thread opened any."),
            field("execs[].spawn_window.thread.comm", "name", "Its name."),
            field("execs[].spawn_window.floor", "descriptors", "Least number of live descriptors."),
            field("execs[].spawn_window.settled", "descriptors", "Level that it last came to rest at.")
                .titled("settled", "settled"),
            field(
                "execs[].spawn_window.settled_from",
                "text",
                "`still`: it was unchanged for the settle time; `floor`: it never was, this is `floor`, what stays when transients have gone.",
            ),
            field("execs[].spawn_window.kinds{}", "descriptors", "Composition at the high-water mark, by kind.")
                .titled("at the crest", "made of"),
            field("execs[].spawn_window.at_exec", "descriptors", "Live descriptors at the exec."),
            field("execs[].spawn_window.at_exec_kinds{}", "descriptors", "The same by kind."),
            field("execs[].spawn_window.highest_number", "number", "Greatest descriptor number in use."),
            field("execs[].spawn_window.installs", "descriptors", "Descriptors that appeared."),
            field("execs[].spawn_window.closes", "descriptors", "Descriptors that went."),
            field("execs[].spawn_window.soft_limit", "descriptors", "Soft limit in force at the high-water mark.")
                .titled("soft limit", "limit"),
            field("execs[].spawn_window.headroom", "descriptors", "`soft_limit` − `high_water`, not below 0.")
                .titled("headroom", "left"),
        ],
        failures!(
            "execs[].spawn_window.",
            "As in `tables[].failures[]`: error that the syscall gave; `other` for failures beyond the kinds kept apart."
        ),
        &[
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
    ],
};

pub(super) const BEFORE_EXEC: Section = Section {
    title: "Before the exec",
    groups: &[
&[
            field(
                "execs[].before_exec.high_water",
                "descriptors",
                "High-water of the process's own table between fork and exec; of its image before, if it execs again. `null` if not known.",
            ).titled("child before exec", "child"),
            field("execs[].before_exec.kinds{}", "descriptors", "Composition at that moment."),
            field("execs[].before_exec.live", "descriptors", "Live descriptors just before the exec closed any."),
            field("execs[].before_exec.soft_limit", "descriptors", "Soft limit in force at the high-water mark."),
            field("execs[].before_exec.headroom", "descriptors", "`soft_limit` − `high_water`, not below 0."),
            field("execs[].before_exec.failures[]", "rows", "Failures in that time, as in `tables[].failures[]`."),
],
failures!("execs[].before_exec."),
&[
            field(
                "execs[].before_exec.shared",
                "bool",
                "The table is or was shared (CLONE_FILES): the figures are those of all its users.",
            ),
],
    ],
};

pub(super) const IMAGE: Section = Section {
    title: "Image",
    groups: &[
&[
            field(
                "execs[].image.high_water",
                "descriptors",
                "Greatest number of live descriptors from the exec to the image's end. `null` if that did not come through.",
            ).titled("in the program", "image"),
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
],
failures!("execs[].image."),
&[
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
                "`exec`, `exit`, `running` at the end of the trace, `removed` from the targets while it ran, or `unseen`: the end did not come through.",
            ),
            field("execs[].image.end_ns", "ns", "When; `null` if it runs on."),
],
    ],
};
