//! From a [`Report`](crate::model::Report) to bytes, one file per format.

pub mod audit;
pub mod compare;
pub mod fields;
pub mod hdr;
pub mod html;
pub mod json;
pub mod jsonl;
pub mod perfetto;
pub mod rows;
pub mod scale;
pub mod text;
pub mod verdict;

#[cfg(test)]
mod tests;
