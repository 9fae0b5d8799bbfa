//! What agents do, as lines among the events: `run --events FILE --live` (SEMANTICS O1).
//!
//! Such a line carries the number of the last durable row and `"live": true`; no journal knows it.

use crate::activity::resets_at;
use outpost_runtime::PublicEvent;
use outpost_runtime::clock::Timestamp;
use outpost_runtime::driver::AgentNotice;
use outpost_runtime::harness::{AgentEvent, Limit, ToolCall, ToolOutput, UsageScope};
use serde_json::{Value as Json, json};

/// The longest text or input in a line, in bytes. The whole is in the stream of the turn.
const MAX_TEXT: usize = 64 << 10;

type Fields = Vec<(&'static str, Json)>;

/// A notice as an event; nothing if a durable row says the same.
pub fn event(notice: &AgentNotice<'_>) -> Option<PublicEvent> {
    let (did, more) = did(notice.event, notice.at)?;
    let mut fields = vec![
        ("task", json!(notice.task)),
        ("step", json!(notice.step)),
        ("agent", json!(notice.agent)),
        ("did", json!(did)),
        ("live", json!(true)),
    ];
    fields.extend(more);
    Some(PublicEvent {
        run: notice.run.to_owned(),
        seq: notice.seq,
        at: notice.at,
        kind: "agent",
        fields,
    })
}

fn did(event: &AgentEvent, now: Timestamp) -> Option<(&'static str, Fields)> {
    Some(match event {
        AgentEvent::Text(text) => ("text", said(text)),
        AgentEvent::TextPiece(text) => {
            let mut fields = said(text);
            fields.push(("piece", json!(true)));
            ("text", fields)
        }
        AgentEvent::Preview(text) => ("preview", said(text)),
        AgentEvent::Thinking(text) => ("thinking", said(text)),
        AgentEvent::Tool(call) => ("tool", called(call)),
        AgentEvent::ToolOutput(output) => ("tool-output", gave(output)),
        AgentEvent::Usage(scope, usage) => {
            let (scope, message, is_partial) = match scope {
                UsageScope::Message { id, is_partial } => ("message", id.as_deref(), *is_partial),
                UsageScope::Turn => ("turn", None, false),
                UsageScope::Conversation => ("conversation", None, false),
            };
            let mut fields = vec![("scope", json!(scope)), ("usage", json!(usage))];
            if let Some(message) = message {
                fields.push(("message", json!(message)));
            }
            if is_partial {
                fields.push(("partial", json!(true)));
            }
            ("usage", fields)
        }
        AgentEvent::Model(model) => ("model", vec![("model", json!(model))]),
        AgentEvent::Retry(retry) => ("retry", said(&retry.text)),
        AgentEvent::Notice(text) => ("notice", said(text)),
        AgentEvent::Limit(limit) => ("limit", met(limit, now)),
        AgentEvent::Error(failure) => ("error", said(&failure.text)),
        AgentEvent::Stuck { tool, times } => {
            let fields = vec![("tool", json!(tool)), ("times", json!(times))];
            ("stuck", fields)
        }
        AgentEvent::Raw(text) => ("raw", said(text)),
        AgentEvent::Conversation(_)
        | AgentEvent::Failed(_)
        | AgentEvent::Answer(_)
        | AgentEvent::Finished => return None,
    })
}

/// A text, cut with a mark if it is too long.
fn said(text: &str) -> Fields {
    let end = text.floor_char_boundary(MAX_TEXT);
    let mut fields = vec![("text", json!(&text[..end]))];
    if end < text.len() {
        fields.push(("cut", json!(true)));
    }
    fields
}

fn called(call: &ToolCall) -> Fields {
    let mut fields = vec![("tool", json!(call.name)), ("id", json!(call.id))];
    match call.input.to_string().len() <= MAX_TEXT {
        true => fields.push(("input", call.input.clone())),
        false => fields.extend([("input", Json::Null), ("cut", json!(true))]),
    }
    fields
}

fn gave(output: &ToolOutput) -> Fields {
    let mut fields = said(&output.text);
    fields.push(("id", json!(output.id)));
    fields.push(("failed", json!(output.failed)));
    fields
}

fn met(limit: &Limit, now: Timestamp) -> Fields {
    let mut fields = said(&limit.text);
    let reset = resets_at(limit, now).map(Timestamp::rfc3339);
    fields.push(("resetAt", json!(reset)));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(event: &AgentEvent) -> Option<Json> {
        let notice = AgentNotice {
            run: "r",
            seq: 7,
            at: Timestamp(0),
            task: "fix",
            step: "",
            agent: "coder",
            event,
        };
        super::event(&notice).map(|event| json!(event))
    }

    #[test]
    fn a_call_is_a_line() {
        let call = AgentEvent::Tool(ToolCall {
            id: Some("1".to_owned()),
            name: "Bash".to_owned(),
            input: json!({ "command": "ls" }),
        });
        assert_eq!(
            line(&call),
            Some(json!({
                "run": "r", "seq": 7, "at": "1970-01-01T00:00:00.000Z", "kind": "agent",
                "task": "fix", "step": "", "agent": "coder", "did": "tool", "live": true,
                "tool": "Bash", "id": "1", "input": { "command": "ls" },
            }))
        );
    }

    #[test]
    fn long_texts_are_cut_with_a_mark() {
        let text = line(&AgentEvent::Text("é".repeat(MAX_TEXT))).expect("it is told");
        assert_eq!(text["text"].as_str().map(str::len), Some(MAX_TEXT));
        assert_eq!(text["cut"], json!(true));
        let call = AgentEvent::Tool(ToolCall {
            input: json!("x".repeat(MAX_TEXT)),
            ..ToolCall::default()
        });
        let call = line(&call).expect("it is told");
        assert_eq!((&call["input"], &call["cut"]), (&Json::Null, &json!(true)));
    }

    #[test]
    fn what_a_row_says_is_not_said_twice() {
        assert_eq!(line(&AgentEvent::Finished), None);
        assert_eq!(line(&AgentEvent::Answer("x".to_owned())), None);
    }
}
