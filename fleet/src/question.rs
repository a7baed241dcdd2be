//! The common questions, as SQL over `segments`.

use crate::{Error, dialect::Dialect, growth, sql};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// High-water per exec: how often, its quantiles and its greatest.
    P99,
    /// Least headroom, and in which life of a table.
    Headroom,
    /// Execs to which descriptors were refused, or that ended in failure.
    Failed,
    /// Levels before and after a mark, and how they go on.
    Growth,
    /// What there is of each host, and what is missing.
    Hosts,
    /// Marks.
    Marks,
}

/// Which high-water mark of an exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The spawner's, in the spawn window.
    Window,
    /// The child's, between fork and exec.
    BeforeExec,
    /// The program's.
    Image,
}

impl Figure {
    /// Its column.
    #[must_use]
    pub fn column(self) -> &'static str {
        match self {
            Figure::Window => "window_high_water",
            Figure::BeforeExec => "before_exec_high_water",
            Figure::Image => "image_high_water",
        }
    }
}

/// From when to when, RFC 3339 in UTC; the end is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// From this moment.
    pub since: Option<String>,
    /// Up to this one.
    pub until: Option<String>,
}

/// A question with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub ask: Ask,
    /// Columns that rows are told apart by.
    pub by: Vec<String>,
    /// Which mark, where that is asked.
    pub figure: Figure,
    /// Which time.
    pub span: Span,
    /// The mark that divides before from after.
    pub mark: Option<String>,
}

impl Ask {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ask::P99 => "p99",
            Ask::Headroom => "headroom",
            Ask::Failed => "failed",
            Ask::Growth => "growth",
            Ask::Hosts => "hosts",
            Ask::Marks => "marks",
        }
    }

    /// Columns that it can be asked by.
    #[must_use]
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Ask::P99 | Ask::Failed => &["program", "spawner", "host", "container"],
            Ask::Headroom | Ask::Growth => &["program", "host", "container"],
            Ask::Hosts => &["host"],
            Ask::Marks => &["mark"],
        }
    }

    fn usual(self) -> &'static str {
        match self {
            Ask::Hosts => "host",
            Ask::Marks => "mark",
            _ => "program",
        }
    }
}

impl Question {
    /// With the columns to ask by, in the order as written; none means the usual one.
    ///
    /// # Errors
    ///
    /// When the question can't be asked by one of them, or lacks what it needs.
    pub fn new(ask: Ask, by: &[String], figure: Figure, span: Span, mark: Option<String>) -> Result<Question, Error> {
        for column in by {
            if !ask.columns().contains(&column.as_str()) {
                let known = ask.columns().join(", ");
                return Err(Error::By { column: column.clone(), question: ask.name(), known });
            }
        }
        if ask == Ask::Growth && mark.is_none() {
            return Err(Error::NeedsMark);
        }
        let mut columns: Vec<String> = Vec::new();
        let usual = [ask.usual().to_owned()];
        for column in if by.is_empty() { &usual } else { by } {
            if !columns.contains(column) {
                columns.push(column.clone());
            }
        }
        Ok(Question { ask, by: columns, figure, span, mark })
    }

    /// The query, without the source of `segments`. Answers are ordered, the worst first.
    #[must_use]
    pub fn sql(&self, dialect: Dialect) -> String {
        let during = self.span.sql(dialect);
        match self.ask {
            Ask::P99 => self.quantiles(&during),
            Ask::Headroom => self.headroom(&during),
            Ask::Failed => self.failed(&during),
            Ask::Growth => growth::sql(&self.by, self.mark.as_deref().unwrap_or_default(), &during),
            Ask::Hosts => hosts(&during),
            Ask::Marks => marks(&during),
        }
    }

    /// Histograms of each host are counts per value; their sum is the histogram of all.
    fn quantiles(&self, during: &str) -> String {
        let (by, figure) = (sql::list(&self.by, ""), self.figure.column());
        let with_host = if self.by.iter().any(|column| column == "host") { "" } else { ", host" };
        let (p50, p90, p99) = (sql::quantile(50), sql::quantile(90), sql::quantile(99));
        let told = |name: &str| sql::reported(name, "max_value");
        format!(
            "with histograms as (\n  select {by}{with_host}, {figure} as value, count(*) as n\n  from segments\n  \
             where type = 'exec' and seq > 0 and {figure} is not null{during}\n  group by {by}{with_host}, {figure}\n),\n\
             merged as (\n  select {by}{with_host}, value, n,\n    sum(n) over (partition by {by} order by value) as upto,\n    \
             sum(n) over (partition by {by}) as total\n  from histograms\n),\n\
             found as (\n  select {by}, count(distinct host) as hosts, cast(sum(n) as bigint) as execs,\n    {p50} as p50,\n    \
             {p90} as p90,\n    {p99} as p99,\n    max(value) as max_value\n  from merged group by {by}\n)\n\
             select {by}, hosts, execs,\n  {} as p50,\n  {} as p90,\n  {} as p99,\n  max_value as max\nfrom found\n\
             order by max_value desc, execs desc, {by}",
            told("p50"),
            told("p90"),
            told("p99"),
        )
    }

    /// The spawner's table belongs to the spawner, the program's to the program.
    fn headroom(&self, during: &str) -> String {
        let by = sql::list(&self.by, "");
        let with_host = if self.by.iter().any(|column| column == "host") { "" } else { ", host" };
        let life = |owner: &str, life: &str, from: &str, rows: &str| {
            let columns: Vec<String> = self.by.iter().map(|column| renamed(column, owner)).collect();
            format!(
                "  select {}{with_host}, '{life}' as life, {from}high_water as high_water, {from}soft_limit as soft_limit\n  \
                 from segments where {rows} and {from}high_water is not null{during}",
                columns.join(", ")
            )
        };
        let marks = [
            life("spawner", "spawn window", "window_", "type = 'exec' and seq > 0"),
            life("spawner", "before exec", "before_exec_", "type = 'exec' and seq > 0"),
            life("program", "program", "image_", "type = 'exec'"),
            life("program", "table", "", "type = 'table'"),
        ];
        format!(
            "with marks as (\n{}\n),\n\
             levels as (\n  select {by}{with_host}, life, soft_limit, max(high_water) as high_water\n  from marks\n  \
             group by {by}{with_host}, life, soft_limit\n),\n\
             places as (\n  select {by}{with_host}, life, high_water, soft_limit, greatest(soft_limit - high_water, 0) as headroom,\n    \
             row_number() over (\n      partition by {by}\n      order by greatest(soft_limit - high_water, 0), high_water desc, life, host\n    \
             ) as place\n  from levels\n)\n\
             select {by}{with_host}, life, high_water, soft_limit, headroom,\n  round(1e2 * headroom / nullif(soft_limit, 0), 1) as percent\n\
             from places where place = 1\norder by headroom, {by}",
            marks.join("\n  union all\n")
        )
    }

    fn failed(&self, during: &str) -> String {
        let (by, named) = (sql::list(&self.by, ""), sql::named(&self.by));
        let of = sql::list(&self.by, "execs.");
        let join: Vec<String> = self.by.iter().map(|column| format!("failed.{column} = execs.{column}")).collect();
        format!(
            "with failures as (\n  select {named}, host as machine, boot_id, trace, seq, time, failures as times,\n    \
             errno || ' from ' || syscall || ', ' || cause as what\n  from segments where type = 'failure'{during}\n  union all\n  \
             select {named}, host as machine, boot_id, trace, seq, time, cast(null as bigint),\n    \
             case when exit_signal is null then 'exit ' || cast(exit_code as string)\n      \
             else 'signal ' || cast(exit_signal as string) end\n  from segments\n  \
             where type = 'exec' and (exit_code <> 0 or exit_signal is not null){during}\n),\n\
             each_exec as (\n  select {by}, machine, boot_id, trace, seq, what, sum(times) as times,\n    \
             min(time) as first, max(time) as last\n  from failures group by {by}, machine, boot_id, trace, seq, what\n),\n\
             failed as (\n  select {by}, what, count(*) as failed, cast(sum(times) as bigint) as times,\n    \
             count(distinct machine) as hosts, min(first) as first, max(last) as last\n  from each_exec group by {by}, what\n),\n\
             execs as (\n  select {by}, count(*) as execs from (select {named} from segments where type = 'exec'{during}) as named\n  \
             group by {by}\n)\n\
             select {of}, what, failed, execs, times, hosts, first, last\nfrom failed join execs on {}\n\
             order by times is null, failed desc, {of}, what",
            join.join(" and ")
        )
    }
}

/// The name that a column has in the rows of `owner`'s table.
fn renamed(column: &str, owner: &str) -> String {
    if column == "program" && owner != "program" { format!("{owner} as program") } else { column.to_owned() }
}

fn hosts(during: &str) -> String {
    format!(
        "with found as (\n  select host, count(distinct boot_id) as boots, min(time) as first, max(time) as last,\n    \
         cast(sum(case when type = 'exec' and seq > 0 then 1 else 0 end) as bigint) as execs,\n    \
         cast(sum(case when type = 'exec' and failures > 0 then 1 else 0 end) as bigint) as refused,\n    \
         cast(coalesce(sum(lost), 0) as bigint) as lost, cast(coalesce(sum(missed), 0) as bigint) as missed,\n    \
         cast(coalesce(sum(skipped), 0) as bigint) as skipped, cast(coalesce(sum(dropped), 0) as bigint) as dropped\n  \
         from segments where true{during}\n  group by host\n)\n\
         select host, boots, first, last, execs, refused, lost, missed, skipped, dropped\nfrom found\n\
         order by lost + missed + skipped + dropped desc, host"
    )
}

fn marks(during: &str) -> String {
    format!(
        "select mark, count(distinct host) as hosts, min(time) as first, max(time) as last\nfrom segments \
         where type = 'mark'{during}\ngroup by mark\norder by last desc, mark"
    )
}

/// What there is in all, and what is missing: one row.
#[cfg(feature = "engine")]
pub(crate) fn coverage(span: &Span, dialect: Dialect) -> String {
    format!(
        "select count(distinct host) as hosts, min(time) as first, max(time) as last,\n  \
         coalesce(sum(lost), 0) as lost, coalesce(sum(missed), 0) as missed, coalesce(sum(skipped), 0) as skipped,\n  \
         coalesce(sum(dropped), 0) as dropped\nfrom segments where true{}",
        span.sql(dialect)
    )
}

/// Hosts with a mark: one row.
#[cfg(feature = "engine")]
pub(crate) fn marked(mark: &str) -> String {
    format!(
        "select count(distinct host) as hosts from segments where type = 'mark' and mark = {}",
        crate::dialect::quoted(mark)
    )
}

impl Span {
    fn sql(&self, dialect: Dialect) -> String {
        let mut out = String::new();
        for (moment, than) in [(&self.since, ">="), (&self.until, "<")] {
            if let Some(moment) = moment {
                out.push_str(&format!(" and time {than} {}", dialect.moment(moment)));
            }
        }
        out
    }
}
