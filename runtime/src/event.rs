//! What happens in a run: the journal's own events.
//!
//! In memory a task is its id, on disk its key; [`EventKind`] is generic over that and nothing else.
//! Rows are compact JSON with a version in the journal's header.
//! What people and programs see is derived from a row in `public`.

use crate::clock::Timestamp;
use crate::fault::{Fault, FaultCode};
use outpost_compiler::parts::PlanRecord;
use outpost_stdlib::Value;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of the rows. A newer outpostc reads every older one (SEMANTICS J8).
pub const FORMAT: u32 = 2;

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event<T> {
    /// Its place in the journal, from 1.
    pub seq: u64,
    /// When, by the wall clock; never earlier than the event before it.
    pub at: Timestamp,
    /// When, by the monotonic clock of this process; not on disk.
    pub mono: Duration,
    /// What.
    pub kind: EventKind<T>,
}

/// A row's body as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct Body<T> {
    /// [`Event::at`].
    pub at: Timestamp,
    /// [`Event::kind`].
    pub event: EventKind<T>,
}

/// Which half of a round, or the only phase of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Produces the candidate or the value.
    #[default]
    Attempt,
    /// Judges the candidate.
    Check,
}

impl Phase {
    /// As scripts and idempotency keys spell it.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Attempt => "attempt",
            Phase::Check => "check",
        }
    }
}

/// How a task or a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// With a value.
    Done,
    /// With a fault.
    Failed,
    /// It never ran: its condition, a dependency or its trigger said so. Tasks only.
    Skipped,
    /// It was stopped, or the run was before it could start.
    Cancelled,
    /// A person said no.
    Rejected,
    /// It waits for a quota or a gate.
    Paused,
    /// It waits for an answer.
    WaitingInput,
}

impl Status {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
            Status::Cancelled => "cancelled",
            Status::Rejected => "rejected",
            Status::Paused => "paused",
            Status::WaitingInput => "waiting-input",
        }
    }
}

/// Why a task ended without having failed or succeeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason<T> {
    /// Its `when` was false.
    When,
    /// A dependency did not end well.
    Dependency(T),
    /// None of its dependencies failed, as `trigger: failure` asks.
    Trigger,
    /// Another task failed and `onError` is `stop`.
    Stopped,
    /// The run was interrupted.
    Interrupted,
    /// The run's time was up.
    RunTimeout,
    /// The budget was spent.
    Budget,
}

/// Who asked for an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interrupt {
    /// Ctrl-C.
    Interrupt,
    /// A request to terminate.
    Terminate,
}

/// A value in a row: as it is, or by its digest where it is large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Payload {
    /// The value.
    Json(Value),
    /// A file beside the journal, named by the SHA-256 of what it holds.
    Sha256(String),
}

impl Payload {
    /// The value; null for one that is only named.
    pub fn value(&self) -> Value {
        match self {
            Payload::Json(value) => value.clone(),
            Payload::Sha256(_) => Value::Null,
        }
    }
}

/// The record of a plan in a row: as it is, or by its digest where it is large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanPayload {
    /// The record.
    Json(PlanRecord),
    /// A file beside the journal.
    Sha256(String),
}

/// A source that a run was started from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceDigest {
    /// Relative to the project's root; `std.checks` for the library.
    pub name: String,
    /// Of its text.
    pub sha256: String,
}

/// A task as it was declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskHead {
    /// Its key.
    pub key: String,
    /// The keyword that declares it.
    pub kind: String,
}

/// What a run was started with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// The run.
    pub run: String,
    /// The file, relative to the project's root.
    pub file: String,
    /// The workflow.
    pub workflow: String,
    /// The version of outpostc.
    pub outpostc: String,
    /// All inputs, defaults filled in, in the order of declaration.
    pub inputs: Vec<(String, Value)>,
    /// All sources.
    pub sources: Vec<SourceDigest>,
    /// How many attempts run at once.
    pub concurrency: u32,
    /// The budget of attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_attempts: Option<u64>,
    /// All tasks, in the order of declaration.
    pub tasks: Vec<TaskHead>,
    /// The plan part by part, as values, to compare with later.
    pub plan: PlanPayload,
}

/// How a run is continued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct Resumed<T> {
    /// The version of outpostc.
    pub outpostc: String,
    /// Whether what was live, failed or cancelled runs again.
    pub retry_incomplete: bool,
    /// Settled tasks that wait anew; those that had not settled do so in any case.
    pub renewed: Vec<T>,
    /// Those of them that are done, and begin from scratch.
    pub rerun: Vec<T>,
    /// Tasks whose body is another one now: their finished steps do not count.
    pub changed: Vec<T>,
    /// Tasks whose sandbox is not as their finished steps left it: those do not count, either (SEMANTICS L7).
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<T>,
    /// The tasks as they are declared now, if that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<TaskHead>>,
    /// Concurrency and budget as they are now, if one of them changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyNow>,
    /// The plan as it is now, if that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanPayload>,
}

/// What a file says of a run's policy, where that changed (SEMANTICS J6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyNow {
    /// How many attempts run at once.
    pub concurrency: u32,
    /// The budget of attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_attempts: Option<u64>,
}

/// Tokens that an action reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Tokens written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_created: Option<u64>,
    /// Whether it is all there was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Usage {
    /// What several turns of one step used: complete only if all of them were, with a model only if it was one.
    pub fn together(sum: Option<&Usage>, other: &Usage) -> Usage {
        let Some(sum) = sum else {
            return other.clone();
        };
        let mut both = sum.clone();
        both.add(other);
        if both.complete != Some(false) {
            both.complete = sum.complete.filter(|_| sum.complete == other.complete);
        }
        both.model = both.model.filter(|_| sum.model == other.model);
        both
    }

    /// What a turn used of which nothing was reported: that is not zero.
    pub fn unknown() -> Usage {
        Usage {
            complete: Some(false),
            ..Usage::default()
        }
    }

    /// Adds another report.
    pub fn add(&mut self, other: &Usage) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = sum(self.cached, other.cached);
        self.cache_created = sum(self.cache_created, other.cache_created);
        if other.complete == Some(false) {
            self.complete = Some(false);
        }
    }
}

/// How an action left a sandbox: what it did stands only as long as nobody changed that (SEMANTICS L7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The sandbox's name.
    pub sandbox: String,
    /// The commit that is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Of everything that differs from it.
    pub digest: String,
}

/// What a turn of an agent came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnEnd {
    /// The step has its result.
    Answered(Payload),
    /// The answer has not the form that was asked for, and may be mended: what is wrong with it.
    Again(String),
    /// The next pass follows.
    Pass,
    /// The agent does not know the conversation that was cut off: the step begins anew, in another one.
    Anew(Box<Fault>),
    /// It has failed.
    Failed(Box<Fault>),
}

/// What makes another member of a fallback list go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handover {
    /// A limit of the provider.
    Quota,
    /// An outage.
    Unavailable,
}

impl Handover {
    /// As it is written in a file.
    pub fn name(self) -> &'static str {
        match self {
            Handover::Quota => "quota",
            Handover::Unavailable => "unavailable",
        }
    }
}

/// A turn of an agent that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turned {
    /// The step's path.
    pub step: String,
    /// The agent, a plain one.
    pub agent: String,
    /// Which of its turns in the run, from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub number: u32,
    /// Which pass of the step, from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub pass: u32,
    /// Which repair of the pass; 0 for its first answer.
    #[serde(default, skip_serializing_if = "is_first")]
    pub repair: u32,
    /// The commit that was checked out when the step began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The agent's name of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Tokens of the turn; nothing if none were reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Tokens of the whole conversation, where the agent counts those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Usage>,
    /// What it came to.
    pub end: TurnEnd,
    /// How it left its sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Left>,
}

impl Turned {
    /// Whether its agent may have used tokens. One that could not be asked has not.
    pub fn took_place(&self) -> bool {
        match &self.end {
            TurnEnd::Failed(fault) | TurnEnd::Anew(fault) => {
                !matches!(fault.code, FaultCode::Configuration | FaultCode::Prompt)
            }
            TurnEnd::Answered(_) | TurnEnd::Again(_) | TurnEnd::Pass => true,
        }
    }

    /// The tokens of its step, with those of the turns before it.
    pub fn usage_with(&self, before: Option<&Usage>) -> Option<Usage> {
        match (&self.usage, self.took_place()) {
            (Some(usage), _) => Some(Usage::together(before, usage)),
            (None, true) => Some(Usage::together(before, &Usage::unknown())),
            (None, false) => before.cloned(),
        }
    }
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub enum EventKind<T> {
    /// The run began.
    Started(Box<Started>),
    /// Another process goes on with it.
    Resumed(Box<Resumed<T>>),
    /// An attempt may run; in a loop a round, or a phase of it again.
    Admitted {
        /// The task.
        task: T,
        /// Counted across everything.
        attempt: u32,
        /// The round, 0 outside loops.
        #[serde(default, skip_serializing_if = "is_zero")]
        round: u64,
        /// The phase that starts.
        #[serde(default, skip_serializing_if = "is_attempt")]
        phase: Phase,
    },
    /// A task without effects was admitted and is done.
    Evaluated {
        /// The task.
        task: T,
        /// The attempt.
        attempt: u32,
        /// Its value.
        value: Payload,
    },
    /// A step with an effect has finished.
    StepDone {
        /// The task.
        task: T,
        /// The step's path: its name, after the names of the calls around it.
        step: String,
        /// Its result.
        value: Payload,
        /// How it left its sandbox.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<Box<Left>>,
    },
    /// An agent has named the conversation of the turn that is going on.
    Session {
        /// The task.
        task: T,
        /// The step's path.
        step: Box<str>,
        /// The agent, a plain one.
        agent: Box<str>,
        /// Its name of the conversation.
        conversation: Box<str>,
        /// The commit that was checked out when the step began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<Box<str>>,
    },
    /// A turn of an agent has ended.
    Turn {
        /// The task.
        task: T,
        /// The turn.
        turn: Box<Turned>,
    },
    /// The next member of a fallback list takes over.
    FellBack {
        /// The task.
        task: T,
        /// The step's path.
        step: Box<str>,
        /// Who stopped.
        from: Box<str>,
        /// Who goes on.
        to: Box<str>,
        /// Why.
        failure: Handover,
        /// What the one that stopped said.
        error: Box<Fault>,
    },
    /// A loop's attempt produced something to check.
    Candidate {
        /// The task.
        task: T,
        /// The round.
        round: u64,
        /// The candidate.
        value: Payload,
    },
    /// A loop's check has judged.
    Verdict {
        /// The task.
        task: T,
        /// The round.
        round: u64,
        /// Whether the candidate is accepted.
        done: bool,
        /// The rejection, for the next round.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
        /// How many equal rounds in a row this was; 0 for a round that moved on.
        #[serde(default, skip_serializing_if = "is_zero")]
        stalled: u64,
    },
    /// An attempt failed and is tried again.
    RetryScheduled {
        /// The task.
        task: T,
        /// The attempt that failed.
        attempt: u32,
        /// Why.
        error: Box<Fault>,
        /// How long until the next.
        wait_ms: u64,
    },
    /// A provider's limit was hit and the task waits for it.
    QuotaPaused {
        /// The task.
        task: T,
        /// The attempt that hit it.
        attempt: u32,
        /// The limit, with its reset where known.
        error: Box<Fault>,
        /// The step that hit it begins anew, with the first member of its list.
        #[serde(default, skip_serializing_if = "is_false")]
        anew: bool,
    },
    /// Tokens were reported.
    Usage {
        /// The task.
        task: T,
        /// The attempt.
        attempt: u32,
        /// What makes the report count once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<String>,
        /// The tokens.
        usage: Usage,
    },
    /// A task has ended.
    Settled {
        /// The task.
        task: T,
        /// How.
        status: Status,
        /// Its value, if it is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Payload>,
        /// Its fault, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Box<Fault>>,
        /// Why it was skipped or cancelled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Reason<T>>,
    },
    /// Somebody asked for the run to end.
    CancelRequested {
        /// How.
        by: Interrupt,
    },
    /// A deadline has passed: a task's, or the run's.
    TimedOut {
        /// The task.
        #[serde(default = "no_task", skip_serializing_if = "Option::is_none")]
        task: Option<T>,
    },
    /// An attempt was asked for that the budget does not hold.
    BudgetExceeded {
        /// Who asked.
        task: T,
        /// What was spent, in words.
        message: String,
        /// The class of the fault, where it is not our own limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<FaultCode>,
        /// What runs is stopped, too.
        #[serde(default, skip_serializing_if = "is_false")]
        stops: bool,
    },
    /// This start of the run is over.
    Finished {
        /// How.
        status: Status,
        /// The code of what went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<FaultCode>,
        /// What went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Box<Fault>>,
        /// What the run gives.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
    },
    /// The task's next action is in flight. Not recorded: at a restart none is.
    #[serde(skip)]
    Launched(T),
    /// The task's action was told to stop. Not recorded.
    #[serde(skip)]
    Stopping(T),
    /// The task's wait is over. Not recorded: the next admission tells.
    #[serde(skip)]
    Woke(T),
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_first(number: &u32) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_attempt(phase: &Phase) -> bool {
    *phase == Phase::Attempt
}

fn no_task<T>() -> Option<T> {
    None
}

impl<T> EventKind<T> {
    /// Whether it goes to the journal.
    pub fn is_durable(&self) -> bool {
        !matches!(
            self,
            EventKind::Launched(_) | EventKind::Stopping(_) | EventKind::Woke(_)
        )
    }

    /// The task it is about.
    pub fn task(&self) -> Option<&T> {
        match self {
            EventKind::Admitted { task, .. }
            | EventKind::Evaluated { task, .. }
            | EventKind::StepDone { task, .. }
            | EventKind::Session { task, .. }
            | EventKind::Turn { task, .. }
            | EventKind::FellBack { task, .. }
            | EventKind::Candidate { task, .. }
            | EventKind::Verdict { task, .. }
            | EventKind::RetryScheduled { task, .. }
            | EventKind::QuotaPaused { task, .. }
            | EventKind::Usage { task, .. }
            | EventKind::Settled { task, .. }
            | EventKind::BudgetExceeded { task, .. }
            | EventKind::Launched(task)
            | EventKind::Stopping(task)
            | EventKind::Woke(task) => Some(task),
            EventKind::TimedOut { task } => task.as_ref(),
            EventKind::Started(_)
            | EventKind::Resumed(_)
            | EventKind::CancelRequested { .. }
            | EventKind::Finished { .. } => None,
        }
    }

    /// The value it carries, if any.
    pub fn payload_mut(&mut self) -> Option<&mut Payload> {
        match self {
            EventKind::Evaluated { value, .. }
            | EventKind::StepDone { value, .. }
            | EventKind::Candidate { value, .. } => Some(value),
            EventKind::Settled { value, .. } => value.as_mut(),
            EventKind::Finished { output, .. } => output.as_mut(),
            EventKind::Turn { turn, .. } => match &mut turn.end {
                TurnEnd::Answered(value) => Some(value),
                TurnEnd::Again(_) | TurnEnd::Pass | TurnEnd::Anew(_) | TurnEnd::Failed(_) => None,
            },
            EventKind::Session { .. }
            | EventKind::FellBack { .. }
            | EventKind::Started(_)
            | EventKind::Resumed(_)
            | EventKind::Admitted { .. }
            | EventKind::Verdict { .. }
            | EventKind::RetryScheduled { .. }
            | EventKind::QuotaPaused { .. }
            | EventKind::Usage { .. }
            | EventKind::CancelRequested { .. }
            | EventKind::TimedOut { .. }
            | EventKind::BudgetExceeded { .. }
            | EventKind::Launched(_)
            | EventKind::Stopping(_)
            | EventKind::Woke(_) => None,
        }
    }

    /// The same event with its tasks named otherwise; fails where one has no such name.
    pub fn with_tasks<U, E>(
        self,
        name: &mut impl FnMut(T) -> Result<U, E>,
    ) -> Result<EventKind<U>, E> {
        Ok(match self {
            EventKind::Started(started) => EventKind::Started(started),
            EventKind::Resumed(resumed) => EventKind::Resumed(Box::new(resumed.with_tasks(name)?)),
            EventKind::Admitted {
                task,
                attempt,
                round,
                phase,
            } => EventKind::Admitted {
                task: name(task)?,
                attempt,
                round,
                phase,
            },
            EventKind::Evaluated {
                task,
                attempt,
                value,
            } => EventKind::Evaluated {
                task: name(task)?,
                attempt,
                value,
            },
            EventKind::StepDone {
                task,
                step,
                value,
                left,
            } => EventKind::StepDone {
                task: name(task)?,
                step,
                value,
                left,
            },
            EventKind::Session {
                task,
                step,
                agent,
                conversation,
                head,
            } => EventKind::Session {
                task: name(task)?,
                step,
                agent,
                conversation,
                head,
            },
            EventKind::Turn { task, turn } => EventKind::Turn {
                task: name(task)?,
                turn,
            },
            EventKind::FellBack {
                task,
                step,
                from,
                to,
                failure,
                error,
            } => EventKind::FellBack {
                task: name(task)?,
                step,
                from,
                to,
                failure,
                error,
            },
            EventKind::Candidate { task, round, value } => EventKind::Candidate {
                task: name(task)?,
                round,
                value,
            },
            EventKind::Verdict {
                task,
                round,
                done,
                feedback,
                stalled,
            } => EventKind::Verdict {
                task: name(task)?,
                round,
                done,
                feedback,
                stalled,
            },
            EventKind::RetryScheduled {
                task,
                attempt,
                error,
                wait_ms,
            } => EventKind::RetryScheduled {
                task: name(task)?,
                attempt,
                error,
                wait_ms,
            },
            EventKind::QuotaPaused {
                task,
                attempt,
                error,
                anew,
            } => EventKind::QuotaPaused {
                task: name(task)?,
                attempt,
                error,
                anew,
            },
            EventKind::Usage {
                task,
                attempt,
                receipt,
                usage,
            } => EventKind::Usage {
                task: name(task)?,
                attempt,
                receipt,
                usage,
            },
            EventKind::Settled {
                task,
                status,
                value,
                error,
                reason,
            } => EventKind::Settled {
                task: name(task)?,
                status,
                value,
                error,
                reason: reason.map(|reason| reason.with_task(name)).transpose()?,
            },
            EventKind::CancelRequested { by } => EventKind::CancelRequested { by },
            EventKind::TimedOut { task } => EventKind::TimedOut {
                task: task.map(name).transpose()?,
            },
            EventKind::BudgetExceeded {
                task,
                message,
                code,
                stops,
            } => EventKind::BudgetExceeded {
                task: name(task)?,
                message,
                code,
                stops,
            },
            EventKind::Finished {
                status,
                code,
                error,
                output,
            } => EventKind::Finished {
                status,
                code,
                error,
                output,
            },
            EventKind::Launched(task) => EventKind::Launched(name(task)?),
            EventKind::Stopping(task) => EventKind::Stopping(name(task)?),
            EventKind::Woke(task) => EventKind::Woke(name(task)?),
        })
    }
}

impl<T> Reason<T> {
    fn with_task<U, E>(self, name: &mut impl FnMut(T) -> Result<U, E>) -> Result<Reason<U>, E> {
        Ok(match self {
            Reason::When => Reason::When,
            Reason::Dependency(task) => Reason::Dependency(name(task)?),
            Reason::Trigger => Reason::Trigger,
            Reason::Stopped => Reason::Stopped,
            Reason::Interrupted => Reason::Interrupted,
            Reason::RunTimeout => Reason::RunTimeout,
            Reason::Budget => Reason::Budget,
        })
    }
}

impl<T> Resumed<T> {
    fn with_tasks<U, E>(self, name: &mut impl FnMut(T) -> Result<U, E>) -> Result<Resumed<U>, E> {
        Ok(Resumed {
            outpostc: self.outpostc,
            retry_incomplete: self.retry_incomplete,
            renewed: self
                .renewed
                .into_iter()
                .map(&mut *name)
                .collect::<Result<_, E>>()?,
            rerun: self
                .rerun
                .into_iter()
                .map(&mut *name)
                .collect::<Result<_, E>>()?,
            changed: self
                .changed
                .into_iter()
                .map(&mut *name)
                .collect::<Result<_, E>>()?,
            moved: self.moved.into_iter().map(name).collect::<Result<_, E>>()?,
            tasks: self.tasks,
            policy: self.policy,
            plan: self.plan,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(complete: Option<bool>, model: Option<&str>) -> Usage {
        Usage {
            input: 1,
            output: 2,
            complete,
            model: model.map(str::to_owned),
            ..Usage::default()
        }
    }

    #[test]
    fn several_turns_are_complete_only_if_all_are() {
        let complete = usage(Some(true), Some("m"));
        let alone = Usage::together(None, &complete);
        assert_eq!(alone, complete);
        let twice = Usage::together(Some(&alone), &complete);
        assert_eq!((twice.input, twice.output), (2, 4));
        assert_eq!(
            (twice.complete, twice.model.as_deref()),
            (Some(true), Some("m"))
        );
        let silent = usage(None, Some("m"));
        assert_eq!(Usage::together(Some(&complete), &silent).complete, None);
        let unknown = Usage::together(Some(&complete), &Usage::unknown());
        assert_eq!((unknown.input, unknown.complete), (1, Some(false)));
        assert_eq!(
            Usage::together(Some(&unknown), &complete).complete,
            Some(false)
        );
        let other = usage(Some(true), Some("n"));
        assert_eq!(Usage::together(Some(&complete), &other).model, None);
    }
}
