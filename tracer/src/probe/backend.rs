//! Which backend to take.

use super::hooks::Backend;
use crate::kernel::preemption;

/// Names the backend to use where nobody chose one; for tests that run on every backend.
pub const BACKEND_ENV: &str = "FDTIDE_BACKEND";

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first that proves itself.
    Auto,
    /// This one or none.
    Only(Backend),
}

impl Choice {
    /// [`Choice::Auto`], unless the environment names a backend.
    #[must_use]
    pub fn from_env() -> Self {
        let named = std::env::var(BACKEND_ENV).ok().and_then(|name| Backend::from_name(&name));
        named.map_or(Self::Auto, Self::Only)
    }

    /// What to try, in this order.
    pub(super) fn candidates(self) -> Vec<Backend> {
        match self {
            Self::Auto => in_order(preemption::inside_of_programs() && preemption::skipped_probes_are_counted()),
            Self::Only(backend) => vec![backend],
        }
    }
}

/// Cheapest for others first; but where tasks are preempted inside of trampolines, which are skipped for others then, the probes,
/// inside of which none is preempted, go before them: a count that is right is worth more than one that is cheap. Only where the kernel
/// counts the probes that it skips for its own reasons: what is not told is worse than what is missed.
fn in_order(preempted: bool) -> Vec<Backend> {
    let mut all = Backend::ALL.to_vec();
    if preempted {
        all.sort_by_key(|backend| *backend != Backend::Kprobe);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_tries_what_is_cheapest_for_others_first_of_what_is_not_skipped() {
        assert_eq!(in_order(false), [Backend::Fentry, Backend::Kprobe, Backend::Syscall]);
        assert_eq!(in_order(true), [Backend::Kprobe, Backend::Fentry, Backend::Syscall]);
        assert_eq!(Choice::Only(Backend::Kprobe).candidates(), [Backend::Kprobe]);
    }
}
