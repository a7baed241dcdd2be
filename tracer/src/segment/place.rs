//! Where segments are kept: a folder, or object storage.

use std::{
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use object_store::{
    BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    local::LocalFileSystem,
};
use url::Url;

use super::Error;

/// One attempt to send may take so long.
const ATTEMPT: Duration = Duration::from_secs(30);

/// A store, and where in it.
#[derive(Clone, Debug)]
pub struct Place {
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// Scheme and bucket, or `file:///`.
    pub base: Url,
    /// Below the base, as it was written; may hold `*`, `?` and `[…]`. Without slashes at its ends.
    pub prefix: String,
}

impl Place {
    /// A folder, `file:///folder` or `s3://bucket/prefix`. Where S3 is, and as whom to speak to it, is told by the usual
    /// variables: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`, and `AWS_ALLOW_HTTP=true`
    /// for an endpoint without TLS.
    ///
    /// # Errors
    ///
    /// When it names no place, or the store can't be set up.
    pub fn parse(url: &str) -> Result<Place, Error> {
        let wrong = || Error::Place { url: url.to_owned() };
        let Some((scheme, rest)) = url.split_once("://") else {
            return if url.is_empty() { Err(wrong()) } else { Place::folder(Path::new(url), url) };
        };
        match scheme {
            "file" if rest.starts_with('/') => Place::folder(Path::new(rest), url),
            "s3" | "s3a" => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                if bucket.is_empty() || bucket.contains(['*', '?', '[']) {
                    return Err(wrong());
                }
                let base = Url::parse(&format!("s3://{bucket}/")).map_err(|_| wrong())?;
                Ok(Place { store: s3(bucket, url)?, base, prefix: prefix.trim_matches('/').to_owned() })
            }
            _ => Err(wrong()),
        }
    }

    /// The folder, where it is one.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        (self.base.scheme() == "file").then(|| PathBuf::from(format!("/{}", self.prefix)))
    }

    fn folder(path: &Path, url: &str) -> Result<Place, Error> {
        let absolute = std::path::absolute(path).map_err(Error::file("look at", path))?;
        let text = absolute.to_str().ok_or_else(|| Error::Place { url: url.to_owned() })?;
        let base = Url::parse("file:///").map_err(|_| Error::Place { url: url.to_owned() })?;
        let store = Arc::new(LocalFileSystem::new());
        Ok(Place { store, base, prefix: text.trim_matches('/').to_owned() })
    }

    /// Makes the folder, for this user alone, where it is one and missing.
    ///
    /// # Errors
    ///
    /// When it can't be made.
    pub fn make(&self) -> Result<(), Error> {
        let Some(folder) = self.path() else { return Ok(()) };
        let made = DirBuilder::new().mode(0o700).recursive(true).create(&folder);
        made.map_err(Error::file("make the folder", &folder))
    }

    /// An object below it.
    #[must_use]
    pub fn object(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }

    /// As a person would write an object of it.
    #[must_use]
    pub fn shown(&self, object: &str) -> String {
        if self.base.scheme() == "file" { format!("/{object}") } else { format!("{}{object}", self.base) }
    }
}

fn s3(bucket: &str, url: &str) -> Result<Arc<dyn ObjectStore>, Error> {
    // Whoever calls tries again by himself: a few quick attempts are enough here.
    let retry = RetryConfig {
        backoff: BackoffConfig { init_backoff: Duration::from_millis(100), ..BackoffConfig::default() },
        max_retries: 3,
        retry_timeout: ATTEMPT,
    };
    let built = AmazonS3Builder::from_env()
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), "30 seconds")
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::ConnectTimeout), "5 seconds")
        .with_bucket_name(bucket)
        .with_retry(retry);
    let store = built.build().map_err(|source| Error::Store { url: url.to_owned(), source })?;
    Ok(Arc::new(store))
}
