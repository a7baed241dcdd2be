//! Compositions: how many descriptors of each kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::event::{Kind, kind_name};

/// Descriptors by kind, only kinds that occur, in the order of the kinds' numbers. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kinds(Arc<[(Kind, u32)]>);

impl Kinds {
    /// Counts indexed by a kind's number; numbers that this version does not know count as [`Kind::Unknown`].
    pub fn from_counts(counts: &[u32]) -> Kinds {
        counts.iter().zip(0..).map(|(count, raw)| (Kind::from_raw(raw).unwrap_or(Kind::Unknown), *count)).collect()
    }

    /// How many of this kind.
    pub fn get(&self, kind: Kind) -> u32 {
        self.0.iter().find(|(k, _)| *k == kind).map_or(0, |(_, count)| *count)
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// Kinds and counts, in the order of the kinds' numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, u32)> + '_ {
        self.0.iter().copied()
    }

    /// Kinds and counts, most first.
    pub fn by_count(&self) -> Vec<(Kind, u32)> {
        let mut pairs = self.0.to_vec();
        pairs.sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), *kind));
        pairs
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Kinds(Arc::from([]))
    }
}

/// Doubles are added up, zeros left out.
impl FromIterator<(Kind, u32)> for Kinds {
    fn from_iter<I: IntoIterator<Item = (Kind, u32)>>(pairs: I) -> Self {
        let mut sum: Vec<(Kind, u32)> = Vec::new();
        for (kind, count) in pairs {
            match sum.iter_mut().find(|(k, _)| *k == kind) {
                _ if count == 0 => {}
                Some((_, total)) => *total = total.saturating_add(count),
                None => sum.push((kind, count)),
            }
        }
        sum.sort_by_key(|(kind, _)| *kind);
        Kinds(sum.into())
    }
}

/// As an object: kind's name to count.
impl Serialize for Kinds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(kind, count)| (kind.name(), count)))
    }
}

/// Kinds that this version does not know count as [`Kind::Unknown`].
impl<'de> Deserialize<'de> for Kinds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let counts = BTreeMap::<String, u32>::deserialize(deserializer)?;
        let kind = |name: &str| kind_name::parse(name).unwrap_or(Kind::Unknown);
        Ok(counts.iter().map(|(name, count)| (kind(name), *count)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_a_later_version_counts_as_unknown() {
        let mut counts = [0; 48];
        counts[4] = 987;
        counts[41] = 1;
        counts[47] = 2;
        let kinds = Kinds::from_counts(&counts);
        assert_eq!(kinds.get(Kind::OPath), 987);
        assert_eq!(kinds.get(Kind::Unknown), 3);
        assert_eq!(kinds.total(), 990);
        assert_eq!(serde_json::to_string(&kinds).unwrap(), r#"{"o_path":987,"unknown":3}"#);
    }

    #[test]
    fn most_comes_first_by_count() {
        let kinds: Kinds = [(Kind::File, 1), (Kind::Pipe, 9), (Kind::Dir, 0)].into_iter().collect();
        assert_eq!(kinds.by_count(), [(Kind::Pipe, 9), (Kind::File, 1)]);
    }

    #[test]
    fn what_was_written_is_read_back_and_later_kinds_are_unknown() {
        let kinds: Kinds = [(Kind::File, 1), (Kind::SocketTcp, 9)].into_iter().collect();
        let text = serde_json::to_string(&kinds).unwrap();
        assert_eq!(serde_json::from_str::<Kinds>(&text).unwrap(), kinds);
        let later: Kinds = serde_json::from_str(r#"{"file":1,"hologram":2,"unknown":3}"#).unwrap();
        assert_eq!((later.get(Kind::File), later.get(Kind::Unknown)), (1, 5));
    }
}
