//! Paths of what is found in the events: crests and the like.

use super::{Section, field};

/// Crests.
pub(super) const CRESTS: Section = Section {
    title: "Crests",
    groups: &[&[
        field(
            "crests[]",
            "rows",
            "The highest five crests of each table, the highest first: rises of at least 16 descriptors that have fallen again (`docs/crests.md`). `tables[].crests` counts all.",
        ),
        field("crests[].table", "id", "The table."),
        field("crests[].pid", "pid", "Its first process.").titled("process", "pid"),
        field("crests[].comm", "name", "Name of that.").titled("name", "name"),
        field("crests[].from_ns", "ns", "Last moment at the floor: the rise begins."),
        field("crests[].top_ns", "ns", "Moment of the greatest number of live descriptors.").titled("at the top", "when"),
        field(
            "crests[].end_ns",
            "ns",
            "When it had fallen by half its height, or what else ended it; `null` if it is open.",
        ),
        field("crests[].rise_ns", "ns", "From the floor to the top.").titled("rise", "rise"),
        field("crests[].fall_ns", "ns", "From the top to the end.").titled("fall", "fall"),
        field(
            "crests[].ended_by",
            "text",
            "`fall` by half its height or more; `exec`: that fall was the exec's closes; `exit`: it had not fallen when the table ended; `open`: nor at the end of the trace.",
        ).titled("ended by", "ended by"),
        field("crests[].floor", "descriptors", "Live descriptors that it rose from: the least since the crest before.").titled("floor", "floor"),
        field("crests[].high_water", "descriptors", "Live descriptors at the top.").titled("high-water", "high"),
        field("crests[].height", "descriptors", "`high_water` − `floor`.").titled("height", "height"),
        field("crests[].highest_number", "number", "Greatest descriptor number in use."),
        field("crests[].soft_limit", "descriptors", "Soft limit in force at the top.").titled("soft limit", "limit"),
        field("crests[].headroom", "descriptors", "`soft_limit` − `high_water`, not below 0.").titled("headroom", "left"),
        field("crests[].kinds{}", "descriptors", "Composition at the top, by kind.").titled("at the crest", "made of"),
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
        field("crests[].execs_total", "execs", "How many there are.").titled("execs", "execs"),
    ]],
};

/// What people noted.
pub(super) const MARKS: Section = Section {
    title: "Marks",
    groups: &[&[
        field(
            "marks[]",
            "rows",
            "What people noted while it was traced (`fdtide ctl mark`), by time; the latest 1,000.",
        ),
        field("marks[].at_ns", "ns", "When.").titled("when", "when"),
        field("marks[].text", "text", "What.").titled("mark", "mark"),
    ]],
};

/// Growth of levels.
pub(super) const GROWTH: Section = Section {
    title: "Growth",
    groups: &[&[
        field(
            "growth[]",
            "rows",
            "Levels over the windows of each table with at least three (`docs/crests.md`). With `jsonl`, tables that have gone have none.",
        ),
        field("growth[].table", "id", "The table."),
        field("growth[].pid", "pid", "Process that spawned from it last.").titled("process", "pid"),
        field("growth[].comm", "name", "Its name.").titled("name", "name"),
        field(
            "growth[].per",
            "text",
            "`exec`: a window is a spawn window, its level the settled one; `fork`: from one child that never execs to the next, its level the one at the fork, in the order of the children's ends. `per exec` below is `per child` then.",
        ).titled("window", "window"),
        field("growth[].windows", "windows", "How many.").titled("windows", "windows"),
        field("growth[].first", "descriptors", "Level of the first.").titled("first settled", "first"),
        field("growth[].last", "descriptors", "Level of the last.").titled("last settled", "last"),
        field("growth[].grew", "windows", "How many are above the one before; at most `windows` − 1.").titled("grew", "grew"),
        field("growth[].per_exec", "descriptors per exec", "(`last` − `first`) / (`windows` − 1).").titled("per exec", "per exec"),
        field("growth[].slope", "descriptors per exec", "Median slope of all pairs of windows (Theil and Sen).").titled("per exec", "per exec"),
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
        ).titled("suspect", "suspect"),
        field("growth[].suspect[].kind", "kind", "Which.").titled("suspect", "suspect"),
        field("growth[].suspect[].growth", "descriptors", "By how much, from the first window to the last."),
        field(
            "growth[].suspect[].opened_by[]",
            "rows",
            "Who opened those that were there at the table's last census that shows any, most first; empty without one.",
        ),
        field("growth[].suspect[].opened_by[].count", "descriptors", "How many."),
        field("growth[].suspect[].opened_by[].thread", "object", "The thread: `tid`, `comm`; `null` if not known."),
        field("growth[].suspect[].opened_by[].thread.tid", "tid", "Its id."),
        field("growth[].suspect[].opened_by[].thread.comm", "name", "Its name; empty if not known."),
        field("growth[].suspect[].opened_by[].function", "text", "The function, with `--stacks`."),
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
        ).titled("limit in", "limit in"),
    ]],
};

/// Censuses and stacks.
pub(super) const CENSUSES: Section = Section {
    title: "Censuses",
    groups: &[&[
        field(
            "censuses[]",
            "rows",
            "Walks of whole tables, taken in the kernel at one moment, by time. Of each table: at its highest crest, at its first failure, the last one asked for, and at the end.",
        ),
        field("censuses[].table", "id", "The table."),
        field("censuses[].pid", "pid", "Process that it was taken in."),
        field("censuses[].comm", "name", "Its name.").titled("name", "name"),
        field("censuses[].census", "number", "Identity within its table."),
        field("censuses[].reason", "text", "`crest`, `failure`, `asked` or `end`.").titled("taken", "taken"),
        field("censuses[].at_ns", "ns", "When the walk began.").titled("when", "when"),
        field("censuses[].took_ns", "ns", "How long it took."),
        field("censuses[].live", "descriptors", "Live descriptors."),
        field("censuses[].soft_limit", "descriptors", "Soft limit in force."),
        field("censuses[].complete", "bool", "Every live descriptor has its row."),
        field("censuses[].lost", "rows", "Rows that found no room in the ring."),
        field(
            "censuses[].forgotten",
            "rows",
            "Rows let go because more than 400,000 were kept in all (40,000 with `jsonl`); the lowest crests go first.",
        ),
        field("censuses[].groups[]", "rows", "Descriptors alike, most first; at most 256."),
        field("censuses[].groups[].count", "descriptors", "How many.").titled("how many", "how many"),
        field("censuses[].groups[].kind", "kind", "Which kind.").titled("kind", "kind"),
        field(
            "censuses[].groups[].under",
            "name",
            "Folder that they are in; of one descriptor its own name. Without a leading `/` it is the end of a longer path.",
        ).titled("where", "where"),
        field("censuses[].groups[].folder", "bool", "`under` is a folder, not a name."),
        field("censuses[].groups[].socket", "object", "What the sockets are; `null` for everything else."),
        field("censuses[].groups[].socket.family", "text", "Address family: `unix`, `inet`, `inet6`, `netlink`, …"),
        field("censuses[].groups[].socket.type", "text", "`stream`, `dgram`, `seqpacket`, `raw`, …"),
        field(
            "censuses[].groups[].socket.state",
            "text",
            "`unconnected`, `bound`, `listening`, `connecting`, `connected` or `closing`.",
        ).titled("socket state", "socket"),
        field(
            "censuses[].groups[].opener.by",
            "text",
            "`thread`; `before`: it was there when the table was first seen; `unknown`.",
        ),
        field("censuses[].groups[].opener.thread", "object", "The thread that opened them; `null` if none is known."),
        field("censuses[].groups[].opener.thread.tid", "tid", "Its id."),
        field("censuses[].groups[].opener.thread.comm", "name", "Its name; empty if not known.").titled("opened by", "opened by"),
        field(
            "censuses[].groups[].function",
            "text",
            "With `--stacks`: the innermost function that is neither the C library's nor the language's, nor a helper that other stacks share.",
        ).titled("function", "function"),
        field("censuses[].groups[].oldest_ns", "ns", "Age of the one opened first; `null` if installs were not timed."),
        field("censuses[].groups[].newest_ns", "ns", "Age of the one opened last."),
        field("censuses[].descriptors[]", "rows", "One row per descriptor, in the order of their numbers."),
        field("censuses[].descriptors[].number", "number", "The descriptor.").titled("number", "fd"),
        field("censuses[].descriptors[].kind", "kind", "What it points to.").titled("kind", "kind"),
        field(
            "censuses[].descriptors[].name",
            "name",
            "Path as far as it was read: complete if it starts with `/`, else the end of a longer one; or the object's name.",
        ).titled("name", "what"),
        field("censuses[].descriptors[].access", "text", "`read`, `write`, `read-write` or `path` (O_PATH)."),
        field(
            "censuses[].descriptors[].file_flags",
            "bits",
            "`f_flags` of the file description, as open(2) takes them.",
        ),
        field("censuses[].descriptors[].cloexec", "bool", "Closed at exec."),
        field("censuses[].descriptors[].unlinked", "bool", "The file has no name any more."),
        field("censuses[].descriptors[].opener.by", "text", "As in `groups[]`.").titled("opened by", "opened by"),
        field("censuses[].descriptors[].opener.thread", "object", "As in `groups[]`."),
        field("censuses[].descriptors[].opener.thread.tid", "tid", "As in `groups[]`."),
        field("censuses[].descriptors[].opener.thread.comm", "name", "As in `groups[]`."),
        field("censuses[].descriptors[].age_ns", "ns", "Time since its install; `null` if that was not timed.").titled("age", "age"),
        field("censuses[].descriptors[].inode", "number", "Inode number."),
        field("censuses[].descriptors[].device", "major:minor", "Device of the file system."),
        field("censuses[].descriptors[].socket", "object", "What is known of a socket; `null` for everything else."),
        field("censuses[].descriptors[].socket.family", "text", "As in `groups[]`."),
        field("censuses[].descriptors[].socket.type", "text", "As in `groups[]`."),
        field("censuses[].descriptors[].socket.state", "text", "As in `groups[]`."),
        field("censuses[].descriptors[].socket.protocol", "number", "`IPPROTO_*` and others."),
        field("censuses[].descriptors[].socket.local", "address:port", "Own address, if it has one."),
        field("censuses[].descriptors[].socket.remote", "address:port", "The peer's, if it has one."),
        field("censuses[].descriptors[].stack", "id", "User stack of the install, with `--stacks` (`stacks[].ids[]`)."),
        field(
            "stacks[]",
            "rows",
            "With `--stacks`: what each census found, by the functions through which it was opened, most first.",
        ),
        field("stacks[].table", "id", "The table."),
        field("stacks[].census", "number", "The census whose descriptors are counted."),
        field("stacks[].reason", "text", "Its reason.").titled("taken", "taken"),
        field("stacks[].count", "descriptors", "How many.").titled("how many", "how many"),
        field("stacks[].kind", "kind", "Their kind.").titled("kind", "kind"),
        field("stacks[].function", "text", "As `censuses[].groups[].function`."),
        field("stacks[].ids[]", "id", "The stacks with these functions."),
        field(
            "stacks[].frames[].symbol",
            "text",
            "Function, innermost first, of the first of them; `null` if not known.",
        ).titled("functions", "functions"),
        field("stacks[].frames[].module", "name", "Path of the program or library; empty if not known."),
        field("stacks[].frames[].build_id", "hexadecimal", "Its build id; empty if it has none."),
        field("stacks[].frames[].offset", "bytes", "Offset in its file; the address if the file is not known."),
        field("stacks[].frames[].source", "file:line", "Source; `null` if not known."),
    ]],
};

/// Listeners lost.
pub(super) const LISTENERS: Section = Section {
    title: "Lost listeners",
    groups: &[&[
        field(
            "lost_listeners[]",
            "rows",
            "Tables whose settled level is lower since an accept was refused a descriptor, with fewer sockets: an accept loop that gave up and dropped its listener.",
        ),
        field("lost_listeners[].table", "id", "The table."),
        field("lost_listeners[].pid", "pid", "Its first process."),
        field("lost_listeners[].comm", "name", "Name of that.").titled("name", "name"),
        field("lost_listeners[].syscall", "text", "The accept that failed.").titled("syscall", "syscall"),
        field("lost_listeners[].errno", "text", "Its error.").titled("error", "error"),
        field("lost_listeners[].failed_ns", "ns", "When that was first.").titled("first", "first"),
        field("lost_listeners[].settled_before", "descriptors", "Settled level of the last spawn window before it.")
            .titled("settled before", "settled before"),
        field("lost_listeners[].settled_after", "descriptors", "Settled level of the first window that is lower.")
            .titled("settled after", "settled after"),
        field(
            "lost_listeners[].sockets_before",
            "descriptors",
            "Sockets that can listen, at the end of the window before.",
        ),
        field("lost_listeners[].sockets_after", "descriptors", "The same at the end of the window after."),
        field(
            "lost_listeners[].listening_before",
            "sockets",
            "Listening ones at the first failure; `null` without a census.",
        )
        .titled("listening before", "listening before"),
        field("lost_listeners[].listening_after", "sockets", "Listening ones at the last census after it.")
            .titled("listening after", "listening after"),
        field("lost_listeners[].seq", "number", "The exec that ends the window after (`execs[].seq`)."),
    ]],
};

/// Orphans and roots.
pub(super) const ORPHANS: Section = Section {
    title: "Orphans",
    groups: &[&[
        field(
            "orphans[]",
            "rows",
            "Processes that outlived the process that forked them, or the last root. Of more than 4,096 that have ended those that lived longest.",
        ).titled("orphan", "orphan"),
        field("orphans[].pid", "pid", "The process.").titled("process", "pid"),
        field("orphans[].comm", "name", "Its name.").titled("name", "name"),
        field(
            "orphans[].outlived",
            "text",
            "`spawner`: the process that forked it; `root`: only the last root, its spawner lives on.",
        ),
        field("orphans[].spawner", "pid", "Process that forked it; 0 if not known.").titled("spawner", "spawner"),
        field("orphans[].spawner_comm", "name", "Name of that at its end; `null` if it lives on."),
        field("orphans[].spawner_exit", "object", "How it ended, as `root.exit`; `null` if it lives on."),
        field("orphans[].spawner_exit.code", "0–255", "Exit status, if it exited."),
        field("orphans[].spawner_exit.signal", "number", "Signal, if one ended it."),
        field("orphans[].spawner_exit.name", "text", "Name of that signal."),
        field("orphans[].spawner_exit.core", "bool", "Whether a core was dumped."),
        field("orphans[].since_ns", "ns", "When the spawner ended; the last root, if the spawner lives on.").titled("since", "since"),
        field("orphans[].root_since_ns", "ns", "When the last root ended; `null` if one outlived the orphan."),
        field("orphans[].end_ns", "ns", "When the orphan ended; `null` if it lived on.").titled("ended", "ended"),
        field("orphans[].exit", "object", "How, as `root.exit`; `null` if it lived on."),
        field("orphans[].exit.code", "0–255", "Exit status, if it exited."),
        field("orphans[].exit.signal", "number", "Signal, if one ended it."),
        field("orphans[].exit.name", "text", "Name of that signal."),
        field("orphans[].exit.core", "bool", "Whether a core was dumped."),
        field("orphans[].live", "descriptors", "Live descriptors at its end, or at the end of the trace.").titled("live", "live"),
        field("orphans[].kinds{}", "descriptors", "The same by kind.").titled("made of", "made of"),
        field("roots[]", "rows", "Ends of the run command, or of processes that were attached to, in their order."),
        field("roots[].pid", "pid", "The process."),
        field("roots[].ns_pid", "pid", "The same in its own PID namespace; 0 in reports of versions that did not tell it."),
        field("roots[].container", "name", "Id of its container; `null` if its cgroup names none."),
        field("roots[].comm", "name", "Its name."),
        field("roots[].end_ns", "ns", "When it ended."),
        field("roots[].exit", "object", "How, as `root.exit`."),
        field("roots[].exit.code", "0–255", "Exit status, if it exited."),
        field("roots[].exit.signal", "number", "Signal, if one ended it."),
        field("roots[].exit.name", "text", "Name of that signal."),
        field("roots[].exit.core", "bool", "Whether a core was dumped."),
        field(
            "roots[].oom_killed",
            "bool",
            "`true`: SIGKILL, and its cgroup counted OOM kills during the trace; `false`: another end, or no OOM kill; `null`: not known.",
        ),
    ]],
};

/// Where processes ran.
pub(super) const CONTAINERS: Section = Section {
    title: "Containers",
    groups: &[&[
        field("containers[]", "rows", "Containers that traced processes were in, by id."),
        field("containers[].id", "name", "Its id, 64 hexadecimal digits; its name where the runtime has no ids."),
        field(
            "containers[].runtime",
            "text",
            "Who made it, as the name of its cgroup says: `docker`, `containerd`, `cri-o`, `podman`, `lxc`, `nspawn`, or `kubernetes` where that says no more.",
        ),
        field(
            "containers[].name",
            "name",
            "Its name, in Kubernetes `namespace/pod/container`; `null` if no file of the runtime on this machine tells it.",
        ),
        field("containers[].processes", "processes", "Traced processes that were seen in it."),
    ]],
};

/// Ages at close.
pub(super) const AGES: Section = Section {
    title: "Ages",
    groups: &[&[
        field(
            "ages[]",
            "rows",
            "How long descriptors were open, by table and kind; only where every install and close is recorded (`--depth events`). Where such events were lost, an age can be that of an earlier descriptor of the same number.",
        ),
        field("ages[].table", "id", "The table."),
        field("ages[].pid", "pid", "Its first process; 0 if the table is not told."),
        field("ages[].comm", "name", "Name of that."),
        field("ages[].kind", "kind", "Which kind."),
        field("ages[].closed", "descriptors", "Closes whose install was seen."),
        field("ages[].min_ns", "ns", "The shortest."),
        field("ages[].p50_ns", "ns", "Half of them were not open for longer, within an eighth."),
        field("ages[].p99_ns", "ns", "99 of 100 were not open for longer, within an eighth."),
        field("ages[].max_ns", "ns", "The longest."),
    ]],
};
