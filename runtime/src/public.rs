//! Public events (SEMANTICS O1): what a row tells people and programs.
//!
//! A pure function of one row, so that they can be derived again at any time.

use crate::clock::Timestamp;
use crate::event::{Event, EventKind, Payload, Phase, Reason, TurnEnd, Turned};
use outpost_stdlib::Value;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};

/// One public event.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicEvent {
    /// The run.
    pub run: String,
    /// The row's number; events of one row share it.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// `start`, `attempt`, `loop`, …
    pub kind: &'static str,
    /// The fields of its kind.
    pub fields: Vec<(&'static str, Json)>,
}

impl PublicEvent {
    /// A field.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let mut fields = self.fields.iter();
        fields.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

impl Serialize for PublicEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len() + 4))?;
        map.serialize_entry("run", &self.run)?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("at", &self.at.rfc3339())?;
        map.serialize_entry("kind", self.kind)?;
        for (key, value) in &self.fields {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

type Fields = Vec<(&'static str, Json)>;
/// A kind and its fields.
type Kind = (&'static str, Fields);

/// The events of a row.
pub fn of<T: AsRef<str>>(run: &str, row: &Event<T>) -> Vec<PublicEvent> {
    let (first, second) = kinds(&row.kind);
    let event = |(kind, fields): Kind| PublicEvent {
        run: run.to_owned(),
        seq: row.seq,
        at: row.at,
        kind,
        fields,
    };
    first.into_iter().chain(second).map(event).collect()
}

fn kinds<T: AsRef<str>>(kind: &EventKind<T>) -> (Option<Kind>, Option<Kind>) {
    match kind {
        EventKind::Started(started) => {
            let inputs = started.inputs.iter();
            let inputs: serde_json::Map<String, Json> = inputs
                .map(|(name, value)| (name.clone(), json_of(value)))
                .collect();
            let fields = vec![
                ("workflow", json!(started.workflow)),
                ("file", json!(started.file)),
                ("inputs", Json::Object(inputs)),
                ("tasks", json!(started.tasks.len())),
                ("outpostc", json!(started.outpostc)),
            ];
            (Some(("start", fields)), None)
        }
        EventKind::Resumed(resumed) => {
            let rerun: Vec<&str> = resumed.rerun.iter().map(AsRef::as_ref).collect();
            let fields = vec![
                ("retryIncomplete", json!(resumed.retry_incomplete)),
                ("rerun", json!(rerun)),
                ("outpostc", json!(resumed.outpostc)),
            ];
            (Some(("resume", fields)), None)
        }
        EventKind::Admitted {
            task,
            attempt,
            round,
            phase,
        } => {
            let mut fields = vec![("task", json!(task.as_ref())), ("attempt", json!(attempt))];
            if *round == 0 {
                return (Some(("attempt", fields)), None);
            }
            fields.push(("round", json!(round)));
            fields.push(("phase", json!(phase.name())));
            let of_loop = looped(task, *round, phase.name(), Vec::new());
            (Some(("attempt", fields)), Some(of_loop))
        }
        EventKind::Evaluated {
            task,
            attempt,
            value,
        } => {
            let task = task.as_ref();
            let first = vec![("task", json!(task)), ("attempt", json!(attempt))];
            let second = vec![
                ("task", json!(task)),
                ("status", json!("done")),
                ("value", payload(value)),
            ];
            (Some(("attempt", first)), Some(("task", second)))
        }
        EventKind::Session {
            task,
            step,
            agent,
            conversation,
            ..
        } => {
            let fields = vec![
                ("task", json!(task.as_ref())),
                ("step", json!(step)),
                ("agent", json!(agent)),
                ("did", json!("began")),
                ("conversation", json!(conversation)),
            ];
            (Some(("agent", fields)), None)
        }
        EventKind::Turn { task, turn } => turned(task.as_ref(), turn),
        EventKind::FellBack {
            task,
            step,
            from,
            to,
            failure,
            error,
        } => {
            let fields = vec![
                ("task", json!(task.as_ref())),
                ("step", json!(step)),
                ("from", json!(from)),
                ("to", json!(to)),
                ("failure", json!(failure.name())),
                ("message", json!(error.message)),
                ("resetAt", json!(error.reset_at.map(Timestamp::rfc3339))),
            ];
            (Some(("fallback", fields)), None)
        }
        EventKind::StepDone {
            task, step, value, ..
        } => {
            let fields = vec![
                ("task", json!(task.as_ref())),
                ("step", json!(step)),
                ("value", payload(value)),
            ];
            (Some(("step", fields)), None)
        }
        EventKind::Candidate { task, round, value } => {
            let more = vec![("candidate", payload(value))];
            (Some(looped(task, *round, Phase::Check.name(), more)), None)
        }
        EventKind::Verdict {
            task,
            round,
            done,
            feedback,
            stalled,
        } => {
            let mut more = vec![("done", json!(done))];
            if let Some(feedback) = feedback {
                more.push(("feedback", json!(feedback)));
            }
            let stall = (*stalled > 0).then(|| {
                let fields = vec![
                    ("task", json!(task.as_ref())),
                    ("round", json!(round)),
                    ("rounds", json!(stalled)),
                ];
                ("stalled", fields)
            });
            (Some(looped(task, *round, "complete", more)), stall)
        }
        EventKind::RetryScheduled {
            task,
            attempt,
            error,
            wait_ms,
        } => {
            let fields = vec![
                ("task", json!(task.as_ref())),
                ("attempt", json!(attempt)),
                ("error", json!(error)),
                ("waitMs", json!(wait_ms)),
            ];
            (Some(("retry", fields)), None)
        }
        EventKind::QuotaPaused {
            task,
            attempt,
            error,
            ..
        } => {
            let fields = vec![
                ("task", json!(task.as_ref())),
                ("attempt", json!(attempt)),
                ("message", json!(error.message)),
                ("resetAt", json!(error.reset_at.map(Timestamp::rfc3339))),
            ];
            (Some(("quota", fields)), None)
        }
        EventKind::Usage {
            task,
            attempt,
            receipt,
            usage,
        } => {
            let fields = vec![
                ("task", json!(task.as_ref())),
                ("attempt", json!(attempt)),
                ("receipt", json!(receipt)),
                ("usage", json!(usage)),
            ];
            (Some(("usage", fields)), None)
        }
        EventKind::Settled {
            task,
            status,
            value,
            error,
            reason,
        } => {
            let mut fields = vec![
                ("task", json!(task.as_ref())),
                ("status", json!(status.name())),
            ];
            if let Some(value) = value {
                fields.push(("value", payload(value)));
            }
            if let Some(error) = error {
                fields.push(("error", json!(error)));
            }
            if let Some(reason) = reason {
                fields.push(("reason", json!(reason_name(reason))));
                if let Reason::Dependency(on) = reason {
                    fields.push(("dependency", json!(on.as_ref())));
                }
            }
            (Some(("task", fields)), None)
        }
        EventKind::CancelRequested { by } => (Some(("stop", vec![("reason", json!(by))])), None),
        EventKind::TimedOut { task } => {
            let mut fields = vec![("reason", json!("timeout"))];
            if let Some(task) = task {
                fields.push(("task", json!(task.as_ref())));
            }
            (Some(("stop", fields)), None)
        }
        EventKind::BudgetExceeded { task, message, .. } => {
            let fields = vec![("task", json!(task.as_ref())), ("message", json!(message))];
            (Some(("budget-exceeded", fields)), None)
        }
        EventKind::Finished {
            status,
            code,
            error,
            output,
        } => {
            let mut fields = vec![("status", json!(status.name())), ("code", json!(code))];
            if let Some(error) = error {
                fields.push(("error", json!(error)));
            }
            if let Some(output) = output {
                fields.push(("output", payload(output)));
            }
            (Some(("finish", fields)), None)
        }
        EventKind::Launched(_) | EventKind::Stopping(_) | EventKind::Woke(_) => (None, None),
    }
}

/// The turn itself, and the step's result if it gave that.
fn turned(task: &str, turn: &Turned) -> (Option<Kind>, Option<Kind>) {
    let (did, value, message) = match &turn.end {
        TurnEnd::Answered(value) => ("answered", Some(value), None),
        TurnEnd::Pass => ("answered", None, None),
        TurnEnd::Again(problem) => ("answered", None, Some(problem.as_str())),
        TurnEnd::Anew(error) => ("forgot", None, Some(error.message.as_str())),
        TurnEnd::Failed(error) => ("failed", None, Some(error.message.as_str())),
    };
    let mut fields = vec![
        ("task", json!(task)),
        ("step", json!(turn.step)),
        ("agent", json!(turn.agent)),
        ("did", json!(did)),
    ];
    if (turn.pass, turn.repair) != (0, 0) {
        fields.push(("pass", json!(turn.pass + 1)));
        fields.push(("repair", json!(turn.repair)));
    }
    if let Some(message) = message {
        fields.push(("message", json!(message)));
    }
    if let TurnEnd::Failed(error) = &turn.end {
        fields.push(("code", json!(error.code)));
        fields.push(("resetAt", json!(error.reset_at.map(Timestamp::rfc3339))));
    }
    if let Some(conversation) = &turn.conversation {
        fields.push(("conversation", json!(conversation)));
    }
    fields.push(("usage", json!(turn.usage)));
    let step = value.map(|value| {
        let fields = vec![
            ("task", json!(task)),
            ("step", json!(turn.step)),
            ("value", payload(value)),
        ];
        ("step", fields)
    });
    (Some(("agent", fields)), step)
}

fn looped<T: AsRef<str>>(
    task: &T,
    round: u64,
    phase: &str,
    more: Fields,
) -> (&'static str, Fields) {
    let mut fields = vec![
        ("task", json!(task.as_ref())),
        ("round", json!(round)),
        ("phase", json!(phase)),
    ];
    fields.extend(more);
    ("loop", fields)
}

/// The word for a reason.
pub fn reason_name<T>(reason: &Reason<T>) -> &'static str {
    match reason {
        Reason::When => "when",
        Reason::Dependency(_) => "dependency",
        Reason::Trigger => "trigger",
        Reason::Stopped => "stopped",
        Reason::Interrupted => "interrupted",
        Reason::RunTimeout => "run-timeout",
        Reason::Budget => "budget",
    }
}

/// A value as a JSON value of the reports.
pub fn json_of(value: &Value) -> Json {
    serde_json::to_value(value).unwrap_or(Json::Null)
}

fn payload(payload: &Payload) -> Json {
    match payload {
        Payload::Json(value) => json_of(value),
        Payload::Sha256(digest) => json!({ "sha256": digest }),
    }
}
