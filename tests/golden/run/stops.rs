//! Stopping a run before each durable write, and resuming it.
//!
//! *The same end*: equal status, code, output, task statuses and values.
//! What was in flight at the stop, or had failed, may be called once more; nothing else is; attempts grow by just those.

use crate::run::engine::{Call, Case, Session};
use libtest_mimic::Failed;
use outpost_runtime::event::{EventKind, Phase, Status, TurnEnd};
use outpost_runtime::record::RunRecord;
use std::collections::{BTreeMap, BTreeSet};

/// Stops before each durable write of the undisturbed run.
pub fn everywhere(case: &Case, whole: &Session) -> Result<(), Failed> {
    let mut known = vec![false; case.script.stops.len()];
    for stop in 0..whole.writes {
        stopped_before(case, whole, stop, &mut known)
            .map_err(|why| format!("stopped before write {}: {why}", stop + 1))?;
    }
    match known.iter().position(|seen| !seen) {
        None => Ok(()),
        Some(at) => {
            let stop = &case.script.stops[at];
            Err(format!("never stopped in {} of round {}", stop.action, stop.round).into())
        }
    }
}

fn stopped_before(
    case: &Case,
    whole: &Session,
    writes: usize,
    known: &mut [bool],
) -> Result<(), String> {
    let first = case.start(Some(writes));
    if let Ok(record) = &first.ended {
        return Err(format!("it was not stopped, but {:?}", record.status));
    }
    if first.left_in_flight > 0 {
        return Err(format!("{} actions were not awaited", first.left_in_flight));
    }
    if writes == 0 {
        // The run never began: nothing may have happened.
        return match first.calls.is_empty() {
            true => Ok(()),
            false => Err("something was called before the start was durable".to_owned()),
        };
    }
    let stand = Stand::of(&first.rows);
    let unpermitted = case.resume(&first, false);
    let second = match stand.needs_permission() {
        false => unpermitted,
        true => {
            if let Ok(record) = &unpermitted.ended {
                return Err(format!(
                    "resumed without permission, and {:?}: {stand:?}",
                    record.status
                ));
            }
            if !unpermitted.refused
                || !unpermitted.calls.is_empty()
                || unpermitted.rows != first.rows
            {
                return Err(format!(
                    "not merely refused without permission: {:?}",
                    unpermitted.calls
                ));
            }
            case.resume(&first, true)
        }
    };
    let record = second
        .ended
        .as_ref()
        .map_err(|why| format!("not resumed: {why} ({stand:?})"))?;
    same_end(whole, record)?;
    same_calls(whole, &first, &second, &stand)?;
    same_attempts(whole, record, &stand)?;
    known_trace(case, &first, &second, known)
}

/// Where the tasks stood when a run was stopped, by what is durable.
#[derive(Debug, Default)]
struct Stand {
    /// Tasks with an attempt in flight, with round and phase.
    live: BTreeMap<String, (u64, Phase)>,
    /// Tasks whose next try is scheduled.
    retrying: BTreeSet<String>,
    /// Tasks that ended badly after an attempt, and may be run again.
    failed: BTreeSet<String>,
    /// Steps that are done, with task, round and phase: never to be called again.
    done: BTreeSet<(String, u64, &'static str, String)>,
    admitted: BTreeSet<String>,
}

impl Stand {
    fn of(kinds: &[EventKind<String>]) -> Stand {
        let mut stand = Stand::default();
        for kind in kinds {
            stand.apply(kind);
        }
        stand
    }

    fn apply(&mut self, kind: &EventKind<String>) {
        match kind {
            EventKind::Admitted {
                task, round, phase, ..
            } => {
                self.live.insert(task.clone(), (*round, *phase));
                self.retrying.remove(task);
                self.admitted.insert(task.clone());
            }
            EventKind::StepDone { task, step, .. } => {
                let (round, phase) = self.live.get(task).copied().unwrap_or_default();
                self.done
                    .insert((task.clone(), round, phase.name(), step.clone()));
            }
            EventKind::Turn { task, turn } => {
                let (round, phase) = self.live.get(task).copied().unwrap_or_default();
                if let TurnEnd::Answered(_) = turn.end {
                    let step = (task.clone(), round, phase.name(), turn.step.clone());
                    self.done.insert(step);
                }
            }
            EventKind::Candidate { task, round, .. } => {
                self.live.insert(task.clone(), (*round, Phase::Check));
            }
            EventKind::Verdict { task, .. }
            | EventKind::Evaluated { task, .. }
            | EventKind::QuotaPaused { task, .. } => {
                self.live.remove(task);
            }
            EventKind::RetryScheduled { task, .. } => {
                self.live.remove(task);
                self.forget(task);
                self.retrying.insert(task.clone());
            }
            EventKind::Settled {
                task,
                status,
                error,
                ..
            } => {
                self.live.remove(task);
                self.retrying.remove(task);
                let exhausted = error
                    .as_ref()
                    .is_some_and(|error| error.name.as_deref() == Some("LoopTaskExhausted"));
                let ended_badly = matches!(status, Status::Failed | Status::Cancelled);
                if ended_badly && !exhausted && self.admitted.contains(task) {
                    self.failed.insert(task.clone());
                    self.forget(task);
                }
            }
            EventKind::Started(_)
            | EventKind::Resumed(_)
            | EventKind::Session { .. }
            | EventKind::FellBack { .. }
            | EventKind::Usage { .. }
            | EventKind::CancelRequested { .. }
            | EventKind::TimedOut { .. }
            | EventKind::BudgetExceeded { .. }
            | EventKind::Finished { .. }
            | EventKind::Launched(_)
            | EventKind::Stopping(_)
            | EventKind::Woke(_) => {}
        }
    }

    /// A try that failed is made from the beginning.
    fn forget(&mut self, task: &str) {
        self.done.retain(|(of, ..)| of != task);
    }

    fn needs_permission(&self) -> bool {
        !(self.live.is_empty() && self.retrying.is_empty() && self.failed.is_empty())
    }

    /// Whether an action may be called once more.
    fn may_repeat(&self, call: &Call) -> bool {
        let step = (
            call.task.clone(),
            call.round,
            call.phase.name(),
            call.step.clone(),
        );
        let phase_is_live = self.live.get(&call.task) == Some(&(call.round, call.phase));
        let task_runs_again =
            self.failed.contains(&call.task) || self.retrying.contains(&call.task);
        (phase_is_live || task_runs_again) && !self.done.contains(&step)
    }
}

fn same_end(whole: &Session, record: &RunRecord) -> Result<(), String> {
    let Ok(wanted) = &whole.ended else {
        return Err("the undisturbed run has no end".to_owned());
    };
    let end = |record: &RunRecord| {
        let tasks: Vec<_> = record
            .tasks
            .iter()
            .map(|task| (task.key.clone(), task.status.name(), task.value.clone()))
            .collect();
        format!(
            "{} {:?} {:?} {tasks:?}",
            record.status.name(),
            record.code,
            record.output
        )
    };
    match end(wanted) == end(record) {
        true => Ok(()),
        false => Err(format!(
            "another end:\n  {}\nthan\n  {}",
            end(record),
            end(wanted)
        )),
    }
}

fn same_calls(
    whole: &Session,
    first: &Session,
    second: &Session,
    stand: &Stand,
) -> Result<(), String> {
    let mut balance: BTreeMap<String, (i64, bool)> = BTreeMap::new();
    for call in &whole.calls {
        balance.entry(call.address()).or_default().0 -= 1;
    }
    for call in first.calls.iter().chain(&second.calls) {
        let entry = balance.entry(call.address()).or_default();
        entry.0 += 1;
        entry.1 |= stand.may_repeat(call);
    }
    let wrong = balance
        .iter()
        .find(|(_, (extra, may_repeat))| !(0..=i64::from(*may_repeat)).contains(extra));
    match wrong {
        None => Ok(()),
        Some((address, (extra, _))) => {
            Err(format!("{address} was called {extra:+} times: {stand:?}"))
        }
    }
}

fn same_attempts(whole: &Session, record: &RunRecord, stand: &Stand) -> Result<(), String> {
    let Ok(wanted) = &whole.ended else {
        return Err("the undisturbed run has no end".to_owned());
    };
    for (before, after) in wanted.tasks.iter().zip(&record.tasks) {
        let key = &before.key;
        let again = stand.live.contains_key(key)
            || stand.failed.contains(key)
            || stand.retrying.contains(key);
        let more = i64::from(after.attempts) - i64::from(before.attempts);
        if !(0..=i64::from(again)).contains(&more) {
            return Err(format!("{key} has {more:+} attempts: {stand:?}"));
        }
    }
    Ok(())
}

/// Where the calls for this stop are known, they must be those.
fn known_trace(
    case: &Case,
    first: &Session,
    second: &Session,
    known: &mut [bool],
) -> Result<(), String> {
    let Some(last) = first.calls.last() else {
        return Ok(());
    };
    let stops = case.script.stops.iter().zip(known);
    for (stop, seen) in
        stops.filter(|(stop, _)| stop.action == last.short_address() && stop.round == last.round)
    {
        let trace: Vec<String> = first
            .calls
            .iter()
            .chain(&second.calls)
            .map(Call::named)
            .collect();
        if trace == stop.trace {
            *seen = true;
        } else if Stand::of(&first.rows).may_repeat(last) {
            return Err(format!("the calls were {trace:?}"));
        }
    }
    Ok(())
}
