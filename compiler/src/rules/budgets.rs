//! Budgets: what a run needs at least, what it may cost at most, and prices.

use outpost_grammar::{Code, Diagnostic, Location};
use outpost_stdlib::Value;
use std::collections::HashSet;

use crate::context::{Context, WorkflowInfo};
use crate::lower::body::Findings;
use crate::lower::entries::Entries;
use crate::lower::workflow::{Lowered, field_of};
use crate::options::MAX_RACE;
use crate::program::{AgentId, AgentKind, AgentRef, Policy, Retry, Task, TaskKind};
use crate::rules::shown;
use crate::rules::types::WRONG_TYPE;

/// Fewer attempts than one pass needs.
pub const BUDGET_TOO_SMALL: Code = Code("budget-too-small");
/// Fewer attempts than a run may need.
pub const BUDGET_BELOW_WORST_CASE: Code = Code("budget-below-worst-case");
/// A task's deadline beyond the run's.
pub const TIMEOUT_ABOVE_RUN: Code = Code("timeout-above-run");
/// A cost limit, and a model without a price.
pub const MISSING_PRICE: Code = Code("missing-price");
/// Prices in two currencies.
pub const MIXED_CURRENCIES: Code = Code("mixed-currencies");

pub(crate) const CODES: &[Code] = &[
    BUDGET_TOO_SMALL,
    BUDGET_BELOW_WORST_CASE,
    TIMEOUT_ABOVE_RUN,
    MISSING_PRICE,
    MIXED_CURRENCIES,
];

pub(crate) fn bad_price(at: Location, model: &str) -> Diagnostic {
    Diagnostic::error(
        WRONG_TYPE,
        at,
        format!("the price of `{}` is an object", shown(model)),
    )
    .help("write `{ input: 3USD, output: 15USD }`, per million tokens")
}

pub(crate) fn mixed_currencies(
    at: Location,
    own: &str,
    first: &str,
    first_at: Location,
) -> Diagnostic {
    Diagnostic::error(
        MIXED_CURRENCIES,
        at,
        format!("{own} and {first} do not mix"),
    )
    .also(first_at, format!("{first} here"))
    .help("write all amounts in one currency")
}

fn too_small(at: Location, given: u64, least: u64) -> Diagnostic {
    Diagnostic::error(
        BUDGET_TOO_SMALL,
        at,
        format!("one pass through the tasks needs {least} attempts, and the budget allows {given}"),
    )
    .help(format!(
        "write `attempts: {least}` or more; `0` admits nothing"
    ))
}

fn below_worst_case(at: Location, given: u64, most: u64) -> Diagnostic {
    Diagnostic::warning(
        BUDGET_BELOW_WORST_CASE,
        at,
        format!("with all rounds and retries a run may need {most} attempts, and the budget allows {given}"),
    )
    .note("a run that asks for one more fails with `limit`")
}

fn timeout_above_run(at: Location, own: &str, run_text: &str, run: Location) -> Diagnostic {
    Diagnostic::warning(
        TIMEOUT_ABOVE_RUN,
        at,
        format!("this `timeout` of {own} never strikes: the run ends after {run_text}"),
    )
    .also(run, "the run's own")
    .help("shorten it, or give the run more time")
}

fn missing_price(at: Location, model: &str, agent: &str, agent_at: Location) -> Diagnostic {
    Diagnostic::error(
        MISSING_PRICE,
        at,
        format!("a cost limit needs the price of `{model}`"),
    )
    .also(agent_at, format!("`{agent}` uses this model"))
    .help(format!(
        "add `prices {{ \"{model}\": {{ input: 3USD, output: 15USD }} }}`, per million tokens"
    ))
}

fn unknown_model(at: Location, agent: &str, agent_at: Location) -> Diagnostic {
    Diagnostic::error(
        MISSING_PRICE,
        at,
        format!("a cost limit needs a price, and the agent `{agent}` names no `model`"),
    )
    .also(agent_at, "this agent")
    .help(format!(
        "write `model: \"…\"` in `{agent}`, and its price in `prices`"
    ))
}

/// What a workflow needs and uses, for its own budget and for its callers.
pub(crate) fn bounds(ctx: &Context<'_>, lowered: &Lowered) -> WorkflowInfo {
    let tasks = &lowered.tasks;
    let nothing = Findings::default();
    let mut info = WorkflowInfo {
        most: Some(0),
        ..WorkflowInfo::default()
    };
    let mut agents: HashSet<AgentId> = HashSet::new();
    let mut sandboxes = HashSet::new();
    for (index, task) in tasks.iter().enumerate() {
        let findings = lowered.findings(index).unwrap_or(&nothing);
        let certain = ctx
            .current
            .as_ref()
            .is_none_or(|tables| !tables.tasks[index].may_not_run);
        let (least, most) = attempts(ctx, task, findings);
        if certain {
            info.least = info.least.saturating_add(least);
        }
        info.most = info
            .most
            .zip(most)
            .map(|(sum, most)| sum.saturating_add(most));
        for (agent, _) in &findings.agents {
            for plain in plain_agents(ctx, *agent) {
                if agents.insert(plain) {
                    info.agents.push(plain);
                }
            }
        }
        if let Some(called) = findings.workflow {
            for plain in &ctx.workflow_results[called as usize].agents {
                if agents.insert(*plain) {
                    info.agents.push(*plain);
                }
            }
        }
        for used in &findings.sandboxes {
            if sandboxes.insert(used.sandbox) {
                info.sandboxes.push(*used);
            }
        }
    }
    info.tasks = if tasks.len() <= MAX_CALLED {
        tasks.iter().map(|task| task.key.clone()).collect()
    } else {
        Vec::new()
    };
    info
}

/// The most tasks of a workflow whose names are kept for its callers.
const MAX_CALLED: usize = 100_000;

fn plain_agents(ctx: &Context<'_>, agent: AgentRef) -> Vec<AgentId> {
    let AgentRef::Named(id) = agent else {
        return Vec::new();
    };
    match &ctx.program.agents[id.index()].kind {
        AgentKind::Plain(_) => vec![id],
        AgentKind::Fallback { members, .. } => members.clone(),
        AgentKind::Broken => Vec::new(),
    }
}

/// The fewest and the most attempts of a task that runs.
fn attempts(ctx: &Context<'_>, task: &Task, findings: &Findings) -> (u64, Option<u64>) {
    let tries = |retry: Option<&Retry>| u64::from(retry.map_or(1, |retry| retry.attempts));
    let (least, most) = match &task.kind {
        TaskKind::Gate(_) | TaskKind::Ask(_) => (0, Some(0)),
        TaskKind::Task(_) => match findings.workflow {
            Some(called) => {
                let info = &ctx.workflow_results[called as usize];
                let most = info
                    .most
                    .map(|most| most.saturating_mul(tries(task.retry.as_deref())));
                (info.least, most)
            }
            None => (1, Some(tries(task.retry.as_deref()))),
        },
        TaskKind::Loop(inner) => {
            let repeats = 2 * (tries(inner.retry_phase.as_deref()) - 1);
            (1, Some(inner.max_rounds.saturating_mul(1 + repeats)))
        }
        TaskKind::Race(_) => (1, Some(1)),
    };
    // What is found in the cache costs nothing.
    let cached = task.cache.as_ref().is_some_and(|cache| !cache.refresh);
    let least = if cached { 0 } else { least };
    let Some(each) = &task.each else {
        return (least, most);
    };
    let race = matches!(task.kind, TaskKind::Race(_));
    match crate::graph::uses::length(&each.list) {
        Some(count) => {
            let least = if race {
                least.min(count)
            } else {
                least.saturating_mul(count)
            };
            (least, most.map(|most| most.saturating_mul(count)))
        }
        // Without a candidate a race fails.
        None if race => (least, most.map(|most| most.saturating_mul(MAX_RACE as u64))),
        None => (0, None),
    }
}

/// Tasks that may take longer than the whole run.
pub(crate) fn timeouts(
    ctx: &mut Context<'_>,
    entries: &Entries<'_>,
    policy: &Policy,
    tasks: &[Task],
) {
    let (Some(most), Some(field)) = (policy.timeout, entries.field("timeout")) else {
        return;
    };
    let run = entries.at(field.value.span);
    let mut found = Vec::new();
    for (task, info) in tasks.iter().zip(&ctx.workflow().tasks) {
        if task.timeout.is_some_and(|timeout| timeout > most)
            && let Some(value) = field_of(info.block, "timeout")
        {
            let at = entries.at(value.span);
            found.push(timeout_above_run(
                at,
                ctx.text_at(at),
                ctx.text_at(run),
                run,
            ));
        }
    }
    for diagnostic in found {
        ctx.report(diagnostic);
    }
}

/// The budget of a workflow against what it needs.
pub(crate) fn check(
    ctx: &mut Context<'_>,
    entries: &Entries<'_>,
    policy: &Policy,
    info: &WorkflowInfo,
) {
    let (Some(budget), Some(block)) = (&policy.budget, entries.nested("budget")) else {
        return;
    };
    let field = |name: &str| {
        block.entries.iter().find_map(|entry| match entry {
            outpost_grammar::tree::Entry::Field(field) if field.name.text == name => Some(field),
            _ => None,
        })
    };
    if let (Some(given), Some(field)) = (budget.attempts, field("attempts"))
        && given > 0
        && !entries.broken
    {
        let at = entries.at(field.value.span);
        if given < info.least {
            ctx.report(too_small(at, given, info.least));
        } else if let Some(most) = info.most
            && given < most
        {
            ctx.report(below_worst_case(at, given, most));
        }
    }
    if let (Some(Value::Text(cost)), Some(field)) = (&budget.cost, field("cost")) {
        let at = entries.at(field.name.span);
        let currency = |text: &str| {
            text.trim_start_matches(|c: char| !c.is_ascii_uppercase())
                .to_owned()
        };
        let own = currency(cost);
        let priced = policy.prices.iter().find_map(|(_, price)| match price {
            Value::Object(object) => object.values().find_map(|value| match value {
                Value::Text(text) => Some(currency(text)),
                _ => None,
            }),
            _ => None,
        });
        if let (Some(other), Some(prices)) = (priced, entries.nested("prices"))
            && other != own
        {
            let diagnostic = mixed_currencies(
                entries.at(field.value.span),
                &own,
                &other,
                entries.at(prices.keyword.span),
            );
            ctx.report(diagnostic);
        }
        let mut missing: Vec<Diagnostic> = Vec::new();
        let mut named: HashSet<&str> = HashSet::new();
        for id in &info.agents {
            let agent = &ctx.program.agents[id.index()];
            let AgentKind::Plain(plain) = &agent.kind else {
                continue;
            };
            if &*plain.harness == "scripted" {
                continue;
            }
            match &plain.model {
                Some(model) => {
                    let has = policy.prices.iter().any(|(name, _)| name == model);
                    if !has && named.insert(model) {
                        missing.push(missing_price(at, model, &agent.name, agent.at));
                    }
                }
                None => missing.push(unknown_model(at, &agent.name, agent.at)),
            }
        }
        for diagnostic in missing {
            ctx.report(diagnostic);
        }
    }
}
