//! Selectors that come and go while the trace runs.

use super::{
    Selector, TargetError, Targets,
    scan::{nobody, scan},
    targets::Wish,
};
use crate::{
    probe::{Extent, Session},
    procfs::Facts,
};

/// What came of one more selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Processes that it means and that are traced now.
    pub processes: usize,
    /// It was in force already, and nothing has changed.
    pub already: bool,
    /// Who else may have been meant, in sentences.
    pub doubts: Vec<String>,
}

impl Targets {
    /// One more selector. An id whose process has ended means whoever has it now.
    ///
    /// # Errors
    ///
    /// As [`Self::begin`]; if an id fits nobody, too. The selectors are as before then.
    pub fn add(&mut self, session: &mut Session, selector: Selector) -> Result<Added, TargetError> {
        let id = matches!(selector, Selector::Pid(_));
        let known = self.wishes.iter().position(|wish| wish.selector == selector);
        if let Some(at) = known {
            let wish = self.wishes[at].clone();
            let processes = self.traced(session, &wish)?;
            if processes > 0 || !id {
                return Ok(Added { processes, already: true, doubts: Vec::new() });
            }
        }
        let only = [selector.clone()];
        let found = scan(&self.root, &only, &mut self.names, self.own)?;
        let pids = found.pids();
        if pids.is_empty() && (!self.follow_new || id) {
            return Err(nobody(&self.root, &only));
        }
        let before = self.wishes.clone();
        if let Some(at) = known {
            self.wishes.remove(at);
        }
        self.wishes.push(Wish { selector, pid: pids.first().copied().filter(|_| id) });
        let added = self.tell(session).and_then(|()| self.trace(session, &found.roots(&self.root)));
        if added.is_err() {
            self.wishes = before;
            self.tell(session)?;
        }
        added.map(|()| Added { processes: pids.len(), already: false, doubts: found.doubts })
    }

    /// How many processes a selector in force means that are traced now.
    fn traced(&mut self, session: &Session, wish: &Wish) -> Result<usize, TargetError> {
        let pids: Vec<u32> = match wish.selector {
            // The one that it meant then, and no later one of the same id.
            Selector::Pid(_) => wish.pid.into_iter().collect(),
            _ => scan(&self.root, std::slice::from_ref(&wish.selector), &mut self.names, self.own)?
                .pids()
                .into_iter()
                .collect(),
        };
        Ok(pids.len() - session.untraced(&pids)?.len())
    }

    /// One selector fewer: what no other one fits is traced no longer. Gives how many processes that were.
    ///
    /// # Errors
    ///
    /// When there is no such selector, or the kernel can't be told.
    pub fn remove(&mut self, session: &mut Session, selector: &Selector) -> Result<u64, TargetError> {
        let Some(at) = self.selectors().position(|known| known == selector) else {
            let known: Vec<String> = self.selectors().map(|known| format!("`{known}`")).collect();
            let known = if known.is_empty() { "there is none".to_owned() } else { known.join(", ") };
            let why = format!("it is not one of those in force: {known}");
            return Err(TargetError::Selector { text: selector.to_string(), why });
        };
        self.wishes.remove(at);
        self.tell(session)?;
        let mut removed = 0;
        for pid in session.targets()? {
            if !self.wants(pid) {
                removed += session.remove(pid, Extent::Tree)?;
            }
        }
        Ok(removed)
    }

    /// Whether a process is a target for its own sake.
    fn wants(&mut self, pid: u32) -> bool {
        let facts = Facts::of(&self.root, pid);
        let names = &mut self.names;
        self.wishes.iter().any(|wish| match wish.selector {
            Selector::Pid(_) => wish.pid == Some(pid),
            _ => wish.selector.fits(&facts, names),
        })
    }
}
