//! From events to what a person sees while a run goes on.

use crate::progress::{Ending, Progress};
use outpost_runtime::event::{EventKind, Phase, Reason, Status};
use outpost_runtime::fault::Fault;

/// Shows one event; `name` gives the key of a task.
pub fn show<'a, T>(
    progress: &mut Progress,
    event: &'a EventKind<T>,
    name: impl Fn(&'a T) -> &'a str,
) {
    match event {
        EventKind::Admitted {
            task,
            attempt,
            round,
            phase,
        } => progress.task(name(task), &admitted(*attempt, *round, *phase)),
        EventKind::Candidate { task, round, .. } => {
            progress.task(name(task), &format!("round {round}, check"));
        }
        EventKind::Verdict {
            task,
            round,
            done: false,
            feedback,
            stalled,
        } => {
            let words = rejected(*round, feedback.as_deref().unwrap_or_default(), *stalled);
            progress.task(name(task), &words);
        }
        EventKind::RetryScheduled {
            task,
            attempt,
            error,
            wait_ms,
        } => {
            let wait = crate::progress::elapsed(std::time::Duration::from_millis(*wait_ms));
            let words = format!("attempt {attempt} failed, next in {wait}: {}", error.message);
            progress.task(name(task), &words);
        }
        EventKind::QuotaPaused { task, error, .. } => {
            progress.task(name(task), &waiting_for_quota(error));
        }
        EventKind::Evaluated { task, .. } => progress.settled(name(task), Ending::Done, ""),
        EventKind::Settled {
            task,
            status,
            error,
            reason,
            ..
        } => {
            let words = match (error, reason) {
                (Some(error), _) => error.message.clone(),
                (None, Some(reason)) => reason_words(reason, name),
                (None, None) => String::new(),
            };
            progress.settled(name(task), ending(*status), &words);
        }
        EventKind::CancelRequested { .. } => {
            progress.say("stopping: what runs is ended and saved; once more stops at once");
        }
        EventKind::TimedOut { task } => match task {
            Some(task) => progress.task(name(task), "its time is up"),
            None => progress.say("the run's time is up"),
        },
        EventKind::BudgetExceeded { message, .. } => {
            progress.say(&format!("the budget is spent: {message}"));
        }
        EventKind::Started(_)
        | EventKind::Resumed(_)
        | EventKind::StepDone { .. }
        | EventKind::Verdict { done: true, .. }
        | EventKind::Usage { .. }
        | EventKind::Finished { .. }
        | EventKind::Launched(_)
        | EventKind::Stopping(_)
        | EventKind::Woke(_) => {}
    }
}

fn admitted(attempt: u32, round: u64, phase: Phase) -> String {
    match (round, attempt) {
        (0, 1) => "started".to_owned(),
        (0, _) => format!("attempt {attempt}"),
        (_, _) => format!("round {round}, {}", phase.name()),
    }
}

fn rejected(round: u64, feedback: &str, stalled: u64) -> String {
    let first = feedback.lines().find(|line| !line.trim().is_empty());
    let first = first.map(|line| format!(": {}", line.trim())).unwrap_or_default();
    match stalled {
        0 => format!("round {round} rejected{first}"),
        _ => format!("round {round} rejected with the same words as the last{first}"),
    }
}

fn waiting_for_quota(error: &Fault) -> String {
    match error.reset_at {
        Some(reset) => format!("waits for its quota until {}", reset.rfc3339()),
        None => "waits for its quota; when it is renewed is not known".to_owned(),
    }
}

/// Why a task did not run.
pub fn reason_words<'a, T>(reason: &'a Reason<T>, name: impl Fn(&'a T) -> &'a str) -> String {
    match reason {
        Reason::When => "its condition is false".to_owned(),
        Reason::Dependency(task) => format!("`{}` did not end well", name(task)),
        Reason::Trigger => "nothing it waits for has failed".to_owned(),
        Reason::Stopped => "another task failed".to_owned(),
        Reason::Interrupted => "the run was interrupted".to_owned(),
        Reason::RunTimeout => "the run's time was up".to_owned(),
        Reason::Budget => "the budget is spent".to_owned(),
    }
}

fn ending(status: Status) -> Ending {
    match status {
        Status::Done => Ending::Done,
        Status::Failed => Ending::Failed,
        Status::Skipped => Ending::Skipped,
        Status::Cancelled => Ending::Cancelled,
        Status::Rejected => Ending::Rejected,
        Status::Paused => Ending::Paused,
        Status::WaitingInput => Ending::WaitingInput,
    }
}
