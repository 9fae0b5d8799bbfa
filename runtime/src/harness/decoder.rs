//! From the lines of a CLI to the result of its turn.

use std::collections::HashMap;
use std::mem;

use super::conversation::Conversation;
use super::event::{AgentEvent, Failure, Limit, UsageScope};
use super::record::Record;
use super::{Finish, Harness};
use crate::classify::Table;
use crate::event::Usage;
use crate::process::{Ended, Flood, LINE_LIMIT, signal_name};

/// How much of the raw output is kept, for answers of CLIs that print nothing else.
const TAIL: usize = 64 * 1024;
/// The longest answer.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;
/// The longest text of an error that goes over several lines.
const LONGEST_ERROR: usize = 4 * 1024;
/// The longest output that may be nothing but an error message.
const LONGEST_PLAIN_ERROR: usize = 2 * 1024;
/// How many messages' tokens may still be replaced by a later report.
const OPEN_MESSAGES: usize = 4096;
/// The exit status with which `timeout` says that it has cut a program off.
const TIMEOUT_STATUS: i32 = 124;

/// How the process of a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this status.
    Status(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// We stopped it: a deadline, silence, a cancel.
    Stopped,
    /// We stopped it for what it printed.
    Flooded(Flood),
}

impl Exit {
    /// The end of a process that was started; nothing for one that was not.
    pub fn of(ended: &Ended) -> Option<Exit> {
        match ended {
            Ended::Exited(status) => Some(Exit::Status(*status)),
            Ended::Signalled(signal) => Some(Exit::Signal(*signal)),
            Ended::Idle | Ended::Stopped => Some(Exit::Stopped),
            Ended::Flooded(flood) => Some(Exit::Flooded(*flood)),
            Ended::NotFound { .. } | Ended::NotExecutable { .. } | Ended::NoDirectory { .. } => {
                None
            }
        }
    }

    /// The end of a recorded turn.
    pub fn recorded(status: i32) -> Exit {
        match status {
            TIMEOUT_STATUS => Exit::Stopped,
            other => Exit::Status(other),
        }
    }
}

/// What was used in a conversation before this turn, where a CLI reports nothing but totals.
#[derive(Clone, Debug, PartialEq)]
pub enum Baseline {
    /// The conversation is new.
    Nothing,
    /// This much.
    Total(Usage),
    /// Not known: of the total, nothing can be said to be of this turn.
    Unknown,
}

/// What became of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnState {
    /// It has ended well. Whether its task is done is another question.
    Done,
    /// It has failed.
    Failed,
    /// It was cut off while it still went on.
    Unfinished,
}

/// Who says that a turn failed, and so whether its text can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The CLI, in a record of its stream.
    Record,
    /// The CLI, in an output that is nothing but that text.
    Answer,
    /// Nobody but the exit: the text is ours.
    Exit,
    /// Nobody but the exit, after the CLI had said that all was well: nothing that it printed explains it.
    ExitAfterFinish,
}

/// The result of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnResult {
    /// What became of it.
    pub turn: TurnState,
    /// The answer, or what there is of one.
    pub text: String,
    /// Tokens of this turn; nothing if nothing was reported.
    pub usage: Option<Usage>,
    /// Tokens of the whole conversation, where the CLI reports them: the baseline of the next turn.
    pub total: Option<Usage>,
    /// The conversation, if it can be named.
    pub conversation: Option<Conversation>,
    /// The model, if the CLI named one.
    pub model: Option<String>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// Who says so.
    pub channel: Channel,
    /// The last limit that the CLI met.
    pub limit: Option<Limit>,
    /// The last thing that went wrong was that no connection could be made.
    pub lost_connection: bool,
    /// It has said something or called a tool.
    pub has_worked: bool,
}

/// Reads the standard output of one turn, line by line.
pub struct Decoder<'h> {
    harness: &'h dyn Harness,
    table: &'h Table,
    baseline: Baseline,
    /// A record was understood.
    is_structured: bool,
    tail: Vec<u8>,
    text: String,
    /// A whole message stands at the end of `text`.
    has_message: bool,
    answer: Option<String>,
    is_finished: bool,
    /// The CLI's last word is that the turn failed.
    failed: Option<Failure>,
    error: Option<Failure>,
    /// `error` came as plain text, which goes on in the next lines.
    is_error_open: bool,
    limit: Option<Limit>,
    lost_connection: bool,
    has_retried: bool,
    has_tools: bool,
    conversation: Option<Conversation>,
    model: Option<String>,
    tokens: Tokens,
    too_long: bool,
}

/// Reported tokens.
#[derive(Clone, Default)]
struct Tokens {
    messages: HashMap<String, Usage>,
    /// Messages that no later report replaces.
    settled: Usage,
    has_messages: bool,
    has_partial: bool,
    turn: Option<Usage>,
    total: Option<Usage>,
}

impl<'h> Decoder<'h> {
    /// A decoder for one turn. The table is the harness's own, or that with what a file adds.
    pub fn new(harness: &'h dyn Harness, table: &'h Table, baseline: Baseline) -> Decoder<'h> {
        Decoder {
            harness,
            table,
            baseline,
            is_structured: false,
            tail: Vec::new(),
            text: String::new(),
            has_message: false,
            answer: None,
            is_finished: false,
            failed: None,
            error: None,
            is_error_open: false,
            limit: None,
            lost_connection: false,
            has_retried: false,
            has_tools: false,
            conversation: None,
            model: None,
            tokens: Tokens::default(),
            too_long: false,
        }
    }

    /// Reads a line, without its newline. Nothing that is printed makes this fail, but for a line without end.
    pub fn line(&mut self, bytes: &[u8]) -> Vec<AgentEvent> {
        if bytes.len() as u64 > LINE_LIMIT {
            self.too_long = true;
            return vec![AgentEvent::Failed(too_long(LINE_LIMIT))];
        }
        self.keep(bytes);
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches('\r');
        if line.trim().is_empty() {
            return Vec::new();
        }
        let record = match self.harness.has_records() {
            true => Record::parse(line),
            false => None,
        };
        let conversation = self.conversation.as_ref().map(Conversation::as_str);
        let mut events = match &record {
            Some(record) => self.harness.read(record, conversation),
            None => self.harness.read_text(line),
        };
        self.is_structured |= record.is_some() && !events.is_empty();
        if events.is_empty() {
            events.push(AgentEvent::Raw(line.to_owned()));
        }
        for event in &events {
            self.apply(event, record.is_none());
        }
        events
    }

    /// The tokens that the turn has used so far, as far as the CLI tells them while it runs.
    pub fn so_far(&self) -> Option<Usage> {
        let (mut usage, _) = self.tokens.clone().conclude(&self.baseline, true);
        if let Some(usage) = &mut usage {
            usage.model = self.model.clone();
        }
        usage
    }

    /// What became of the turn, once its process and all that it printed are at their end.
    pub fn finish(mut self, exit: Exit, stderr: &str) -> TurnResult {
        self.heed_notices_of(stderr);
        let (turn, failure, channel) = self.conclude(&exit);
        let is_done = turn == TurnState::Done;
        let (mut usage, total) = mem::take(&mut self.tokens).conclude(&self.baseline, is_done);
        if let Some(usage) = &mut usage {
            usage.model = self.model.clone();
        }
        let has_worked = self.has_tools || !self.text.trim().is_empty();
        let text = self.take_text();
        let mut result = TurnResult {
            has_worked,
            turn,
            text,
            usage,
            total,
            conversation: self.conversation,
            model: self.model,
            failure,
            channel,
            limit: self.limit,
            lost_connection: self.lost_connection,
        };
        let is_idle =
            !self.has_tools && result.usage.as_ref().is_none_or(|usage| usage.output == 0);
        if is_done && is_idle && self.table.is_notice(&result.text) {
            // A limit notice as the whole answer, and no work done.
            result.turn = TurnState::Failed;
            result.failure = Some(Failure::text(result.text.trim()));
            result.channel = Channel::Answer;
        }
        result
    }

    fn apply(&mut self, event: &AgentEvent, is_text: bool) {
        let goes_on = matches!(event, AgentEvent::Raw(_));
        match event {
            AgentEvent::Text(text) => {
                if self.has_message && !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.push("\n");
                }
                self.push(text);
                self.has_message = true;
                self.lost_connection = false;
            }
            AgentEvent::TextPiece(piece) => {
                self.push(piece);
                self.has_message = false;
                self.lost_connection = false;
            }
            AgentEvent::Tool(_) => {
                self.has_tools = true;
                self.lost_connection = false;
            }
            AgentEvent::Preview(_) | AgentEvent::Thinking(_) | AgentEvent::ToolOutput(_) => {
                self.lost_connection = false;
            }
            AgentEvent::Usage(scope, usage) => self.tokens.take(scope, usage),
            AgentEvent::Conversation(id) => {
                if let Ok(conversation) = Conversation::parse(id) {
                    self.conversation = Some(conversation);
                }
            }
            AgentEvent::Model(model) => self.model = Some(model.clone()),
            AgentEvent::Retry(retry) => {
                self.has_retried = true;
                self.error = None;
                self.lost_connection = retry.is_connection
                    || self.table.is_connection(&retry.text)
                    || (self.lost_connection && retry.text.is_empty());
            }
            AgentEvent::Notice(_) | AgentEvent::Stuck { .. } => {}
            AgentEvent::Limit(limit) => {
                // A CLI may tell of one limit twice, and only once of its end.
                let known = self.limit.take().and_then(|limit| limit.reset);
                self.limit = Some(Limit {
                    reset: limit.reset.or(known),
                    ..limit.clone()
                });
            }
            AgentEvent::Error(failure) => {
                self.lost_connection = self.is_connection(failure);
                self.error = Some(failure.clone());
                self.is_error_open = is_text;
            }
            AgentEvent::Failed(failure) => {
                let failure = self.explained(failure);
                self.lost_connection = self.is_connection(&failure);
                self.failed = Some(failure);
                self.is_finished = false;
            }
            AgentEvent::Answer(text) => {
                let end = text.floor_char_boundary(LONGEST_ANSWER);
                self.answer = Some(text[..end].to_owned());
            }
            AgentEvent::Finished => {
                self.is_finished = true;
                self.failed = None;
                self.error = None;
            }
            AgentEvent::Raw(line) => self.lengthen_error(line),
        }
        if !goes_on && !matches!(event, AgentEvent::Error(_)) {
            self.is_error_open = false;
        }
    }

    /// A failure without words is why the last error was.
    fn explained(&self, failure: &Failure) -> Failure {
        let mut whole = failure.clone();
        if let Some(error) = &self.error {
            if whole.text.trim().is_empty() {
                whole.text = error.text.clone();
            }
            let types = error
                .types
                .iter()
                .filter(|kind| !failure.types.contains(kind));
            whole.types.extend(types.cloned());
            whole.status = whole.status.or(error.status);
            whole.reset = whole.reset.or(error.reset);
            whole.is_connection |= error.is_connection;
        }
        whole
    }

    fn is_connection(&self, failure: &Failure) -> bool {
        failure.is_connection || self.table.is_connection(&failure.text)
    }

    fn lengthen_error(&mut self, line: &str) {
        if let Some(error) = &mut self.error
            && self.is_error_open
            && error.text.len() + line.len() < LONGEST_ERROR
        {
            error.text.push(' ');
            error.text.push_str(line.trim());
        }
    }

    /// CLIs that tell of their retries on standard error only.
    fn heed_notices_of(&mut self, stderr: &str) {
        let mut notices = stderr.lines().filter(|line| self.table.is_retry(line));
        if let Some(last) = notices.next_back()
            && !self.has_retried
            && self.text.is_empty()
        {
            self.lost_connection = self.table.is_connection(last);
        }
    }

    fn conclude(&mut self, exit: &Exit) -> (TurnState, Option<Failure>, Channel) {
        let failed = |failure| (TurnState::Failed, Some(failure), Channel::Exit);
        if self.too_long {
            return failed(too_long(LINE_LIMIT));
        }
        if let Some(failure) = self.failed.take() {
            return (TurnState::Failed, Some(failure), Channel::Record);
        }
        match exit {
            Exit::Stopped => (TurnState::Unfinished, None, Channel::Exit),
            Exit::Flooded(Flood::Line(limit)) => failed(too_long(*limit)),
            Exit::Flooded(Flood::Lines(limit)) => failed(Failure::text(format!(
                "the agent printed more than {limit} lines"
            ))),
            Exit::Signal(signal) => failed(Failure::text(format!(
                "the agent was killed by {}",
                signal_name(*signal)
            ))),
            Exit::Status(0) if self.is_finished => (TurnState::Done, None, Channel::Exit),
            Exit::Status(0) => self.conclude_without_finish(),
            Exit::Status(status) => {
                if let Some(error) = self.error.take() {
                    return (TurnState::Failed, Some(error), Channel::Record);
                }
                if let Some(text) = self.plain_error() {
                    return (
                        TurnState::Failed,
                        Some(Failure::text(text)),
                        Channel::Answer,
                    );
                }
                let text = format!("the agent ended with status {status}");
                let (turn, failure, channel) = failed(Failure::text(text));
                match self.is_finished {
                    true => (turn, failure, Channel::ExitAfterFinish),
                    false => (turn, failure, channel),
                }
            }
        }
    }

    /// Status 0, and no record that says how the turn ended.
    fn conclude_without_finish(&mut self) -> (TurnState, Option<Failure>, Channel) {
        if let Some(error) = self.error.take() {
            return (TurnState::Failed, Some(error), Channel::Record);
        }
        let has_text = !self.text.trim().is_empty();
        let has_plain =
            !self.is_structured && self.tail.iter().any(|byte| !byte.is_ascii_whitespace());
        let is_done = match self.harness.capabilities().finish {
            Finish::Required => false,
            Finish::Optional => has_text || has_plain || self.answer.is_some(),
        };
        if is_done {
            return (TurnState::Done, None, Channel::Exit);
        }
        let text = "the agent ended without saying that its turn has finished";
        (TurnState::Failed, Some(Failure::text(text)), Channel::Exit)
    }

    /// The whole output, where it is short and holds no record at all.
    fn plain_error(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.tail);
        let text = text.trim();
        let is_plain = !self.is_structured && !text.is_empty() && text.len() <= LONGEST_PLAIN_ERROR;
        is_plain.then(|| text.to_owned())
    }

    /// The last answer, else all messages, else the end of the raw output.
    fn take_text(&mut self) -> String {
        if let Some(answer) = self.answer.take() {
            return answer;
        }
        if !self.text.is_empty() {
            return mem::take(&mut self.text);
        }
        if self.is_structured {
            return String::new();
        }
        String::from_utf8_lossy(&self.tail)
            .trim_end_matches('\n')
            .to_owned()
    }

    fn push(&mut self, text: &str) {
        let room = LONGEST_ANSWER.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(TAIL)..];
        self.tail.extend_from_slice(bytes);
        self.tail.push(b'\n');
        // Cut rarely, so that each byte is moved once at most on average.
        if self.tail.len() > 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }
}

impl Tokens {
    fn take(&mut self, scope: &UsageScope, usage: &Usage) {
        match scope {
            UsageScope::Message { id, is_partial } => {
                self.has_messages = true;
                self.has_partial |= is_partial;
                match id {
                    Some(id) => {
                        self.messages.insert(id.clone(), usage.clone());
                    }
                    None => self.settled.add(usage),
                }
                if self.messages.len() >= OPEN_MESSAGES {
                    self.settle();
                }
            }
            UsageScope::Turn => self.turn = Some(usage.clone()),
            UsageScope::Conversation => self.total = Some(usage.clone()),
        }
    }

    fn settle(&mut self) {
        for (_, usage) in self.messages.drain() {
            self.settled.add(&usage);
        }
    }

    /// The tokens of the turn, and those of the conversation.
    fn conclude(mut self, baseline: &Baseline, is_done: bool) -> (Option<Usage>, Option<Usage>) {
        self.settle();
        let lower_bound = |mut usage: Usage| {
            usage.complete = Some(false);
            usage
        };
        if let Some(total) = &self.total {
            let usage = match baseline {
                Baseline::Nothing => total.clone(),
                Baseline::Total(earlier) => since(total, earlier),
                Baseline::Unknown => lower_bound(self.settled),
            };
            return (Some(usage), self.total);
        }
        let usage = match self.turn {
            // A turn that was broken off may be counted in its messages alone.
            Some(turn) if is_nothing(&turn) && !is_nothing(&self.settled) => {
                lower_bound(self.settled)
            }
            Some(turn) => turn,
            None if !self.has_messages => return (None, None),
            None if is_done && !self.has_partial => self.settled,
            None => lower_bound(self.settled),
        };
        (Some(usage), None)
    }
}

fn too_long(limit: u64) -> Failure {
    Failure::text(format!(
        "the agent printed a line of more than {limit} bytes"
    ))
}

/// Whether no token was counted.
fn is_nothing(usage: &Usage) -> bool {
    let counts = [
        Some(usage.input),
        Some(usage.output),
        usage.cached,
        usage.cache_created,
    ];
    counts.into_iter().all(|count| count.unwrap_or(0) == 0)
}

/// What was used since an earlier total. Where a counter has gone back, the earlier total was another's.
fn since(total: &Usage, earlier: &Usage) -> Usage {
    let part =
        |now: Option<u64>, then: Option<u64>| now.map(|now| now.saturating_sub(then.unwrap_or(0)));
    let has_gone_back = total.input < earlier.input
        || total.output < earlier.output
        || total.cached.unwrap_or(0) < earlier.cached.unwrap_or(0);
    Usage {
        input: total.input.saturating_sub(earlier.input),
        output: total.output.saturating_sub(earlier.output),
        cached: part(total.cached, earlier.cached),
        cache_created: part(total.cache_created, earlier.cache_created),
        complete: if has_gone_back {
            Some(false)
        } else {
            total.complete
        },
        model: total.model.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, cached: u64, output: u64) -> Usage {
        Usage {
            input,
            output,
            cached: Some(cached),
            ..Usage::default()
        }
    }

    #[test]
    fn totals_are_differenced_and_a_counter_that_goes_back_is_told() {
        let earlier = usage(1200, 300, 25);
        assert_eq!(since(&usage(2400, 600, 50), &earlier), usage(1200, 300, 25));
        let back = since(&usage(100, 0, 50), &earlier);
        assert_eq!(
            (back.input, back.output, back.complete),
            (0, 25, Some(false))
        );
    }
}
