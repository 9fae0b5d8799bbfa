//! What is declared with parameters: steps, which are called, and checks, attempts and loops, which are expanded where they are named.
//!
//! In an expansion a parameter stands for its argument: expressions are pure, so it makes no difference how often one is evaluated.

use outpost_grammar::Location;
use outpost_grammar::tree::{Block, Expr as Tree};
use outpost_stdlib::Type;
use outpost_stdlib::types::Entity;
use std::collections::HashSet;
use std::sync::Arc;

use crate::context::{Context, StepInfo};
use crate::infer::scope::{Local, LocalMeaning, Scope, Words};
use crate::infer::{Typed, Want};
use crate::lower::entities::Called;
use crate::options;
use crate::program::{AgentRef, Argument, Body, Check, Param, SandboxId, SandboxRef, StepTemplate};
use crate::resolve::order::Graph;
use crate::resolve::{Declared, Meaning};
use crate::rules;

/// A template where it is called.
pub(crate) struct Expansion<'t> {
    /// The template.
    pub declared: Declared<'t>,
    /// What its body sees.
    pub scope: Scope<'t>,
    /// Its name in the call.
    at: Location,
    /// How many sandboxes were in use before its body.
    uses: usize,
}

impl<'t> Context<'t> {
    /// All declared steps, each after those that it calls.
    pub(crate) fn lower_steps(&mut self) {
        let declared = self.declared.steps.clone();
        let mut edges: Vec<Vec<(u32, Location)>> = Vec::with_capacity(declared.len());
        for step in &declared {
            let mut found = Vec::new();
            self.calls_in_block(*step, step.block, "step", &mut found);
            edges.push(found);
            self.step_results.push(StepInfo::default());
        }
        let graph = Graph::new(edges.iter().map(|list| list.iter().map(|edge| edge.0)));
        let mut lowered: Vec<Option<StepTemplate>> = declared.iter().map(|_| None).collect();
        for component in graph.components() {
            if graph.is_cycle(&component) {
                self.call_cycle(&graph, &component, &edges, "step", |ctx, id| {
                    ctx.declared.steps[id as usize].name.text
                });
            }
            for id in component {
                lowered[id as usize] = Some(self.step_template(id));
            }
        }
        self.program.steps = lowered.into_iter().flatten().collect();
    }

    /// Things that call one another: reported once, at the first call.
    pub(crate) fn call_cycle(
        &mut self,
        graph: &Graph,
        component: &[u32],
        edges: &[Vec<(u32, Location)>],
        kind: &'static str,
        name: fn(&Context<'t>, u32) -> &'t str,
    ) {
        let first = component.iter().copied().min().unwrap_or(0);
        let Some((next, at)) = edges[first as usize]
            .iter()
            .find(|edge| component.contains(&edge.0))
            .copied()
        else {
            return;
        };
        let mut path = vec![first];
        if next == first {
            path.push(first);
        } else {
            path.extend(graph.path(next, first, component));
        }
        let names: Vec<&str> = path.iter().map(|id| name(self, *id)).collect();
        let others: Vec<Location> = path[1..]
            .windows(2)
            .filter_map(|pair| {
                edges[pair[0] as usize]
                    .iter()
                    .find(|edge| edge.0 == pair[1])
            })
            .map(|edge| edge.1)
            .collect();
        let diagnostic = rules::graph::calls_itself(at, kind, &names, &others);
        self.report(diagnostic);
    }

    /// The calls of steps or workflows in a block, with the place of each name.
    pub(crate) fn calls_in_block(
        &self,
        declared: Declared<'t>,
        block: &'t Block<'t>,
        property: &str,
        found: &mut Vec<(u32, Location)>,
    ) {
        use outpost_grammar::tree::{Entry, ExprKind as Kind, PostfixOperation as Operation};
        for entry in &block.entries {
            match entry {
                Entry::Field(field) if field.name.text == property => {
                    let Kind::Postfix(postfix) = &field.value.kind else {
                        continue;
                    };
                    let called = match (&postfix.base.kind, &postfix.operations[..]) {
                        (Kind::Name(name), [Operation::Call { .. }]) => self
                            .binding(declared.source, name)
                            .map(|binding| (binding, postfix.base.span)),
                        (
                            Kind::Name(file),
                            [Operation::Field { name, .. }, Operation::Call { .. }],
                        ) => {
                            match self
                                .binding(declared.source, file)
                                .map(|file| self.bindings[file as usize].meaning)
                            {
                                Some(Meaning::File(target)) => self
                                    .binding(target, name.text)
                                    .map(|binding| (binding, name.span)),
                                _ => None,
                            }
                        }
                        _ => None,
                    };
                    if let Some((binding, span)) = called
                        && let Meaning::Step(id) | Meaning::Workflow(id) =
                            self.bindings[binding as usize].meaning
                    {
                        found.push((id, Location::new(declared.source, span)));
                    }
                }
                Entry::Block(inner) => self.calls_in_block(declared, inner, property, found),
                Entry::Field(_) | Entry::Rule(_) | Entry::Broken(_) => {}
            }
        }
    }

    fn step_template(&mut self, id: u32) -> StepTemplate {
        let declared = self.declared.steps[id as usize];
        let entries = self.entries(declared.source, declared.block, &options::STEP);
        let mut scope = Scope::file(declared.source, "a step");
        scope.words.task = true;
        let params = self.template_params(&mut scope, declared);
        let outer = std::mem::take(&mut self.findings);
        let (body, kind) = self.body(&mut scope, &entries);
        let found = std::mem::replace(&mut self.findings, outer);
        let mut seen: HashSet<SandboxId> = HashSet::new();
        self.step_results[id as usize] = StepInfo {
            result: Some(kind),
            sandboxes: found
                .sandboxes
                .iter()
                .filter(|used| seen.insert(used.sandbox))
                .map(|used| (used.sandbox, used.at))
                .collect(),
            has_agent: found.has_agent,
            needs: found.needs,
            agents: found.agents.iter().map(|(agent, _)| *agent).collect(),
        };
        StepTemplate {
            name: Arc::from(declared.name.text),
            at: declared.at(),
            params,
            locals: scope.frame_size,
            body,
        }
    }

    /// The parameters of a template as the first locals of its frame.
    fn template_params(&mut self, scope: &mut Scope<'t>, declared: Declared<'t>) -> Vec<Param> {
        let mut params = Vec::with_capacity(declared.params().len());
        let mut optional: Option<Location> = None;
        for param in declared.params() {
            let at = Location::new(declared.source, param.name.span);
            let kind = self.type_of(declared.source, &param.kind, true);
            if crate::resolve::RESERVED.contains(&param.name.text) {
                self.report(rules::names::reserved_name(
                    at,
                    param.name.text,
                    "parameter",
                ));
            }
            let first = declared
                .params()
                .iter()
                .find(|other| other.name.text == param.name.text);
            if let Some(first) = first
                && first.name.span != param.name.span
            {
                let first = Location::new(declared.source, first.name.span);
                self.report(rules::names::duplicate_name(
                    at,
                    param.name.text,
                    "parameter",
                    first,
                ));
            }
            let default = param.default.as_ref().map(|default| {
                optional = Some(at);
                let mut scope = Scope::file(declared.source, "a default");
                let by = format!("parameter `{}`", param.name.text);
                self.expect(&mut scope, default, &kind, &by)
            });
            if let (None, Some(before)) = (&default, optional) {
                self.report(rules::names::required_after_optional(
                    at,
                    param.name.text,
                    before,
                ));
            }
            let id = scope.declare(param.name.text, kind.clone());
            if let (Type::Entity(entity), Some(local)) = (&kind, scope.locals.last_mut()) {
                local.meaning = match entity {
                    Entity::Sandbox => LocalMeaning::Sandbox(Some(SandboxRef::Param(id))),
                    Entity::Agent => LocalMeaning::Agent(Some(AgentRef::Param(id))),
                };
            }
            params.push(Param {
                name: Arc::from(param.name.text),
                kind,
                default,
            });
        }
        params
    }

    /// The arguments of a step; `None` when they do not match (reported).
    pub(crate) fn template_arguments(
        &mut self,
        scope: &mut Scope<'t>,
        called: &Called<'t>,
        id: u32,
    ) -> Option<Vec<Argument>> {
        let declared = self.declared.steps[id as usize];
        let bound = self.bind_arguments(scope, called, declared)?;
        let mut arguments = Vec::with_capacity(bound.len());
        for (index, meaning) in bound.into_iter().enumerate() {
            arguments.push(match meaning {
                LocalMeaning::Argument(typed) => Argument::Value(typed.expr),
                LocalMeaning::Sandbox(sandbox) => Argument::Sandbox(sandbox?),
                LocalMeaning::Agent(agent) => Argument::Agent(agent?),
                LocalMeaning::Slot(..) => {
                    debug_assert!(false, "argument {index} is bound");
                    return None;
                }
            });
        }
        Some(arguments)
    }

    /// What each parameter stands for in a call.
    fn bind_arguments(
        &mut self,
        scope: &mut Scope<'t>,
        called: &Called<'t>,
        declared: Declared<'t>,
    ) -> Option<Vec<LocalMeaning>> {
        let params = declared.params();
        let names: Vec<&str> = params.iter().map(|param| param.name.text).collect();
        let required = params
            .iter()
            .position(|param| param.default.is_some())
            .unwrap_or(params.len());
        let Some(slots) = self.arrange(
            scope,
            called.at,
            called.name,
            &names,
            required,
            called.arguments,
        ) else {
            self.mute();
            for argument in called.arguments {
                let (outpost_grammar::tree::Argument::Positional(expr)
                | outpost_grammar::tree::Argument::Named(_, expr)
                | outpost_grammar::tree::Argument::Spread(expr)) = argument;
                self.touch(scope.source, expr);
            }
            self.unmute();
            return None;
        };
        let mut bound = Vec::with_capacity(params.len());
        for (param, slot) in params.iter().zip(slots) {
            self.mute();
            let kind = self.type_of(declared.source, &param.kind, true);
            self.unmute();
            let by = format!("argument `{}` of `{}`", param.name.text, called.name);
            bound.push(match (&kind, slot) {
                (Type::Entity(Entity::Sandbox), Some(expr)) => {
                    let sandbox = self.sandbox_reference(scope, expr);
                    if let Some(sandbox) = sandbox {
                        self.use_sandbox(sandbox, scope.at(expr.span), None);
                    }
                    LocalMeaning::Sandbox(sandbox)
                }
                (Type::Entity(Entity::Agent), Some(expr)) => {
                    let agent = self.agent_reference(scope, expr);
                    if let Some(agent) = agent {
                        self.findings.agents.push((agent, scope.at(expr.span)));
                    }
                    LocalMeaning::Agent(agent)
                }
                (Type::Entity(Entity::Sandbox), None) => LocalMeaning::Sandbox(None),
                (Type::Entity(Entity::Agent), None) => LocalMeaning::Agent(None),
                (_, Some(expr)) => {
                    let typed = self.lower(
                        scope,
                        expr,
                        Some(Want {
                            kind: &kind,
                            by: &by,
                        }),
                    );
                    LocalMeaning::Argument(Box::new(Typed {
                        expr: typed.expr,
                        kind,
                    }))
                }
                (_, None) => {
                    let expr = match &param.default {
                        Some(default) => {
                            self.mute();
                            let mut scope = Scope::file(declared.source, "a default");
                            let lowered = self.expect(&mut scope, default, &kind, &by);
                            self.unmute();
                            lowered
                        }
                        None => crate::infer::unknown(called.at).expr,
                    };
                    LocalMeaning::Argument(Box::new(Typed { expr, kind }))
                }
            });
        }
        Some(bound)
    }

    /// An expanded template: its own file's names, and its parameters.
    fn expansion(
        &mut self,
        scope: &mut Scope<'t>,
        value: &'t Tree<'t>,
        kind: &'static str,
        wanted: fn(Meaning) -> bool,
    ) -> Option<Expansion<'t>> {
        let called = self.called(scope, value, kind, wanted)?;
        let declared = self.template(self.bindings[called.binding as usize].meaning)?;
        let bound = self.bind_arguments(scope, &called, declared)?;
        let mut inner = Scope::file(declared.source, scope.place);
        inner.words = scope.words.clone();
        inner.task = scope.task;
        inner.frame = scope.frame;
        inner.frame_size = scope.frame_size;
        inner.locals = declared
            .params()
            .iter()
            .zip(bound)
            .map(|(param, meaning)| Local {
                name: param.name.text,
                meaning,
            })
            .collect();
        inner.called = Some(called.at);
        Some(Expansion {
            declared,
            scope: inner,
            at: called.at,
            uses: self.findings.sandboxes.len(),
        })
    }

    /// What was used inside an expanded template is used where it is called.
    pub(crate) fn expanded(&mut self, scope: &mut Scope<'t>, expansion: &Expansion<'t>) {
        scope.frame_size = scope.frame_size.max(expansion.scope.frame_size);
        scope.reads_feedback |= expansion.scope.reads_feedback;
        scope.answered = expansion.scope.answered;
        for used in &mut self.findings.sandboxes[expansion.uses..] {
            used.inside = used.inside.or(Some(used.at));
            used.at = expansion.at;
        }
    }

    /// `attempt: name(arguments)`, and where it is declared.
    pub(crate) fn expand_attempt(
        &mut self,
        scope: &mut Scope<'t>,
        value: &'t Tree<'t>,
    ) -> Option<((Body, Type), Location)> {
        let wanted = |meaning| matches!(meaning, Meaning::Attempt(_));
        let mut inside = self.expansion(scope, value, "attempt", wanted)?;
        let declared = inside.declared;
        let entries = self.entries(declared.source, declared.block, &options::ATTEMPT);
        let lowered = self.body(&mut inside.scope, &entries);
        self.expanded(scope, &inside);
        Some((lowered, declared.at()))
    }

    /// `check: name(arguments)`.
    pub(crate) fn expand_check(
        &mut self,
        scope: &mut Scope<'t>,
        value: &'t Tree<'t>,
    ) -> Option<Check> {
        let wanted = |meaning| matches!(meaning, Meaning::Check(_));
        let mut inside = self.expansion(scope, value, "check", wanted)?;
        let declared = inside.declared;
        let entries = self.entries(declared.source, declared.block, &options::CHECK);
        let lowered = self.check(&mut inside.scope, &entries);
        self.expanded(scope, &inside);
        Some(lowered)
    }

    /// `body: name(arguments)`.
    pub(crate) fn expand_loop(
        &mut self,
        scope: &mut Scope<'t>,
        value: &'t Tree<'t>,
    ) -> Option<Expansion<'t>> {
        let wanted = |meaning| matches!(meaning, Meaning::Loop(_));
        self.expansion(scope, value, "loop", wanted)
    }

    /// Checks, attempts and loops on their own, whether they are used or not.
    pub(crate) fn check_templates(&mut self) {
        let outer = std::mem::take(&mut self.findings);
        for declared in self.declared.attempts.clone() {
            let mut scope = self.template_scope(declared, "an attempt");
            scope.words.feedback = true;
            scope.words.previous = Some(Type::Unknown);
            let entries = self.entries(declared.source, declared.block, &options::ATTEMPT);
            self.body(&mut scope, &entries);
        }
        for declared in self.declared.checks.clone() {
            let mut scope = self.template_scope(declared, "a check");
            scope.words.candidate = Some(Type::Unknown);
            let entries = self.entries(declared.source, declared.block, &options::CHECK);
            self.check(&mut scope, &entries);
        }
        for declared in self.declared.loops.clone() {
            let mut scope = self.template_scope(declared, "a loop");
            let entries = self.entries(declared.source, declared.block, &options::LOOP_TEMPLATE);
            self.loop_bodies(&mut scope, &entries, declared.name.text);
        }
        self.findings = outer;
    }

    fn template_scope(&mut self, declared: Declared<'t>, place: &'static str) -> Scope<'t> {
        let mut scope = Scope::file(declared.source, place);
        scope.words = Words {
            task: true,
            round: true,
            ..Words::default()
        };
        self.template_params(&mut scope, declared);
        scope
    }

    /// Findings of nothing, for walks whose findings do not count.
    pub(crate) fn without_findings<T>(&mut self, walk: impl FnOnce(&mut Context<'t>) -> T) -> T {
        let outer = std::mem::take(&mut self.findings);
        let result = walk(self);
        self.findings = outer;
        result
    }
}
