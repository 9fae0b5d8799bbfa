//! The records of `codex app-server`, which says the same as notifications of JSON-RPC.

use super::super::event::{AgentEvent, Failure, Limit, Retry, ToolCall, ToolOutput, UsageScope};
use super::super::record::{Record, UsageNames, flat};

const USAGE: UsageNames = UsageNames {
    input: "inputTokens",
    cached: "cachedInputTokens",
    cache_created: &[],
    output: &["outputTokens"],
};

pub(super) fn read(record: &Record) -> Vec<AgentEvent> {
    let Some(params) = record.record("params") else {
        return Vec::new();
    };
    match record.text("method") {
        Some("thread/started") => {
            let id = params.text("thread.id").or(params.text("threadId"));
            id.map(|id| AgentEvent::Conversation(id.to_owned()))
                .into_iter()
                .collect()
        }
        Some("item/started") => params
            .record("item")
            .map(|item| started(&item))
            .unwrap_or_default(),
        Some("item/completed") => params
            .record("item")
            .map(|item| completed(&item))
            .unwrap_or_default(),
        Some("thread/tokenUsage/updated") => {
            let usage = params.record("tokenUsage.last");
            let scope = UsageScope::Message {
                id: None,
                is_partial: false,
            };
            usage
                .map(|usage| AgentEvent::Usage(scope, usage.usage(&USAGE)))
                .into_iter()
                .collect()
        }
        Some("error") => error(&params),
        Some("turn/completed") => match params.text("turn.status") {
            Some("completed") => vec![AgentEvent::Finished],
            _ => vec![AgentEvent::Failed(Failure::text(
                params.owned("turn.error.message"),
            ))],
        },
        _ => Vec::new(),
    }
}

fn error(params: &Record) -> Vec<AgentEvent> {
    let text = params.owned("error.message");
    if params.is_true("willRetry") {
        return vec![AgentEvent::Retry(Retry {
            text,
            is_connection: false,
        })];
    }
    let info = params.text("error.codexErrorInfo");
    let failure = Failure {
        text: text.clone(),
        types: info.map(str::to_owned).into_iter().collect(),
        ..Failure::default()
    };
    match info {
        Some("usageLimitExceeded" | "rateLimitExceeded") => vec![
            AgentEvent::Limit(Limit { text, reset: None }),
            AgentEvent::Failed(failure),
        ],
        _ => vec![AgentEvent::Failed(failure)],
    }
}

fn started(item: &Record) -> Vec<AgentEvent> {
    let call = match item.text("type") {
        Some("commandExecution") => ToolCall {
            name: "shell".to_owned(),
            ..item.tool("id", "type", "command")
        },
        Some("mcpToolCall") => ToolCall {
            name: format!("mcp__{}__{}", item.owned("server"), item.owned("tool")),
            ..item.tool("id", "tool", "arguments")
        },
        Some("fileChange") => item.tool("id", "type", "changes"),
        _ => return Vec::new(),
    };
    vec![AgentEvent::Tool(call)]
}

fn completed(item: &Record) -> Vec<AgentEvent> {
    let output = |text: String, failed: bool| {
        let id = item.text("id").map(str::to_owned);
        vec![AgentEvent::ToolOutput(ToolOutput { id, text, failed })]
    };
    let has_failed = item.text("status") == Some("failed");
    match item.text("type") {
        Some("agentMessage") => vec![AgentEvent::Text(item.owned("text"))],
        Some("reasoning") => vec![AgentEvent::Thinking(item.owned("text"))],
        Some("commandExecution") => output(
            item.owned("aggregatedOutput"),
            item.whole("exitCode").is_some_and(|status| status != 0),
        ),
        Some("mcpToolCall") => match item.get("error").filter(|error| !error.is_null()) {
            Some(error) => output(flat(Some(error)), true),
            None => output(flat(item.get("result")), has_failed),
        },
        Some("fileChange") => output(flat(item.get("changes")), has_failed),
        _ => Vec::new(),
    }
}
