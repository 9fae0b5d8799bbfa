//! Expressions: names to ids, types inferred and checked, in one walk.
//!
//! A wanted type goes down, the inferred one comes up; what is broken is `Unknown` and stays silent.

pub(crate) mod calls;
pub(crate) mod flow;
pub(crate) mod fold;
pub(crate) mod literals;
pub(crate) mod matching;
pub(crate) mod names;
pub(crate) mod operators;
pub(crate) mod postfix;
pub(crate) mod scope;
pub(crate) mod typeexpr;
pub(crate) mod types;

use outpost_grammar::tree::{self, ExprKind as Tree};
use outpost_grammar::{Location, Span};
use outpost_stdlib::{Type, Value};

use crate::context::Context;
use crate::infer::scope::Scope;
use crate::infer::types::{fits, join, may_be_null, without_null};
use crate::program::{Expr, ExprKind};
use crate::rules;

/// An expression and its type.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    /// The expression.
    pub expr: Expr,
    /// Its type.
    pub kind: Type,
}

/// A type that is wanted, and by what, in words: "`command`", "argument `count` of `tail`".
#[derive(Clone, Copy)]
pub(crate) struct Want<'a> {
    /// The type.
    pub kind: &'a Type,
    /// Who wants it.
    pub by: &'a str,
}

impl<'t> Context<'t> {
    /// An expression that must be of a type; reports at the smallest part that is not.
    pub(crate) fn expect(
        &mut self,
        scope: &mut Scope<'t>,
        expr: &'t tree::Expr<'t>,
        kind: &Type,
        by: &str,
    ) -> Expr {
        self.lower(scope, expr, Some(Want { kind, by })).expr
    }

    /// An expression of any type.
    pub(crate) fn infer(&mut self, scope: &mut Scope<'t>, expr: &'t tree::Expr<'t>) -> Typed {
        self.lower(scope, expr, None)
    }

    /// An expression, checked against what is wanted.
    pub(crate) fn lower(
        &mut self,
        scope: &mut Scope<'t>,
        expr: &'t tree::Expr<'t>,
        want: Option<Want<'_>>,
    ) -> Typed {
        let at = scope.at(expr.span);
        let typed = match &expr.kind {
            Tree::Broken => return unknown(at),
            Tree::Null => constant(at, Value::Null, Type::Null),
            Tree::Bool(value) => constant(at, Value::Bool(*value), Type::Bool),
            Tree::Number(number) => {
                let (value, kind) = literals::number(&number.value);
                constant(at, value, kind)
            }
            Tree::Text(text) => self.text_literal(at, text, want),
            Tree::Template(parts) => self.interpolation(scope, expr.span, parts),
            Tree::Name(name) => self.name(scope, expr.span, name),
            Tree::Parens(inner) => return self.lower(scope, inner, want),
            Tree::List(elements) => return self.list(scope, expr.span, elements, want),
            Tree::Object(members) => return self.object(scope, expr.span, members, want),
            Tree::Comprehension(inner) => return self.comprehension(scope, expr.span, inner, want),
            Tree::If(inner) => return self.choice(scope, expr.span, inner, want),
            Tree::Match(inner) => return self.matching(scope, expr.span, inner, want),
            Tree::Chain(chain) => self.chain(scope, expr.span, chain, want),
            Tree::Prefix(prefix) => self.prefix(scope, expr.span, prefix),
            Tree::Postfix(postfix) => self.postfix(scope, expr.span, postfix),
            Tree::Generic(_) => {
                self.report(rules::types::type_as_value(at, self.text_at(at)));
                return unknown(at);
            }
        };
        self.check_fit(scope, expr, typed, want)
    }

    /// Compares what there is with what is wanted.
    pub(crate) fn check_fit(
        &mut self,
        scope: &mut Scope<'t>,
        expr: &tree::Expr<'t>,
        typed: Typed,
        want: Option<Want<'_>>,
    ) -> Typed {
        let Some(want) = want else {
            return typed;
        };
        let types = &self.program.types;
        if fits(&typed.kind, want.kind, types) {
            return typed;
        }
        let at = scope.at(expr.span);
        let resolved = types::definition(&typed.kind, types);
        let null = may_be_null(resolved, types) && *resolved != Type::Null;
        let diagnostic = if null && fits(without_null(resolved), want.kind, types) {
            self.maybe_null(scope, expr.span, want.by)
        } else {
            rules::types::wrong_type(at, want.by, want.kind, &typed.kind, self.text_at(at))
        };
        self.report(diagnostic);
        Typed {
            expr: typed.expr,
            kind: Type::Unknown,
        }
    }

    /// What is said about a value that may be null where none may be.
    pub(crate) fn maybe_null(
        &self,
        scope: &Scope<'t>,
        span: Span,
        by: &str,
    ) -> outpost_grammar::Diagnostic {
        let at = scope.at(span);
        rules::types::maybe_null(at, self.text_at(at), by)
    }

    /// A condition.
    pub(crate) fn condition(
        &mut self,
        scope: &mut Scope<'t>,
        expr: &'t tree::Expr<'t>,
        by: &str,
    ) -> Expr {
        self.expect(scope, expr, &Type::Bool, by)
    }

    fn choice(
        &mut self,
        scope: &mut Scope<'t>,
        span: Span,
        choice: &'t tree::If<'t>,
        want: Option<Want<'_>>,
    ) -> Typed {
        let facts = scope.facts.len();
        let mut arms = Vec::with_capacity(choice.arms.len());
        let mut kind = Type::Never;
        for (condition, value) in &choice.arms {
            let test = self.condition(scope, condition, "a condition");
            let before = scope.facts.len();
            self.assume(scope, condition, true);
            let value = self.arm(scope, value, want, &mut kind);
            scope.facts.truncate(before);
            self.assume(scope, condition, false);
            arms.push((test, value));
        }
        let otherwise = self.arm(scope, &choice.otherwise, want, &mut kind);
        scope.facts.truncate(facts);
        Typed {
            expr: Expr {
                kind: ExprKind::If {
                    arms: arms.into(),
                    otherwise: Box::new(otherwise),
                },
                at: scope.at(span),
            },
            kind,
        }
    }

    /// One of several values for the same place: their types are joined.
    pub(crate) fn arm(
        &mut self,
        scope: &mut Scope<'t>,
        expr: &'t tree::Expr<'t>,
        want: Option<Want<'_>>,
        joined: &mut Type,
    ) -> Expr {
        let typed = self.lower(scope, expr, want);
        match join(joined, &typed.kind, &self.program.types) {
            Some(kind) => *joined = kind,
            None => {
                let at = scope.at(expr.span);
                self.report(rules::types::different_types(at, joined, &typed.kind));
                *joined = Type::Unknown;
            }
        }
        typed.expr
    }
}

/// A constant.
pub(crate) fn constant(at: Location, value: Value, kind: Type) -> Typed {
    Typed {
        expr: Expr {
            kind: ExprKind::Const(value),
            at,
        },
        kind,
    }
}

/// Something that was reported: agrees with everything.
pub(crate) fn unknown(at: Location) -> Typed {
    constant(at, Value::Null, Type::Unknown)
}
