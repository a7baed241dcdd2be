//! The gate: budgets on a report, verdicts, comparisons of two reports.
//!
//! Knows reports only: nothing here reads files, prints, or looks at processes.

pub mod budget;
pub mod compare;
pub mod config;
mod grammar;
pub mod init;
pub mod measure;
pub mod points;
pub mod problem;
mod reasons;
mod resting;
pub mod verdict;

#[cfg(test)]
mod tests;

pub use budget::Budget;
pub use points::Group;
pub use problem::Problem;
pub use verdict::{Check, Verdict, judge};
