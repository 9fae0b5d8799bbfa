//! Answers as the Gemini API streams them, with whatever tools its client has declared.

use crate::answer::{Answer, CACHED, INPUT, OUTPUT, Reply};
use crate::tools::{Declared, UNABLE, call};
use serde_json::{Value, json};

/// The reply to a request, streamed or whole.
pub fn reply(answer: &Answer, request: &Value, is_streamed: bool) -> Reply {
    let is_cut = matches!(answer, Answer::Cut);
    let part = match answer {
        Answer::Text(text) => json!({ "text": text }),
        Answer::Cut => json!({ "text": "It begins" }),
        Answer::Read(_) | Answer::Write { .. } | Answer::Shell(_) => {
            match call(answer, &declared(request)) {
                Some(call) => json!({ "functionCall": { "name": call.name, "args": call.input } }),
                None => json!({ "text": UNABLE }),
            }
        }
        Answer::RateLimited { retry_after } => {
            let delay = format!("{}s", retry_after.unwrap_or(1));
            let details = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay }]);
            return Reply::json(
                429,
                error(
                    429,
                    "RESOURCE_EXHAUSTED",
                    "Resource has been exhausted (e.g. check quota).",
                    details,
                ),
            );
        }
        Answer::UsageLimit { .. } => {
            let quota = "GenerateRequestsPerDayPerProjectPerModel-FreeTier";
            let details = json!([{ "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{ "quotaId": quota }] }]);
            return Reply::json(
                429,
                error(
                    429,
                    "RESOURCE_EXHAUSTED",
                    "You exceeded your current quota.",
                    details,
                ),
            );
        }
        Answer::Overloaded => {
            let text = "The model is overloaded. Please try again later.";
            return Reply::json(503, error(503, "UNAVAILABLE", text, json!([])));
        }
        Answer::Unauthorized => {
            let text = "API key not valid. Please pass a valid API key.";
            return Reply::json(400, error(400, "INVALID_ARGUMENT", text, json!([])));
        }
        Answer::Hang => unreachable!("it is never answered"),
    };
    let mut content = json!({
        "candidates": [{ "content": { "role": "model", "parts": [part] }, "index": 0 }],
        "modelVersion": "stub",
    });
    if !is_cut {
        content["candidates"][0]["finishReason"] = json!("STOP");
        content["usageMetadata"] = json!({
            "promptTokenCount": INPUT, "cachedContentTokenCount": CACHED,
            "candidatesTokenCount": OUTPUT, "totalTokenCount": INPUT + OUTPUT,
        });
    }
    match is_streamed {
        true => Reply::Stream {
            events: vec![content],
            is_cut,
        },
        false => Reply::json(200, content),
    }
}

fn error(code: u16, status: &str, message: &str, details: Value) -> Value {
    json!({ "error": { "code": code, "status": status, "message": message, "details": details } })
}

fn declared(request: &Value) -> Vec<Declared<'_>> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let functions = tools.filter_map(|tool| tool["functionDeclarations"].as_array());
    let functions = functions.flatten();
    let declared = functions.map(|function| match function["parametersJsonSchema"] {
        Value::Null => Declared::of(function, "parameters"),
        _ => Declared::of(function, "parametersJsonSchema"),
    });
    declared.flatten().collect()
}
