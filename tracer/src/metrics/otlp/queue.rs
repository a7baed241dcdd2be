//! Events that wait for a push: a bounded number of them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::events::Happened;
use crate::metrics::Tally;

/// Shared by the thread that traces and the one that pushes.
#[derive(Clone, Debug)]
pub struct Queue {
    waiting: Arc<Mutex<VecDeque<Happened>>>,
    most: usize,
    tally: Tally,
}

impl Queue {
    /// Nothing waits; at most `most` will.
    #[must_use]
    pub fn new(most: usize, tally: Tally) -> Queue {
        Queue { waiting: Arc::default(), most, tally }
    }

    /// Another event waits. One that finds no room is counted, and gone: those that wait came first, and tell how it began.
    pub fn push(&self, event: Happened) {
        let mut waiting = self.lock();
        if waiting.len() < self.most {
            waiting.push_back(event);
        } else {
            drop(waiting);
            self.tally.no_room(1);
        }
    }

    /// The first ones, which stay until [`Queue::done`].
    #[must_use]
    pub fn first(&self, most: usize) -> Vec<Happened> {
        self.lock().iter().take(most).cloned().collect()
    }

    /// So many of the first ones have been handed on, or given up.
    pub fn done(&self, count: usize) {
        let mut waiting = self.lock();
        let count = count.min(waiting.len());
        waiting.drain(..count);
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Happened>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
