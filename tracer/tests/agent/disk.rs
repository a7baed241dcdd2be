//! A disk that is full, and has room again.

use std::{
    ffi::CString,
    fs::{self, File},
    io::Write as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    service::Agent,
    support::{self, fixture::bin, line::list, poll},
};

/// A file system of one megabyte in memory.
struct Disk(PathBuf);

impl Disk {
    fn mount(path: &Path) -> Option<Disk> {
        fs::create_dir(path).expect("a folder");
        let name = CString::new(path.as_os_str().as_bytes()).expect("a name");
        let tmpfs = c"tmpfs".as_ptr();
        // SAFETY: strings with their ends.
        let mounted = unsafe { libc::mount(tmpfs, name.as_ptr(), tmpfs, 0, c"size=1m".as_ptr().cast()) };
        if mounted != 0 {
            support::skip("no right to mount");
            return None;
        }
        Some(Disk(path.to_owned()))
    }

    /// Takes all room but so many bytes.
    fn fill(&self, left: u64) {
        let mut file = File::create(self.0.join("ballast")).expect("a file");
        let size = (1u64 << 20).saturating_sub(left);
        // Until it is full, at the latest.
        for _ in 0..size / 4096 {
            if file.write_all(&[1; 4096]).is_err() {
                break;
            }
        }
    }

    fn relieve(&self) {
        fs::remove_file(self.0.join("ballast")).expect("it goes");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let name = CString::new(self.0.as_os_str().as_bytes()).expect("a name");
        // SAFETY: a string with its end.
        unsafe { libc::umount2(name.as_ptr(), libc::MNT_DETACH) };
    }
}

/// Something that is always busy, for as long as it is kept.
struct Busy(Child);

impl Busy {
    fn start() -> Busy {
        let mut command = Command::new(bin("exec-loop"));
        Busy(command.args(["--execs", "1000000"]).stdout(Stdio::null()).spawn().expect("it starts"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Records on a disk with so little room that it must pause, gives it room, and hands over what the report says.
fn pauses_and_goes_on(min_free: &str, left: u64) -> Option<Value> {
    let folder = TempDir::new().expect("a folder");
    let disk = Disk::mount(&folder.path().join("disk"))?;
    let busy = Busy::start();
    let config = format!(
        "[targets]\nfollow = [\"pid:{}\"]\n[record]\nfolder = \"DIR/disk/kept\"\nmin_free = \"{min_free}\"\nmax_bytes = \"256K\"\n\
         keep = \"10s\"\non = []\n",
        busy.0.id()
    );
    disk.fill(left);
    let agent = Agent::start_in(folder, &config, |command| command);
    let paused = poll(60, "it pauses", || {
        let status = agent.status();
        status.recorder.is_some_and(|recorder| !recorder.recording).then_some(status.trouble)
    });
    assert!(paused.iter().any(|text| text.starts_with("nothing is recorded")), "{paused:?}");
    agent.until_logged("pauses");
    disk.relieve();
    poll(60, "it goes on", || agent.status().recorder.is_some_and(|recorder| recorder.recording).then_some(()));
    agent.until_logged("goes on after a pause");
    let dump = agent.ask(&fdtide::agent::control::Request::Dump).path.expect("a dump");
    assert!(Path::new(&dump).exists());
    let status = agent.status();
    assert_eq!((status.lost, status.skipped, status.trouble.len()), (0, 0, 0), "{:?}", status.trouble);
    drop(busy);
    let (_folder, report) = agent.end();
    drop(disk);
    Some(report)
}

fn tells_the_pause(report: &Value) {
    let notes = list(report, "coverage");
    assert!(notes.iter().any(|note| note["code"] == "record_paused"), "{notes:?}");
}

#[test]
fn room_that_others_are_to_have_is_left_to_them() {
    let Some(_kernel) = support::kernel() else { return };
    if let Some(report) = pauses_and_goes_on("256K", 300 << 10) {
        tells_the_pause(&report);
    }
}

#[test]
fn a_full_disk_is_survived_and_told() {
    let Some(_kernel) = support::kernel() else { return };
    if let Some(report) = pauses_and_goes_on("0", 60 << 10) {
        tells_the_pause(&report);
    }
}
