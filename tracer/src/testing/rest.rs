//! Watches one table for the levels at which it comes to rest.

use std::collections::BTreeSet;

use crate::{event::Head, gate::audit::Rest};

/// Takes looks at one table and tells when a new rest has begun.
#[derive(Debug)]
pub(super) struct Watch {
    settle_ns: u64,
    rests: Vec<Rest>,
}

impl Watch {
    /// With this settle time, nanoseconds. Look at least twice in that time, and no rest is missed.
    pub(super) fn new(settle_ns: u64) -> Self {
        Self { settle_ns, rests: Vec::new() }
    }

    /// Takes a look. True if the table rests now and did not at the look before: its identities are of interest then.
    pub(super) fn look(&mut self, head: &Head, at_ns: u64) -> bool {
        if at_ns.saturating_sub(head.last_change_ns) >= self.settle_ns {
            let from_ns = Some(head.last_change_ns);
            if let Some(rest) = self.rests.last_mut().filter(|rest| rest.from_ns == from_ns) {
                rest.until_ns = Some(at_ns);
                return false;
            }
            self.rests.push(Rest { level: head.live, from_ns, until_ns: Some(at_ns), identities: None });
            return true;
        }
        if let Some(level) = head.settled
            && self.rests.last().is_none_or(|rest| rest.level != level)
        {
            self.rests.push(Rest { level, from_ns: None, until_ns: None, identities: None });
        }
        false
    }

    /// What the descriptors of the last rest are.
    pub(super) fn identify(&mut self, identities: BTreeSet<(u32, String)>) {
        if let Some(rest) = self.rests.last_mut()
            && identities.len() == rest.level as usize
        {
            rest.identities = Some(identities);
        }
    }

    /// All rests, the first one first.
    pub(super) fn into_rests(self) -> Vec<Rest> {
        self.rests
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::head;

    #[test]
    fn every_level_that_was_still_is_a_rest_and_is_told_once() {
        let mut watch = Watch::new(50);
        let at = |live, last_change_ns, settled| Head { live, last_change_ns, settled, ..head(1, live) };
        assert!(!watch.look(&at(5, 100, None), 120), "not still for long enough");
        assert!(watch.look(&at(24, 130, None), 180));
        assert!(!watch.look(&at(24, 130, None), 200), "the same rest");
        watch.identify((0..24).map(|n| (n, String::new())).collect());
        assert!(!watch.look(&at(900, 210, Some(24)), 212), "it has left the rest, which is known");
        assert!(!watch.look(&at(800, 290, Some(40)), 300), "a rest that came and went between two looks");
        assert!(watch.look(&at(24, 301, Some(40)), 400));
        watch.identify((0..23).map(|n| (n, String::new())).collect());
        let rests = watch.into_rests();
        assert_eq!(rests.iter().map(|rest| rest.level).collect::<Vec<_>>(), [24, 40, 24]);
        assert!(rests[0].identities.is_some() && rests[1].from_ns.is_none());
        assert!(rests[2].identities.is_none(), "another number than the kernel's");
    }
}
