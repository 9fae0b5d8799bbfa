//! Faults: what went wrong, classified (SEMANTICS R3).

use crate::clock::Timestamp;
use outpost_compiler::plan::Plan;
use outpost_grammar::Location;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The class of a fault. "Unavailable" is a mark on a fault, never a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultCode {
    /// The machine or the settings do not fit the file.
    Configuration,
    /// A process failed.
    Process,
    /// A deadline passed.
    Timeout,
    /// Somebody stopped the run.
    Aborted,
    /// The workspace could not be made or used.
    Workspace,
    /// Two changes exclude each other.
    Conflict,
    /// A brief could not be made.
    Prompt,
    /// An answer does not have the form that was asked for.
    Response,
    /// A conversation could not be continued.
    Session,
    /// A provider refused or broke.
    Provider,
    /// Our own budget.
    Limit,
    /// The provider's limit.
    Quota,
    /// A recorded turn could not be replayed.
    Replay,
    /// A guard said no.
    Guard,
    /// A loop went in circles.
    Stuck,
    /// A person said no.
    Rejected,
    /// An assertion does not hold.
    Assertion,
    /// The last permitted check of a loop rejected.
    Exhausted,
    /// A token limit cannot be kept because a report is incomplete.
    UsageUnavailable,
    /// Anything else.
    Failed,
}

impl FaultCode {
    /// The name under which users know it.
    pub fn name(self) -> &'static str {
        match self {
            FaultCode::Configuration => "configuration",
            FaultCode::Process => "process",
            FaultCode::Timeout => "timeout",
            FaultCode::Aborted => "aborted",
            FaultCode::Workspace => "workspace",
            FaultCode::Conflict => "conflict",
            FaultCode::Prompt => "prompt",
            FaultCode::Response => "response",
            FaultCode::Session => "session",
            FaultCode::Provider => "provider",
            FaultCode::Limit => "limit",
            FaultCode::Quota => "quota",
            FaultCode::Replay => "replay",
            FaultCode::Guard => "guard",
            FaultCode::Stuck => "stuck",
            FaultCode::Rejected => "rejected",
            FaultCode::Assertion => "assertion",
            FaultCode::Exhausted => "exhausted",
            FaultCode::UsageUnavailable => "usage-unavailable",
            FaultCode::Failed => "failed",
        }
    }
}

/// A place in a source file, as users count; it outlives the file in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The file, relative to the project's root.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1, in Unicode scalar values.
    pub column: u32,
    /// The line of the end.
    pub end_line: u32,
    /// The column after the last.
    pub end_column: u32,
}

impl Place {
    /// The place of a location in the plan's sources.
    pub fn of(plan: &Plan, at: Location) -> Place {
        let source = plan.program().sources.get(at.source);
        let (line, column) = source.line_column(at.span.start);
        let (end_line, end_column) = source.line_column(at.span.end);
        Place {
            file: source.name.clone(),
            line,
            column,
            end_line,
            end_column,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Why a task or a run did not end well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Its class.
    pub code: FaultCode,
    /// A name for programs: `LoopTaskExhausted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What happened.
    pub message: String,
    /// Whether it came from an outage, so that another try may help.
    #[serde(default)]
    pub unavailable: bool,
    /// The key of the task that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Where in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Place>,
    /// The limit of an exhausted loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u64>,
    /// The last rejection of an exhausted or stuck loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// The shortest wait that the other side asked for, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// When a quota is said to be renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_at: Option<Timestamp>,
    /// The last output of what failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl Fault {
    /// A fault of a class with a message.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Fault {
        Fault {
            code,
            name: None,
            message: message.into(),
            unavailable: false,
            task: None,
            span: None,
            max_rounds: None,
            feedback: None,
            retry_after_ms: None,
            reset_at: None,
            output: None,
        }
    }
}

/// How many characters of an output go into a fault.
const SHOWN_CHARACTERS: usize = 4_000;

/// The end of a text, with a mark where it was cut.
pub(crate) fn end_of(text: &str) -> String {
    let count = text.chars().count();
    if count <= SHOWN_CHARACTERS {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count - SHOWN_CHARACTERS).collect();
    format!("[…]{end}")
}
