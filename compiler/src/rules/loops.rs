//! Loops: rounds, checks, rules, feedback.

use outpost_grammar::tree::Entry;
use outpost_grammar::{Code, Diagnostic, Location};
use outpost_stdlib::Value;
use std::collections::HashMap;

use crate::context::Context;
use crate::eval::{ConstScope, evaluate, references};
use crate::lower::entries::Entries;
use crate::program::{
    Action, AgentKind, AgentRef, Argument, BinaryOperator, Body, Check, CheckItem, Expr, ExprKind,
    Ref, Step,
};
use crate::rules::bodies::EXCLUSIVE;
use crate::rules::names::MISPLACED_NAME;

/// A loop without `maxRounds`.
pub const UNBOUNDED_LOOP: Code = Code("unbounded-loop");
/// A loop or a race without an attempt or a check.
pub const INCOMPLETE_LOOP: Code = Code("incomplete-loop");
/// A check that can never reject.
pub const NEVER_REJECTS: Code = Code("never-rejects");
/// A check that can only reject.
pub const ALWAYS_REJECTS: Code = Code("always-rejects");
/// A rule that can never be reached.
pub const UNREACHABLE_RULE: Code = Code("unreachable-rule");
/// A rule that never applies.
pub const IDLE_RULE: Code = Code("idle-rule");
/// An `accept` as the last rule.
pub const ACCEPT_LAST: Code = Code("accept-last");
/// An agent that is not told why its work was rejected.
pub const FEEDBACK_UNUSED: Code = Code("feedback-unused");
/// Feedback that says nothing.
pub const EMPTY_FEEDBACK: Code = Code("empty-feedback");
/// A check in which an agent judges its own work.
pub const SELF_REVIEW: Code = Code("self-review");
/// `accepts` in a check.
pub const ACCEPTS_IN_CHECK: Code = Code("accepts-in-check");

pub(crate) const CODES: &[Code] = &[
    UNBOUNDED_LOOP,
    INCOMPLETE_LOOP,
    NEVER_REJECTS,
    ALWAYS_REJECTS,
    UNREACHABLE_RULE,
    IDLE_RULE,
    ACCEPT_LAST,
    FEEDBACK_UNUSED,
    EMPTY_FEEDBACK,
    SELF_REVIEW,
    ACCEPTS_IN_CHECK,
];

pub(crate) fn max_rounds_missing(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        UNBOUNDED_LOOP,
        at,
        format!("the loop `{name}` has no `maxRounds`"),
    )
    .help("write `maxRounds: 3`, or however many rounds it may cost")
}

pub(crate) fn part_missing(at: Location, kind: &str, name: &str, part: &str) -> Diagnostic {
    Diagnostic::error(
        INCOMPLETE_LOOP,
        at,
        format!("the {kind} `{name}` has no `{part}`"),
    )
    .help(format!("add `{part} {{ … }}`"))
}

pub(crate) fn misplaced_word(at: Location, name: &str, place: &str) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        MISPLACED_NAME,
        at,
        format!("`{name}` has no meaning in {place}"),
    );
    let help = match (name, place) {
        ("feedback", "a race's attempt") => {
            "the candidates of a race are tried once, so nothing is fed back"
        }
        ("feedback", _) => {
            "`feedback` is read in the `attempt` of a loop; a check sees the `candidate`"
        }
        ("candidate", _) => "`candidate` is what the attempt has made, and is read in the `check`",
        _ => "`previous` is the last round's agent result, and is read in the `attempt` of a loop",
    };
    diagnostic.help(help)
}

pub(crate) fn beside_body(at: Location, name: &str, body: Location) -> Diagnostic {
    Diagnostic::error(
        EXCLUSIVE,
        at,
        format!("`{name}` and `body` exclude each other"),
    )
    .also(body, "the declared loop brings both an attempt and a check")
}

pub(crate) fn feedback_unused(at: Location, name: &str, declared: Option<Location>) -> Diagnostic {
    let diagnostic = Diagnostic::warning(
        FEEDBACK_UNUSED,
        at,
        format!(
            "the agent in the attempt of `{name}` never reads `feedback`, so every round begins as blind as the first"
        ),
    );
    let diagnostic = match declared {
        Some(declared) => diagnostic.also(declared, "the attempt is declared here"),
        None => diagnostic,
    };
    diagnostic.help("add `${feedback ?? \"\"}` to the brief")
}

pub(crate) fn accepts_in_check(at: Location) -> Diagnostic {
    Diagnostic::error(
        ACCEPTS_IN_CHECK,
        at,
        "`accepts` has no meaning in a check: every exit status is a value there",
    )
    .help("write a rule: `reject … when result.status != 0`")
}

fn never_rejects(at: Location) -> Diagnostic {
    Diagnostic::error(
        NEVER_REJECTS,
        at,
        "this check can never reject, so the loop would end after one round",
    )
    .help("add `reject \"…\" when …`")
}

fn always_rejects(at: Location, check: Location) -> Diagnostic {
    Diagnostic::error(
        ALWAYS_REJECTS,
        at,
        "this always rejects, so the loop can only be exhausted",
    )
    .also(check, "nothing in this check accepts before")
    .help("say when it rejects: `reject … when …`")
}

fn unreachable(at: Location, hider: Location) -> Diagnostic {
    Diagnostic::error(UNREACHABLE_RULE, at, "this rule can never be reached")
        .also(hider, "this always ends the check")
}

fn decided_before(at: Location, first: Location) -> Diagnostic {
    Diagnostic::warning(
        IDLE_RULE,
        at,
        "this rule never applies: an earlier rule has the same condition",
    )
    .also(first, "this one ends the check then")
    .help("remove it, or change one of the conditions")
}

fn empty_feedback(at: Location) -> Diagnostic {
    Diagnostic::warning(
        EMPTY_FEEDBACK,
        at,
        "this feedback is always empty, so the next round begins as blind as the first",
    )
    .help("say what is wrong: the text becomes the next attempt's `feedback`")
}

fn self_review(at: Location, agent: Option<&str>, judge: Location, work: Location) -> Diagnostic {
    let subject = match agent {
        Some(name) => format!("`{name}`"),
        None => "one and the same agent".to_owned(),
    };
    Diagnostic::warning(
        SELF_REVIEW,
        at,
        format!("{subject} alone judges in this check what it has made itself"),
    )
    .also(work, "it works here")
    .also(judge, "it judges here")
    .help("let another agent judge, or add a command whose status rejects")
}

fn idle(at: Location) -> Diagnostic {
    Diagnostic::warning(
        IDLE_RULE,
        at,
        "this rule never applies: its condition is `false`",
    )
    .help("remove it")
}

fn accept_last(at: Location) -> Diagnostic {
    Diagnostic::error(
        ACCEPT_LAST,
        at,
        "`accept` as the last rule does nothing: the end of a check accepts anyway",
    )
    .help("write `reject … when …` with the opposite condition")
}

/// The rules of a check, taken together.
pub(crate) fn check_rules(ctx: &mut Context<'_>, entries: &Entries<'_>, items: &[CheckItem]) {
    let check = entries.at(entries.block.keyword.span);
    let unread = |entry: &Entry<'_>| matches!(entry, Entry::Broken(_));
    if entries.broken || entries.block.entries.iter().any(unread) {
        return;
    }
    let mut rules: Vec<Taken<'_>> = Vec::with_capacity(items.len());
    for item in items {
        match item {
            CheckItem::Step(_) => {}
            CheckItem::Reject { at, text, when } => {
                empty_text(ctx, text);
                rules.push(Taken {
                    at: *at,
                    reject: true,
                    when,
                });
            }
            CheckItem::Accept { at, when } => rules.push(Taken {
                at: *at,
                reject: false,
                when,
            }),
        }
    }
    let may_reject = |rule: &Taken<'_>| rule.reject && constant(rule.when) != Some(false);
    if !rules.iter().any(may_reject) {
        ctx.report(never_rejects(check));
        return;
    }
    let ended = reachable(ctx, check, &rules);
    let accept_at = match items.last() {
        Some(CheckItem::Accept { at, .. }) => Some(*at),
        Some(CheckItem::Step(_) | CheckItem::Reject { .. }) | None => None,
    };
    if let (Some(at), true) = (
        accept_at,
        ended.is_none_or(|ended| Some(ended) == accept_at),
    ) {
        ctx.report(accept_last(at));
    }
}

/// A rule of a check.
struct Taken<'e> {
    at: Location,
    reject: bool,
    when: &'e Expr,
}

/// What a condition is known to be.
fn constant(when: &Expr) -> Option<bool> {
    match &when.kind {
        ExprKind::Const(Value::Bool(value)) => Some(*value),
        _ => None,
    }
}

/// Goes through the rules in order: which always end the check, and which never can; the place of the first that always does.
fn reachable(ctx: &mut Context<'_>, check: Location, rules: &[Taken<'_>]) -> Option<Location> {
    let mut ended: Option<Location> = None;
    let mut may_accept = false;
    // What the conditions before are about: they were all false where a rule is reached.
    let mut before: HashMap<String, (bool, Location)> = HashMap::new();
    for rule in rules {
        if let Some(hider) = ended {
            ctx.report(unreachable(rule.at, hider));
            continue;
        }
        let fact = constant(rule.when);
        let (about, negated) = subject(ctx, rule.when);
        let known = before.get(&about).copied();
        let result = match (fact, known) {
            (Some(value), _) => Some(value),
            (None, Some((earlier, _))) => Some(earlier != negated),
            (None, None) => None,
        };
        match (result, known) {
            (Some(false), Some((_, first))) if fact.is_none() => {
                ctx.report(decided_before(rule.at, first));
            }
            (Some(false), _) => ctx.report(idle(rule.at)),
            (Some(true), _) => {
                if rule.reject && !may_accept {
                    ctx.report(always_rejects(rule.at, check));
                }
                may_accept |= !rule.reject;
                ended = Some(rule.at);
            }
            (None, _) => {
                may_accept |= !rule.reject;
                before.insert(about, (negated, rule.at));
            }
        }
    }
    ended
}

/// What a condition is about, and whether it asks for the opposite: `a != b` is `a == b` denied.
fn subject(ctx: &Context<'_>, when: &Expr) -> (String, bool) {
    let text = |at: Location| {
        let words: Vec<&str> = ctx.text_at(at).split_whitespace().collect();
        words.join(" ")
    };
    match &when.kind {
        ExprKind::Not(inner) => {
            let (about, negated) = subject(ctx, inner);
            (about, !negated)
        }
        ExprKind::Chain { first, rest } => {
            let pair = match &rest[..] {
                [(BinaryOperator::Equal, right)] => Some((right, "==", false)),
                [(BinaryOperator::NotEqual, right)] => Some((right, "==", true)),
                [(BinaryOperator::Less, right)] => Some((right, "<", false)),
                [(BinaryOperator::GreaterEqual, right)] => Some((right, "<", true)),
                [(BinaryOperator::Greater, right)] => Some((right, ">", false)),
                [(BinaryOperator::LessEqual, right)] => Some((right, ">", true)),
                _ => None,
            };
            match pair {
                Some((right, symbol, negated)) => (
                    format!("{} {symbol} {}", text(first.at), text(right.at)),
                    negated,
                ),
                None => (text(when.at), false),
            }
        }
        _ => (text(when.at), false),
    }
}

/// A text that is blank whatever happens.
fn empty_text(ctx: &mut Context<'_>, text: &Expr) {
    if let Ok(Value::Text(value)) = evaluate(text, &ctx.program, &ConstScope, &mut Vec::new())
        && value.trim().is_empty()
    {
        ctx.report(empty_feedback(text.at));
    }
}

/// The agents of a body or of a part of it, and whether anything else has a say.
#[derive(Clone, Default)]
struct Judges {
    /// Plain agents and parameters, each with the place of its action.
    agents: Vec<(AgentRef, Location)>,
    /// A command, an assertion, or something that only a run knows.
    other: bool,
}

impl Judges {
    fn add(&mut self, more: &Judges) {
        for (agent, at) in &more.agents {
            if !self.agents.iter().any(|(known, _)| known == agent) {
                self.agents.push((*agent, *at));
            }
        }
        self.other |= more.other;
    }
}

/// Warns about a check in which the attempt's own agents alone decide.
pub(crate) fn judged_by_its_own(
    ctx: &mut Context<'_>,
    at: Location,
    attempt: &Body,
    check: &Check,
) {
    let mut workers = Judges::default();
    for step in &attempt.steps {
        workers.add(&of_step(ctx, step, &workers, &[]));
    }
    if workers.agents.is_empty() {
        return;
    }
    let mut steps: Vec<Judges> = Vec::new();
    let mut decide = Judges::default();
    for item in &check.items {
        match item {
            CheckItem::Step(step) => {
                let judges = of_step(ctx, step, &workers, &steps);
                // What a command has said may be what the agent judges by.
                decide.other |= judges.other;
                steps.push(judges);
            }
            CheckItem::Reject { when, .. } => {
                let judges = of_expr(when, &steps);
                let itself = judges.agents.is_empty() && constant(when).is_none();
                decide.other |= itself;
                decide.add(&judges);
            }
            CheckItem::Accept { .. } => {}
        }
    }
    let own = |agent: &AgentRef| workers.agents.iter().any(|(worker, _)| worker == agent);
    if decide.other || !decide.agents.iter().all(|(agent, _)| own(agent)) {
        return;
    }
    let Some((judge, judge_at)) = decide.agents.first() else {
        return;
    };
    let worker = workers.agents.iter().find(|(worker, _)| worker == judge);
    let name = match judge {
        AgentRef::Named(id) => Some(ctx.program.agents[id.index()].name.clone()),
        AgentRef::Param(_) => None,
    };
    let work_at = worker.map_or(at, |(_, at)| *at);
    ctx.report(self_review(at, name.as_deref(), *judge_at, work_at));
}

/// Who acts in a step. `workers` are those of the attempt, `before` those of the steps before it.
fn of_step(ctx: &Context<'_>, step: &Step, workers: &Judges, before: &[Judges]) -> Judges {
    let mut judges = Judges::default();
    match &step.action {
        Action::Agent(turn) => {
            match (turn.agent, turn.continues.as_ref().or(turn.forks.as_ref())) {
                (Some(agent), _) => {
                    for plain in plain_agents(ctx, agent) {
                        judges.agents.push((plain, step.at));
                    }
                }
                (None, Some(of)) => {
                    let mut candidate = false;
                    references(of, &mut |reference, _| {
                        candidate |= matches!(reference, Ref::Candidate);
                    });
                    judges = of_expr(of, before);
                    if candidate {
                        let own = workers.agents.iter().map(|(agent, _)| (*agent, step.at));
                        judges.agents.extend(own);
                    }
                    judges.other |= judges.agents.is_empty();
                }
                (None, None) => judges.other = true,
            }
        }
        Action::Value(value) => judges = of_expr(value, before),
        Action::Call {
            step: id,
            arguments,
        } => {
            let Some(template) = ctx.program.steps.get(id.index()) else {
                return Judges {
                    other: true,
                    ..judges
                };
            };
            let mut inside: Vec<Judges> = Vec::new();
            for inner in &template.body.steps {
                let found = of_step(ctx, inner, &Judges::default(), &inside);
                judges.add(&found);
                inside.push(found);
            }
            let given = |agent: AgentRef| match agent {
                AgentRef::Named(_) => vec![agent],
                AgentRef::Param(param) => match arguments.get(param.index()) {
                    Some(Argument::Agent(agent)) => plain_agents(ctx, *agent),
                    Some(Argument::Value(_) | Argument::Sandbox(_)) | None => Vec::new(),
                },
            };
            let agents = judges.agents.iter().flat_map(|(agent, _)| given(*agent));
            judges.agents = agents.map(|agent| (agent, step.at)).collect();
            judges.other |= judges.agents.is_empty();
        }
        Action::Command(_) | Action::Assert { .. } | Action::Workflow { .. } => judges.other = true,
    }
    judges
}

/// Who has made what an expression reads.
fn of_expr(expr: &Expr, steps: &[Judges]) -> Judges {
    let mut judges = Judges::default();
    references(expr, &mut |reference, _| {
        if let Ref::Step(at) = reference
            && let Some(step) = steps.get(*at as usize)
        {
            judges.add(step);
        }
    });
    judges
}

fn plain_agents(ctx: &Context<'_>, agent: AgentRef) -> Vec<AgentRef> {
    let AgentRef::Named(id) = agent else {
        return vec![agent];
    };
    match &ctx.program.agents[id.index()].kind {
        AgentKind::Plain(_) => vec![agent],
        AgentKind::Fallback { members, .. } => members
            .iter()
            .map(|member| AgentRef::Named(*member))
            .collect(),
        AgentKind::Broken => Vec::new(),
    }
}
