use std::time::Duration;

use super::*;
use crate::record::{Depth, Trigger};

const WHOLE: &str = r#"
redact_paths = true
redact_key_file = "/etc/fdtide/key"

[targets]
follow = ["pid:4242", "name:postgres", "unit:nginx"]
follow_new = false

[trace]
backend = "syscall"
settle = "100ms"
census_at = 512
ages = true

[record]
folder = "/var/lib/fdtide"
keep = "10m"
max_bytes = "64M"
min_free = "1G"
depth = "events"
on = ["failure", "headroom<100"]
dumps = 4
dump_bytes = "128M"
dump_age = "1d"

[report]
file = "/var/lib/fdtide/report.json"
format = "text"

[alerts]
on_failure = ["/usr/local/bin/page", "--now"]
on_headroom = ["true"]
headroom = "20%"
webhook = "https://127.0.0.1:9000/alert"
ca_file = "/etc/fdtide/authorities.pem"
every = "1m"
timeout = "5s"
at_once = 1

[service]
user = "998:997"
seccomp = false

[log]
level = "debug"

[control]
socket = "/run/fdtide/other.sock"
"#;

#[test]
fn every_key_is_read_and_an_empty_file_gives_the_defaults() {
    let config = parse("agent.toml", WHOLE).unwrap();
    assert!(config.redact_paths && !config.targets.follow_new);
    let follow: Vec<String> = config.targets.follow.iter().map(ToString::to_string).collect();
    assert_eq!(follow, ["pid:4242", "name:postgres", "unit:nginx.service"]);
    assert_eq!(config.trace.settle, Time(Duration::from_millis(100)));
    assert_eq!(config.trace.backend, Some(BackendName::Syscall));
    assert_eq!(config.record.on, [Trigger::Failure, Trigger::Headroom(100)]);
    assert_eq!((config.record.depth, config.record.max_bytes), (Depth::Events, Size::mib(64)));
    assert_eq!(config.report.format, ReportFormat::Text);
    assert_eq!(config.alerts.headroom, Some(Headroom::Percent(20)));
    assert_eq!(config.service, ServiceConfig { user: Some(User::Ids(998, Some(997))), seccomp: false });
    assert_eq!(config.log.level, Level::Debug);
    assert_eq!(parse("agent.toml", "").unwrap(), Config::default());
    assert!(Config::default().targets.follow_new);
}

#[test]
fn mistakes_have_the_line_and_column_of_the_file_and_say_what_may_be_meant() {
    for (text, line, column, message, help) in [
        ("[record]\nmaxbytes = \"1M\"", 2, 1, "unknown field `maxbytes`", "did you mean `max_bytes`?"),
        ("[alert]\nevery = \"1m\"", 1, 2, "unknown field `alert`", "did you mean `alerts`?"),
        ("[log]\nlevel = \"inof\"", 2, 9, "unknown variant `inof`", "did you mean `info`?"),
        ("[record]\nkeep = \"30\"", 2, 8, "`30` is no time", "docs/agent.md"),
        ("[record]\nkeep = 30", 2, 8, "invalid type", "docs/agent.md"),
        ("[record]\nmax_bytes = \"lots\"", 2, 13, "`lots` is no size", "docs/agent.md"),
        ("[record]\non = [\"failure\", \"fire\"]", 2, 18, "`fire` is no trigger", "docs/agent.md"),
        ("[targets]\nfollow = [\n  \"pid:0\",\n]", 3, 3, "`pid:0` names no process", "docs/agent.md"),
        ("[alerts]\nheadroom = \"150%\"", 2, 12, "neither a number", "docs/agent.md"),
        ("[alerts]\nwebhook = \"ftp://x.example/\"", 2, 11, "is no address", "docs/agent.md"),
        ("[alerts]\nwebhook = \"x.example\"", 2, 11, "is no address", "docs/agent.md"),
        ("[service]\nuser = \"a b\"", 2, 8, "`a b` is no user", "docs/agent.md"),
        ("[service]\nuser = \"4:x\"", 2, 8, "`4:x` is no user", "docs/agent.md"),
        ("[service]\nuser = 4294967295", 2, 8, "no user has the number", "docs/agent.md"),
        ("[service]\nuser = true", 2, 8, "a user as in", "docs/agent.md"),
        ("[alerts]\nheadroom = true", 2, 12, "a share of the limit", "docs/agent.md"),
        ("[record\nkeep = \"1m\"", 1, 8, "table", "docs/agent.md"),
        ("[log]\nlevel = \"info\"\nlevel = \"warn\"", 3, 1, "duplicate key", "docs/agent.md"),
    ] {
        let problem = parse("agent.toml", text).unwrap_err();
        assert!(problem.message.contains(message), "{text}: {problem:?}");
        assert_eq!((problem.line, problem.column), (line, column), "{text}: {problem:?}");
        assert!(problem.help.contains(help), "{text}: {problem:?}");
    }
}

#[test]
fn a_user_is_a_name_a_number_or_two() {
    let user = |value: &str| parse("agent.toml", &format!("[service]\nuser = {value}")).unwrap().service.user.unwrap();
    assert_eq!(user("\"fdtide\""), User::Name("fdtide".to_owned()));
    assert_eq!((user("998"), user("\"998\"")), (User::Ids(998, None), User::Ids(998, None)));
    assert_eq!(user("\"998:100\""), User::Ids(998, Some(100)));
    assert!(parse("agent.toml", "").unwrap().service.seccomp);
}

#[test]
fn near_is_a_number_or_a_share_of_the_limit() {
    assert!(Headroom::Below(100).is_near(99, 1024) && !Headroom::Below(100).is_near(100, 1024));
    assert!(Headroom::Percent(20).is_near(204, 1024) && !Headroom::Percent(20).is_near(205, 1024));
    assert!(!Headroom::Percent(1).is_near(u32::MAX, u32::MAX));
}
