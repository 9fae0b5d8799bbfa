//! Bodies: which action is next, and what a body is worth when none is.
//!
//! A walk starts at the first step every time: results of steps with effects come from the journal, everything else is evaluated again.
//! So there is no cursor that could disagree with the journal, and a body that was edited between two starts is no special case.

use crate::answer;
use crate::event::{Phase, Turned, Usage};
use crate::executor::{Answer, CommandRequest, HostEnvironment, TurnRequest};
use crate::fault::{Fault, FaultCode, Place};
use crate::harness::{Baseline, Conversation, Start, credentials, probe};
use crate::run::{AgentStep, Pause, Run, Turns};
use crate::runnable::Types;
use outpost_compiler::eval::{self, Scope};
use outpost_compiler::program::{
    AGENT_IDLE, Action, AgentId, AgentKind, AgentRef, AgentTurn, Argument, Body, Branch, Check,
    CheckItem, Command, Environment, Executable, Expr, PlainAgent, Ref, SandboxId, SandboxRef,
    Step, TaskId, TaskKind,
};
use outpost_stdlib::Value;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;

/// What comes next in a phase.
#[derive(Debug)]
pub enum Next<'a> {
    /// An action with an effect.
    Action(Pending<'a>),
    /// The body has a value.
    Value(Value),
    /// The check accepts.
    Accept,
    /// The check rejects, with feedback.
    Reject(String),
}

/// An action with an effect that has not been done.
#[derive(Debug)]
pub struct Pending<'a> {
    /// The step.
    pub step: &'a Step,
    /// Its path.
    pub path: String,
    /// Whether it is written in a check: there an exit status is a value.
    pub in_check: bool,
    frame: Frame,
}

impl Pending<'_> {
    /// The agent's turn, if it is one.
    pub fn turn(&self) -> Option<&AgentTurn> {
        match &self.step.action {
            Action::Agent(turn) => Some(turn),
            Action::Command(_)
            | Action::Value(_)
            | Action::Assert { .. }
            | Action::Call { .. }
            | Action::Workflow { .. } => None,
        }
    }

    /// The sandbox in which it takes place.
    pub fn sandbox(&self) -> Option<SandboxId> {
        let sandbox = match &self.step.action {
            Action::Agent(turn) => turn.sandbox,
            Action::Command(command) => command.sandbox,
            Action::Value(_)
            | Action::Assert { .. }
            | Action::Call { .. }
            | Action::Workflow { .. } => None,
        };
        self.frame.sandbox(sandbox?.0)
    }
}

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

/// The numbers of an attempt that expressions can read.
#[derive(Clone, Copy, Debug)]
pub struct AttemptView<'a> {
    /// The attempt; 0 in a `when`.
    pub attempt: u32,
    /// The round; 0 outside loops.
    pub round: u64,
    /// The phase.
    pub phase: Phase,
    /// The quota pause that it comes after.
    pub quota: Option<&'a Pause>,
}

/// Values of one body: of a task, a phase, or a called step.
#[derive(Clone, Debug, Default)]
struct Frame {
    /// Results of the steps so far.
    steps: Vec<Value>,
    /// Parameters of a called step.
    locals: Vec<Value>,
    /// Those of them that are no values.
    entities: Vec<Option<Entity>>,
}

/// An argument that is no value.
#[derive(Clone, Copy, Debug)]
enum Entity {
    Sandbox(SandboxId),
    Agent(AgentId),
}

impl Frame {
    fn sandbox(&self, of: SandboxRef) -> Option<SandboxId> {
        match of {
            SandboxRef::Named(id) => Some(id),
            SandboxRef::Param(local) => match self.entities.get(local.index()) {
                Some(Some(Entity::Sandbox(id))) => Some(*id),
                Some(Some(Entity::Agent(_)) | None) | None => None,
            },
        }
    }

    fn agent(&self, of: AgentRef) -> Option<AgentId> {
        match of {
            AgentRef::Named(id) => Some(id),
            AgentRef::Param(local) => match self.entities.get(local.index()) {
                Some(Some(Entity::Agent(id))) => Some(*id),
                Some(Some(Entity::Sandbox(_)) | None) | None => None,
            },
        }
    }
}

enum Flow<'a, T> {
    Value(T),
    Action(Pending<'a>),
}

/// What comes next in the phase that a task is in.
pub fn next<'a>(run: &'a Run, task: TaskId, view: AttemptView<'a>) -> Result<Next<'a>, Box<Fault>> {
    let ctx = Walk { run, task, view };
    match &run.plan.task(task).kind {
        TaskKind::Task(body) => ctx.value(body),
        TaskKind::Loop(of_task) => match view.phase {
            Phase::Attempt => ctx.value(&of_task.attempt),
            Phase::Check => ctx.check(&of_task.check),
        },
        TaskKind::Gate(_) | TaskKind::Ask(_) | TaskKind::Race(_) => Err(Box::new(Fault::new(
            FaultCode::Configuration,
            "this version cannot run a task of this kind",
        ))),
    }
}

/// Whether a task's `when` lets it run.
pub fn condition(run: &Run, task: TaskId, view: AttemptView<'_>) -> Result<bool, Box<Fault>> {
    let Some(when) = &run.plan.task(task).when else {
        return Ok(true);
    };
    let ctx = Walk { run, task, view };
    Ok(ctx.evaluate(when, &Frame::default())? == Value::Bool(true))
}

/// What the run gives.
pub fn output(run: &Run) -> Result<Value, Box<Fault>> {
    let Some(output) = &run.plan.workflow().output else {
        return Ok(Value::Null);
    };
    let view = AttemptView {
        attempt: 0,
        round: 0,
        phase: Phase::Attempt,
        quota: None,
    };
    // No task's own names can stand in the output, so which task it is does not matter.
    let ctx = Walk {
        run,
        task: TaskId(0),
        view,
    };
    ctx.evaluate(output, &Frame::default())
}

/// Whether a body is one step without an effect.
pub fn is_pure(kind: &TaskKind) -> bool {
    match kind {
        TaskKind::Task(body) => match &body.steps[..] {
            [step] => is_in_process(&step.action),
            _ => false,
        },
        TaskKind::Loop(_) | TaskKind::Gate(_) | TaskKind::Ask(_) | TaskKind::Race(_) => false,
    }
}

/// The inputs of a command, evaluated.
pub fn command(
    run: &Run,
    task: TaskId,
    view: AttemptView<'_>,
    pending: &Pending<'_>,
) -> Result<CommandRequest, Box<Fault>> {
    let Action::Command(command) = &pending.step.action else {
        return Err(Box::new(Fault::new(
            FaultCode::Configuration,
            "this version cannot run an action of this kind",
        )));
    };
    let ctx = Walk { run, task, view };
    ctx.command(command, pending)
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

fn fault(code: FaultCode, message: impl Into<String>) -> Box<Fault> {
    Box::new(Fault::new(code, message))
}

/// The key that is the same whenever a phase is replayed or repeated (SEMANTICS L6).
pub fn idempotency_key(run: &str, task: &str, round: u64, phase: Phase) -> String {
    digest(&[run, task, &round.to_string(), phase.name()])
}

/// The key of one step of a phase.
pub fn step_key(phase_key: &str, path: &str) -> String {
    digest(&[phase_key, path])
}

/// SHA-256 of texts, each ended by a zero byte so that none runs into the next.
fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize())
}

/// Bytes in base 16.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

fn is_in_process(action: &Action) -> bool {
    match action {
        Action::Value(_) | Action::Assert { .. } => true,
        Action::Command(_) | Action::Agent(_) | Action::Call { .. } | Action::Workflow { .. } => {
            false
        }
    }
}

struct Walk<'a> {
    run: &'a Run,
    task: TaskId,
    view: AttemptView<'a>,
}

impl<'a> Walk<'a> {
    fn value(&self, body: &'a Body) -> Result<Next<'a>, Box<Fault>> {
        Ok(match self.body(body, Frame::default(), "")? {
            Flow::Value(value) => Next::Value(value),
            Flow::Action(pending) => Next::Action(pending),
        })
    }

    fn body(
        &self,
        body: &'a Body,
        mut frame: Frame,
        path: &str,
    ) -> Result<Flow<'a, Value>, Box<Fault>> {
        for step in &body.steps {
            match self.step(step, path, false, &frame)? {
                Flow::Value(value) => frame.steps.push(value),
                Flow::Action(pending) => return Ok(Flow::Action(pending)),
            }
        }
        Ok(Flow::Value(match &body.output {
            Some(output) => self.evaluate(output, &frame)?,
            None => frame.steps.pop().unwrap_or_default(),
        }))
    }

    fn check(&self, check: &'a Check) -> Result<Next<'a>, Box<Fault>> {
        let mut frame = Frame::default();
        for item in &check.items {
            match item {
                CheckItem::Step(step) => match self.step(step, "", true, &frame)? {
                    Flow::Value(value) => frame.steps.push(value),
                    Flow::Action(pending) => return Ok(Next::Action(pending)),
                },
                CheckItem::Reject { text, when, .. } => {
                    if self.evaluate(when, &frame)? == Value::Bool(true) {
                        let text = self.evaluate(text, &frame)?;
                        return Ok(Next::Reject(text.as_text().unwrap_or_default().to_owned()));
                    }
                }
                CheckItem::Accept { when, .. } => {
                    if self.evaluate(when, &frame)? == Value::Bool(true) {
                        return Ok(Next::Accept);
                    }
                }
            }
        }
        Ok(Next::Accept)
    }

    fn step(
        &self,
        step: &'a Step,
        around: &str,
        in_check: bool,
        frame: &Frame,
    ) -> Result<Flow<'a, Value>, Box<Fault>> {
        let name = step.name.as_deref().unwrap_or("result");
        match &step.action {
            Action::Value(value) => self.evaluate(value, frame).map(Flow::Value),
            Action::Assert { condition, message } => {
                if self.evaluate(condition, frame)? == Value::Bool(true) {
                    return Ok(Flow::Value(Value::Bool(true)));
                }
                let message = match message {
                    Some(message) => self.evaluate(message, frame)?,
                    None => Value::Null,
                };
                let mut fault = Fault::new(
                    FaultCode::Assertion,
                    message.as_text().unwrap_or("the assertion does not hold"),
                );
                fault.span = Some(Place::of(&self.run.plan, condition.at));
                Err(Box::new(fault))
            }
            Action::Call {
                step: called,
                arguments,
            } => {
                let template = &self.run.plan.program().steps[called.index()];
                let mut inner = Frame {
                    locals: Vec::with_capacity(template.locals as usize),
                    ..Frame::default()
                };
                for argument in arguments {
                    let (value, entity) = match argument {
                        Argument::Value(value) => (self.evaluate(value, frame)?, None),
                        Argument::Sandbox(of) => {
                            (Value::Null, frame.sandbox(*of).map(Entity::Sandbox))
                        }
                        Argument::Agent(of) => (Value::Null, frame.agent(*of).map(Entity::Agent)),
                    };
                    inner.locals.push(value);
                    inner.entities.push(entity);
                }
                self.body(&template.body, inner, &inside(around, name))
            }
            Action::Command(_) | Action::Agent(_) | Action::Workflow { .. } => {
                let path = inside(around, name);
                let run = self.run.task(self.task);
                let finished = run.detail.as_ref().and_then(|detail| {
                    let mut steps = detail.steps.iter();
                    steps.find(|(of_step, _)| *of_step == path)
                });
                Ok(match finished {
                    Some((_, value)) => Flow::Value(value.clone()),
                    None => Flow::Action(Pending {
                        step,
                        path,
                        in_check,
                        frame: frame.clone(),
                    }),
                })
            }
        }
    }

    fn evaluate(&self, expr: &Expr, frame: &Frame) -> Result<Value, Box<Fault>> {
        self.evaluate_with(expr, frame, None)
    }

    fn evaluate_with(
        &self,
        expr: &Expr,
        frame: &Frame,
        host: Option<&HostEnvironment>,
    ) -> Result<Value, Box<Fault>> {
        let scope = BodyScope {
            walk: self,
            frame,
            host,
        };
        let program = self.run.plan.program();
        let mut locals = frame.locals.clone();
        eval::evaluate(expr, program, &scope, &mut locals).map_err(|fault| {
            let mut failed = Fault::new(FaultCode::Failed, fault.message);
            failed.span = Some(Place::of(&self.run.plan, fault.at));
            Box::new(failed)
        })
    }

    fn command(
        &self,
        command: &Command,
        pending: &Pending<'_>,
    ) -> Result<CommandRequest, Box<Fault>> {
        let frame = &pending.frame;
        let argv = match &command.what {
            Executable::List(list) => {
                let list = self.evaluate(list, frame)?;
                let words = list.as_list().unwrap_or_default().iter();
                words.map(|word| text_of(word.clone())).collect()
            }
            Executable::Shell(text) => {
                let text = text_of(self.evaluate(text, frame)?);
                vec!["sh".to_owned(), "-euc".to_owned(), text]
            }
        };
        let optional = |expr: &Option<Box<Expr>>| -> Result<Option<String>, Box<Fault>> {
            match expr {
                Some(expr) => {
                    let value = self.evaluate(expr, frame)?;
                    Ok((!value.is_null()).then(|| text_of(value)))
                }
                None => Ok(None),
            }
        };
        Ok(CommandRequest {
            argv,
            stdin: optional(&command.stdin)?,
            directory: optional(&command.directory)?,
            accepts: command.accepts.clone(),
            returns: command.returns.clone(),
            timeout: command.timeout,
            idle: command.idle,
            keep: command.keep,
        })
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
        let own = state.conversation.as_ref().filter(|(of, _)| *of == name);
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

/// A limit of time among the options of an agent.
fn limit(plain: &PlainAgent, name: &str) -> Option<Duration> {
    let value = plain.options.iter().find(|(key, _)| **key == *name);
    match value {
        Some((_, Value::Int(ms))) => u64::try_from(*ms).ok().map(Duration::from_millis),
        _ => None,
    }
}

fn inside(around: &str, name: &str) -> String {
    if around.is_empty() {
        name.to_owned()
    } else {
        format!("{around}/{name}")
    }
}

fn text_of(value: Value) -> String {
    match value.to_display() {
        Some(text) => text.to_string(),
        None => value.to_json(),
    }
}

impl Walk<'_> {
    /// The named branch on which the task's first agent works.
    fn branch(&self) -> Option<Arc<str>> {
        let body = match &self.run.plan.task(self.task).kind {
            TaskKind::Task(body) => body,
            TaskKind::Loop(of_task) => &of_task.attempt,
            TaskKind::Gate(_) | TaskKind::Ask(_) | TaskKind::Race(_) => return None,
        };
        let sandboxes = &self.run.plan.program().sandboxes;
        body.steps.iter().find_map(|step| match &step.action {
            Action::Agent(turn) => match turn.sandbox {
                Some((SandboxRef::Named(id), _)) => match &sandboxes[id.index()].branch {
                    Branch::Named { name, .. } => Some(name.clone()),
                    Branch::Current | Branch::Integrate { .. } => None,
                },
                Some((SandboxRef::Param(_), _)) | None => None,
            },
            Action::Value(_)
            | Action::Command(_)
            | Action::Assert { .. }
            | Action::Call { .. }
            | Action::Workflow { .. } => None,
        })
    }
}

struct BodyScope<'a> {
    walk: &'a Walk<'a>,
    frame: &'a Frame,
    host: Option<&'a HostEnvironment>,
}

impl Scope for BodyScope<'_> {
    fn read(&self, of: &Ref) -> Result<Value, String> {
        let run = self.walk.run;
        let task = run.task(self.walk.task);
        let rounds = task.detail.as_ref().map(|detail| &detail.rounds);
        let view = self.walk.view;
        Ok(match of {
            Ref::Input(id) => run.inputs.get(id.index()).cloned().unwrap_or_default(),
            Ref::Task { task, soft } => return run.value_of(*task, *soft),
            Ref::Step(at) => match self.frame.steps.get(*at as usize) {
                Some(value) => value.clone(),
                None => return Err("this step has no result yet".to_owned()),
            },
            Ref::Local(id) => self
                .frame
                .locals
                .get(id.index())
                .cloned()
                .unwrap_or_default(),
            Ref::Feedback => match rounds.and_then(|rounds| rounds.feedback.clone()) {
                Some(feedback) if view.round > 1 => Value::Text(feedback),
                Some(_) | None => Value::Null,
            },
            Ref::Candidate => rounds.and_then(|rounds| rounds.candidate.clone()).into(),
            Ref::Previous => rounds.and_then(|rounds| rounds.previous.clone()).into(),
            Ref::Round => Value::Int(i64::try_from(view.round).unwrap_or(i64::MAX)),
            Ref::Phase => Value::text(view.phase.name()),
            Ref::Attempt => Value::Int(i64::from(view.attempt)),
            Ref::IdempotencyKey => {
                let key = &run.plan.task(self.walk.task).key;
                Value::text(idempotency_key(&run.id, key, view.round, view.phase))
            }
            Ref::Quota => view.quota.map_or(Value::Null, |pause| {
                quota_value(pause, self.walk.branch().as_deref())
            }),
            Ref::RunId => Value::Text(run.id.clone()),
            Ref::RunName => Value::Text(run.plan.workflow().name.clone()),
            Ref::Secret(id) => {
                let name = &run.plan.program().secrets[id.index()].name;
                return self.host_variable(name);
            }
            Ref::Env(name) => return self.host_variable(name),
        })
    }
}

impl BodyScope<'_> {
    fn host_variable(&self, name: &str) -> Result<Value, String> {
        let value = self.host.and_then(|host| host.get(name));
        match value {
            Some(value) => Ok(Value::text(value)),
            None => Err(format!("`{name}` is not set on this machine")),
        }
    }
}

fn quota_value(pause: &Pause, branch: Option<&str>) -> Value {
    let reset = pause.reset_at.map(|at| Value::text(at.rfc3339()));
    let conversation = pause.conversation.as_deref();
    Value::object([
        ("message", Value::text(pause.message.as_str())),
        ("requestedAt", Value::text(pause.requested_at.rfc3339())),
        ("resetAt", reset.unwrap_or_default()),
        (
            "conversation",
            conversation.map_or(Value::Null, Value::text),
        ),
        ("branch", branch.map_or(Value::Null, Value::text)),
    ])
}
