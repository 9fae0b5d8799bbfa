//! What comes next in a run.
//!
//! Pure: the same state at the same time gives the same answer.
//! Retries, rounds, skips, pauses, deadlines and the end of the run are decided here and nowhere else.

use crate::clock::Now;
use crate::event::{EventKind, Left, Payload, Phase, Reason, Status};
use crate::executor::{Outcome, UsageReport};
use crate::fault::{Fault, FaultCode};
use crate::run::{Fate, Halt, Run, State, Stop, Timer, in_words, loop_of};
use crate::walk::{self, AttemptView, Next};
use outpost_compiler::program::{OnQuota, Retry, TaskId};
use outpost_stdlib::Value;
use sha2::{Digest, Sha256};
use std::time::Duration;

mod turns;

/// An event of this run.
pub type Kind = EventKind<TaskId>;

impl Run {
    /// The event that is due, if one is.
    pub fn decide(&self, now: Now) -> Option<Kind> {
        if !self.started || self.finished.is_some() {
            return None;
        }
        if let Some((task, fate)) = self.settling.front() {
            return Some(self.fated(*task, *fate));
        }
        if let Some(task) = self.stops.front() {
            return Some(EventKind::Stopping(*task));
        }
        if let Some((task, code, message)) = &self.over {
            return Some(EventKind::BudgetExceeded {
                task: *task,
                message: message.clone(),
                code: (*code != FaultCode::Limit).then_some(*code),
                stops: true,
            });
        }
        if let Some(task) = self.moving.front() {
            return Some(self.go_on(*task));
        }
        if let Some(kind) = self.due(now) {
            return Some(kind);
        }
        match self.halt {
            None => self.admission(self.ready.first()).or_else(|| self.finish()),
            Some(Halt::Failing) if self.awaited && !self.sweeping => self
                .admission(self.cleanup.first())
                .or_else(|| self.halted()),
            Some(Halt::Failing | Halt::Spent | Halt::Cancelled | Halt::Expired) => self.halted(),
        }
    }

    /// The event that an action's outcome is.
    pub fn outcome(
        &self,
        task: TaskId,
        (step, agent): (&str, Option<(&str, u32)>),
        outcome: Outcome,
        left: Option<Left>,
    ) -> Kind {
        let outcome = match outcome {
            // Whatever is made of it, the turn took place and has its price.
            Outcome::Turned(turn) => {
                let turn = self.turned_out(task, (step, agent.unwrap_or_default()), *turn, left);
                let turn = Box::new(turn);
                return EventKind::Turn { task, turn };
            }
            other => other,
        };
        match self.stopping(task) {
            Some(Stop::Timeout) => self.failure(task, self.timeout(task)),
            Some(Stop::Halted) => self.cancelled(task),
            None => match outcome {
                Outcome::Done(value) => EventKind::StepDone {
                    task,
                    step: step.to_owned(),
                    value: Payload::Json(value),
                    left: left.map(Box::new),
                },
                Outcome::Failed(fault) => self.failure(task, *fault),
                Outcome::Turned(_) => self.cancelled(task),
            },
        }
    }

    /// The event that a report of tokens is; nothing if its receipt was counted before (SEMANTICS B4).
    pub fn reported(&self, task: TaskId, attempt: u32, report: UsageReport) -> Option<Kind> {
        let detail = self.task(task).detail.as_ref();
        if let Some(receipt) = &report.receipt
            && detail.is_some_and(|detail| detail.receipts.contains(receipt))
        {
            return None;
        }
        Some(EventKind::Usage {
            task,
            attempt,
            receipt: report.receipt,
            usage: report.usage,
        })
    }

    /// A task's value as another task reads it; a soft reference is null unless the task is done.
    pub(crate) fn value_of(&self, task: TaskId, soft: bool) -> Result<Value, String> {
        let run = self.task(task);
        match run.state {
            State::Settled(Status::Done) => Ok(run.value.clone()),
            State::Waiting
            | State::Ready
            | State::Doomed
            | State::Active
            | State::Backoff
            | State::Paused
            | State::Settled(_) => match soft {
                true => Ok(Value::Null),
                false => Err(format!("`{}` has no value", self.plan.task(task).key)),
            },
        }
    }

    /// The numbers of the attempt that is going on.
    pub(crate) fn view(&self, task: TaskId) -> AttemptView<'_> {
        let run = self.task(task);
        let detail = run.detail.as_deref();
        let active = detail.and_then(|detail| detail.active.as_ref());
        AttemptView {
            attempt: run.attempts,
            round: detail.map_or(0, |detail| detail.rounds.round),
            phase: detail.map_or(Phase::Attempt, |detail| detail.rounds.phase),
            quota: active.and_then(|active| active.quota.as_ref()),
        }
    }

    fn fated(&self, task: TaskId, fate: Fate) -> Kind {
        let reason = match fate {
            Fate::Dependency(on) => Reason::Dependency(on),
            Fate::Trigger => Reason::Trigger,
            Fate::Halted => return self.cancelled(task),
        };
        settled(task, Status::Skipped, Some(reason))
    }

    fn cancelled(&self, task: TaskId) -> Kind {
        let reason = match self.halt {
            None | Some(Halt::Failing) => Reason::Stopped,
            Some(Halt::Spent) => Reason::Budget,
            Some(Halt::Cancelled) => Reason::Interrupted,
            Some(Halt::Expired) => Reason::RunTimeout,
        };
        settled(task, Status::Cancelled, Some(reason))
    }

    fn stopping(&self, task: TaskId) -> Option<Stop> {
        let detail = self.task(task).detail.as_ref()?;
        detail.active.as_ref()?.stopping
    }

    fn timeout(&self, task: TaskId) -> Fault {
        let limit = self.plan.task(task).timeout.unwrap_or_default();
        let what = match loop_of(&self.plan, task) {
            Some(_) => "round",
            None => "attempt",
        };
        let message = format!("the {what} took longer than {}", in_words(limit));
        let mut fault = Fault::new(FaultCode::Timeout, message);
        // A deadline that passed while an agent could not reach its provider is an outage.
        let detail = self.task(task).detail.as_ref();
        let error = detail.and_then(|detail| detail.agent.as_ref()?.error.as_ref());
        fault.unavailable = error.is_some_and(|error| error.unavailable);
        fault
    }

    /// What follows for an active task with nothing in flight.
    fn go_on(&self, task: TaskId) -> Kind {
        let judged = self.judged(task);
        if judged == Some(true) {
            return self.accepted(task);
        }
        match self.stopping(task) {
            Some(Stop::Timeout) => return self.failure(task, self.timeout(task)),
            Some(Stop::Halted) => return self.cancelled(task),
            None => {}
        }
        if judged == Some(false) {
            return self.next_round(task);
        }
        let detail = self.task(task).detail.as_ref();
        let state = detail.and_then(|detail| detail.agent.as_deref());
        if let Some(state) = state
            && let Some(error) = &state.error
        {
            return self.turn_failed(task, state, error);
        }
        match walk::next(self, task, self.view(task)) {
            Ok(Next::Action(_)) => EventKind::Launched(task),
            Ok(Next::Value(value)) => self.produced(task, value),
            Ok(Next::Accept) => self.verdict(task, None),
            Ok(Next::Reject(feedback)) => self.verdict(task, Some(feedback)),
            Err(fault) => self.failure(task, *fault),
        }
    }

    fn judged(&self, task: TaskId) -> Option<bool> {
        self.task(task).detail.as_ref()?.rounds.judged
    }

    fn produced(&self, task: TaskId, value: Value) -> Kind {
        let value = Payload::Json(value);
        match loop_of(&self.plan, task) {
            Some(_) => EventKind::Candidate {
                task,
                round: self.view(task).round,
                value,
            },
            None => EventKind::Settled {
                task,
                status: Status::Done,
                value: Some(value),
                error: None,
                reason: None,
            },
        }
    }

    fn accepted(&self, task: TaskId) -> Kind {
        let detail = self.task(task).detail.as_ref();
        let candidate = detail.and_then(|detail| detail.rounds.candidate.clone());
        EventKind::Settled {
            task,
            status: Status::Done,
            value: Some(Payload::Json(candidate.unwrap_or_default())),
            error: None,
            reason: None,
        }
    }

    fn verdict(&self, task: TaskId, feedback: Option<String>) -> Kind {
        let stalled = feedback
            .as_deref()
            .map_or(0, |feedback| self.stall(task, feedback));
        EventKind::Verdict {
            task,
            round: self.view(task).round,
            done: feedback.is_none(),
            feedback,
            stalled,
        }
    }

    /// How many rounds in a row are equal if this one ends with this feedback: 0 if it differs from the last (SEMANTICS L9).
    fn stall(&self, task: TaskId, feedback: &str) -> u64 {
        let Some(detail) = self.task(task).detail.as_ref() else {
            return 0;
        };
        let rounds = &detail.rounds;
        if rounds.round < 2 {
            return 0;
        }
        let last = rounds.feedback.as_deref().unwrap_or_default();
        let same_words = last.split_whitespace().eq(feedback.split_whitespace());
        let same_candidate = rounds.candidate.is_some() && rounds.candidate == rounds.previous;
        match same_words || same_candidate {
            true => rounds.stalled.max(1) + 1,
            false => 0,
        }
    }

    /// After a rejection: the next round, or the loop's end.
    fn next_round(&self, task: TaskId) -> Kind {
        let (Some(of_task), Some(detail)) =
            (loop_of(&self.plan, task), self.task(task).detail.as_ref())
        else {
            return self.failure(task, Fault::new(FaultCode::Failed, "this is not a loop"));
        };
        let rounds = &detail.rounds;
        let feedback = rounds.feedback.as_deref().map(str::to_owned);
        if rounds.round >= of_task.max_rounds {
            let message = format!("the check rejected all {} rounds", of_task.max_rounds);
            let mut fault = Fault::new(FaultCode::Exhausted, message);
            fault.name = Some("LoopTaskExhausted".to_owned());
            fault.max_rounds = Some(of_task.max_rounds);
            fault.feedback = feedback;
            return self.failed_for_good(task, fault);
        }
        if let Some(limit) = of_task.stop_on_stall
            && rounds.stalled >= limit
        {
            let message = format!("{} rounds in a row ended the same", rounds.stalled);
            let mut fault = Fault::new(FaultCode::Stuck, message);
            fault.feedback = feedback;
            return self.failed_for_good(task, fault);
        }
        match self.halt {
            Some(Halt::Spent) => self.cancelled(task),
            None | Some(Halt::Failing | Halt::Cancelled | Halt::Expired) => {
                self.admitted(task, rounds.round + 1, Phase::Attempt)
            }
        }
    }

    /// Admits an attempt, or says that the budget does not hold it.
    fn admitted(&self, task: TaskId, round: u64, phase: Phase) -> Kind {
        if let Some(limit) = self.budget_attempts
            && self.attempts >= limit
        {
            let message = match limit {
                1 => "the budget of 1 attempt is spent".to_owned(),
                _ => format!("the budget of {limit} attempts is spent"),
            };
            return match self.halt {
                Some(_) => self.cancelled(task),
                None => exceeded(task, FaultCode::Limit, message),
            };
        }
        if self.halt.is_none()
            && let Some((code, message)) = self.spent.over(&self.plan, self.budget_attempts)
        {
            return exceeded(task, code, message);
        }
        EventKind::Admitted {
            task,
            attempt: self.task(task).attempts + 1,
            round,
            phase,
        }
    }

    /// A failed attempt: paused for a quota, tried again, or the task's end.
    fn failure(&self, task: TaskId, fault: Fault) -> Kind {
        let attempt = self.task(task).attempts;
        let error = Box::new(self.named(task, fault));
        if error.code == FaultCode::Quota && self.pauses(&error) {
            return EventKind::QuotaPaused {
                task,
                attempt,
                error,
                anew: self.is_at_a_list(task),
            };
        }
        match self.wait_before_retry(task, &error) {
            // The next attempt would be asked of a spent budget (SEMANTICS T3).
            Some(_) if self.halt == Some(Halt::Spent) => self.cancelled(task),
            Some(wait) => EventKind::RetryScheduled {
                task,
                attempt,
                error,
                wait_ms: u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX),
            },
            None => self.failed_for_good(task, *error),
        }
    }

    /// Whether a quota is waited for. A run that leaves nothing behind can only wait by itself (SEMANTICS R1).
    fn pauses(&self, error: &Fault) -> bool {
        let OnQuota::Pause { max_wait } = self.plan.workflow().policy.on_quota else {
            return false;
        };
        let near = |reset| self.last_at.until(reset) <= max_wait;
        !self.ephemeral || error.reset_at.is_some_and(near)
    }

    fn failed_for_good(&self, task: TaskId, fault: Fault) -> Kind {
        EventKind::Settled {
            task,
            status: Status::Failed,
            value: None,
            error: Some(Box::new(self.named(task, fault))),
            reason: None,
        }
    }

    fn named(&self, task: TaskId, mut fault: Fault) -> Fault {
        let key = self.plan.task(task).key.to_string();
        fault.task.get_or_insert(key);
        fault
    }

    fn wait_before_retry(&self, task: TaskId, fault: &Fault) -> Option<Duration> {
        let declared = self.plan.task(task);
        let (retry, outage_only) = match loop_of(&self.plan, task) {
            Some(of_task) => (of_task.retry_phase.as_deref()?, true),
            None => (declared.retry.as_deref()?, false),
        };
        let series = self.task(task).detail.as_ref()?.series;
        let cleared = match self.halt {
            None | Some(Halt::Spent) => true,
            // Only clean-up still runs then, under its own rules.
            Some(Halt::Failing) => self.awaited,
            Some(Halt::Cancelled | Halt::Expired) => false,
        };
        let again = cleared
            && series < retry.attempts
            && (fault.unavailable || !outage_only)
            && is_retried(retry, fault);
        again.then(|| {
            let key = (&*self.id, &*declared.key, self.task(task).attempts);
            wait(retry, series, key, fault.retry_after_ms)
        })
    }

    /// The earliest deadline or wait that is over.
    fn due(&self, now: Now) -> Option<Kind> {
        if let Some((due, timer)) = self.timers.first()
            && *due <= now.mono
        {
            return Some(match timer {
                Timer::Run => EventKind::TimedOut { task: None },
                Timer::Task(task) => EventKind::TimedOut { task: Some(*task) },
                Timer::Retry(task) => EventKind::Woke(*task),
            });
        }
        let (due, task) = self.quota_timers.first()?;
        (*due <= now.wall).then_some(EventKind::Woke(*task))
    }

    fn admission(&self, task: Option<TaskId>) -> Option<Kind> {
        let task = task.filter(|_| self.active < self.concurrency)?;
        let run = self.task(task);
        let detail = run.detail.as_deref();
        let fresh = detail.is_none_or(|detail| detail.series == 0);
        let rounds = detail.map(|detail| &detail.rounds);
        // A round that was judged before an interruption needs no attempt to go on from there.
        match rounds.and_then(|rounds| rounds.judged) {
            Some(true) => return Some(self.accepted(task)),
            Some(false) => return Some(self.next_round(task)),
            None => {}
        }
        let view = AttemptView {
            attempt: 0,
            round: rounds.map_or(0, |rounds| rounds.round),
            phase: Phase::Attempt,
            quota: None,
        };
        if fresh && self.plan.task(task).when.is_some() {
            match walk::condition(self, task, view) {
                Ok(true) => {}
                Ok(false) => return Some(settled(task, Status::Skipped, Some(Reason::When))),
                Err(fault) => return Some(self.failed_for_good(task, *fault)),
            }
        }
        let (round, phase) = match (loop_of(&self.plan, task), rounds) {
            (None, _) => (0, Phase::Attempt),
            (Some(_), None) => (1, Phase::Attempt),
            (Some(_), Some(rounds)) => match rounds.candidate {
                Some(_) if rounds.round > 0 => (rounds.round, Phase::Check),
                Some(_) | None => (rounds.round.max(1), Phase::Attempt),
            },
        };
        let admitted = self.admitted(task, round, phase);
        let EventKind::Admitted { attempt, .. } = admitted else {
            return Some(admitted);
        };
        if walk::is_pure(&self.plan.task(task).kind) {
            let view = AttemptView { attempt, ..view };
            // A fault is met again, and dealt with, once the attempt is admitted.
            if let Ok(Next::Value(value)) = walk::next(self, task, view) {
                return Some(EventKind::Evaluated {
                    task,
                    attempt,
                    value: Payload::Json(value),
                });
            }
        }
        Some(admitted)
    }

    /// In a run that halts: cancels what has not started once all that runs has ended, then ends.
    fn halted(&self) -> Option<Kind> {
        if self.active > 0 || self.backoff > 0 {
            return None;
        }
        match self.tasks.get(self.sweep) {
            Some(_) => Some(self.cancelled(TaskId(self.sweep as u32))),
            None => self.finish(),
        }
    }

    fn finish(&self) -> Option<Kind> {
        let waits = self.active > 0 || self.backoff > 0 || !self.quota_timers.is_empty();
        if waits || (self.halt.is_none() && !self.ready.is_empty()) {
            return None;
        }
        let (status, error) = if let Some(fault) = &self.ended_by {
            match fault.code {
                FaultCode::Aborted => (Status::Cancelled, Some(fault.clone())),
                _ => (Status::Failed, Some(fault.clone())),
            }
        } else if let Some(fault) = &self.failure {
            (Status::Failed, Some(fault.clone()))
        } else if self.rejected > 0 {
            let fault = Fault::new(FaultCode::Rejected, "a gate was rejected");
            (Status::Rejected, Some(Box::new(fault)))
        } else if self.paused > 0 {
            (Status::Paused, None)
        } else {
            (Status::Done, None)
        };
        let (status, error, output) = match (status, error) {
            (Status::Done, None) => match walk::output(self) {
                Ok(value) => (Status::Done, None, Some(Payload::Json(value))),
                Err(fault) => (Status::Failed, Some(fault), None),
            },
            (status, error) => (status, error, None),
        };
        Some(EventKind::Finished {
            status,
            code: error.as_ref().map(|error| error.code),
            error,
            output,
        })
    }
}

fn exceeded(task: TaskId, code: FaultCode, message: String) -> Kind {
    EventKind::BudgetExceeded {
        task,
        message,
        code: (code != FaultCode::Limit).then_some(code),
        stops: false,
    }
}

fn settled(task: TaskId, status: Status, reason: Option<Reason<TaskId>>) -> Kind {
    EventKind::Settled {
        task,
        status,
        value: None,
        error: None,
        reason,
    }
}

/// Whether a fault is one of those that are tried again (SEMANTICS T2).
fn is_retried(retry: &Retry, fault: &Fault) -> bool {
    match fault.code {
        FaultCode::Aborted | FaultCode::Limit | FaultCode::Assertion => return false,
        _ => {}
    }
    match &retry.on {
        None => true,
        Some(on) => on.iter().any(|name| {
            **name == *fault.code.name() || (fault.unavailable && **name == *"unavailable")
        }),
    }
}

/// How long to wait after the n-th failure of a series (SEMANTICS T1).
fn wait(retry: &Retry, failures: u32, key: (&str, &str, u32), server_ms: Option<u64>) -> Duration {
    let doublings = if retry.exponential {
        failures.saturating_sub(1)
    } else {
        0
    };
    let factor = 1u32.checked_shl(doublings.min(32)).unwrap_or(u32::MAX);
    let mut wait = retry.delay.saturating_mul(factor);
    if let Some(limit) = retry.max_delay {
        wait = wait.min(limit);
    }
    if retry.full_jitter {
        wait = wait.mul_f64(draw(key));
    }
    wait.max(Duration::from_millis(server_ms.unwrap_or(0)))
}

/// A number from 0 up to 1 that is the same for the same attempt of the same run.
fn draw((run, task, attempt): (&str, &str, u32)) -> f64 {
    let mut hash = Sha256::new();
    hash.update(run.as_bytes());
    hash.update([0]);
    hash.update(task.as_bytes());
    hash.update([0]);
    hash.update(attempt.to_string().as_bytes());
    let bytes = hash.finalize();
    let mut first = [0u8; 8];
    first.copy_from_slice(&bytes[..8]);
    (u64::from_be_bytes(first) >> 11) as f64 / (1u64 << 53) as f64
}
