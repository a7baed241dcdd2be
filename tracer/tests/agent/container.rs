//! The agent in a container with the unit's capabilities and the machine's PID namespace, and in one without the latter.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    life::{agrees, step},
    rights::tools,
    service::{Agent, configure},
    support::{self, FDTIDE, fixture::ARENAS, line::number},
    world::{UNIT, UNIT_NUMBERS, capabilities, folder_of, status, target},
};

/// What a runtime does: namespaces, a minimal tree without tracefs or debugfs, root without capabilities but the given.
const START: &str = r#"set -e
folder=$1 tool=$2 proc=$3 list=$4
root=$folder/root
mkdir -p "$root"
mount -t tmpfs -o mode=0755 tmpfs "$root"
mkdir -p "$root/proc" "$root/sys" "$root/tmp" "$root/dev" "$root$folder" "$root/bin"
for file in "$tool" $(ldd "$tool" | grep -o '/[^ )]*') $(command -v setpriv) $(ldd "$(command -v setpriv)" | grep -o '/[^ )]*'); do
    mkdir -p "$root$(dirname "$file")"
    cp -n "$file" "$root$file"
done
cp "$tool" "$root/bin/fdtide"
if [ "$proc" = own ]; then mount -t proc proc "$root/proc"; else mount --rbind /proc "$root/proc"; fi
mount -t sysfs -o ro sysfs "$root/sys"
mount --bind "$folder" "$root$folder"
mount -o remount,ro "$root"
[ ! -e "$root/sys/kernel/tracing/events" ]
exec chroot "$root" "$(command -v setpriv)" --clear-groups --no-new-privs \
    --inh-caps=-all --ambient-caps=-all --bounding-set="-all$list" /bin/fdtide agent --config "$folder/agent.toml"
"#;

/// A command that becomes the agent in a container, whose folder it shares. `proc`: `host` or `own`.
fn contained(folder: &Path, namespaces: &[&str], proc: &str) -> Command {
    let list = UNIT.map(|name| format!(",+{name}")).concat();
    let tool: PathBuf = FDTIDE.into();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--uts", "--net", "--ipc"]).args(namespaces).args(["sh", "-c", START, "-"]);
    command.arg(folder).arg(tool).args([proc, &list]).env(ARENAS.0, ARENAS.1);
    command
}

#[test]
fn in_a_container_with_the_machines_pid_namespace_it_counts_as_outside() {
    let Some(_kernel) = support::kernel() else { return };
    if !tools() {
        return;
    }
    let folder = folder_of(0);
    let args = ["03", "--nofile", "64", "--hold", "52", "--execs", "9"];
    let (mut fixture, exe) = target(folder.path(), "fd-case", "outside-of-it", &args);
    let config = format!(
        "[targets]\nfollow = [\"exe:{}\"]\n[record]\nfolder = \"DIR/kept\"\nmin_free = \"1M\"\n",
        exe.display()
    );
    let mut command = contained(folder.path(), &[], "host");
    let agent = Agent::start_by(folder, &config, &mut command);
    agent.until_logged("(seccomp)");
    let own = agent.pid().to_string();
    assert_eq!((capabilities(&own, "CapBnd"), status(&own, "NoNewPrivs")), (UNIT_NUMBERS.to_vec(), "1".to_owned()));
    step(&mut fixture, "in-flight");
    let line = step(&mut fixture, "reaped");
    let pid = fixture.pid();
    let (_folder, report) = agent.end();
    agrees(&report, pid, &line);
    assert_eq!(number(&report, "loss.lost") + number(&report, "loss.skipped"), 0);
}

#[test]
fn in_a_pid_namespace_of_its_own_it_says_what_its_container_lacks() {
    let Some(_kernel) = support::kernel() else { return };
    if !tools() {
        return;
    }
    let folder = folder_of(0);
    configure(folder.path(), "");
    let mut command = contained(folder.path(), &["--pid", "--fork", "--kill-child"], "own");
    let output = command.output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("--pid=host") && told.contains("hostPID: true"), "{told}");
}
