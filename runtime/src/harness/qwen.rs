//! Qwen Code: `qwen`, a JSON record a line, much like Claude Code's.

use super::claude;
use super::event::{AgentEvent, Retry};
use super::invocation::Invocation;
use super::record::Record;
use super::turn::{Authentication, Permissions, Turn};
use super::{Capabilities, Finish, Fork, Harness, Modes, shipped};
use crate::classify::Table;

/// Qwen Code.
pub struct Qwen;

impl Harness for Qwen {
    fn name(&self) -> &str {
        "qwen"
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
        shipped("qwen")
    }

    fn command(&self, turn: &Turn) -> Invocation {
        let settings = turn.settings;
        let mut command = Invocation::of("qwen");
        command.option("--model", settings.model.as_deref());
        command.add(&["--output-format", "stream-json", "--approval-mode"]);
        command.add(&[match settings.permissions {
            Permissions::Ask => "default",
            // With a hyphen, unlike the CLI that it descends from.
            Permissions::Edits => "auto-edit",
            Permissions::Bypass => "yolo",
        }]);
        // With a key alone it says that no kind of login is selected.
        if settings.authentication == Authentication::Usage {
            command.add(&["--auth-type", "openai"]);
        }
        command.option("--resume", turn.start.continued());
        command.extra(turn);
        command.stdin = Some(turn.brief.to_owned());
        command
    }

    fn read(&self, record: &Record, _conversation: Option<&str>) -> Vec<AgentEvent> {
        match record.text("type") {
            Some("system") if record.text("subtype") == Some("retry") => {
                // Why it tries again stands on standard error only.
                vec![AgentEvent::Retry(Retry::default())]
            }
            Some("system") => claude::system(record),
            Some("assistant" | "user") => claude::message(record),
            Some("stream_event") => claude::piece(record),
            Some("result") => claude::result(record),
            _ => Vec::new(),
        }
    }
}
