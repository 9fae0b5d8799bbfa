//! Claude Code: `claude --print`, a JSON record a line.

use std::time::Duration;

use serde_json::Value as Json;

use super::event::{AgentEvent, Failure, Limit, ResetHint, Retry, ToolOutput, UsageScope};
use super::invocation::Invocation;
use super::record::{Record, UsageNames, flat};
use super::turn::{Permissions, Start, Turn};
use super::{Capabilities, Finish, Fork, Harness, Modes, shipped};
use crate::classify::Table;

/// How often it repeats a request by itself; its own number is 10, which takes three minutes.
const RETRIES: u32 = 2;

/// What the counters are called, here and in CLIs that speak alike.
pub(super) const USAGE: UsageNames = UsageNames {
    input: "input_tokens",
    cached: "cache_read_input_tokens",
    cache_created: &["cache_creation_input_tokens"],
    output: &["output_tokens"],
};

/// Claude Code.
pub struct Claude;

impl Harness for Claude {
    fn name(&self) -> &str {
        "claude"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            fork: Fork::Arguments,
            reasoning: true,
            max_output_tokens: true,
            permissions: Modes::ALL,
            finish: Finish::Optional,
            uncached_input: true,
        }
    }

    fn limits(&self) -> &Table {
        shipped("claude")
    }

    fn command(&self, turn: &Turn) -> Invocation {
        let settings = turn.settings;
        let mut command = Invocation::of("claude");
        command.add(&["--print", "--verbose", "--output-format", "stream-json"]);
        command.option("--model", settings.model.as_deref());
        command.option("--effort", settings.reasoning.map(|effort| effort.name()));
        match settings.permissions {
            Permissions::Ask => command.add(&["--permission-mode", "default"]),
            Permissions::Edits => command.add(&["--permission-mode", "acceptEdits"]),
            Permissions::Bypass => command.add(&["--dangerously-skip-permissions"]),
        }
        command.option("--resume", turn.start.earlier().map(|id| id.as_str()));
        if matches!(turn.start, Start::Fork(_)) {
            command.add(&["--fork-session"]);
        }
        command.extra(turn);
        command.stdin = Some(turn.brief.to_owned());
        command.variable("CLAUDE_CODE_MAX_RETRIES", RETRIES);
        if let Some(most) = settings.max_output_tokens {
            command.variable("CLAUDE_CODE_MAX_OUTPUT_TOKENS", most);
        }
        command
    }

    fn read(&self, record: &Record, _conversation: Option<&str>) -> Vec<AgentEvent> {
        match record.text("type") {
            Some("system") => system(record),
            Some("assistant") => message(record),
            Some("user") if !record.is_true("isReplay") => message(record),
            Some("stream_event") => piece(record),
            Some("rate_limit_event") => limit(record),
            Some("result") => result(record),
            _ => Vec::new(),
        }
    }
}

pub(super) fn system(record: &Record) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    match record.text("subtype") {
        Some("init") => {
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
        }
        Some("api_retry") => {
            let kind = record.text("error").unwrap_or("unknown");
            let status = record.status("error_status");
            events.push(AgentEvent::Retry(Retry {
                text: match status {
                    Some(status) => format!("{kind} ({status})"),
                    None => kind.to_owned(),
                },
                // An error without an answer of the provider.
                is_connection: status.is_none() && matches!(kind, "unknown" | "connection_failed"),
            }));
        }
        Some("model_fallback") => events.push(AgentEvent::Notice(record.owned("content"))),
        _ => {}
    }
    events
}

/// A message of the agent, or the answers of its tools.
pub(super) fn message(record: &Record) -> Vec<AgentEvent> {
    if record.is_true("is_api_error_message") || record.text("error").is_some() {
        return api_error(record);
    }
    let mut events = Vec::new();
    let is_agent = record.text("type") == Some("assistant");
    for part in record.records("message.content") {
        match part.text("type") {
            Some("text") if is_agent => events.push(AgentEvent::Text(part.owned("text"))),
            Some("thinking") => events.push(AgentEvent::Thinking(part.owned("thinking"))),
            Some("tool_use") => events.push(AgentEvent::Tool(part.tool("id", "name", "input"))),
            Some("tool_result") => events.push(AgentEvent::ToolOutput(ToolOutput {
                id: part.text("tool_use_id").map(str::to_owned),
                text: flat(part.get("content")),
                failed: part.is_true("is_error"),
            })),
            _ => {}
        }
    }
    if let Some(usage) = record.record("message.usage")
        && is_agent
    {
        let scope = UsageScope::Message {
            id: record.text("message.id").map(str::to_owned),
            is_partial: true,
        };
        events.push(AgentEvent::Usage(scope, usage.usage(&USAGE)));
    }
    events
}

/// A message that the CLI wrote itself, because the provider gave none. The result says the same at the end.
fn api_error(record: &Record) -> Vec<AgentEvent> {
    let texts: Vec<String> = record
        .records("message.content")
        .iter()
        .map(|part| part.owned("text"))
        .collect();
    let text = texts.join("\n");
    let error = record.owned("error");
    let failure = failure(
        record,
        text.clone(),
        ["error", "api_error", "api_error_type"],
    );
    match error.as_str() {
        "rate_limit" | "billing_error" => vec![
            AgentEvent::Limit(Limit { text, reset: None }),
            AgentEvent::Error(failure),
        ],
        _ => vec![AgentEvent::Error(failure)],
    }
}

fn failure<const N: usize>(record: &Record, text: String, types: [&str; N]) -> Failure {
    let types = types.into_iter().filter_map(|path| record.text(path));
    Failure {
        text,
        status: record.status("api_error_status"),
        types: types.map(str::to_owned).collect(),
        reset: None,
        is_connection: record.text("api_error") == Some("connection_failed"),
    }
}

pub(super) fn piece(record: &Record) -> Vec<AgentEvent> {
    match record.text("event.delta.type") {
        Some("text_delta") => vec![AgentEvent::Preview(record.owned("event.delta.text"))],
        Some("thinking_delta") => vec![AgentEvent::Thinking(record.owned("event.delta.thinking"))],
        _ => Vec::new(),
    }
}

/// It is printed on ordinary turns, too; only a rejection is a limit.
fn limit(record: &Record) -> Vec<AgentEvent> {
    if record.text("rate_limit_info.status") != Some("rejected") {
        return Vec::new();
    }
    let kind = record
        .text("rate_limit_info.rateLimitType")
        .unwrap_or("unknown");
    let reset = record.whole("rate_limit_info.resetsAt").map(ResetHint::At);
    let text = match reset {
        Some(ResetHint::At(epoch)) => format!("limit `{kind}` reached, resetsAt {epoch}"),
        _ => format!("limit `{kind}` reached"),
    };
    vec![AgentEvent::Limit(Limit { text, reset })]
}

/// Neither `subtype` nor the exit status says whether it is an error: `is_error` does.
pub(super) fn result(record: &Record) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    events.extend(
        record
            .text("session_id")
            .map(|id| AgentEvent::Conversation(id.to_owned())),
    );
    if let Some(usage) = record.record("usage") {
        events.push(AgentEvent::Usage(UsageScope::Turn, usage.usage(&USAGE)));
    }
    match record.text("result") {
        Some(text) if record.get("is_error") == Some(&Json::Bool(false)) => {
            events.push(AgentEvent::Answer(text.to_owned()));
            events.push(AgentEvent::Finished);
        }
        // Without any text, as where an answer was asked for that is no text.
        None if record.get("is_error") == Some(&Json::Bool(false)) && !record.has("errors") => {
            events.push(AgentEvent::Finished);
        }
        text => {
            let text = match text {
                Some(text) => text.to_owned(),
                None => errors(record),
            };
            let mut types = ["api_error", "api_error_type", "terminal_reason", "subtype"];
            if record.text("stop_reason") == Some("refusal") {
                types[3] = "stop_reason";
            }
            let mut failure = failure(record, text, types);
            failure.types.retain(|kind| kind != "success");
            failure.reset = record.whole("retry_after_ms").and_then(wait);
            events.push(AgentEvent::Failed(failure));
        }
    }
    events
}

fn wait(milliseconds: i64) -> Option<ResetHint> {
    let milliseconds = u64::try_from(milliseconds).ok()?;
    Some(ResetHint::In(Duration::from_millis(milliseconds)))
}

/// `error.message`, or `errors`: a text alone as it is, more as JSON.
fn errors(record: &Record) -> String {
    if let Some(text) = record.text("error.message") {
        return text.to_owned();
    }
    match record.get("errors") {
        Some(Json::Array(errors)) => match errors.as_slice() {
            [Json::String(only)] => only.clone(),
            _ => Json::Array(errors.clone()).to_string(),
        },
        _ => String::new(),
    }
}
