//! aider as a declared harness: the worked example of `docs/src/agents.md`.
//!
//! It prints plain text, ends with status 0 whatever happens, and repeats a request for over a minute.

use std::sync::LazyLock;

use super::declared::{Declaration, Declared, Delivery, EventKind, EventRule, Supports, When};
use super::shipped;
use crate::classify::Limits;

/// aider.
pub static AIDER: LazyLock<Declared> = LazyLock::new(|| {
    Declared::with_table(declaration(), shipped("aider").clone())
        .expect("a test compiles the example's patterns")
});

/// How aider is driven.
pub fn declaration() -> Declaration {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    let line = |kind, pattern: &str| EventRule {
        kind,
        when: When::Line(pattern.to_owned()),
    };
    // The tokens are told when a turn has ended well, and only then.
    let tokens = r"^Tokens: (?<input>[0-9.,]+[kM]?) sent.*, (?<output>[0-9.,]+[kM]?) received";
    Declaration {
        name: "aider".to_owned(),
        command: words(
            "aider --yes-always --no-pretty --no-fancy-input --no-check-update --no-analytics",
        ),
        brief: Delivery::File,
        brief_argument: words("--message-file"),
        model_argument: words("--model"),
        reasoning_argument: words("--reasoning-effort"),
        max_output_tokens_argument: Vec::new(),
        has_records: false,
        continue_argument: Vec::new(),
        fork_argument: Vec::new(),
        bypass_arguments: Vec::new(),
        edits_arguments: Vec::new(),
        supports: Supports {
            reasoning: true,
            ..Supports::default()
        },
        env: Vec::new(),
        events: vec![
            line(EventKind::Failure, r"^litellm\.[A-Za-z]+: "),
            line(EventKind::Retry, r"^Retrying in [0-9.]+ seconds"),
            line(EventKind::Usage, tokens),
            line(EventKind::Finished, tokens),
        ],
        limits: Limits::default(),
    }
}
