//! Each test that confines itself runs in a process of its own, which the tests without `inside` in their names start.

use std::{
    fs, io,
    net::{Ipv4Addr, TcpListener, ToSocketAddrs as _, UdpSocket},
    path::Path,
    process::{Command, Output},
    thread,
};

use super::*;

/// What it is called, its number, its arguments.
type Call = (&'static str, libc::c_long, [usize; 6]);

/// -1.
const MINUS: usize = usize::MAX;

/// What nobody may do; asked so that it changes nothing. Without the filter root gets another answer than EPERM.
const FORBIDDEN: &[Call] = &[
    ("ptrace", libc::SYS_ptrace, [libc::PTRACE_PEEKDATA as usize, 0, 0, 0, 0, 0]),
    ("mount", libc::SYS_mount, [0; 6]),
    ("umount", libc::SYS_umount2, [0; 6]),
    ("pivot_root", libc::SYS_pivot_root, [0; 6]),
    ("chroot", libc::SYS_chroot, [0; 6]),
    ("unshare", libc::SYS_unshare, [0; 6]),
    ("setns", libc::SYS_setns, [MINUS, 0, 0, 0, 0, 0]),
    ("BPF_PROG_LOAD", libc::SYS_bpf, [5, 0, 0, 0, 0, 0]),
    ("BPF_MAP_CREATE", libc::SYS_bpf, [0; 6]),
    ("perf_event_open", libc::SYS_perf_event_open, [0, 0, 0, MINUS, 0, 0]),
    ("init_module", libc::SYS_init_module, [0; 6]),
    ("finit_module", libc::SYS_finit_module, [MINUS, 0, 0, 0, 0, 0]),
    ("kexec_load", libc::SYS_kexec_load, [0, MINUS, 0, 0, 0, 0]),
    ("reboot", libc::SYS_reboot, [0; 6]),
    ("swapon", libc::SYS_swapon, [0; 6]),
    ("setuid", libc::SYS_setuid, [0; 6]),
    ("setgroups", libc::SYS_setgroups, [MINUS, 0, 0, 0, 0, 0]),
    ("AF_PACKET", libc::SYS_socket, [libc::AF_PACKET as usize, libc::SOCK_DGRAM as usize, 0, 0, 0, 0]),
    ("AF_VSOCK", libc::SYS_socket, [libc::AF_VSOCK as usize, MINUS, 0, 0, 0, 0]),
    ("process_vm_readv", libc::SYS_process_vm_readv, [0; 6]),
    ("open_by_handle_at", libc::SYS_open_by_handle_at, [MINUS, 0, 0, 0, 0, 0]),
    ("userfaultfd", libc::SYS_userfaultfd, [MINUS, 0, 0, 0, 0, 0]),
    ("mknodat", libc::SYS_mknodat, [MINUS, 0, 0, 0, 0, 0]),
    ("prlimit64 of another", libc::SYS_prlimit64, [1, libc::RLIMIT_NOFILE as usize, 0, 0, 0, 0]),
    ("clone with a namespace", libc::SYS_clone, [(libc::CLONE_NEWUSER | libc::CLONE_FS) as usize, 0, 0, 0, 0, 0]),
    ("TIOCSTI", libc::SYS_ioctl, [MINUS, 0x5412, 0, 0, 0, 0]),
];

/// What an agent that starts no process may not do either.
const FORBIDDEN_ALONE: &[Call] = &[
    ("execve", libc::SYS_execve, [0; 6]),
    ("fork", libc::SYS_clone, [libc::CLONE_SIGHAND as usize, 0, 0, 0, 0, 0]),
    ("kill", libc::SYS_kill, [0; 6]),
    ("listen", libc::SYS_listen, [MINUS, 0, 0, 0, 0, 0]),
    ("TIOCGWINSZ", libc::SYS_ioctl, [MINUS, 0x5413, 0, 0, 0, 0]),
    ("PR_SET_DUMPABLE", libc::SYS_prctl, [libc::PR_SET_DUMPABLE as usize, 1, 0, 0, 0, 0]),
    (
        "mmap to write and run",
        libc::SYS_mmap,
        [0, 4096, 6, (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize, MINUS, 0],
    ),
    ("mprotect to run", libc::SYS_mprotect, [0, 0, libc::PROT_EXEC as usize, 0, 0, 0]),
];

fn refused((_, number, [a, b, c, d, e, f]): &Call) -> bool {
    // SAFETY: pointers among the arguments are null, which every one of these calls takes for an answer.
    let result = unsafe { libc::syscall(*number, *a, *b, *c, *d, *e, *f) };
    result == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Runs a test of this file in a process of its own.
fn in_a_process(name: &str) -> Output {
    let own = env::current_exe().unwrap();
    let name = format!("agent::confine::tests::{name}");
    Command::new(own).args(["--exact", &name, "--ignored", "--nocapture", "--test-threads=1"]).output().unwrap()
}

fn passes(name: &str) {
    let output = in_a_process(name);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{}: {text}", output.status);
}

/// Every call that is refused under the filter, and, where this is root, was not before.
fn forbids(scope: Scope, calls: &[Call]) {
    // SAFETY: no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        let before: Vec<_> = calls.iter().filter(|call| refused(call)).map(|(name, ..)| name).collect();
        assert!(before.is_empty(), "refused by others already: {before:?}");
    }
    let (told, heard) = std::sync::mpsc::channel();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let elder = thread::spawn(move || {
        wait.recv().unwrap();
        told.send(refused(&FORBIDDEN[1])).unwrap();
    });
    confine(scope).unwrap();
    let passed: Vec<_> = calls.iter().filter(|call| !refused(call)).map(|(name, ..)| name).collect();
    assert!(passed.is_empty(), "{scope:?} lets through: {passed:?}");
    go.send(()).unwrap();
    assert!(heard.recv().unwrap(), "a thread from before the filter");
    elder.join().unwrap();
    assert!(thread::spawn(|| refused(&FORBIDDEN[1])).join().unwrap(), "a thread from after it");
    // SAFETY: no such call exists, and none newer than the list is to be told apart from it.
    assert_eq!((unsafe { libc::syscall(500) }, io::Error::last_os_error().raw_os_error()), (-1, Some(libc::ENOSYS)));
}

/// What exporters, spools and resolvers do.
fn works_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, "x").unwrap();
    fs::copy(&path, folder.path().join("c")).unwrap();
    fs::rename(&path, folder.path().join("d")).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    // A name goes through the resolver, whatever that loads.
    drop(("localhost", 80).to_socket_addrs());
    drop(("no-such-host.invalid", 80).to_socket_addrs());
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
    assert!(fs::read_link("/proc/self/exe").is_ok() && fs::read_to_string("/proc/1/cgroup").is_ok());
    assert!(Path::new("/proc/self/status").exists());
    drop(fs::remove_dir_all(folder.path()));
    assert_eq!(thread::spawn(|| 7).join().unwrap(), 7);
}

#[test]
#[ignore = "confines its process: the next one starts it"]
fn inside_alone() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    forbids(Scope::Alone, &[FORBIDDEN, FORBIDDEN_ALONE].concat());
    works_on();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    assert_eq!(listener.accept().unwrap().1, client.local_addr().unwrap());
    assert!(Command::new("/bin/true").status().is_err(), "no process is started");
}

#[test]
fn an_agent_without_commands_does_its_work_and_nothing_else() {
    passes("inside_alone");
}

#[test]
#[ignore = "confines its process: the next one starts it"]
fn inside_with_commands() {
    forbids(Scope::WithCommands, FORBIDDEN);
    works_on();
    let script =
        "a=$(echo x | cat) && test $a = x && date && ls / && sleep 0.01 && mkdir $0/m && cp -r $0/m $0/n && rm -r $0/n";
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("/bin/sh").args(["-c", script]).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // It holds for commands too, and so does `no_new_privs`.
    let script = "unshare --uts true; grep -E 'NoNewPrivs|^Seccomp:' /proc/self/status";
    let output = Command::new("/bin/sh").args(["-c", script]).output().unwrap();
    let (told, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("NoNewPrivs:\t1") && told.contains("Seccomp:\t2"), "{told}");
    assert!(!complaint.is_empty(), "a command could unshare");
}

#[test]
fn commands_of_alerts_are_ordinary_programs_and_no_more() {
    passes("inside_with_commands");
}

#[test]
fn the_filter_exists_for_every_machine_that_it_can_be_made_for() {
    for scope in [Scope::Alone, Scope::WithCommands] {
        let [absent, listed] = programs(scope).unwrap();
        // The kernel takes at most so many instructions (BPF_MAXINSNS, include/uapi/linux/bpf_common.h, v6.12).
        assert!(!absent.is_empty() && absent.len() <= 4096 && listed.len() <= 4096, "{}", listed.len());
    }
}
