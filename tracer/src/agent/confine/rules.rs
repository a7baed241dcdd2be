//! The lists as rules: calls that are allowed whatever they ask for, and those of which only a part is.

use std::collections::BTreeMap;

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::{
    Scope,
    calls::{AGENT, AGENT_OLD, COMMANDS, COMMANDS_OLD},
};

/// By number of the call: one rule of several must hold; with none it is allowed.
pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls from this number on are newer than the lists (the last of Linux 6.18 is 469), and so many of them are told to be absent.
const NEWER: i64 = 470;
const MANY: i64 = 64;

/// Flags of clone(2) that make a namespace (include/uapi/linux/sched.h, v6.12).
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Commands of bpf(2) that an attached trace gives: maps that are there, and the walk over tasks
/// (include/uapi/linux/bpf.h, v6.12). No maps are made, and no programs loaded.
const BPF: [u64; 8] = [
    1,  // MAP_LOOKUP_ELEM
    2,  // MAP_UPDATE_ELEM
    3,  // MAP_DELETE_ELEM
    4,  // MAP_GET_NEXT_KEY
    15, // OBJ_GET_INFO_BY_FD
    21, // MAP_LOOKUP_AND_DELETE_ELEM
    28, // LINK_CREATE
    33, // ITER_CREATE
];

/// Families of sockets. Netlink: the C library asks which addresses there are before it resolves a name.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// What the agent asks of descriptors (include/uapi/asm-generic/ioctls.h and include/uapi/linux/perf_event.h, v6.12; C libraries
/// do not agree on their type).
const IOCTLS: [u64; 4] = [
    0x5421, // FIONBIO: to wait or not
    0x541b, // FIONREAD: how much there is
    0x5401, // TCGETS: whether it is a terminal
    0x2401, // PERF_EVENT_IOC_DISABLE: to end a probe
];

/// What types for somebody else at his terminal: TIOCSTI, TIOCLINUX (as above).
const TYPING: [u64; 2] = [0x5412, 0x541c];

/// What it sets and asks of itself.
const PRCTLS: [i32; 5] =
    [libc::PR_SET_NAME, libc::PR_GET_NAME, libc::PR_SET_PDEATHSIG, libc::PR_CAPBSET_READ, libc::PR_SET_VMA];

/// What seems not to be there. Whoever asks for clone3 takes clone then, of which can be seen what it asks for.
pub(super) fn absent() -> Rules {
    (NEWER..NEWER + MANY).chain([libc::SYS_clone3]).map(|call| (call, Vec::new())).collect()
}

/// What is allowed.
pub(super) fn listed(scope: Scope) -> Result<Rules, BackendError> {
    let more: [&[i64]; 2] = if scope == Scope::WithCommands { [COMMANDS, COMMANDS_OLD] } else { [&[], &[]] };
    // What seems to be absent must not be refused first.
    let mut rules: Rules = absent();
    rules.extend([AGENT, AGENT_OLD].into_iter().chain(more).flatten().map(|call| (*call, Vec::new())));
    rules.insert(libc::SYS_bpf, one_of(0, BPF)?);
    rules.insert(libc::SYS_socket, one_of(0, FAMILIES.map(|family| family as u64))?);
    rules.insert(libc::SYS_prlimit64, one_of(0, [0])?);
    match scope {
        Scope::Alone => {
            let threads = [without(0, NAMESPACES)?, with(0, libc::CLONE_THREAD as u64)?];
            rules.insert(libc::SYS_clone, vec![SeccompRule::new(threads.into())?]);
            rules.insert(libc::SYS_ioctl, one_of(1, IOCTLS)?);
            rules.insert(libc::SYS_prctl, one_of(0, PRCTLS.map(|what| what as u64))?);
            // Libraries that the resolver loads are mapped, never made.
            rules.insert(libc::SYS_mprotect, vec![SeccompRule::new(vec![without(2, libc::PROT_EXEC as u64)?])?]);
            let (write, exec) = (libc::PROT_WRITE as u64, libc::PROT_EXEC as u64);
            let either = [without(2, write)?, without(2, exec)?];
            let either: Result<_, _> = either.into_iter().map(|condition| SeccompRule::new(vec![condition])).collect();
            rules.insert(libc::SYS_mmap, either?);
        }
        Scope::WithCommands => {
            rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![without(0, NAMESPACES)?])?]);
            let others: Result<_, _> = TYPING.into_iter().map(|what| argument(1, SeccompCmpOp::Ne, what)).collect();
            rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(others?)?]);
        }
    }
    Ok(rules)
}

fn argument(at: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(at, SeccompCmpArgLen::Dword, op, value)
}

fn one_of<const N: usize>(at: u8, values: [u64; N]) -> Result<Vec<SeccompRule>, BackendError> {
    values.into_iter().map(|value| SeccompRule::new(vec![argument(at, SeccompCmpOp::Eq, value)?])).collect()
}

fn without(at: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    argument(at, SeccompCmpOp::MaskedEq(bits), 0)
}

fn with(at: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    argument(at, SeccompCmpOp::MaskedEq(bits), bits)
}
