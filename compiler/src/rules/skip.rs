//! Tasks that may not run.

use outpost_grammar::{Code, Diagnostic, Location};
use outpost_stdlib::Value;
use std::collections::HashMap;

use crate::context::Context;
use crate::eval::children;
use crate::lower::workflow::field_of;
use crate::program::{Action, BinaryOperator, Dependency, Expr, ExprKind, Task, TaskKind, Trigger};

/// A condition that is always the same.
pub const CONSTANT_WHEN: Code = Code("constant-when");
/// The value of a task that may be skipped, in the workflow's output.
pub const MAY_NOT_RUN: Code = Code("may-not-run");
/// A task that can never run.
pub const NEVER_RUNS: Code = Code("never-runs");

pub(crate) const CODES: &[Code] = &[CONSTANT_WHEN, MAY_NOT_RUN, NEVER_RUNS];

fn always_runs(at: Location) -> Diagnostic {
    Diagnostic::warning(
        CONSTANT_WHEN,
        at,
        "`when` is always `true`: the task always runs",
    )
    .help("remove the `when`")
}

/// `behind` are the tasks that are skipped with it.
fn constant_when(at: Location, behind: &[(&str, Location)]) -> Diagnostic {
    let mut diagnostic = Diagnostic::warning(
        CONSTANT_WHEN,
        at,
        "`when` is always `false`: the task never runs",
    );
    for (name, at) in behind.iter().take(MAX_SHOWN) {
        diagnostic = diagnostic.also(*at, format!("so `{name}`, which waits for it, never runs"));
    }
    if behind.len() > MAX_SHOWN {
        let more = behind.len() - MAX_SHOWN;
        diagnostic = diagnostic.note(format!("{more} more wait for it and never run"));
    }
    diagnostic.help("remove the task, or make the condition an input")
}

fn never_fires(at: Location, name: &str, waits: &[(&str, Location)]) -> Diagnostic {
    let mut diagnostic = Diagnostic::warning(
        NEVER_RUNS,
        at,
        format!("`{name}` never runs: nothing that it waits for can fail"),
    );
    for (name, at) in waits.iter().take(MAX_SHOWN) {
        diagnostic = diagnostic.also(*at, format!("`{name}` does not fail"));
    }
    diagnostic.help(
        "wait for a task that can fail: a rejected gate and a skipped task have not failed; or write `trigger: always`",
    )
}

/// How many other tasks a message shows.
const MAX_SHOWN: usize = 4;

/// Conditions that are always the same, what never runs because of them, and triggers that nothing can pull.
pub(crate) fn never_run(ctx: &mut Context<'_>, tasks: &[Task], order: &[u32]) {
    // The task without which each never runs.
    let mut without: Vec<Option<u32>> = vec![None; tasks.len()];
    let mut behind: HashMap<u32, Vec<(&str, Location)>> = HashMap::new();
    let mut found = Vec::new();
    for index in order {
        let task = &tasks[*index as usize];
        match constant(task) {
            Some(false) => {
                without[*index as usize] = Some(*index);
                behind.insert(*index, Vec::new());
                continue;
            }
            Some(true) => found.extend(task.when.as_ref().map(|when| always_runs(when.at))),
            None => {}
        }
        match task.trigger {
            Trigger::Success => {
                let mut hard = task.dependencies.iter().filter(|edge| !edge.soft);
                let root = hard.find_map(|edge| without[edge.task.index()]);
                without[*index as usize] = root;
                if let Some(list) = root.and_then(|root| behind.get_mut(&root)) {
                    list.push((&task.key, task.at));
                }
            }
            Trigger::Failure => {
                let waits: Vec<(&str, Location)> = task
                    .dependencies
                    .iter()
                    .map(|edge| (&*tasks[edge.task.index()].key, edge.at))
                    .collect();
                let fails = |edge: &Dependency| {
                    without[edge.task.index()].is_none() && may_fail(&tasks[edge.task.index()])
                };
                let trigger = field_of(ctx.workflow().tasks[*index as usize].block, "trigger");
                if let Some(trigger) = trigger
                    && !waits.is_empty()
                    && !task.dependencies.iter().any(fails)
                {
                    let at = Location::new(task.at.source, trigger.span);
                    found.push(never_fires(at, &task.key, &waits));
                }
            }
            Trigger::Always => {}
        }
    }
    for (root, list) in behind {
        let when = tasks[root as usize].when.as_ref();
        found.extend(when.map(|when| constant_when(when.at, &list)));
    }
    for diagnostic in found {
        ctx.report(diagnostic);
    }
}

/// What the condition of a task always is.
fn constant(task: &Task) -> Option<bool> {
    match task.when.as_ref().map(|when| &when.kind) {
        Some(ExprKind::Const(Value::Bool(value))) => Some(*value),
        _ => None,
    }
}

/// Whether a task can end as `failed`. A gate is decided, a value that needs no work is there.
fn may_fail(task: &Task) -> bool {
    let fails = |expr: &Expr| !is_total(expr);
    if task.each.is_some() || task.when.as_ref().is_some_and(|when| fails(when)) {
        return true;
    }
    match &task.kind {
        TaskKind::Gate(gate) => fails(&gate.prompt),
        TaskKind::Ask(ask) => fails(&ask.question) || ask.choices.as_ref().is_some_and(fails),
        TaskKind::Task(body) => {
            let total = body.steps.iter().all(|step| match &step.action {
                Action::Value(value) => is_total(value),
                Action::Command(_)
                | Action::Assert { .. }
                | Action::Agent(_)
                | Action::Call { .. }
                | Action::Workflow { .. } => false,
            });
            // A body without a step is broken, and was reported.
            !total
                || body.steps.is_empty()
                || body.output.as_ref().is_some_and(|output| fails(output))
        }
        TaskKind::Loop(_) | TaskKind::Race(_) => true,
    }
}

/// Whether an expression certainly has a value.
fn is_total(expr: &Expr) -> bool {
    let own = match &expr.kind {
        ExprKind::Const(_)
        | ExprKind::Ref(_)
        | ExprKind::Field { .. }
        | ExprKind::Index { .. }
        | ExprKind::Not(_)
        | ExprKind::If { .. }
        | ExprKind::List(_)
        | ExprKind::Object(_)
        | ExprKind::Template(_) => true,
        ExprKind::Chain { rest, .. } => rest.iter().all(|(operator, _)| {
            matches!(
                operator,
                BinaryOperator::Coalesce
                    | BinaryOperator::And
                    | BinaryOperator::Or
                    | BinaryOperator::Equal
                    | BinaryOperator::NotEqual
                    | BinaryOperator::Concat
            )
        }),
        ExprKind::Builtin { .. }
        | ExprKind::Call { .. }
        | ExprKind::Negate(_)
        | ExprKind::NotNull(_)
        | ExprKind::Match { .. }
        | ExprKind::Comprehension(_)
        | ExprKind::As(..)
        | ExprKind::Quote(_)
        | ExprKind::Format(..) => false,
    };
    let mut total = own;
    children(expr, &mut |child| total = total && is_total(child));
    total
}

pub(crate) fn may_not_run(at: Location, name: &str, why: &str) -> Diagnostic {
    Diagnostic::error(
        MAY_NOT_RUN,
        at,
        format!("`{name}` may be skipped, and then it has no value"),
    )
    .note(format!("it may be skipped because {why}"))
    .help(format!("write `{name}?`, which is null then"))
}
