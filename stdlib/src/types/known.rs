//! The types of results that the language itself gives (LANGUAGE §8, §13).

use super::{FieldType, Type};

impl Type {
    /// What `command:` and `shell:` give; with `returns: T` also `value: T`.
    pub fn command_result(returns: Option<&Type>) -> Type {
        let mut fields = vec![
            FieldType::required("status", Type::Int),
            FieldType::required("stdout", Type::String),
            FieldType::required("stderr", Type::String),
            FieldType::required("truncated", Type::Bool),
        ];
        fields.extend(returns.map(|value| FieldType::required("value", value.clone())));
        Type::object(fields)
    }

    /// What `agent:` gives; with `response: T` also `value: T`.
    pub fn agent_result(response: Option<&Type>) -> Type {
        let mut fields = vec![FieldType::required("text", Type::String)];
        fields.extend(response.map(|value| FieldType::required("value", value.clone())));
        fields.extend([
            FieldType::required("commits", Type::list(commit())),
            FieldType::required("branch", Type::String),
            FieldType::required("usage", Type::usage()),
            FieldType::optional("fallback", fallback()),
            FieldType::optional("conversation", Type::String),
        ]);
        Type::object(fields)
    }

    /// Tokens that were spent (SEMANTICS B3).
    pub fn usage() -> Type {
        Type::object(vec![
            FieldType::required("input", Type::Int),
            FieldType::optional("cached", Type::Int),
            FieldType::optional("cacheCreated", Type::Int),
            FieldType::required("output", Type::Int),
            FieldType::optional("complete", Type::Bool),
            FieldType::optional("model", Type::String),
        ])
    }

    /// One turn of a scripted agent (LANGUAGE §10).
    pub fn scripted_turn() -> Type {
        let word = |name: &str| Type::literal(name);
        let tool = Type::object(vec![
            FieldType::required("name", Type::String),
            FieldType::optional("input", Type::Json),
        ]);
        Type::object(vec![
            FieldType::optional("text", Type::String),
            FieldType::optional("value", Type::Json),
            FieldType::optional("edit", Type::map(Type::String.nullable())),
            FieldType::optional("commit", Type::String),
            FieldType::optional("tools", Type::list(tool)),
            FieldType::optional("usage", Type::usage()),
            FieldType::optional("delay", Type::Int),
            FieldType::optional(
                "fail",
                Type::union(
                    [
                        "quota",
                        "unavailable",
                        "provider",
                        "process",
                        "timeout",
                        "session",
                    ]
                    .map(word),
                ),
            ),
            FieldType::optional("message", Type::String),
            FieldType::optional("resetIn", Type::Int),
        ])
    }

    /// What a decided `approval` or `pause` gives.
    pub fn gate_result() -> Type {
        Type::object(vec![
            FieldType::required("actor", Type::String),
            FieldType::required("reason", Type::String.nullable()),
            FieldType::required("decidedAt", Type::String),
        ])
    }

    /// What a `race` gives.
    pub fn race_result(value: &Type) -> Type {
        Type::object(vec![
            FieldType::required("winner", Type::Int),
            FieldType::required("value", value.clone()),
        ])
    }

    /// `quota`: null but in the first attempt after a quota pause.
    pub fn quota() -> Type {
        Type::object(vec![
            FieldType::required("message", Type::String),
            FieldType::required("requestedAt", Type::String),
            FieldType::optional("resetAt", Type::String),
            FieldType::optional("conversation", Type::String),
            FieldType::optional("branch", Type::String),
        ])
        .nullable()
    }

    /// `phase`.
    pub fn phase() -> Type {
        Type::union([Type::literal("attempt"), Type::literal("check")])
    }
}

fn commit() -> Type {
    Type::object(vec![
        FieldType::required("oid", Type::String),
        FieldType::required("subject", Type::String),
    ])
}

/// Null when the first member of a fallback list answered, or the agent is no list.
fn fallback() -> Type {
    let selected = Type::object(vec![
        FieldType::required("name", Type::String),
        FieldType::required("harness", Type::String),
        FieldType::optional("model", Type::String),
    ]);
    let stopped = Type::object(vec![
        FieldType::required("agent", Type::String),
        FieldType::required(
            "failure",
            Type::union([Type::literal("quota"), Type::literal("unavailable")]),
        ),
        FieldType::required("code", Type::String),
        FieldType::required("message", Type::String),
        FieldType::optional("resetAt", Type::String),
        FieldType::optional("conversation", Type::String),
    ]);
    Type::object(vec![
        FieldType::required("selected", selected),
        FieldType::required("attempts", Type::list(stopped)),
    ])
}
