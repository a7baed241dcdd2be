//! Which backend to take.

use super::hooks::Backend;

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
            Self::Auto => Backend::ALL.to_vec(),
            Self::Only(backend) => vec![backend],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_tries_what_is_cheapest_for_others_first() {
        assert_eq!(Choice::Auto.candidates(), [Backend::Fentry, Backend::Kprobe, Backend::Syscall]);
        assert_eq!(Choice::Only(Backend::Kprobe).candidates(), [Backend::Kprobe]);
    }
}
