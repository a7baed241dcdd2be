//! From a census as it was taken to its rows and groups.

use std::collections::BTreeMap;

use crate::event::{Descriptor, Kind, Name, Opener, Socket, SocketState};
use crate::model::census::Taken;
use crate::model::census_row::{CensusGroup, CensusRow, DescriptorRow, OpenerRow, SocketKind, SocketRow, reason};
use crate::model::record::ThreadRow;
use crate::model::report::OpenedBy;
use crate::model::stack::Stacks;

/// Groups of one census.
const GROUPS: usize = 256;

/// What descriptors of one group have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: Kind,
    under: Name,
    socket: Option<SocketKind>,
    opener: Opener,
    function: Option<String>,
}

impl Taken {
    /// As it stands in the report.
    pub fn into_row(self, stacks: &Stacks) -> CensusRow {
        let census = self.census;
        CensusRow {
            table: census.table.0,
            pid: census.process.pid,
            comm: self.comm.clone(),
            census: census.census,
            reason: reason(census.reason).into(),
            at_ns: census.at_ns,
            took_ns: census.took_ns,
            live: census.live,
            soft_limit: census.soft,
            complete: census.lost == 0 && self.rows.len() as u64 >= u64::from(census.live),
            lost: census.lost.into(),
            forgotten: self.forgotten,
            groups: self.groups(stacks),
            descriptors: self.rows.iter().map(|row| self.descriptor(row)).collect(),
        }
    }

    /// Sockets that take connections.
    pub fn listening(&self) -> u64 {
        let sockets = self.rows.iter().filter_map(|row| row.socket.as_ref());
        sockets.filter(|socket| socket.state == SocketState::Listening).count() as u64
    }

    /// Who opened descriptors of this kind, most first.
    pub fn opened_by(&self, kind: &str, stacks: &Stacks) -> Vec<OpenedBy> {
        let mut counts: BTreeMap<(Opener, Option<String>), u64> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.kind.name() == kind) {
            *counts.entry((row.opener, stacks.function(row.stack))).or_default() += 1;
        }
        let by = |((opener, function), count)| OpenedBy { count, thread: self.opener(opener).thread, function };
        let mut rows: Vec<OpenedBy> = counts.into_iter().map(by).collect();
        rows.sort_by_key(|by| std::cmp::Reverse(by.count));
        rows
    }

    fn groups(&self, stacks: &Stacks) -> Vec<CensusGroup> {
        let mut groups: BTreeMap<Key, Vec<&Descriptor>> = BTreeMap::new();
        for row in &self.rows {
            let key = Key {
                kind: row.kind,
                under: under(row),
                socket: row.socket.as_ref().map(socket_kind),
                opener: row.opener,
                function: stacks.function(row.stack),
            };
            groups.entry(key).or_default().push(row);
        }
        let mut groups: Vec<CensusGroup> = groups.into_iter().map(|(key, rows)| self.group(key, &rows)).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        groups.truncate(GROUPS);
        groups
    }

    fn group(&self, key: Key, rows: &[&Descriptor]) -> CensusGroup {
        let ages = || rows.iter().filter_map(|row| age(row));
        let in_folder = rows.iter().any(|row| row.name.as_bytes().contains(&b'/'));
        // One thing has its own name.
        let (under, folder) = match rows {
            [only] => (only.name.clone(), false),
            _ => (key.under, in_folder),
        };
        CensusGroup {
            count: rows.len() as u64,
            kind: key.kind.name().into(),
            under,
            folder,
            socket: key.socket,
            opener: self.opener(key.opener),
            function: key.function,
            oldest_ns: ages().max(),
            newest_ns: ages().min(),
        }
    }

    fn opener(&self, opener: Opener) -> OpenerRow {
        match opener {
            Opener::Before => OpenerRow { by: "before".into(), thread: None },
            Opener::Unknown => OpenerRow { by: "unknown".into(), thread: None },
            Opener::Thread(tid) => {
                let comm = self.threads.get(&tid).cloned().unwrap_or_default();
                OpenerRow { by: "thread".into(), thread: Some(ThreadRow { tid, comm }) }
            }
        }
    }

    fn descriptor(&self, row: &Descriptor) -> DescriptorRow {
        DescriptorRow {
            number: row.number,
            kind: row.kind.name().into(),
            name: row.name.clone(),
            access: access(row).into(),
            file_flags: row.file_flags,
            cloexec: row.cloexec,
            unlinked: row.unlinked,
            opener: self.opener(row.opener),
            age_ns: age(row),
            inode: row.inode,
            device: format!("{}:{}", row.device >> 20, row.device & 0xf_ffff),
            socket: row.socket.as_ref().map(socket),
            stack: row.stack,
        }
    }
}

fn age(row: &Descriptor) -> Option<u64> {
    row.opened_ns.map(|opened| row.at_ns.saturating_sub(opened))
}

/// The folder of a path; a name without one stands for itself.
fn under(row: &Descriptor) -> Name {
    let bytes = row.name.as_bytes();
    match bytes.iter().rposition(|byte| *byte == b'/') {
        Some(0) => Name::from("/"),
        Some(slash) => Name::from_bytes(bytes.get(..slash).unwrap_or_default()),
        None => row.name.clone(),
    }
}

/// `O_ACCMODE` and `O_PATH` (include/uapi/asm-generic/fcntl.h, v6.12).
fn access(row: &Descriptor) -> &'static str {
    match row.file_flags {
        flags if flags & 0o10_000_000 != 0 => "path",
        flags if flags & 3 == 0 => "read",
        flags if flags & 3 == 1 => "write",
        _ => "read-write",
    }
}

fn socket_kind(socket: &Socket) -> SocketKind {
    let family = match socket.family {
        1 => "unix",
        2 => "inet",
        10 => "inet6",
        16 => "netlink",
        17 => "packet",
        38 => "alg",
        40 => "vsock",
        44 => "xdp",
        other => return SocketKind { family: format!("family {other}"), ..kind_of(socket) },
    };
    SocketKind { family: family.to_owned(), ..kind_of(socket) }
}

/// Type and state.
fn kind_of(socket: &Socket) -> SocketKind {
    let socket_type = match socket.socket_type {
        1 => "stream".to_owned(),
        2 => "dgram".to_owned(),
        3 => "raw".to_owned(),
        4 => "rdm".to_owned(),
        5 => "seqpacket".to_owned(),
        other => format!("type {other}"),
    };
    let state = match socket.state {
        SocketState::Unconnected => "unconnected",
        SocketState::Bound => "bound",
        SocketState::Listening => "listening",
        SocketState::Connecting => "connecting",
        SocketState::Connected => "connected",
        SocketState::Closing => "closing",
    };
    SocketKind { family: String::new(), socket_type, state: state.into() }
}

fn socket(socket: &Socket) -> SocketRow {
    let end = |end: Option<_>| {
        end.map(|(ip, port): (_, u16)| {
            let text = format!("{ip}");
            if text.contains(':') { format!("[{text}]:{port}") } else { format!("{text}:{port}") }
        })
    };
    SocketRow {
        kind: socket_kind(socket),
        protocol: socket.protocol,
        local: end(socket.local),
        remote: end(socket.remote),
    }
}
