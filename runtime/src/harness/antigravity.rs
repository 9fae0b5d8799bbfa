//! Antigravity: `agy`, a JSON record a line in both directions.
//!
//! Built from its description: there are no recordings of it.

use serde_json::json;

use super::event::{AgentEvent, Failure, ToolOutput, UsageScope};
use super::invocation::Invocation;
use super::record::{Record, UsageNames, flat};
use super::turn::{Permissions, Turn};
use super::{Capabilities, Finish, Fork, Harness, Modes, shipped};
use crate::classify::Table;

const USAGE: UsageNames = UsageNames {
    input: "input_tokens",
    cached: "cache_read_tokens",
    cache_created: &[],
    output: &["output_tokens", "thinking_tokens"],
};

/// Antigravity.
pub struct Antigravity;

impl Harness for Antigravity {
    fn name(&self) -> &str {
        "antigravity"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            fork: Fork::No,
            reasoning: false,
            max_output_tokens: false,
            permissions: Modes::ALL,
            finish: Finish::Required,
            uncached_input: false,
        }
    }

    fn limits(&self) -> &Table {
        shipped("antigravity")
    }

    fn command(&self, turn: &Turn) -> Invocation {
        let settings = turn.settings;
        let mut command = Invocation::of("agy");
        command.option("--conversation", turn.start.continued());
        command.option("--model", settings.model.as_deref());
        match settings.permissions {
            Permissions::Ask => {}
            Permissions::Edits => command.add(&["--mode", "accept-edits"]),
            Permissions::Bypass => command.add(&["--dangerously-skip-permissions"]),
        }
        command.add(&[
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
        ]);
        command.extra(turn);
        let message = json!({ "event": "user", "message": { "content": turn.brief } });
        command.stdin = Some(format!("{message}\n"));
        command.variable("AGY_CLI_DISABLE_AUTO_UPDATE", true);
        command
    }

    fn read(&self, record: &Record, conversation: Option<&str>) -> Vec<AgentEvent> {
        match record.text("event") {
            Some("init") => {
                let id = record
                    .text("conversation_id")
                    .or(record.text("init.conversation_id"));
                id.map(|id| AgentEvent::Conversation(id.to_owned()))
                    .into_iter()
                    .collect()
            }
            Some("step_update") => {
                let step = record.record("step_update");
                step.map(|step| update(&step, conversation))
                    .unwrap_or_default()
            }
            Some("result") => record
                .record("result")
                .map(|end| result(&end))
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

fn update(step: &Record, conversation: Option<&str>) -> Vec<AgentEvent> {
    // The steps of a resumed conversation are counted on, those of another one again.
    let id = || {
        let index = step.whole("step_index")?;
        Some(format!("{}/{index}", conversation.unwrap_or_default()))
    };
    match (step.text("step_type"), step.text("state")) {
        (Some("agent_response"), _) => {
            let piece = step.text("text_delta");
            piece
                .map(|piece| AgentEvent::TextPiece(piece.to_owned()))
                .into_iter()
                .collect()
        }
        (Some("tool"), Some("ACTIVE")) => {
            let mut call = step.tool("id", "tool_name", "tool_input");
            call.id = id();
            vec![AgentEvent::Tool(call)]
        }
        (Some("tool"), Some(state @ ("DONE" | "ERROR"))) => {
            vec![AgentEvent::ToolOutput(ToolOutput {
                id: id(),
                text: flat(step.get("tool_output").or(step.get("error"))),
                failed: state == "ERROR",
            })]
        }
        _ => Vec::new(),
    }
}

fn result(end: &Record) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    if let Some(usage) = end.record("usage") {
        events.push(AgentEvent::Usage(UsageScope::Turn, usage.usage(&USAGE)));
    }
    let status = end.text("status").unwrap_or("no status");
    let response = end.text("response").filter(|text| !text.trim().is_empty());
    match (status, response) {
        ("SUCCESS", Some(response)) => {
            events.push(AgentEvent::Answer(response.to_owned()));
            events.push(AgentEvent::Finished);
        }
        ("SUCCESS", None) => {
            events.push(AgentEvent::Failed(Failure::text(
                "the agent gave an empty response",
            )));
        }
        _ => {
            let message = end.text("error.message").or(end.text("error"));
            let mut failure = Failure::text(message.unwrap_or(status));
            failure.status = end.status("error.code");
            failure
                .types
                .extend(end.text("error.status").map(str::to_owned));
            events.push(AgentEvent::Failed(failure));
        }
    }
    events
}
