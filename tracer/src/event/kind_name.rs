//! A kind of descriptor as its name, for serde's `with`.

use serde::{Deserialize, Deserializer, Serializer};

use crate::event::Kind;

/// Writes the name.
pub fn serialize<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

/// Reads a name; one that this version does not know is [`Kind::Unknown`].
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    String::deserialize(deserializer).map(|name| parse(&name).unwrap_or(Kind::Unknown))
}

/// The kind of this name.
pub fn parse(name: &str) -> Option<Kind> {
    Kind::ALL.iter().copied().find(|kind| kind.name() == name)
}
