//! Bodies: which action is next, and what a body is worth when none is.
//!
//! A walk starts at the first step every time: results of steps with effects come from the journal, everything else is evaluated again.
//! So there is no cursor that could disagree with the journal, and a body that was edited between two starts is no special case.

use crate::event::Phase;
use crate::executor::{CommandRequest, HostEnvironment};
use crate::fault::{Fault, FaultCode, Place};
use crate::run::{Pause, Run};
use outpost_compiler::eval::{self, Scope};
use outpost_compiler::program::{
    Action, AgentId, AgentRef, AgentTurn, Argument, Body, Branch, Check, CheckItem, Command,
    Executable, Expr, Ref, SandboxId, SandboxRef, Step, TaskId, TaskKind,
};
use outpost_stdlib::Value;
use sha2::{Digest, Sha256};
use std::sync::Arc;

mod turns;

pub use turns::{
    Members, TurnContext, agent_result, environment, members, session_variable, turn, until,
};

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
