//! What this version compiles but cannot run: told before anything starts, one error for each place.

use crate::executor::HostEnvironment;
use crate::harness::credentials;
use outpost_compiler::eval;
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{
    Action, Argument, Body, CheckItem, Expr, Ref, Step, TaskKind, WorkflowId,
};
use outpost_grammar::{Code, Diagnostic, Location};
use outpost_stdlib::functions::Lookup;
use outpost_stdlib::types::NamedId;
use outpost_stdlib::{Type, Value};
use std::collections::BTreeSet;

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
    outpost_grammar::diagnostic::sort(&mut found.diagnostics);
    found.diagnostics
}

/// A variable that the machine must provide and that is not set.
pub const UNSET_VARIABLE: Code = Code("unset-variable");

/// The variables that actions and agents of a plan name and that the machine does not have: one error for each.
pub fn unset_variables(plan: &Plan, host: &HostEnvironment) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut known = BTreeSet::new();
    let program = plan.program();
    let mut named = |expr: &Expr| {
        eval::references(expr, &mut |of, at| {
            let name = match of {
                Ref::Env(name) => name,
                Ref::Secret(id) => &program.secrets[id.index()].name,
                _ => return,
            };
            if host.get(name).is_none() && known.insert(name.clone()) {
                let message = format!("`{name}` is not set on this machine");
                let diagnostic = Diagnostic::error(UNSET_VARIABLE, at, message).help(format!(
                    "set the environment variable `{name}` before the run"
                ));
                diagnostics.push(diagnostic);
            }
        });
    };
    for step in steps(plan) {
        if let Action::Command(command) = &step.action {
            command
                .environment
                .iter()
                .for_each(|(_, value)| named(value));
        }
    }
    for (_, agent) in credentials::agents(plan) {
        let auth = agent.auth.as_ref();
        let credential = auth.and_then(|auth| auth.credential.as_ref());
        let variables = agent.environment.iter().map(|(_, value)| value);
        variables.chain(credential).for_each(&mut named);
    }
    diagnostics.extend(credentials::unset(plan, host));
    outpost_grammar::diagnostic::sort(&mut diagnostics);
    diagnostics
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
pub(crate) struct Types<'a>(pub &'a Plan);

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
        if let Some(budget) = &workflow.policy.budget {
            let tokens = budget.input_tokens.is_some()
                || budget.output_tokens.is_some()
                || budget.cached_tokens.is_some();
            if tokens || budget.cost.is_some() {
                let places = &workflow.policy.places;
                let place = places.iter().find(|(name, _)| *name == "budget");
                let at = place.map_or(workflow.at, |(_, at)| *at);
                self.add(at, "a budget of tokens or of money");
            }
        }
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
            Action::Value(_) | Action::Assert { .. } => {}
            Action::Command(command) => {
                if let Some((_, at)) = command.sandbox {
                    self.add(at, "a command in a sandbox");
                }
            }
            Action::Agent(_) => self.add(step.at, "an agent"),
            Action::Workflow { .. } => self.add(step.at, "a called workflow"),
            Action::Call {
                step: id,
                arguments,
            } => {
                let entity = arguments
                    .iter()
                    .any(|argument| !matches!(argument, Argument::Value(_)));
                if entity {
                    self.add(step.at, "a step with a sandbox or an agent");
                } else if self.steps.insert(id.0) {
                    let program = self.plan.program().clone();
                    self.body(&program.steps[id.index()].body);
                }
            }
        }
    }
}
