//! Where results go: stdout, or a file that appears whole or not at all.

use std::{
    fs::{File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use tempfile::NamedTempFile;

/// Mode of a file that is made: names, paths and addresses are its owner's alone, as in recordings.
const MODE: u32 = 0o600;

/// An opened place for results.
pub(super) enum Output {
    Stdout(io::Stdout),
    /// A file under its own name: a stream, a device, a pipe.
    Direct(File),
    /// A file that gets its name when it is complete.
    Pending(NamedTempFile, PathBuf),
}

impl Output {
    /// Opens it, before anything else is done. A `streamed` file is written as results come, the others in one go. A file
    /// that is there already keeps its mode.
    pub(super) fn open(path: &Path, streamed: bool) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout(io::stdout()));
        }
        let context =
            || format!("failed to open `{}` for the results: name a place that can be written", path.display());
        let there = path.metadata().ok();
        let special = there.as_ref().is_some_and(|found| !found.is_file());
        if streamed || special {
            if path.is_dir() {
                return Err(io::Error::from(io::ErrorKind::IsADirectory)).with_context(context);
            }
            let mut options = OpenOptions::new();
            return Ok(Self::Direct(
                options.write(true).create(true).mode(MODE).truncate(!special).open(path).with_context(context)?,
            ));
        }
        if there.is_some() {
            // The file itself must be writable, not only its folder.
            OpenOptions::new().append(true).open(path).with_context(context)?;
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new()
            .prefix(".fdtide-")
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(folder)
            .with_context(context)?;
        if let Some(old) = there {
            // After it was made: the umask takes nothing from it. Whoever could read the old one can read the new one.
            let mode = Permissions::from_mode(old.permissions().mode() & 0o777);
            file.as_file().set_permissions(mode).with_context(context)?;
        }
        Ok(Self::Pending(file, path.to_owned()))
    }

    /// Flushes, and gives the file its name.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self {
            Self::Pending(file, path) => file.persist(path).map(drop).map_err(|error| error.error),
            Self::Stdout(_) | Self::Direct(_) => Ok(()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Direct(file) => file.write(bytes),
            Self::Pending(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Direct(file) => file.flush(),
            Self::Pending(file, _) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_complete_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let mut output = Output::open(&path, false).unwrap();
        output.write_all(b"whole").unwrap();
        assert!(!path.exists());
        output.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn an_output_that_was_given_up_leaves_the_old_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        std::fs::write(&path, "old").unwrap();
        let mut output = Output::open(&path, false).unwrap();
        output.write_all(b"half").unwrap();
        drop(output);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn what_is_made_is_its_owners_and_what_was_there_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        for streamed in [false, true] {
            let path = folder.path().join(format!("report-{streamed}"));
            let write = || {
                let mut output = Output::open(&path, streamed).unwrap();
                output.write_all(b"whole").unwrap();
                output.finish().unwrap();
                path.metadata().unwrap().permissions().mode() & 0o777
            };
            assert_eq!(write(), 0o600);
            for mode in [0o644, 0o666] {
                std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
                assert_eq!(write(), mode);
            }
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let error = Output::open(Path::new("/nowhere/report.json"), false).err().unwrap();
        assert!(format!("{error:#}").contains("/nowhere/report.json"));
        let folder = tempfile::tempdir().unwrap();
        assert!(Output::open(folder.path(), true).is_err());
    }
}
