//! What can go wrong with segments.

use std::{io, path::PathBuf};

/// Why segments can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A place that no store serves.
    #[error("`{url}` is no place for segments: name a folder, `file:///folder` or `s3://bucket/prefix`")]
    Place {
        /// As it was written.
        url: String,
    },
    /// A place that could not be set up.
    #[error("failed to use `{url}`")]
    Store {
        /// As it was written.
        url: String,
        /// Why.
        source: object_store::Error,
    },
    /// The spool is another agent's.
    #[error("the spool `{}` is in use by another agent: give each agent a spool of its own", path.display())]
    InUse {
        /// Its folder.
        path: PathBuf,
    },
    /// A file or folder that could not be worked with.
    #[error("failed to {verb} `{}`", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Rows that could not become a file.
    #[error("failed to write the rows of `{}` as Parquet", path.display())]
    Rows {
        /// The spooled rows.
        path: PathBuf,
        /// Why not.
        source: arrow_schema::ArrowError,
    },
    /// A file that is not one of fdtide's segments.
    #[error("`{name}` is no segment of fdtide: {why}")]
    Foreign {
        /// The file.
        name: String,
        /// What it lacks.
        why: String,
    },
    /// A segment of a later version.
    #[error("`{name}` is a segment of version {version}, and this program reads up to {newest}: update it")]
    Newer {
        /// The file.
        name: String,
        /// Its version.
        version: u32,
        /// The newest that is known here.
        newest: u32,
    },
    /// Sending did not come to an end, and is tried again.
    #[error("failed to send `{name}`")]
    Send {
        /// Where to.
        name: String,
        /// Why not.
        source: object_store::Error,
    },
}

impl Error {
    /// For a file or folder.
    pub(super) fn file(verb: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { verb, path, source }
    }
}
