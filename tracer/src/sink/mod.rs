//! From a [`Report`](crate::model::Report) to bytes, one file per format.

pub mod fields;
pub mod json;
pub mod jsonl;
pub mod text;

#[cfg(test)]
mod tests;
