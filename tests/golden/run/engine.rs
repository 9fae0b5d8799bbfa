//! A case on the real engine: the journal in memory, scripted actions, a virtual clock.

use crate::run::script::Script;
use libtest_mimic::Failed;
use outpost_runtime::event::{Body, EventKind, Phase};
use outpost_runtime::executor::ActionRequest;
use outpost_runtime::journal::memory::MemoryJournal;
use outpost_runtime::journal::{Batch, Journal, JournalFault};
use outpost_runtime::public::PublicEvent;
use outpost_runtime::record::RunRecord;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// A compiled case.
pub struct Case {
    /// What its actions answer.
    pub script: Script,
}

/// One start or resumption, and all that came of it.
pub struct Session {
    /// How the run ended, or why it broke off.
    pub ended: Result<RunRecord, String>,
    /// Whether it was refused before anything happened.
    pub refused: bool,
    /// The rows of the journal, those of earlier sessions included.
    pub rows: Vec<String>,
    /// How many durable writes there were.
    pub writes: usize,
    /// The actions that were started, in order.
    pub calls: Vec<Call>,
    /// How many actions were in flight at the end: all were awaited if none.
    pub left_in_flight: usize,
    /// The most actions in flight at one time.
    pub most_at_once: usize,
    /// The public events.
    pub events: Vec<PublicEvent>,
    /// How long it took on the virtual clock.
    pub took: Duration,
}

impl Session {
    /// What is durable.
    pub fn kinds(&self) -> Vec<EventKind<String>> {
        let body = |row: &String| {
            serde_json::from_str::<Body<String>>(row)
                .expect("a row is an event")
                .event
        };
        self.rows.iter().map(body).collect()
    }
}

/// An action that was started.
#[derive(Debug)]
pub struct Call {
    /// The task's key.
    pub task: String,
    /// The round; 0 outside loops.
    pub round: u64,
    /// The phase.
    pub phase: Phase,
    /// The step's path; empty for a single action.
    pub step: String,
    /// The attempt.
    pub attempt: u32,
    /// The key that it was given.
    pub idempotency_key: String,
}

impl Call {
    fn of(request: &ActionRequest) -> Call {
        Call {
            task: request.task.to_string(),
            round: request.round,
            phase: request.phase,
            step: request.step.clone(),
            attempt: request.attempt,
            idempotency_key: request.idempotency_key.clone(),
        }
    }

    /// Which action of the file it is: `task`, `task/phase`, `task/phase/step`.
    pub fn short_address(&self) -> String {
        let mut address = self.task.clone();
        let phase = match self.round {
            0 => "",
            _ => self.phase.name(),
        };
        for part in [phase, &self.step] {
            if !part.is_empty() {
                address.push('/');
                address.push_str(part);
            }
        }
        address
    }

    /// Which action of which round it is.
    pub fn address(&self) -> String {
        format!("{} of round {}", self.short_address(), self.round)
    }

    /// As a trace has it.
    pub fn named(&self) -> String {
        format!("{} {}", self.short_address(), self.attempt)
    }
}

/// A journal in memory that breaks before a write.
struct Breaking {
    rows: MemoryJournal,
    writes: Rc<Cell<usize>>,
    /// How many writes there may be.
    most: Option<usize>,
}

impl Journal for Breaking {
    fn append(&mut self, batch: Batch<'_>) -> Result<(), JournalFault> {
        if self.most == Some(self.writes.get()) {
            return Err(JournalFault::Io("the disk is full".to_owned()));
        }
        self.rows.append(batch)?;
        self.writes.set(self.writes.get() + 1);
        Ok(())
    }
}

impl Case {
    /// Compiles the file of a case.
    pub fn compile(_folder: &Path, _script: Script) -> Result<Case, Failed> {
        Err("wait".into())
    }

    /// A new run; it is stopped before the write of this number, if there is one.
    pub fn start(&self, _stop: Option<usize>) -> Session {
        let _ = Breaking {
            rows: MemoryJournal::default(),
            writes: Rc::default(),
            most: None,
        };
        let _ = Call::of;
        unreachable!()
    }

    /// Goes on with a run that was stopped.
    pub fn resume(&self, _stopped: &Session, _retry_incomplete: bool) -> Session {
        unreachable!()
    }
}
