//! What a failed turn means: a limit, an outage, or neither.
//!
//! Only a failed turn is judged, from what its CLI says of the failure: its record, else a limit that it met,
//! else the first line of standard error that is known. What the agent wrote, what its tools printed and notices
//! of retries never count. A limit is looked for before an outage.

mod reset;

mod scan;

mod table;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::harness::{
    AgentEvent, Baseline, Channel, Decoder, Exit, Failure, Harness, ResetHint, TurnResult,
    TurnState,
};

pub use reset::Reference;
pub use table::{Limits, Table, TableFault};

/// The longest text that a verdict repeats.
const SHOWN: usize = 2000;
/// How many lines of standard error are looked at, the last ones.
const STDERR_LINES: usize = 10_000;
/// What is said of a turn that was cut off while its CLI could not reach its provider.
/// The CLI's own words may name an address or a token.
const LOST_CONNECTION: &str = "the agent could not reach its provider";

/// How a turn is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What became of the turn.
    #[serde(serialize_with = "turn_name")]
    pub turn: TurnState,
    /// What its failure is; nothing for a turn that is done.
    pub category: Option<Category>,
    /// When a limit ends.
    #[serde(serialize_with = "rfc3339")]
    pub reset: Option<Timestamp>,
    /// The rule that said so: `claude.usage-limit`.
    pub rule: Option<String>,
    /// Where the text was found.
    pub channel: Option<Found>,
    /// The text.
    pub text: Option<String>,
}

/// What a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// The provider's limit: another agent may go on, or the same one later.
    Quota,
    /// The provider cannot be used now.
    Unavailable,
    /// The agent's own failure.
    Neither,
}

/// Where the text of a verdict was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Found {
    /// In the record with which the CLI ended the turn.
    Result,
    /// In a record of a limit.
    Limit,
    /// On standard error.
    Stderr,
    /// In an answer that is nothing but that text.
    Answer,
    /// In the notices of a CLI that could not connect.
    Connection,
    /// In the text that was given.
    Text,
}

/// Judges a turn.
pub fn turn(table: &Table, result: &TurnResult, stderr: &str, reference: &Reference) -> Verdict {
    let judge = Judge { table, reference };
    match result.turn {
        TurnState::Done => judge.verdict(TurnState::Done, None),
        TurnState::Unfinished => judge.unfinished(result),
        TurnState::Failed => judge.failed(result, stderr),
    }
}

/// Judges a recorded turn. Status 124 is that of a program which `timeout` has cut off.
pub fn recorded(harness: &dyn Harness, recording: &Recording, reference: &Reference) -> Verdict {
    let table = harness.limits();
    let mut decoder = Decoder::new(harness, table, Baseline::Nothing);
    for line in recording.stdout.split(|byte| *byte == b'\n') {
        decoder.line(line);
    }
    let stderr = String::from_utf8_lossy(recording.stderr);
    let result = decoder.finish(Exit::recorded(recording.status), &stderr);
    turn(table, &result, &stderr, reference)
}

/// What is left of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// Its standard output.
    pub stdout: &'a [u8],
    /// Its standard error.
    pub stderr: &'a [u8],
    /// Its exit status.
    pub status: i32,
}

/// Judges one failure text, or one record of a CLI's output, as if a turn had failed by it.
pub fn text(harness: &dyn Harness, text: &str, reference: &Reference) -> Verdict {
    let table = harness.limits();
    let judge = Judge { table, reference };
    let mut decoder = Decoder::new(harness, table, Baseline::Nothing);
    let mut failures = vec![Failure::text(text)];
    for event in decoder.line(text.as_bytes()) {
        match event {
            AgentEvent::Failed(failure) | AgentEvent::Error(failure) => failures.insert(0, failure),
            AgentEvent::Limit(limit) => return judge.limit(&limit.text, limit.reset, Found::Text),
            _ => {}
        }
    }
    let found = failures
        .iter()
        .find_map(|failure| judge.failure(failure, Found::Text));
    found.unwrap_or_else(|| judge.neither(TurnState::Failed, text, Found::Text))
}

/// What a turn is judged by.
struct Judge<'a> {
    table: &'a Table,
    reference: &'a Reference,
}

impl Judge<'_> {
    fn failed(&self, result: &TurnResult, stderr: &str) -> Verdict {
        let failure = result.failure.as_ref();
        let text = failure.map_or("", |failure| &failure.text);
        let found = match result.channel {
            Channel::Record => Found::Result,
            Channel::Answer => Found::Answer,
            Channel::Exit | Channel::ExitAfterFinish => {
                let mut verdict = self.neither(TurnState::Failed, text, Found::Result);
                verdict.channel = None;
                let is_explained = result.channel == Channel::Exit;
                let explained = || self.met(result).or_else(|| self.stderr(stderr));
                return if is_explained { explained() } else { None }.unwrap_or(verdict);
            }
        };
        let judged = failure.and_then(|failure| self.failure(failure, found));
        if let Some(mut verdict) = judged {
            // A limit that was met says exactly when it ends.
            let met = result.limit.as_ref().and_then(|limit| limit.reset);
            if verdict.category == Some(Category::Quota)
                && let Some(hint) = met
            {
                verdict.reset = reset::of_hint(hint, self.reference).or(verdict.reset);
            }
            return verdict;
        }
        self.met(result)
            .or_else(|| self.stderr(stderr))
            .unwrap_or_else(|| self.neither(TurnState::Failed, text, found))
    }

    /// The limit that the CLI met, if it met one.
    fn met(&self, result: &TurnResult) -> Option<Verdict> {
        let limit = result.limit.as_ref()?;
        Some(self.limit(&limit.text, limit.reset, Found::Limit))
    }

    fn unfinished(&self, result: &TurnResult) -> Verdict {
        let mut verdict = self.verdict(TurnState::Unfinished, Some(Category::Neither));
        if result.lost_connection {
            verdict.category = Some(Category::Unavailable);
            verdict.rule = Some(format!("{}.lost-connection", self.table.agent()));
            verdict.channel = Some(Found::Connection);
            verdict.text = Some(LOST_CONNECTION.to_owned());
        }
        verdict
    }

    /// What the table says of a failure; nothing if it says nothing.
    fn failure(&self, failure: &Failure, found: Found) -> Option<Verdict> {
        let matched = self.table.judge(failure)?;
        let mut verdict = self.neither(TurnState::Failed, &failure.text, found);
        verdict.category = Some(matched.category);
        verdict.rule = Some(matched.rule);
        if matched.category == Category::Quota {
            let hint = failure
                .reset
                .and_then(|hint| reset::of_hint(hint, self.reference));
            verdict.reset = hint.or_else(|| self.reset_in(&failure.text));
        }
        Some(verdict)
    }

    fn limit(&self, text: &str, hint: Option<ResetHint>, found: Found) -> Verdict {
        let mut verdict = self.neither(TurnState::Failed, text, found);
        verdict.category = Some(Category::Quota);
        verdict.rule = Some(format!("{}.limit-event", self.table.agent()));
        let hint = hint.and_then(|hint| reset::of_hint(hint, self.reference));
        verdict.reset = hint.or_else(|| self.reset_in(text));
        verdict
    }

    /// The first line that is known, notices of retries left out.
    fn stderr(&self, stderr: &str) -> Option<Verdict> {
        let lines = stderr.lines().rev().take(STDERR_LINES).collect::<Vec<_>>();
        let mut lines = lines
            .into_iter()
            .rev()
            .filter(|line| !self.table.is_retry(line));
        lines.find_map(|line| self.failure(&Failure::text(line), Found::Stderr))
    }

    fn neither(&self, turn: TurnState, text: &str, found: Found) -> Verdict {
        let mut verdict = self.verdict(turn, Some(Category::Neither));
        let text = text.trim();
        verdict.text = Some(text[..text.floor_char_boundary(SHOWN)].to_owned());
        verdict.channel = Some(found);
        verdict
    }

    fn verdict(&self, turn: TurnState, category: Option<Category>) -> Verdict {
        Verdict {
            turn,
            category,
            reset: None,
            rule: None,
            channel: None,
            text: None,
        }
    }

    fn reset_in(&self, text: &str) -> Option<Timestamp> {
        reset::in_text(text, self.table.resets(), self.reference)
    }
}

fn turn_name<S: Serializer>(turn: &TurnState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match turn {
        TurnState::Done => "done",
        TurnState::Failed => "failed",
        TurnState::Unfinished => "unfinished",
    })
}

fn rfc3339<S: Serializer>(reset: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match reset {
        Some(reset) => serializer.collect_str(reset),
        None => serializer.serialize_none(),
    }
}
