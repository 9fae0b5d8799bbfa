//! Where a run stands.
//!
//! [`Run::apply`] is the only function that changes it; what comes next is decided in `decide`.
//! Nothing here reads a clock, starts anything or knows of files.
//! Every event costs what it touches: there is no walk over all tasks, except when a run halts or is resumed.

use crate::clock::{Timestamp, Wake};
use crate::event::{
    Event, EventKind, Interrupt, Left, Phase, Reason, Resumed, Started, Status, Usage,
};
use crate::fault::{Fault, FaultCode};
use crate::queue::TaskSet;
use crate::spending::Spending;
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{Loop, OnError, OnQuota, TaskId, TaskKind, Trigger};
use outpost_stdlib::Value;
use outpost_stdlib::quantity::format_duration;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

mod agents;

pub use agents::{AgentStep, Stopped, Turns};

/// How long is waited for a limit that is met again when it is said to have ended.
const AGAIN: Duration = Duration::from_secs(60);

/// The state of a run: a fold of its events.
#[derive(Debug)]
pub struct Run {
    pub(crate) plan: Arc<Plan>,
    pub(crate) id: Arc<str>,
    pub(crate) inputs: Vec<Value>,
    pub(crate) tasks: Vec<TaskRun>,
    pub(crate) concurrency: u32,
    pub(crate) budget_attempts: Option<u64>,
    /// Whether the run leaves nothing behind that it could be resumed from.
    pub(crate) ephemeral: bool,
    /// All attempts that were ever admitted.
    pub(crate) attempts: u64,
    /// All tokens that were ever reported.
    pub(crate) spent: Spending,
    /// Who asked for more tokens or money than the budget holds, and what there is to say.
    pub(crate) over: Option<(TaskId, FaultCode, String)>,
    /// What is known of conversations, by agent and id.
    pub(crate) conversations: HashMap<(String, String), Usage>,
    /// Which turns each agent has ended.
    pub(crate) turns: HashMap<String, Turns>,
    pub(crate) halt: Option<Halt>,
    /// Under [`Halt::Failing`]: what ran at the failure has ended, clean-up may start.
    pub(crate) awaited: bool,
    /// All that may still run has: what is left is being cancelled, and frees nothing.
    pub(crate) sweeping: bool,
    /// What stopped the run from outside or by its deadline.
    pub(crate) ended_by: Option<Box<Fault>>,
    /// The first failure of a task, or the spent budget.
    pub(crate) failure: Option<Box<Fault>>,
    /// Ready tasks.
    pub(crate) ready: TaskSet,
    /// Those of them that have a trigger.
    pub(crate) cleanup: TaskSet,
    /// Tasks whose end is known but not yet recorded.
    pub(crate) settling: VecDeque<(TaskId, Fate)>,
    /// Actions that have to be told to stop.
    pub(crate) stops: VecDeque<TaskId>,
    /// Active tasks with nothing in flight: something has to be decided.
    pub(crate) moving: VecDeque<TaskId>,
    /// Deadlines and retries, by the monotonic clock.
    pub(crate) timers: BTreeSet<(Duration, Timer)>,
    /// Quota resets that are waited for, by the wall clock.
    pub(crate) quota_timers: BTreeSet<(Timestamp, TaskId)>,
    /// How many tasks are active, which is how many slots are taken.
    pub(crate) active: u32,
    /// How many wait for their next try.
    pub(crate) backoff: u32,
    pub(crate) paused: u32,
    pub(crate) rejected: u32,
    /// While the run halts: all tasks before this one are settled or paused.
    pub(crate) sweep: usize,
    pub(crate) started: bool,
    pub(crate) finished: Option<Status>,
    pub(crate) next_seq: u64,
    pub(crate) last_at: Timestamp,
    /// Dependencies that are soft, as (who waits, for whom), sorted.
    soft: Vec<(TaskId, TaskId)>,
}

/// Why nothing new starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// A task failed and `onError` is `stop`: what ran is stopped, clean-up runs.
    Failing,
    /// The budget is spent: what runs may finish.
    Spent,
    /// Somebody asked for the end.
    Cancelled,
    /// The run's time is up.
    Expired,
}

/// An end that is known but not yet recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A dependency did not end well.
    Dependency(TaskId),
    /// Its trigger did not fire.
    Trigger,
    /// It waited for its next try when the run halted.
    Halted,
}

/// What a moment of the monotonic clock means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// The run's time is up.
    Run,
    /// The time of a task's attempt or round is up.
    Task(TaskId),
    /// A task may be tried again.
    Retry(TaskId),
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its dependencies have not all settled.
    Waiting,
    /// It waits for a slot.
    Ready,
    /// It will be settled without running.
    Doomed,
    /// An attempt is admitted and has not ended; [`Detail::active`] says more.
    Active,
    /// An attempt failed; it waits for the next.
    Backoff,
    /// It waits for a quota.
    Paused,
    /// It has ended.
    Settled(Status),
}

/// A task of the run.
#[derive(Debug)]
pub struct TaskRun {
    /// Where it stands.
    pub state: State,
    /// Whether one of its dependencies has failed.
    pub failed_dependency: bool,
    /// How many dependencies have not settled.
    pub waits: u32,
    /// Attempts, counted across everything.
    pub attempts: u32,
    /// Its value, if it is done.
    pub value: Value,
    /// What there is to say about a task that is more than one evaluation.
    pub detail: Option<Box<Detail>>,
}

/// What there is to say about a task beyond its state.
#[derive(Debug, Default)]
pub struct Detail {
    /// The attempt that is going on; only in [`State::Active`].
    pub active: Option<Active>,
    /// Steps that have finished in this phase, by path.
    pub steps: Vec<(String, Value)>,
    /// How the last of them left each sandbox.
    pub left: Vec<Left>,
    /// The agent step that is going on.
    pub agent: Option<Box<AgentStep>>,
    /// Where a loop stands.
    pub rounds: Rounds,
    /// Attempts since the retry allowance began anew.
    pub series: u32,
    /// When it is tried again; only in [`State::Backoff`].
    pub due: Duration,
    /// The quota pause that it is in, or that its next attempt comes after.
    pub pause: Option<Pause>,
    /// Why it failed.
    pub error: Option<Box<Fault>>,
    /// Why it was skipped or cancelled.
    pub reason: Option<Reason<TaskId>>,
    /// Usage receipts that count.
    pub receipts: BTreeSet<String>,
}

/// An attempt that is going on.
#[derive(Debug, Default)]
pub struct Active {
    /// Whether an action is in flight.
    pub in_flight: bool,
    /// Why it is being stopped; whatever it still gives is dropped.
    pub stopping: Option<Stop>,
    /// Its deadline, as in the timers.
    pub deadline: Option<Duration>,
    /// The quota pause that it comes after.
    pub quota: Option<Pause>,
}

/// Why an attempt is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its time is up.
    Timeout,
    /// The run halts.
    Halted,
}

/// A pause for a quota.
#[derive(Clone, Debug)]
pub struct Pause {
    /// What was said.
    pub message: String,
    /// When it was hit.
    pub requested_at: Timestamp,
    /// When it is renewed, if that is known.
    pub reset_at: Option<Timestamp>,
    /// When it may be tried again.
    pub due: Option<Timestamp>,
    /// Whether this process waits for it.
    pub in_process: bool,
    /// The conversation that it interrupted.
    pub conversation: Option<String>,
}

/// Where a loop stands.
#[derive(Debug, Default)]
pub struct Rounds {
    /// The round, from 1; 0 before the first.
    pub round: u64,
    /// The phase.
    pub phase: Phase,
    /// What this round's attempt produced.
    pub candidate: Option<Value>,
    /// What the last round's produced.
    pub previous: Option<Value>,
    /// The text of the last rejection.
    pub feedback: Option<Arc<str>>,
    /// This round's verdict, until the next round is admitted.
    pub judged: Option<bool>,
    /// How many rounds in a row were equal, this one included; 0 for one that moved on.
    pub stalled: u64,
}

impl Run {
    /// A run that has not started: its first event says with what it does.
    pub fn new(plan: Arc<Plan>, id: &str) -> Run {
        let count = plan.tasks().len();
        let mut tasks: Vec<TaskRun> = Vec::with_capacity(count);
        tasks.resize_with(count, || TaskRun {
            state: State::Waiting,
            failed_dependency: false,
            waits: 0,
            attempts: 0,
            value: Value::Null,
            detail: None,
        });
        for id in plan.ids() {
            for dependent in plan.dependents(id) {
                tasks[dependent.index()].waits += 1;
            }
        }
        let mut soft: Vec<(TaskId, TaskId)> = Vec::new();
        for (id, task) in plan.ids().zip(plan.tasks()) {
            let of_task = task
                .dependencies
                .iter()
                .filter(|dependency| dependency.soft);
            soft.extend(of_task.map(|dependency| (id, dependency.task)));
        }
        soft.sort_unstable();
        let policy = &plan.workflow().policy;
        Run {
            id: id.into(),
            inputs: Vec::new(),
            concurrency: policy.concurrency,
            budget_attempts: None,
            ephemeral: false,
            attempts: 0,
            spent: Spending::default(),
            over: None,
            conversations: HashMap::new(),
            turns: HashMap::new(),
            halt: None,
            awaited: false,
            sweeping: false,
            ended_by: None,
            failure: None,
            ready: TaskSet::new(count),
            cleanup: TaskSet::new(count),
            settling: VecDeque::new(),
            stops: VecDeque::new(),
            moving: VecDeque::new(),
            timers: BTreeSet::new(),
            quota_timers: BTreeSet::new(),
            active: 0,
            backoff: 0,
            paused: 0,
            rejected: 0,
            sweep: 0,
            started: false,
            finished: None,
            next_seq: 1,
            last_at: Timestamp::default(),
            soft,
            tasks,
            plan,
        }
    }

    /// How this start of the run ended, if it did.
    pub fn finished(&self) -> Option<Status> {
        self.finished
    }

    /// The plan that is run.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// A task of the run.
    pub fn task(&self, id: TaskId) -> &TaskRun {
        &self.tasks[id.index()]
    }

    /// When something is due without anything happening before.
    pub fn wake_at(&self) -> Wake {
        Wake {
            mono: self.timers.first().map(|(due, _)| *due),
            wall: self.quota_timers.first().map(|(due, _)| *due),
        }
    }

    /// Takes an event into account.
    pub fn apply(&mut self, event: &Event<TaskId>) {
        if event.kind.is_durable() {
            self.next_seq = event.seq + 1;
            self.last_at = event.at;
        }
        match &event.kind {
            EventKind::Started(started) => self.start(started, event.mono),
            EventKind::Resumed(resumed) => self.resume(resumed, event),
            EventKind::Admitted {
                task,
                attempt,
                round,
                phase,
            } => self.admit(*task, *attempt, (*round, *phase), event.mono),
            EventKind::Evaluated {
                task,
                attempt,
                value,
            } => {
                self.attempts += 1;
                self.tasks[task.index()].attempts = *attempt;
                self.tasks[task.index()].value = value.value();
                self.settle(*task, Status::Done);
            }
            EventKind::StepDone {
                task,
                step,
                value,
                left,
            } => {
                let detail = self.detail(*task);
                detail.finish_step(step, value.value(), left.as_deref());
                self.landed(*task);
            }
            EventKind::Session {
                task,
                step,
                agent,
                conversation,
                head,
            } => self.session(*task, step, (agent, conversation), head.as_deref()),
            EventKind::Turn { task, turn } => self.turned(*task, turn),
            EventKind::FellBack {
                task,
                step,
                from,
                failure,
                error,
                ..
            } => {
                let detail = self.detail(*task);
                let agent = detail.agent_step(step);
                let conversation = agent.conversation.take().map(|(_, id)| id);
                agent.stopped.push(Stopped {
                    agent: from.to_string(),
                    failure: *failure,
                    error: (**error).clone(),
                    conversation,
                });
                agent.member += 1;
                agent.pass = 0;
                agent.repair = 0;
                agent.problem = None;
                agent.interrupted = false;
                agent.error = None;
                self.landed(*task);
            }
            EventKind::Candidate { task, value, .. } => {
                let detail = self.detail(*task);
                detail.rounds.candidate = Some(value.value());
                detail.rounds.phase = Phase::Check;
                detail.forget_steps();
                detail.series = 1;
                self.landed(*task);
            }
            EventKind::Verdict {
                task,
                done,
                feedback,
                stalled,
                ..
            } => {
                let rounds = &mut self.detail(*task).rounds;
                rounds.judged = Some(*done);
                rounds.stalled = *stalled;
                if let Some(feedback) = feedback {
                    rounds.feedback = Some(feedback.as_str().into());
                }
                self.landed(*task);
            }
            EventKind::RetryScheduled {
                task,
                error,
                wait_ms,
                ..
            } => {
                let due = event.mono + Duration::from_millis(*wait_ms);
                self.leave(*task);
                self.tasks[task.index()].state = State::Backoff;
                let detail = self.detail(*task);
                detail.forget_steps();
                detail.due = due;
                detail.error = Some(error.clone());
                self.backoff += 1;
                self.timers.insert((due, Timer::Retry(*task)));
            }
            EventKind::QuotaPaused {
                task, error, anew, ..
            } => {
                let active = self.detail(*task).active.as_ref();
                let last = active.and_then(|active| active.quota.as_ref()?.reset_at);
                self.leave(*task);
                let detail = self.detail(*task);
                let pause = Pause {
                    message: error.message.clone(),
                    requested_at: event.at,
                    reset_at: error.reset_at,
                    due: error.reset_at.map(|reset| match last {
                        // Agents round: the limit may end a little later than they say.
                        Some(last) if reset <= last => reset.max(event.at.after(AGAIN)),
                        Some(_) | None => reset,
                    }),
                    in_process: false,
                    conversation: detail.pause_agent(*anew),
                };
                detail.series = 0;
                detail.pause = Some(pause);
                detail.error = Some(error.clone());
                self.pause(*task, event.at);
            }
            EventKind::Usage {
                task,
                receipt,
                usage,
                ..
            } => {
                if let Some(receipt) = receipt {
                    self.detail(*task).receipts.insert(receipt.clone());
                }
                self.spend(*task, usage, None);
            }
            EventKind::Settled {
                task,
                status,
                value,
                error,
                reason,
            } => {
                if let Some(value) = value {
                    self.tasks[task.index()].value = value.value();
                }
                if error.is_some() || reason.is_some() {
                    let detail = self.detail(*task);
                    detail.error = error.clone();
                    detail.reason = reason.clone();
                }
                let unstarted = matches!(
                    self.tasks[task.index()].state,
                    State::Waiting | State::Ready
                );
                self.sweeping |= unstarted && *status == Status::Cancelled;
                self.settle(*task, *status);
                if *status == Status::Failed {
                    self.failed(error.as_deref());
                }
            }
            EventKind::CancelRequested { by } => {
                let words = match by {
                    Interrupt::Interrupt => "the run was interrupted",
                    Interrupt::Terminate => "the run was terminated",
                };
                self.end(Halt::Cancelled, Fault::new(FaultCode::Aborted, words));
            }
            EventKind::TimedOut { task: None } => {
                self.timers.retain(|(_, timer)| *timer != Timer::Run);
                let limit = self.plan.workflow().policy.timeout.unwrap_or_default();
                let message = format!("the run took longer than {}", in_words(limit));
                self.end(Halt::Expired, Fault::new(FaultCode::Timeout, message));
            }
            EventKind::TimedOut { task: Some(task) } => self.stop(*task, Stop::Timeout),
            EventKind::BudgetExceeded {
                message,
                code,
                stops,
                ..
            } => {
                let fault = Fault::new(code.unwrap_or(FaultCode::Limit), message.clone());
                self.failure.get_or_insert_with(|| Box::new(fault));
                self.over = None;
                self.halt(Halt::Spent);
                if *stops {
                    for id in self.plan.clone().ids() {
                        if self.tasks[id.index()].state == State::Active {
                            self.stop(id, Stop::Halted);
                        }
                    }
                }
            }
            EventKind::Finished { status, .. } => self.finished = Some(*status),
            EventKind::Launched(task) => {
                if let Some(active) = &mut self.detail(*task).active {
                    active.in_flight = true;
                }
            }
            EventKind::Stopping(_) => {
                self.stops.pop_front();
            }
            EventKind::Woke(task) => self.wake(*task),
        }
        self.tidy();
    }

    /// The detail of a task, made when first needed.
    pub(crate) fn detail(&mut self, task: TaskId) -> &mut Detail {
        self.tasks[task.index()].detail.get_or_insert_default()
    }

    /// Whether one task's dependency on another is soft.
    pub(crate) fn is_soft(&self, task: TaskId, on: TaskId) -> bool {
        self.soft.binary_search(&(task, on)).is_ok()
    }

    fn start(&mut self, started: &Started, now: Duration) {
        self.started = true;
        self.concurrency = started.concurrency;
        self.budget_attempts = started.budget_attempts;
        let inputs = started.inputs.iter();
        self.inputs = inputs.map(|(_, value)| value.clone()).collect();
        self.set_deadline(now);
        for id in self.plan.ids() {
            if self.tasks[id.index()].waits == 0 {
                self.arrive(id);
            }
        }
    }

    fn set_deadline(&mut self, now: Duration) {
        if let Some(timeout) = self.plan.workflow().policy.timeout {
            self.timers.insert((now + timeout, Timer::Run));
        }
    }

    fn admit(&mut self, task: TaskId, attempt: u32, at: (u64, Phase), now: Duration) {
        let (round, phase) = at;
        self.leave(task);
        self.active += 1;
        self.attempts += 1;
        let deadline = self.plan.task(task).timeout.map(|timeout| now + timeout);
        if let Some(deadline) = deadline {
            self.timers.insert((deadline, Timer::Task(task)));
        }
        let run = &mut self.tasks[task.index()];
        run.state = State::Active;
        run.attempts = attempt;
        let detail = run.detail.get_or_insert_default();
        detail.series += 1;
        detail.error = None;
        detail.reason = None;
        let rounds = &mut detail.rounds;
        if rounds.round != round {
            rounds.round = round;
            rounds.previous = rounds.candidate.take();
            detail.steps.clear();
            detail.left.clear();
            detail.agent = None;
            detail.series = 1;
        }
        rounds.phase = phase;
        rounds.judged = None;
        detail.active = Some(Active {
            deadline,
            quota: detail.pause.take(),
            ..Active::default()
        });
        self.moving.push_back(task);
    }

    /// An action of a task has ended, or something was decided about it: what comes next is open.
    fn landed(&mut self, task: TaskId) {
        if let Some(active) = &mut self.detail(task).active {
            active.in_flight = false;
            self.moving.push_back(task);
        }
    }

    /// Takes a task out of whatever it is in.
    fn leave(&mut self, task: TaskId) {
        match self.tasks[task.index()].state {
            State::Ready => {
                self.ready.remove(task);
                self.cleanup.remove(task);
            }
            State::Active => {
                self.active -= 1;
                let active = self.detail(task).active.take();
                if let Some(deadline) = active.and_then(|active| active.deadline) {
                    self.timers.remove(&(deadline, Timer::Task(task)));
                }
            }
            State::Backoff => {
                self.backoff -= 1;
                let due = self.detail(task).due;
                self.timers.remove(&(due, Timer::Retry(task)));
            }
            State::Paused => {
                self.paused -= 1;
                if let Some(reset) = self.due_of(task) {
                    self.quota_timers.remove(&(reset, task));
                }
            }
            State::Waiting | State::Doomed | State::Settled(_) => {}
        }
    }

    /// When a paused task may be tried again, if that is known.
    fn due_of(&self, task: TaskId) -> Option<Timestamp> {
        let detail = self.tasks[task.index()].detail.as_ref()?;
        detail.pause.as_ref()?.due
    }

    /// Puts a task that has its pause into the paused ones, and waits if the reset is near.
    fn pause(&mut self, task: TaskId, at: Timestamp) {
        self.tasks[task.index()].state = State::Paused;
        self.paused += 1;
        let max_wait = match self.plan.workflow().policy.on_quota {
            OnQuota::Pause { max_wait } => max_wait,
            OnQuota::Fail => Duration::ZERO,
        };
        let reset = self.due_of(task);
        if let Some(reset) = reset.filter(|reset| at.until(*reset) <= max_wait)
            && self.halt.is_none()
        {
            self.quota_timers.insert((reset, task));
            if let Some(pause) = &mut self.detail(task).pause {
                pause.in_process = true;
            }
        }
    }

    fn wake(&mut self, task: TaskId) {
        self.leave(task);
        self.make_ready(task);
    }

    fn make_ready(&mut self, task: TaskId) {
        self.tasks[task.index()].state = State::Ready;
        self.ready.insert(task);
        if self.plan.task(task).trigger != Trigger::Success {
            self.cleanup.insert(task);
        }
    }

    fn settle(&mut self, task: TaskId, status: Status) {
        self.leave(task);
        let run = &mut self.tasks[task.index()];
        run.state = State::Settled(status);
        if let Some(detail) = &mut run.detail {
            detail.pause = None;
        }
        self.rejected += u32::from(status == Status::Rejected);
        let plan = self.plan.clone();
        for dependent in plan.dependents(task) {
            let run = &mut self.tasks[dependent.index()];
            run.waits = run.waits.saturating_sub(1);
            run.failed_dependency |= status == Status::Failed;
            if run.state != State::Waiting {
                continue;
            }
            if self.dooms(dependent, task, status) {
                self.doom(dependent, Fate::Dependency(task));
            } else if self.tasks[dependent.index()].waits == 0 && !self.sweeping {
                self.arrive(dependent);
            }
        }
    }

    /// Whether a dependency's end means that a task can never start (SEMANTICS S2).
    ///
    /// A cancelled one does not: it only is in a run that halts, where all that has not started is cancelled (S3).
    fn dooms(&self, dependent: TaskId, task: TaskId, status: Status) -> bool {
        let bad = match status {
            Status::Failed | Status::Skipped | Status::Rejected => true,
            Status::Cancelled => self.halt.is_none(),
            Status::Done | Status::Paused | Status::WaitingInput => false,
        };
        bad && self.plan.task(dependent).trigger == Trigger::Success
            && !self.is_soft(dependent, task)
    }

    fn doom(&mut self, task: TaskId, fate: Fate) {
        self.tasks[task.index()].state = State::Doomed;
        self.settling.push_back((task, fate));
    }

    /// All that a task waited for has settled.
    fn arrive(&mut self, task: TaskId) {
        match self.plan.task(task).trigger {
            Trigger::Failure if !self.tasks[task.index()].failed_dependency => {
                self.doom(task, Fate::Trigger);
            }
            Trigger::Success | Trigger::Failure | Trigger::Always => self.make_ready(task),
        }
    }

    fn failed(&mut self, error: Option<&Fault>) {
        if let Some(error) = error {
            self.failure.get_or_insert_with(|| Box::new(error.clone()));
        }
        let stop = self.plan.workflow().policy.on_error == OnError::Stop;
        if stop && self.halt.is_none() {
            self.halt(Halt::Failing);
        }
    }

    fn end(&mut self, halt: Halt, fault: Fault) {
        if self.ended_by.is_none() {
            self.ended_by = Some(Box::new(fault));
            self.halt(halt);
        }
    }

    /// Nothing new starts from here on; what runs is stopped, unless the budget is the reason.
    fn halt(&mut self, halt: Halt) {
        self.halt = Some(halt);
        self.sweep = 0;
        self.quota_timers.clear();
        for id in self.plan.ids() {
            let run = &mut self.tasks[id.index()];
            match run.state {
                State::Active if halt != Halt::Spent => self.stop(id, Stop::Halted),
                State::Ready if run.detail.as_ref().is_some_and(|detail| detail.series > 0) => {
                    self.leave(id);
                    self.doom(id, Fate::Halted);
                }
                State::Backoff => {
                    self.leave(id);
                    self.doom(id, Fate::Halted);
                }
                State::Paused => {
                    if let Some(pause) = &mut self.detail(id).pause {
                        pause.in_process = false;
                    }
                }
                State::Waiting
                | State::Ready
                | State::Doomed
                | State::Active
                | State::Settled(_) => {}
            }
        }
    }

    fn stop(&mut self, task: TaskId, why: Stop) {
        let detail = self.tasks[task.index()].detail.as_mut();
        let Some(active) = detail.and_then(|detail| detail.active.as_mut()) else {
            return;
        };
        let told = active.stopping.is_some();
        // The end of the run outweighs the deadline of a task.
        if active.stopping != Some(Stop::Halted) {
            active.stopping = Some(why);
        }
        if let Some(deadline) = active.deadline.take() {
            self.timers.remove(&(deadline, Timer::Task(task)));
        }
        if active.in_flight && !told {
            self.stops.push_back(task);
        }
    }

    /// Drops what has become meaningless from the heads of the queues.
    fn tidy(&mut self) {
        while let Some((task, _)) = self.settling.front() {
            if self.tasks[task.index()].state == State::Doomed {
                break;
            }
            self.settling.pop_front();
        }
        while let Some(task) = self.moving.front() {
            if self.is_moving(*task) {
                break;
            }
            self.moving.pop_front();
        }
        if self.halt.is_none() {
            return;
        }
        self.awaited |= self.active == 0;
        while let Some(run) = self.tasks.get(self.sweep)
            && matches!(run.state, State::Settled(_) | State::Paused)
        {
            self.sweep += 1;
        }
    }

    fn is_moving(&self, task: TaskId) -> bool {
        let detail = self.tasks[task.index()].detail.as_ref();
        let active = detail.and_then(|detail| detail.active.as_ref());
        active.is_some_and(|active| !active.in_flight)
    }

    /// Another process goes on: what was live is interrupted, what may run again waits anew (SEMANTICS J5).
    fn resume(&mut self, resumed: &Resumed<TaskId>, event: &Event<TaskId>) {
        let plan = self.plan.clone();
        self.forget();
        self.set_deadline(event.mono);
        if let Some(policy) = &resumed.policy {
            self.concurrency = policy.concurrency;
            self.budget_attempts = policy.budget_attempts;
        }
        let renewed: HashSet<TaskId> = resumed.renewed.iter().copied().collect();
        let rerun: HashSet<TaskId> = resumed.rerun.iter().copied().collect();
        for id in plan.ids() {
            let settled = matches!(self.tasks[id.index()].state, State::Settled(_));
            if !settled || renewed.contains(&id) {
                self.renew(id, rerun.contains(&id));
            }
        }
        for task in &resumed.changed {
            self.detail(*task).forget_steps();
        }
        for task in &resumed.moved {
            // An agent's conversation goes on when its step is reached again.
            let detail = self.detail(*task);
            detail.steps.clear();
            detail.left.clear();
        }
        self.recount(event.at);
        // A failure that is final still halts the run, as it did when it happened.
        let fault = plan.ids().find_map(|id| {
            let run = &self.tasks[id.index()];
            let failed = run.state == State::Settled(Status::Failed);
            failed.then(|| run.detail.as_ref()?.error.clone()).flatten()
        });
        if let Some(fault) = fault {
            self.failed(Some(&fault));
        }
    }

    /// Empties everything that belongs to one start of the run.
    fn forget(&mut self) {
        let count = self.tasks.len();
        self.halt = None;
        self.awaited = false;
        self.sweeping = false;
        self.ended_by = None;
        self.failure = None;
        self.ready = TaskSet::new(count);
        self.cleanup = TaskSet::new(count);
        self.settling.clear();
        self.stops.clear();
        self.moving.clear();
        self.timers.clear();
        self.quota_timers.clear();
        self.active = 0;
        self.backoff = 0;
        self.paused = 0;
        self.rejected = 0;
        self.finished = None;
        self.over = None;
    }

    /// Whether a task is not settled for good; `again` holds the answer for all that come before it.
    pub(crate) fn runs_again(&self, task: TaskId, again: &[bool]) -> bool {
        let run = &self.tasks[task.index()];
        let reason = run
            .detail
            .as_ref()
            .and_then(|detail| detail.reason.as_ref());
        match run.state {
            State::Settled(Status::Done | Status::Rejected) => false,
            State::Settled(Status::Failed) => !self.is_exhausted(task),
            State::Settled(Status::Skipped) if reason == Some(&Reason::When) => false,
            State::Settled(Status::Skipped) => {
                let mut dependencies = self.plan.task(task).dependencies.iter();
                dependencies.any(|dependency| again[dependency.task.index()])
            }
            State::Settled(Status::Cancelled | Status::Paused | Status::WaitingInput)
            | State::Waiting
            | State::Ready
            | State::Doomed
            | State::Active
            | State::Backoff
            | State::Paused => true,
        }
    }

    /// Whether a loop has used its last round: that is final.
    pub(crate) fn is_exhausted(&self, task: TaskId) -> bool {
        let detail = self.tasks[task.index()].detail.as_ref();
        let error = detail.and_then(|detail| detail.error.as_ref());
        error.is_some_and(|error| error.code == FaultCode::Exhausted)
    }

    /// Makes a task wait as if it had not started; a loop keeps its round, a phase its finished steps.
    fn renew(&mut self, task: TaskId, from_scratch: bool) {
        let run = &mut self.tasks[task.index()];
        let interrupted = matches!(
            run.state,
            State::Active | State::Paused | State::Settled(Status::Cancelled)
        );
        let paused = run.state == State::Paused;
        run.state = if paused {
            State::Paused
        } else {
            State::Waiting
        };
        run.value = Value::Null;
        let Some(detail) = &mut run.detail else {
            return;
        };
        detail.series = 0;
        detail.reason = None;
        // A task after a pause still sees what it was; one that was interrupted after it sees it again.
        let quota = detail.active.take().and_then(|active| active.quota);
        detail.pause = detail.pause.take().or(quota);
        if !paused {
            detail.error = None;
        }
        if let Some(agent) = &mut detail.agent {
            agent.error = None;
            agent.interrupted = agent.conversation.is_some();
        }
        if !interrupted {
            detail.forget_steps();
        }
        if from_scratch {
            detail.forget_steps();
            detail.rounds = Rounds::default();
        }
    }

    /// Counts dependencies anew and puts every task where it belongs.
    fn recount(&mut self, at: Timestamp) {
        let plan = self.plan.clone();
        for run in &mut self.tasks {
            run.waits = 0;
            run.failed_dependency = false;
        }
        for id in plan.ids() {
            let state = self.tasks[id.index()].state;
            for dependent in plan.dependents(id) {
                let run = &mut self.tasks[dependent.index()];
                match state {
                    State::Settled(Status::Failed) => run.failed_dependency = true,
                    State::Settled(_) => {}
                    State::Waiting
                    | State::Ready
                    | State::Doomed
                    | State::Active
                    | State::Backoff
                    | State::Paused => run.waits += 1,
                }
            }
        }
        for id in plan.ids() {
            match self.tasks[id.index()].state {
                State::Waiting => self.place(id),
                State::Paused => {
                    let past = self.due_of(id).is_none_or(|reset| reset <= at);
                    if past {
                        self.make_ready(id);
                    } else {
                        self.pause(id, at);
                    }
                }
                State::Settled(Status::Rejected) => self.rejected += 1,
                State::Ready
                | State::Doomed
                | State::Active
                | State::Backoff
                | State::Settled(_) => {}
            }
        }
    }

    fn place(&mut self, task: TaskId) {
        let plan = self.plan.clone();
        let dooming = plan.task(task).dependencies.iter().find(|dependency| {
            match self.tasks[dependency.task.index()].state {
                State::Settled(status) => self.dooms(task, dependency.task, status),
                State::Waiting
                | State::Ready
                | State::Doomed
                | State::Active
                | State::Backoff
                | State::Paused => false,
            }
        });
        match dooming {
            Some(dependency) => self.doom(task, Fate::Dependency(dependency.task)),
            None if self.tasks[task.index()].waits == 0 => self.arrive(task),
            None => {}
        }
    }
}

/// The loop of a task, if it is one.
pub(crate) fn loop_of(plan: &Plan, task: TaskId) -> Option<&Loop> {
    match &plan.task(task).kind {
        TaskKind::Loop(of_task) => Some(of_task),
        TaskKind::Task(_) | TaskKind::Gate(_) | TaskKind::Ask(_) | TaskKind::Race(_) => None,
    }
}

/// A duration for people: `1h30m`, `1s500ms`.
pub(crate) fn in_words(duration: Duration) -> String {
    format_duration(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
}
