//! What differs between two states of a file, and what becomes of the tasks, in words.

use crate::report::{self, counted};
use crate::terminal::{Style, Terminal, one_line, visible};
use outpost_grammar::SourceMap;
use outpost_runtime::resume::{PlanChange, TaskAction, TaskPlan};

/// The most characters of an old or a new value.
const VALUE_CHARACTERS: usize = 400;

/// The most characters of an old or a new value in a line.
const SHOWN_CHARACTERS: usize = 40;

/// The most tasks that are told of one by one.
const TASKS_TOLD: usize = 50;

/// What is said of a change behind its name.
pub struct Titles {
    /// If the run cannot go on with it.
    pub incompatible: &'static str,
    /// If it has to be said what becomes of a result.
    pub needs_choice: &'static str,
}

impl Titles {
    /// What is said of changes in the file of a run.
    pub const OF_RUN: Titles = Titles {
        incompatible: "cannot change in a run that has begun",
        needs_choice: "was changed, and the task is done",
    };
}

/// A change, at its place in the file as it is now.
pub fn told(
    change: &PlanChange,
    sources: &SourceMap,
    titles: &Titles,
    terminal: &Terminal,
) -> String {
    let words = change_words(change);
    let what = part_words(change);
    let title = match change.verdict {
        "incompatible" => titles.incompatible,
        "needs-choice" => titles.needs_choice,
        _ => {
            let (file, line, column) = (&change.file, change.line, change.column);
            return format!("changed: {words} ({file}:{line}:{column})\n");
        }
    };
    let title = match (&change.new, change.verdict) {
        (None, "incompatible") if change.part == "task" => "was removed, and its run has begun",
        _ => title,
    };
    let title = format!("{what} {title}");
    let notes = [("was", &change.old), ("is", &change.new)]
        .into_iter()
        .map(|(word, value)| match value {
            Some(value) => format!("{word} {}", one_line(value, VALUE_CHARACTERS)),
            None => format!("{word} not there"),
        });
    match report::place(sources, &change.file, change.line, change.column) {
        Some(at) => report::excerpt(sources, at, &title, notes.collect(), terminal),
        None => format!("{title}: {words}\n"),
    }
}

/// What becomes of the tasks, a line each; of many only of those that run.
pub fn tasks(tasks: &[TaskPlan], terminal: &Terminal) -> String {
    let mut text = String::new();
    let reused = tasks.iter().filter(|task| task.action == TaskAction::Reuse);
    let many = tasks.len() > TASKS_TOLD;
    if many {
        text.push_str(&format!("  reuse    {}\n", counted(reused.count(), "task")));
    }
    let told = tasks
        .iter()
        .filter(|task| !many || task.action != TaskAction::Reuse);
    let width = tasks.iter().map(|task| task.key.chars().count()).max();
    let width = width.unwrap_or(0).min(terminal.width / 3);
    for task in told.clone().take(TASKS_TOLD) {
        let (word, style) = match task.action {
            TaskAction::Reuse => ("reuse  ", Style::Dim),
            TaskAction::Rerun => ("rerun  ", Style::Warn),
            TaskAction::Run => ("run    ", Style::Good),
            TaskAction::Blocked => ("blocked", Style::Bad),
        };
        text.push_str(&format!(
            "  {}  {:width$}  {}\n",
            terminal.paint(style, word),
            task.key,
            visible(&task.reason, false)
        ));
    }
    match told.count().saturating_sub(TASKS_TOLD) {
        0 => {}
        more => text.push_str(&format!("  … and {}\n", counted(more, "more task"))),
    }
    text
}

/// What was changed: `maxRounds` of `fix`.
fn part_words(change: &PlanChange) -> String {
    match &change.task {
        Some(task) if change.part == "task" => format!("`{task}`"),
        Some(task) => format!("`{}` of `{task}`", change.part),
        None => format!("`{}`", change.part),
    }
}

/// A change in one line: `maxRounds` of `fix` was 3, is 5.
pub fn change_words(change: &PlanChange) -> String {
    let what = part_words(change);
    let shown = |value: &str| one_line(value, SHOWN_CHARACTERS);
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!("{what} was {}, is {}", shown(old), shown(new)),
        (None, Some(new)) => format!("{what} was added: {}", shown(new)),
        (Some(old), None) => format!("{what} was removed: {}", shown(old)),
        (None, None) => format!("{what} was changed"),
    }
}
