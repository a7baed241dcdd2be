//! Names and compositions that come again and again are kept once.

use std::collections::HashSet;
use std::hash::Hash;

/// Values kept at most; then the memory of them starts anew, which costs sharing and nothing else.
const MAX: usize = 4096;

/// Gives equal values the same storage.
#[derive(Clone, Debug)]
pub struct Interner<T>(HashSet<T>);

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner(HashSet::new())
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// The value that was first seen equal to this one.
    pub fn get(&mut self, value: &T) -> T {
        if let Some(known) = self.0.get(value) {
            return known.clone();
        }
        if self.0.len() >= MAX {
            self.0.clear();
        }
        self.0.insert(value.clone());
        value.clone()
    }
}
