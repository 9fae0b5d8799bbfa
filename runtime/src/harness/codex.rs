//! Codex: `codex exec --json`, a JSON record a line.

mod server;

use super::event::{AgentEvent, Failure, Retry, ToolCall, ToolOutput, UsageScope};
use super::invocation::Invocation;
use super::record::{Record, UsageNames, flat};
use super::turn::{Permissions, Start, Turn};
use super::{Capabilities, Finish, Fork, Harness, Modes, shipped};
use crate::classify::Table;

const USAGE: UsageNames = UsageNames {
    input: "input_tokens",
    cached: "cached_input_tokens",
    cache_created: &["cache_creation_input_tokens", "cache_write_input_tokens"],
    output: &["output_tokens"],
};

/// Codex.
pub struct Codex;

impl Harness for Codex {
    fn name(&self) -> &str {
        "codex"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            fork: Fork::Arguments,
            reasoning: true,
            max_output_tokens: false,
            permissions: Modes::ALL,
            finish: Finish::Optional,
            uncached_input: false,
        }
    }

    fn limits(&self) -> &Table {
        shipped("codex")
    }

    fn command(&self, turn: &Turn) -> Invocation {
        let settings = turn.settings;
        let mut command = Invocation::of("codex");
        match settings.permissions {
            Permissions::Ask => command.add(&["--sandbox", "read-only"]),
            Permissions::Edits => command.add(&["--sandbox", "workspace-write"]),
            Permissions::Bypass => command.add(&["--dangerously-bypass-approvals-and-sandbox"]),
        }
        command.option("--model", settings.model.as_deref());
        if let Some(effort) = settings.reasoning {
            let setting = format!("model_reasoning_effort=\"{}\"", effort.name());
            command.add(&["-c", &setting]);
        }
        command.add(&["exec"]);
        match &turn.start {
            Start::New => {}
            Start::Continue(id) => command.add(&["resume", id.as_str()]),
            Start::Fork(id) => command.add(&["fork", id.as_str()]),
        }
        command.extra(turn);
        command.add(&["--json", "-"]);
        command.stdin = Some(turn.brief.to_owned());
        command
    }

    fn read(&self, record: &Record, _conversation: Option<&str>) -> Vec<AgentEvent> {
        if record.has("method") || record.has("id") {
            return server::read(record);
        }
        match record.text("type") {
            Some("thread.started") => {
                let id = record.text("thread_id");
                id.map(|id| AgentEvent::Conversation(id.to_owned()))
                    .into_iter()
                    .collect()
            }
            Some("item.started") => record
                .record("item")
                .map(|item| started(&item))
                .unwrap_or_default(),
            Some("item.completed") => record
                .record("item")
                .map(|item| completed(&item))
                .unwrap_or_default(),
            Some("turn.completed") => {
                let mut events = Vec::new();
                if let Some(usage) = record.record("usage") {
                    // It is the total of the thread, earlier turns included.
                    events.push(AgentEvent::Usage(
                        UsageScope::Conversation,
                        usage.usage(&USAGE),
                    ));
                }
                events.push(AgentEvent::Finished);
                events
            }
            Some("error") => error(record.owned("message")),
            Some("turn.failed") => vec![AgentEvent::Failed(Failure::text(
                record.owned("error.message"),
            ))],
            _ => Vec::new(),
        }
    }
}

/// Notices of retries come as errors. What is none may still be overcome: only the end of the turn says.
fn error(message: String) -> Vec<AgentEvent> {
    let is_retry = message.starts_with("Reconnecting...") || message.contains("; retrying ");
    vec![if is_retry {
        AgentEvent::Retry(Retry {
            text: message,
            is_connection: false,
        })
    } else {
        AgentEvent::Error(Failure::text(message))
    }]
}

/// The tool of an item, as the agent knows it.
fn call(item: &Record) -> Option<ToolCall> {
    match item.text("type")? {
        "command_execution" => Some(ToolCall {
            name: "shell".to_owned(),
            ..item.tool("id", "type", "command")
        }),
        "mcp_tool_call" => {
            let name = format!("mcp__{}__{}", item.owned("server"), item.owned("tool"));
            Some(ToolCall {
                name,
                ..item.tool("id", "tool", "arguments")
            })
        }
        "file_change" => Some(item.tool("id", "type", "changes")),
        _ => None,
    }
}

fn started(item: &Record) -> Vec<AgentEvent> {
    call(item).map(AgentEvent::Tool).into_iter().collect()
}

fn completed(item: &Record) -> Vec<AgentEvent> {
    let output = |text: String, failed: bool| {
        let id = item.text("id").map(str::to_owned);
        vec![AgentEvent::ToolOutput(ToolOutput { id, text, failed })]
    };
    let has_failed = item.text("status") == Some("failed");
    match item.text("type") {
        Some("agent_message") => vec![AgentEvent::Text(item.owned("text"))],
        Some("reasoning") => vec![AgentEvent::Thinking(item.owned("text"))],
        Some("command_execution") => output(
            item.owned("aggregated_output"),
            item.whole("exit_code").is_some_and(|status| status != 0),
        ),
        Some("mcp_tool_call") => match item.get("error").filter(|error| !error.is_null()) {
            Some(error) => output(flat(Some(error)), true),
            None => output(flat(item.get("result")), has_failed),
        },
        Some("file_change") => output(flat(item.get("changes")), has_failed),
        // A warning, as that it goes on in another way: nothing has failed by it.
        Some("error") => vec![AgentEvent::Notice(item.owned("message"))],
        _ => Vec::new(),
    }
}
