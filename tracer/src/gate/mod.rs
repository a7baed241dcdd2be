//! The gate: budgets on a report, verdicts, comparisons of two reports, the law of growth, audits.
//!
//! Knows reports only: nothing here reads files, prints, or looks at processes.

pub mod audit;
pub mod budget;
pub mod compare;
pub mod config;
mod grammar;
pub mod growth_budget;
pub mod init;
pub mod measure;
pub mod plan;
pub mod points;
pub mod problem;
mod reasons;
mod resting;
pub mod scale;
pub mod verdict;

#[cfg(test)]
mod tests;

pub use budget::Budget;
pub use points::Group;
pub use problem::Problem;
pub use verdict::{Check, Verdict, judge};
