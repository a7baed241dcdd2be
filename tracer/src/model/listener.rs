//! Listeners that were lost for good.
//!
//! An accept loop that meets a full table may end and drop its listener: afterwards the level at rest is lower, with fewer
//! sockets, and nothing is accepted any more. Told from a failed accept and the spawn windows before and after it.

use serde::{Deserialize, Serialize};

use crate::event::{Kind, Kinds, Name};
use crate::model::failure::FailureRow;

/// A table whose level fell after a failed accept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostListener {
    /// The table.
    pub table: u64,
    /// Its first process.
    pub pid: u32,
    /// Name of that.
    pub comm: Name,
    /// The accept that failed.
    pub syscall: String,
    /// Its error.
    pub errno: String,
    /// When that was first.
    pub failed_ns: Option<u64>,
    /// Settled level of the last window before.
    pub settled_before: u32,
    /// Settled level of the first window that is lower.
    pub settled_after: u32,
    /// Sockets at the end of the window before.
    pub sockets_before: u32,
    /// Sockets at the end of the window after.
    pub sockets_after: u32,
    /// Listening ones at the first failure, if there is a census.
    pub listening_before: Option<u64>,
    /// Listening ones at the last census.
    pub listening_after: Option<u64>,
    /// The exec that ends the window after.
    pub seq: u64,
}

/// What one table's windows show.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    before: Option<(u32, u32)>,
    failed: Option<FailureRow>,
    lost: Option<LostListener>,
}

impl Watch {
    /// A window has ended at this level.
    pub fn window(&mut self, seq: u64, level: u32, kinds: &Kinds, failures: &[FailureRow]) {
        if self.failed.is_none() {
            let refused = |row: &&FailureRow| matches!(row.errno.as_ref(), "EMFILE" | "ENFILE");
            let mut accepts = failures.iter().filter(|row| row.syscall.starts_with("accept")).filter(refused);
            self.failed = accepts.next().cloned();
        }
        let sockets = sockets(kinds);
        match (&self.failed, self.before) {
            (None, _) => self.before = Some((level, sockets)),
            (Some(failed), Some((settled, before))) if level < settled && sockets < before && self.lost.is_none() => {
                self.lost = Some(LostListener {
                    table: 0,
                    pid: 0,
                    comm: Name::default(),
                    syscall: failed.syscall.clone().into_owned(),
                    errno: failed.errno.clone().into_owned(),
                    failed_ns: failed.first_ns,
                    settled_before: settled,
                    settled_after: level,
                    sockets_before: before,
                    sockets_after: sockets,
                    listening_before: None,
                    listening_after: None,
                    seq,
                });
            }
            _ => {}
        }
    }

    /// What was lost.
    pub fn lost(&self, table: u64, pid: u32, comm: &Name) -> Option<LostListener> {
        self.lost.clone().map(|lost| LostListener { table, pid, comm: comm.clone(), ..lost })
    }
}

/// Sockets that can listen.
fn sockets(kinds: &Kinds) -> u32 {
    let listens = [Kind::SocketUnix, Kind::SocketTcp, Kind::SocketVsock, Kind::SocketOther];
    listens.into_iter().map(|kind| kinds.get(kind)).fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Errno, Failure, Syscall};
    use crate::model::failure::Tally;

    fn kinds(tcp: u32, files: u32) -> Kinds {
        [(Kind::SocketTcp, tcp), (Kind::File, files)].into_iter().collect()
    }

    fn accept() -> Vec<FailureRow> {
        let mut head = crate::model::testing::head(1, 32);
        head.failures.push(Failure {
            first_ns: 9,
            last_ns: 9,
            count: 1,
            live: 32,
            soft: 32,
            lowest_free: Some(32),
            in_use: 32,
            syscall: Syscall { nr: 288, compat: false, hidden: false },
            errno: Errno::EMFILE,
        });
        Tally::default().since(&head)
    }

    #[test]
    fn a_level_one_lower_after_a_failed_accept_is_a_lost_listener() {
        let mut watch = Watch::default();
        watch.window(1, 16, &kinds(1, 15), &[]);
        watch.window(2, 15, &kinds(0, 15), &accept());
        let lost = watch.lost(4, 7, &Name::from("server")).unwrap();
        assert_eq!((lost.settled_before, lost.settled_after, lost.seq), (16, 15, 2));
        assert_eq!((lost.sockets_before, lost.sockets_after, lost.failed_ns), (1, 0, Some(9)));
    }

    #[test]
    fn a_server_that_recovers_has_lost_nothing() {
        let mut watch = Watch::default();
        watch.window(1, 16, &kinds(1, 15), &[]);
        watch.window(2, 16, &kinds(1, 15), &accept());
        watch.window(3, 12, &kinds(1, 11), &[]);
        assert!(watch.lost(4, 7, &Name::default()).is_none());
        let mut watch = Watch::default();
        watch.window(1, 16, &kinds(1, 15), &[]);
        watch.window(2, 15, &kinds(0, 15), &[]);
        assert!(watch.lost(4, 7, &Name::default()).is_none(), "no accept failed");
    }
}
