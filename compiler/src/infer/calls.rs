//! Calls of built-in and declared functions.

use outpost_grammar::Location;
use outpost_grammar::tree::{Argument, Expr as Tree, ExprKind as Kind};
use outpost_stdlib::functions::Function as Builtin;
use outpost_stdlib::{Type, Value};
use std::sync::Arc;

use crate::builtins::{self, Definitions};
use crate::context::Context;
use crate::infer::scope::Scope;
use crate::infer::types::{may_be_null, without_null};
use crate::infer::{Typed, Want, constant, unknown};
use crate::program::{Expr, ExprKind, FunctionId};
use crate::resolve::Meaning;
use crate::resolve::suggest::nearest;
use crate::rules;

/// Built-in functions that are known to the compiler alone and may stand only in some places.
pub(crate) const SPECIAL: &[&str] = &["raw", "readFile", "fileHash", "repositoryFingerprint"];

impl<'t> Context<'t> {
    /// `name(arguments)`.
    pub(crate) fn call(
        &mut self,
        scope: &mut Scope<'t>,
        at: Location,
        name_at: Location,
        name: &'t str,
        arguments: &'t [Argument<'t>],
    ) -> Typed {
        if scope.test
            && let Some(typed) = self.test_call(scope, at, name_at, name, arguments)
        {
            return typed;
        }
        if let Some(binding) = self.binding(scope.source, name) {
            return self.call_declared(scope, at, name_at, name, binding, arguments);
        }
        if SPECIAL.contains(&name) {
            return self.special_call(scope, at, name_at, name, arguments);
        }
        match builtins::find(name) {
            Some((index, function)) => {
                self.call_builtin(scope, at, name_at, index, function, arguments)
            }
            None => {
                self.unknown_function(scope, name_at, name);
                self.touch_arguments(scope, arguments);
                unknown(at)
            }
        }
    }

    fn unknown_function(&mut self, scope: &Scope<'t>, at: Location, name: &str) {
        if self.is_broken_name(scope, name) {
            return;
        }
        if scope.workflow && self.task_named(name).is_some() {
            self.report(rules::names::not_callable(at, name, "task"));
            return;
        }
        let mut names: Vec<&str> = builtins::names().collect();
        names.extend(self.names_of(scope.source, |meaning| {
            matches!(meaning, Meaning::Function(_))
        }));
        let near = nearest(name, names.iter().copied());
        self.mark_suggested(scope.source, near.as_ref());
        self.report(rules::names::unknown_function(at, name, near.as_ref()));
    }

    /// Walks arguments for the names in them; everything else about them is unknown.
    pub(crate) fn touch_arguments(&mut self, scope: &mut Scope<'t>, arguments: &'t [Argument<'t>]) {
        for argument in arguments {
            let (Argument::Positional(expr) | Argument::Named(_, expr) | Argument::Spread(expr)) =
                argument;
            self.infer(scope, expr);
        }
    }

    /// A call of something declared in a file.
    pub(crate) fn call_declared(
        &mut self,
        scope: &mut Scope<'t>,
        at: Location,
        name_at: Location,
        name: &str,
        binding: u32,
        arguments: &'t [Argument<'t>],
    ) -> Typed {
        self.mark(binding);
        let Meaning::Function(id) = self.bindings[binding as usize].meaning else {
            let kind = self.kind_of(binding);
            if kind != "unknown" {
                self.report(rules::names::not_callable(name_at, name, kind));
            }
            self.touch_arguments(scope, arguments);
            return unknown(at);
        };
        let signature = self.signatures[id as usize].clone();
        let params: Vec<&str> = signature.params.iter().map(|param| &*param.0).collect();
        let required = signature.params.iter().filter(|param| !param.2).count();
        let Some(slots) = self.arrange(scope, name_at, name, &params, required, arguments) else {
            self.touch_arguments(scope, arguments);
            return Typed {
                expr: unknown(at).expr,
                kind: signature.result.clone(),
            };
        };
        let mut lowered = Vec::with_capacity(slots.len());
        for (slot, (param, kind, _)) in slots.into_iter().zip(&signature.params) {
            lowered.push(match slot {
                Some(expr) => {
                    let by = format!("argument `{param}` of `{name}`");
                    self.lower(scope, expr, Some(Want { kind, by: &by })).expr
                }
                None => match self.defaults.get(&(id, param.clone())) {
                    Some(default) => default.clone(),
                    None => constant(at, Value::Null, Type::Null).expr,
                },
            });
        }
        Typed {
            expr: Expr {
                kind: ExprKind::Call {
                    function: FunctionId(id),
                    arguments: lowered.into(),
                },
                at,
            },
            kind: signature.result.clone(),
        }
    }

    fn call_builtin(
        &mut self,
        scope: &mut Scope<'t>,
        at: Location,
        name_at: Location,
        index: u16,
        function: &'static Builtin,
        arguments: &'t [Argument<'t>],
    ) -> Typed {
        let params: Vec<&str> = function.params.iter().map(|param| param.name).collect();
        let required = function
            .params
            .iter()
            .filter(|param| !param.optional)
            .count();
        let Some(slots) = self.arrange(scope, name_at, function.name, &params, required, arguments)
        else {
            self.touch_arguments(scope, arguments);
            return unknown(at);
        };
        let mut lowered = Vec::with_capacity(slots.len());
        let mut kinds = Vec::with_capacity(slots.len());
        for slot in &slots {
            let typed = match slot {
                Some(expr) => self.infer(scope, expr),
                None => constant(at, Value::Null, Type::Null),
            };
            lowered.push(typed.expr);
            kinds.push(typed.kind);
        }
        self.constant_patterns(function, &lowered);
        let given = slots
            .iter()
            .rposition(Option::is_some)
            .map_or(0, |last| last + 1);
        kinds.truncate(given.max(required));
        let kind = self.builtin_type(scope, function, &params, &slots, kinds);
        Typed {
            expr: Expr {
                kind: ExprKind::Builtin {
                    function: index,
                    arguments: lowered.into(),
                },
                at,
            },
            kind,
        }
    }

    /// A pattern that is written in the file can be refused now.
    fn constant_patterns(&mut self, function: &'static Builtin, arguments: &[Expr]) {
        for (param, argument) in function.params.iter().zip(arguments) {
            // Where an escape could not be read, the pattern is not the one that is meant.
            if param.name == "pattern"
                && self
                    .files
                    .get(argument.at.source.0 as usize)
                    .is_some_and(|file| !file.broken)
                && let ExprKind::Const(Value::Text(pattern)) = &argument.kind
                && let Err(reason) = outpost_stdlib::functions::check_pattern(pattern)
            {
                self.report(rules::agents::bad_pattern(argument.at, "pattern", &reason));
            }
        }
    }

    fn builtin_type(
        &mut self,
        scope: &Scope<'t>,
        function: &'static Builtin,
        params: &[&str],
        slots: &[Option<&'t Tree<'t>>],
        mut kinds: Vec<Type>,
    ) -> Type {
        if kinds.contains(&Type::Unknown) {
            return (function.check)(&kinds, &Definitions(&self.program.types))
                .unwrap_or(Type::Unknown);
        }
        // Each failure makes one argument unknown, so that every wrong one is reported.
        for _ in 0..=kinds.len() {
            let mismatch = match (function.check)(&kinds, &Definitions(&self.program.types)) {
                Ok(kind) => return kind,
                Err(mismatch) => mismatch,
            };
            let index = mismatch.argument.min(kinds.len().saturating_sub(1));
            let (Some(kind), Some(Some(expr))) = (kinds.get(index).cloned(), slots.get(index))
            else {
                return Type::Unknown;
            };
            if kind == Type::Unknown {
                return Type::Unknown;
            }
            let by = format!("argument `{}` of `{}`", params[index], function.name);
            let at = scope.at(expr.span);
            let diagnostic = if may_be_null(&kind, &self.program.types) && kind != Type::Null {
                let mut without = kinds.clone();
                without[index] =
                    without_null(crate::infer::types::definition(&kind, &self.program.types))
                        .clone();
                match (function.check)(&without, &Definitions(&self.program.types)) {
                    Err(again) if again.argument == index => rules::types::wrong_argument(
                        at,
                        &by,
                        &mismatch.expected,
                        &kind,
                        self.text_at(at),
                    ),
                    _ => self.maybe_null(scope, expr.span, &by),
                }
            } else {
                rules::types::wrong_argument(at, &by, &mismatch.expected, &kind, self.text_at(at))
            };
            self.report(diagnostic);
            kinds[index] = Type::Unknown;
        }
        Type::Unknown
    }

    /// The expression for each parameter; `None` when the arguments do not match the parameters (reported).
    pub(crate) fn arrange(
        &mut self,
        scope: &Scope<'t>,
        name_at: Location,
        name: &str,
        params: &[&str],
        required: usize,
        arguments: &'t [Argument<'t>],
    ) -> Option<Vec<Option<&'t Tree<'t>>>> {
        let mut slots: Vec<Option<&'t Tree<'t>>> = vec![None; params.len()];
        let mut healthy = true;
        let mut named = false;
        for (position, argument) in arguments.iter().enumerate() {
            match argument {
                Argument::Positional(expr) if named => {
                    self.report(rules::types::positional_after_named(scope.at(expr.span)));
                    healthy = false;
                }
                Argument::Positional(expr) => match slots.get_mut(position) {
                    Some(slot) => *slot = Some(expr),
                    None => {
                        self.report(rules::types::too_many_arguments(
                            scope.at(expr.span),
                            name,
                            params,
                        ));
                        return None;
                    }
                },
                Argument::Named(key, expr) => {
                    named = true;
                    match params.iter().position(|param| *param == key.text) {
                        Some(index) if slots[index].is_none() => slots[index] = Some(expr),
                        Some(index) => {
                            let first = slots[index].map(|first| scope.at(first.span));
                            self.report(rules::types::argument_twice(
                                scope.at(key.span),
                                key.text,
                                first,
                            ));
                            healthy = false;
                        }
                        None => {
                            let near = nearest(key.text, params.iter().copied());
                            self.report(rules::types::unknown_argument(
                                scope.at(key.span),
                                key.text,
                                name,
                                params,
                                near.as_ref(),
                            ));
                            healthy = false;
                        }
                    }
                }
                Argument::Spread(expr) => {
                    self.report(rules::types::spread_argument(scope.at(expr.span), name));
                    healthy = false;
                }
            }
        }
        if !healthy {
            return None;
        }
        let missing: Vec<&str> = params
            .iter()
            .zip(&slots)
            .take(required)
            .filter(|(_, slot)| slot.is_none())
            .map(|(param, _)| *param)
            .collect();
        if !missing.is_empty() {
            self.report(rules::types::too_few_arguments(name_at, name, &missing));
            return None;
        }
        Some(slots)
    }

    /// `readFile`, `fileHash`, `repositoryFingerprint`, and `raw` outside a shell text.
    fn special_call(
        &mut self,
        scope: &mut Scope<'t>,
        at: Location,
        name_at: Location,
        name: &str,
        arguments: &'t [Argument<'t>],
    ) -> Typed {
        if name == "raw" {
            self.report(rules::shell::raw_outside_shell(name_at));
            self.touch_arguments(scope, arguments);
            return unknown(at);
        }
        let param: &str = match name {
            "readFile" => "path",
            "fileHash" => "pattern",
            _ => "sandbox",
        };
        let Some(slots) = self.arrange(scope, name_at, name, &[param], 1, arguments) else {
            self.touch_arguments(scope, arguments);
            return Typed {
                expr: unknown(at).expr,
                kind: Type::String,
            };
        };
        let Some(Some(argument)) = slots.first().copied() else {
            return unknown(at);
        };
        if name == "readFile" {
            return self.read_file(scope, at, argument);
        }
        if name == "fileHash" {
            let by = "argument `pattern` of `fileHash`";
            let pattern = self.expect(scope, argument, &Type::String, by);
            return self.runtime_builtin(at, name, pattern);
        }
        let place = scope.at(argument.span);
        self.sandbox_reference(scope, argument);
        let text = Value::Text(Arc::from(self.text_at(place)));
        self.runtime_builtin(at, name, constant(place, text, Type::String).expr)
    }

    fn runtime_builtin(&mut self, at: Location, name: &str, argument: Expr) -> Typed {
        match builtins::find(name) {
            Some((index, _)) => Typed {
                expr: Expr {
                    kind: ExprKind::Builtin {
                        function: index,
                        arguments: Box::new([argument]),
                    },
                    at,
                },
                kind: Type::String,
            },
            None => Typed {
                expr: argument,
                kind: Type::String,
            },
        }
    }

    fn read_file(&mut self, scope: &Scope<'t>, at: Location, argument: &'t Tree<'t>) -> Typed {
        let place = scope.at(argument.span);
        let Kind::Text(path) = &crate::infer::flow::bare(argument).kind else {
            self.report(rules::modules::path_not_literal(place, "`readFile`"));
            return Typed {
                expr: unknown(at).expr,
                kind: Type::String,
            };
        };
        match self.read_project_file(scope.source, place, path) {
            Some(text) => constant(at, Value::Text(text), Type::String),
            None => Typed {
                expr: unknown(at).expr,
                kind: Type::String,
            },
        }
    }
}
