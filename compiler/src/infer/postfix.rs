//! `x.a?.b[0](c)!?`: fields, indexes, calls, soft references.

use outpost_grammar::tree::{
    Expr as Tree, ExprKind as Kind, Postfix, PostfixOperation as Operation,
};
use outpost_grammar::{Location, Span};
use outpost_stdlib::{Type, Value};
use std::sync::Arc;

use crate::context::Context;
use crate::infer::names::reference;
use crate::infer::scope::Scope;
use crate::infer::types::{definition, may_be_null, nullable, read, without_null};
use crate::infer::{Typed, constant, unknown};
use crate::program::{Expr, ExprKind, Ref};
use crate::resolve::Meaning;
use crate::resolve::suggest::{Near, nearest};
use crate::rules;

impl<'t> Context<'t> {
    /// An operand with postfix operators.
    pub(crate) fn postfix(
        &mut self,
        scope: &mut Scope<'t>,
        span: Span,
        postfix: &'t Postfix<'t>,
    ) -> Typed {
        let (mut typed, taken) = self.head(scope, postfix);
        for operation in &postfix.operations[taken..] {
            let so_far = Span {
                start: span.start,
                end: start_of(operation),
            };
            typed = self.operation(scope, so_far, typed, operation);
            if !scope.facts.is_empty() {
                let whole = Span {
                    start: span.start,
                    end: end_of(operation),
                };
                let text = whole.of(self.text(scope.text));
                typed.kind = self.narrowed(scope, text, typed.kind);
            }
        }
        typed
    }

    /// The operand with the operators that belong to its name: `inputs.goal`, `secret.KEY`, `f(x)`, `audit?`.
    fn head(&mut self, scope: &mut Scope<'t>, postfix: &'t Postfix<'t>) -> (Typed, usize) {
        let Kind::Name(name) = &postfix.base.kind else {
            return (self.infer(scope, &postfix.base), 0);
        };
        let span = postfix.base.span;
        let hidden = scope.local(name).is_some() || scope.step(name).is_some();
        let first = postfix.operations.first();
        if hidden {
            return (self.name(scope, span, name), 0);
        }
        match (*name, first) {
            (
                "inputs",
                Some(
                    Operation::Field { name, span: field }
                    | Operation::SafeField { name, span: field },
                ),
            ) => {
                let whole = scope.at(span.to(*field));
                let typed = self.input(scope, whole, scope.at(name.span), name.text);
                let text = span.to(*field).of(self.text(scope.text));
                let kind = self.narrowed(scope, text, typed.kind);
                (
                    Typed {
                        kind,
                        expr: typed.expr,
                    },
                    1,
                )
            }
            ("secret", Some(Operation::Field { name, span: field })) => {
                let whole = scope.at(span.to(*field));
                (self.secret(scope, whole, scope.at(name.span), name.text), 1)
            }
            ("env", Some(Operation::Field { name, span: field })) => {
                let whole = scope.at(span.to(*field));
                (self.environment_variable(scope, whole, name.text), 1)
            }
            ("run", Some(Operation::Field { name, span: field })) if !scope.test => (
                self.run_field(
                    scope,
                    scope.at(span.to(*field)),
                    scope.at(name.span),
                    name.text,
                ),
                1,
            ),
            (
                _,
                Some(Operation::Call {
                    arguments,
                    span: call,
                }),
            ) => {
                let whole = scope.at(span.to(*call));
                (self.call(scope, whole, scope.at(span), name, arguments), 1)
            }
            (_, Some(Operation::Optional { .. })) if self.task_of(scope, name).is_some() => {
                (self.soft(scope, span, name), 1)
            }
            (_, Some(Operation::SafeField { .. })) if self.task_of(scope, name).is_some() => {
                (self.soft(scope, span, name), 0)
            }
            _ => self.qualified(scope, postfix, span, name),
        }
    }

    /// `team.words(x)`, where `team` is an imported file.
    fn qualified(
        &mut self,
        scope: &mut Scope<'t>,
        postfix: &'t Postfix<'t>,
        span: Span,
        name: &'t str,
    ) -> (Typed, usize) {
        let file = self
            .binding(scope.source, name)
            .filter(|_| self.task_of(scope, name).is_none());
        if let Some(binding) = file
            && let Meaning::File(_) = self.bindings[binding as usize].meaning
            && let [Operation::Field { name: member, .. }, rest @ ..] = &postfix.operations[..]
        {
            let found = self.qualified_binding(scope.source, name, member);
            if let [
                Operation::Call {
                    arguments,
                    span: call,
                },
                ..,
            ] = rest
            {
                let whole = scope.at(span.to(*call));
                let at = scope.at(member.span);
                return match found {
                    Some(found) => (
                        self.call_declared(scope, whole, at, member.text, found, arguments),
                        2,
                    ),
                    None => (unknown(whole), 2),
                };
            }
            if let Some(found) = found {
                let at = scope.at(member.span);
                self.report(rules::names::not_a_value(
                    at,
                    member.text,
                    self.kind_of(found),
                ));
            }
            return (unknown(scope.at(span)), postfix.operations.len());
        }
        (self.name(scope, span, name), 0)
    }

    fn task_of(&self, scope: &Scope<'t>, name: &str) -> Option<crate::program::TaskId> {
        if scope.workflow {
            self.task_named(name)
        } else {
            None
        }
    }

    /// `audit?`: null unless the task is done.
    fn soft(&mut self, scope: &mut Scope<'t>, span: Span, name: &'t str) -> Typed {
        let at = scope.at(span);
        match self.task_of(scope, name) {
            Some(task) => self.task_value(scope, at, task, true),
            None => unknown(at),
        }
    }

    fn run_field(&mut self, scope: &Scope<'t>, at: Location, field: Location, name: &str) -> Typed {
        if !scope.workflow && !scope.words.task {
            self.report(rules::names::reserved_word_without_meaning(
                at,
                "run",
                scope.place,
            ));
            return unknown(at);
        }
        match name {
            "id" => reference(at, Ref::RunId, Type::String),
            "name" => reference(at, Ref::RunName, Type::String),
            _ => {
                let near = nearest(name, ["id", "name"]);
                self.report(rules::types::unknown_field(
                    field,
                    name,
                    "`run`",
                    &["id", "name"],
                    near.as_ref(),
                ));
                unknown(at)
            }
        }
    }

    /// One operator.
    fn operation(
        &mut self,
        scope: &mut Scope<'t>,
        so_far: Span,
        typed: Typed,
        operation: &'t Operation<'t>,
    ) -> Typed {
        let at = scope.at(Span {
            start: so_far.start,
            end: end_of(operation),
        });
        match operation {
            Operation::Field { name, .. } => {
                let resolved = definition(&typed.kind, &self.program.types).clone();
                if may_be_null(&resolved, &self.program.types) {
                    let diagnostic =
                        self.maybe_null(scope, so_far, &format!("reading `{}`", name.text));
                    self.report(diagnostic);
                    return unknown(at);
                }
                self.field(scope, so_far, at, typed, name.text, name.span, false)
            }
            Operation::SafeField { name, span } => {
                let soft = matches!(typed.expr.kind, ExprKind::Ref(Ref::Task { soft: true, .. }));
                let resolved = definition(&typed.kind, &self.program.types).clone();
                if !soft && is_never_null(&resolved) && !self.is_narrowed(scope, so_far) {
                    let operator = Span {
                        start: span.start,
                        end: span.start + 2,
                    };
                    let text = so_far.of(self.text(scope.text)).to_owned();
                    self.report(rules::types::never_null(scope.at(operator), "?.", &text));
                }
                let inner = Typed {
                    kind: without_null(&resolved).clone(),
                    expr: typed.expr,
                };
                let read = self.field(scope, so_far, at, inner, name.text, name.span, true);
                Typed {
                    kind: nullable(&read.kind),
                    expr: read.expr,
                }
            }
            Operation::Index { index, .. } => self.index(scope, so_far, at, typed, index),
            Operation::Call { span, .. } => {
                self.report(rules::types::not_a_function(scope.at(*span)));
                unknown(at)
            }
            Operation::NotNull { span } => {
                let resolved = definition(&typed.kind, &self.program.types).clone();
                if is_never_null(&resolved) && !self.is_narrowed(scope, so_far) {
                    let text = so_far.of(self.text(scope.text)).to_owned();
                    self.report(rules::types::never_null(scope.at(*span), "!", &text));
                }
                Typed {
                    kind: without_null(&resolved).clone(),
                    expr: Expr {
                        kind: ExprKind::NotNull(Box::new(typed.expr)),
                        at,
                    },
                }
            }
            Operation::Optional { span } => {
                if typed.kind != Type::Unknown {
                    self.report(rules::types::misplaced_question_mark(scope.at(*span)));
                }
                unknown(at)
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the places of one field access belong together"
    )]
    fn field(
        &mut self,
        scope: &Scope<'t>,
        so_far: Span,
        at: Location,
        of: Typed,
        name: &str,
        name_span: Span,
        safe: bool,
    ) -> Typed {
        let place = scope.at(name_span);
        let resolved = definition(&of.kind, &self.program.types).clone();
        let text = so_far.of(self.text(scope.text)).to_owned();
        let kind = match &resolved {
            Type::Unknown | Type::Never => Type::Unknown,
            Type::Object(object) => match object.fields.iter().find(|field| &*field.name == name) {
                Some(field) => read(field),
                None => {
                    let names: Vec<&str> = object.fields.iter().map(|field| &*field.name).collect();
                    let near = nearest(name, names.iter().copied());
                    let subject = format!("`{text}`");
                    let diagnostic =
                        rules::types::unknown_field(place, name, &subject, &names, near.as_ref());
                    self.report(diagnostic);
                    Type::Unknown
                }
            },
            Type::Json => {
                self.report(rules::types::field_of_json(place, name, &text));
                Type::Unknown
            }
            Type::List(_) => {
                self.report(rules::types::field_of_list(place, name, &text, &of.kind));
                Type::Unknown
            }
            other => {
                self.report(rules::types::no_fields(place, name, &text, other));
                Type::Unknown
            }
        };
        Typed {
            expr: Expr {
                kind: ExprKind::Field {
                    of: Box::new(of.expr),
                    name: Arc::from(name),
                    safe,
                },
                at,
            },
            kind,
        }
    }

    fn index(
        &mut self,
        scope: &mut Scope<'t>,
        so_far: Span,
        at: Location,
        of: Typed,
        index: &'t Tree<'t>,
    ) -> Typed {
        let resolved = definition(&of.kind, &self.program.types).clone();
        let (kind, index) = match &resolved {
            Type::List(inner) => {
                let index = self.expect(scope, index, &Type::Int, "an index of a list");
                if let Some(value) = constant_element(&of.expr, &index) {
                    return constant(at, value, (**inner).clone());
                }
                // A test that reads an element expects it to be there.
                let kind = if scope.test {
                    (**inner).clone()
                } else {
                    nullable(inner)
                };
                (kind, index)
            }
            Type::Map(inner) => {
                let index = self.expect(scope, index, &Type::String, "a key of a map");
                (nullable(inner), index)
            }
            Type::Object(object) => {
                let index = self.expect(scope, index, &Type::String, "a key of an object");
                let kind = match &index.kind {
                    ExprKind::Const(Value::Text(key)) => match object.field(key) {
                        Some(field) => read(field),
                        None => {
                            let names: Vec<&str> =
                                object.fields.iter().map(|field| &*field.name).collect();
                            // The key stands in quotes, which a mend would remove.
                            let near = nearest(key, names.iter().copied());
                            let near = near.map(|near| Near {
                                only: false,
                                ..near
                            });
                            let subject = format!("`{}`", self.text_at(scope.at(so_far)));
                            let diagnostic = rules::types::unknown_field(
                                index.at,
                                key,
                                &subject,
                                &names,
                                near.as_ref(),
                            );
                            self.report(diagnostic);
                            Type::Unknown
                        }
                    },
                    _ => Type::Json,
                };
                (kind, index)
            }
            other => {
                let index = self.infer(scope, index).expr;
                let diagnostic = if may_be_null(other, &self.program.types) && *other != Type::Null
                {
                    Some(self.maybe_null(scope, so_far, "an index"))
                } else if matches!(other, Type::Unknown | Type::Never) {
                    None
                } else {
                    let place = scope.at(so_far);
                    Some(rules::types::no_index(place, self.text_at(place), other))
                };
                if let Some(diagnostic) = diagnostic {
                    self.report(diagnostic);
                }
                (Type::Unknown, index)
            }
        };
        Typed {
            expr: Expr {
                kind: ExprKind::Index {
                    of: Box::new(of.expr),
                    index: Box::new(index),
                },
                at,
            },
            kind,
        }
    }
}

/// The element of a constant list at a constant index, if it is there.
fn constant_element(of: &Expr, index: &Expr) -> Option<Value> {
    match (&of.kind, &index.kind) {
        (ExprKind::Const(Value::List(items)), ExprKind::Const(Value::Int(index))) => {
            items.get(usize::try_from(*index).ok()?).cloned()
        }
        _ => None,
    }
}

fn is_never_null(kind: &Type) -> bool {
    !matches!(
        kind,
        Type::Unknown | Type::Never | Type::Null | Type::Nullable(_) | Type::Json
    )
}

fn span_of(operation: &Operation<'_>) -> Span {
    match operation {
        Operation::Field { span, .. }
        | Operation::SafeField { span, .. }
        | Operation::Index { span, .. }
        | Operation::Call { span, .. }
        | Operation::NotNull { span }
        | Operation::Optional { span } => *span,
    }
}

fn start_of(operation: &Operation<'_>) -> u32 {
    span_of(operation).start
}

fn end_of(operation: &Operation<'_>) -> u32 {
    span_of(operation).end
}
