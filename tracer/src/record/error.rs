//! What can go wrong with a recording.

use std::{io, path::PathBuf};

/// A recording of which nothing can be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file can't be opened.
    #[error("failed to open the recording `{path}`", path = path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file can't be read.
    #[error("failed to read the recording")]
    Read(#[source] io::Error),
    /// It is something else.
    #[error("not a recording of fdtide: {0}")]
    Foreign(String),
    /// It breaks off, or is damaged, before the first row.
    #[error("the recording {0} before its first row: nothing of it can be read")]
    NoStart(String),
    /// It was made by a version that knows more.
    #[error("the recording has format {format}, of fdtide {version}: read it with that version or a later one")]
    Newer {
        /// Its format.
        format: u32,
        /// The version that wrote it.
        version: String,
    },
    /// It was made with other kernel records.
    #[error(
        "the recording was made by fdtide {version}, whose kernel records (layout {abi}) are not those of fdtide {}: \
         read it with that version",
        env!("CARGO_PKG_VERSION")
    )]
    Layout {
        /// Its layout.
        abi: u32,
        /// The version that wrote it.
        version: String,
    },
}
