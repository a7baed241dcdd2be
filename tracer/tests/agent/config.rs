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

#[test]
fn what_an_agent_would_not_start_with_is_told_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.toml");
    fs::write(folder.path().join("token"), "s3cret\n").expect("a file");
    fs::write(folder.path().join("empty"), "").expect("a file");
    let tls = "[metrics]\nenabled = true\n[metrics.tls]\ncertificate = \"DIR/empty\"\nkey = \"DIR/empty\"\n";
    for (text, place, why) in [
        ("[segments]\nurl = \"gs://bucket/x\"\n", "2:7", "`gs://bucket/x` is no place for segments"),
        ("[log]\nlevel = \"info\"\n[service]\nuser = \"no-such-user\"\n", "4:8", "no user `no-such-user`"),
        ("redact_paths = true\nredact_key_file = \"DIR/nowhere\"\n", "2:19", "failed to read the key"),
        ("redact_paths = true\nredact_key_file = \"DIR/empty\"\n", "2:19", "is empty: put a secret into it"),
        ("[metrics]\nenabled = true\ntoken_file = \"DIR/nowhere\"\n", "3:14", "(metrics.token_file)"),
        ("[metrics]\nenabled = true\ntoken_file = \"DIR/empty\"\n", "3:14", "is no token"),
        ("[metrics]\nenabled = true\nlisten = \"0.0.0.0:1\"\n", "3:10", "name a `metrics.token_file`"),
        (tls, "4:15", "has no certificate in PEM form"),
        ("[otlp]\nendpoint = \"http://a\"\ntoken_file = \"DIR/nowhere\"\n", "3:14", "(otlp.token_file)"),
        ("[otlp]\nendpoint = \"https://a\"\nca_file = \"DIR/empty\"\n", "3:11", "(otlp.ca_file)"),
        ("[otlp]\nendpoint = \"ftp://a\"\n", "2:12", "is no URL with http or https"),
        ("[otlp]\nendpoint = \"http://a\"\ntimeout = \"0s\"\n", "3:11", "`otlp.timeout` must be longer than 0"),
        (
            "[alerts]\nca_file = \"DIR/nowhere\"\nwebhook = \"https://a/\"\n",
            "2:11",
            "which alerts.ca_file names, can't be read",
        ),
    ] {
        let dir = folder.path().display().to_string();
        fs::write(&path, text.replace("DIR", &dir)).expect("a file");
        let (code, told) = check(&path);
        assert_eq!(code, Some(2), "{text}: {told}");
        assert!(told.contains(why) && told.contains(&format!("agent.toml:{place}\n")), "{text}: {told}");
    }
    // What is not used need not be there; what is, is.
    let sound = "redact_key_file = \"/nowhere\"\n[service]\nuser = \"root\"\n[segments]\nurl = \"s3://bucket/x\"\n\
                 [metrics]\nenabled = true\ntoken_file = \"DIR/token\"\n[otlp]\ntoken_file = \"/nowhere\"\n";
    fs::write(&path, sound.replace("DIR", &folder.path().display().to_string())).expect("a file");
    assert_eq!(check(&path), (Some(0), format!("fdtide: `{}` is sound\n", path.display())));
}
