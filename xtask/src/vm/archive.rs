//! An initramfs: cpio archives of the "newc" kind, as the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`
//! describes them.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;

/// Files at the paths that they will have in the guest.
#[derive(Clone, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    names: BTreeSet<PathBuf>,
    inodes: u32,
}

impl Archive {
    /// A folder and those above it.
    pub fn folder(&mut self, path: &Path) -> Result<()> {
        let mut above = PathBuf::new();
        for part in path.components() {
            above.push(part);
            if part != Component::RootDir && self.names.insert(above.clone()) {
                self.entry(&above, DIRECTORY, &[])?;
            }
        }
        Ok(())
    }

    /// A file with this content; the first one at a path stays.
    pub fn file(&mut self, path: &Path, executable: bool, content: &[u8]) -> Result<()> {
        self.folder(path.parent().context("the root folder is no file")?)?;
        if self.names.insert(path.to_owned()) {
            self.entry(path, REGULAR | if executable { 0o755 } else { 0o644 }, content)?;
        }
        Ok(())
    }

    /// A file of this machine, at its own path, links followed.
    pub fn copy(&mut self, path: &Path) -> Result<()> {
        let read = || -> io::Result<_> { Ok((fs::read(path)?, fs::metadata(path)?.permissions().mode())) };
        let (content, mode) = read().with_context(|| format!("failed to read `{}`", path.display()))?;
        self.file(path, mode & 0o100 != 0, &content)
    }

    /// The archive with its end mark.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.entry(Path::new("TRAILER!!!"), 0, &[])?;
        Ok(self.bytes)
    }

    fn entry(&mut self, path: &Path, mode: u32, content: &[u8]) -> Result<()> {
        let name = path.strip_prefix("/").unwrap_or(path);
        let Some(name) = name.to_str() else { bail!("`{}` is not UTF-8", path.display()) };
        self.inodes += 1;
        let links = 1 + u32::from(mode == DIRECTORY);
        let size = u32::try_from(content.len()).context("a file is too large for an initramfs")?;
        let name_size = u32::try_from(name.len() + 1).context("a name is too long for an initramfs")?;
        self.bytes.extend_from_slice(b"070701");
        // Inode, mode, owner, group, links, time, size, four device numbers, length of the name, checksum (not used).
        for field in [self.inodes, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0] {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
        Ok(())
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(archive: Archive) -> Vec<(String, usize)> {
        let bytes = archive.finish().unwrap();
        let mut rest = bytes.as_slice();
        let mut found = Vec::new();
        while !rest.is_empty() {
            assert_eq!(&rest[..6], b"070701");
            let field = |index: usize| {
                let text = std::str::from_utf8(&rest[6 + index * 8..][..8]).unwrap();
                usize::from_str_radix(text, 16).unwrap()
            };
            let (size, name_size) = (field(6), field(11));
            let name = String::from_utf8(rest[110..110 + name_size - 1].to_vec()).unwrap();
            found.push((name, size));
            rest = &rest[(110 + name_size).next_multiple_of(4) + size.next_multiple_of(4)..];
        }
        found
    }

    #[test]
    fn folders_come_before_their_files_and_only_once() {
        let mut archive = Archive::default();
        archive.file(Path::new("/a/b/c"), true, b"12345").unwrap();
        archive.file(Path::new("/a/d"), false, b"").unwrap();
        let want = [("a", 0), ("a/b", 0), ("a/b/c", 5), ("a/d", 0), ("TRAILER!!!", 0)];
        assert_eq!(names(archive), want.map(|(name, size)| (name.to_owned(), size)));
    }

    #[test]
    fn the_first_file_at_a_path_stays() {
        let mut archive = Archive::default();
        archive.file(Path::new("/a"), true, b"1").unwrap();
        archive.file(Path::new("/a"), true, b"22").unwrap();
        assert_eq!(names(archive), [("a".to_owned(), 1), ("TRAILER!!!".to_owned(), 0)]);
    }
}
