//! What this version compiles but cannot run: told before anything starts, one error for each place.

use crate::agents::{Agents, Driven};
use crate::executor::HostEnvironment;
use crate::harness::{credentials, probe};
use outpost_compiler::eval;
use outpost_compiler::graph;
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{
    Action, AgentKind, Argument, Body, Branch, CheckItem, Environment, Expr, Ref, SandboxId,
    SandboxRef, Step, TaskKind, WorkflowId,
};
use outpost_grammar::{Code, Diagnostic, Location};
use outpost_stdlib::functions::Lookup;
use outpost_stdlib::types::NamedId;
use outpost_stdlib::{Type, Value};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A construct that is part of the language and that this version cannot run.
pub const NOT_RUNNABLE: Code = Code("not-runnable");

/// Everything in a plan that this version cannot run.
pub fn supports(plan: &Plan) -> Vec<Diagnostic> {
    let mut found = Found {
        plan,
        diagnostics: Vec::new(),
        steps: BTreeSet::new(),
    };
    found.workflow(plan.workflow_id());
    for id in sandboxes(plan) {
        found.sandbox(id);
    }
    let agents = graph::agents(plan.program(), plan.workflow_id());
    let unfit = Agents::of(plan).diagnostics(plan, &agents);
    found.diagnostics.extend(unfit);
    outpost_grammar::diagnostic::sort(&mut found.diagnostics);
    found.diagnostics
}

/// A variable that the machine must provide and that is not set.
pub const UNSET_VARIABLE: Code = Code("unset-variable");

/// An agent's program that is not on the machine.
pub const MISSING_PROGRAM: Code = Code("missing-program");

/// What a plan needs of the machine and does not find there: one error for each.
pub fn missing(plan: &Plan, host: &HostEnvironment) -> Vec<Diagnostic> {
    let mut diagnostics = unset_variables(plan, host);
    diagnostics.extend(missing_programs(plan, host));
    outpost_grammar::diagnostic::sort(&mut diagnostics);
    diagnostics
}

/// The variables that actions of a plan name and that the machine does not have.
pub fn unset_variables(plan: &Plan, host: &HostEnvironment) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut known: BTreeSet<Arc<str>> = BTreeSet::new();
    let program = plan.program();
    let mut check = |name: &Arc<str>, at: Location| {
        if host.get(name).is_none() && known.insert(name.clone()) {
            let message = format!("`{name}` is not set on this machine");
            let help = format!("set the environment variable `{name}` before the run");
            diagnostics.push(Diagnostic::error(UNSET_VARIABLE, at, message).help(help));
        }
    };
    let mut named = |expr: &Expr| {
        eval::references(expr, &mut |of, at| match of {
            Ref::Env(name) => check(name, at),
            Ref::Secret(id) => check(&program.secrets[id.index()].name, at),
            _ => {}
        });
    };
    let values = |environment: &Environment, named: &mut dyn FnMut(&Expr)| {
        environment.iter().for_each(|(_, value)| named(value));
    };
    for step in steps(plan) {
        match &step.action {
            Action::Command(command) => values(&command.environment, &mut named),
            Action::Agent(turn) => values(&turn.environment, &mut named),
            Action::Value(_)
            | Action::Assert { .. }
            | Action::Call { .. }
            | Action::Workflow { .. } => {}
        }
    }
    for id in sandboxes(plan) {
        values(&program.sandboxes[id.index()].environment, &mut named);
    }
    for (_, plain) in credentials::agents(plan) {
        values(&plain.environment, &mut named);
        if let Some(declared) = plain.declared {
            let harness = &program.harnesses[declared.index()];
            values(&harness.environment, &mut named);
        }
        let auth = plain.auth.as_ref();
        let credential = auth.and_then(|auth| auth.credential.as_ref());
        credential.into_iter().for_each(&mut named);
    }
    diagnostics.extend(credentials::unset(plan, host));
    outpost_grammar::diagnostic::sort(&mut diagnostics);
    diagnostics
}

/// Every member's program is looked up before the run starts (SEMANTICS Q2).
fn missing_programs(plan: &Plan, host: &HostEnvironment) -> Vec<Diagnostic> {
    let agents = Agents::of(plan);
    let mut diagnostics = Vec::new();
    for id in graph::agents(plan.program(), plan.workflow_id()) {
        let agent = &plan.program().agents[id.index()];
        let (Some(Driven::Cli(cli)), AgentKind::Plain(plain)) = (agents.get(id), &agent.kind)
        else {
            continue;
        };
        let Some(program) = cli.program() else {
            continue;
        };
        // Where a file sets the path, or the program lies in the workspace, only the start can tell.
        let sets_path = plain.environment.iter().any(|(name, _)| &**name == "PATH");
        if sets_path || program.contains('/') && !program.starts_with('/') {
            continue;
        }
        let path = host.get("PATH").unwrap_or_default();
        if probe::find(&program, path, Path::new("/")).is_none() {
            let message = format!(
                "the program of `{}` is not on this machine: `{program}`",
                agent.name
            );
            let diagnostic = Diagnostic::error(MISSING_PROGRAM, agent.at, message)
                .help("install it; `outpostc doctor` shows which agents are there");
            diagnostics.push(diagnostic);
        }
    }
    diagnostics
}

/// The sandboxes that the actions of a plan use, each once, in source order.
fn sandboxes(plan: &Plan) -> BTreeSet<SandboxId> {
    let mut sandboxes = BTreeSet::new();
    let mut sandbox = |of: &SandboxRef| {
        if let SandboxRef::Named(id) = of {
            sandboxes.insert(*id);
        }
    };
    for step in steps(plan) {
        match &step.action {
            Action::Agent(turn) => turn.sandbox.iter().for_each(|(of, _)| sandbox(of)),
            Action::Command(command) => command.sandbox.iter().for_each(|(of, _)| sandbox(of)),
            Action::Call { arguments, .. } => {
                for argument in arguments {
                    match argument {
                        Argument::Sandbox(of) => sandbox(of),
                        Argument::Agent(_) | Argument::Value(_) => {}
                    }
                }
            }
            Action::Value(_) | Action::Assert { .. } | Action::Workflow { .. } => {}
        }
    }
    sandboxes
}

/// All steps of a plan, those of the declared steps it calls included.
fn steps(plan: &Plan) -> Vec<&Step> {
    let mut found: Vec<&Step> = Vec::new();
    for task in plan.tasks() {
        match &task.kind {
            TaskKind::Task(body) => found.extend(&body.steps),
            TaskKind::Loop(of_task) => {
                found.extend(&of_task.attempt.steps);
                let items = of_task.check.items.iter();
                found.extend(items.filter_map(|item| match item {
                    CheckItem::Step(step) => Some(step),
                    CheckItem::Reject { .. } | CheckItem::Accept { .. } => None,
                }));
            }
            TaskKind::Gate(_) | TaskKind::Ask(_) | TaskKind::Race(_) => {}
        }
    }
    let mut called = BTreeSet::new();
    let mut at = 0;
    while let Some(step) = found.get(at) {
        at += 1;
        if let Action::Call { step: id, .. } = &step.action
            && called.insert(id.0)
        {
            found.extend(&plan.program().steps[id.index()].body.steps);
        }
    }
    found
}

/// An input that is missing, unknown or of a wrong type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFault {
    /// Its name.
    pub name: String,
    /// The fact.
    pub message: String,
}

/// The inputs of a run in the order of declaration, defaults filled in; or all that is wrong with what was given.
pub fn check_inputs(
    plan: &Plan,
    given: Vec<(String, Value)>,
) -> Result<Vec<Value>, Vec<InputFault>> {
    let declared = &plan.workflow().inputs;
    let mut faults = Vec::new();
    let mut values: Vec<Option<Value>> = declared.iter().map(|_| None).collect();
    for (name, value) in given {
        let place = declared.iter().position(|input| *input.name == *name);
        let message = match place {
            None => format!("`{}` has no input `{name}`", plan.workflow().name),
            Some(at) if values[at].is_some() => format!("the input `{name}` is given twice"),
            Some(at) => match declared[at].kind.conform(value, &Types(plan)) {
                Ok(value) => {
                    values[at] = Some(value);
                    continue;
                }
                Err(fault) => {
                    values[at] = Some(Value::Null);
                    format!("the input `{name}`: {fault}")
                }
            },
        };
        faults.push(InputFault { name, message });
    }
    for (input, value) in declared.iter().zip(&mut values) {
        if value.is_none() {
            value.clone_from(&input.default);
        }
        if value.is_none() {
            faults.push(InputFault {
                name: input.name.to_string(),
                message: format!("the input `{}` is missing", input.name),
            });
        }
    }
    match faults.is_empty() {
        true => Ok(values.into_iter().map(Option::unwrap_or_default).collect()),
        false => Err(faults),
    }
}

/// The named types of a plan's program.
pub struct Types<'a>(pub &'a Plan);

impl Lookup for Types<'_> {
    fn definition(&self, id: NamedId) -> &Type {
        &self.0.program().types[id.0 as usize].definition
    }
}

struct Found<'a> {
    plan: &'a Plan,
    diagnostics: Vec<Diagnostic>,
    /// Declared steps that were looked into.
    steps: BTreeSet<u32>,
}

impl Found<'_> {
    fn add(&mut self, at: Location, what: &str) {
        let message = format!("this version of outpostc cannot run {what} yet");
        let diagnostic = Diagnostic::error(NOT_RUNNABLE, at, message)
            .help("check, plan and format work; run needs a version that supports it");
        self.diagnostics.push(diagnostic);
    }

    fn workflow(&mut self, id: WorkflowId) {
        let workflow = &self.plan.program().workflows[id.index()];
        for task in &workflow.tasks {
            if task.each.is_some() {
                self.add(task.at, "a `for` over tasks");
            }
            if task.cache.is_some() {
                self.add(task.at, "a task with a `cache`");
            }
            match &task.kind {
                TaskKind::Task(body) => self.body(body),
                TaskKind::Loop(of_task) => {
                    self.body(&of_task.attempt);
                    for item in &of_task.check.items {
                        match item {
                            CheckItem::Step(step) => self.step(step),
                            CheckItem::Reject { .. } | CheckItem::Accept { .. } => {}
                        }
                    }
                }
                TaskKind::Gate(gate) if gate.pause => self.add(task.at, "a `pause`"),
                TaskKind::Gate(_) => self.add(task.at, "an `approval`"),
                TaskKind::Ask(_) => self.add(task.at, "an `ask`"),
                TaskKind::Race(_) => self.add(task.at, "a `race`"),
            }
        }
    }

    fn body(&mut self, body: &Body) {
        for step in &body.steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &Step) {
        match &step.action {
            Action::Value(_) | Action::Assert { .. } | Action::Command(_) | Action::Agent(_) => {}
            Action::Workflow { .. } => self.add(step.at, "a called workflow"),
            Action::Call { step: id, .. } => {
                if self.steps.insert(id.0) {
                    let program = self.plan.program().clone();
                    self.body(&program.steps[id.index()].body);
                }
            }
        }
    }

    fn sandbox(&mut self, id: SandboxId) {
        let program = self.plan.program().clone();
        let sandbox = &program.sandboxes[id.index()];
        if &*sandbox.provider != "local" {
            let what = format!("a sandbox of `{}`", sandbox.provider);
            return self.add(sandbox.at, &what);
        }
        if sandbox.per_task {
            self.add(sandbox.at, "a sandbox with `lifetime: task`");
        }
        match sandbox.branch {
            Branch::Current | Branch::Named { .. } => {}
            Branch::Integrate { .. } => self.add(sandbox.at, "a sandbox with `branch: integrate`"),
        }
        if sandbox.hook.is_some() {
            self.add(sandbox.at, "a sandbox with a `hook`");
        }
        for (name, _) in &sandbox.options {
            if !matches!(
                &**name,
                "provider" | "repository" | "branch" | "lifetime" | "quotaResume"
            ) {
                let what = format!("a sandbox with `{name}`");
                self.add(sandbox.at, &what);
            }
        }
    }
}
