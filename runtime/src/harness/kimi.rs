//! Kimi Code: `kimi --prompt`, a JSON record a line.
//!
//! It takes its brief as an argument, so the brief has a length limit.
//! Without a person at a terminal it asks for nothing: `bypass` is the only mode it has.

use serde_json::Value as Json;

use super::conversation::{Conversation, ForkFault};
use super::event::{AgentEvent, Retry, ToolOutput};
use super::invocation::Invocation;
use super::record::{Record, flat};
use super::turn::{Authentication, Turn};
use super::{Capabilities, Finish, Fork, Harness, Modes, shipped};
use crate::classify::Table;

/// Before the name of a copied conversation.
const FORKED: &str = "Forked to ";

/// Kimi Code.
pub struct Kimi;

impl Harness for Kimi {
    fn name(&self) -> &str {
        "kimi"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            fork: Fork::Command,
            reasoning: false,
            max_output_tokens: false,
            permissions: Modes {
                ask: false,
                edits: false,
                bypass: true,
            },
            finish: Finish::Optional,
            uncached_input: true,
        }
    }

    fn limits(&self) -> &Table {
        shipped("kimi")
    }

    fn command(&self, turn: &Turn) -> Invocation {
        let settings = turn.settings;
        let mut command = Invocation::of("kimi");
        // Billed by use, the model is a setting of the account: `KIMI_MODEL_NAME`.
        if settings.authentication != Authentication::Usage {
            command.option("--model", settings.model.as_deref());
        }
        command.option("--session", turn.start.continued());
        command.extra(turn);
        command.add(&["--prompt", turn.brief, "--output-format", "stream-json"]);
        command.variable("KIMI_CODE_NO_AUTO_UPDATE", 1);
        command
    }

    fn read(&self, record: &Record, _conversation: Option<&str>) -> Vec<AgentEvent> {
        match record.text("role") {
            Some("assistant") => message(record),
            Some("tool") => vec![AgentEvent::ToolOutput(ToolOutput {
                id: record.text("tool_call_id").map(str::to_owned),
                text: flat(record.get("content")),
                failed: record.is_true("is_error"),
            })],
            Some("meta") => meta(record),
            _ => Vec::new(),
        }
    }

    fn fork_command(&self, parent: &Conversation) -> Option<Invocation> {
        let mut command = Invocation::of("kimi");
        command.add(&["fork", parent.as_str(), "--yes"]);
        command.variable("KIMI_CODE_NO_AUTO_UPDATE", 1);
        Some(command)
    }

    fn forked(&self, parent: &Conversation, stdout: &str) -> Result<Conversation, ForkFault> {
        let named = stdout
            .lines()
            .find_map(|line| line.trim().strip_prefix(FORKED));
        let id = named.ok_or(ForkFault::NotNamed)?;
        let copy = Conversation::parse(id.trim()).map_err(ForkFault::Invalid)?;
        match copy == *parent {
            true => Err(ForkFault::Same),
            false => Ok(copy),
        }
    }
}

fn message(record: &Record) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    if let Some(thought) = record.text("reasoning_content") {
        events.push(AgentEvent::Thinking(thought.to_owned()));
    }
    let text = flat(record.get("content"));
    if !text.is_empty() {
        events.push(AgentEvent::Text(text));
    }
    for call in record.records("tool_calls") {
        let mut tool = call.tool("id", "function.name", "function.arguments");
        // Arguments are JSON within a text.
        if let Json::String(text) = &tool.input
            && let Ok(input) = serde_json::from_str(text)
        {
            tool.input = input;
        }
        events.push(AgentEvent::Tool(tool));
    }
    events
}

fn meta(record: &Record) -> Vec<AgentEvent> {
    match record.text("type") {
        Some("session.resume_hint") => {
            let id = record.text("session_id");
            id.map(|id| AgentEvent::Conversation(id.to_owned()))
                .into_iter()
                .collect()
        }
        Some("turn.step.retrying") => vec![AgentEvent::Retry(Retry {
            text: record.owned("error_message"),
            is_connection: record.text("error_name") == Some("APIConnectionError"),
        })],
        _ => Vec::new(),
    }
}
