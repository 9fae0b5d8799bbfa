//! GitHub Copilot CLI: `copilot --output-format json`, a JSON record a line.

use super::event::{AgentEvent, Failure, Limit, Retry, ToolOutput, UsageScope};
use super::invocation::Invocation;
use super::record::{Record, UsageNames, flat};
use super::turn::{Permissions, Turn};
use super::{Capabilities, Finish, Fork, Harness, Modes, shipped};
use crate::classify::Table;
use crate::event::Usage;

const USAGE: UsageNames = UsageNames {
    input: "inputTokens",
    cached: "cacheReadTokens",
    cache_created: &["cacheWriteTokens"],
    output: &["outputTokens"],
};

/// GitHub Copilot CLI.
pub struct Copilot;

impl Harness for Copilot {
    fn name(&self) -> &str {
        "copilot"
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
        shipped("copilot")
    }

    fn command(&self, turn: &Turn) -> Invocation {
        let settings = turn.settings;
        let mut command = Invocation::of("copilot");
        command.option("--resume", turn.start.continued());
        command.option("--model", settings.model.as_deref());
        command.add(&["--output-format", "json"]);
        match settings.permissions {
            Permissions::Ask => {}
            Permissions::Edits => command.add(&["--allow-tool", "write"]),
            Permissions::Bypass => command.add(&["--allow-all"]),
        }
        command.add(&["--no-ask-user"]);
        command.extra(turn);
        command.stdin = Some(turn.brief.to_owned());
        command.variable("COPILOT_AUTO_UPDATE", false);
        command
    }

    fn read(&self, record: &Record, _conversation: Option<&str>) -> Vec<AgentEvent> {
        let data = || record.record("data");
        match record.text("type") {
            Some("assistant.message") => data().map(|data| message(&data)).unwrap_or_default(),
            Some("assistant.message_delta") => {
                vec![AgentEvent::Preview(record.owned("data.deltaContent"))]
            }
            Some("assistant.reasoning") => vec![AgentEvent::Thinking(record.owned("data.content"))],
            Some("tool.execution_complete") => data().map(|data| output(&data)).unwrap_or_default(),
            Some("assistant.usage") => data().map(|data| usage(&data)).unwrap_or_default(),
            Some("session.shutdown") => {
                let metrics = record.record("data.modelMetrics");
                metrics.map(|metrics| total(&metrics)).unwrap_or_default()
            }
            Some("session.error") => data().map(|data| error(&data)).unwrap_or_default(),
            Some("model.call_failure") => vec![AgentEvent::Retry(Retry {
                text: record.owned("data.errorMessage"),
                is_connection: record.text("data.failureKind") == Some("transport"),
            })],
            Some("assistant.turn_retry") => vec![AgentEvent::Retry(Retry::default())],
            Some("session.info") if record.text("data.infoType") == Some("model_retry") => {
                vec![AgentEvent::Retry(Retry::default())]
            }
            Some("result") => result(record),
            _ => Vec::new(),
        }
    }
}

fn message(data: &Record) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    if let Some(text) = data.text("content").filter(|text| !text.is_empty()) {
        events.push(AgentEvent::Text(text.to_owned()));
    }
    for request in data.records("toolRequests") {
        events.push(AgentEvent::Tool(request.tool(
            "toolCallId",
            "name",
            "arguments",
        )));
    }
    events
}

fn output(data: &Record) -> Vec<AgentEvent> {
    let has_failed = !data.is_true("success");
    let given = match has_failed {
        true => data.get("error.message").or(data.get("error")),
        false => data.get("result.content").or(data.get("result")),
    };
    vec![AgentEvent::ToolOutput(ToolOutput {
        id: data.text("toolCallId").map(str::to_owned),
        text: flat(given),
        failed: has_failed,
    })]
}

fn usage(data: &Record) -> Vec<AgentEvent> {
    let scope = UsageScope::Message {
        id: None,
        is_partial: false,
    };
    vec![AgentEvent::Usage(scope, data.usage(&USAGE))]
}

/// The tokens of the whole session, model by model.
fn total(metrics: &Record) -> Vec<AgentEvent> {
    let mut total = Usage::default();
    for model in metrics.children() {
        let usage = model.record("usage").unwrap_or(model);
        total.add(&usage.usage(&USAGE));
    }
    vec![AgentEvent::Usage(UsageScope::Conversation, total)]
}

fn error(data: &Record) -> Vec<AgentEvent> {
    let text = data.owned("message");
    let kind = data.text("errorType");
    let failure = Failure {
        text: text.clone(),
        status: data.status("statusCode"),
        types: kind.map(str::to_owned).into_iter().collect(),
        ..Failure::default()
    };
    let mut events = Vec::new();
    if matches!(kind, Some("quota" | "rate_limit")) {
        events.push(AgentEvent::Limit(Limit { text, reset: None }));
    }
    events.push(AgentEvent::Error(failure));
    events
}

fn result(record: &Record) -> Vec<AgentEvent> {
    let id = record.text("sessionId");
    let mut events: Vec<AgentEvent> = id
        .map(|id| AgentEvent::Conversation(id.to_owned()))
        .into_iter()
        .collect();
    let is_blocked = record.text("outcome") == Some("blocked");
    events.push(match record.whole("exitCode") {
        Some(0) if !is_blocked => AgentEvent::Finished,
        Some(0) => AgentEvent::Failed(Failure::text("blocked")),
        _ => AgentEvent::Failed(Failure::default()),
    });
    events
}
