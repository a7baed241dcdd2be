//! Records of a census and of single descriptors to events.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fdtide_abi::event::{self as abi, census_reason, descriptor_flag};
use fdtide_abi::table::UNCREDITED;

use super::{
    Census, CensusReason, Descriptor, Event, Kind, Name, Opener, ProcId, Slot, Socket, SocketState, TableId,
    decode::{DecodeError, syscall},
};

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
/// States of a TCP socket, which other families use too (include/net/tcp_states.h, v6.12).
mod tcp {
    pub const ESTABLISHED: u8 = 1;
    pub const SYN_SENT: u8 = 2;
    pub const SYN_RECV: u8 = 3;
    pub const CLOSE: u8 = 7;
    pub const LISTEN: u8 = 10;
    pub const NEW_SYN_RECV: u8 = 12;
}
/// `socket.state` (include/uapi/linux/net.h, v6.12).
const SS_CONNECTING: u8 = 2;
const SS_CONNECTED: u8 = 3;

pub(super) fn census(raw: &abi::CensusRecord) -> Result<Event, DecodeError> {
    let reason = match raw.reason {
        census_reason::CREST => CensusReason::Crest,
        census_reason::FAILURE => CensusReason::Failure,
        census_reason::ASKED => CensusReason::Asked,
        census_reason::END => CensusReason::End,
        reason => return Err(DecodeError::UnknownCensus { reason }),
    };
    Ok(Event::Census(Census {
        at_ns: raw.header.at_ns,
        table: TableId(raw.table_id),
        census: raw.census,
        reason,
        process: ProcId { start_ns: raw.start_ns, pid: raw.tgid },
        tid: raw.tid,
        live: raw.live,
        soft: raw.soft,
        rows: raw.rows,
        lost: raw.lost,
        took_ns: raw.took_ns,
    }))
}

pub(super) fn descriptor(raw: &abi::DescriptorRecord) -> Descriptor {
    let has = |bit| raw.flags & bit != 0;
    Descriptor {
        at_ns: raw.header.at_ns,
        table: TableId(raw.table_id),
        census: raw.census,
        number: raw.number,
        kind: Kind::from_raw(raw.kind).unwrap_or(Kind::Unknown),
        cloexec: has(descriptor_flag::CLOEXEC),
        file_flags: raw.file_flags,
        opener: opener(raw.tid),
        opened_ns: has(descriptor_flag::OPENED).then_some(raw.opened_ns),
        name: if has(descriptor_flag::SOCKET) { socket_name(raw) } else { path(raw) },
        unlinked: has(descriptor_flag::UNLINKED),
        inode: raw.inode,
        device: raw.device,
        socket: has(descriptor_flag::SOCKET).then(|| socket(raw)),
        stack: (raw.stack != u32::MAX).then_some(raw.stack),
    }
}

pub(super) fn slot(raw: &abi::SlotRecord) -> Slot {
    let kind = |value: u32| value.checked_sub(1).map(|kind| Kind::from_raw(kind).unwrap_or(Kind::Unknown));
    Slot {
        at_ns: raw.header.at_ns,
        table: TableId(raw.table_id),
        number: raw.number,
        now: kind(raw.now),
        before: kind(raw.before),
        live: raw.live,
        pid: raw.tgid,
        tid: raw.tid,
        opener: opener(raw.opener),
        syscall: syscall(raw.nr as u16),
    }
}

fn opener(tid: u32) -> Opener {
    match tid {
        0 => Opener::Before,
        UNCREDITED => Opener::Unknown,
        tid => Opener::Thread(tid),
    }
}

/// Names are the descriptor's own first; a name that fills its room may have been cut.
fn path(raw: &abi::DescriptorRecord) -> Name {
    let names: Vec<&[u8]> = raw.names.iter().map(|name| text(name)).take_while(|name| !name.is_empty()).collect();
    let mut bytes = Vec::new();
    for name in names.iter().rev() {
        if *name == b"/" {
            continue;
        }
        bytes.push(b'/');
        bytes.extend_from_slice(name);
    }
    let rooted = raw.flags & descriptor_flag::ROOTED != 0;
    match (bytes.first(), rooted) {
        (None, true) => Name::from_bytes(b"/"),
        (Some(_), false) => Name::from_bytes(&bytes[1..]),
        _ => Name::from_bytes(&bytes),
    }
}

/// Path of a bound Unix socket, `@name` for an abstract one.
fn socket_name(raw: &abi::DescriptorRecord) -> Name {
    if raw.family != AF_UNIX || raw.flags & descriptor_flag::BOUND == 0 {
        return Name::default();
    }
    let both: Vec<u8> = raw.names[..2].concat();
    if both[0] == 0 {
        let end = both.iter().rposition(|byte| *byte != 0).map_or(1, |at| at + 1);
        return Name::from_bytes(&[b"@", &both[1..end]].concat());
    }
    Name::from_c(&both)
}

fn text(name: &[u8]) -> &[u8] {
    &name[..name.iter().position(|byte| *byte == 0).unwrap_or(name.len())]
}

fn socket(raw: &abi::DescriptorRecord) -> Socket {
    let inet = matches!(raw.family, AF_INET | AF_INET6);
    let end = |address: &[u8; 16], port: u16| {
        let ip = address_of(raw.family, address)?;
        (port != 0 || !ip.is_unspecified()).then_some((ip, port))
    };
    let local = end(&raw.local, raw.local_port);
    let remote = end(&raw.remote, raw.remote_port);
    let bound = if inet { local.is_some() } else { raw.flags & descriptor_flag::BOUND != 0 };
    let state = match (raw.state, raw.socket_state) {
        (tcp::LISTEN, _) => SocketState::Listening,
        (tcp::SYN_SENT | tcp::SYN_RECV | tcp::NEW_SYN_RECV, _) => SocketState::Connecting,
        (tcp::ESTABLISHED, _) => SocketState::Connected,
        (tcp::CLOSE, SS_CONNECTED) if !inet => SocketState::Connected,
        (tcp::CLOSE, SS_CONNECTING) => SocketState::Connecting,
        (tcp::CLOSE | 0, _) if bound => SocketState::Bound,
        (tcp::CLOSE | 0, _) => SocketState::Unconnected,
        _ => SocketState::Closing,
    };
    Socket { family: raw.family, socket_type: raw.socket_type, protocol: raw.protocol, state, local, remote }
}

fn address_of(family: u16, bytes: &[u8; 16]) -> Option<IpAddr> {
    match family {
        AF_INET => Some(IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))),
        AF_INET6 => Some(IpAddr::V6(Ipv6Addr::from(*bytes))),
        _ => None,
    }
}
