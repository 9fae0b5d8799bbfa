//! Tasks: `for`, races, retries, caches, triggers, keys of called workflows.

use outpost_grammar::{Code, Diagnostic, Location};
use std::collections::HashMap;

use crate::context::Context;
use crate::lower::workflow::Lowered;
use crate::rules::names::DUPLICATE_NAME;
use crate::rules::options::{MISSING_PROPERTY, OUT_OF_RANGE};

/// A `for` where nothing is repeated.
pub const MISPLACED_FOR: Code = Code("misplaced-for");
/// `parallel` or `key` without a `for`.
pub const OPTION_WITHOUT_FOR: Code = Code("option-without-for");
/// A key that is the same for all items.
pub const SAME_KEY: Code = Code("same-key");
/// `score` and `select` that do not go together.
pub const SCORE_AND_SELECT: Code = Code("score-and-select");
/// A `trigger` of a task that waits for nothing.
pub const TRIGGER_ALONE: Code = Code("trigger-alone");
/// A cache of an agent's whole result.
pub const CACHE_OF_AGENT: Code = Code("cache-of-agent");
/// A retry that can never happen, or whose waits contradict each other.
pub const BAD_RETRY: Code = Code("bad-retry");

pub(crate) const CODES: &[Code] = &[
    MISPLACED_FOR,
    OPTION_WITHOUT_FOR,
    SAME_KEY,
    SCORE_AND_SELECT,
    TRIGGER_ALONE,
    CACHE_OF_AGENT,
    BAD_RETRY,
];

pub(crate) fn misplaced_for(at: Location, keyword: &str) -> Diagnostic {
    Diagnostic::error(
        MISPLACED_FOR,
        at,
        format!("`for` may not stand on `{keyword}`"),
    )
    .help("`task`, `loop` and `race` can be repeated for the items of a list")
}

pub(crate) fn option_without_for(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        OPTION_WITHOUT_FOR,
        at,
        format!("`{name}` needs a `for` in the header"),
    )
    .help("write `task name for x in list { … }`, or remove it")
}

pub(crate) fn same_key(at: Location, variable: &str) -> Diagnostic {
    Diagnostic::error(
        SAME_KEY,
        at,
        "this `key` is the same for all items, and must be unique",
    )
    .help(format!("read the item in it: `\"${{{variable}}}\"`"))
}

pub(crate) fn race_without_list(at: Location) -> Diagnostic {
    Diagnostic::error(
        MISSING_PROPERTY,
        at,
        "this race has no candidates: its `for` is missing",
    )
    .help("write `race name for x in list { … }`")
}

pub(crate) fn race_too_large(at: Location, found: usize, most: usize) -> Diagnostic {
    Diagnostic::error(
        OUT_OF_RANGE,
        at,
        format!("a race has at most {most} candidates, and this list has {found}"),
    )
}

pub(crate) fn score_without_best(at: Location) -> Diagnostic {
    Diagnostic::error(
        SCORE_AND_SELECT,
        at,
        "`score` is never read: the first accepted candidate wins",
    )
    .help("write `select: best`, or remove the score")
}

pub(crate) fn best_without_score(at: Location) -> Diagnostic {
    Diagnostic::error(SCORE_AND_SELECT, at, "`select: best` needs a `score`")
        .help("write `score: …`, a number that is higher for better candidates")
}

pub(crate) fn trigger_without_dependency(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        TRIGGER_ALONE,
        at,
        format!("`{name}` waits for nothing, so its `trigger` has no meaning"),
    )
    .help("say what it waits for: `after: […]`")
}

pub(crate) fn cache_of_agent(at: Location) -> Diagnostic {
    Diagnostic::error(
        CACHE_OF_AGENT,
        at,
        "an agent's whole result is not cached: its conversation and its branch are gone when it is read again",
    )
    .help("say what is kept: `output: result.text`")
}

pub(crate) fn max_delay_below_delay(at: Location) -> Diagnostic {
    Diagnostic::error(
        BAD_RETRY,
        at,
        "`maxDelay` is shorter than `delay`, the first wait",
    )
}

pub(crate) fn retry_on_nothing(at: Location) -> Diagnostic {
    Diagnostic::error(BAD_RETRY, at, "`on` is empty, so nothing would be retried")
        .help("name faults, or leave `on` out to retry on every one")
}

/// A called workflow's tasks appear as `caller.callee`, which must not be a declared key (SEMANTICS S7).
pub(crate) fn called_keys(ctx: &mut Context<'_>, lowered: &Lowered) {
    let dotted: HashMap<&str, Location> = lowered
        .tasks
        .iter()
        .filter(|task| task.key.contains('.'))
        .map(|task| (&*task.key, task.at))
        .collect();
    if dotted.is_empty() {
        return;
    }
    let mut found = Vec::new();
    for (index, task) in lowered.tasks.iter().enumerate() {
        let Some(workflow) = lowered
            .findings(index)
            .and_then(|findings| findings.workflow)
        else {
            continue;
        };
        for inner in &ctx.workflow_results[workflow as usize].tasks {
            let key = format!("{}.{inner}", task.key);
            if let Some(declared) = dotted.get(key.as_str()) {
                let message = format!(
                    "`{key}` is also the key of a task that `{}` calls",
                    task.key
                );
                found.push(
                    Diagnostic::error(DUPLICATE_NAME, *declared, message)
                        .also(task.at, "the caller")
                        .help("give one of them another name"),
                );
            }
        }
    }
    for diagnostic in found {
        ctx.report(diagnostic);
    }
}
