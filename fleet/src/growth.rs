//! Growth since a mark: levels before and after it, and how those after it go on.

use crate::{dialect::quoted, sql};

/// The query. A level is what a table came to rest at: in each spawn window of the spawner, and at each look at a table in
/// use. Tables are told apart by `what`, because a spawner's levels come per exec and the others per segment.
///
/// What stands first in a join is held in memory by DataFusion, so it is what has few rows.
pub fn sql(by: &[String], mark: &str, during: &str) -> String {
    let (list, keys) = (sql::list(by, ""), sql::list(by, "growing."));
    let join: Vec<String> = by.iter().map(|column| format!("growing.{column} = levels.{column}")).collect();
    let join = join.join(" and ");
    let table: Vec<String> = by
        .iter()
        .map(String::as_str)
        .chain(["what", "machine", "boot_id", "trace", "table_id"])
        .map(str::to_owned)
        .collect();
    let same: Vec<String> = table.iter().map(|column| format!("found.{column} = spans.{column}")).collect();
    let (same, of, table) = (same.join(" and "), sql::list(&table, "spans."), sql::list(&table, ""));
    [
        levels(by, mark, during),
        // Of each table: a join of few tables with all levels, and no sort of all levels.
        format!(
            "spans as (\n  select {table}, count(*) as n, min(boot_ns) as first_ns, max(boot_ns) as last_ns\n  \
             from found where after_mark = 1\n  group by {table}\n)"
        ),
        format!(
            "edges as (\n  select {of}, spans.n, found.level,\n    \
             row_number() over (partition by {of} order by found.boot_ns, found.seq) as nth,\n    \
             row_number() over (partition by {of} order by found.boot_ns desc, found.seq desc) as from_last\n  \
             from spans join found on {same}\n  \
             where found.after_mark = 1 and (found.boot_ns = spans.first_ns or found.boot_ns = spans.last_ns)\n)"
        ),
        format!(
            "tables as (\n  select {table}, max(n) as n,\n    \
             max(case when nth = 1 then level end) as first_level, max(case when from_last = 1 then level end) as last_level\n  \
             from edges\n  group by {table}\n)"
        ),
        format!(
            "growing as (\n  select {list}, what, count(*) as tables,\n    \
             sum(case when last_level > first_level then 1 else 0 end) as grown,\n    \
             sum(last_level - first_level) as growth, max(last_level - first_level) as most,\n    sum(n - 1) as steps\n  \
             from tables group by {list}, what\n)"
        ),
        medians(&list),
    ]
    .join(",\n")
        // Ordered by the names of the answer.
        + &format!(
            "\nselect {keys}, growing.what,\n  levels.n_before, levels.n_after, levels.median_before, levels.median_after,\n  \
             growing.tables, cast(growing.grown as bigint) as grown, cast(growing.most as bigint) as most,\n  \
             case when growing.steps > 0 then round(1e0 * growing.growth / growing.steps, 3) end as per_level\n\
             from growing join levels on {join} and growing.what = levels.what\n\
             order by coalesce(median_after - median_before, 0) desc, most desc, {list}, what"
        )
}

fn levels(by: &[String], mark: &str, during: &str) -> String {
    let rows = |what: &str, owner: &str, level: &str, table: &str, kind: &str| {
        let columns: Vec<String> = by
            .iter()
            .map(|column| {
                let of = if column == "program" { owner } else { column };
                format!("coalesce(segments.{of}, '') as {column}")
            })
            .collect();
        format!(
            "  select {}, '{what}' as what, segments.host as machine, boot_id, trace, coalesce({table}, -1) as table_id,\n    \
             boot_ns, coalesce(seq, 0) as seq, {level} as level, case when time >= marked.marked_at then 1 else 0 end as after_mark\n  \
             from marked join segments on segments.host = marked.host\n  where type = '{kind}' and {level} is not null{during}",
            columns.join(", ")
        )
    };
    format!(
        "with marked as (\n  select host, max(time) as marked_at from segments where type = 'mark' and mark = {} group by host\n),\n\
         found as (\n{} and seq > 0\n  union all\n{}\n)",
        quoted(mark),
        rows("spawn windows", "spawner", "window_settled", "window_table", "exec"),
        rows("tables", "program", "coalesce(settled, live)", "segments.table_id", "table"),
    )
}

/// The middle level before and after, counted as everywhere: the least that half of them do not exceed.
fn medians(list: &str) -> String {
    let median =
        |after: u32| format!("min(case when after_mark = {after} and upto * 100 >= total * 50 then level end)");
    format!(
        "counted as (\n  select {list}, what, after_mark, level, count(*) as n from found group by {list}, what, after_mark, level\n),\n\
         running as (\n  select {list}, what, after_mark, level, n,\n    \
         sum(n) over (partition by {list}, what, after_mark order by level) as upto,\n    \
         sum(n) over (partition by {list}, what, after_mark) as total\n  from counted\n),\n\
         levels as (\n  select {list}, what,\n    \
         cast(sum(case when after_mark = 0 then n else 0 end) as bigint) as n_before,\n    \
         cast(sum(case when after_mark = 1 then n else 0 end) as bigint) as n_after,\n    {} as median_before,\n    {} as median_after\n  \
         from running group by {list}, what\n)",
        median(0),
        median(1)
    )
}
