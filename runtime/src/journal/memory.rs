//! A journal in memory: for `--ephemeral`, and for tests that look at the rows or break them off.

use crate::journal::{Batch, Journal, JournalFault, encode};
use std::cell::RefCell;
use std::rc::Rc;

/// Forgets what it is given: an ephemeral run has nobody to read it.
#[derive(Debug, Default)]
pub struct Forgetful;

impl Journal for Forgetful {
    fn append(&mut self, _batch: Batch<'_>) -> Result<(), JournalFault> {
        Ok(())
    }
}

/// Keeps the rows.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    rows: Rc<RefCell<Vec<String>>>,
}

impl MemoryJournal {
    /// The bodies of all rows.
    pub fn rows(&self) -> Vec<String> {
        self.rows.borrow().clone()
    }
}

impl Journal for MemoryJournal {
    fn append(&mut self, batch: Batch<'_>) -> Result<(), JournalFault> {
        let mut bodies = Vec::with_capacity(batch.events.len());
        for event in batch.events {
            bodies.push(encode(event, batch.plan, &mut |_| Ok(()))?);
        }
        self.rows.borrow_mut().extend(bodies);
        Ok(())
    }
}
