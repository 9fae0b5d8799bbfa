//! Stopping a run before each durable write, and resuming it.
//!
//! *The same end*: equal status, code, output, task statuses and values.
//! What was in flight at the stop, or had failed, may be called once more; nothing else is; attempts grow by just those.

use crate::run::engine::{Asked, Call, Case, Resume, Session};
use libtest_mimic::Failed;
use outpost_runtime::event::{EventKind, Phase, Status, TurnEnd};
use outpost_runtime::record::{RunRecord, TaskRecord};
use std::collections::{BTreeMap, BTreeSet};

/// Stops before each durable write of the undisturbed run, in each of its starts.
pub fn everywhere(case: &Case, story: &[Session]) -> Result<(), Failed> {
    let mut known = vec![false; case.script.stops.len()];
    for (at, session) in story.iter().enumerate() {
        for stop in 0..session.writes {
            let place = Place { at, stop };
            stopped_before(case, story, place, &mut known).map_err(|why| {
                let write = stop + 1;
                format!("stopped before write {write} of start {}: {why}", at + 1)
            })?;
        }
    }
    match known.iter().position(|seen| !seen) {
        None => Ok(()),
        Some(at) => {
            let stop = &case.script.stops[at];
            Err(format!("never stopped in {} of round {}", stop.action, stop.round).into())
        }
    }
}

/// Where a run is stopped.
#[derive(Clone, Copy)]
struct Place {
    /// In which of its starts.
    at: usize,
    /// Before which write of that.
    stop: usize,
}

fn stopped_before(
    case: &Case,
    story: &[Session],
    place: Place,
    known: &mut [bool],
) -> Result<(), String> {
    let (before, at_ms) = match place.at.checked_sub(1) {
        None => (&story[..0], 0),
        Some(last) => (&story[..place.at], case.script.resume_at_ms[last]),
    };
    let first = match before.last() {
        None => case.start(Some(place.stop)),
        Some(last) => {
            let how = Resume {
                at_ms,
                retry_incomplete: case.script.retry_incomplete,
                stop: Some(place.stop),
            };
            case.resume(last, how)
        }
    };
    if let Ok(record) = &first.ended {
        return Err(format!("it was not stopped, but {:?}", record.status));
    }
    if first.left_in_flight > 0 {
        return Err(format!("{} actions were not awaited", first.left_in_flight));
    }
    if place.stop == 0 && !first.calls.is_empty() {
        return Err("something was called before the start was durable".to_owned());
    }
    if (place.at, place.stop) == (0, 0) {
        // The run never began.
        return Ok(());
    }
    let stand = Stand::of(&first.rows);
    let unpermitted = case.resume(&first, Resume::at(at_ms));
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
            let retry_incomplete = true;
            let how = Resume::at(at_ms);
            let how = Resume {
                retry_incomplete,
                ..how
            };
            case.resume(&first, how)
        }
    };
    let told = same_briefs(&first, &second, &stand);
    let mut after = vec![second];
    case.go_on(&mut after, place.at);
    let record = match after.last().map(|last| &last.ended) {
        Some(Ok(record)) => record,
        Some(Err(why)) => return Err(format!("not resumed: {why} ({stand:?})")),
        None => return Err("not resumed".to_owned()),
    };
    let wanted = story.last().and_then(|last| last.ended.as_ref().ok());
    let wanted = wanted.ok_or("the undisturbed run has no end")?;
    let calls = |sessions: &[Session]| -> Vec<Call> {
        let calls = sessions.iter().flat_map(|session| &session.calls);
        calls.cloned().collect()
    };
    let earlier = [calls(before), first.calls].concat();
    let all = [earlier.clone(), calls(&after)].concat();
    told?;
    if case.script.spent_anyway {
        return spent_anyway(case, wanted, record, &all);
    }
    same_end(wanted, record)?;
    same_calls(&calls(story), &all, &stand)?;
    same_attempts(wanted, record, &stand)?;
    same_usage(wanted, record, &stand)?;
    known_trace(case, earlier.last(), &all, &stand, known)
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
    /// Turns that have ended, by agent and number: none of them is ever taken again.
    turns: BTreeSet<(String, u32)>,
    /// The conversations in which turns go on that have not ended, by task and step.
    conversations: BTreeMap<(String, String), String>,
    /// Tasks that have reported tokens since their attempt began, without a receipt.
    reported: BTreeSet<String>,
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
                self.reported.remove(task);
            }
            EventKind::StepDone { task, step, .. } => {
                let (round, phase) = self.live.get(task).copied().unwrap_or_default();
                self.done
                    .insert((task.clone(), round, phase.name(), step.clone()));
            }
            EventKind::Turn { task, turn } => {
                let (round, phase) = self.live.get(task).copied().unwrap_or_default();
                self.turns.insert((turn.agent.clone(), turn.number));
                let of_step = (task.clone(), turn.step.clone());
                match (&turn.end, &turn.conversation) {
                    (TurnEnd::Answered(_), _) => {
                        self.conversations.remove(&of_step);
                        let step = (task.clone(), round, phase.name(), turn.step.clone());
                        self.done.insert(step);
                    }
                    (TurnEnd::Again(_) | TurnEnd::Pass | TurnEnd::Failed(_), Some(known)) => {
                        self.conversations.insert(of_step, known.clone());
                    }
                    (TurnEnd::Again(_) | TurnEnd::Pass | TurnEnd::Failed(_), None) => {}
                    (TurnEnd::Anew(_), _) => {
                        self.conversations.remove(&of_step);
                    }
                }
            }
            EventKind::Session {
                task,
                step,
                conversation,
                ..
            } => {
                let of_step = (task.clone(), step.to_string());
                self.conversations.insert(of_step, conversation.to_string());
            }
            EventKind::Usage { task, receipt, .. } => {
                if receipt.is_none() {
                    self.reported.insert(task.clone());
                }
            }
            EventKind::Candidate { task, round, .. } => {
                self.live.insert(task.clone(), (*round, Phase::Check));
                self.forget_conversations(task);
            }
            EventKind::Verdict { task, .. }
            | EventKind::Evaluated { task, .. }
            | EventKind::QuotaPaused { task, .. } => {
                self.live.remove(task);
                self.forget_conversations(task);
            }
            EventKind::FellBack { task, .. } => self.forget_conversations(task),
            EventKind::RetryScheduled { task, .. } => {
                self.live.remove(task);
                self.forget(task);
                self.forget_conversations(task);
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
                self.forget_conversations(task);
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

    fn has_ended(&self, asked: &Asked) -> bool {
        self.turns.contains(&(asked.agent.clone(), asked.number))
    }

    fn forget_conversations(&mut self, task: &str) {
        self.conversations.retain(|(of, _), _| of != task);
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
        let has_ended = call
            .turn
            .as_ref()
            .is_some_and(|asked| self.has_ended(asked));
        let phase_is_live = self.live.get(&call.task) == Some(&(call.round, call.phase));
        let task_runs_again =
            self.failed.contains(&call.task) || self.retrying.contains(&call.task);
        (phase_is_live || task_runs_again) && !self.done.contains(&step) && !has_ended
    }
}

/// A turn that was cut off is taken again: in its conversation if that is known, and then with a word about it.
fn same_briefs(first: &Session, second: &Session, stand: &Stand) -> Result<(), String> {
    let Some((call, cut)) = first
        .calls
        .last()
        .and_then(|call| Some((call, call.turn.as_ref()?)))
    else {
        return Ok(());
    };
    if stand.has_ended(cut) || stand.live.get(&call.task) != Some(&(call.round, call.phase)) {
        return Ok(());
    }
    let mut again = second.calls.iter().filter(|other| {
        let same = |asked: &Asked| (&asked.agent, asked.number) == (&cut.agent, cut.number);
        other.turn.as_ref().is_some_and(same)
    });
    let Some(again) = again.next().and_then(|call| call.turn.as_ref()) else {
        return Err(format!("not taken again: {cut:?}"));
    };
    let of_step = (call.task.clone(), call.step.clone());
    let fits = match stand.conversations.get(&of_step) {
        // A repair says all that is needed.
        Some(known) if cut.start == format!("continue {known}") => {
            again.start == cut.start && again.brief.ends_with(&cut.brief)
        }
        Some(known) => {
            again.start == format!("continue {known}")
                && again.brief.starts_with("You were interrupted")
                && again.brief.ends_with(&cut.brief)
        }
        None => again == cut,
    };
    match fits {
        true => Ok(()),
        false => Err(format!("cut off: {cut:?}\nand taken again: {again:?}")),
    }
}

/// The budget holds, whatever of it was lost with what ran at the stop.
fn spent_anyway(
    case: &Case,
    wanted: &RunRecord,
    record: &RunRecord,
    all: &[Call],
) -> Result<(), String> {
    let end = |record: &RunRecord| (record.status.name(), record.code);
    let attempts: u32 = record.tasks.iter().map(|task| task.attempts).sum();
    let limit = case.script.budget_attempts.unwrap_or(u64::MAX);
    if end(wanted) != end(record) {
        return Err(format!("another end: {:?}", end(record)));
    }
    match u64::from(attempts) <= limit && all.len() as u64 <= limit {
        true => Ok(()),
        false => Err(format!("{attempts} attempts, {} calls", all.len())),
    }
}

fn same_end(wanted: &RunRecord, record: &RunRecord) -> Result<(), String> {
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

fn same_calls(whole: &[Call], all: &[Call], stand: &Stand) -> Result<(), String> {
    let mut balance: BTreeMap<String, (i64, bool)> = BTreeMap::new();
    for call in whole {
        balance.entry(call.address()).or_default().0 -= 1;
    }
    for call in all {
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

fn same_attempts(wanted: &RunRecord, record: &RunRecord, stand: &Stand) -> Result<(), String> {
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

/// Tokens are counted again only of what ran again, and of that only what had been counted before the stop.
fn same_usage(wanted: &RunRecord, record: &RunRecord, stand: &Stand) -> Result<(), String> {
    for (before, after) in wanted.tasks.iter().zip(&record.tasks) {
        let key = &before.key;
        let tokens = |task: &TaskRecord| task.usage.as_ref().map(|used| (used.input, used.output));
        let (before, after) = (tokens(before), tokens(after));
        let again = stand.failed.contains(key) || stand.reported.contains(key);
        if before != after && !(again && after > before) {
            return Err(format!("{key} used {after:?}, not {before:?}: {stand:?}"));
        }
    }
    Ok(())
}

/// Where the calls for this stop are known, they must be those.
fn known_trace(
    case: &Case,
    last: Option<&Call>,
    all: &[Call],
    stand: &Stand,
    known: &mut [bool],
) -> Result<(), String> {
    let Some(last) = last else {
        return Ok(());
    };
    let stops = case.script.stops.iter().zip(known);
    for (stop, seen) in
        stops.filter(|(stop, _)| stop.action == last.short_address() && stop.round == last.round)
    {
        let trace: Vec<String> = all.iter().map(Call::named).collect();
        if trace == stop.trace {
            *seen = true;
        } else if stand.may_repeat(last) {
            return Err(format!("the calls were {trace:?}"));
        }
    }
    Ok(())
}
