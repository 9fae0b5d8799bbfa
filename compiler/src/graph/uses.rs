//! What a task uses, found by walking through all it says and through the steps that it calls.

use crate::eval::children;
use crate::program::{
    Action, AgentId, AgentKind, AgentRef, AgentTurn, Argument, Body, Check, CheckItem, Command,
    Environment, Executable, Expr, ExprKind, Item, Program, Ref, SandboxId, SandboxRef, SecretId,
    StepId, Task, TaskId, TaskKind, WorkflowId,
};
use outpost_stdlib::Value;
use std::collections::BTreeSet;

/// How many steps are looked at for one task; called steps may call others over and over.
const MAX_STEPS: usize = 10_000;

/// What a task uses.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// Agents that it names.
    pub named: BTreeSet<AgentId>,
    /// Those and the members of the lists among them.
    pub agents: BTreeSet<AgentId>,
    /// Sandboxes.
    pub sandboxes: BTreeSet<SandboxId>,
    /// Secrets, those of its agents and sandboxes too.
    pub secrets: BTreeSet<SecretId>,
    /// Tasks whose values it reads.
    pub reads: BTreeSet<TaskId>,
    /// The workflows that it calls.
    pub calls: BTreeSet<WorkflowId>,
    /// Whether it runs a command.
    pub command: bool,
    /// Whether it runs a shell text.
    pub shell: bool,
    /// The most turns of agents in one attempt: every member, every repair, every pass.
    pub turns: u64,
}

/// What a task uses.
pub(crate) fn of(program: &Program, task: &Task) -> Uses {
    let mut walk = Walk {
        program,
        uses: Uses::default(),
        steps: 0,
    };
    walk.some(task.when.as_deref());
    if let Some(cache) = &task.cache {
        walk.expr(&cache.key);
        walk.expr(&cache.version);
    }
    if let Some(each) = &task.each {
        walk.expr(&each.list);
        walk.some(each.key.as_ref());
    }
    let frame = Frame::default();
    match &task.kind {
        TaskKind::Task(body) => walk.body(body, &frame),
        TaskKind::Loop(looping) => {
            walk.body(&looping.attempt, &frame);
            walk.check(&looping.check, &frame);
        }
        TaskKind::Race(race) => {
            walk.body(&race.attempt, &frame);
            walk.check(&race.check, &frame);
            walk.some(race.score.as_ref());
        }
        TaskKind::Gate(gate) => walk.expr(&gate.prompt),
        TaskKind::Ask(ask) => {
            walk.expr(&ask.question);
            walk.some(ask.choices.as_ref());
        }
    }
    walk.uses
}

/// The agents that a workflow may use, with the members of lists and with those of the workflows that it calls.
pub fn agents(program: &Program, workflow: WorkflowId) -> BTreeSet<AgentId> {
    let mut agents = BTreeSet::new();
    let mut seen = BTreeSet::from([workflow]);
    let mut due = vec![workflow];
    while let Some(id) = due.pop() {
        for task in &program.workflows[id.index()].tasks {
            let uses = of(program, task);
            agents.extend(uses.agents);
            due.extend(uses.calls.into_iter().filter(|call| seen.insert(*call)));
        }
    }
    agents
}

/// How many elements a list has, where its expression says so.
pub(crate) fn length(list: &Expr) -> Option<u64> {
    match &list.kind {
        ExprKind::Const(Value::List(values)) => Some(values.len() as u64),
        ExprKind::List(items) => {
            let mut count = 0u64;
            for item in items {
                count += match item {
                    Item::One(_) => 1,
                    Item::Spread(list) => length(list)?,
                };
            }
            Some(count)
        }
        ExprKind::As(inner, _) => length(inner),
        _ => None,
    }
}

/// The agents and sandboxes that a called step was given, by parameter.
#[derive(Default)]
struct Frame(Vec<Given>);

#[derive(Clone, Copy)]
enum Given {
    Value,
    Sandbox(SandboxId),
    Agent(AgentId),
}

impl Frame {
    fn agent(&self, agent: AgentRef) -> Option<AgentId> {
        match agent {
            AgentRef::Named(id) => Some(id),
            AgentRef::Param(local) => match self.0.get(local.index())? {
                Given::Agent(id) => Some(*id),
                Given::Value | Given::Sandbox(_) => None,
            },
        }
    }

    fn sandbox(&self, sandbox: SandboxRef) -> Option<SandboxId> {
        match sandbox {
            SandboxRef::Named(id) => Some(id),
            SandboxRef::Param(local) => match self.0.get(local.index())? {
                Given::Sandbox(id) => Some(*id),
                Given::Value | Given::Agent(_) => None,
            },
        }
    }
}

struct Walk<'p> {
    program: &'p Program,
    uses: Uses,
    steps: usize,
}

impl Walk<'_> {
    fn some(&mut self, expr: Option<&Expr>) {
        if let Some(expr) = expr {
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Ref(Ref::Task { task, .. }) => {
                self.uses.reads.insert(*task);
            }
            ExprKind::Ref(Ref::Secret(secret)) => {
                self.uses.secrets.insert(*secret);
            }
            _ => children(expr, &mut |inner| self.expr(inner)),
        }
    }

    fn environment(&mut self, environment: &Environment) {
        for (_, value) in environment {
            self.expr(value);
        }
    }

    fn body(&mut self, body: &Body, frame: &Frame) {
        for step in &body.steps {
            self.action(&step.action, frame);
        }
        self.some(body.output.as_deref());
    }

    fn check(&mut self, check: &Check, frame: &Frame) {
        for item in &check.items {
            match item {
                CheckItem::Step(step) => self.action(&step.action, frame),
                CheckItem::Reject { text, when, .. } => {
                    self.expr(text);
                    self.expr(when);
                }
                CheckItem::Accept { when, .. } => self.expr(when),
            }
        }
    }

    fn action(&mut self, action: &Action, frame: &Frame) {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return;
        }
        match action {
            Action::Value(value) => self.expr(value),
            Action::Command(command) => self.command(command, frame),
            Action::Assert { condition, message } => {
                self.expr(condition);
                self.some(message.as_deref());
            }
            Action::Agent(turn) => self.turn(turn, frame),
            Action::Call { step, arguments } => self.call(*step, arguments, frame),
            Action::Workflow { workflow, inputs } => {
                self.uses.calls.insert(*workflow);
                for (_, value) in inputs {
                    self.expr(value);
                }
            }
        }
    }

    fn command(&mut self, command: &Command, frame: &Frame) {
        match &command.what {
            Executable::List(list) => {
                self.uses.command = true;
                self.expr(list);
            }
            Executable::Shell(text) => {
                self.uses.shell = true;
                self.expr(text);
            }
        }
        self.some(command.stdin.as_deref());
        self.some(command.directory.as_deref());
        self.environment(&command.environment);
        if let Some((sandbox, _)) = command.sandbox {
            self.sandbox(sandbox, frame);
        }
    }

    fn turn(&mut self, turn: &AgentTurn, frame: &Frame) {
        let mut members = 1;
        if let Some(agent) = turn.agent.and_then(|agent| frame.agent(agent)) {
            self.uses.named.insert(agent);
            members = self.agent(agent);
        }
        let passes = u64::from(turn.passes.unwrap_or(1).max(1));
        let answers = u64::from(turn.repairs) + 1;
        let turns = passes.saturating_mul(answers).saturating_mul(members);
        self.uses.turns = self.uses.turns.saturating_add(turns);
        self.expr(&turn.brief);
        let others = [&turn.continues, &turn.forks, &turn.until];
        others
            .into_iter()
            .flatten()
            .for_each(|expr| self.expr(expr));
        self.environment(&turn.environment);
        if let Some((sandbox, _)) = turn.sandbox {
            self.sandbox(sandbox, frame);
        }
    }

    fn sandbox(&mut self, sandbox: SandboxRef, frame: &Frame) {
        if let Some(id) = frame.sandbox(sandbox)
            && self.uses.sandboxes.insert(id)
        {
            let program = self.program;
            self.environment(&program.sandboxes[id.index()].environment);
        }
    }

    /// Counts an agent in; gives how many may answer in its place.
    fn agent(&mut self, id: AgentId) -> u64 {
        let program = self.program;
        let fresh = self.uses.agents.insert(id);
        match &program.agents[id.index()].kind {
            AgentKind::Plain(plain) => {
                if fresh {
                    self.environment(&plain.environment);
                    let auth = plain.auth.as_ref();
                    self.some(auth.and_then(|auth| auth.credential.as_ref()));
                }
                1
            }
            AgentKind::Fallback { members, .. } => {
                let plain = |id: &AgentId| {
                    let kind = &program.agents[id.index()].kind;
                    matches!(kind, AgentKind::Plain(_))
                };
                let members: Vec<AgentId> = members.iter().copied().filter(plain).collect();
                members.iter().map(|member| self.agent(*member)).sum()
            }
            AgentKind::Broken => 1,
        }
    }

    fn call(&mut self, step: StepId, arguments: &[Argument], frame: &Frame) {
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            given.push(match argument {
                Argument::Value(value) => {
                    self.expr(value);
                    Given::Value
                }
                Argument::Sandbox(sandbox) => {
                    frame.sandbox(*sandbox).map_or(Given::Value, Given::Sandbox)
                }
                Argument::Agent(agent) => frame.agent(*agent).map_or(Given::Value, Given::Agent),
            });
        }
        let program = self.program;
        self.body(&program.steps[step.index()].body, &Frame(given));
    }
}
