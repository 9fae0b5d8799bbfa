//! Agent CLIs: how each is started, and what its output means.
//!
//! A harness is a description: it computes a command line from a [`Turn`] and reads records into [`AgentEvent`]s.
//! It starts nothing, waits for nothing and decides nothing; whether a failed turn is a limit or an outage is
//! said by [`crate::classify`].

pub mod turn;

pub mod invocation;

pub mod conversation;

pub mod event;

pub mod decoder;

pub mod record;

pub mod claude;

pub mod codex;

pub mod copilot;

pub mod antigravity;

pub mod kimi;

pub mod gemini;

pub mod qwen;

pub mod opencode;

pub mod declared;

pub mod aider;

pub mod credentials;

pub mod probe;

pub use conversation::{Conversation, ForkFault, InvalidConversation};
pub use decoder::{Baseline, Channel, Decoder, Exit, TurnResult, TurnState};
pub use event::{AgentEvent, Failure, Limit, ResetHint, Retry, ToolCall, ToolOutput, UsageScope};
pub use invocation::{BriefFile, Invocation, Unfit, invocation};
pub use record::Record;
pub use turn::{Authentication, Permissions, Reasoning, Settings, Start, Turn};

use crate::classify::Table;

/// How one agent CLI is driven and read.
pub trait Harness: Send + Sync {
    /// Its name in files.
    fn name(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// What its failure texts mean.
    fn limits(&self) -> &Table;

    /// The command line of a turn that fits its capabilities. Callers use [`invocation()`], which checks that.
    fn command(&self, turn: &Turn) -> Invocation;

    /// What a JSON record of its standard output says. Nothing: the record is unknown.
    fn read(&self, record: &Record, conversation: Option<&str>) -> Vec<AgentEvent>;

    /// What a line that is no JSON record says.
    fn read_text(&self, line: &str) -> Vec<AgentEvent> {
        let _ = line;
        Vec::new()
    }

    /// The command that copies a conversation, where that is a command of its own.
    fn fork_command(&self, parent: &Conversation) -> Option<Invocation> {
        let _ = parent;
        None
    }

    /// The name of the copy in what [`Harness::fork_command`] printed.
    fn forked(&self, parent: &Conversation, stdout: &str) -> Result<Conversation, ForkFault> {
        let _ = (parent, stdout);
        Err(ForkFault::NotNamed)
    }
}

/// What a harness can do (LANGUAGE §17.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// A conversation can go on.
    pub resume: bool,
    /// A conversation can be copied.
    pub fork: Fork,
    /// It can be told how hard to think.
    pub reasoning: bool,
    /// Its answer can be limited.
    pub max_output_tokens: bool,
    /// Which permission modes it has.
    pub permissions: Modes,
    /// Whether a turn has ended only when the CLI says so.
    pub finish: Finish,
    /// Whether `input` of its usage excludes cached tokens.
    pub uncached_input: bool,
}

/// How a conversation is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fork {
    /// Not at all.
    No,
    /// By arguments of the turn that goes on in the copy.
    Arguments,
    /// By a command before that turn.
    Command,
}

/// Which permission modes a CLI has without a person at a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// It may read; whatever it has to ask for is refused.
    pub ask: bool,
    /// It may edit files.
    pub edits: bool,
    /// It may do anything.
    pub bypass: bool,
}

impl Modes {
    /// All three.
    pub const ALL: Modes = Modes {
        ask: true,
        edits: true,
        bypass: true,
    };

    /// Whether a mode is among them.
    pub fn has(self, mode: Permissions) -> bool {
        match mode {
            Permissions::Ask => self.ask,
            Permissions::Edits => self.edits,
            Permissions::Bypass => self.bypass,
        }
    }
}

/// Whether a CLI's own word that it has finished is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Status 0 and an answer are enough.
    Optional,
    /// Status 0 without it is a failure.
    Required,
}

/// The built-in harnesses, in the order of the reference. `scripted` is none: it starts no CLI.
static BUILT_IN: [&dyn Harness; 8] = [
    &claude::Claude,
    &codex::Codex,
    &copilot::Copilot,
    &antigravity::Antigravity,
    &kimi::Kimi,
    &gemini::Gemini,
    &qwen::Qwen,
    &opencode::Opencode,
];

/// A built-in harness by its name in files.
pub fn built_in(name: &str) -> Option<&'static dyn Harness> {
    let found = BUILT_IN.iter().find(|harness| harness.name() == name);
    found.copied()
}

/// A built-in harness, or the example of a declared one.
pub fn known(name: &str) -> Option<&'static dyn Harness> {
    let example: &'static declared::Declared = &aider::AIDER;
    match name {
        "aider" => Some(example),
        _ => built_in(name),
    }
}

/// The names of the built-in harnesses, in the order of the reference.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|harness| harness.name())
}

/// The table that is shipped for a built-in harness.
fn shipped(name: &str) -> &'static Table {
    Table::built_in(name).expect("a test finds the table of every built-in harness")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_harness_has_its_table() {
        for name in names() {
            let harness = built_in(name).unwrap();
            assert_eq!(harness.limits().agent(), name);
        }
        assert!(built_in("scripted").is_none());
    }

    #[test]
    fn what_each_can_do_is_what_the_language_says() {
        let able = |name: &str| {
            let can = built_in(name).unwrap().capabilities();
            let fork = can.fork != Fork::No;
            (can.resume, fork, can.reasoning, can.max_output_tokens)
        };
        assert_eq!(able("claude"), (true, true, true, true));
        assert_eq!(able("codex"), (true, true, true, false));
        assert_eq!(able("kimi"), (true, true, false, false));
        for name in ["copilot", "antigravity", "gemini", "qwen", "opencode"] {
            assert_eq!(able(name), (true, false, false, false), "{name}");
        }
    }
}
