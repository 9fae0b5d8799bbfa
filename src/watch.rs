//! Watches a run: what a person sees of its events, and the events as lines of JSON.

use crate::progress::{Ending, Progress, elapsed};
use crate::terminal::one_line;
use outpost_runtime::{Observer, PublicEvent};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;
use std::time::Duration;

/// The longest piece of a message in a line.
const MAX_WORDS: usize = 200;

/// Shows progress.
pub struct Watcher {
    progress: Rc<RefCell<Progress>>,
}

impl Watcher {
    /// Watches on a display.
    pub fn new(progress: Rc<RefCell<Progress>>) -> Watcher {
        Watcher { progress }
    }
}

impl Observer for Watcher {
    fn event(&mut self, event: &PublicEvent) -> Result<(), String> {
        show(&mut self.progress.borrow_mut(), event);
        Ok(())
    }
}

/// Writes each event as a line of JSON.
pub struct EventLines<W> {
    to: W,
}

impl<W: Write> EventLines<W> {
    /// Writes to a file or a stream.
    pub fn new(to: W) -> EventLines<W> {
        EventLines { to }
    }
}

impl<W: Write> Observer for EventLines<W> {
    fn event(&mut self, event: &PublicEvent) -> Result<(), String> {
        let mut line = serde_json::to_string(event).map_err(|error| error.to_string())?;
        line.push('\n');
        let written = self.to.write_all(line.as_bytes());
        written
            .and_then(|()| self.to.flush())
            .map_err(|error| error.to_string())
    }
}

/// Shows one event.
fn show(progress: &mut Progress, event: &PublicEvent) {
    let task = text(event, "task");
    match event.kind {
        "start" => progress.expect(number(event, "tasks") as usize),
        "attempt" if number(event, "round") == 0 => match number(event, "attempt") {
            1 => progress.task(task, "started"),
            attempt => progress.task(task, &format!("attempt {attempt}")),
        },
        "loop" => progress.task(task, &of_loop(event)),
        "stalled" => progress.say(&format!("warning: {task}: {}", words(event))),
        "retry" | "quota" => progress.task(task, &words(event)),
        "task" => progress.settled(task, ending(text(event, "status")), &reason(event)),
        "stop" => progress.say(&words(event)),
        "budget-exceeded" => progress.say(&words(event)),
        _ => {}
    }
}

/// An event in words, for those who read rather than parse.
pub fn words(event: &PublicEvent) -> String {
    match event.kind {
        "start" => format!(
            "workflow `{}` of {}",
            text(event, "workflow"),
            text(event, "file")
        ),
        "resume" => match event.get("retryIncomplete") {
            Some(Json::Bool(true)) => "with permission to run incomplete tasks again".to_owned(),
            _ => String::new(),
        },
        "attempt" => match number(event, "round") {
            0 => format!("attempt {}", number(event, "attempt")),
            round => format!("attempt {}, round {round}", number(event, "attempt")),
        },
        "step" => format!("`{}` is done", text(event, "step")),
        "loop" => of_loop(event),
        "stalled" => format!(
            "{} rounds in a row were equal; the loop may be stuck",
            number(event, "rounds")
        ),
        "retry" => {
            let wait = elapsed(Duration::from_millis(number(event, "waitMs")));
            format!(
                "attempt {} failed, the next one in {wait}: {}",
                number(event, "attempt"),
                message(event.get("error"))
            )
        }
        "quota" => match event.get("resetAt").and_then(Json::as_str) {
            Some(reset) => format!("waits for its quota until {reset}"),
            None => "waits for its quota; when it is renewed is not known".to_owned(),
        },
        "usage" => event.get("usage").map(usage_words).unwrap_or_default(),
        "task" => {
            let reason = reason(event);
            let status = text(event, "status");
            match reason.is_empty() {
                true => status.to_owned(),
                false => format!("{status}: {reason}"),
            }
        }
        "stop" => stop_words(text(event, "reason"), text(event, "task")),
        "budget-exceeded" => text(event, "message").to_owned(),
        "finish" => match event.get("error") {
            Some(error) => format!("{}: {}", text(event, "status"), message(Some(error))),
            None => text(event, "status").to_owned(),
        },
        _ => String::new(),
    }
}

fn of_loop(event: &PublicEvent) -> String {
    let round = number(event, "round");
    match (text(event, "phase"), event.get("done")) {
        ("complete", Some(Json::Bool(true))) => format!("round {round} accepted"),
        ("complete", _) => {
            let feedback = text(event, "feedback");
            let first = feedback.lines().find(|line| !line.trim().is_empty());
            let first = first.map(|line| format!(": {}", one_line(line, MAX_WORDS)));
            format!("round {round} rejected{}", first.unwrap_or_default())
        }
        (phase, _) => format!("round {round}, {phase}"),
    }
}

fn stop_words(reason: &str, task: &str) -> String {
    match (reason, task) {
        ("timeout", "") => "the run's time is up".to_owned(),
        ("timeout", task) => format!("the time of `{task}` is up"),
        (_, _) => "stopping: what runs is ended and saved; once more stops at once".to_owned(),
    }
}

/// Why a task ended as it did, if there is something to say.
fn reason(event: &PublicEvent) -> String {
    match (event.get("error"), text(event, "reason")) {
        (Some(error), _) => message(Some(error)),
        (None, reason) => reason_words(reason, text(event, "dependency")),
    }
}

/// Why a task did not run, in words.
pub fn reason_words(reason: &str, dependency: &str) -> String {
    match reason {
        "when" => "its condition is false".to_owned(),
        "dependency" => format!("`{dependency}` did not end well"),
        "trigger" => "nothing it waits for has failed".to_owned(),
        "stopped" => "another task failed".to_owned(),
        "interrupted" => "the run was interrupted".to_owned(),
        "run-timeout" => "the run's time was up".to_owned(),
        "budget" => "the budget is spent".to_owned(),
        other => other.to_owned(),
    }
}

/// Tokens in words: `1200 input, 300 output tokens`.
fn usage_words(usage: &Json) -> String {
    let count = |key: &str| usage.get(key).and_then(Json::as_u64).unwrap_or(0);
    format!(
        "{} input, {} output tokens",
        count("input"),
        count("output")
    )
}

fn message(error: Option<&Json>) -> String {
    let message = error.and_then(|error| error.get("message"));
    let message = message.and_then(Json::as_str).unwrap_or_default();
    one_line(message, MAX_WORDS)
}

fn ending(status: &str) -> Ending {
    match status {
        "done" => Ending::Done,
        "failed" => Ending::Failed,
        "skipped" => Ending::Skipped,
        "cancelled" => Ending::Cancelled,
        "paused" => Ending::Paused,
        "rejected" => Ending::Rejected,
        _ => Ending::WaitingInput,
    }
}

fn text<'e>(event: &'e PublicEvent, field: &str) -> &'e str {
    event.get(field).and_then(Json::as_str).unwrap_or_default()
}

fn number(event: &PublicEvent, field: &str) -> u64 {
    event.get(field).and_then(Json::as_u64).unwrap_or(0)
}
