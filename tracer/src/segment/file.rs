//! A closed segment as Parquet.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_schema::ArrowError;
use parquet::{
    arrow::{ArrowWriter, arrow_writer::ArrowWriterOptions},
    basic::{Compression, ZstdLevel},
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties},
        reader::{FileReader as _, SerializedFileReader},
    },
};

use super::{
    Error, Head,
    columns::{self, Batch, Row},
    name::READY,
    spool,
};

/// Rows of a batch.
const ROWS: usize = 8192;

/// Rows on their way to Parquet.
pub struct Writer<W: Write + Send> {
    batch: Batch,
    out: ArrowWriter<W>,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn new(out: W, head: &Head) -> Result<Self, ArrowError> {
        let head = serde_json::to_string(head).map_err(|error| ArrowError::JsonError(error.to_string()))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("fdtide ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(vec![KeyValue::new(columns::KEY.to_owned(), head)]))
            // Segments are many and small, with many columns: what stands there for each column and page is most of them.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let schema = Arc::new(columns::schema());
        let out = ArrowWriter::try_new_with_options(out, Arc::clone(&schema), options)?;
        Ok(Self { batch: Batch::new(schema), out })
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn push(&mut self, row: &Row) -> Result<(), ArrowError> {
        self.batch.push(row);
        if self.batch.len() >= ROWS { Ok(self.out.write(&self.batch.take()?)?) } else { Ok(()) }
    }

    /// Nothing more comes.
    ///
    /// # Errors
    ///
    /// When the end can't be written.
    pub fn finish(mut self) -> Result<(), ArrowError> {
        if !self.batch.is_empty() {
            self.out.write(&self.batch.take()?)?;
        }
        self.out.finish()?;
        Ok(self.out.inner_mut().flush()?)
    }
}

/// Makes the Parquet file of closed rows beside them and removes the rows; gives its path.
///
/// # Errors
///
/// When the rows can't be read, or the file not be written: then there is none, and the rows stay.
pub fn convert(path: &Path) -> Result<PathBuf, Error> {
    let ready = path.with_extension(READY);
    let made = path.with_extension("tmp");
    let result = write(path, &made).and_then(|()| {
        fs::rename(&made, &ready).map_err(Error::file("rename", &made))?;
        spool::remove(path)
    });
    if result.is_err() {
        // The error that led here is told; what is half-written must not stay.
        let _ = fs::remove_file(&made);
    }
    result.map(|()| ready)
}

fn write(from: &Path, to: &Path) -> Result<(), Error> {
    let head = spool::read(from, |_| Ok(()))?;
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to);
    let file = file.map_err(Error::file("make", to))?;
    let failed = |source| Error::Rows { path: from.to_owned(), source };
    let mut writer = Writer::new(&file, &head).map_err(failed)?;
    spool::read(from, |row| writer.push(&row).map_err(failed))?;
    writer.finish().map_err(failed)?;
    // Before the rows go the file must be on the disk.
    file.sync_all().map_err(Error::file("write", to))
}

/// Head and number of rows of a segment.
///
/// # Errors
///
/// When it can't be read, is not a segment, or one of a later version.
pub fn look(path: &Path) -> Result<(Head, u64), Error> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(Error::file("open", path))?;
    let foreign = |why: String| Error::Foreign { name: name.clone(), why };
    let reader = SerializedFileReader::new(file).map_err(|error| foreign(error.to_string()))?;
    let known = reader.metadata().file_metadata();
    let pairs = known.key_value_metadata().map(Vec::as_slice).unwrap_or_default();
    let value = pairs.iter().find(|pair| pair.key == columns::KEY).and_then(|pair| pair.value.as_deref());
    Ok((head(&name, value)?, u64::try_from(known.num_rows()).unwrap_or(0)))
}

/// The head in a file's metadata; `value` is what stands there under [`columns::KEY`].
///
/// # Errors
///
/// When there is none, or it is of a later version.
pub fn head(name: &str, value: Option<&str>) -> Result<Head, Error> {
    let why = format!("its metadata has no `{}` of a segment", columns::KEY);
    let foreign = || Error::Foreign { name: name.to_owned(), why };
    let head: Head = value.and_then(|value| serde_json::from_str(value).ok()).ok_or_else(foreign)?;
    match head.segment {
        0 => Err(Error::Foreign { name: name.to_owned(), why: "it is another of fdtide's files".to_owned() }),
        version if version > columns::VERSION => {
            Err(Error::Newer { name: name.to_owned(), version, newest: columns::VERSION })
        }
        _ => Ok(head),
    }
}
