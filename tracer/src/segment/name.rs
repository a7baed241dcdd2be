//! How segments are called. The name is given when a segment begins, so sending it twice writes the same object.

use serde::{Deserialize, Serialize};

use super::{columns::VERSION, row::Origin};
use crate::model::rfc3339;

/// Ends of files in the spool: still being written, closed, ready to be sent.
pub(super) const OPEN: &str = "open";
pub(super) const CLOSED: &str = "rows";
pub(super) const READY: &str = "parquet";

/// What stands at the start of every segment: in its metadata, and in the first line of its spool file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Head {
    /// Version of the columns.
    pub segment: u32,
    /// Version of fdtide that wrote it.
    pub fdtide: String,
    /// The machine.
    pub host: String,
    /// Its boot.
    pub boot_id: String,
    /// Day on which it began, UTC: `2026-08-01`.
    pub date: String,
    /// Where it belongs, below the place of all segments.
    pub object: String,
}

impl Head {
    /// Of the segment of this number that begins at this moment, boot time.
    #[must_use]
    pub fn new(origin: &Origin, number: u64, at_ns: u64) -> Head {
        let date = day(origin.wall_ns(at_ns));
        let boot: String = origin.boot_id.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
        let name = format!("{boot}-{:x}-{number:06}.v{VERSION}", origin.anchor.boot_ns);
        let host = encoded(&origin.host);
        Head {
            segment: VERSION,
            fdtide: env!("CARGO_PKG_VERSION").to_owned(),
            host: origin.host.clone(),
            boot_id: origin.boot_id.clone(),
            object: format!("date={date}/host={host}/{name}.{READY}"),
            date,
        }
    }

    /// Name of its file in the spool, without the end.
    pub(super) fn stem(&self) -> &str {
        let name = self.object.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(READY).and_then(|name| name.strip_suffix('.')).unwrap_or(name)
    }
}

/// The day of a moment, UTC.
pub(super) fn day(wall_ns: u64) -> String {
    rfc3339(wall_ns).chars().take(10).collect()
}

/// The version that the name of a segment tells; none if it is not one.
#[must_use]
pub fn version_of(object: &str) -> Option<u32> {
    let stem = object.rsplit('/').next()?.strip_suffix(READY)?.strip_suffix('.')?;
    stem.rsplit_once(".v")?.1.parse().ok()
}

/// A host's name as part of a path: what is not a letter, a digit, `-`, `_` or `.` is `%XX`, as Hive writes partitions.
fn encoded(host: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let text: String = host
        .bytes()
        .map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    // Not empty, nor a folder's own name or its parent's.
    if text.chars().all(|c| c == '.') { format!("unknown{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Anchor;

    #[test]
    fn a_name_tells_day_host_boot_run_number_and_version() {
        let origin = Origin {
            host: "web 1/..".to_owned(),
            boot_id: "1b2c3d4e-5f60-7180-aaaa-bbbbccccdddd".to_owned(),
            anchor: Anchor { boot_ns: 0x10, wall_unix_ns: 1_785_585_600_000_000_000 },
        };
        let head = Head::new(&origin, 7, 0x10 + 86_400_000_000_000);
        assert_eq!(head.object, "date=2026-08-02/host=web%201%2F../1b2c3d4e5f60-10-000007.v1.parquet");
        assert_eq!((head.stem(), head.date.as_str()), ("1b2c3d4e5f60-10-000007.v1", "2026-08-02"));
        assert_eq!(version_of(&head.object), Some(VERSION));
        for other in ["a.parquet", "a.v1.csv", "a.vx.parquet", "a.v.parquet", ""] {
            assert_eq!(version_of(other), None, "{other}");
        }
        assert_eq!((encoded(""), encoded("..")), ("unknown".to_owned(), "unknown..".to_owned()));
    }
}
