//! What can go wrong with a question.

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A place that can't be used.
    #[error(transparent)]
    Place(#[from] fdtide::segment::Error),
    /// A pattern that is none.
    #[error("`{url}` has a pattern that can't be read: {why}")]
    Pattern {
        /// As it was written.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing to read.
    #[error(
        "no segment matches `{url}`: they end in `.parquet`, and lie in `date=YYYY-MM-DD/host=NAME/` below the agent's `url`"
    )]
    Nothing {
        /// As it was written.
        url: String,
    },
    /// Places that are not in one store.
    #[error("`{first}` and `{second}` are in two stores: ask one at a time")]
    TwoStores {
        /// One.
        first: String,
        /// Another.
        second: String,
    },
    /// A store that did not list.
    #[error("failed to list `{url}`")]
    List {
        /// As it was written.
        url: String,
        /// Why.
        source: object_store::Error,
    },
    /// A file that can't be read.
    #[error("failed to read `{name}`: {why}")]
    Read {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// A column that a question can't be asked by.
    #[error("`--by {column}`: {question} can be asked by {known}")]
    By {
        /// As it was written.
        column: String,
        /// Name of the question.
        question: &'static str,
        /// What there is.
        known: String,
    },
    /// No mark of this text.
    #[error("no host has the mark `{text}`; {known}")]
    NoMark {
        /// As it was written.
        text: String,
        /// Marks that there are.
        known: String,
    },
    /// The question needs a mark.
    #[error("`--question growth` needs a moment: name a mark with --since-mark, `--question marks` lists them")]
    NeedsMark,
    /// A moment that can't be read.
    #[error("`{text}` is no moment: write `2026-08-01` or `2026-08-01T12:00:00Z`")]
    Moment {
        /// As it was written.
        text: String,
    },
    /// The engine refused.
    #[error("the query failed: {0}")]
    Query(String),
    /// Output that can't be written.
    #[error("failed to write the answer")]
    Write(#[from] std::io::Error),
}

#[cfg(feature = "engine")]
impl From<datafusion::error::DataFusionError> for Error {
    fn from(error: datafusion::error::DataFusionError) -> Self {
        Error::Query(error.strip_backtrace())
    }
}
