//! Gemini CLI: `gemini --output-format stream-json`, a JSON record a line.

use super::event::{AgentEvent, Failure, ToolOutput, UsageScope};
use super::invocation::Invocation;
use super::record::{Record, UsageNames, flat};
use super::turn::{Permissions, Turn};
use super::{Capabilities, Finish, Fork, Harness, Modes, shipped};
use crate::classify::Table;

const USAGE: UsageNames = UsageNames {
    input: "input_tokens",
    cached: "cached",
    cache_created: &[],
    output: &["output_tokens"],
};

/// Gemini CLI.
pub struct Gemini;

impl Harness for Gemini {
    fn name(&self) -> &str {
        "gemini"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            fork: Fork::No,
            reasoning: false,
            max_output_tokens: false,
            permissions: Modes::ALL,
            // It ends with status 0 when its group is told to stop.
            finish: Finish::Required,
            uncached_input: false,
        }
    }

    fn limits(&self) -> &Table {
        shipped("gemini")
    }

    fn command(&self, turn: &Turn) -> Invocation {
        let settings = turn.settings;
        let mut command = Invocation::of("gemini");
        // A folder that nobody has confirmed at a terminal would void the mode.
        command.add(&["--skip-trust"]);
        command.option("--model", settings.model.as_deref());
        command.add(&["--output-format", "stream-json", "--approval-mode"]);
        command.add(&[match settings.permissions {
            Permissions::Ask => "default",
            Permissions::Edits => "auto_edit",
            Permissions::Bypass => "yolo",
        }]);
        command.option("--resume", turn.start.continued());
        command.extra(turn);
        command.stdin = Some(turn.brief.to_owned());
        command
    }

    fn read(&self, record: &Record, _conversation: Option<&str>) -> Vec<AgentEvent> {
        match record.text("type") {
            Some("init") => {
                let mut events = Vec::new();
                events.extend(
                    record
                        .text("session_id")
                        .map(|id| AgentEvent::Conversation(id.to_owned())),
                );
                events.extend(
                    record
                        .text("model")
                        .map(|model| AgentEvent::Model(model.to_owned())),
                );
                events
            }
            Some("message") if record.text("role") == Some("assistant") => {
                let text = record.owned("content");
                vec![match record.is_true("delta") {
                    true => AgentEvent::TextPiece(text),
                    false => AgentEvent::Text(text),
                }]
            }
            Some("tool_use") => vec![AgentEvent::Tool(record.tool(
                "tool_id",
                "tool_name",
                "parameters",
            ))],
            Some("tool_result") => vec![AgentEvent::ToolOutput(ToolOutput {
                id: record.text("tool_id").map(str::to_owned),
                text: flat(record.get("output").or(record.get("error.message"))),
                failed: record.text("status") == Some("error"),
            })],
            Some("error") => match record.text("severity") {
                Some("warning") => vec![AgentEvent::Notice(record.owned("message"))],
                _ => vec![AgentEvent::Error(Failure::text(record.owned("message")))],
            },
            Some("result") => result(record),
            _ => Vec::new(),
        }
    }
}

fn result(record: &Record) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    if let Some(stats) = record.record("stats") {
        events.push(AgentEvent::Usage(UsageScope::Turn, stats.usage(&USAGE)));
    }
    events.push(match record.text("status") {
        Some("success") => AgentEvent::Finished,
        _ => {
            let kind = record.text("error.type").filter(|kind| *kind != "unknown");
            AgentEvent::Failed(Failure {
                text: record.owned("error.message"),
                types: kind.map(str::to_owned).into_iter().collect(),
                ..Failure::default()
            })
        }
    });
    events
}
