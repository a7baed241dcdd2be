//! Rows as Parquet.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};

use super::Table;

/// Writes one Parquet file, zstd.
pub struct Parquet<W: Write + Send> {
    out: ArrowWriter<W>,
}

impl<W: Write + Send> Parquet<W> {
    /// Begins the file.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn new(out: W, schema: SchemaRef) -> Result<Self, ArrowError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()))
            .set_created_by(concat!("fdtide ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        Ok(Self { out: ArrowWriter::try_new(out, schema, Some(properties))? })
    }
}

impl<W: Write + Send> Table for Parquet<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        Ok(self.out.write(batch)?)
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        self.out.finish()?;
        Ok(self.out.inner_mut().flush()?)
    }
}
