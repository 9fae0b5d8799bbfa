//! The report of a run (CLI.md): a fold of its events, of live runs and of journals alike.

use crate::clock::Timestamp;
use crate::event::{Event, EventKind, Handover, Phase, Reason, Status, TaskHead, TurnEnd, Usage};
use crate::fault::{Fault, FaultCode};
use crate::public::{json_of, reason_name};
use outpost_compiler::program::TaskId;
use outpost_stdlib::Value;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The version of the report.
const VERSION: u32 = 1;

/// A run, summarised.
#[derive(Clone, Debug, Default)]
pub struct RunRecord {
    /// The run.
    pub run: String,
    /// The workflow.
    pub workflow: String,
    /// The file that it was started from, relative to the project's root.
    pub file: String,
    /// Where it stands.
    pub status: RunStatus,
    /// The code of what went wrong.
    pub code: Option<FaultCode>,
    /// What went wrong.
    pub error: Option<Fault>,
    /// What it gave.
    pub output: Option<Value>,
    /// All inputs, by name.
    pub inputs: Vec<(String, Value)>,
    /// Its tasks, in the order of declaration.
    pub tasks: Vec<TaskRecord>,
    /// All tokens that were reported; `None` if none ever were.
    pub usage: Option<Usage>,
    /// When it was first started.
    pub started: Timestamp,
    /// When its last start ended.
    pub finished: Option<Timestamp>,
    /// Made when a key is first looked up.
    index: OnceLock<HashMap<String, TaskId>>,
}

/// Where a run stands; on disk it also may be interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunStatus {
    /// A process works on it.
    #[default]
    Running,
    /// No process does, and it has not ended.
    Interrupted,
    /// Its last start has ended.
    Ended(Status),
}

impl RunStatus {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Ended(status) => status.name(),
        }
    }
}

/// A task, summarised.
#[derive(Clone, Debug)]
pub struct TaskRecord {
    /// Its key.
    pub key: String,
    /// The keyword that declares it.
    pub kind: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// Attempts, counted across everything.
    pub attempts: u32,
    /// What its rounds and their phases were.
    pub rounds: Vec<RoundRecord>,
    /// Its value, if it is done.
    pub value: Option<Value>,
    /// Its fault, if it failed, is tried again or waits for a quota.
    pub error: Option<Box<Fault>>,
    /// Why it was skipped or cancelled; a key behind it names the dependency.
    pub reason: Option<(&'static str, Option<String>)>,
    /// Tokens that it reported.
    pub usage: Option<Box<Usage>>,
    /// What turns its agents took, in order.
    pub turns: Vec<TurnRecord>,
    /// Which members of fallback lists took over, in order.
    pub fallback: Vec<FallbackRecord>,
    /// When its first attempt was admitted.
    pub started: Option<Timestamp>,
    /// When it settled.
    pub finished: Option<Timestamp>,
}

/// Where a task stands (SEMANTICS R4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    /// It has not started.
    Waiting,
    /// An attempt runs, or the next is waited for.
    Active,
    /// It waits for a quota.
    Paused,
    /// It has ended.
    Settled(Status),
}

impl TaskStatus {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            TaskStatus::Waiting => "waiting",
            TaskStatus::Active => "active",
            TaskStatus::Paused => "paused",
            TaskStatus::Settled(status) => status.name(),
        }
    }
}

/// A turn of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnRecord {
    /// The step's path.
    pub step: String,
    /// The agent.
    pub agent: String,
    /// Its name of the conversation.
    pub conversation: Option<String>,
    /// Why it failed.
    pub error: Option<Fault>,
}

/// A hand-over to the next member of a fallback list.
#[derive(Clone, Debug, PartialEq)]
pub struct FallbackRecord {
    /// The step's path.
    pub step: String,
    /// Who stopped.
    pub from: String,
    /// Who took over.
    pub to: String,
    /// Why.
    pub failure: Handover,
}

/// One round of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundRecord {
    /// From 1.
    pub round: u64,
    /// `attempt`, `check` or `complete`.
    pub phase: &'static str,
    /// What the attempt produced.
    pub candidate: Option<Value>,
    /// Whether it was accepted, and if not why.
    pub verdict: Option<(bool, Option<String>)>,
}

impl RunRecord {
    /// The task of a key, as its place among the tasks.
    pub fn find(&self, key: &str) -> Option<TaskId> {
        let index = self.index.get_or_init(|| {
            let keys = self.tasks.iter().enumerate();
            keys.map(|(at, task)| (task.key.clone(), TaskId(at as u32)))
                .collect()
        });
        index.get(key).copied()
    }

    /// The record of a key.
    pub fn task(&self, key: &str) -> Option<&TaskRecord> {
        self.tasks.get(self.find(key)?.index())
    }

    /// Takes an event into account. Task ids are places among the tasks, which are those of the plan it runs with.
    pub fn apply(&mut self, event: &Event<TaskId>) {
        match &event.kind {
            EventKind::Started(started) => {
                self.run.clone_from(&started.run);
                self.workflow.clone_from(&started.workflow);
                self.file.clone_from(&started.file);
                self.inputs.clone_from(&started.inputs);
                self.started = event.at;
                self.declare(&started.tasks);
            }
            EventKind::Resumed(resumed) => {
                self.status = RunStatus::Running;
                self.code = None;
                self.error = None;
                self.finished = None;
                if let Some(tasks) = &resumed.tasks {
                    self.declare(tasks);
                }
                for task in &mut self.tasks {
                    if !matches!(task.status, TaskStatus::Settled(_) | TaskStatus::Paused) {
                        task.wait_anew();
                    }
                }
                for id in &resumed.renewed {
                    if let Some(task) = self.tasks.get_mut(id.index()) {
                        task.wait_anew();
                    }
                }
            }
            EventKind::CancelRequested { .. } | EventKind::TimedOut { .. } => {}
            EventKind::BudgetExceeded { .. } => {}
            EventKind::Finished {
                status,
                code,
                error,
                output,
            } => {
                self.status = RunStatus::Ended(*status);
                self.code = *code;
                self.error = error.as_deref().cloned();
                self.output = output.as_ref().map(|output| output.value());
                self.finished = Some(event.at);
            }
            EventKind::Admitted { .. }
            | EventKind::Evaluated { .. }
            | EventKind::StepDone { .. }
            | EventKind::Session { .. }
            | EventKind::Turn { .. }
            | EventKind::FellBack { .. }
            | EventKind::Candidate { .. }
            | EventKind::Verdict { .. }
            | EventKind::RetryScheduled { .. }
            | EventKind::QuotaPaused { .. }
            | EventKind::Usage { .. }
            | EventKind::Settled { .. }
            | EventKind::Launched(_)
            | EventKind::Stopping(_)
            | EventKind::Woke(_) => self.of_task(event),
        }
    }

    fn of_task(&mut self, event: &Event<TaskId>) {
        let Some(id) = event.kind.task() else {
            return;
        };
        let usage = match &event.kind {
            EventKind::Usage { usage, .. } => Some(usage.clone()),
            EventKind::Turn { turn, .. } => turn.usage_with(None),
            _ => None,
        };
        if let Some(usage) = usage {
            self.usage.get_or_insert_default().add(&usage);
        }
        let reason = match &event.kind {
            EventKind::Settled {
                reason: Some(reason),
                ..
            } => {
                let key = match reason {
                    Reason::Dependency(on) => {
                        self.tasks.get(on.index()).map(|task| task.key.clone())
                    }
                    Reason::When
                    | Reason::Trigger
                    | Reason::Stopped
                    | Reason::Interrupted
                    | Reason::RunTimeout
                    | Reason::Budget => None,
                };
                Some((reason_name(reason), key))
            }
            _ => None,
        };
        if let Some(task) = self.tasks.get_mut(id.index()) {
            task.apply(event, reason);
        }
    }

    /// Takes over how the tasks are declared; what is known of a task is kept under its key.
    pub(crate) fn declare(&mut self, heads: &[TaskHead]) {
        let before = std::mem::take(&mut self.tasks).into_iter();
        let mut known: HashMap<String, TaskRecord> =
            before.map(|task| (task.key.clone(), task)).collect();
        self.tasks = heads
            .iter()
            .map(|head| {
                known
                    .remove(&head.key)
                    .unwrap_or_else(|| TaskRecord::new(head))
            })
            .collect();
        self.index = OnceLock::new();
    }

    /// What the run waits for.
    pub fn waiting(&self) -> impl Iterator<Item = &TaskRecord> {
        self.tasks
            .iter()
            .filter(|task| task.status == TaskStatus::Paused)
    }
}

impl TaskRecord {
    fn new(head: &TaskHead) -> TaskRecord {
        TaskRecord {
            key: head.key.clone(),
            kind: head.kind.clone(),
            status: TaskStatus::Waiting,
            attempts: 0,
            rounds: Vec::new(),
            value: None,
            error: None,
            reason: None,
            usage: None,
            turns: Vec::new(),
            fallback: Vec::new(),
            started: None,
            finished: None,
        }
    }

    fn apply(&mut self, event: &Event<TaskId>, why: Option<(&'static str, Option<String>)>) {
        match &event.kind {
            EventKind::Admitted {
                attempt,
                round,
                phase,
                ..
            } => {
                self.status = TaskStatus::Active;
                self.attempts = *attempt;
                self.error = None;
                self.reason = None;
                self.finished = None;
                self.started.get_or_insert(event.at);
                if *round > 0 {
                    self.round(*round).phase = phase.name();
                }
            }
            EventKind::Evaluated { attempt, value, .. } => {
                self.status = TaskStatus::Settled(Status::Done);
                self.attempts = *attempt;
                self.value = Some(value.value());
                self.error = None;
                self.reason = None;
                self.started.get_or_insert(event.at);
                self.finished = Some(event.at);
            }
            EventKind::Candidate { round, value, .. } => {
                let record = self.round(*round);
                record.phase = Phase::Check.name();
                record.candidate = Some(value.value());
            }
            EventKind::Verdict {
                round,
                done,
                feedback,
                ..
            } => {
                let record = self.round(*round);
                record.phase = "complete";
                record.verdict = Some((*done, feedback.clone()));
            }
            EventKind::RetryScheduled { error, .. } => self.error = Some(error.clone()),
            EventKind::QuotaPaused { error, .. } => {
                self.status = TaskStatus::Paused;
                self.error = Some(error.clone());
            }
            EventKind::Usage { usage, .. } => self.usage.get_or_insert_default().add(usage),
            EventKind::Turn { turn, .. } => {
                if let Some(usage) = turn.usage_with(None) {
                    self.usage.get_or_insert_default().add(&usage);
                }
                self.turns.push(TurnRecord {
                    step: turn.step.clone(),
                    agent: turn.agent.clone(),
                    conversation: turn.conversation.clone(),
                    error: match &turn.end {
                        TurnEnd::Failed(error) | TurnEnd::Anew(error) => Some((**error).clone()),
                        TurnEnd::Answered(_) | TurnEnd::Again(_) | TurnEnd::Pass => None,
                    },
                });
            }
            EventKind::FellBack {
                step,
                from,
                to,
                failure,
                ..
            } => self.fallback.push(FallbackRecord {
                step: step.to_string(),
                from: from.to_string(),
                to: to.to_string(),
                failure: *failure,
            }),
            EventKind::Settled {
                status,
                value,
                error,
                ..
            } => {
                self.status = TaskStatus::Settled(*status);
                self.value = value.as_ref().map(|value| value.value());
                self.error.clone_from(error);
                self.reason = why;
                self.finished = Some(event.at);
            }
            EventKind::StepDone { .. }
            | EventKind::Session { .. }
            | EventKind::Started(_)
            | EventKind::Resumed(_)
            | EventKind::CancelRequested { .. }
            | EventKind::TimedOut { .. }
            | EventKind::BudgetExceeded { .. }
            | EventKind::Finished { .. }
            | EventKind::Launched(_)
            | EventKind::Stopping(_)
            | EventKind::Woke(_) => {}
        }
    }

    /// Another start goes on: what came of the last one does not count.
    fn wait_anew(&mut self) {
        self.status = TaskStatus::Waiting;
        self.value = None;
        self.error = None;
        self.reason = None;
        self.finished = None;
    }

    /// The record of a round: the last one, or a new one.
    fn round(&mut self, round: u64) -> &mut RoundRecord {
        if self.rounds.last().is_none_or(|last| last.round != round) {
            self.rounds.push(RoundRecord {
                round,
                phase: Phase::Attempt.name(),
                candidate: None,
                verdict: None,
            });
        }
        let last = self.rounds.len() - 1;
        &mut self.rounds[last]
    }
}

impl Serialize for RunRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &VERSION)?;
        map.serialize_entry("run", &self.run)?;
        map.serialize_entry("workflow", &self.workflow)?;
        map.serialize_entry("file", &self.file)?;
        map.serialize_entry("status", self.status.name())?;
        map.serialize_entry("code", &self.code)?;
        map.serialize_entry("error", &self.error)?;
        map.serialize_entry("output", &self.output.clone().unwrap_or_default())?;
        map.serialize_entry("started", &self.started.rfc3339())?;
        map.serialize_entry("finished", &self.finished.map(Timestamp::rfc3339))?;
        map.serialize_entry("tasks", &self.tasks)?;
        map.serialize_entry("usage", &self.usage)?;
        let waiting: Vec<_> = self
            .waiting()
            .map(|task| {
                let error = task.error.as_deref();
                let reset = error.and_then(|error| error.reset_at);
                json!({
                    "task": task.key,
                    "for": "quota",
                    "message": error.map(|error| &error.message),
                    "resetAt": reset.map(Timestamp::rfc3339),
                })
            })
            .collect();
        map.serialize_entry("waiting", &waiting)?;
        map.end()
    }
}

impl Serialize for TaskRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("key", &self.key)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("status", self.status.name())?;
        map.serialize_entry("attempts", &self.attempts)?;
        if self.kind == "loop" {
            map.serialize_entry("rounds", &self.rounds)?;
        }
        map.serialize_entry("value", &self.value.clone().unwrap_or_default())?;
        map.serialize_entry("error", &self.error)?;
        if let Some((reason, key)) = &self.reason {
            map.serialize_entry("reason", reason)?;
            if let Some(key) = key {
                map.serialize_entry("dependency", key)?;
            }
        }
        if let Some(usage) = &self.usage {
            map.serialize_entry("usage", usage)?;
        }
        if !self.turns.is_empty() {
            map.serialize_entry("turns", &self.turns)?;
        }
        if !self.fallback.is_empty() {
            map.serialize_entry("fallback", &self.fallback)?;
        }
        map.serialize_entry("started", &self.started.map(Timestamp::rfc3339))?;
        map.serialize_entry("finished", &self.finished.map(Timestamp::rfc3339))?;
        map.end()
    }
}

impl Serialize for TurnRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("step", &self.step)?;
        map.serialize_entry("agent", &self.agent)?;
        map.serialize_entry("conversation", &self.conversation)?;
        map.serialize_entry("error", &self.error)?;
        map.end()
    }
}

impl Serialize for FallbackRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("step", &self.step)?;
        map.serialize_entry("from", &self.from)?;
        map.serialize_entry("to", &self.to)?;
        map.serialize_entry("failure", self.failure.name())?;
        map.end()
    }
}

impl Serialize for RoundRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("round", &self.round)?;
        map.serialize_entry("phase", self.phase)?;
        map.serialize_entry("candidate", &self.candidate.as_ref().map(json_of))?;
        let verdict = self
            .verdict
            .as_ref()
            .map(|(done, feedback)| match feedback {
                Some(feedback) => json!({ "done": done, "feedback": feedback }),
                None => json!({ "done": done }),
            });
        map.serialize_entry("verdict", &verdict)?;
        map.end()
    }
}
