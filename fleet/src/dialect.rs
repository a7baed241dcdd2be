//! Where the three engines differ: how segments are read, and how a moment is written.

/// Who is to run the SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// This program.
    Datafusion,
    /// DuckDB.
    Duckdb,
    /// Spark SQL.
    Spark,
}

impl Dialect {
    /// A moment as a literal; `text` is RFC 3339, in UTC.
    #[must_use]
    pub fn moment(self, text: &str) -> String {
        match self {
            Dialect::Duckdb => format!("timestamptz '{text}'"),
            Dialect::Datafusion | Dialect::Spark => format!("timestamp '{text}'"),
        }
    }

    /// The statements that make the table `segments` of these places, as they were written.
    #[must_use]
    pub fn source(self, urls: &[String]) -> String {
        match self {
            Dialect::Datafusion => {
                format!("-- `segments` is what `fdtide fleet` makes of {}\n", urls.join(" "))
            }
            Dialect::Duckdb => {
                let files: Vec<String> = urls.iter().map(|url| quoted(&below(url, "**/*.parquet"))).collect();
                format!(
                    "create or replace temp view segments as\nselect * from read_parquet([{}], union_by_name = true, \
                     hive_partitioning = false);\n",
                    files.join(", ")
                )
            }
            Dialect::Spark => {
                let read: Vec<String> = urls.iter().enumerate().map(|(at, url)| spark(at, url)).collect();
                let all: Vec<String> = (0..urls.len()).map(|at| format!("select * from segments_{at}")).collect();
                format!(
                    "{}create or replace temporary view segments as\n{};\n",
                    read.concat(),
                    all.join("\nunion all\n")
                )
            }
        }
    }

    /// What stands after the last statement.
    #[must_use]
    pub fn end(self) -> &'static str {
        ";\n"
    }
}

fn spark(at: usize, url: &str) -> String {
    let path = quoted(&below(&url.replacen("s3://", "s3a://", 1), ""));
    // Folders are not partitions here: day and host are in the rows.
    format!(
        "create or replace temporary view segments_{at} using parquet options (\n  path {path},\n  mergeSchema 'true',\n  \
         recursiveFileLookup 'true',\n  pathGlobFilter '*.parquet'\n);\n"
    )
}

/// Files below a place that is not a file itself.
fn below(url: &str, files: &str) -> String {
    if url.ends_with(".parquet") {
        return url.to_owned();
    }
    let url = url.trim_end_matches('/');
    if files.is_empty() { url.to_owned() } else { format!("{url}/{files}") }
}

/// A text as a literal.
#[must_use]
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
