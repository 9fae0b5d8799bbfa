//! What agent CLIs say, in one form for all of them.

use std::time::Duration;

use serde_json::Value as Json;

use crate::event::Usage;

/// Something that a CLI said on its standard output.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent {
    /// A whole message of the agent.
    Text(String),
    /// The next piece of a message, in a stream that gives nothing but pieces.
    TextPiece(String),
    /// A piece of a message that is given whole later: to be shown, and no part of the answer.
    Preview(String),
    /// What the agent thinks.
    Thinking(String),
    /// A tool was called.
    Tool(ToolCall),
    /// A tool has answered.
    ToolOutput(ToolOutput),
    /// Tokens were used.
    Usage(UsageScope, Usage),
    /// The name of the conversation.
    Conversation(String),
    /// The model.
    Model(String),
    /// The CLI tries again by itself; it may still succeed.
    Retry(Retry),
    /// Something to be told, without consequence.
    Notice(String),
    /// The CLI met a limit; it may still succeed.
    Limit(Limit),
    /// An error that may still be overcome: the CLI's end confirms it, its success clears it.
    Error(Failure),
    /// The turn has failed. Without a text, the last error is why.
    Failed(Failure),
    /// The answer as a whole.
    Answer(String),
    /// The turn has ended well.
    Finished,
    /// It makes the same call of a tool again and again. The watcher says so, never a CLI.
    Stuck {
        /// The tool.
        tool: String,
        /// How often of late.
        times: usize,
    },
    /// A line that is not understood.
    Raw(String),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ToolCall {
    /// What ties the answer to the call.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// Its input.
    pub input: Json,
}

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ToolOutput {
    /// What ties the answer to the call.
    pub id: Option<String>,
    /// What it gave.
    pub text: String,
    /// Whether it failed.
    pub failed: bool,
}

/// What a report of tokens is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageScope {
    /// One message; a later report of the same message replaces it.
    Message {
        /// The message; each report stands alone without it.
        id: Option<String>,
        /// The report is made before the message has ended.
        is_partial: bool,
    },
    /// The whole turn.
    Turn,
    /// The whole conversation, earlier turns included.
    Conversation,
}

/// A notice that the CLI tries again.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Retry {
    /// What it says; nothing, where it only follows a notice that says why.
    pub text: String,
    /// No connection could be made.
    pub is_connection: bool,
}

/// A limit that a CLI met.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Limit {
    /// What it says.
    pub text: String,
    /// When it ends.
    pub reset: Option<ResetHint>,
}

/// Why a turn failed, as its CLI says it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Failure {
    /// What it says.
    pub text: String,
    /// The status of the provider's answer.
    pub status: Option<u16>,
    /// The names of the error's kinds.
    pub types: Vec<String>,
    /// When to come again.
    pub reset: Option<ResetHint>,
    /// No connection could be made.
    pub is_connection: bool,
}

impl Failure {
    /// A failure of which only a text is known.
    pub fn text(text: impl Into<String>) -> Failure {
        Failure {
            text: text.into(),
            ..Failure::default()
        }
    }

    /// Whether nothing is said of why.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.types.is_empty() && self.status.is_none()
    }
}

/// When a limit ends, as a CLI says it in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetHint {
    /// At this many seconds since 1970; milliseconds are recognised.
    At(i64),
    /// After this time.
    In(Duration),
}
