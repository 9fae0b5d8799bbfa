//! What an agent is seen doing in one turn: a fold of its notices. Nothing of it is kept.
//!
//! All that an agent says is of unknown origin: it comes out of here in lines without control characters.

use crate::progress::Detail;
use crate::terminal::one_line;
use crate::words;
use outpost_runtime::clock::Timestamp;
use outpost_runtime::event::Usage;
use outpost_runtime::harness::{AgentEvent, Limit, ResetHint, Retry, ToolOutput, UsageScope};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The longest line of what an agent says; the display cuts it to its own width.
const MAX_WORDS: usize = 400;

/// How much of a message that comes in pieces is kept to be shown as a line.
const MAX_PIECES: usize = 4_000;

/// How many lines of a tool's output are shown.
const OUTPUT_LINES: usize = 3;

/// How many messages are counted one by one; more are added up.
const OPEN_MESSAGES: usize = 64;

/// A moment of more seconds is in milliseconds: it would be after the year 5138.
const MOST_SECONDS: u64 = 100_000_000_000;

/// The fields of a tool's input that say best what it is called with.
const TELLING: [&str; 10] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
];

/// A turn of an agent that goes on.
#[derive(Debug)]
pub struct Turn {
    /// The agent.
    pub agent: String,
    /// What it did last, in a few words; empty before it did anything.
    pub doing: String,
    /// The beginning of a message that comes in pieces.
    pieces: String,
    /// The line at which such a message is.
    last_line: String,
    /// Its name of the conversation, as far as it has said it.
    conversation: String,
    tokens: Tokens,
    retries: u32,
    stuck: bool,
}

/// Something to be said of a turn.
#[derive(Debug, PartialEq, Eq)]
pub enum Remark {
    /// A line for those who want that much detail; it begins with what the agent does: `calls …`.
    Line(Detail, String),
    /// What a person should know.
    Warning(String),
    /// The same again: a live line shows it well enough.
    Again(String),
}

impl Turn {
    /// A turn that begins.
    pub fn new(agent: &str) -> Turn {
        Turn {
            agent: agent.to_owned(),
            doing: String::new(),
            pieces: String::new(),
            last_line: String::new(),
            conversation: String::new(),
            tokens: Tokens::default(),
            retries: 0,
            stuck: false,
        }
    }

    /// The tokens of the turn so far, input and output; nothing if none were reported.
    pub fn tokens(&self) -> Option<u64> {
        self.tokens.sum()
    }

    /// Takes something that the agent does into account, and gives what is to be said of it.
    pub fn heed(&mut self, event: &AgentEvent, now: Timestamp) -> Vec<Remark> {
        let mut remarks = Vec::new();
        let goes_on = matches!(
            event,
            AgentEvent::TextPiece(_) | AgentEvent::Usage(..) | AgentEvent::Raw(_)
        );
        if !goes_on {
            remarks.extend(self.flush());
        }
        if let AgentEvent::Text(_) = event {
            // What was shown piece by piece is given whole.
            self.last_line.clear();
        }
        match event {
            AgentEvent::Text(text) => {
                self.doing = one_line(text, MAX_WORDS);
                remarks.extend(says(text));
            }
            AgentEvent::TextPiece(piece) => {
                let room = MAX_PIECES.saturating_sub(self.pieces.len());
                let end = piece.floor_char_boundary(room);
                self.pieces.push_str(&piece[..end]);
                self.preview(piece);
            }
            AgentEvent::Preview(piece) => self.preview(piece),
            AgentEvent::Thinking(text) => {
                self.doing = "thinks".to_owned();
                remarks.extend(line(Detail::Everything, "thinks:", text));
            }
            AgentEvent::Tool(call) => {
                let name = one_line(&call.name, MAX_WORDS);
                let argument = argument(&call.input);
                let gap = if argument.is_empty() { "" } else { ": " };
                self.doing = format!("{name}{gap}{argument}");
                let text = format!("calls {}", self.doing);
                remarks.push(Remark::Line(Detail::Calls, text));
            }
            AgentEvent::ToolOutput(output) => remarks.extend(gets(output)),
            AgentEvent::Usage(scope, usage) => {
                self.tokens.take(scope, usage);
                let text = format!("has used {} {}", words::tokens(usage), scope_words(scope));
                remarks.push(Remark::Line(Detail::Everything, text));
            }
            AgentEvent::Conversation(name) => {
                // Some say it with every record.
                if *name != self.conversation {
                    self.conversation.clone_from(name);
                    remarks.extend(line(Detail::Everything, "is in conversation", name));
                }
            }
            AgentEvent::Model(name) => remarks.extend(line(Detail::Everything, "uses", name)),
            AgentEvent::Retry(retry) => remarks.extend(self.tries_again(retry)),
            AgentEvent::Notice(text) => remarks.extend(line(Detail::Calls, "notes:", text)),
            AgentEvent::Limit(limit) => {
                self.doing = "met a limit".to_owned();
                remarks.push(Remark::Warning(met(limit, now)));
            }
            AgentEvent::Error(failure) => {
                remarks.extend(line(Detail::Calls, "reports an error:", &failure.text));
            }
            AgentEvent::Stuck { tool, times } => {
                if !self.stuck {
                    self.stuck = true;
                    let tool = one_line(tool, MAX_WORDS);
                    remarks.push(Remark::Warning(format!(
                        "has called {tool} with the same input {times} times of late; it may be stuck"
                    )));
                }
            }
            AgentEvent::Raw(text) => {
                // Records that mean nothing to a harness mean less to a person; the stream has them.
                if !text.trim_start().starts_with('{') {
                    remarks.extend(line(Detail::Everything, "prints:", text));
                }
            }
            // The row of the turn says so.
            AgentEvent::Failed(_) | AgentEvent::Answer(_) | AgentEvent::Finished => {}
        }
        remarks
    }

    /// The message that came in pieces, which is over.
    pub fn flush(&mut self) -> Option<Remark> {
        self.last_line.clear();
        says(&std::mem::take(&mut self.pieces))
    }

    fn preview(&mut self, piece: &str) {
        match piece.rsplit_once('\n') {
            Some((_, rest)) => self.last_line = rest.to_owned(),
            None => self.last_line.push_str(piece),
        }
        // The last words are what counts.
        let cut = self.last_line.len().saturating_sub(MAX_WORDS);
        let cut = self.last_line.ceil_char_boundary(cut);
        self.last_line.drain(..cut);
        let shown = one_line(&self.last_line, MAX_WORDS);
        if !shown.is_empty() {
            self.doing = shown;
        }
    }

    fn tries_again(&mut self, retry: &Retry) -> Option<Remark> {
        let said = one_line(&retry.text, MAX_WORDS);
        if said.is_empty() && self.retries > 0 {
            // It only follows the one that said why.
            return None;
        }
        self.retries += 1;
        let text = match said.is_empty() {
            true => "tries again".to_owned(),
            false => format!("tries again: {said}"),
        };
        self.doing.clone_from(&text);
        Some(match self.retries {
            1 => Remark::Warning(text),
            _ => Remark::Again(text),
        })
    }
}

/// A whole message as one line.
fn says(text: &str) -> Option<Remark> {
    line(Detail::Calls, "says:", text)
}

fn line(detail: Detail, verb: &str, text: &str) -> Option<Remark> {
    let text = one_line(text, MAX_WORDS);
    (!text.is_empty()).then(|| Remark::Line(detail, format!("{verb} {text}")))
}

/// The first lines of what a tool gave.
fn gets(output: &ToolOutput) -> Vec<Remark> {
    let verb = match output.failed {
        true => "got an error:",
        false => "got:",
    };
    let mut lines = output.text.lines().filter(|line| !line.trim().is_empty());
    let first: Vec<&str> = lines.by_ref().take(OUTPUT_LINES).collect();
    let rest = lines.count();
    let mut remarks: Vec<Remark> = first
        .iter()
        .filter_map(|text| line(Detail::Everything, verb, text))
        .collect();
    if rest > 0 {
        let lines = if rest == 1 { "line" } else { "lines" };
        let text = format!("{verb} … {rest} more {lines}");
        remarks.push(Remark::Line(Detail::Everything, text));
    }
    if remarks.is_empty() && output.failed {
        let text = "got an error".to_owned();
        remarks.push(Remark::Line(Detail::Everything, text));
    }
    remarks
}

fn met(limit: &Limit, now: Timestamp) -> String {
    let until = resets_at(limit, now)
        .map(|at| format!(" (until {})", words::clock_time(at)))
        .unwrap_or_default();
    match one_line(&limit.text, MAX_WORDS) {
        said if said.is_empty() => format!("met a limit{until}"),
        said => format!("met a limit: {said}{until}"),
    }
}

/// When a limit ends, if its CLI said so in a field.
pub fn resets_at(limit: &Limit, now: Timestamp) -> Option<Timestamp> {
    let at = match limit.reset? {
        ResetHint::At(at) if at.unsigned_abs() < MOST_SECONDS => Timestamp(at * 1_000),
        ResetHint::At(at) => Timestamp(at),
        ResetHint::In(wait) => now.after(wait),
    };
    // What no clock shows is not a time.
    jiff::Timestamp::from_millisecond(at.0).ok().map(|_| at)
}

fn scope_words(scope: &UsageScope) -> &'static str {
    match scope {
        UsageScope::Message { .. } => "for a message",
        UsageScope::Turn => "in this turn",
        UsageScope::Conversation => "in this conversation",
    }
}

/// What a tool is called with, as one line: the field that tells most, else the whole input.
fn argument(input: &Json) -> String {
    let telling = match input {
        Json::Object(fields) => known(fields).or_else(|| match fields.len() {
            1 => fields.values().next().and_then(shown),
            _ => None,
        }),
        other => shown(other),
    };
    match (telling, input) {
        (Some(text), _) => one_line(&text, MAX_WORDS),
        (None, Json::Null) => String::new(),
        (None, Json::Object(fields)) if fields.is_empty() => String::new(),
        (None, _) => one_line(&input.to_string(), MAX_WORDS),
    }
}

fn known(fields: &serde_json::Map<String, Json>) -> Option<String> {
    TELLING.iter().find_map(|name| shown(fields.get(*name)?))
}

/// A text, a list of texts as a command line, or what tells most of each object in a list.
fn shown(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Array(items) => {
            let words: Option<Vec<String>> = items
                .iter()
                .map(|item| match item {
                    Json::Object(fields) => known(fields),
                    other => other.as_str().map(str::to_owned),
                })
                .collect();
            words
                .filter(|words| !words.is_empty())
                .map(|words| words.join(" "))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => None,
    }
}

/// The tokens of a turn that goes on.
#[derive(Debug, Default)]
struct Tokens {
    /// Of messages, by id: a later report replaces an earlier one.
    messages: BTreeMap<String, u64>,
    /// Of messages that are counted once and for all.
    settled: Option<u64>,
    /// Of the turn as a whole.
    turn: Option<u64>,
}

impl Tokens {
    fn take(&mut self, scope: &UsageScope, usage: &Usage) {
        let count = sum(usage);
        match scope {
            UsageScope::Message { id: Some(id), .. } => {
                if self.messages.len() >= OPEN_MESSAGES && !self.messages.contains_key(id) {
                    let open: u64 = std::mem::take(&mut self.messages).values().sum();
                    self.settle(open);
                }
                self.messages.insert(id.clone(), count);
            }
            UsageScope::Message { id: None, .. } => self.settle(count),
            UsageScope::Turn => self.turn = Some(count),
            // How much of it is of this turn is known at its end.
            UsageScope::Conversation => {}
        }
    }

    fn settle(&mut self, count: u64) {
        self.settled = Some(self.settled.unwrap_or(0).saturating_add(count));
    }

    fn sum(&self) -> Option<u64> {
        let open = (!self.messages.is_empty()).then(|| self.messages.values().sum::<u64>());
        let counted = match (self.settled, open) {
            (None, None) => None,
            (settled, open) => Some(settled.unwrap_or(0).saturating_add(open.unwrap_or(0))),
        };
        self.turn.or(counted)
    }
}

/// Input and output together.
pub fn sum(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use outpost_runtime::harness::ToolCall;
    use serde_json::json;

    fn tool(name: &str, input: Json) -> AgentEvent {
        AgentEvent::Tool(ToolCall {
            id: None,
            name: name.to_owned(),
            input,
        })
    }

    fn said(turn: &mut Turn, event: &AgentEvent) -> Vec<String> {
        let remarks = turn.heed(event, Timestamp(0)).into_iter();
        remarks
            .map(|remark| match remark {
                Remark::Line(detail, text) => format!("{detail:?} {text}"),
                Remark::Warning(text) => format!("warning {text}"),
                Remark::Again(text) => format!("again {text}"),
            })
            .collect()
    }

    #[test]
    fn a_call_is_told_by_the_field_that_tells_most() {
        let told = |input| argument(&input);
        assert_eq!(
            told(json!({ "timeout": 5, "command": "npm test" })),
            "npm test"
        );
        assert_eq!(told(json!({ "command": ["npm", "test"] })), "npm test");
        assert_eq!(told(json!({ "todo": "x" })), "x");
        assert_eq!(
            told(json!([{ "path": "a", "kind": "add" }, { "path": "b" }])),
            "a b"
        );
        assert_eq!(
            told(json!({ "a": 1, "b": "\u{1b}[2J" })),
            r#"{"a":1,"b":"\u001b[2J"}"#
        );
        assert_eq!(told(json!({})), "");
        assert_eq!(told(Json::Null), "");
        assert_eq!(told(json!("ls\n-l\u{1b}[2J")), "ls -l␛[2J");
    }

    #[test]
    fn pieces_become_one_message_when_something_else_happens() {
        let mut turn = Turn::new("coder");
        let piece = |text: &str| AgentEvent::TextPiece(text.to_owned());
        assert!(said(&mut turn, &piece("I look\nat ")).is_empty());
        assert_eq!(turn.doing, "at");
        assert!(said(&mut turn, &piece("it")).is_empty());
        assert_eq!(turn.doing, "at it");
        let call = tool("Read", json!({ "path": "a.rs" }));
        assert_eq!(
            said(&mut turn, &call),
            ["Calls says: I look at it", "Calls calls Read: a.rs"]
        );
        assert_eq!(turn.flush(), None);
    }

    #[test]
    fn a_preview_is_shown_and_the_whole_message_is_told() {
        let mut turn = Turn::new("coder");
        assert!(said(&mut turn, &AgentEvent::Preview("Al".to_owned())).is_empty());
        assert!(said(&mut turn, &AgentEvent::Preview("most".to_owned())).is_empty());
        let text = AgentEvent::Text("Almost.".to_owned());
        assert_eq!(said(&mut turn, &text), ["Calls says: Almost."]);
    }

    #[test]
    fn endless_pieces_are_bounded() {
        let mut turn = Turn::new("coder");
        for _ in 0..2_000 {
            turn.heed(&AgentEvent::TextPiece("é".repeat(50)), Timestamp(0));
        }
        assert!(turn.pieces.len() <= MAX_PIECES && turn.last_line.len() <= MAX_WORDS);
    }

    #[test]
    fn warnings_are_told_once() {
        let mut turn = Turn::new("coder");
        let retry = |text: &str| {
            AgentEvent::Retry(Retry {
                text: text.to_owned(),
                is_connection: false,
            })
        };
        assert_eq!(
            said(&mut turn, &retry("overloaded")),
            ["warning tries again: overloaded"]
        );
        assert!(said(&mut turn, &retry("")).is_empty());
        assert_eq!(
            said(&mut turn, &retry("overloaded")),
            ["again tries again: overloaded"]
        );
        let stuck = AgentEvent::Stuck {
            tool: "Bash".to_owned(),
            times: 5,
        };
        assert_eq!(
            said(&mut turn, &stuck),
            ["warning has called Bash with the same input 5 times of late; it may be stuck"]
        );
        assert!(said(&mut turn, &stuck).is_empty());
    }

    #[test]
    fn tokens_are_those_of_the_last_reports() {
        let mut turn = Turn::new("coder");
        assert_eq!(turn.tokens(), None);
        let report = |id: Option<&str>, input| {
            let scope = UsageScope::Message {
                id: id.map(str::to_owned),
                is_partial: false,
            };
            let usage = Usage {
                input,
                output: 1,
                ..Usage::default()
            };
            AgentEvent::Usage(scope, usage)
        };
        turn.heed(&report(Some("a"), 5), Timestamp(0));
        turn.heed(&report(Some("a"), 9), Timestamp(0));
        turn.heed(&report(None, 9), Timestamp(0));
        assert_eq!(turn.tokens(), Some(20));
        for number in 0..1_000 {
            turn.heed(&report(Some(&number.to_string()), 0), Timestamp(0));
        }
        assert_eq!(turn.tokens(), Some(1_020));
        assert!(turn.tokens.messages.len() <= OPEN_MESSAGES);
        let whole = Usage {
            input: 7,
            ..Usage::default()
        };
        turn.heed(&AgentEvent::Usage(UsageScope::Turn, whole), Timestamp(0));
        assert_eq!(turn.tokens(), Some(7));
    }

    #[test]
    fn the_first_lines_of_an_output_are_told() {
        let mut turn = Turn::new("coder");
        let output = |text: &str, failed| {
            AgentEvent::ToolOutput(ToolOutput {
                id: None,
                text: text.to_owned(),
                failed,
            })
        };
        assert_eq!(
            said(&mut turn, &output("a\n\nb\nc\nd\n", false)),
            [
                "Everything got: a",
                "Everything got: b",
                "Everything got: c",
                "Everything got: … 1 more line"
            ]
        );
        assert_eq!(
            said(&mut turn, &output("", true)),
            ["Everything got an error"]
        );
        assert!(said(&mut turn, &output("", false)).is_empty());
    }

    #[test]
    fn a_limit_says_when_it_ends() {
        let at = |hint| {
            let limit = Limit {
                text: String::new(),
                reset: Some(hint),
            };
            resets_at(&limit, Timestamp(5_000)).map(|at| at.0)
        };
        assert_eq!(at(ResetHint::At(1_790_000_000)), Some(1_790_000_000_000));
        assert_eq!(
            at(ResetHint::At(1_790_000_000_000)),
            Some(1_790_000_000_000)
        );
        assert_eq!(
            at(ResetHint::In(std::time::Duration::from_secs(1))),
            Some(6_000)
        );
        assert_eq!(at(ResetHint::At(i64::MIN)), None);
    }
}
