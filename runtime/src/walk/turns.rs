//! Turns of agents: who takes them, in which conversation, and what is said.

use super::{Frame, Pending, Walk, fault, text_of};
use crate::answer;
use crate::event::{Turned, Usage};
use crate::executor::{Answer, HostEnvironment, TurnRequest};
use crate::fault::{Fault, FaultCode};
use crate::harness::{self, Baseline, Conversation, Start, credentials, probe};
use crate::run::{AgentStep, Run, Turns};
use crate::runnable::Types;
use outpost_compiler::program::{
    AGENT_IDLE, Action, AgentId, AgentKind, AgentTurn, Environment, PlainAgent, TaskId,
};
use outpost_stdlib::Value;
use std::time::Duration;

/// The agents that may take a step's turns, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// Plain agents, at least one.
    pub agents: Vec<AgentId>,
    /// Whether a quota hands over.
    pub on_quota: bool,
    /// Whether an outage hands over.
    pub on_unavailable: bool,
}

/// What the inputs of a turn are made with.
pub struct TurnContext<'a> {
    /// The machine's environment.
    pub host: &'a HostEnvironment,
    /// Whether the turn of a number of an agent is in flight.
    pub in_flight: &'a dyn Fn(&str, u32) -> bool,
}

/// Who may take the turns of a step.
pub fn members(run: &Run, task: TaskId, pending: &Pending<'_>) -> Result<Members, Box<Fault>> {
    let view = run.view(task);
    let ctx = Walk { run, task, view };
    Ok(ctx.members(pending)?.0)
}

/// Whether a pass of a step is its last.
pub fn until(
    run: &Run,
    task: TaskId,
    pending: &Pending<'_>,
    result: &Value,
) -> Result<bool, Box<Fault>> {
    let Some(until) = pending.turn().and_then(|turn| turn.until.as_ref()) else {
        return Ok(false);
    };
    let view = run.view(task);
    let ctx = Walk { run, task, view };
    let mut frame = pending.frame.clone();
    frame.steps.push(result.clone());
    Ok(ctx.evaluate(until, &frame)? == Value::Bool(true))
}

/// The next turn of a step.
pub fn turn(
    run: &Run,
    task: TaskId,
    pending: &Pending<'_>,
    with: &TurnContext<'_>,
) -> Result<TurnRequest, Box<Fault>> {
    let Some(turn) = pending.turn() else {
        return Err(fault(FaultCode::Configuration, "the step has no agent"));
    };
    let view = run.view(task);
    let ctx = Walk { run, task, view };
    ctx.turn(turn, pending, with)
}

/// What the environment of an action is made of, in the order in which later parts win (LANGUAGE §12):
/// the sandbox's, the agent's and its own.
pub fn environment(
    run: &Run,
    task: TaskId,
    pending: &Pending<'_>,
    agent: Option<AgentId>,
    host: &HostEnvironment,
) -> Result<Vec<(String, String)>, Box<Fault>> {
    let view = run.view(task);
    let ctx = Walk { run, task, view };
    let program = run.plan.program();
    let mut parts: Vec<(&Environment, &Frame)> = Vec::new();
    let nothing = Frame::default();
    if let Some(sandbox) = pending.sandbox() {
        parts.push((&program.sandboxes[sandbox.index()].environment, &nothing));
    }
    if let Some(plain) = agent.and_then(|agent| plain(run, agent)) {
        if let Some(declared) = plain.declared {
            parts.push((&program.harnesses[declared.index()].environment, &nothing));
        }
        parts.push((&plain.environment, &nothing));
    }
    match &pending.step.action {
        Action::Agent(turn) => parts.push((&turn.environment, &pending.frame)),
        Action::Command(command) => parts.push((&command.environment, &pending.frame)),
        Action::Value(_)
        | Action::Assert { .. }
        | Action::Call { .. }
        | Action::Workflow { .. } => {}
    }
    let mut variables = Vec::new();
    for (environment, frame) in parts {
        for (name, value) in environment {
            let value = ctx.evaluate_with(value, frame, Some(host))?;
            variables.push((name.to_string(), text_of(value)));
        }
    }
    let plain = agent.and_then(|agent| plain(run, agent));
    let set = || variables.iter().map(|(name, _)| name.as_str());
    if let Some(name) = plain.and_then(|plain| credentials::conflict(plain, set())) {
        let message = format!("`{name}` would make another account pay than `auth` says");
        return Err(fault(FaultCode::Configuration, message));
    }
    Ok(variables)
}

/// The variable by which an agent's CLI finds its session: the machine's must reach it, or it would find another login.
pub fn session_variable(run: &Run, agent: AgentId) -> Option<&'static str> {
    let plain = plain(run, agent)?;
    match plain.declared {
        None => probe::session_variable(&plain.harness),
        Some(_) => None,
    }
}

/// The result of an agent step (LANGUAGE §8).
pub fn agent_result(
    run: &Run,
    state: Option<&AgentStep>,
    turned: &Turned,
    answer: Answer,
) -> Value {
    let usage = turned.usage_with(state.and_then(|state| state.usage.as_ref()));
    let commits = answer.commits.into_iter().map(|(oid, subject)| {
        Value::object([("oid", Value::text(oid)), ("subject", Value::text(subject))])
    });
    let conversation = turned.conversation.as_ref();
    let mut fields = vec![
        ("text", Value::text(answer.text)),
        ("commits", Value::List(commits.collect())),
        ("branch", Value::text(answer.branch)),
        ("usage", usage_value(usage)),
        ("fallback", fallback_value(run, state, &turned.agent)),
        (
            "conversation",
            conversation.map_or(Value::Null, |id| {
                Value::text(format!("{}/{id}", turned.agent))
            }),
        ),
    ];
    if let Some(Ok(value)) = answer.value {
        fields.push(("value", value));
    }
    Value::object(fields)
}

/// What was not reported is not zero: it is incomplete.
fn usage_value(usage: Option<Usage>) -> Value {
    let usage = usage.unwrap_or_else(Usage::unknown);
    let count = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    Value::object([
        ("input", count(usage.input)),
        ("cached", usage.cached.map_or(Value::Null, count)),
        (
            "cacheCreated",
            usage.cache_created.map_or(Value::Null, count),
        ),
        ("output", count(usage.output)),
        ("complete", usage.complete.map_or(Value::Null, Value::Bool)),
        ("model", usage.model.map_or(Value::Null, Value::text)),
    ])
}

fn fallback_value(run: &Run, state: Option<&AgentStep>, selected: &str) -> Value {
    let Some(state) = state.filter(|state| !state.stopped.is_empty()) else {
        return Value::Null;
    };
    let plain = crate::spending::plain(&run.plan, selected);
    let model = plain.and_then(|plain| plain.model.clone());
    let harness = plain.map_or_else(|| "".into(), |plain| plain.harness.clone());
    let attempts = state.stopped.iter().map(|stopped| {
        let reset = stopped.error.reset_at;
        Value::object([
            ("agent", Value::text(stopped.agent.as_str())),
            ("failure", Value::text(stopped.failure.name())),
            ("code", Value::text(stopped.error.code.name())),
            ("message", Value::text(stopped.error.message.as_str())),
            (
                "resetAt",
                reset.map_or(Value::Null, |reset| Value::text(reset.rfc3339())),
            ),
            (
                "conversation",
                stopped.conversation.as_ref().map_or(Value::Null, |id| {
                    Value::text(format!("{}/{id}", stopped.agent))
                }),
            ),
        ])
    });
    Value::object([
        (
            "selected",
            Value::object([
                ("name", Value::text(selected)),
                ("harness", Value::Text(harness)),
                ("model", model.map_or(Value::Null, Value::Text)),
            ]),
        ),
        ("attempts", Value::List(attempts.collect())),
    ])
}

fn plain(run: &Run, agent: AgentId) -> Option<&PlainAgent> {
    match &run.plan.program().agents[agent.index()].kind {
        AgentKind::Plain(plain) => Some(plain),
        AgentKind::Fallback { .. } | AgentKind::Broken => None,
    }
}

/// What an agent is told when its conversation goes on after a turn of it was cut off.
const GO_ON: &str = "You were interrupted before you had finished. What you did so far is still there. \
                     Look at it, and go on. This was the task:";

impl Walk<'_> {
    /// Who may take a step's turns, and the conversation that the step continues or copies.
    fn members(&self, pending: &Pending<'_>) -> Result<(Members, Start), Box<Fault>> {
        let Some(turn) = pending.turn() else {
            return Err(fault(FaultCode::Configuration, "the step has no agent"));
        };
        let program = self.run.plan.program();
        if let Some((agent, start)) = self.earlier(turn, &pending.frame)? {
            let alone = Members {
                agents: vec![agent],
                on_quota: false,
                on_unavailable: false,
            };
            return Ok((alone, start));
        }
        let agent = turn.agent.and_then(|agent| pending.frame.agent(agent));
        let Some(id) = agent else {
            let message = "there is no conversation to go on with, and no agent to start one";
            return Err(fault(FaultCode::Session, message));
        };
        let members = match &program.agents[id.index()].kind {
            AgentKind::Plain(_) => Members {
                agents: vec![id],
                on_quota: false,
                on_unavailable: false,
            },
            AgentKind::Fallback {
                members,
                on_quota,
                on_unavailable,
            } => Members {
                agents: members.clone(),
                on_quota: *on_quota,
                on_unavailable: *on_unavailable,
            },
            AgentKind::Broken => {
                return Err(fault(FaultCode::Configuration, "the agent is broken"));
            }
        };
        Ok((members, Start::New))
    }

    /// The conversation of `continue` or `fork`, with its agent; nothing where there is none yet.
    fn earlier(
        &self,
        turn: &AgentTurn,
        frame: &Frame,
    ) -> Result<Option<(AgentId, Start)>, Box<Fault>> {
        let (result, fork) = match (&turn.continues, &turn.forks) {
            (Some(result), _) => (result, false),
            (None, Some(result)) => (result, true),
            (None, None) => return Ok(None),
        };
        let value = self.evaluate(result, frame)?;
        if value.is_null() {
            return Ok(None);
        }
        let named = match &value {
            Value::Object(object) => object.get("conversation").and_then(Value::as_text),
            _ => None,
        };
        let Some((agent, id)) = named.and_then(|named| named.split_once('/')) else {
            let message = "the agent did not name its conversation, so it cannot go on";
            return Err(fault(FaultCode::Session, message));
        };
        let agents = &self.run.plan.program().agents;
        let known = agents.iter().position(|known| *known.name == *agent);
        let Some(at) = known else {
            let message = format!("the conversation is of `{agent}`, which is no agent any more");
            return Err(fault(FaultCode::Session, message));
        };
        let conversation = Conversation::parse(id)
            .map_err(|invalid| fault(FaultCode::Session, invalid.to_string()))?;
        let start = match fork {
            true => Start::Fork(conversation),
            false => Start::Continue(conversation),
        };
        Ok(Some((AgentId(at as u32), start)))
    }

    fn turn(
        &self,
        turn: &AgentTurn,
        pending: &Pending<'_>,
        with: &TurnContext<'_>,
    ) -> Result<TurnRequest, Box<Fault>> {
        let (members, earlier) = self.members(pending)?;
        let nothing = AgentStep::default();
        let begun = self.run.agent_step(self.task, &pending.path);
        let state = begun.unwrap_or(&nothing);
        let Some(agent) = members.agents.get(state.member).copied() else {
            let message = "the list of agents is shorter than it was";
            return Err(fault(FaultCode::Configuration, message));
        };
        let name = self.run.plan.program().agents[agent.index()]
            .name
            .to_string();
        let Some(plain) = plain(self.run, agent) else {
            let message = format!("`{name}` is no agent that can take a turn");
            return Err(fault(FaultCode::Configuration, message));
        };
        let own = state.conversation.as_ref();
        let own = own.filter(|(of, _)| *of == name && can_continue(self.run, plain));
        let start = match own {
            Some((_, id)) => Conversation::parse(id).map_or(Start::New, Start::Continue),
            None => earlier,
        };
        let number = self.number(&name, with);
        Ok(TurnRequest {
            agent,
            number,
            brief: self.brief(turn, pending, state, own.is_some())?,
            baseline: self.baseline(&name, &start),
            start,
            response: turn.response.clone(),
            since: state.head.clone(),
            credentials: self.credentials(plain, with.host)?,
            timeout: turn.timeout.or(limit(plain, "timeout")),
            idle: turn.idle.or(limit(plain, "idle")).or(Some(AGENT_IDLE)),
            give_up_after: limit(plain, "giveUpAfter"),
            name,
        })
    }

    /// The first turn of an agent that has not ended and is not in flight: one that was cut off is taken again.
    fn number(&self, agent: &str, with: &TurnContext<'_>) -> u32 {
        let nothing = Turns::default();
        let ended = self.run.turns.get(agent).unwrap_or(&nothing);
        let mut open = (ended.all_before..u32::MAX).filter(|number| !ended.beyond.contains(number));
        open.find(|number| !(with.in_flight)(agent, *number))
            .unwrap_or(u32::MAX)
    }

    /// What the agent is told; `goes_on` if it knows the task from an earlier turn of its conversation.
    fn brief(
        &self,
        turn: &AgentTurn,
        pending: &Pending<'_>,
        state: &AgentStep,
        goes_on: bool,
    ) -> Result<String, Box<Fault>> {
        let types = Types(&self.run.plan);
        let schema = turn.response.as_ref();
        let schema = schema.map(|kind| kind.schema(&types));
        let repair = match (&state.problem, &schema) {
            (Some(problem), Some(schema)) => Some(answer::repair(problem, schema)),
            (Some(_) | None, _) => None,
        };
        if goes_on && let Some(repair) = repair {
            return Ok(repair);
        }
        let mut brief = text_of(self.evaluate(&turn.brief, &pending.frame)?);
        if state.interrupted && goes_on {
            brief = format!("{GO_ON}\n\n{brief}");
        }
        if let Some(schema) = &schema {
            brief.push_str(&answer::instructions(schema));
        }
        if let Some(repair) = repair {
            brief.push_str("\n\n");
            brief.push_str(&repair);
        }
        Ok(brief)
    }

    /// What was used in a conversation before.
    fn baseline(&self, agent: &str, start: &Start) -> Baseline {
        let id = match start {
            Start::New => return Baseline::Nothing,
            Start::Continue(id) | Start::Fork(id) => id.as_str().to_owned(),
        };
        match self.run.conversations.get(&(agent.to_owned(), id)) {
            Some(total) => Baseline::Total(total.clone()),
            None => Baseline::Unknown,
        }
    }

    fn credentials(
        &self,
        plain: &PlainAgent,
        host: &HostEnvironment,
    ) -> Result<Vec<(String, String)>, Box<Fault>> {
        let auth = plain.auth.as_ref();
        let credential = match auth.and_then(|auth| auth.credential.as_ref()) {
            Some(expr) => {
                let value = self.evaluate_with(expr, &Frame::default(), Some(host))?;
                Some(text_of(value))
            }
            None => None,
        };
        credentials::variables(plain, credential.as_deref(), host)
            .map_err(|refused| fault(FaultCode::Configuration, refused.to_string()))
    }
}

/// Whether an agent's CLI can go on with a conversation.
fn can_continue(run: &Run, plain: &PlainAgent) -> bool {
    let Some(declared) = plain.declared else {
        let harness = harness::built_in(&plain.harness);
        return harness.is_none_or(|harness| harness.capabilities().resume);
    };
    let declared = &run.plan.program().harnesses[declared.index()];
    let mut options = declared.options.iter();
    let supports = options.find(|(name, _)| &**name == "supports");
    let words = supports.and_then(|(_, words)| words.as_list());
    let mut words = words.unwrap_or_default().iter();
    words.any(|word| word.as_text() == Some("continue"))
}

/// A limit of time among the options of an agent.
fn limit(plain: &PlainAgent, name: &str) -> Option<Duration> {
    let value = plain.options.iter().find(|(key, _)| **key == *name);
    match value {
        Some((_, Value::Int(ms))) => u64::try_from(*ms).ok().map(Duration::from_millis),
        _ => None,
    }
}
