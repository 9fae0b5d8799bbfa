//! A name in an expression: variables, steps, reserved names, tasks; and what to say when it is none of them.

use outpost_grammar::{Location, Span};
use outpost_stdlib::Type;
use std::sync::Arc;

use crate::context::Context;
use crate::infer::scope::{LocalMeaning, ResultOf, Scope, Secrets};
use crate::infer::types::nullable;
use crate::infer::{Typed, unknown};
use crate::program::{Expr, ExprKind, InputId, Ref, TaskId};
use crate::resolve::RESERVED;
use crate::resolve::suggest::nearest;
use crate::rules;

/// A reference and its type.
pub(crate) fn reference(at: Location, reference: Ref, kind: Type) -> Typed {
    Typed {
        expr: Expr {
            kind: ExprKind::Ref(reference),
            at,
        },
        kind,
    }
}

impl<'t> Context<'t> {
    /// A name that stands for a value.
    pub(crate) fn name(&mut self, scope: &mut Scope<'t>, span: Span, name: &'t str) -> Typed {
        let at = scope.at(span);
        let typed = match self.meaning(scope, at, name) {
            Some(typed) => typed,
            None => {
                self.unknown_name(scope, at, name);
                return unknown(at);
            }
        };
        if scope.facts.is_empty() {
            return typed;
        }
        let text = span.of(self.text(scope.text));
        Typed {
            kind: self.narrowed(scope, text, typed.kind),
            expr: typed.expr,
        }
    }

    /// What a name stands for, if anything; a reserved name that means nothing here is reported.
    pub(crate) fn meaning(
        &mut self,
        scope: &mut Scope<'t>,
        at: Location,
        name: &'t str,
    ) -> Option<Typed> {
        match scope.local(name) {
            Some(LocalMeaning::Slot(id, kind)) => {
                return Some(reference(at, Ref::Local(*id), kind.clone()));
            }
            Some(LocalMeaning::Argument(typed)) => {
                let mut typed = (**typed).clone();
                typed.expr.at = at;
                return Some(typed);
            }
            Some(LocalMeaning::Sandbox(_) | LocalMeaning::Agent(_)) => {
                self.report(rules::names::not_a_value(
                    at,
                    name,
                    "a parameter that is no value",
                ));
                return Some(unknown(at));
            }
            None => {}
        }
        if let Some((index, kind)) = scope.step(name) {
            return Some(reference(at, Ref::Step(index), kind.clone()));
        }
        if scope.later.contains(&name) {
            self.report(rules::names::not_yet_run(at, name));
            return Some(unknown(at));
        }
        if RESERVED.contains(&name) {
            return Some(self.reserved(scope, at, name));
        }
        if scope.workflow
            && let Some(task) = self.task_named(name)
        {
            return Some(self.task_value(scope, at, task, false));
        }
        if self.is_broken_name(scope, name) {
            return Some(unknown(at));
        }
        if scope.test
            && let Some(typed) = self.test_word(at, name)
        {
            return Some(typed);
        }
        None
    }

    /// The value of a task.
    pub(crate) fn task_value(
        &mut self,
        scope: &mut Scope<'t>,
        at: Location,
        task: TaskId,
        soft: bool,
    ) -> Typed {
        let tables = self.workflow();
        let info = &tables.tasks[task.index()];
        let own = scope.task == Some(task.0);
        let kind = match (&info.value, info.each) {
            _ if own => Type::Unknown,
            (Type::Unknown, _) => Type::Unknown,
            (kind, true) if soft => Type::List(Arc::new(nullable(kind))),
            (kind, true) => Type::List(Arc::new(kind.clone())),
            (kind, false) if soft => nullable(kind),
            (kind, false) => kind.clone(),
        };
        if let (Some(callee), false) = (info.no_output, own) {
            let name = info.name;
            self.report(rules::graph::no_output(at, name, callee));
            return unknown(at);
        }
        if scope.output && info.may_not_run && !soft {
            let diagnostic = rules::skip::may_not_run(at, info.name, info.why_not);
            self.report(diagnostic);
        }
        reference(at, Ref::Task { task, soft }, kind)
    }

    /// A reserved name.
    fn reserved(&mut self, scope: &mut Scope<'t>, at: Location, name: &'t str) -> Typed {
        let words = &scope.words;
        let found = match name {
            "round" if words.round => Some((Ref::Round, Type::Int)),
            "phase" if words.round => Some((Ref::Phase, self.shapes.phase.clone())),
            "attempt" if words.task => Some((Ref::Attempt, Type::Int)),
            "idempotencyKey" if words.task => Some((Ref::IdempotencyKey, Type::String)),
            "quota" if words.task => Some((Ref::Quota, self.shapes.quota.clone())),
            "feedback" if words.feedback => {
                scope.reads_feedback = true;
                Some((Ref::Feedback, self.shapes.optional_text.clone()))
            }
            "candidate" => words.candidate.clone().map(|kind| (Ref::Candidate, kind)),
            "previous" => words.previous.clone().map(|kind| (Ref::Previous, kind)),
            "result" => match &scope.result {
                ResultOf::Single(index, kind) => Some((Ref::Step(*index), kind.clone())),
                ResultOf::Several => {
                    self.report(rules::bodies::result_of_several(at));
                    return unknown(at);
                }
                ResultOf::Nothing => None,
            },
            _ => None,
        };
        match found {
            Some((found, kind)) => reference(at, found, kind),
            None => {
                let diagnostic = match name {
                    "feedback" | "candidate" | "previous" => {
                        rules::loops::misplaced_word(at, name, scope.place)
                    }
                    "secret" | "env" | "inputs" | "run" => rules::names::incomplete(at, name),
                    _ => rules::names::reserved_word_without_meaning(at, name, scope.place),
                };
                self.report(diagnostic);
                unknown(at)
            }
        }
    }

    /// A name that stands for nothing.
    pub(crate) fn unknown_name(&mut self, scope: &Scope<'t>, at: Location, name: &str) {
        if let Some(binding) = self.binding(scope.source, name) {
            self.mark(binding);
            let kind = self.kind_of(binding);
            if kind != "unknown" {
                self.report(rules::names::not_a_value(at, name, kind));
            }
            return;
        }
        if let Some(split) = self.subtraction(scope, name) {
            self.report(rules::names::needs_spaces(at, name, &split));
            return;
        }
        let known = self.visible_names(scope);
        let near = nearest(name, known.iter().copied());
        let owner = self.step_elsewhere(scope, name);
        self.report(rules::names::unknown_name(at, name, near.as_ref(), owner));
    }

    /// `a-b` where `a` and `b` are names: `a - b`.
    fn subtraction(&self, scope: &Scope<'t>, name: &str) -> Option<String> {
        let visible = self.visible_names(scope);
        let known = |part: &str| {
            part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty()
                || visible.contains(&part)
        };
        name.match_indices('-').find_map(|(at, _)| {
            let (left, right) = (&name[..at], &name[at + 1..]);
            (visible.contains(&left) && known(right)).then(|| format!("{left} - {right}"))
        })
    }

    /// Every name that an expression could use here.
    pub(crate) fn visible_names(&self, scope: &Scope<'t>) -> Vec<&'t str> {
        let mut names: Vec<&'t str> = scope.locals.iter().map(|local| local.name).collect();
        names.extend(scope.steps.iter().map(|step| step.0));
        let words = &scope.words;
        let reserved: [(&'static str, bool); 9] = [
            ("round", words.round),
            ("phase", words.round),
            ("attempt", words.task),
            ("idempotencyKey", words.task),
            ("quota", words.task),
            ("feedback", words.feedback),
            ("candidate", words.candidate.is_some()),
            ("previous", words.previous.is_some()),
            ("result", matches!(scope.result, ResultOf::Single(..))),
        ];
        names.extend(
            reserved
                .iter()
                .filter(|(_, here)| *here)
                .map(|(name, _)| *name),
        );
        if scope.workflow {
            names.push("inputs");
            names.extend(self.workflow().tasks.iter().map(|task| task.name));
        }
        names
    }

    /// The task that has a step of this name, for advice.
    fn step_elsewhere(&self, scope: &Scope<'t>, name: &str) -> Option<&'t str> {
        if !scope.workflow {
            return None;
        }
        self.workflow()
            .tasks
            .iter()
            .find(|task| crate::resolve::references::has_run(task.block, name))
            .map(|task| task.name)
    }

    /// `inputs.name`.
    pub(crate) fn input(
        &mut self,
        scope: &Scope<'t>,
        at: Location,
        field: Location,
        name: &str,
    ) -> Typed {
        if !scope.workflow {
            self.report(rules::names::no_inputs_here(at, scope.place));
            return unknown(at);
        }
        let tables = self.workflow_mut();
        let found = tables
            .inputs
            .iter_mut()
            .enumerate()
            .find(|(_, input)| input.name == name);
        if let Some((index, input)) = found {
            input.used = true;
            return reference(at, Ref::Input(InputId(index as u32)), input.kind.clone());
        }
        let names: Vec<&'t str> = tables.inputs.iter().map(|input| input.name).collect();
        if tables.broken_names.contains(&name) || tables.broken_inputs {
            return unknown(at);
        }
        let near = nearest(name, names.iter().copied());
        if let Some(near) = &near
            && let Some(input) = tables
                .inputs
                .iter_mut()
                .find(|input| input.name == near.name)
        {
            input.used = true;
        }
        self.report(rules::names::unknown_input(field, name, near.as_ref()));
        unknown(at)
    }

    /// `secret.NAME` and `env.NAME`.
    pub(crate) fn secret(
        &mut self,
        scope: &Scope<'t>,
        at: Location,
        field: Location,
        name: &'t str,
    ) -> Typed {
        let found = self.secret_named(scope.source, name);
        let Some((id, usage)) = found else {
            if !self.is_broken_name(scope, name) {
                let names = self.secret_names(scope.source);
                let near = nearest(name, names.iter().copied());
                if let Some(near) = &near
                    && let Some((_, usage)) = self.secret_named(scope.source, &near.name)
                {
                    self.used[usage as usize] = true;
                }
                self.report(rules::secrets::unknown_secret(field, name, near.as_ref()));
            }
            return unknown(at);
        };
        self.used[usage as usize] = true;
        if scope.secrets == Secrets::No {
            self.report(rules::secrets::misplaced_secret(
                at,
                name,
                scope.slot.unwrap_or(scope.place),
            ));
            return unknown(at);
        }
        reference(at, Ref::Secret(id), Type::String)
    }

    /// `env.NAME`.
    pub(crate) fn environment_variable(
        &mut self,
        scope: &Scope<'t>,
        at: Location,
        name: &str,
    ) -> Typed {
        if scope.secrets != Secrets::Environment {
            self.report(rules::secrets::misplaced_env(
                at,
                name,
                scope.slot.unwrap_or(scope.place),
            ));
            return unknown(at);
        }
        reference(at, Ref::Env(Arc::from(name)), Type::String)
    }
}
