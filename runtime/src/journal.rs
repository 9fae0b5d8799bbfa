//! The journal: where events become durable.

use crate::event::{Body, Event, EventKind, Payload};
use outpost_compiler::plan::Plan;
use outpost_compiler::program::TaskId;
use std::convert::Infallible;
use std::fmt;

pub mod memory;
pub mod seal;
pub mod sqlite;
pub mod values;

/// Events that become durable together.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// The events, in order.
    pub events: &'a [Event<TaskId>],
    /// Names their tasks.
    pub plan: &'a Plan,
}

/// Appends events.
pub trait Journal {
    /// Makes a batch durable, all of it or nothing.
    fn append(&mut self, batch: Batch<'_>) -> Result<(), JournalFault>;
}

/// Why a journal cannot be written or is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalFault {
    /// It could not be written or read.
    Io(String),
    /// What it holds is not what was written.
    Damaged {
        /// The first record that is wrong, if it is one.
        record: Option<u64>,
        /// What is wrong.
        message: String,
    },
    /// It was written by a version of outpostc that this one does not know.
    Newer {
        /// The version that wrote it.
        written_by: String,
        /// Its format.
        format: u32,
    },
}

impl fmt::Display for JournalFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalFault::Io(message) => out.write_str(message),
            JournalFault::Damaged {
                record: Some(record),
                message,
            } => write!(out, "record {record} of the journal {message}"),
            JournalFault::Damaged {
                record: None,
                message,
            } => write!(out, "the journal {message}"),
            JournalFault::Newer { written_by, format } => write!(
                out,
                "the journal was written by outpostc {written_by} in format {format}; this is outpostc {} and reads up to format {}",
                env!("CARGO_PKG_VERSION"),
                crate::event::FORMAT
            ),
        }
    }
}

impl JournalFault {
    /// A record that is wrong.
    pub fn damaged(record: u64, message: impl Into<String>) -> JournalFault {
        JournalFault::Damaged {
            record: Some(record),
            message: message.into(),
        }
    }
}

/// An event with its task named by key: cheap, texts are shared.
pub fn named(event: &Event<TaskId>, plan: &Plan) -> EventKind<std::sync::Arc<str>> {
    let mut name = |task: TaskId| Ok::<_, Infallible>(plan.task(task).key.clone());
    match event.kind.clone().with_tasks(&mut name) {
        Ok(kind) => kind,
        Err(never) => match never {},
    }
}

/// The body of an event's row; `store` takes a value out of line, if it is large.
pub fn encode(
    event: &Event<TaskId>,
    plan: &Plan,
    store: &mut dyn FnMut(&mut Payload) -> Result<(), JournalFault>,
) -> Result<String, JournalFault> {
    let mut kind = named(event, plan);
    if let Some(payload) = kind.payload_mut() {
        store(payload)?;
    }
    let body = Body {
        at: event.at,
        event: kind,
    };
    serde_json::to_string(&body).map_err(|error| JournalFault::Io(error.to_string()))
}
