//! Answers as the Messages API streams them, with the tools of claude.

use crate::answer::{Answer, CACHED, INPUT, OUTPUT, Reply};
use serde_json::{Value, json};

/// The reply to a request.
pub fn reply(answer: &Answer, number: usize, request: &Value) -> Reply {
    match answer {
        Answer::Text(text) => message(number, request, &Block::text(text), false),
        Answer::Cut => message(number, request, &Block::text("It begins"), true),
        Answer::Read(path) => called(number, request, "Read", json!({ "file_path": path })),
        Answer::Write { path, text } => {
            let input = json!({ "file_path": path, "content": text });
            called(number, request, "Write", input)
        }
        Answer::Shell(command) => {
            let input = json!({ "command": command, "description": "Run a command" });
            called(number, request, "Bash", input)
        }
        Answer::RateLimited { retry_after } => {
            let error = error(
                "rate_limit_error",
                "This request would exceed your organization's rate limit of 50 requests per minute.",
            );
            Reply::limited(error, *retry_after)
        }
        Answer::UsageLimit { resets_at } => usage_limit(*resets_at),
        Answer::Overloaded => Reply::json(529, error("overloaded_error", "Overloaded")),
        Answer::Unauthorized => {
            Reply::json(401, error("authentication_error", "invalid x-api-key"))
        }
        Answer::Hang => unreachable!("it is never answered"),
    }
}

fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

/// Only whoever comes with the token of a subscription makes something of these headers.
fn usage_limit(resets_at: i64) -> Reply {
    let text = "This request would exceed your account's rate limit. Please try again later.";
    let reset = resets_at.to_string();
    let headers = [
        ("status", "rejected"),
        ("reset", &reset),
        ("representative-claim", "five_hour"),
        ("5h-status", "rejected"),
        ("5h-reset", &reset),
        ("5h-utilization", "1.0"),
        ("overage-status", "rejected"),
        ("overage-disabled-reason", "org_level_disabled"),
    ];
    let mut headers: Vec<(String, String)> = headers
        .map(|(name, value)| {
            (
                format!("anthropic-ratelimit-unified-{name}"),
                value.to_owned(),
            )
        })
        .into();
    headers.push(("x-should-retry".to_owned(), "false".to_owned()));
    Reply::Whole {
        status: 429,
        headers,
        body: error("rate_limit_error", text),
    }
}

/// A block of content: as it starts, and what is added to it.
struct Block {
    start: Value,
    delta: Value,
    stop_reason: &'static str,
}

impl Block {
    fn text(text: &str) -> Block {
        Block {
            start: json!({ "type": "text", "text": "" }),
            delta: json!({ "type": "text_delta", "text": text }),
            stop_reason: "end_turn",
        }
    }
}

fn called(number: usize, request: &Value, tool: &str, input: Value) -> Reply {
    let id = format!("toolu_{number}");
    let block = Block {
        start: json!({ "type": "tool_use", "id": id, "name": tool, "input": {} }),
        delta: json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
        stop_reason: "tool_use",
    };
    message(number, request, &block, false)
}

fn message(number: usize, request: &Value, block: &Block, is_cut: bool) -> Reply {
    let mut events = vec![
        json!({ "type": "message_start", "message": {
            "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": request["model"],
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": { "input_tokens": INPUT, "cache_creation_input_tokens": 0, "cache_read_input_tokens": CACHED, "output_tokens": 1 },
        } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block.start }),
        json!({ "type": "content_block_delta", "index": 0, "delta": block.delta }),
    ];
    if !is_cut {
        events.extend([
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": block.stop_reason, "stop_sequence": null }, "usage": { "output_tokens": OUTPUT } }),
            json!({ "type": "message_stop" }),
        ]);
    }
    Reply::Stream { events, is_cut }
}
