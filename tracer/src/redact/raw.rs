//! Names inside the kernel's records, which recordings keep as they are.

use std::{borrow::Cow, mem::offset_of, net::Ipv6Addr};

use fdtide_abi::event::{DescriptorRecord, ExecRecord, FILENAME, Header, NAME, NAMES, record};

use super::Redactor;
use crate::event::{Event, Name, decode};

impl Redactor {
    /// A record without its names; nothing of one that can't be read, which counts as skipped then as before.
    #[must_use]
    pub fn raw<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let fits = |size: usize| bytes.get(..size).map(<[u8]>::to_vec);
        match kind(bytes) {
            Some(record::EXEC) => Cow::Owned(fits(size_of::<ExecRecord>()).map_or(Vec::new(), |raw| self.exec(raw))),
            Some(record::DESCRIPTOR) => {
                Cow::Owned(fits(size_of::<DescriptorRecord>()).map_or(Vec::new(), |raw| self.descriptor(raw)))
            }
            // Without a name that would have to go, if they are what this version knows: a longer one is of another.
            Some(
                record::PROC
                | record::EXIT
                | record::TABLE
                | record::MOVE
                | record::CENSUS
                | record::SLOT
                | record::REMOVED,
            ) if decode(bytes).is_ok() => Cow::Borrowed(bytes.get(..length(bytes)).unwrap_or(bytes)),
            _ => Cow::Owned(Vec::new()),
        }
    }

    fn exec(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let Ok(Event::Exec(event)) = decode(&bytes) else { return Vec::new() };
        let mut path = self.program(&event.path);
        if event.path.as_bytes().len() >= FILENAME - 1 {
            // Its end may be missing, and the process's name then stands for the program's.
            let folder = self.word("dir", event.path.as_bytes());
            path = Name::from_bytes(&[folder.as_bytes(), b"/", event.process.comm.as_bytes()].concat());
        }
        put(&mut bytes, offset_of!(ExecRecord, filename), FILENAME, path.as_bytes());
        bytes
    }

    fn descriptor(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let Ok(Event::Descriptor(row)) = decode(&bytes) else { return Vec::new() };
        let names = offset_of!(DescriptorRecord, names);
        let first = bytes.get(names).copied();
        put(&mut bytes, names, NAME * NAMES, b"");
        if row.socket.is_some() {
            let word = self.word("socket", row.name.as_bytes());
            if !row.name.is_empty() {
                // An abstract name begins with a zero.
                let at = names + usize::from(first == Some(0));
                put(&mut bytes, at, NAME * 2 - 1, word.as_bytes());
            }
            for at in [offset_of!(DescriptorRecord, local), offset_of!(DescriptorRecord, remote)] {
                let family = row.socket.map_or(0, |socket| socket.family);
                if let Some(address) = bytes.get_mut(at..at + 16) {
                    self.address(family, address);
                }
            }
            return bytes;
        }
        let path = row.name.as_bytes();
        if path.is_empty() || path == b"/" {
            return bytes;
        }
        let base = row.name.basename();
        let folder = path.strip_suffix(base.as_bytes()).unwrap_or_default();
        put(&mut bytes, names, NAME, self.word(row.kind.name(), path).as_bytes());
        let depth = if folder.is_empty() || folder == b"/" { 0 } else { 1 };
        if depth == 1 {
            put(&mut bytes, names + NAME, NAME, self.word("dir", folder).as_bytes());
        }
        if row.name.as_bytes().first() == Some(&b'/')
            && let Some(root) = bytes.get_mut(names + NAME * (depth + 1))
        {
            *root = b'/';
        }
        bytes
    }

    /// An address becomes one that nobody can have: of IPv4 in the reserved range 240.0.0.0/4, of IPv6 in the range for
    /// documentation, 2001:db8::/32. Those without a host in them, and the machine's own, say nothing and stay.
    fn address(&self, family: u16, bytes: &mut [u8]) {
        let whole: [u8; 16] = bytes.try_into().unwrap_or_default();
        let v6 = Ipv6Addr::from(whole);
        match family {
            AF_INET if whole[..4] != [0; 4] && whole[0] != 127 => {
                let hash = self.hash(&whole[..4]) as u32;
                bytes[..4].copy_from_slice(&(0xf000_0000 | hash >> 4).to_be_bytes());
            }
            AF_INET6 if !v6.is_unspecified() && !v6.is_loopback() => {
                bytes[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
                bytes[4..8].fill(0);
                bytes[8..].copy_from_slice(&self.hash(&whole).to_be_bytes());
            }
            AF_INET | AF_INET6 => {}
            _ => bytes.fill(0),
        }
    }
}

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

fn kind(bytes: &[u8]) -> Option<u32> {
    word(bytes, offset_of!(Header, kind))
}

/// Bytes of the record as its header tells them.
fn length(bytes: &[u8]) -> usize {
    word(bytes, offset_of!(Header, len)).map_or(0, |len| len as usize)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

/// Puts text into a field of this size, with zeros behind it, at least one.
fn put(bytes: &mut [u8], at: usize, size: usize, text: &[u8]) {
    if let Some(field) = bytes.get_mut(at..at + size) {
        field.fill(0);
        field.iter_mut().take(size - 1).zip(text).for_each(|(to, from)| *to = *from);
    }
}
