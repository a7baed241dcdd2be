//! From places as they are written to the files that are meant.

use fdtide::segment::{Place, version_of};
use futures::TryStreamExt as _;
use glob::{MatchOptions, Pattern};
use object_store::{ObjectMeta, ObjectStore as _, path::Path};

use crate::Error;

/// `*` does not match a slash.
const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false };
/// Characters that make a part of a path a pattern.
const SPECIAL: [char; 3] = ['*', '?', '['];

/// Files of one store.
#[derive(Debug)]
pub struct Files {
    /// Where they are.
    pub place: Place,
    /// What they are, by name.
    pub files: Vec<ObjectMeta>,
}

/// The segments below these places; a place may hold `*`, `?`, `[…]` and `**`.
///
/// # Errors
///
/// When there is none, or the store can't be used.
pub async fn find(urls: &[String]) -> Result<Files, Error> {
    let mut all: Option<Files> = None;
    for url in urls {
        let place = Place::parse(url)?;
        let mut files = list(&place, url).await?;
        if files.is_empty() {
            return Err(Error::Nothing { url: url.clone() });
        }
        match &mut all {
            None => all = Some(Files { place, files }),
            Some(all) if all.place.base == place.base => all.files.append(&mut files),
            Some(_) => return Err(Error::TwoStores { first: urls[0].clone(), second: url.clone() }),
        }
    }
    let mut all = all.ok_or_else(|| Error::Nothing { url: String::new() })?;
    // Places may overlap; a segment counts once.
    all.files.sort_by(|one, other| one.location.cmp(&other.location));
    all.files.dedup_by(|one, other| one.location == other.location);
    Ok(all)
}

async fn list(place: &Place, url: &str) -> Result<Vec<ObjectMeta>, Error> {
    let (literal, rest) = split(&place.prefix);
    let pattern = |text: &str| {
        Pattern::new(text).map_err(|error| Error::Pattern { url: url.to_owned(), why: error.msg.to_owned() })
    };
    let patterns = match rest {
        "" => None,
        rest => Some([pattern(rest)?, pattern(&format!("{rest}/**/*"))?]),
    };
    let failed = |source| Error::List { url: url.to_owned(), source };
    let prefix = Path::parse(literal).map_err(|error| failed(error.into()))?;
    if literal.ends_with(".parquet") && patterns.is_none() {
        let head = object_store::ObjectStoreExt::head(&place.store, &prefix).await;
        return match head {
            Ok(meta) => Ok(vec![meta]),
            Err(object_store::Error::NotFound { .. }) => Ok(Vec::new()),
            Err(error) => Err(failed(error)),
        };
    }
    let listed: Vec<ObjectMeta> = place.store.list(Some(&prefix)).try_collect().await.map_err(failed)?;
    let below = |meta: &ObjectMeta| {
        let name = meta.location.as_ref().strip_prefix(literal).unwrap_or_default().trim_start_matches('/').to_owned();
        patterns.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| pattern.matches_with(&name, OPTIONS)))
    };
    let ours = |meta: &ObjectMeta| meta.location.as_ref().ends_with(".parquet");
    Ok(listed.into_iter().filter(|meta| ours(meta) && below(meta)).collect())
}

/// What stands before the first part with a pattern, and the rest.
fn split(prefix: &str) -> (&str, &str) {
    let Some(special) = prefix.find(SPECIAL) else { return (prefix, "") };
    match prefix[..special].rfind('/') {
        Some(slash) => (&prefix[..slash], &prefix[slash + 1..]),
        None => ("", prefix),
    }
}

/// Refuses what a later fdtide wrote, by its name; what the names do not tell the files do.
///
/// # Errors
///
/// When there is one.
pub fn refuse_newer(files: &Files) -> Result<(), Error> {
    let newest = fdtide::segment::columns::VERSION;
    for file in &files.files {
        let name = files.place.shown(file.location.as_ref());
        if let Some(version) = version_of(&name).filter(|version| *version > newest) {
            return Err(fdtide::segment::Error::Newer { name, version, newest }.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_listed_is_told_from_what_is_matched() {
        assert_eq!(split("a/b"), ("a/b", ""));
        assert_eq!(split("a/date=*/host=web?"), ("a", "date=*/host=web?"));
        assert_eq!(split("date=*"), ("", "date=*"));
        assert_eq!(split(""), ("", ""));
    }
}
