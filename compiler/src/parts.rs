//! The plan part by part, as values: what a run records of the plan it started from (SEMANTICS J1).
//!
//! A part is a name and a text that is the same for the same meaning: layout, comments, names of files and the order
//! of declarations do not show in it. Two plans are compared by these texts (`compat`), and a refusal shows them.

use crate::canonical::Printer;
use crate::plan::Plan;
use crate::program::{
    Action, Argument, Body, Branch, Check, CheckItem, Command, Each, Environment, Executable, Loop,
    OnError, OnQuota, Policy, Retry, SandboxRef, Step, Task, TaskId, TaskKind, Trigger,
};
use crate::program::{AgentRef, AgentTurn, Cache, Expr, Program};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::time::Duration;

/// What a run records of its plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanRecord {
    /// Parts of the workflow itself.
    pub workflow: Vec<Part>,
    /// Its tasks, in the order of declaration.
    pub tasks: Vec<TaskRecord>,
}

/// What a run records of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRecord {
    /// Its key.
    pub key: String,
    /// Its parts, in a fixed order.
    pub parts: Vec<Part>,
}

/// A part: `maxRounds` and `3`, `attempt.value` and `{ round: round }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part(pub String, pub String);

/// The fingerprint of a plan: SHA-256 over its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl PlanRecord {
    /// The record of a plan.
    pub fn of(plan: &Plan) -> PlanRecord {
        PlanRecord {
            workflow: workflow_parts(plan),
            tasks: plan.ids().map(|id| task_record(plan, id)).collect(),
        }
    }

    /// The fingerprint of the whole record. Tasks count in the order of their keys, so that moving one changes nothing.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        let mut part = |Part(name, value): &Part| {
            add(name);
            add(value);
        };
        self.workflow.iter().for_each(&mut part);
        let mut tasks: Vec<&TaskRecord> = self.tasks.iter().collect();
        tasks.sort_by(|a, b| a.key.cmp(&b.key));
        for task in tasks {
            part(&Part("task".into(), task.key.clone()));
            task.parts.iter().for_each(&mut part);
        }
        Fingerprint(hash.finalize().into())
    }
}

/// The parts of one task of a plan.
pub fn task_record(plan: &Plan, id: TaskId) -> TaskRecord {
    let task = plan.task(id);
    let mut parts = Parts {
        printer: Printer::new(plan.program(), plan.workflow()),
        program: plan.program(),
        list: Vec::with_capacity(6),
    };
    parts.task(plan, task);
    TaskRecord {
        key: task.key.to_string(),
        parts: parts.list,
    }
}

fn workflow_parts(plan: &Plan) -> Vec<Part> {
    let workflow = plan.workflow();
    let mut parts = Parts {
        printer: Printer::new(plan.program(), workflow),
        program: plan.program(),
        list: Vec::new(),
    };
    parts.add("name", workflow.name.to_string());
    parts.add_some("version", workflow.version.as_deref().map(str::to_owned));
    for input in &workflow.inputs {
        let mut text = parts.printer.kind(&input.kind);
        if let Some(default) = &input.default {
            text.push_str(" = ");
            text.push_str(&default.canonical_json());
        }
        parts.add(&format!("input.{}", input.name), text);
    }
    parts.policy(&workflow.policy);
    if let Some(output) = &workflow.output {
        parts.expr("output", output);
    }
    parts.list
}

struct Parts<'p> {
    printer: Printer<'p>,
    program: &'p Program,
    list: Vec<Part>,
}

impl Parts<'_> {
    fn add(&mut self, name: &str, value: String) {
        self.list.push(Part(name.to_owned(), value));
    }

    fn add_some(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    fn expr(&mut self, name: &str, expr: &Expr) {
        let text = self.printer.expr(expr);
        self.add(name, text);
    }

    fn some_expr(&mut self, name: &str, expr: Option<&Expr>) {
        if let Some(expr) = expr {
            self.expr(name, expr);
        }
    }

    fn duration(&mut self, name: &str, duration: Option<Duration>) {
        self.add_some(name, duration.map(duration_text));
    }

    fn policy(&mut self, policy: &Policy) {
        self.add("concurrency", policy.concurrency.to_string());
        let on_error = match policy.on_error {
            OnError::Stop => "stop",
            OnError::Continue => "continue",
        };
        self.add("onError", on_error.to_owned());
        self.duration("timeout", policy.timeout);
        if let Some(budget) = &policy.budget {
            let counts = [
                ("attempts", budget.attempts),
                ("inputTokens", budget.input_tokens),
                ("outputTokens", budget.output_tokens),
                ("cachedTokens", budget.cached_tokens),
            ];
            for (name, count) in counts {
                self.add_some(&format!("budget.{name}"), count.map(|n| n.to_string()));
            }
            let cost = budget.cost.as_ref().map(|cost| cost.canonical_json());
            self.add_some("budget.cost", cost);
        }
        for (model, price) in &policy.prices {
            self.add(&format!("prices.{model}"), price.canonical_json());
        }
        if let OnQuota::Pause { max_wait } = policy.on_quota {
            let text = format!("pause(maxWait: {})", duration_text(max_wait));
            self.add("onQuota", text);
        }
    }

    fn task(&mut self, plan: &Plan, task: &Task) {
        self.add("kind", task.kind.keyword().to_owned());
        if !task.dependencies.is_empty() {
            let mut keys: Vec<String> = task
                .dependencies
                .iter()
                .map(|dependency| {
                    let mark = if dependency.soft { "?" } else { "" };
                    format!("{}{mark}", plan.task(dependency.task).key)
                })
                .collect();
            keys.sort_unstable();
            self.add("after", keys.join(", "));
        }
        let kind = self.printer.kind(&task.value_type);
        self.add("type", kind);
        self.some_expr("when", task.when.as_deref());
        let trigger = match task.trigger {
            Trigger::Success => None,
            Trigger::Failure => Some("failure"),
            Trigger::Always => Some("always"),
        };
        self.add_some("trigger", trigger.map(str::to_owned));
        self.duration("timeout", task.timeout);
        self.add_some("retry", task.retry.as_deref().map(retry_text));
        if let Some(cache) = &task.cache {
            self.cache(cache);
        }
        if let Some(each) = &task.each {
            self.each(each);
        }
        match &task.kind {
            TaskKind::Task(body) => self.body("", body),
            TaskKind::Loop(looping) => self.looping(looping),
            TaskKind::Gate(gate) => {
                self.expr("prompt", &gate.prompt);
                self.add("actors", gate.actors.join(", "));
            }
            TaskKind::Ask(ask) => {
                self.expr("question", &ask.question);
                self.some_expr("choices", ask.choices.as_ref());
                self.add("freeText", ask.free_text.to_string());
                self.add("actors", ask.actors.join(", "));
            }
            TaskKind::Race(race) => {
                self.body("attempt.", &race.attempt);
                self.check(&race.check);
                self.some_expr("score", race.score.as_ref());
                self.add(
                    "select",
                    if race.best { "best" } else { "first" }.to_owned(),
                );
            }
        }
    }

    fn cache(&mut self, cache: &Cache) {
        self.expr("cache.key", &cache.key);
        self.expr("cache.version", &cache.version);
        self.duration("cache.maxAge", cache.max_age);
        let mode = if cache.refresh { "refresh" } else { "reuse" };
        self.add("cache.mode", mode.to_owned());
    }

    fn each(&mut self, each: &Each) {
        self.expr("for", &each.list);
        self.some_expr("key", each.key.as_ref());
        self.add_some("parallel", each.parallel.map(|count| count.to_string()));
    }

    fn looping(&mut self, looping: &Loop) {
        self.add("maxRounds", looping.max_rounds.to_string());
        self.add_some("stopOnStall", looping.stop_on_stall.map(|n| n.to_string()));
        self.add_some("retryPhase", looping.retry_phase.as_deref().map(retry_text));
        self.body("attempt.", &looping.attempt);
        self.check(&looping.check);
    }

    fn body(&mut self, prefix: &str, body: &Body) {
        for step in &body.steps {
            self.step(prefix, step);
        }
        self.some_expr(&format!("{prefix}output"), body.output.as_deref());
    }

    fn check(&mut self, check: &Check) {
        for (at, item) in check.items.iter().enumerate() {
            match item {
                CheckItem::Step(step) => self.step("check.", step),
                CheckItem::Reject { text, when, .. } => {
                    let text = self.printer.expr(text);
                    let when = self.printer.expr(when);
                    self.add(&format!("check.reject.{at}"), format!("{text} when {when}"));
                }
                CheckItem::Accept { when, .. } => {
                    let when = self.printer.expr(when);
                    self.add(&format!("check.accept.{at}"), format!("when {when}"));
                }
            }
        }
    }

    fn step(&mut self, prefix: &str, step: &Step) {
        let prefix = match &step.name {
            Some(name) => format!("{prefix}{name}."),
            None => prefix.to_owned(),
        };
        match &step.action {
            Action::Value(value) => self.expr(&format!("{prefix}value"), value),
            Action::Command(command) => self.command(&prefix, command),
            Action::Assert { condition, message } => {
                self.expr(&format!("{prefix}assert"), condition);
                self.some_expr(&format!("{prefix}message"), message.as_deref());
            }
            Action::Agent(turn) => self.agent(&prefix, turn),
            Action::Call { step, arguments } => {
                let template = &self.program.steps[step.index()];
                let arguments: Vec<String> = arguments.iter().map(|a| self.argument(a)).collect();
                let call = format!("{}({})", template.name, arguments.join(", "));
                self.add(&format!("{prefix}step"), call);
                self.body(&format!("{prefix}step."), &template.body);
            }
            Action::Workflow { workflow, inputs } => {
                let callee = &self.program.workflows[workflow.index()];
                let inputs: Vec<String> = inputs
                    .iter()
                    .map(|(input, value)| {
                        let name = &callee.inputs[input.index()].name;
                        format!("{name}: {}", self.printer.expr(value))
                    })
                    .collect();
                let call = format!("{}({})", callee.name, inputs.join(", "));
                self.add(&format!("{prefix}workflow"), call);
            }
        }
    }

    fn argument(&self, argument: &Argument) -> String {
        match argument {
            Argument::Value(value) => self.printer.expr(value),
            Argument::Sandbox(sandbox) => self.sandbox_name(*sandbox),
            Argument::Agent(agent) => self.agent_name(*agent),
        }
    }

    fn sandbox_name(&self, sandbox: SandboxRef) -> String {
        match sandbox {
            SandboxRef::Named(id) => self.program.sandboxes[id.index()].name.to_string(),
            SandboxRef::Param(local) => format!("${}", local.0),
        }
    }

    fn agent_name(&self, agent: AgentRef) -> String {
        match agent {
            AgentRef::Named(id) => self.program.agents[id.index()].name.to_string(),
            AgentRef::Param(local) => format!("${}", local.0),
        }
    }

    fn sandbox(&mut self, prefix: &str, sandbox: SandboxRef) {
        let mut text = self.sandbox_name(sandbox);
        if let SandboxRef::Named(id) = sandbox {
            let sandbox = &self.program.sandboxes[id.index()];
            let branch = match &sandbox.branch {
                Branch::Current => "current".to_owned(),
                Branch::Named { name, from } => format!("named({name}, {from:?})"),
                Branch::Integrate { from } => format!("integrate({from:?})"),
            };
            let _ = write!(text, " {} {branch} {}", sandbox.provider, sandbox.per_task);
            for (name, value) in &sandbox.options {
                let _ = write!(text, " {name}: {}", value.canonical_json());
            }
        }
        self.add(&format!("{prefix}in"), text);
    }

    fn environment(&mut self, prefix: &str, environment: &Environment) {
        for (name, value) in environment {
            self.expr(&format!("{prefix}env.{name}"), value);
        }
    }

    fn command(&mut self, prefix: &str, command: &Command) {
        match &command.what {
            Executable::List(list) => self.expr(&format!("{prefix}command"), list),
            Executable::Shell(text) => self.expr(&format!("{prefix}shell"), text),
        }
        if let Some((sandbox, _)) = command.sandbox {
            self.sandbox(prefix, sandbox);
        }
        self.some_expr(&format!("{prefix}stdin"), command.stdin.as_deref());
        self.some_expr(&format!("{prefix}directory"), command.directory.as_deref());
        self.environment(prefix, &command.environment);
        match &command.accepts {
            crate::program::Accepts::Any => self.add(&format!("{prefix}accepts"), "any".into()),
            crate::program::Accepts::Only(codes) if codes.as_slice() == [0] => {}
            crate::program::Accepts::Only(codes) => {
                self.add(&format!("{prefix}accepts"), format!("{codes:?}"));
            }
        }
        let returns = command.returns.as_ref().map(|kind| self.printer.kind(kind));
        self.add_some(&format!("{prefix}returns"), returns);
        self.duration(&format!("{prefix}timeout"), command.timeout);
        self.duration(&format!("{prefix}idle"), command.idle);
        if command.keep != crate::program::DEFAULT_KEEP {
            self.add(&format!("{prefix}keep"), command.keep.to_string());
        }
    }

    fn agent(&mut self, prefix: &str, turn: &AgentTurn) {
        if let Some(agent) = turn.agent {
            let name = self.agent_name(agent);
            self.add(&format!("{prefix}agent"), name);
        }
        if let Some((sandbox, _)) = turn.sandbox {
            self.sandbox(prefix, sandbox);
        }
        self.expr(&format!("{prefix}brief"), &turn.brief);
        let response = turn.response.as_ref().map(|kind| self.printer.kind(kind));
        self.add_some(&format!("{prefix}response"), response);
        if turn.repairs > 0 {
            self.add(&format!("{prefix}repairs"), turn.repairs.to_string());
        }
        self.some_expr(&format!("{prefix}continue"), turn.continues.as_ref());
        self.some_expr(&format!("{prefix}fork"), turn.forks.as_ref());
        let passes = turn.passes.map(|count| count.to_string());
        self.add_some(&format!("{prefix}passes"), passes);
        self.some_expr(&format!("{prefix}until"), turn.until.as_ref());
        self.environment(prefix, &turn.environment);
        self.duration(&format!("{prefix}timeout"), turn.timeout);
        self.duration(&format!("{prefix}idle"), turn.idle);
    }
}

fn duration_text(duration: Duration) -> String {
    let ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    outpost_stdlib::quantity::format_duration(ms)
}

fn retry_text(retry: &Retry) -> String {
    let mut text = format!(
        "attempts: {}, delay: {}, backoff: {}, jitter: {}",
        retry.attempts,
        duration_text(retry.delay),
        if retry.exponential {
            "exponential"
        } else {
            "fixed"
        },
        if retry.full_jitter { "full" } else { "none" },
    );
    if let Some(cap) = retry.max_delay {
        let _ = write!(text, ", maxDelay: {}", duration_text(cap));
    }
    if let Some(on) = &retry.on {
        let _ = write!(text, ", on: [{}]", on.join(", "));
    }
    text
}
