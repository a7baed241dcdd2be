//! Questions to the segments of many machines, asked of DataFusion; the same SQL is given for DuckDB and Spark.
//!
//! The way is one direction: place and files, question, SQL, rows, output. Without the feature `engine` there is only what
//! needs no engine: the command line's definitions, for manual pages, and the SQL.

mod args;
#[cfg(feature = "engine")]
mod cli;
mod dialect;
#[cfg(feature = "engine")]
mod engine;
mod error;
mod growth;
#[cfg(feature = "engine")]
mod out;
mod question;
#[cfg(feature = "engine")]
mod source;
mod sql;
#[cfg(feature = "engine")]
mod table;

pub use args::command;
#[cfg(feature = "engine")]
pub use cli::main;
pub use dialect::Dialect;
pub use error::Error;
pub use question::{Ask, Figure, Question, Span};
