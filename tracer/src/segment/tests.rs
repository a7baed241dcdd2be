//! Segments from the model's rows to files in their place, and what may come between.

use std::{
    fs,
    path::{Path, PathBuf},
};

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

use super::{
    columns::{Batch, COLUMNS, Row, schema},
    *,
};

#[test]
fn placeholder() {
    let _ = (COLUMNS.len(), schema().fields().len());
    let _ = (Batch::new(Arc::new(schema())).len(), Row::default());
    let _: Option<(TempDir, PathBuf, &Path)> = None;
    let _ = fs::metadata("/");
    let _ = ParquetRecordBatchReaderBuilder::<fs::File>::try_new;
}
