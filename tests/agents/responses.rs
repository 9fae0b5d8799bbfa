//! Answers as the Responses API streams them, with the tools of codex.

use crate::answer::{Answer, CACHED, INPUT, OUTPUT, Reply};
use serde_json::{Value, json};
use std::fmt::Write;

/// The reply to a request.
pub fn reply(answer: &Answer, number: usize, request: &Value) -> Reply {
    match answer {
        Answer::Text(text) => response(number, request, &message(number, text), false),
        Answer::Cut => response(number, request, &message(number, "It begins"), true),
        Answer::Read(path) => {
            let item = shell(number, request, &format!("cat {path}"));
            response(number, request, &item, false)
        }
        Answer::Write { path, text } => {
            let item = patch(number, path, text);
            response(number, request, &item, false)
        }
        Answer::Shell(command) => {
            let item = shell(number, request, command);
            response(number, request, &item, false)
        }
        Answer::RateLimited { retry_after } => {
            let error = error(
                "requests",
                "Rate limit reached for requests per min.",
                "rate_limit_exceeded",
            );
            Reply::limited(error, *retry_after)
        }
        Answer::UsageLimit { resets_at } => {
            let text = "The usage limit has been reached";
            let error = json!({ "type": "usage_limit_reached", "message": text, "plan_type": "plus", "resets_at": resets_at });
            Reply::json(429, json!({ "error": error }))
        }
        Answer::Overloaded => {
            let text = "The server is currently overloaded. Please try again later.";
            Reply::json(503, error("server_error", text, "server_is_overloaded"))
        }
        Answer::Unauthorized => {
            let text = "Incorrect API key provided.";
            Reply::json(401, error("invalid_request_error", text, "invalid_api_key"))
        }
        Answer::Hang => unreachable!("it is never answered"),
    }
}

fn error(kind: &str, message: &str, code: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

fn message(number: usize, text: &str) -> Value {
    json!({
        "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }],
    })
}

/// A call of the tool that writes files. It takes the whole file, also where there is one already.
fn patch(number: usize, path: &str, text: &str) -> Value {
    let mut patch = format!("*** Begin Patch\n*** Add File: {path}\n");
    for line in text.lines() {
        writeln!(patch, "+{line}").expect("a string takes all that is written");
    }
    patch.push_str("*** End Patch\n");
    json!({
        "type": "custom_tool_call", "id": format!("ctc_{number}"), "call_id": format!("call_{number}"),
        "name": "apply_patch", "input": patch, "status": "completed",
    })
}

/// A call of the tool that runs commands, whose name and form depend on the model.
fn shell(number: usize, request: &Value, command: &str) -> Value {
    let tools = request["tools"].as_array();
    let mut names = tools
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str());
    let name = names
        .find(|name| ["exec_command", "shell_command", "shell"].contains(name))
        .unwrap_or("exec_command");
    let arguments = match name {
        "exec_command" => json!({ "cmd": command }),
        "shell_command" => json!({ "command": command }),
        _ => json!({ "command": ["sh", "-c", command] }),
    };
    json!({
        "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
        "name": name, "arguments": arguments.to_string(), "status": "completed",
    })
}

fn response(number: usize, request: &Value, item: &Value, is_cut: bool) -> Reply {
    let body = |status: &str, output: Value, usage: Value| {
        json!({
            "id": format!("resp_{number}"), "object": "response", "model": request["model"], "status": status,
            "output": output, "usage": usage, "error": null, "incomplete_details": null,
        })
    };
    let mut events = vec![
        json!({ "type": "response.created", "response": body("in_progress", json!([]), Value::Null) }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
    ];
    if !is_cut {
        let usage = json!({
            "input_tokens": INPUT, "input_tokens_details": { "cached_tokens": CACHED },
            "output_tokens": OUTPUT, "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": INPUT + OUTPUT,
        });
        events.extend([
            json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
            json!({ "type": "response.completed", "response": body("completed", json!([item]), usage) }),
        ]);
    }
    Reply::Stream { events, is_cut }
}
