//! BTF, the kernel's own description of its types: bytes in, member offsets out.
//!
//! Only what member look-up needs is kept: structures and unions, and the ways to them (Documentation/bpf/btf.rst, v6.12).

use std::ffi::CStr;

const MAGIC: u16 = 0xeb9f;

/// What is wrong with the bytes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BtfError {
    /// Not BTF at all, or of the other byte order.
    #[error("not BTF: magic is {0:#06x}, not 0xeb9f")]
    Magic(u16),
    /// The bytes end too early.
    #[error("BTF ends at byte {0} in the middle of a type")]
    Truncated(usize),
    /// A type kind that came after this version.
    #[error("type {id} has kind {kind}, which this version does not know")]
    Kind {
        /// Number of the type.
        id: u32,
        /// Its kind.
        kind: u32,
    },
}

/// The types of one kernel.
#[derive(Debug)]
pub struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    /// Where each type starts in `types`; type 0 is void.
    starts: Vec<u32>,
    /// The last type of each place of names; 0 for none.
    last: Vec<u32>,
    /// The type before each in its place. A map of a kernel's hundred thousand names takes longer to fill than all look-ups.
    before: Vec<u32>,
}

mod kind {
    pub const INT: u32 = 1;
    pub const PTR: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const FWD: u32 = 7;
    pub const TYPEDEF: u32 = 8;
    pub const VOLATILE: u32 = 9;
    pub const CONST: u32 = 10;
    pub const RESTRICT: u32 = 11;
    pub const FUNC: u32 = 12;
    pub const FUNC_PROTO: u32 = 13;
    pub const VAR: u32 = 14;
    pub const DATASEC: u32 = 15;
    pub const FLOAT: u32 = 16;
    pub const DECL_TAG: u32 = 17;
    pub const TYPE_TAG: u32 = 18;
    pub const ENUM64: u32 = 19;
}

/// Places of names.
const PLACES: usize = 1 << 14;

/// The place of a name, by its length and its end: many begin alike.
fn place(name: &[u8]) -> usize {
    let end = name.iter().rev().take(4).fold(name.len(), |sum, byte| sum * 31 + usize::from(*byte));
    end % PLACES
}

/// How deep structures may nest before the bytes are taken for nonsense.
const DEPTH: usize = 32;

impl<'a> Btf<'a> {
    /// Reads the section. `bytes` is the whole of `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    ///
    /// When the bytes are not BTF, are cut, or hold a kind of type that this version does not know.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BtfError> {
        let magic = u16::from_le_bytes(take(bytes, 0)?);
        if magic != MAGIC {
            return Err(BtfError::Magic(magic));
        }
        let header = word(bytes, 4)? as usize;
        let part = |offset: usize, len: usize| {
            let start = header.checked_add(offset).ok_or(BtfError::Truncated(bytes.len()))?;
            let end = start.checked_add(len).ok_or(BtfError::Truncated(bytes.len()))?;
            bytes.get(start..end).ok_or(BtfError::Truncated(bytes.len()))
        };
        let types = part(word(bytes, 8)? as usize, word(bytes, 12)? as usize)?;
        let strings = part(word(bytes, 16)? as usize, word(bytes, 20)? as usize)?;
        let mut btf = Self { types, strings, starts: vec![0], last: vec![0; PLACES], before: vec![0] };
        let mut at = 0;
        while at < types.len() {
            let id = btf.starts.len() as u32;
            btf.starts.push(at as u32);
            let (name, info) = named(types, at)?;
            let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            let extra = match kind {
                kind::INT | kind::VAR | kind::DECL_TAG => 4,
                kind::ARRAY => 12,
                kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12 * count,
                kind::ENUM | kind::FUNC_PROTO => 8 * count,
                kind::PTR
                | kind::FWD
                | kind::TYPEDEF
                | kind::VOLATILE
                | kind::CONST
                | kind::RESTRICT
                | kind::FUNC
                | kind::FLOAT
                | kind::TYPE_TAG => 0,
                _ => return Err(BtfError::Kind { id, kind }),
            };
            let looked_up = matches!(kind, kind::STRUCT | kind::FUNC | kind::TYPEDEF);
            btf.before.push(if looked_up {
                let place = place(btf.string(name));
                std::mem::replace(&mut btf.last[place], id)
            } else {
                0
            });
            at += 12 + extra;
            if at > types.len() {
                return Err(BtfError::Truncated(types.len()));
            }
        }
        Ok(btf)
    }

    /// Whether the kernel describes a function of this name.
    #[must_use]
    pub fn has_function(&self, name: &str) -> bool {
        self.find(kind::FUNC, name).is_some()
    }

    /// Whether the kernel describes a typedef of this name; each BTF tracepoint has one.
    #[must_use]
    pub fn has_typedef(&self, name: &str) -> bool {
        self.find(kind::TYPEDEF, name).is_some()
    }

    /// Whether the kernel describes a structure of this name.
    #[must_use]
    pub fn has_struct(&self, name: &str) -> bool {
        self.find(kind::STRUCT, name).is_some()
    }

    /// Byte offset of a member, dots between levels. Unnamed structures and unions in between are looked through, because
    /// kernels move members into and out of them. None if there is no such member, or if it is a bit field.
    #[must_use]
    pub fn offset(&self, strukt: &str, path: &str) -> Option<u32> {
        let mut id = self.find(kind::STRUCT, strukt)?;
        let mut offset = 0;
        for name in path.split('.') {
            let (at, member) = self.member(id, name.as_bytes(), DEPTH)?;
            offset += at;
            id = member;
        }
        Some(offset)
    }

    /// The first type of this kind and name.
    fn find(&self, kind: u32, name: &str) -> Option<u32> {
        let mut id = *self.last.get(place(name.as_bytes()))?;
        let mut found = None;
        while id != 0 {
            let (own, info) = named(self.types, *self.starts.get(id as usize)? as usize).ok()?;
            if info >> 24 & 0x1f == kind && self.string(own) == name.as_bytes() {
                found = Some(id);
            }
            id = *self.before.get(id as usize)?;
        }
        found
    }

    /// Offset and type of a member of `id`.
    fn member(&self, id: u32, name: &[u8], depth: usize) -> Option<(u32, u32)> {
        let (at, info) = self.plain(id)?;
        if depth == 0 || !matches!(info >> 24 & 0x1f, kind::STRUCT | kind::UNION) {
            return None;
        }
        let bit_fields = info >> 31 != 0;
        for index in 0..(info & 0xffff) as usize {
            let entry = at + 12 + 12 * index;
            let member_name = self.string(word(self.types, entry).ok()?);
            let member_type = word(self.types, entry + 4).ok()?;
            let raw = word(self.types, entry + 8).ok()?;
            let (bits, size) = if bit_fields { (raw & 0x00ff_ffff, raw >> 24) } else { (raw, 0) };
            if member_name.is_empty() {
                if let Some((inner, found)) = self.member(member_type, name, depth - 1) {
                    return Some((bits / 8 + inner, found));
                }
            } else if member_name == name {
                return (size == 0 && bits.is_multiple_of(8)).then_some((bits / 8, member_type));
            }
        }
        None
    }

    /// Start and info word of a type, with names and qualifiers taken off.
    fn plain(&self, mut id: u32) -> Option<(usize, u32)> {
        for _ in 0..DEPTH {
            if id == 0 {
                return None;
            }
            let at = *self.starts.get(id as usize)? as usize;
            let info = word(self.types, at + 4).ok()?;
            match info >> 24 & 0x1f {
                kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                    id = word(self.types, at + 8).ok()?;
                }
                _ => return Some((at, info)),
            }
        }
        None
    }

    fn string(&self, offset: u32) -> &'a [u8] {
        let rest = self.strings.get(offset as usize..).unwrap_or_default();
        CStr::from_bytes_until_nul(rest).map_or(rest, CStr::to_bytes)
    }
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], BtfError> {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied().ok_or(BtfError::Truncated(bytes.len()))
}

/// Place of the name in the strings, and the word of kind and count, of a type.
fn named(types: &[u8], at: usize) -> Result<(u32, u32), BtfError> {
    let words = u64::from_le_bytes(take(types, at)?);
    Ok((words as u32, (words >> 32) as u32))
}

fn word(bytes: &[u8], at: usize) -> Result<u32, BtfError> {
    take(bytes, at).map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct outer { int a; union { struct { int b; struct inner *c; }; long d; }; struct inner e; int f : 3; }`
    fn sample() -> Vec<u8> {
        let mut strings = vec![0u8];
        let mut name = |text: &str| {
            let at = strings.len() as u32;
            strings.extend(text.as_bytes());
            strings.push(0);
            at
        };
        let names: Vec<u32> =
            ["int", "outer", "a", "b", "c", "d", "e", "f", "inner", "x", "y", "do_it"].map(&mut name).into();
        let mut types = Vec::new();
        let mut put = |words: &[u32]| words.iter().for_each(|word| types.extend(word.to_le_bytes()));
        put(&[names[0], kind::INT << 24, 4, 32]); // 1 int
        put(&[names[8], kind::STRUCT << 24 | 2, 8, names[9], 1, 0, names[10], 1, 32]); // 2 inner
        put(&[0, kind::PTR << 24, 2]); // 3
        put(&[0, kind::STRUCT << 24 | 2, 16, names[3], 1, 0, names[4], 3, 64]); // 4
        put(&[0, kind::UNION << 24 | 2, 16, 0, 4, 0, names[5], 1, 0]); // 5
        put(&[0, kind::CONST << 24, 2]); // 6
        put(&[
            names[1],
            1 << 31 | kind::STRUCT << 24 | 4,
            40,
            names[2],
            1,
            0,
            0,
            5,
            64,
            names[6],
            6,
            192,
            names[7],
            1,
            3 << 24 | 256,
        ]); // 7 outer
        put(&[names[11], kind::FUNC << 24, 0]); // 8
        section(&types, &strings)
    }

    /// Both, with the header before them.
    fn section(types: &[u8], strings: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend([1, 0]);
        for word in [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(types);
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn members_are_found_through_unnamed_levels_and_qualifiers() {
        let bytes = sample();
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(btf.offset("outer", "a"), Some(0));
        assert_eq!(btf.offset("outer", "b"), Some(8));
        assert_eq!(btf.offset("outer", "c"), Some(16));
        assert_eq!(btf.offset("outer", "d"), Some(8));
        assert_eq!(btf.offset("outer", "e.y"), Some(28));
        assert!(btf.has_function("do_it") && btf.has_struct("inner"));
        assert!(!btf.has_struct("do_it") && !btf.has_typedef("inner"), "another kind of the same name");
    }

    /// Kernels have several structures of some names, and names that come to the same place.
    #[test]
    fn the_first_of_a_name_counts_whatever_shares_its_place() {
        let mut strings = vec![0u8];
        let mut types = Vec::new();
        let names: Vec<String> = (0..40_000).map(|n| format!("s{n}_tail")).chain(["s7_tail".to_owned()]).collect();
        for (index, name) in names.iter().enumerate() {
            let member = strings.len() as u32 + name.len() as u32 + 1;
            let words = [strings.len() as u32, kind::STRUCT << 24 | 1, 4, member, 0, 8 * index as u32];
            types.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            strings.extend(name.as_bytes());
            strings.extend(b"\0m\0");
        }
        let bytes = section(&types, &strings);
        let btf = Btf::parse(&bytes).unwrap();
        for (index, name) in names[..40_000].iter().enumerate().step_by(997).chain([(7, &names[7])]) {
            assert_eq!(btf.offset(name, "m"), Some(index as u32), "{name}");
        }
        assert!(!btf.has_struct("s40000_tail"));
    }

    #[test]
    fn what_is_not_there_has_no_offset() {
        let bytes = sample();
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(btf.offset("outer", "z"), None);
        assert_eq!(btf.offset("nobody", "a"), None);
        assert_eq!(btf.offset("outer", "a.x"), None);
        assert_eq!(btf.offset("outer", "f"), None, "a bit field has no byte offset");
        assert!(!btf.has_function("dont"));
    }

    #[test]
    fn every_cut_of_the_bytes_is_an_error_or_a_smaller_kernel_and_never_a_panic() {
        let bytes = sample();
        for end in 0..bytes.len() {
            if let Ok(btf) = Btf::parse(&bytes[..end]) {
                let _ = btf.offset("outer", "e.y");
            }
        }
        assert_eq!(Btf::parse(b"ELF!").unwrap_err(), BtfError::Magic(0x4c45));
    }
}
