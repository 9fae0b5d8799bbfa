//! Answers as the Chat Completions API streams them, with whatever tools its client has declared.

use crate::answer::{Answer, CACHED, INPUT, OUTPUT, Reply};
use crate::tools::{Call, Declared, UNABLE, call};
use serde_json::{Value, json};

/// The reply to a request.
pub fn reply(answer: &Answer, number: usize, request: &Value) -> Reply {
    let is_cut = matches!(answer, Answer::Cut);
    let (delta, reason) = match answer {
        Answer::Text(text) => (json!({ "content": text }), "stop"),
        Answer::Cut => (json!({ "content": "It begins" }), "stop"),
        Answer::Read(_) | Answer::Write { .. } | Answer::Shell(_) => {
            match call(answer, &declared(request)) {
                Some(call) => (called(number, &call), "tool_calls"),
                None => (json!({ "content": UNABLE }), "stop"),
            }
        }
        Answer::RateLimited { retry_after } => {
            let text = "Rate limit reached for requests per min.";
            return Reply::limited(error("requests", text, "rate_limit_exceeded"), *retry_after);
        }
        Answer::UsageLimit { resets_at } => {
            let text = "The usage limit has been reached";
            let error =
                json!({ "type": "usage_limit_reached", "message": text, "resets_at": resets_at });
            return Reply::json(429, json!({ "error": error }));
        }
        Answer::Overloaded => {
            let text = "The server is currently overloaded. Please try again later.";
            return Reply::json(503, error("server_error", text, "server_is_overloaded"));
        }
        Answer::Unauthorized => {
            let text = "Incorrect API key provided.";
            return Reply::json(401, error("invalid_request_error", text, "invalid_api_key"));
        }
        Answer::Hang => unreachable!("it is never answered"),
    };
    completion(number, request, &delta, reason, is_cut)
}

fn called(number: usize, call: &Call) -> Value {
    let function = json!({ "name": call.name, "arguments": call.input.to_string() });
    let id = format!("call_{number}");
    json!({ "tool_calls": [{ "index": 0, "id": id, "type": "function", "function": function }] })
}

fn error(kind: &str, message: &str, code: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

fn declared(request: &Value) -> Vec<Declared<'_>> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let functions = tools.map(|tool| &tool["function"]);
    functions
        .filter_map(|each| Declared::of(each, "parameters"))
        .collect()
}

fn completion(number: usize, request: &Value, delta: &Value, reason: &str, is_cut: bool) -> Reply {
    let usage = json!({
        "prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT,
        "prompt_tokens_details": { "cached_tokens": CACHED },
    });
    let head = |object: &str| json!({ "id": format!("chatcmpl-{number}"), "object": object, "created": 1, "model": request["model"] });
    if request["stream"] != true {
        let mut whole = head("chat.completion");
        let mut message = delta.clone();
        message["role"] = json!("assistant");
        whole["choices"] = json!([{ "index": 0, "message": message, "finish_reason": reason }]);
        whole["usage"] = usage;
        return Reply::json(200, whole);
    }
    let chunk = |delta: Value, reason: Option<&str>| {
        let mut chunk = head("chat.completion.chunk");
        chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": reason }]);
        chunk
    };
    let mut events = vec![
        chunk(json!({ "role": "assistant", "content": "" }), None),
        chunk(delta.clone(), None),
    ];
    if !is_cut {
        let mut last = head("chat.completion.chunk");
        last["choices"] = json!([]);
        last["usage"] = usage;
        events.extend([chunk(json!({}), Some(reason)), last, json!("[DONE]")]);
    }
    Reply::Stream { events, is_cut }
}
