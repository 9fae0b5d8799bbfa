//! Agents and sandboxes where they are named, and calls of what is declared with parameters.

use outpost_grammar::tree::{
    Argument as TreeArgument, Expr as Tree, ExprKind as Kind, Name, PostfixOperation as Operation,
};
use outpost_grammar::{Location, SourceId};

use crate::context::Context;
use crate::infer::flow::bare;
use crate::infer::scope::{LocalMeaning, Scope};
use crate::options;
use crate::program::{AgentId, AgentRef, SandboxId, SandboxRef};
use crate::resolve::suggest::nearest;
use crate::resolve::{Declared, Meaning};
use crate::rules;

/// A call as written: what is called, where its name stands, and with what.
pub(crate) struct Called<'t> {
    /// What is called.
    pub binding: u32,
    /// The name.
    pub name: &'t str,
    /// The name's place.
    pub at: Location,
    /// The arguments.
    pub arguments: &'t [TreeArgument<'t>],
}

impl<'t> Context<'t> {
    /// A sandbox by name.
    pub(crate) fn sandbox_reference(
        &mut self,
        scope: &Scope<'t>,
        expr: &'t Tree<'t>,
    ) -> Option<SandboxRef> {
        if let Kind::Name(name) = bare(expr).kind
            && let Some(local) = scope.local(name)
        {
            if let LocalMeaning::Sandbox(sandbox) = local {
                return *sandbox;
            }
            self.report(rules::names::wrong_kind(
                scope.at(expr.span),
                name,
                "value",
                "sandbox",
            ));
            return None;
        }
        let binding = self.entity(scope, expr, "sandbox", |meaning| {
            matches!(meaning, Meaning::Sandbox(_))
        })?;
        match self.bindings[binding as usize].meaning {
            Meaning::Sandbox(id) => Some(SandboxRef::Named(SandboxId(id))),
            _ => None,
        }
    }

    /// An agent by name.
    pub(crate) fn agent_reference(
        &mut self,
        scope: &Scope<'t>,
        expr: &'t Tree<'t>,
    ) -> Option<AgentRef> {
        if let Kind::Name(name) = bare(expr).kind
            && let Some(local) = scope.local(name)
        {
            if let LocalMeaning::Agent(agent) = local {
                return *agent;
            }
            self.report(rules::names::wrong_kind(
                scope.at(expr.span),
                name,
                "value",
                "agent",
            ));
            return None;
        }
        let binding = self.entity(scope, expr, "agent", |meaning| {
            matches!(meaning, Meaning::Agent(_))
        })?;
        match self.bindings[binding as usize].meaning {
            Meaning::Agent(id) => Some(AgentRef::Named(AgentId(id))),
            _ => None,
        }
    }

    /// A name, or `file.name`, of something that is no value.
    pub(crate) fn entity(
        &mut self,
        scope: &Scope<'t>,
        expr: &'t Tree<'t>,
        kind: &'static str,
        wanted: fn(Meaning) -> bool,
    ) -> Option<u32> {
        let source = scope.source;
        let at = scope.at(expr.span);
        let (name, binding) = match &bare(expr).kind {
            Kind::Broken => return None,
            Kind::Name(name) => {
                let name = Name {
                    text: name,
                    span: bare(expr).span,
                };
                (name, self.binding(source, name.text))
            }
            Kind::Postfix(postfix) => match (&postfix.base.kind, &postfix.operations[..]) {
                (Kind::Name(file), [Operation::Field { name, .. }]) => {
                    (*name, Some(self.qualified_binding(source, file, name)?))
                }
                _ => {
                    self.touch(source, expr);
                    self.report(rules::names::not_a_name(at, self.text_at(at), kind));
                    return None;
                }
            },
            Kind::Text(text) => {
                if let Some(binding) = self.binding(source, text) {
                    self.mark(binding);
                }
                self.report(rules::names::quoted_name(at, text, kind));
                return None;
            }
            _ => {
                self.touch(source, expr);
                self.report(rules::names::not_a_name(at, self.text_at(at), kind));
                return None;
            }
        };
        self.meant(scope, name, binding, kind, wanted)
    }

    /// Checks that a name means what is wanted.
    fn meant(
        &mut self,
        scope: &Scope<'t>,
        name: Name<'t>,
        binding: Option<u32>,
        kind: &'static str,
        wanted: fn(Meaning) -> bool,
    ) -> Option<u32> {
        let at = scope.at(name.span);
        let Some(binding) = binding else {
            self.unknown_entity(scope, at, name.text, kind, wanted);
            return None;
        };
        self.mark(binding);
        let meaning = self.bindings[binding as usize].meaning;
        if wanted(meaning) {
            return Some(binding);
        }
        if meaning != Meaning::Broken {
            self.report(rules::names::wrong_kind(
                at,
                name.text,
                meaning.kind(),
                kind,
            ));
        }
        None
    }

    fn unknown_entity(
        &mut self,
        scope: &Scope<'t>,
        at: Location,
        name: &str,
        kind: &'static str,
        wanted: fn(Meaning) -> bool,
    ) {
        if self.is_broken_name(scope, name) {
            return;
        }
        if scope.workflow && self.task_named(name).is_some() {
            self.report(rules::names::wrong_kind(at, name, "task", kind));
            return;
        }
        let names = self.names_of(scope.source, wanted);
        let near = nearest(name, names.iter().copied());
        self.mark_suggested(scope.source, near.as_ref());
        self.report(rules::names::unknown_entity(
            at,
            name,
            kind,
            near.as_ref(),
            &names,
        ));
    }

    /// A call of a declared `step`, `check`, `attempt`, `loop` or `workflow`.
    pub(crate) fn called(
        &mut self,
        scope: &Scope<'t>,
        expr: &'t Tree<'t>,
        kind: &'static str,
        wanted: fn(Meaning) -> bool,
    ) -> Option<Called<'t>> {
        let source = scope.source;
        let parts = match &bare(expr).kind {
            Kind::Broken => return None,
            Kind::Postfix(postfix) => match (&postfix.base.kind, &postfix.operations[..]) {
                (Kind::Name(text), [Operation::Call { arguments, .. }]) => {
                    let span = postfix.base.span;
                    let name = Name { text, span };
                    Some((name, self.binding(source, text), arguments))
                }
                (
                    Kind::Name(file),
                    [
                        Operation::Field { name, .. },
                        Operation::Call { arguments, .. },
                    ],
                ) => {
                    let Some(found) = self.qualified_binding(source, file, name) else {
                        self.touch(source, expr);
                        return None;
                    };
                    Some((*name, Some(found), arguments))
                }
                _ => None,
            },
            _ => None,
        };
        let Some((name, binding, arguments)) = parts else {
            let at = scope.at(expr.span);
            self.touch(source, expr);
            self.report(rules::names::not_a_call(at, self.text_at(at), kind));
            return None;
        };
        match self.meant(scope, name, binding, kind, wanted) {
            Some(binding) => Some(Called {
                binding,
                name: name.text,
                at: scope.at(name.span),
                arguments,
            }),
            None => {
                self.touch(source, expr);
                None
            }
        }
    }

    /// Which positional arguments of a call are agents or sandboxes, for the search for tasks.
    pub(crate) fn entity_arguments(
        &self,
        source: SourceId,
        kind: options::Kind,
        expr: &Tree<'t>,
    ) -> Vec<bool> {
        let Kind::Postfix(postfix) = &expr.kind else {
            return Vec::new();
        };
        let binding = match (&postfix.base.kind, &postfix.operations[..]) {
            (Kind::Name(name), [Operation::Call { .. }]) => self.binding(source, name),
            (Kind::Name(file), [Operation::Field { name, .. }, Operation::Call { .. }]) => {
                match self
                    .binding(source, file)
                    .map(|file| self.bindings[file as usize].meaning)
                {
                    Some(Meaning::File(target)) => self.binding(target, name.text),
                    _ => None,
                }
            }
            _ => None,
        };
        let Some(binding) = binding else {
            return Vec::new();
        };
        let Some(declared) = self.template(self.bindings[binding as usize].meaning) else {
            return Vec::new();
        };
        if kind == options::Kind::WorkflowCall {
            return Vec::new();
        }
        declared
            .params()
            .iter()
            .map(|param| matches!(param.kind.kind, Kind::Name("Sandbox" | "Agent")))
            .collect()
    }

    /// The block behind a declared `step`, `check`, `attempt` or `loop`.
    pub(crate) fn template(&self, meaning: Meaning) -> Option<Declared<'t>> {
        let all = &self.declared;
        match meaning {
            Meaning::Step(id) => Some(all.steps[id as usize]),
            Meaning::Check(id) => Some(all.checks[id as usize]),
            Meaning::Attempt(id) => Some(all.attempts[id as usize]),
            Meaning::Loop(id) => Some(all.loops[id as usize]),
            _ => None,
        }
    }
}
