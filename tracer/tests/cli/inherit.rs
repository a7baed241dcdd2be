//! The command sees what it would see without the tool.

use std::{
    io::Write as _,
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
};

use crate::support::{self, FDTIDE, fixture::Fixture, limits::kill, ran::fdtide};

/// What a command says by itself and under the tool, started in the same way.
fn both(command: &[&str], prepare: impl Fn(&mut Command)) -> (String, String) {
    let run = |mut started: Command| {
        started.stdin(Stdio::null());
        prepare(&mut started);
        let output = started.output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let mut alone = Command::new(command[0]);
    alone.args(&command[1..]);
    let mut traced = Command::new(FDTIDE);
    traced.args(["run", "-o", "/dev/null", "--"]).args(command);
    (run(alone), run(traced))
}

#[test]
fn the_command_inherits_exactly_the_descriptors_that_the_tool_was_started_with() {
    let Some(_kernel) = support::kernel() else { return };
    let script = "for fd in /proc/self/fd/*; do n=${fd##*/}; [ -e /proc/$$/fd/$n ] && echo $n $(readlink /proc/$$/fd/$n | tr -d 0-9); done";
    let (alone, traced) = both(&["bash", "-c", script], |command| {
        // SAFETY: system calls between fork and exec; the copies are for the command to inherit.
        unsafe {
            command.pre_exec(|| {
                libc::dup2(0, 7);
                libc::dup2(0, 42);
                Ok(())
            });
        }
    });
    assert_eq!(alone, traced);
    assert!(alone.contains("7 /dev/null") && alone.contains("42 /dev/null"), "{alone}");
}

#[test]
fn a_command_may_be_started_without_stdin_and_stdout() {
    let Some(_kernel) = support::kernel() else { return };
    let mut command = Command::new(FDTIDE);
    command.args(["run", "--format", "json", "-o", "/dev/stderr", "--", "true"]).stderr(Stdio::piped());
    // SAFETY: system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::close(0);
            libc::close(1);
            Ok(())
        });
    }
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn signals_groups_limits_and_the_rest_are_the_commands_own() {
    let Some(_kernel) = support::kernel() else { return };
    let script = "grep -E '^(Sig(Blk|Ign|Cgt)|ShdPnd|Umask|Groups|NoNewPrivs|Seccomp|Cpus_allowed):' /proc/self/status; \
                  ulimit -a; pwd; env | grep -v ^_= | sort; umask";
    let (alone, traced) = both(&["bash", "-c", script], |command| {
        command.current_dir("/usr").env("FDTIDE_TEST", "a b");
    });
    assert_eq!(alone, traced);
}

#[test]
fn ignored_and_blocked_signals_stay_so_in_the_command() {
    let Some(_kernel) = support::kernel() else { return };
    let (alone, traced) = both(&["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"], |command| {
        // SAFETY: system calls between fork and exec. The standard library has reset SIGPIPE and the mask before.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGPIPE, libc::SIG_IGN);
                libc::signal(libc::SIGHUP, libc::SIG_IGN);
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigaddset(&raw mut set, libc::SIGUSR2);
                libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
                Ok(())
            });
        }
    });
    assert_eq!(alone, traced);
}

#[test]
fn stdin_passes_through_and_stdout_is_the_same_to_the_byte() {
    let Some(_kernel) = support::kernel() else { return };
    let bytes: Vec<u8> = (0..300_000u32).map(|n| (n * 7 % 251) as u8).collect();
    let mut child = fdtide(&["run", "-o", "/dev/null", "--", "cat"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let copy = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&copy).expect("it reads"));
    let output = child.wait_with_output().expect("its end");
    writer.join().expect("all was written");
    assert!(output.stdout == bytes, "{} bytes of {}", output.stdout.len(), bytes.len());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn nofile_sets_the_commands_soft_limit_and_leaves_the_hard_one() {
    let Some(_kernel) = support::kernel() else { return };
    let output = fdtide(&["run", "-o", "/dev/null", "--nofile", "77", "--", "sh", "-c", "ulimit -Sn; ulimit -Hn"])
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let (soft, hard) = text.trim().split_once('\n').expect("two lines");
    let own = Command::new("sh").args(["-c", "ulimit -Hn"]).output().expect("sh starts").stdout;
    assert_eq!((soft, hard), ("77", String::from_utf8(own).expect("UTF-8").trim()));
}

#[test]
fn nothing_of_the_target_is_changed_after_detaching() {
    let Some(_kernel) = support::kernel() else { return };
    let mut fixture = Fixture::start("fd-holder", &["--count", "60"]);
    fixture.go();
    fixture.next().expect("the line `base`");
    fixture.go();
    fixture.next().expect("the line `holding`");
    let pid = fixture.pid();
    let state = || {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).expect("it lives");
        let mut links: Vec<_> = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .expect("its table")
            .map(|entry| entry.expect("a number").path())
            .map(|path| (path.clone(), std::fs::read_link(path).expect("a link")))
            .collect();
        links.sort();
        // How often it ran, where, and what it uses are not the tracer's doing.
        let own = ["State", "Vm", "Rss", "voluntary_ctxt", "nonvoluntary_ctxt"];
        let keep = |line: &&str| !own.iter().any(|name| line.starts_with(name));
        let status: Vec<String> = read("status").lines().filter(keep).map(str::to_owned).collect();
        (links, status, read("limits"), read("maps"))
    };
    // What it does after its line may still move its heap.
    while !std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives").contains("State:\tS") {
        std::thread::yield_now();
    }
    let before = state();
    let status = fdtide(&["attach", "--duration", "50ms", "-p", &pid.to_string()]).status().expect("it starts");
    assert!(status.success());
    assert_eq!(state(), before);
    fixture.go();
    kill(pid, libc::SIGTERM);
    assert_eq!(fixture.next().expect("the line `end`")["step"], "end");
}

#[test]
fn the_tool_goes_before_others_and_what_it_starts_does_not() {
    let Some(_kernel) = support::kernel() else { return };
    let script = "nice; cut -d ' ' -f 19 /proc/$PPID/stat";
    let told = |niceness: i32| {
        let (_, traced) = both(&["sh", "-c", script], |command| {
            // SAFETY: one system call between fork and exec.
            unsafe {
                command.pre_exec(move || match libc::setpriority(libc::PRIO_PROCESS, 0, niceness) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                });
            }
        });
        traced.lines().map(|line| line.parse().expect("a number")).collect::<Vec<i32>>()
    };
    assert_eq!(told(0), [0, -10]);
    assert_eq!(told(5), [5, 5], "who made it wait for others has it wait for them");
}
