//! Questions to the segments of many machines, asked of DataFusion; the same SQL is given for DuckDB and Spark.
//!
//! The way is one direction: place and files, question, SQL, rows, output.

pub mod cli;
mod dialect;
mod engine;
mod error;
mod growth;
mod out;
mod question;
mod source;
mod sql;
mod table;

pub use cli::{command, main};
pub use dialect::Dialect;
pub use error::Error;
pub use question::{Ask, Figure, Question, Span};
