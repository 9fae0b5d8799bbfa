//! opencode: `opencode run --format json`, a JSON record a line.

use std::time::Duration;

use super::event::{AgentEvent, Failure, ResetHint, ToolOutput, UsageScope};
use super::invocation::Invocation;
use super::record::{Record, UsageNames, flat};
use super::turn::{Permissions, Turn};
use super::{Capabilities, Finish, Fork, Harness, Modes, shipped};
use crate::classify::Table;

const USAGE: UsageNames = UsageNames {
    input: "input",
    cached: "cache.read",
    cache_created: &["cache.write"],
    output: &["output", "reasoning"],
};

/// opencode.
pub struct Opencode;

impl Harness for Opencode {
    fn name(&self) -> &str {
        "opencode"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            fork: Fork::No,
            reasoning: false,
            max_output_tokens: false,
            permissions: Modes::ALL,
            finish: Finish::Required,
            uncached_input: true,
        }
    }

    fn limits(&self) -> &Table {
        shipped("opencode")
    }

    fn command(&self, turn: &Turn) -> Invocation {
        let settings = turn.settings;
        let mut command = Invocation::of("opencode");
        command.add(&["run", "--format", "json"]);
        command.option("--model", settings.model.as_deref());
        command.option("--session", turn.start.continued());
        command.extra(turn);
        command.stdin = Some(turn.brief.to_owned());
        command.variable("OPENCODE_DISABLE_AUTOUPDATE", 1);
        // What is asked for ends the turn where nobody can answer; what is denied the agent does without.
        command.variable(
            "OPENCODE_PERMISSION",
            match settings.permissions {
                Permissions::Ask => {
                    r#"{"edit":"deny","bash":"deny","webfetch":"deny","external_directory":"deny"}"#
                }
                Permissions::Edits => {
                    r#"{"edit":"allow","bash":"deny","webfetch":"deny","external_directory":"deny"}"#
                }
                Permissions::Bypass => r#"{"*":"allow"}"#,
            },
        );
        command
    }

    fn read(&self, record: &Record, _conversation: Option<&str>) -> Vec<AgentEvent> {
        let part = || record.record("part");
        let conversation = || {
            record
                .text("sessionID")
                .map(|id| AgentEvent::Conversation(id.to_owned()))
        };
        match record.text("type") {
            Some("step_start") => conversation().into_iter().collect(),
            Some("text") => vec![AgentEvent::Text(record.owned("part.text"))],
            Some("reasoning") => vec![AgentEvent::Thinking(record.owned("part.text"))],
            Some("tool_use") => part().map(|part| tool(&part)).unwrap_or_default(),
            Some("step_finish") => part().map(|part| step(&part)).unwrap_or_default(),
            Some("error") => {
                let failure = record
                    .record("error")
                    .map(|error| failure(&error))
                    .unwrap_or_default();
                conversation()
                    .into_iter()
                    .chain([AgentEvent::Failed(failure)])
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}

/// A call and its answer come as one record.
fn tool(part: &Record) -> Vec<AgentEvent> {
    let call = part.tool("callID", "tool", "state.input");
    let id = call.id.clone();
    let has_failed = part.text("state.status") == Some("error");
    let given = match has_failed {
        true => part.get("state.error"),
        false => part.get("state.output"),
    };
    let output = ToolOutput {
        id,
        text: flat(given),
        failed: has_failed,
    };
    vec![AgentEvent::Tool(call), AgentEvent::ToolOutput(output)]
}

/// A step that ended for another reason than `stop` is followed by more.
fn step(part: &Record) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    if let Some(tokens) = part.record("tokens") {
        let scope = UsageScope::Message {
            id: part.text("id").map(str::to_owned),
            is_partial: false,
        };
        events.push(AgentEvent::Usage(scope, tokens.usage(&USAGE)));
    }
    if part.text("reason") == Some("stop") {
        events.push(AgentEvent::Finished);
    }
    events
}

fn failure(error: &Record) -> Failure {
    let mut failure = Failure::text(
        error
            .text("data.message")
            .or(error.text("message"))
            .unwrap_or_default(),
    );
    failure.status = error.status("data.statusCode");
    failure.types.extend(error.text("name").map(str::to_owned));
    // What kind of error the provider sent stands in its answer only.
    let body = error.text("data.responseBody").and_then(Record::parse);
    if let Some(body) = body {
        for path in ["error.type", "error.code", "type", "code"] {
            failure.types.extend(body.text(path).map(str::to_owned));
        }
    }
    let headers = error.record("data.responseHeaders");
    let seconds = headers.and_then(|headers| headers.text("retry-after")?.parse().ok());
    failure.reset = seconds.map(|seconds| ResetHint::In(Duration::from_secs(seconds)));
    failure
}
