//! Bodies: one action or a sequence of `run` steps, and checks with their rules.

use outpost_grammar::tree::{Block, Entry, ExprKind as Kind, Field, Rule, Target};
use outpost_grammar::{Location, Span};
use outpost_stdlib::{Type, Value};
use std::sync::Arc;
use std::time::Duration;

use crate::context::Context;
use crate::infer::flow::bare;
use crate::infer::scope::{ResultOf, Scope};
use crate::infer::types::{definition, is_agent_result, may_be_null};
use crate::load::{Brief, BriefPart};
use crate::lower::entries::Entries;
use crate::options::{self, ACTIONS, BlockKind, DEFAULT_KEEP};
use crate::program::{
    Accepts, Action, AgentKind, AgentRef, AgentTurn, Argument, Body, Check, CheckItem, Command,
    Environment, Executable, Expr, ExprKind, LocalId, Ref, SandboxId, SandboxRef, Step,
    TemplatePart,
};
use crate::resolve::references::run_names;
use crate::resolve::{Meaning, RESERVED};
use crate::rules;

/// A sandbox where a task uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SandboxUse {
    /// The sandbox.
    pub sandbox: SandboxId,
    /// Where the task names it, or calls what uses it.
    pub at: Location,
    /// Where it is used inside what is called.
    pub inside: Option<Location>,
}

/// What walking the bodies of a task brings to light besides the program.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The sandboxes that are used, in source order.
    pub sandboxes: Vec<SandboxUse>,
    /// The agents that are given briefs, with the place.
    pub agents: Vec<(AgentRef, Location)>,
    /// Whether an agent is given a brief, also inside a step.
    pub has_agent: bool,
    /// The workflow that is called.
    pub workflow: Option<u32>,
    /// What a step asks of the agents that are its parameters.
    pub needs: Vec<Need>,
}

/// Something that an agent must be able to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Need {
    /// The parameter that stands for the agent.
    pub param: LocalId,
    /// What it must support; `None`: it must not be a fallback list.
    pub ability: Option<&'static str>,
    /// The property that asks for it.
    pub property: &'static str,
    /// The property's place.
    pub at: Location,
}

impl Findings {
    /// Whether nothing is used.
    pub(crate) fn is_empty(&self) -> bool {
        self.sandboxes.is_empty() && self.agents.is_empty() && self.workflow.is_none()
    }
}

/// The action of a body or a step.
struct ActionField<'t> {
    name: &'static str,
    field: &'t Field<'t>,
}

impl<'t> Context<'t> {
    /// A body and the type of its value.
    pub(crate) fn body(&mut self, scope: &mut Scope<'t>, entries: &Entries<'t>) -> (Body, Type) {
        let outer = Frame::enter(scope, entries.block);
        let (steps, kind) = self.steps(scope, entries);
        let last = (steps.len() as u32).checked_sub(1);
        let answer = scope.answers.iter().find(|(at, _)| Some(*at) == last);
        let answer = answer.map(|(_, agent)| *agent);
        let (output, kind) = match entries.field("output") {
            Some(field) => {
                let outer = scope.slot.replace("an output");
                let typed = self.infer(scope, &field.value);
                scope.slot = outer;
                (Some(typed.expr), typed.kind)
            }
            None => (None, kind),
        };
        scope.answered = match &output {
            Some(output) => self.whose(scope, output),
            None => answer,
        };
        outer.leave(scope);
        (
            Body {
                steps: steps.into(),
                output: output.map(Box::new),
            },
            kind,
        )
    }

    fn steps(&mut self, scope: &mut Scope<'t>, entries: &Entries<'t>) -> (Vec<Step>, Type) {
        let runs: Vec<&'t Block<'t>> = entries
            .blocks
            .iter()
            .filter(|(nested, _)| nested.name == "run")
            .map(|(_, block)| *block)
            .collect();
        if let Some(action) = self.single_action(entries, &runs) {
            let (action_kind, kind, at) = self.action(scope, entries, &action, None);
            scope
                .answers
                .extend(self.answers(scope, &action_kind).map(|agent| (0, agent)));
            scope.result = ResultOf::Single(0, kind.clone());
            let step = Step {
                name: None,
                at,
                action: action_kind,
            };
            return (vec![step], kind);
        }
        let mut steps = Vec::with_capacity(runs.len());
        let mut last = Type::Unknown;
        for run in runs {
            if let Some((step, kind)) = self.run(scope, entries, run, steps.len() as u32) {
                steps.push(step);
                last = kind;
            }
        }
        if !steps.is_empty() {
            scope.result = ResultOf::Several;
        }
        (steps, last)
    }

    /// The body's one action; what stands beside it or is missing is reported.
    fn single_action(
        &mut self,
        entries: &Entries<'t>,
        runs: &[&'t Block<'t>],
    ) -> Option<ActionField<'t>> {
        let actions = actions_of(entries);
        let first_run = runs.first().map(|run| run.keyword.span);
        let mut all: Vec<(Span, &'static str)> = actions
            .iter()
            .map(|action| (action.field.name.span, action.name))
            .collect();
        all.extend(first_run.map(|span| (span, "run")));
        all.sort_unstable_by_key(|(span, _)| span.start);
        match all.as_slice() {
            [] => {
                if !entries.broken {
                    let rule = entries
                        .block
                        .entries
                        .iter()
                        .any(|entry| matches!(entry, Entry::Rule(_)));
                    let check = entries.block.keyword.text == "check";
                    if !(check && rule) {
                        let diagnostic = rules::bodies::no_action(
                            entries.head(),
                            entries.block.keyword.text,
                            self.name_of(entries),
                        );
                        self.report(diagnostic);
                    }
                }
                self.misplaced_options(entries, None);
                None
            }
            [(_, "run")] => {
                self.misplaced_options(entries, Some("run"));
                None
            }
            [_] => actions.into_iter().next(),
            [first, later @ ..] => {
                for (span, name) in later {
                    self.report(rules::bodies::two_actions(
                        entries.at(*span),
                        name,
                        first.1,
                        entries.at(first.0),
                    ));
                }
                if first.1 == "run" {
                    for action in &actions {
                        self.touch(entries.source, &action.field.value);
                    }
                    return None;
                }
                for run in runs {
                    self.touch_block(entries.source, run);
                }
                actions.into_iter().next()
            }
        }
    }

    fn name_of(&self, entries: &Entries<'t>) -> &'t str {
        match &entries.block.target {
            Some(Target::Name(name)) => name.text,
            _ => entries.block.keyword.text,
        }
    }

    /// Options of actions in a body without an action of its own.
    fn misplaced_options(&mut self, entries: &Entries<'t>, runs: Option<&str>) {
        for (property, field) in entries.fields.clone() {
            let own = property.name == "timeout" && entries.block.keyword.text != "check";
            if !own && is_action_option(property.name) {
                self.touch(entries.source, &field.value);
                if runs.is_some() {
                    self.report(rules::bodies::option_beside_runs(
                        entries.at(field.name.span),
                        property.name,
                    ));
                }
            }
        }
        if let Some(env) = entries.nested("env") {
            self.touch_block(entries.source, env);
            if runs.is_some() {
                self.report(rules::bodies::option_beside_runs(
                    entries.at(env.keyword.span),
                    "env",
                ));
            }
        }
    }

    /// `run name { … }`.
    fn run(
        &mut self,
        scope: &mut Scope<'t>,
        outer: &Entries<'t>,
        block: &'t Block<'t>,
        index: u32,
    ) -> Option<(Step, Type)> {
        let entries = self.entries(outer.source, block, &options::RUN);
        let name = match &block.target {
            Some(Target::Name(name)) => {
                self.run_name(scope, *name, outer);
                Some(name.text)
            }
            _ => {
                if !block.broken {
                    let at = entries.at(block.keyword.span);
                    self.report(rules::names::block_without_name(at, "run"));
                }
                None
            }
        };
        let actions = actions_of(&entries);
        let Some(first) = actions.first() else {
            if !entries.broken {
                let label = name.unwrap_or("run");
                self.report(rules::bodies::no_action(entries.head(), "run", label));
            }
            for (_, field) in &entries.fields {
                self.touch(entries.source, &field.value);
            }
            let name = name?;
            self.finish_run(scope, name, index, Type::Unknown);
            return None;
        };
        for later in &actions[1..] {
            let at = entries.at(later.field.name.span);
            let first_at = entries.at(first.field.name.span);
            self.report(rules::bodies::two_actions(
                at, later.name, first.name, first_at,
            ));
        }
        let (action, kind, at) = self.action(scope, &entries, first, name);
        let name = name?;
        if let Some(agent) = self.answers(scope, &action) {
            scope.answers.push((index, agent));
        }
        self.finish_run(scope, name, index, kind.clone());
        Some((
            Step {
                name: Some(Arc::from(name)),
                at,
                action,
            },
            kind,
        ))
    }

    fn finish_run(&mut self, scope: &mut Scope<'t>, name: &'t str, index: u32, kind: Type) {
        scope.later.retain(|later| *later != name);
        if scope.step(name).is_none() {
            scope.steps.push((name, index, kind));
        }
        scope.result = ResultOf::Several;
    }

    fn run_name(
        &mut self,
        scope: &Scope<'t>,
        name: outpost_grammar::tree::Name<'t>,
        outer: &Entries<'t>,
    ) {
        let at = scope.at(name.span);
        if RESERVED.contains(&name.text) {
            self.report(rules::names::reserved_name(at, name.text, "step"));
            return;
        }
        let first = outer.block.entries.iter().find_map(|entry| match entry {
            Entry::Block(block) if block.keyword.text == "run" => match &block.target {
                Some(Target::Name(other)) if other.text == name.text => Some(other.span),
                _ => None,
            },
            _ => None,
        });
        if let Some(first) = first
            && first != name.span
        {
            self.report(rules::names::duplicate_name(
                at,
                name.text,
                "run",
                scope.at(first),
            ));
            return;
        }
        if scope.workflow
            && let Some(task) = self.task_named(name.text)
        {
            let info = &self.workflow().tasks[task.index()];
            let (task_name, task_at) = (info.name, info.at);
            self.report(rules::names::hides_task(at, task_name, "step", task_at));
        }
    }

    /// An action, its result's type, and its place.
    fn action(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        action: &ActionField<'t>,
        run: Option<&'t str>,
    ) -> (Action, Type, Location) {
        let at = match run {
            Some(_) => entries.head(),
            None => entries.at(action.field.name.span),
        };
        self.check_action_options(entries, action.name);
        let value = &action.field.value;
        let outer = scope.slot.replace(match action.name {
            "value" => "a value",
            "command" => "the arguments of a command",
            "shell" => "a shell text",
            "assert" => "a condition",
            "step" | "workflow" => "the arguments of a call",
            _ => "a brief",
        });
        let (lowered, kind) = match action.name {
            "value" => {
                let typed = self.infer(scope, value);
                (Action::Value(typed.expr), typed.kind)
            }
            "command" => {
                let list = Type::list(Type::String);
                let what = self.expect(scope, value, &list, "`command`");
                if let ExprKind::Const(Value::List(items)) = &what.kind
                    && items.is_empty()
                {
                    self.report(rules::bodies::empty_command(scope.at(value.span)));
                }
                self.command(scope, entries, Executable::List(what))
            }
            "shell" => {
                let what = self.shell(scope, value);
                self.command(scope, entries, Executable::Shell(what))
            }
            "assert" => {
                let condition = self.condition(scope, value, "`assert`");
                let message = self.text_option(scope, entries, "message");
                let action = Action::Assert {
                    condition: Box::new(condition),
                    message: message.map(Box::new),
                };
                (action, Type::Bool)
            }
            "step" => self.call_step(scope, value),
            "workflow" => {
                let single_task = entries.block.keyword.text == "task";
                if !single_task {
                    let at = entries.at(action.field.name.span);
                    self.report(rules::bodies::misplaced_workflow(at));
                }
                self.call_workflow(scope, value)
            }
            _ => self.agent_turn(scope, entries, action),
        };
        scope.slot = outer;
        (lowered, kind, at)
    }

    /// Options that mean nothing beside this action.
    fn check_action_options(&mut self, entries: &Entries<'t>, action: &'static str) {
        let task = entries.block.keyword.text == "task";
        for (property, field) in entries.fields.clone() {
            let name = property.name;
            if !is_action_option(name)
                || options::belongs(name, action)
                || (task && name == "timeout")
            {
                continue;
            }
            self.touch(entries.source, &field.value);
            self.report(rules::bodies::option_of_other_action(
                entries.at(field.name.span),
                name,
                action,
            ));
        }
        if let Some(env) = entries.nested("env")
            && !options::belongs("env", action)
        {
            self.touch_block(entries.source, env);
            self.report(rules::bodies::option_of_other_action(
                entries.at(env.keyword.span),
                "env",
                action,
            ));
        }
    }

    fn text_option(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        name: &str,
    ) -> Option<Expr> {
        let field = entries.field(name)?;
        let outer = scope.slot.replace(match name {
            "stdin" => "standard input",
            "directory" => "the name of a folder",
            _ => "a message",
        });
        let lowered = self.expect(scope, &field.value, &Type::String, &format!("`{name}`"));
        scope.slot = outer;
        Some(lowered)
    }

    /// `in:`.
    fn sandbox_option(
        &mut self,
        scope: &Scope<'t>,
        entries: &Entries<'t>,
    ) -> Option<(SandboxRef, Location)> {
        let field = entries.field("in")?;
        let at = entries.at(field.value.span);
        let sandbox = self.sandbox_reference(scope, &field.value)?;
        self.use_sandbox(sandbox, at, None);
        Some((sandbox, at))
    }

    /// Remembers that the task uses a sandbox.
    pub(crate) fn use_sandbox(
        &mut self,
        sandbox: SandboxRef,
        at: Location,
        inside: Option<Location>,
    ) {
        if let SandboxRef::Named(sandbox) = sandbox {
            self.findings.sandboxes.push(SandboxUse {
                sandbox,
                at,
                inside,
            });
        }
    }

    fn command(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        what: Executable,
    ) -> (Action, Type) {
        let sandbox = self.sandbox_option(scope, entries);
        let stdin = self.text_option(scope, entries, "stdin");
        let directory = self.text_option(scope, entries, "directory");
        let environment = self.environment(scope, entries.nested("env"));
        let accepts = self.accepts(entries);
        let returns = entries
            .field("returns")
            .map(|field| self.type_of(scope.source, &field.value, false));
        let kind = match &returns {
            Some(kind) => Type::command_result(Some(kind)),
            None => self.shapes.command.clone(),
        };
        let timeout = self.action_timeout(entries);
        let command = Command {
            what,
            sandbox,
            stdin: stdin.map(Box::new),
            environment,
            directory: directory.map(Box::new),
            accepts,
            returns,
            timeout,
            idle: self.duration(entries, "idle"),
            keep: self.size(entries, "keep").unwrap_or(DEFAULT_KEEP),
        };
        (Action::Command(Box::new(command)), kind)
    }

    /// An action's own deadline; a task's `timeout` is the task's.
    fn action_timeout(&mut self, entries: &Entries<'t>) -> Option<Duration> {
        if entries.block.keyword.text == "task" {
            None
        } else {
            self.duration(entries, "timeout")
        }
    }

    fn accepts(&mut self, entries: &Entries<'t>) -> Accepts {
        let Some((property, field)) = entries.property("accepts") else {
            return if self.in_check {
                Accepts::Any
            } else {
                Accepts::Only(vec![0])
            };
        };
        let at = entries.at(field.value.span);
        if self.in_check {
            self.report(rules::loops::accepts_in_check(entries.at(field.name.span)));
            return Accepts::Any;
        }
        match &bare(&field.value).kind {
            Kind::Broken => Accepts::Any,
            Kind::Name("any") => Accepts::Any,
            Kind::List(list) => {
                let mut statuses = Vec::with_capacity(list.len());
                for expr in crate::lower::entries::elements(list) {
                    let place = entries.at(expr.span);
                    match self.constant_value(entries.source, property.name, expr) {
                        Some(Value::Int(status)) if (0..=255).contains(&status) => {
                            statuses.push(status as i32)
                        }
                        Some(Value::Int(status)) => {
                            self.report(rules::options::out_of_range(
                                place,
                                "accepts",
                                &status.to_string(),
                                0,
                                255,
                            ));
                        }
                        Some(_) => {
                            self.report(rules::bodies::bad_accepts(place, self.text_at(place)))
                        }
                        None => {}
                    }
                }
                if statuses.is_empty() && list.is_empty() {
                    self.report(rules::bodies::bad_accepts(at, "[]"));
                }
                Accepts::Only(statuses)
            }
            _ => {
                self.touch(entries.source, &field.value);
                self.report(rules::bodies::bad_accepts(at, self.text_at(at)));
                Accepts::Any
            }
        }
    }

    /// `agent:`, `continue:`, `fork:`.
    fn agent_turn(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        action: &ActionField<'t>,
    ) -> (Action, Type) {
        let agent_field = entries.field("agent");
        let agent = agent_field.and_then(|field| {
            let found = self.agent_reference(scope, &field.value)?;
            self.findings
                .agents
                .push((found, entries.at(field.value.span)));
            Some(found)
        });
        self.findings.has_agent = true;
        let sandbox = self.sandbox_option(scope, entries);
        let brief = self.brief(scope, entries, action);
        let response = entries
            .field("response")
            .map(|field| self.type_of(scope.source, &field.value, false));
        let kind = match &response {
            Some(kind) => Type::agent_result(Some(kind)),
            None => self.shapes.agent.clone(),
        };
        if let (Some(field), None) = (entries.field("repairs"), &response) {
            self.report(rules::agents::repairs_without_response(
                entries.at(field.name.span),
            ));
        }
        let continues = self.conversation(scope, entries, "continue", agent);
        let forks = self.conversation(scope, entries, "fork", agent);
        let conversation = continues.as_ref().or(forks.as_ref());
        let goes_on = conversation.and_then(|expr| self.whose(scope, expr));
        if let (Some(first), Some(second)) = (entries.field("continue"), entries.field("fork")) {
            let (later, earlier) = later_of(first, second);
            let diagnostic = rules::bodies::excludes(
                entries.at(later.name.span),
                &later.name.text,
                &earlier.name.text,
                entries.at(earlier.name.span),
            );
            self.report(diagnostic);
        }
        if let (Some(field), Some(agent)) = (entries.field("repairs"), agent.or(goes_on)) {
            let at = entries.at(field.name.span);
            self.needs_ability(scope, agent, ("continue", "repairs"), at);
        }
        let index = scope.steps.len() as u32;
        let own = ResultOf::Single(index, kind.clone());
        let outer = std::mem::replace(&mut scope.result, own);
        let until = entries
            .field("until")
            .map(|field| self.condition(scope, &field.value, "`until`"));
        scope.result = outer;
        let environment: Environment = self.environment(scope, entries.nested("env"));
        let repairs = self
            .int(entries, "repairs")
            .and_then(|repairs| u32::try_from(repairs).ok());
        let passes = self
            .int(entries, "passes")
            .and_then(|passes| u32::try_from(passes).ok());
        let timeout = self.action_timeout(entries);
        let turn = AgentTurn {
            agent,
            sandbox,
            brief,
            response,
            repairs: repairs.unwrap_or(0),
            continues,
            forks,
            passes,
            until,
            timeout,
            idle: self.duration(entries, "idle"),
            environment,
        };
        (Action::Agent(Box::new(turn)), kind)
    }

    fn brief(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        action: &ActionField<'t>,
    ) -> Expr {
        let none = |at| Expr {
            kind: ExprKind::Const(Value::Text(Arc::from(""))),
            at,
        };
        match (entries.field("brief"), entries.field("briefFile")) {
            (Some(brief), None) => self.expect(scope, &brief.value, &Type::String, "`brief`"),
            (None, Some(file)) => self.brief_file(scope, file),
            (Some(brief), Some(file)) => {
                let (later, earlier) = later_of(brief, file);
                let diagnostic = rules::bodies::excludes(
                    entries.at(later.name.span),
                    &later.name.text,
                    &earlier.name.text,
                    entries.at(earlier.name.span),
                );
                self.report(diagnostic);
                self.expect(scope, &brief.value, &Type::String, "`brief`")
            }
            (None, None) => {
                let at = entries.at(action.field.name.span);
                if !entries.broken {
                    let head = entries.head();
                    self.report(rules::options::missing_property(
                        head,
                        entries.block.keyword.text,
                        self.name_of(entries),
                        "brief",
                    ));
                }
                none(at)
            }
        }
    }

    fn brief_file(&mut self, scope: &mut Scope<'t>, field: &'t Field<'t>) -> Expr {
        let at = scope.at(field.value.span);
        let path = match &bare(&field.value).kind {
            Kind::Text(path) => path,
            Kind::Broken => return crate::infer::unknown(at).expr,
            _ => {
                self.touch(scope.source, &field.value);
                self.report(rules::modules::path_not_literal(at, "`briefFile`"));
                return crate::infer::unknown(at).expr;
            }
        };
        let from = &self.files[scope.source.0 as usize].name;
        let full = match crate::load::relative(from, path) {
            Ok(full) => full,
            Err(reason) => {
                self.report(rules::modules::bad_path(at, path, reason));
                return crate::infer::unknown(at).expr;
            }
        };
        match self.briefs.iter().find(|(known, _)| *known == full) {
            Some((_, Ok(brief))) => self.brief_text(scope, brief, at),
            Some((_, Err(error))) => {
                self.report(rules::modules::missing_file(at, &full, error));
                crate::infer::unknown(at).expr
            }
            None => crate::infer::unknown(at).expr,
        }
    }

    fn brief_text(&mut self, scope: &mut Scope<'t>, brief: &'t Brief<'t>, at: Location) -> Expr {
        let outer = std::mem::replace(&mut scope.text, brief.source);
        let mut parts = Vec::with_capacity(brief.parts.len());
        for part in &brief.parts {
            match part {
                BriefPart::Text("") => {}
                BriefPart::Text(text) => parts.push(TemplatePart::Text(Arc::from(*text))),
                BriefPart::Hole(expr) => {
                    let typed = self.infer(scope, expr);
                    let scalar = self.scalar(scope, expr, typed, "a brief");
                    parts.push(TemplatePart::Hole(scalar));
                }
            }
        }
        scope.text = outer;
        Expr {
            kind: ExprKind::Template(parts.into()),
            at,
        }
    }

    /// `continue:` and `fork:`.
    fn conversation(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        name: &'static str,
        agent: Option<AgentRef>,
    ) -> Option<Expr> {
        let field = entries.field(name)?;
        let at = entries.at(field.name.span);
        let typed = self.infer(scope, &field.value);
        let value_at = entries.at(field.value.span);
        if !is_agent_result(&typed.kind, &self.program.types) {
            let text = self.text_at(value_at);
            self.report(rules::agents::no_conversation(
                value_at,
                name,
                text,
                &typed.kind,
            ));
            return Some(typed.expr);
        }
        let resolved = definition(&typed.kind, &self.program.types);
        let unknown = *resolved == Type::Unknown;
        let nullable = may_be_null(resolved, &self.program.types);
        let agent_field = entries.field("agent");
        match (agent_field, agent) {
            (Some(field), Some(reference)) => {
                let list = match reference {
                    AgentRef::Named(id) => matches!(
                        self.program.agents[id.index()].kind,
                        AgentKind::Fallback { .. }
                    ),
                    AgentRef::Param(_) => false,
                };
                let agent_at = entries.at(field.value.span);
                let agent_name = self.text_at(agent_at);
                if let AgentRef::Param(param) = reference {
                    self.findings.needs.push(Need {
                        param,
                        ability: None,
                        property: name,
                        at,
                    });
                }
                if list {
                    let diagnostic =
                        rules::agents::continue_with_fallback(at, name, agent_name, agent_at);
                    self.report(match scope.called {
                        Some(called) => diagnostic.also(called, "called here"),
                        None => diagnostic,
                    });
                    return Some(typed.expr);
                } else if !nullable && !unknown {
                    self.report(rules::agents::agent_beside_continue(
                        at,
                        name,
                        agent_name,
                        entries.at(field.name.span),
                    ));
                }
                self.needs_ability(scope, reference, (name, name), at);
            }
            (None, _) if nullable => {
                let text = self.text_at(value_at);
                self.report(rules::agents::agent_wanted(value_at, name, text));
            }
            (None, _) => {
                if let Some(agent) = self.whose(scope, &typed.expr) {
                    self.needs_ability(scope, agent, (name, name), at);
                }
            }
            (Some(_), None) => {}
        }
        Some(typed.expr)
    }

    /// The agent whose whole result an action gives.
    fn answers(&self, scope: &Scope<'t>, action: &Action) -> Option<AgentRef> {
        let Action::Agent(turn) = action else {
            return None;
        };
        let conversation = turn.continues.as_ref().or(turn.forks.as_ref());
        turn.agent
            .or_else(|| conversation.and_then(|expr| self.whose(scope, expr)))
    }

    /// The agent whose whole result an expression is.
    fn whose(&self, scope: &Scope<'t>, expr: &Expr) -> Option<AgentRef> {
        let ExprKind::Ref(reference) = &expr.kind else {
            return None;
        };
        match reference {
            Ref::Step(step) => {
                let answer = scope.answers.iter().find(|(index, _)| index == step)?;
                Some(answer.1)
            }
            Ref::Task { task, .. } => self.workflow().tasks[task.index()].agent,
            Ref::Candidate => scope.candidate_of,
            _ => None,
        }
    }

    /// Reports a property that needs something which the agent, or a member of its list, cannot do.
    fn needs_ability(
        &mut self,
        scope: &Scope<'t>,
        agent: AgentRef,
        (ability, property): (&'static str, &'static str),
        at: Location,
    ) {
        if let AgentRef::Param(param) = agent {
            self.findings.needs.push(Need {
                param,
                ability: Some(ability),
                property,
                at,
            });
            return;
        }
        if let Some(lacking) = self.lacking(agent, ability) {
            let (name, harness, declared) = lacking;
            let diagnostic = rules::agents::unsupported(at, property, &name, &harness, declared);
            self.report(match scope.called {
                Some(called) => diagnostic.also(called, "called here"),
                None => diagnostic,
            });
        }
    }

    /// The first plain agent that cannot do something: its name, its harness, its place.
    fn lacking(
        &mut self,
        agent: AgentRef,
        ability: &str,
    ) -> Option<(Arc<str>, Arc<str>, Location)> {
        let member = self.lacks(agent, ability)?;
        let plain = &self.program.agents[member.index()];
        let harness = match &plain.kind {
            AgentKind::Plain(plain) => plain.harness.clone(),
            AgentKind::Fallback { .. } | AgentKind::Broken => Arc::from("?"),
        };
        Some((plain.name.clone(), harness, plain.at))
    }

    /// What a called step asks of the agents that it is given.
    fn check_needs(&mut self, at: Location, needs: &[Need], arguments: &[Argument]) {
        let mut told: Option<Location> = None;
        for need in needs {
            let Some(Argument::Agent(agent)) = arguments.get(need.param.index()) else {
                continue;
            };
            if told == Some(need.at) {
                continue;
            }
            let id = match agent {
                AgentRef::Param(param) => {
                    self.findings.needs.push(Need {
                        param: *param,
                        ..*need
                    });
                    continue;
                }
                AgentRef::Named(id) => *id,
            };
            match need.ability {
                Some(ability) => {
                    if let Some((name, harness, declared)) = self.lacking(*agent, ability) {
                        let diagnostic = rules::agents::unsupported(
                            at,
                            need.property,
                            &name,
                            &harness,
                            declared,
                        );
                        self.report(diagnostic.also(need.at, "asked for here"));
                    }
                }
                None => {
                    let declared = &self.program.agents[id.index()];
                    if matches!(declared.kind, AgentKind::Fallback { .. }) {
                        let (name, place) = (declared.name.clone(), declared.at);
                        let diagnostic =
                            rules::agents::continue_with_fallback(at, need.property, &name, place);
                        self.report(diagnostic.also(need.at, "asked for here"));
                        told = Some(need.at);
                    }
                }
            }
        }
    }

    /// A check, whose candidate is in the scope.
    pub(crate) fn check(&mut self, scope: &mut Scope<'t>, entries: &Entries<'t>) -> Check {
        let outer = Frame::enter(scope, entries.block);
        let in_check = std::mem::replace(&mut self.in_check, true);
        let facts = scope.facts.len();
        let runs: Vec<&'t Block<'t>> = entries
            .blocks
            .iter()
            .filter(|(nested, _)| nested.name == "run")
            .map(|(_, block)| *block)
            .collect();
        let mut items = Vec::with_capacity(entries.block.entries.len());
        let mut index = 0;
        if let Some(action) = self.single_action(entries, &runs) {
            let (lowered, kind, at) = self.action(scope, entries, &action, None);
            scope
                .answers
                .extend(self.answers(scope, &lowered).map(|agent| (0, agent)));
            scope.result = ResultOf::Single(0, kind);
            items.push(CheckItem::Step(Step {
                name: None,
                at,
                action: lowered,
            }));
        }
        for entry in &entries.block.entries {
            match entry {
                Entry::Block(block)
                    if block.keyword.text == "run"
                        && runs.iter().any(|run| std::ptr::eq(*run, &**block)) =>
                {
                    if let Some((step, _)) = self.run(scope, entries, block, index) {
                        items.push(CheckItem::Step(step));
                        index += 1;
                    }
                }
                Entry::Rule(rule) => items.extend(self.rule(scope, rule)),
                Entry::Block(_) | Entry::Field(_) | Entry::Broken(_) => {}
            }
        }
        rules::loops::check_rules(self, entries, &items);
        scope.facts.truncate(facts);
        self.in_check = in_check;
        outer.leave(scope);
        Check {
            at: entries.at(entries.block.keyword.span),
            items: items.into(),
        }
    }

    fn rule(&mut self, scope: &mut Scope<'t>, rule: &'t Rule<'t>) -> Option<CheckItem> {
        match rule {
            Rule::Reject {
                keyword,
                text,
                when,
            } => {
                let lowered = self.condition(scope, when, "`when`");
                let facts = scope.facts.len();
                self.assume(scope, when, true);
                let outer = scope.slot.replace("feedback");
                let text = self.expect(scope, text, &Type::String, "`reject`");
                scope.slot = outer;
                scope.facts.truncate(facts);
                self.assume(scope, when, false);
                Some(CheckItem::Reject {
                    at: scope.at(*keyword),
                    text,
                    when: lowered,
                })
            }
            Rule::Accept { keyword, when } => {
                let lowered = self.condition(scope, when, "`when`");
                self.assume(scope, when, false);
                Some(CheckItem::Accept {
                    at: scope.at(*keyword),
                    when: lowered,
                })
            }
            Rule::Expect { .. } | Rule::Input { .. } => None,
        }
    }

    /// `step: name(arguments)`.
    fn call_step(
        &mut self,
        scope: &mut Scope<'t>,
        value: &'t outpost_grammar::tree::Expr<'t>,
    ) -> (Action, Type) {
        let broken = (
            Action::Value(crate::infer::unknown(scope.at(value.span)).expr),
            Type::Unknown,
        );
        let Some(called) = self.called(scope, value, "step", |meaning| {
            matches!(meaning, Meaning::Step(_))
        }) else {
            return broken;
        };
        let Meaning::Step(id) = self.bindings[called.binding as usize].meaning else {
            return broken;
        };
        let arguments = self.template_arguments(scope, &called, id);
        let info = self.step_results[id as usize].clone();
        for (sandbox, inside) in info.sandboxes {
            self.use_sandbox(SandboxRef::Named(sandbox), called.at, Some(inside));
        }
        if info.has_agent {
            self.findings.has_agent = true;
        }
        self.findings
            .agents
            .extend(info.agents.iter().map(|agent| (*agent, called.at)));
        let kind = info.result.unwrap_or(Type::Unknown);
        if let Some(arguments) = &arguments {
            self.check_needs(called.at, &info.needs, arguments);
        }
        match arguments {
            Some(arguments) => (
                Action::Call {
                    step: crate::program::StepId(id),
                    arguments: arguments.into(),
                },
                kind,
            ),
            None => (broken.0, kind),
        }
    }
}

/// What a body sees that its surroundings do not.
struct Frame<'t> {
    steps: Vec<(&'t str, u32, Type)>,
    answers: Vec<(u32, AgentRef)>,
    later: Vec<&'t str>,
    result: ResultOf,
    facts: usize,
}

impl<'t> Frame<'t> {
    fn enter(scope: &mut Scope<'t>, block: &'t Block<'t>) -> Frame<'t> {
        Frame {
            steps: std::mem::take(&mut scope.steps),
            answers: std::mem::take(&mut scope.answers),
            later: std::mem::replace(&mut scope.later, run_names(block).collect()),
            result: std::mem::replace(&mut scope.result, ResultOf::Nothing),
            facts: scope.facts.len(),
        }
    }

    fn leave(self, scope: &mut Scope<'t>) {
        scope.steps = self.steps;
        scope.answers = self.answers;
        scope.later = self.later;
        scope.result = self.result;
        scope.facts.truncate(self.facts);
    }
}

/// The properties of a block that are actions; `continue` and `fork` are, where `agent` is absent.
fn actions_of<'t>(entries: &Entries<'t>) -> Vec<ActionField<'t>> {
    let mut actions: Vec<ActionField<'t>> = entries
        .fields
        .iter()
        .filter(|(property, _)| ACTIONS.iter().any(|action| action.name == property.name))
        .map(|(property, field)| ActionField {
            name: property.name,
            field,
        })
        .collect();
    if actions.is_empty() {
        let conversation = entries
            .fields
            .iter()
            .find(|(property, _)| matches!(property.name, "continue" | "fork"));
        actions.extend(conversation.map(|(property, field)| ActionField {
            name: property.name,
            field,
        }));
    }
    actions
}

/// Whether a property belongs to actions.
fn is_action_option(name: &str) -> bool {
    let run: &'static BlockKind = &options::RUN;
    run.property(name).is_some() && !ACTIONS.iter().any(|action| action.name == name)
}

fn later_of<'t>(a: &'t Field<'t>, b: &'t Field<'t>) -> (&'t Field<'t>, &'t Field<'t>) {
    if a.name.span.start > b.name.span.start {
        (a, b)
    } else {
        (b, a)
    }
}
