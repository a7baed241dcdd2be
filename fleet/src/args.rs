//! What can be said on the command line.

use std::path::PathBuf;

use clap::{CommandFactory as _, Parser, ValueEnum};

#[cfg(feature = "engine")]
use crate::{Ask, Dialect, Figure};

const EXAMPLES: &str = "\
Examples:
  fdtide fleet /var/lib/fdtide/segments
  fdtide fleet 's3://bucket/fdtide/date=*/' --by program,host
  fdtide fleet 's3://bucket/fdtide/date=2026-08-*/' --question growth --since-mark 'deploy 1.4.2'
  fdtide fleet /srv/segments --sql \"select host, count(*) from segments where type = 'exec' group by host\"
  fdtide fleet 's3://bucket/fdtide/' --question headroom --print-sql duckdb | duckdb

A quantile is the least value that at least that share of the values does not exceed: exact up to 2047, within a thousandth
above, as in a report.

Exit status: 0 if there is an answer; 2 if there is none.";

/// Ask the segments of many machines: high-water, headroom, failures, growth since a release
#[derive(Debug, Parser)]
#[command(name = "fdtide-fleet", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Args {
    /// Folders, files or `s3://bucket/prefix` with segments; `*`, `?`, `[…]` and `**` match names
    #[arg(required = true, value_name = "PLACE")]
    pub places: Vec<String>,
    /// What is asked
    #[arg(short, long, value_enum, default_value = "p99", value_name = "QUESTION")]
    pub question: Asked,
    /// Columns to tell rows apart by: program, spawner, host, container
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub by: Vec<String>,
    /// Whose high-water mark per exec, for p99
    #[arg(long, value_enum, default_value = "window", value_name = "LIFE")]
    pub figure: Whose,
    /// Only from this moment on, UTC: `2026-08-01` or `2026-08-01T12:00:00Z`
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only before this moment
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// The mark that growth is told from
    #[arg(long, value_name = "TEXT")]
    pub since_mark: Option<String>,
    /// Your own SQL over the table `segments`
    #[arg(long, value_name = "SQL", conflicts_with_all = ["question", "by", "since_mark", "print_sql", "since", "until"])]
    pub sql: Option<String>,
    /// Ask nothing, and print the SQL for this engine
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub print_sql: Option<Printed>,
    /// How the answer is written
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub format: Format,
    /// Rows of a text at most; 20 if not told
    #[arg(long, value_name = "N")]
    pub rows: Option<usize>,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Asked {
    /// High-water per exec: quantiles over all hosts
    P99,
    /// Least headroom, and in which life of a table
    Headroom,
    /// Execs to which descriptors were refused, or that ended in failure
    Failed,
    /// Levels before and after a mark, and whether they go on growing
    Growth,
    /// What there is of each host, and what is missing
    Hosts,
    /// Marks
    Marks,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Whose {
    /// The spawner's table, in the spawn window
    Window,
    /// The child's, between fork and exec
    BeforeExec,
    /// The program's own
    Image,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Printed {
    /// DuckDB
    Duckdb,
    /// Spark SQL
    Spark,
    /// What this program runs
    Datafusion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One document
    Json,
    /// RFC 4180
    Csv,
}

/// What can be said on the command line, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Args::command()
}

#[cfg(feature = "engine")]
impl Asked {
    pub fn ask(self) -> Ask {
        match self {
            Asked::P99 => Ask::P99,
            Asked::Headroom => Ask::Headroom,
            Asked::Failed => Ask::Failed,
            Asked::Growth => Ask::Growth,
            Asked::Hosts => Ask::Hosts,
            Asked::Marks => Ask::Marks,
        }
    }
}

#[cfg(feature = "engine")]
impl Whose {
    pub fn figure(self) -> Figure {
        match self {
            Whose::Window => Figure::Window,
            Whose::BeforeExec => Figure::BeforeExec,
            Whose::Image => Figure::Image,
        }
    }
}

#[cfg(feature = "engine")]
impl Printed {
    pub fn dialect(self) -> Dialect {
        match self {
            Printed::Duckdb => Dialect::Duckdb,
            Printed::Spark => Dialect::Spark,
            Printed::Datafusion => Dialect::Datafusion,
        }
    }
}
