//! A run in words: what is said at its end, and what `status` shows.

use crate::exit::Exit;
use crate::report::counted;
use crate::terminal::{Style, Terminal, one_line, visible};
use crate::words::{self, clock_time, count, elapsed, reason_words};
use outpost_runtime::clock::Timestamp;
use outpost_runtime::event::{Handover, Status};
use outpost_runtime::fault::{Fault, FaultCode};
use outpost_runtime::record::{RunRecord, RunStatus, TaskRecord, TaskStatus, TurnRecord};
use std::fmt::Write;
use std::time::Duration;

/// The most lines of a failing action's output that are shown.
const OUTPUT_LINES: usize = 20;

/// The most tasks that are told of one by one at the end of a run.
const TASKS_TOLD: usize = 10;

/// The longest message of a limit that is shown.
const MAX_MESSAGE: usize = 200;

/// What a summary needs besides the record.
pub struct Surroundings<'a> {
    /// Whether there is something on disk to come back to.
    pub saved: bool,
    /// The folder of the streams as the user would type it, if there are any.
    pub logs: Option<&'a str>,
    /// How long this start took.
    pub took: Duration,
    /// When it is shown.
    pub now: Timestamp,
    /// Where it is shown.
    pub terminal: Terminal,
}

/// What is said when a run ends.
pub fn at_the_end(record: &RunRecord, around: &Surroundings<'_>) -> String {
    let terminal = &around.terminal;
    let mut text = String::new();
    for task in told(record) {
        text.push_str(&trouble(task, around));
    }
    let head = terminal.paint(style_of(record.status), headline(record).as_str());
    let took = elapsed(around.took);
    let _ = writeln!(text, "{head} in {took}: {}", counts(record));
    if let Some(error) = run_error(record) {
        let _ = writeln!(text, "  {}", visible(&error.message, false));
    }
    text.push_str(&agents(record, "  "));
    if let Some(usage) = &record.usage {
        let _ = writeln!(text, "  tokens  {}", usage_words(usage));
    }
    if around.saved {
        let _ = writeln!(text, "  run     {}", record.run);
        if let Some(logs) = around.logs {
            let _ = writeln!(text, "  logs    {logs}");
        }
        for (at, command) in next_commands(record, around).iter().enumerate() {
            let name = match at {
                0 => "next",
                _ => "",
            };
            let _ = writeln!(text, "  {name:7} {}", terminal.paint(Style::Hint, command));
        }
    }
    text
}

/// Where a run stands, task by task.
pub fn status(record: &RunRecord, around: &Surroundings<'_>) -> String {
    let terminal = &around.terminal;
    let mut text = String::new();
    let head = terminal.paint(style_of(record.status), headline(record).as_str());
    let _ = writeln!(
        text,
        "{} {head}: workflow `{}` of {}, {}",
        terminal.paint(Style::Bold, &record.run),
        record.workflow,
        record.file,
        counts(record),
    );
    let until = record.finished.map(|finished| {
        let took = record.started.until(finished);
        format!(", ended {} after {}", clock_time(finished), elapsed(took))
    });
    let _ = writeln!(
        text,
        "started {}{}",
        clock_time(record.started),
        until.unwrap_or_default()
    );
    if let Some(error) = run_error(record) {
        let _ = writeln!(text, "{}", visible(&error.message, false));
    }
    text.push_str(&agents(record, ""));
    if let Some(usage) = &record.usage {
        let _ = writeln!(text, "{}", usage_words(usage));
    }
    text.push('\n');
    let keys = record.tasks.iter().map(|task| task.key.chars().count());
    let width = keys.max().unwrap_or(0).min(terminal.width / 3);
    for task in &record.tasks {
        text.push_str(&task_line(task, width, around));
    }
    let commands = next_commands(record, around);
    if around.logs.is_some() || !commands.is_empty() {
        text.push('\n');
    }
    if let Some(logs) = around.logs {
        let _ = writeln!(text, "logs  {logs}");
    }
    for (at, command) in commands.iter().enumerate() {
        let name = match at {
            0 => "next",
            _ => "",
        };
        let _ = writeln!(text, "{name:5} {}", terminal.paint(Style::Hint, command));
    }
    text
}

fn task_line(task: &TaskRecord, width: usize, around: &Surroundings<'_>) -> String {
    let terminal = &around.terminal;
    let (mark, style) = mark(task.status);
    let mut words = task.status.name().to_owned();
    if let Some(round) = task.rounds.last() {
        let _ = write!(words, ", round {} ({})", round.round, round.phase);
    } else if task.attempts > 1 {
        let _ = write!(words, ", {} attempts", task.attempts);
    }
    if let (Some(started), Some(finished)) = (task.started, task.finished) {
        let _ = write!(words, ", {}", elapsed(started.until(finished)));
    }
    if let Some(turn) = task.turns.last().filter(|turn| turn.error.is_none()) {
        let _ = write!(words, ", by {}", turn.agent);
    }
    if let Some(usage) = &task.usage {
        let sum = usage.input.saturating_add(usage.output);
        let tokens = if sum == 1 { "token" } else { "tokens" };
        let _ = write!(words, ", {} {tokens}", count(sum));
    }
    let why = why(task, around.now);
    if !why.is_empty() {
        let _ = write!(words, ": {why}");
    }
    let room = terminal.width.saturating_sub(width + 4).max(20);
    let key = format!("{:width$}", task.key);
    format!(
        "{} {}  {}\n",
        terminal.paint(style, mark),
        terminal.paint(Style::Bold, &key),
        one_line(&words, room)
    )
}

fn mark(status: TaskStatus) -> (&'static str, Style) {
    match status {
        TaskStatus::Waiting => ("·", Style::Dim),
        TaskStatus::Active => ("▸", Style::Hint),
        TaskStatus::Paused => ("‖", Style::Warn),
        TaskStatus::Settled(status) => match status {
            Status::Done => ("✓", Style::Good),
            Status::Failed | Status::Rejected => ("✗", Style::Bad),
            Status::Skipped | Status::Cancelled => ("-", Style::Dim),
            Status::Paused | Status::WaitingInput => ("‖", Style::Warn),
        },
    }
}

/// Why a task stands where it stands, if there is something to say.
fn why(task: &TaskRecord, now: Timestamp) -> String {
    match (&task.error, &task.reason) {
        (Some(error), _) if is_paused(task) => {
            let agent = limited(task).map(|turn| turn.agent.as_str());
            words::waits(agent, error.reset_at, now)
        }
        (Some(error), _) => error.message.clone(),
        (None, Some((reason, dependency))) => {
            reason_words(reason, dependency.as_deref().unwrap_or_default())
        }
        (None, None) => String::new(),
    }
}

/// Whether it waits for a quota.
fn is_paused(task: &TaskRecord) -> bool {
    match task.status {
        TaskStatus::Paused | TaskStatus::Settled(Status::Paused) => true,
        TaskStatus::Waiting | TaskStatus::Active | TaskStatus::Settled(_) => false,
    }
}

/// The turn whose limit ends when the wait of a task does: of a list, the first member to be had again.
fn limited(task: &TaskRecord) -> Option<&TurnRecord> {
    let reset = task.error.as_ref()?.reset_at;
    let is_it = |turn: &&TurnRecord| {
        let error = turn.error.as_ref();
        error.is_some_and(|error| error.code == FaultCode::Quota && error.reset_at == reset)
    };
    task.turns.iter().rev().find(is_it)
}

/// The tasks that went wrong or wait, the first few.
fn told(record: &RunRecord) -> impl Iterator<Item = &TaskRecord> {
    let tasks = record.tasks.iter().filter(|task| match task.status {
        TaskStatus::Paused => true,
        TaskStatus::Settled(status) => match status {
            Status::Failed | Status::Rejected | Status::Paused | Status::WaitingInput => true,
            Status::Done | Status::Skipped | Status::Cancelled => false,
        },
        TaskStatus::Waiting | TaskStatus::Active => false,
    });
    tasks.take(TASKS_TOLD)
}

/// What went wrong with a task: its own last output, then the message and its place.
fn trouble(task: &TaskRecord, around: &Surroundings<'_>) -> String {
    let terminal = &around.terminal;
    let (mark, style) = mark(task.status);
    let mut text = String::new();
    if let Some(output) = task
        .error
        .as_ref()
        .and_then(|error| error.output.as_deref())
    {
        text.push_str(&last_output(&task.key, output, around.logs, terminal));
    }
    let key = terminal.paint(Style::Bold, &task.key);
    let why = visible(&why(task, around.now), false).replace('\n', "\n    ");
    let _ = write!(
        text,
        "{} {key} {}",
        terminal.paint(style, mark),
        task.status.name()
    );
    if !why.is_empty() {
        let _ = write!(text, ": {why}");
    }
    if let Some(error) = task.error.as_ref().filter(|_| is_paused(task)) {
        let turn = limited(task).and_then(|turn| turn.error.as_ref());
        let message = turn.map_or(&error.message, |error| &error.message);
        let _ = write!(text, "\n    {}", one_line(message, MAX_MESSAGE));
    }
    if let Some(place) = task.error.as_ref().and_then(|error| error.span.as_ref()) {
        let _ = write!(text, "\n    at {place}");
    }
    if let Some(feedback) = task
        .error
        .as_ref()
        .and_then(|error| error.feedback.as_deref())
    {
        let feedback = visible(feedback, false).replace('\n', "\n    ");
        let _ = write!(text, "\n    the last rejection: {feedback}");
    }
    text.push('\n');
    text
}

/// The end of an output, with its cut marked and the place of the whole.
fn last_output(key: &str, output: &str, logs: Option<&str>, terminal: &Terminal) -> String {
    let output = visible(output.trim_end(), terminal.color);
    let lines: Vec<&str> = output.lines().collect();
    let cut = lines.len().saturating_sub(OUTPUT_LINES);
    let mut text = terminal.paint(Style::Dim, &format!("the last output of {key}:"));
    text.push('\n');
    if cut > 0 {
        let whole = logs.map(|logs| format!("; all of it is in {logs}"));
        let whole = whole.unwrap_or_default();
        let _ = writeln!(text, "    … {} before{whole}", counted(cut, "line"));
    }
    for line in &lines[cut..] {
        let _ = writeln!(text, "    {line}");
    }
    text
}

/// What went wrong with the run, if that was not said of a task.
fn run_error(record: &RunRecord) -> Option<&Fault> {
    let error = record.error.as_ref()?;
    match &error.task {
        Some(task) if record.task(task).is_some_and(|task| task.error.is_some()) => None,
        Some(_) | None => Some(error),
    }
}

fn headline(record: &RunRecord) -> String {
    match record.code {
        Some(code) if code.name() != record.status.name() => {
            format!("{} ({})", record.status.name(), code.name())
        }
        Some(_) | None => record.status.name().to_owned(),
    }
}

/// `3 tasks done, 1 skipped; 2 rounds`.
fn counts(record: &RunRecord) -> String {
    let mut names: Vec<(&'static str, usize)> = Vec::new();
    for task in &record.tasks {
        let name = task.status.name();
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
    }
    let mut words: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(at, (name, count))| match at {
            0 => format!("{} {name}", counted(*count, "task")),
            _ => format!("{count} {name}"),
        })
        .collect();
    if words.is_empty() {
        words.push("no tasks".to_owned());
    }
    let mut text = words.join(", ");
    let attempts: u64 = record
        .tasks
        .iter()
        .map(|task| u64::from(task.attempts))
        .sum();
    let rounds: usize = record.tasks.iter().map(|task| task.rounds.len()).sum();
    if rounds > 0 {
        let _ = write!(text, "; {}", counted(rounds, "round"));
    }
    let _ = write!(text, "; {}", counted(attempts as usize, "attempt"));
    text
}

/// Who took turns, and who handed over to whom: a line of all agents, then one for each hand-over.
fn agents(record: &RunRecord, indent: &str) -> String {
    let mut turns: Vec<(&str, usize, usize)> = Vec::new();
    for turn in record.tasks.iter().flat_map(|task| &task.turns) {
        // A turn that was stopped has not failed.
        let error = turn.error.as_ref();
        let failed = usize::from(error.is_some_and(|error| error.code != FaultCode::Aborted));
        match turns.iter_mut().find(|(agent, ..)| *agent == turn.agent) {
            Some((_, all, bad)) => {
                *all += 1;
                *bad += failed;
            }
            None => turns.push((&turn.agent, 1, failed)),
        }
    }
    if turns.is_empty() {
        return String::new();
    }
    let words: Vec<String> = turns
        .iter()
        .map(|(agent, all, bad)| match bad {
            0 => format!("{agent} ({})", counted(*all, "turn")),
            1 if *all == 1 => format!("{agent} (1 turn, failed)"),
            bad if bad == all => format!("{agent} ({all} turns, all failed)"),
            bad => format!("{agent} ({}, {bad} failed)", counted(*all, "turn")),
        })
        .collect();
    let mut lines = vec![words.join(", ")];
    let mut handed: Vec<(String, usize)> = Vec::new();
    for task in &record.tasks {
        for one in &task.fallback {
            let why = match one.failure {
                Handover::Quota => "at a limit",
                Handover::Unavailable => "at an outage",
            };
            let line = format!("{}: {} handed over to {} {why}", task.key, one.from, one.to);
            match handed.iter_mut().find(|(known, _)| *known == line) {
                Some((_, times)) => *times += 1,
                None => handed.push((line, 1)),
            }
        }
    }
    let more = handed.len().saturating_sub(TASKS_TOLD);
    lines.extend(
        handed
            .into_iter()
            .take(TASKS_TOLD)
            .map(|(line, times)| match times {
                1 => line,
                _ => format!("{line}, {times} times"),
            }),
    );
    if more > 0 {
        lines.push(format!("and {} more", counted(more, "hand-over")));
    }
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let name = match at {
            0 => "agents",
            _ => "",
        };
        let _ = writeln!(text, "{indent}{name:6}  {line}");
    }
    text
}

fn usage_words(usage: &outpost_runtime::event::Usage) -> String {
    let mut text = format!("{} input, {} output tokens", usage.input, usage.output);
    if let Some(cached) = usage.cached {
        let _ = write!(text, ", {cached} from a cache");
    }
    if usage.complete == Some(false) {
        text.push_str("; at least, a report was incomplete");
    }
    text
}

/// What to type next.
fn next_commands(record: &RunRecord, around: &Surroundings<'_>) -> Vec<String> {
    let run = &record.run;
    let logs = told(record)
        .find(|task| around.logs.is_some() && (task.kind == "task" || task.kind == "loop"))
        .map(|task| format!("outpostc logs {run} {}", task.key));
    let retry = format!("outpostc resume {run} --retry-incomplete");
    match (record.status, record.code) {
        (RunStatus::Running, _) => vec![format!("outpostc events {run} --follow")],
        (RunStatus::Interrupted, _) => vec![retry],
        (RunStatus::Ended(Status::Paused | Status::WaitingInput), _) => {
            vec![format!("outpostc resume {run}")]
        }
        // What is final cannot be resumed.
        (RunStatus::Ended(Status::Failed), Some(FaultCode::Exhausted)) => {
            logs.into_iter().collect()
        }
        (RunStatus::Ended(Status::Failed), _) => logs.into_iter().chain([retry]).collect(),
        (RunStatus::Ended(Status::Cancelled), _) => vec![retry],
        (RunStatus::Ended(Status::Done | Status::Rejected | Status::Skipped), _) => Vec::new(),
    }
}

/// The style of a run's status.
pub fn style_of(status: RunStatus) -> Style {
    match status {
        RunStatus::Running => Style::Hint,
        RunStatus::Interrupted => Style::Warn,
        RunStatus::Ended(status) => mark(TaskStatus::Settled(status)).1,
    }
}

/// The exit status of a run (SEMANTICS R7).
pub fn exit_of(record: &RunRecord, interrupted: Option<Exit>) -> Exit {
    match (record.status, record.code) {
        (RunStatus::Ended(Status::Done | Status::Skipped), _) => Exit::Done,
        (RunStatus::Ended(Status::Failed), Some(code)) => match code {
            FaultCode::Limit | FaultCode::UsageUnavailable => Exit::Budget,
            FaultCode::Exhausted => Exit::Exhausted,
            _ => Exit::Failed,
        },
        (RunStatus::Ended(Status::Failed), None) => Exit::Failed,
        (RunStatus::Ended(Status::Rejected), _) => Exit::Rejected,
        (RunStatus::Ended(Status::Paused | Status::WaitingInput), _) => Exit::Waiting,
        (RunStatus::Ended(Status::Cancelled) | RunStatus::Running | RunStatus::Interrupted, _) => {
            interrupted.unwrap_or(Exit::Interrupted)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use outpost_compiler::program::TaskId;
    use outpost_runtime::event::{
        Event, EventKind, Payload, Phase, PlanPayload, Reason, Started, TaskHead,
    };
    use outpost_stdlib::Value;

    fn record() -> RunRecord {
        let head = |key: &str, kind: &str| TaskHead {
            key: key.into(),
            kind: kind.into(),
        };
        let started = Started {
            run: "k3x9q2ab".into(),
            file: "ci.outpost".into(),
            workflow: "fix-tests".into(),
            outpostc: "0.1.0".into(),
            inputs: Vec::new(),
            sources: Vec::new(),
            concurrency: 8,
            budget_attempts: None,
            tasks: vec![
                head("deps", "task"),
                head("fix", "loop"),
                head("publish", "task"),
            ],
            plan: PlanPayload::Sha256(String::new()),
        };
        let (deps, fix, publish) = (TaskId(0), TaskId(1), TaskId(2));
        let mut error = Fault::new(FaultCode::Exhausted, "the last permitted check rejected");
        error.task = Some("fix".into());
        error.feedback = Some("2 tests fail\n\u{1b}[2Jx".into());
        error.output = Some((1..=22).map(|n| format!("line {n}\n")).collect());
        let admitted = |task, round| EventKind::Admitted {
            task,
            attempt: 1,
            round,
            phase: Phase::Attempt,
        };
        let kinds = vec![
            EventKind::Started(Box::new(started)),
            admitted(deps, 0),
            EventKind::Settled {
                task: deps,
                status: Status::Done,
                value: Some(Payload::Json(Value::Null)),
                error: None,
                reason: None,
            },
            admitted(fix, 1),
            EventKind::Verdict {
                task: fix,
                round: 1,
                done: false,
                feedback: Some("2 tests fail".into()),
                stalled: 0,
            },
            EventKind::Settled {
                task: fix,
                status: Status::Failed,
                value: None,
                error: Some(Box::new(error.clone())),
                reason: None,
            },
            EventKind::Settled {
                task: publish,
                status: Status::Skipped,
                value: None,
                error: None,
                reason: Some(Reason::Dependency(fix)),
            },
            EventKind::Finished {
                status: Status::Failed,
                code: Some(FaultCode::Exhausted),
                error: Some(Box::new(error)),
                output: None,
            },
        ];
        let mut record = RunRecord::default();
        for (at, kind) in kinds.into_iter().enumerate() {
            record.apply(&Event {
                seq: at as u64 + 1,
                at: Timestamp(1_790_000_000_000 + at as i64 * 700),
                mono: Duration::ZERO,
                kind,
            });
        }
        record
    }

    const AROUND: Surroundings<'_> = Surroundings {
        saved: true,
        logs: Some(".outpost/runs/k3x9q2ab/logs"),
        took: Duration::from_millis(4900),
        now: Timestamp(1_790_000_010_000),
        terminal: Terminal {
            color: false,
            live: false,
            dumb: false,
            width: 80,
        },
    };

    #[test]
    fn a_failure_is_told_with_its_output_and_what_to_do() {
        insta::assert_snapshot!(at_the_end(&record(), &AROUND));
    }

    #[test]
    fn a_status_lists_the_tasks() {
        insta::with_settings!({ filters => vec![(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "[time]")] }, {
            insta::assert_snapshot!(status(&record(), &AROUND));
        });
    }

    #[test]
    fn an_exhausted_loop_has_its_own_exit_code() {
        assert_eq!(exit_of(&record(), None), Exit::Exhausted);
    }
}
