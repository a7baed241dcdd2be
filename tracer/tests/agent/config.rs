//! `--check-config`, which needs no rights.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
};

use crate::support::FDTIDE;

fn check(path: &Path) -> (Option<i32>, String) {
    let output = Command::new(FDTIDE).args(["agent", "--check-config", "--config"]).arg(path).output().expect("fdtide");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_example_that_is_given_out_is_sound() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/agent.toml");
    let (code, told) = check(&path);
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn commands_in_a_file_that_others_can_write_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.toml");
    fs::write(&path, "[alerts]\non_failure = [\"true\"]\n").expect("a file");
    let mode = |mode| fs::set_permissions(&path, Permissions::from_mode(mode)).expect("rights");
    mode(0o644);
    assert_eq!(check(&path).0, Some(0));
    for open in [0o664, 0o646] {
        mode(open);
        let (code, told) = check(&path);
        assert_eq!(code, Some(2));
        assert!(told.contains("others can write it") && told.contains("chmod go-w"), "{told}");
    }
    // Without commands it is nobody's business.
    fs::write(&path, "[log]\nlevel = \"warn\"\n").expect("a file");
    assert_eq!(check(&path).0, Some(0));
}

#[test]
fn a_mistake_has_its_line_and_column_and_a_file_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.toml");
    fs::write(&path, "[record]\nkeep = \"30m\"\nmax_byte = \"1M\"\n").expect("a file");
    let (code, told) = check(&path);
    assert_eq!(code, Some(2));
    assert!(told.contains("agent.toml:3:1") && told.contains("did you mean `max_bytes`?"), "{told}");
    let (code, told) = check(&folder.path().join("nowhere.toml"));
    assert_eq!(code, Some(2));
    assert!(told.contains("nowhere.toml") && told.contains("--config"), "{told}");
}
