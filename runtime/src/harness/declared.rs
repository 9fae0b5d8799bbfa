//! Harnesses that a file declares: any other CLI, described as data.

use regex::{Captures, Regex};
use serde_json::Value as Json;

use super::event::{AgentEvent, Failure, Retry, ToolCall, UsageScope};
use super::invocation::{BriefFile, Invocation};
use super::record::{Record, flat};
use super::turn::{Permissions, Start, Turn};
use super::{Capabilities, Finish, Fork, Harness, Modes};
use crate::classify::{Limits, Table, TableFault};
use crate::event::Usage;

/// `harness name { … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// `command`: program and arguments.
    pub command: Vec<String>,
    /// `brief`.
    pub brief: Delivery,
    /// `briefArgument`: the arguments before the brief, or before its file.
    pub brief_argument: Vec<String>,
    /// `modelArgument`.
    pub model_argument: Vec<String>,
    /// `reasoningArgument`.
    pub reasoning_argument: Vec<String>,
    /// `maxOutputTokensArgument`.
    pub max_output_tokens_argument: Vec<String>,
    /// `continueArgument`.
    pub continue_argument: Vec<String>,
    /// `forkArgument`.
    pub fork_argument: Vec<String>,
    /// `bypassArguments`.
    pub bypass_arguments: Vec<String>,
    /// `editsArguments`.
    pub edits_arguments: Vec<String>,
    /// `output: lines`: there are lines of JSON in its output.
    pub has_records: bool,
    /// What of `supports` concerns the command line.
    pub supports: Supports,
    /// Its environment.
    pub env: Vec<(String, String)>,
    /// How lines become events. Every rule that fits a line gives one.
    pub events: Vec<EventRule>,
    /// `limits`.
    pub limits: Limits,
}

/// How the brief is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// On standard input.
    Stdin,
    /// As the last argument.
    Argument,
    /// In a file whose path is the last argument.
    File,
}

/// What a declared harness can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Supports {
    /// `continue`.
    pub resume: bool,
    /// `fork`.
    pub fork: bool,
    /// `reasoning`.
    pub reasoning: bool,
    /// `maxOutputTokens`.
    pub max_output_tokens: bool,
}

/// How a line becomes an event.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRule {
    /// Which event.
    pub kind: EventKind,
    /// Which lines.
    pub when: When,
}

/// The events that a declared harness can tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// `text`: a message of the agent.
    Text,
    /// `result`: the whole answer.
    Result,
    /// `usage`: tokens, from `input`, `output` and `cached`.
    Usage,
    /// `conversation`: its name, from `id`.
    Conversation,
    /// `failure`: an error, which the end of the turn confirms.
    Failure,
    /// `tool`: a call, from `name` and `input`.
    Tool,
    /// `retry`: the CLI tries again.
    Retry,
    /// `finished`: the turn has ended well. If there is such a rule, no turn is done without it.
    Finished,
}

/// Which lines a rule is for, and where their parts are.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// Plain lines that match; parts are named groups, and `text` is the line where no group has that name.
    Line(String),
    /// JSON records that hold these values at these paths.
    Record {
        /// Paths and values.
        holds: Vec<(String, Json)>,
        /// Names of parts and their paths.
        parts: Vec<(String, String)>,
    },
}

/// A declared harness, ready for use.
pub struct Declared {
    declaration: Declaration,
    /// The expression of each rule for plain lines.
    patterns: Vec<Option<Regex>>,
    table: Table,
}

impl Declared {
    /// Compiles the patterns of a declaration.
    pub fn new(declaration: Declaration) -> Result<Declared, TableFault> {
        let table = Table::declared(&declaration.name, &declaration.limits)?;
        Declared::with_table(declaration, table)
    }

    /// A declaration whose failure texts stand in a table of its own.
    pub fn with_table(declaration: Declaration, table: Table) -> Result<Declared, TableFault> {
        let mut patterns = Vec::new();
        for rule in &declaration.events {
            patterns.push(match &rule.when {
                When::Line(pattern) => {
                    Some(Regex::new(pattern).map_err(|error| TableFault::Pattern {
                        pattern: pattern.clone(),
                        reason: error.to_string(),
                    })?)
                }
                When::Record { .. } => None,
            });
        }
        Ok(Declared {
            declaration,
            patterns,
            table,
        })
    }
}

impl Harness for Declared {
    fn name(&self) -> &str {
        &self.declaration.name
    }

    fn capabilities(&self) -> Capabilities {
        let supports = self.declaration.supports;
        let mut rules = self.declaration.events.iter();
        Capabilities {
            resume: supports.resume,
            fork: match supports.fork {
                true => Fork::Arguments,
                false => Fork::No,
            },
            reasoning: supports.reasoning,
            max_output_tokens: supports.max_output_tokens,
            permissions: Modes::ALL,
            finish: match rules.any(|rule| rule.kind == EventKind::Finished) {
                true => Finish::Required,
                false => Finish::Optional,
            },
            uncached_input: false,
        }
    }

    fn limits(&self) -> &Table {
        &self.table
    }

    fn command(&self, turn: &Turn) -> Invocation {
        let Declaration {
            command,
            brief,
            brief_argument,
            model_argument,
            reasoning_argument,
            max_output_tokens_argument,
            continue_argument,
            fork_argument,
            bypass_arguments,
            edits_arguments,
            env,
            ..
        } = &self.declaration;
        let settings = turn.settings;
        let mut invocation = Invocation {
            argv: command.clone(),
            env: env.clone(),
            ..Invocation::default()
        };
        let argv = &mut invocation.argv;
        let mut add = |before: &[String], value: Option<&str>| {
            if let Some(value) = value {
                argv.extend_from_slice(before);
                argv.push(value.to_owned());
            }
        };
        add(model_argument, settings.model.as_deref());
        add(
            reasoning_argument,
            settings.reasoning.map(|effort| effort.name()),
        );
        let most = settings.max_output_tokens.map(|most| most.to_string());
        add(max_output_tokens_argument, most.as_deref());
        match &turn.start {
            Start::New => {}
            Start::Continue(id) => add(continue_argument, Some(id.as_str())),
            Start::Fork(id) => add(fork_argument, Some(id.as_str())),
        }
        match settings.permissions {
            Permissions::Ask => {}
            Permissions::Edits => argv.extend_from_slice(edits_arguments),
            Permissions::Bypass => argv.extend_from_slice(bypass_arguments),
        }
        argv.extend_from_slice(&settings.arguments);
        argv.extend_from_slice(brief_argument);
        let text = turn.brief.to_owned();
        match brief {
            Delivery::Stdin => invocation.stdin = Some(text),
            Delivery::Argument => argv.push(text),
            Delivery::File => {
                let argument = argv.len();
                argv.push(String::new());
                invocation.file = Some(BriefFile { argument, text });
            }
        }
        invocation
    }

    fn has_records(&self) -> bool {
        self.declaration.has_records
    }

    fn read(&self, record: &Record, _conversation: Option<&str>) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        for rule in &self.declaration.events {
            if let When::Record { holds, parts } = &rule.when
                && holds
                    .iter()
                    .all(|(path, value)| record.get(path) == Some(value))
            {
                let path = |name: &str| parts.iter().find(|(part, _)| part == name);
                events.extend(event(rule.kind, |name| {
                    let (_, path) = path(name)?;
                    record.get(path).cloned()
                }));
            }
        }
        events
    }

    fn read_text(&self, line: &str) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        for (rule, pattern) in self.declaration.events.iter().zip(&self.patterns) {
            let captures = pattern.as_ref().and_then(|pattern| pattern.captures(line));
            if let Some(captures) = captures {
                events.extend(event(rule.kind, |name| part(&captures, line, name)));
            }
        }
        events
    }
}

fn part(captures: &Captures, line: &str, name: &str) -> Option<Json> {
    match (captures.name(name), name) {
        (Some(found), _) => Some(Json::String(found.as_str().to_owned())),
        (None, "text") => Some(Json::String(line.trim().to_owned())),
        (None, _) => None,
    }
}

/// An event with these parts; nothing if it lacks what it is about.
fn event(kind: EventKind, part: impl Fn(&str) -> Option<Json>) -> Option<AgentEvent> {
    let text = |name: &str| flat(part(name).as_ref());
    let count = |name: &str| part(name).as_ref().and_then(tokens);
    Some(match kind {
        EventKind::Text => AgentEvent::Text(text("text")),
        EventKind::Result => AgentEvent::Answer(text("text")),
        EventKind::Usage => {
            let usage = Usage {
                input: count("input")?,
                output: count("output")?,
                cached: count("cached"),
                ..Usage::default()
            };
            let scope = UsageScope::Message {
                id: None,
                is_partial: false,
            };
            AgentEvent::Usage(scope, usage)
        }
        EventKind::Conversation => AgentEvent::Conversation(part("id")?.as_str()?.to_owned()),
        EventKind::Failure => AgentEvent::Error(Failure::text(text("text"))),
        EventKind::Tool => AgentEvent::Tool(ToolCall {
            id: part("id").and_then(|id| id.as_str().map(str::to_owned)),
            name: text("name"),
            input: part("input").unwrap_or_default(),
        }),
        EventKind::Retry => AgentEvent::Retry(Retry {
            text: text("text"),
            is_connection: false,
        }),
        EventKind::Finished => AgentEvent::Finished,
    })
}

/// `597`, `"597"`, `"2.5k"`, `"1,024"`.
fn tokens(value: &Json) -> Option<u64> {
    if let Some(count) = value.as_u64() {
        return Some(count);
    }
    let text = value.as_str()?.replace(',', "");
    let (digits, times) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1e6),
            None => (text.as_str(), 1.0),
        },
    };
    let count: f64 = digits.parse().ok()?;
    // A cast of what is too large or no number stops at the ends.
    Some((count * times).round() as u64)
}
