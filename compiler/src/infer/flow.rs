//! What a condition shows about the expressions in it.

use outpost_grammar::tree::{Expr, ExprKind, Operator, PostfixOperation, PrefixOperator};
use outpost_stdlib::Type;
use std::sync::Arc;

use crate::context::Context;
use crate::infer::scope::{Known, Scope};
use crate::infer::types::{definition, without_null};

impl<'t> Context<'t> {
    /// Adds what holds when the condition is, or is not, true.
    pub(crate) fn assume(&self, scope: &mut Scope<'t>, condition: &'t Expr<'t>, holds: bool) {
        match &condition.kind {
            ExprKind::Parens(inner) => self.assume(scope, inner, holds),
            ExprKind::Prefix(prefix) => {
                let not = |(operator, _): &(PrefixOperator, outpost_grammar::Span)| {
                    *operator == PrefixOperator::Not
                };
                let even = prefix.operators.len().is_multiple_of(2);
                if prefix.operators.iter().all(not) {
                    self.assume(scope, &prefix.operand, holds == even);
                }
            }
            ExprKind::Chain(chain) => {
                let (operator, _, second) = match chain.rest.first() {
                    Some(first) => first,
                    None => return,
                };
                match operator {
                    Operator::And | Operator::Or if holds == (*operator == Operator::And) => {
                        self.assume(scope, &chain.first, holds);
                        for (_, _, operand) in &chain.rest {
                            self.assume(scope, operand, holds);
                        }
                    }
                    Operator::Equal | Operator::NotEqual if chain.rest.len() == 1 => {
                        let equal = holds == (*operator == Operator::Equal);
                        self.assume_equal(scope, &chain.first, second, equal);
                        self.assume_equal(scope, second, &chain.first, equal);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn assume_equal(
        &self,
        scope: &mut Scope<'t>,
        subject: &'t Expr<'t>,
        value: &'t Expr<'t>,
        equal: bool,
    ) {
        let subject = bare(subject);
        if !is_path(subject) {
            return;
        }
        let known = match (&bare(value).kind, equal) {
            (ExprKind::Null, true) => Known::Null,
            (ExprKind::Null, false) => Known::NotNull,
            (ExprKind::Text(text), true) => Known::Is(Type::Literal(Arc::from(&**text))),
            (ExprKind::Text(text), false) => Known::IsNot(Arc::from(&**text)),
            (ExprKind::Bool(_) | ExprKind::Number(_), true) => Known::NotNull,
            _ => return,
        };
        self.learn(scope, subject, known);
    }

    /// Remembers something about an expression; `a?.b` that is not null shows that `a` is not null either.
    pub(crate) fn learn(&self, scope: &mut Scope<'t>, subject: &'t Expr<'t>, known: Known) {
        let text = subject.span.of(self.text(scope.text));
        if let ExprKind::Postfix(postfix) = &subject.kind
            && matches!(known, Known::NotNull | Known::Is(_))
        {
            for operation in &postfix.operations {
                if let PostfixOperation::SafeField { span, .. } = operation {
                    let end = (span.start - subject.span.start) as usize;
                    scope.facts.push((&text[..end], Known::NotNull));
                }
            }
        }
        scope.facts.push((text, known));
    }

    /// Whether a condition has shown something about an expression: a check for null beside it is harmless.
    pub(crate) fn is_narrowed(&self, scope: &Scope<'t>, span: outpost_grammar::Span) -> bool {
        let text = span.of(self.text(scope.text));
        scope.facts.iter().any(|(path, _)| *path == text)
    }

    /// The type of an expression, given its text, after what is known of it.
    pub(crate) fn narrowed(&self, scope: &Scope<'t>, text: &str, kind: Type) -> Type {
        if scope.facts.is_empty() {
            return kind;
        }
        let mut kind = kind;
        for (_, known) in scope.facts.iter().filter(|(path, _)| *path == text) {
            let resolved = definition(&kind, &self.program.types);
            kind = match known {
                Known::NotNull => match resolved {
                    Type::Nullable(inner) => (**inner).clone(),
                    Type::Null => Type::Never,
                    _ => kind,
                },
                Known::Null => match resolved {
                    Type::Nullable(_) => Type::Null,
                    _ => kind,
                },
                Known::Is(Type::Literal(text)) => match without_null(resolved) {
                    Type::Union(_) => Type::Literal(text.clone()),
                    other => other.clone(),
                },
                Known::Is(narrow) => narrow.clone(),
                Known::IsNot(text) => without_literal(&kind, resolved, text),
            };
        }
        kind
    }
}

/// A union without one of its texts.
fn without_literal(kind: &Type, resolved: &Type, text: &str) -> Type {
    let Type::Union(members) = without_null(resolved) else {
        return kind.clone();
    };
    let rest: Vec<Type> = members
        .iter()
        .filter(|member| !matches!(member, Type::Literal(literal) if **literal == *text))
        .cloned()
        .collect();
    let narrowed = match rest.len() {
        0 => Type::Never,
        1 => rest[0].clone(),
        _ => Type::Union(rest.into()),
    };
    match resolved {
        Type::Nullable(_) => Type::Nullable(Arc::new(narrowed)),
        _ => narrowed,
    }
}

/// Without parentheses.
pub(crate) fn bare<'e, 't>(expr: &'e Expr<'t>) -> &'e Expr<'t> {
    let mut expr = expr;
    while let ExprKind::Parens(inner) = &expr.kind {
        expr = inner;
    }
    expr
}

/// Whether the text of the expression stands for one value wherever its names mean the same.
fn is_path(expr: &Expr<'_>) -> bool {
    match &expr.kind {
        ExprKind::Name(_) => true,
        ExprKind::Postfix(postfix) => !matches!(
            postfix.operations.last(),
            Some(PostfixOperation::NotNull { .. }) | None
        ),
        _ => false,
    }
}
