//! What agent CLIs say, in one form for all of them.

use serde_json::Value as Json;
use std::time::Duration;

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

/// Tokens.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Usage {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens read from a cache.
    pub cached: Option<u64>,
    /// Tokens written to a cache.
    pub cache_created: Option<u64>,
    /// `Some(false)`: there was more than this.
    pub complete: Option<bool>,
}

impl Usage {
    /// Whether no token was counted.
    pub fn is_nothing(&self) -> bool {
        self.input == 0
            && self.output == 0
            && self.cached.unwrap_or(0) == 0
            && self.cache_created.unwrap_or(0) == 0
    }

    /// Adds another report.
    pub fn add(&mut self, other: &Usage) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = sum(self.cached, other.cached);
        self.cache_created = sum(self.cache_created, other.cache_created);
        if other.complete == Some(false) {
            self.complete = Some(false);
        }
    }

    /// What was used since an earlier total. Where a counter has gone back, the earlier total was another's.
    pub fn since(&self, earlier: &Usage) -> Usage {
        let part = |now: Option<u64>, then: Option<u64>| {
            now.map(|now| now.saturating_sub(then.unwrap_or(0)))
        };
        let went_back = self.input < earlier.input
            || self.output < earlier.output
            || self.cached.unwrap_or(0) < earlier.cached.unwrap_or(0);
        Usage {
            input: self.input.saturating_sub(earlier.input),
            output: self.output.saturating_sub(earlier.output),
            cached: part(self.cached, earlier.cached),
            cache_created: part(self.cache_created, earlier.cache_created),
            complete: match went_back {
                true => Some(false),
                false => self.complete,
            },
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, cached: u64, output: u64) -> Usage {
        Usage {
            input,
            output,
            cached: Some(cached),
            ..Usage::default()
        }
    }

    #[test]
    fn totals_are_differenced_and_a_counter_that_goes_back_is_told() {
        assert_eq!(
            usage(2400, 600, 50).since(&usage(1200, 300, 25)),
            usage(1200, 300, 25)
        );
        let back = usage(100, 0, 50).since(&usage(1200, 300, 25));
        assert_eq!(
            (back.input, back.output, back.complete),
            (0, 25, Some(false))
        );
    }

    #[test]
    fn what_is_not_reported_stays_unknown_in_a_sum() {
        let mut sum = Usage::default();
        sum.add(&usage(1, 2, 3));
        sum.add(&usage(1, 2, 3));
        assert_eq!(sum, usage(2, 4, 6));
        assert_eq!(sum.cache_created, None);
    }
}
