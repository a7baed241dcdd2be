//! Where rows lie until they are sent: a folder of this machine.
//!
//! A segment is a file of JSON lines while it grows (`.open`), the same closed (`.rows`), and then Parquet (`.parquet`).
//! Each step is a rename, so a segment is there once at any moment, whatever ends the agent. What a killed agent leaves is
//! taken up by the next one; a line that it did not finish is left out.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    os::{
        fd::AsRawFd as _,
        unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

use super::{
    Error, Head,
    columns::Row,
    name::{CLOSED, OPEN, READY},
};

/// Who owns the spool holds a lock on this file.
const LOCK: &str = "lock";
/// Bytes that may wait to be handed to the system.
const BUFFER: usize = 64 << 10;

/// A folder with spooled segments, held by one agent.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    _lock: File,
}

/// A segment that grows.
#[derive(Debug)]
pub struct Open {
    path: PathBuf,
    file: File,
    head: Head,
    buffer: Vec<u8>,
    /// Rows in the buffer.
    pending: u64,
    /// Bytes in the file.
    written: u64,
}

/// What lies in the spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The file.
    pub path: PathBuf,
    /// It is Parquet already.
    pub ready: bool,
    /// Its size.
    pub bytes: u64,
}

impl Spool {
    /// Takes a folder, made where it is missing, with what an earlier agent left in it.
    ///
    /// # Errors
    ///
    /// When another agent has it, or it can't be written.
    pub fn take(folder: &Path) -> Result<Spool, Error> {
        let made = DirBuilder::new().mode(0o700).recursive(true).create(folder);
        made.map_err(Error::file("make the folder", folder))?;
        let path = folder.join(LOCK);
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(Error::file("open", &path))?;
        // SAFETY: a system call on a descriptor that is open.
        if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(Error::InUse { path: folder.to_owned() });
        }
        let spool = Spool { folder: folder.to_owned(), _lock: lock };
        for path in spool.files()? {
            match end_of(&path) {
                OPEN => rename(&path, CLOSED)?,
                "tmp" => fs::remove_file(&path).map_err(Error::file("remove", &path))?,
                // The Parquet file was complete when it got its name.
                CLOSED if path.with_extension(READY).exists() => remove(&path)?,
                _ => {}
            }
        }
        Ok(spool)
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Begins a segment.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn begin(&self, head: Head) -> Result<Open, Error> {
        let path = self.folder.join(format!("{}.{OPEN}", head.stem()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(Error::file("make", &path))?;
        let line = serde_json::to_vec(&head).map_err(io::Error::from).map_err(Error::file("write", &path))?;
        let mut open = Open { path, file, head, buffer: line, pending: 0, written: 0 };
        open.buffer.push(b'\n');
        if let Err(error) = open.flush() {
            let _ = fs::remove_file(&open.path);
            return Err(Error::file("write", &open.path)(error));
        }
        Ok(open)
    }

    fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let listed = fs::read_dir(&self.folder).map_err(Error::file("list", &self.folder))?;
        let paths: io::Result<Vec<PathBuf>> = listed.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.map_err(Error::file("list", &self.folder))?;
        paths.sort();
        Ok(paths)
    }

    /// Closed segments, oldest first.
    ///
    /// # Errors
    ///
    /// When the folder can't be listed.
    pub fn waiting(&self) -> Result<Vec<Waiting>, Error> {
        let mut found: Vec<(std::time::SystemTime, Waiting)> = Vec::new();
        for path in self.files()? {
            let ready = end_of(&path) == READY;
            if !ready && end_of(&path) != CLOSED {
                continue;
            }
            let known = fs::metadata(&path).map_err(Error::file("look at", &path))?;
            let age = known.modified().map_err(Error::file("look at", &path))?;
            found.push((age, Waiting { path, ready, bytes: known.len() }));
        }
        found.sort_by_key(|(age, _)| *age);
        Ok(found.into_iter().map(|(_, waiting)| waiting).collect())
    }
}

impl Open {
    /// Adds a row. It is handed to the system with the next [`Open::flush`], or when enough has come together.
    ///
    /// # Errors
    ///
    /// As [`Open::flush`]; the row is then one of [`Open::pending`].
    pub fn push(&mut self, row: &Row) -> io::Result<()> {
        serde_json::to_writer(&mut self.buffer, row)?;
        self.buffer.push(b'\n');
        self.pending += 1;
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// What was added is handed to the system: it outlives the agent.
    ///
    /// # Errors
    ///
    /// When it can't be written. Nothing of it is in the file then.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.file.write_all(&self.buffer) {
            // A part of it may be there. Where that can't be undone either, readers leave out the line that is cut.
            let _ = self.file.set_len(self.written);
            return Err(error);
        }
        self.written += self.buffer.len() as u64;
        self.pending = 0;
        self.buffer.clear();
        Ok(())
    }

    /// Bytes in it, those that wait included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Rows that have not been handed to the system.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// Its head.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Nothing more comes; the segment waits for being sent, with what was flushed.
    ///
    /// # Errors
    ///
    /// When the file can't be renamed.
    pub fn close(self) -> Result<(), Error> {
        drop(self.file);
        rename(&self.path, CLOSED)
    }
}

/// The head and the rows of a closed segment, one by one. Lines that can't be read are left out.
///
/// # Errors
///
/// When the file can't be read, or has no head.
pub fn read(path: &Path, mut each: impl FnMut(Row) -> Result<(), Error>) -> Result<Head, Error> {
    let file = File::open(path).map_err(Error::file("open", path))?;
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| -> Result<bool, Error> {
        line.clear();
        Ok(lines.read_until(b'\n', line).map_err(Error::file("read", path))? > 0)
    };
    next(&mut line)?;
    let Ok(head) = serde_json::from_slice::<Head>(&line) else {
        return Err(Error::Foreign { name: path.display().to_string(), why: "its first line tells no host".into() });
    };
    while next(&mut line)? {
        if let Ok(row) = serde_json::from_slice(&line) {
            each(row)?;
        }
    }
    Ok(head)
}

/// Gives a file in the spool another end.
pub(super) fn rename(path: &Path, end: &str) -> Result<(), Error> {
    fs::rename(path, path.with_extension(end)).map_err(Error::file("rename", path))
}

/// Removes a file from the spool.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    fs::remove_file(path).map_err(Error::file("remove", path))
}

fn end_of(path: &Path) -> &str {
    path.extension().and_then(|end| end.to_str()).unwrap_or_default()
}
