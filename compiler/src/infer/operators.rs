//! Infix and prefix operators.

use outpost_grammar::tree::{
    Chain, Expr as Tree, ExprKind as Kind, NumberValue, Operator, Prefix, PrefixOperator,
};
use outpost_grammar::{Location, Span};
use outpost_stdlib::Type;

use crate::context::Context;
use crate::infer::flow::bare;
use crate::infer::fold;
use crate::infer::literals::{beside, is_literal, texts_of};
use crate::infer::scope::Scope;
use crate::infer::types::{comparable, definition, join, may_be_null, nullable, without_null};
use crate::infer::{Typed, Want, unknown};
use crate::program::{BinaryOperator, Expr, ExprKind, Ref};
use crate::rules;

/// An operator as written.
pub(crate) fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Union => "|",
        Operator::Coalesce => "??",
        Operator::Or => "||",
        Operator::And => "&&",
        Operator::Equal => "==",
        Operator::NotEqual => "!=",
        Operator::Less => "<",
        Operator::LessEqual => "<=",
        Operator::Greater => ">",
        Operator::GreaterEqual => ">=",
        Operator::In => "in",
        Operator::As => "as",
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::Remainder => "%",
    }
}

fn compares(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Equal
            | Operator::NotEqual
            | Operator::Less
            | Operator::LessEqual
            | Operator::Greater
            | Operator::GreaterEqual
            | Operator::In
    )
}

impl<'t> Context<'t> {
    /// A flat chain of operators.
    pub(crate) fn chain(
        &mut self,
        scope: &mut Scope<'t>,
        span: Span,
        chain: &'t Chain<'t>,
        want: Option<Want<'_>>,
    ) -> Typed {
        let at = scope.at(span);
        let Some((operator, _, _)) = chain.rest.first() else {
            return self.lower(scope, &chain.first, want);
        };
        match operator {
            Operator::Union => {
                self.report(rules::types::type_as_value(at, self.text_at(at)));
                unknown(at)
            }
            Operator::Coalesce => self.coalesce(scope, at, chain, want),
            Operator::And | Operator::Or => self.logic(scope, at, chain),
            operator if compares(*operator) => {
                // A second comparison was reported by the grammar.
                if chain
                    .rest
                    .iter()
                    .filter(|(other, _, _)| compares(*other))
                    .count()
                    > 1
                {
                    self.mute();
                    self.touch_chain(scope, chain);
                    self.unmute();
                    return unknown(at);
                }
                if self.chained_comparison(scope, chain) {
                    self.mute();
                    self.touch_chain(scope, chain);
                    self.unmute();
                    return unknown(at);
                }
                self.arithmetic(scope, at, chain)
            }
            _ => self.arithmetic(scope, at, chain),
        }
    }

    /// Reports a comparison whose side is another one without parentheses, such as `a < b == c`.
    fn chained_comparison(&mut self, scope: &Scope<'t>, chain: &'t Chain<'t>) -> bool {
        let own = chain
            .rest
            .iter()
            .find(|(operator, _, _)| compares(*operator));
        let sides = std::iter::once(&chain.first).chain(chain.rest.iter().map(|rest| &rest.2));
        let inner = sides.filter_map(|side| match &side.kind {
            Kind::Chain(inner) => {
                let found = inner
                    .rest
                    .iter()
                    .find(|(operator, _, _)| compares(*operator));
                found.map(|(_, span, _)| (side.span, *span))
            }
            _ => None,
        });
        let (Some((_, own, _)), Some((side, other))) = (own, inner.min_by_key(|(_, at)| at.start))
        else {
            return false;
        };
        let (first, second) = if own.start < other.start {
            (*own, other)
        } else {
            (other, *own)
        };
        let (first, second, side) = (scope.at(first), scope.at(second), scope.at(side));
        let operator = self.text_at(second);
        let diagnostic =
            rules::types::comparisons_chain(second, operator, first, self.text_at(side));
        self.report(diagnostic);
        true
    }

    fn touch_chain(&mut self, scope: &mut Scope<'t>, chain: &'t Chain<'t>) {
        self.infer(scope, &chain.first);
        for (operator, _, operand) in &chain.rest {
            if *operator != Operator::As {
                self.infer(scope, operand);
            }
        }
    }

    /// `a ?? b ?? c`.
    fn coalesce(
        &mut self,
        scope: &mut Scope<'t>,
        at: Location,
        chain: &'t Chain<'t>,
        want: Option<Want<'_>>,
    ) -> Typed {
        // Mixing without parentheses was reported by the grammar.
        let mut operands =
            std::iter::once(&chain.first).chain(chain.rest.iter().map(|rest| &rest.2));
        if operands.any(mixes) {
            self.mute();
            self.touch_chain(scope, chain);
            self.unmute();
            return unknown(at);
        }
        let wanted = want.map(|want| nullable(want.kind));
        let left_want = wanted
            .as_ref()
            .zip(want)
            .map(|(kind, want)| Want { kind, by: want.by });
        let first = self.lower(scope, &chain.first, left_want);
        let mut kind = first.kind.clone();
        let mut soft = is_soft(&first.expr);
        let mut left: &Tree<'t> = &chain.first;
        let mut rest = Vec::with_capacity(chain.rest.len());
        for (index, (_, operator, operand)) in chain.rest.iter().enumerate() {
            let resolved = definition(&kind, &self.program.types).clone();
            if !soft
                && !self.is_narrowed(scope, left.span)
                && !may_be_null(&resolved, &self.program.types)
                && !matches!(resolved, Type::Unknown | Type::Never | Type::Json)
            {
                let text = self.text_at(scope.at(left.span));
                self.report(rules::types::never_null(scope.at(*operator), "??", text));
            }
            let last = index + 1 == chain.rest.len();
            let typed = self.lower(scope, operand, if last { want } else { left_want });
            let right = beside(operand, typed.kind, &kind, self);
            kind = match join(without_null(&resolved), &right, &self.program.types) {
                Some(joined) => joined,
                None => {
                    let place = scope.at(*operator);
                    self.report(rules::types::different_types(
                        place,
                        without_null(&resolved),
                        &right,
                    ));
                    Type::Unknown
                }
            };
            soft = is_soft(&typed.expr);
            left = operand;
            rest.push((BinaryOperator::Coalesce, typed.expr));
        }
        self.binary(at, first.expr, rest, kind)
    }

    /// `a && b && c`, `a || b`.
    fn logic(&mut self, scope: &mut Scope<'t>, at: Location, chain: &'t Chain<'t>) -> Typed {
        let facts = scope.facts.len();
        let by = |operator| {
            if operator == Operator::And {
                "`&&`"
            } else {
                "`||`"
            }
        };
        let (operator, _, _) = chain.rest[0];
        let first = self.condition(scope, &chain.first, by(operator));
        let mut before = &chain.first;
        let mut rest = Vec::with_capacity(chain.rest.len());
        for (operator, _, operand) in &chain.rest {
            self.assume(scope, before, *operator == Operator::And);
            let lowered = self.condition(scope, operand, by(*operator));
            let binary = match operator {
                Operator::And => BinaryOperator::And,
                _ => BinaryOperator::Or,
            };
            rest.push((binary, lowered));
            before = operand;
        }
        scope.facts.truncate(facts);
        self.binary(at, first, rest, Type::Bool)
    }

    /// Comparisons, `in`, `as`, and arithmetic, from the left.
    fn arithmetic(&mut self, scope: &mut Scope<'t>, at: Location, chain: &'t Chain<'t>) -> Typed {
        let mut left_tree = &chain.first;
        let mut left = self.infer(scope, &chain.first);
        for (operator, operator_span, operand) in &chain.rest {
            let span = chain.first.span.to(operand.span);
            let whole = scope.at(span);
            if *operator == Operator::As {
                let kind = self.type_of(scope.source, operand, false);
                left = Typed {
                    expr: Expr {
                        kind: ExprKind::As(Box::new(left.expr), Box::new(kind.clone())),
                        at: whole,
                    },
                    kind,
                };
                continue;
            }
            let right = self.infer(scope, operand);
            let sides = Sides {
                operator: *operator,
                at: scope.at(*operator_span),
                left: left_tree,
                right: operand,
            };
            let (binary, kind) = self.pair(scope, &sides, &left.kind, &right.kind);
            left = self.binary_step(whole, left.expr, binary, right.expr, kind);
            left_tree = operand;
        }
        left.expr.at = at;
        left
    }

    /// The type of one operation.
    fn pair(
        &mut self,
        scope: &mut Scope<'t>,
        sides: &Sides<'t>,
        left: &Type,
        right: &Type,
    ) -> (BinaryOperator, Type) {
        let operator = sides.operator;
        if matches!(operator, Operator::Equal | Operator::NotEqual) {
            let binary = if operator == Operator::Equal {
                BinaryOperator::Equal
            } else {
                BinaryOperator::NotEqual
            };
            self.equality(scope, sides, left, right);
            return (binary, Type::Bool);
        }
        if operator == Operator::In {
            self.membership(scope, sides, left, right);
            return (BinaryOperator::In, Type::Bool);
        }
        let mut null = false;
        for (tree, kind) in [(sides.left, left), (sides.right, right)] {
            if may_be_null(kind, &self.program.types) {
                let diagnostic =
                    self.maybe_null(scope, tree.span, &format!("`{}`", symbol(operator)));
                self.report(diagnostic);
                null = true;
            }
        }
        let binary = plain_operator(operator);
        if null {
            return (binary, Type::Unknown);
        }
        if let (Some((first, first_at)), Some((second, second_at))) =
            (currency(sides.left), currency(sides.right))
            && first != second
        {
            let diagnostic = rules::budgets::mixed_currencies(
                scope.at(second_at),
                second,
                first,
                scope.at(first_at),
            );
            self.report(diagnostic);
            return (binary, Type::Unknown);
        }
        let left = scalar_of(definition(left, &self.program.types));
        let right = scalar_of(definition(right, &self.program.types));
        if matches!(left, Type::Unknown | Type::Never)
            || matches!(right, Type::Unknown | Type::Never)
        {
            let known = matches!(
                operator,
                Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual
            );
            let concat =
                operator == Operator::Add && (left == Type::String || right == Type::String);
            let binary = if concat {
                BinaryOperator::Concat
            } else {
                binary
            };
            return (binary, if known { Type::Bool } else { Type::Unknown });
        }
        match result_of(operator, &left, &right) {
            Some(Type::String) if operator == Operator::Add => {
                (BinaryOperator::Concat, Type::String)
            }
            Some(kind) => (binary, kind),
            None => {
                self.report(rules::types::operands(
                    sides.at,
                    symbol(operator),
                    &left,
                    &right,
                ));
                (binary, Type::Unknown)
            }
        }
    }

    fn equality(&mut self, scope: &Scope<'t>, sides: &Sides<'t>, left: &Type, right: &Type) {
        if self.foreign_literal(scope, sides.left, right)
            || self.foreign_literal(scope, sides.right, left)
        {
            return;
        }
        let null = |kind: &Type| *definition(kind, &self.program.types) == Type::Null;
        let compared_with_null = null(left) || null(right);
        if !compared_with_null && !comparable(left, right, &self.program.types) {
            self.report(rules::types::operands(
                sides.at,
                symbol(sides.operator),
                left,
                right,
            ));
        }
    }

    /// A literal compared with a union that it is no member of.
    fn foreign_literal(&mut self, scope: &Scope<'t>, literal: &Tree<'t>, other: &Type) -> bool {
        let Kind::Text(text) = &bare(literal).kind else {
            return false;
        };
        let resolved = without_null(definition(other, &self.program.types)).clone();
        let Some(texts) = texts_of(&resolved) else {
            return false;
        };
        let member = match &resolved {
            Type::Union(members) => members.iter().any(|member| is_literal(member, text)),
            other => is_literal(other, text),
        };
        if !member {
            let diagnostic = rules::types::not_a_member(scope.at(literal.span), text, &texts);
            self.report(diagnostic);
        }
        !member
    }

    fn membership(&mut self, scope: &Scope<'t>, sides: &Sides<'t>, left: &Type, right: &Type) {
        let resolved = definition(right, &self.program.types).clone();
        match &resolved {
            Type::Unknown | Type::Never => {}
            Type::List(inner) => {
                if !self.foreign_literal(scope, sides.left, inner)
                    && !comparable(left, inner, &self.program.types)
                {
                    self.report(rules::types::operands(sides.at, "in", left, right));
                }
            }
            Type::Map(_) | Type::Object(_) => {
                if !comparable(left, &Type::String, &self.program.types) {
                    self.report(rules::types::operands(sides.at, "in", left, right));
                }
            }
            Type::Nullable(_) => {
                let diagnostic = self.maybe_null(scope, sides.right.span, "`in`");
                self.report(diagnostic);
            }
            _ => self.report(rules::types::operands(sides.at, "in", left, right)),
        }
    }

    /// Prefix operators, from the inside.
    pub(crate) fn prefix(
        &mut self,
        scope: &mut Scope<'t>,
        span: Span,
        prefix: &'t Prefix<'t>,
    ) -> Typed {
        let mut typed = self.infer(scope, &prefix.operand);
        for (operator, operator_span) in prefix.operators.iter().rev() {
            let at = scope.at(Span {
                start: operator_span.start,
                end: span.end,
            });
            let resolved = definition(&typed.kind, &self.program.types).clone();
            let (symbol, wanted) = match operator {
                PrefixOperator::Not => ("`!`", &[Type::Bool][..]),
                PrefixOperator::Negate => ("`-`", &[Type::Int, Type::Number, Type::Duration][..]),
            };
            let kind =
                if matches!(resolved, Type::Unknown | Type::Never) || wanted.contains(&resolved) {
                    resolved
                } else {
                    let place = scope.at(prefix.operand.span);
                    let diagnostic = if may_be_null(&resolved, &self.program.types) {
                        self.maybe_null(scope, prefix.operand.span, symbol)
                    } else {
                        rules::types::wrong_type(
                            place,
                            symbol,
                            &wanted[0],
                            &typed.kind,
                            self.text_at(place),
                        )
                    };
                    self.report(diagnostic);
                    Type::Unknown
                };
            let inner = Box::new(typed.expr);
            let lowered = match operator {
                PrefixOperator::Not => ExprKind::Not(inner),
                PrefixOperator::Negate => ExprKind::Negate(inner),
            };
            typed = self.fold(Expr { kind: lowered, at }, kind);
        }
        typed
    }

    fn binary(
        &mut self,
        at: Location,
        first: Expr,
        rest: Vec<(BinaryOperator, Expr)>,
        kind: Type,
    ) -> Typed {
        let expr = Expr {
            kind: ExprKind::Chain {
                first: Box::new(first),
                rest: rest.into(),
            },
            at,
        };
        self.fold(expr, kind)
    }

    /// Adds one operation to a chain, which stays flat.
    fn binary_step(
        &mut self,
        at: Location,
        left: Expr,
        operator: BinaryOperator,
        right: Expr,
        kind: Type,
    ) -> Typed {
        match left {
            Expr {
                kind: ExprKind::Chain { first, rest },
                at: old,
            } if old.span.start == at.span.start
                && rest.iter().all(|(other, _)| same_level(*other, operator)) =>
            {
                let mut rest = rest.into_vec();
                rest.push((operator, right));
                Typed {
                    expr: Expr {
                        kind: ExprKind::Chain {
                            first,
                            rest: rest.into(),
                        },
                        at,
                    },
                    kind,
                }
            }
            left => self.binary(at, left, vec![(operator, right)], kind),
        }
    }

    /// Computes what is constant; a constant that cannot be computed is reported.
    fn fold(&mut self, expr: Expr, kind: Type) -> Typed {
        if kind == Type::Unknown {
            return Typed { expr, kind };
        }
        match fold::fold(expr, &self.program) {
            Ok(expr) => Typed { expr, kind },
            Err((at, reason)) => {
                self.report(rules::types::constant_fails(at, &reason));
                unknown(at)
            }
        }
    }
}

/// Whether an operand of `??` needs parentheses.
fn mixes(operand: &Tree<'_>) -> bool {
    match &operand.kind {
        Kind::Chain(inner) => inner.rest.iter().any(|(operator, _, _)| {
            compares(*operator) || matches!(operator, Operator::And | Operator::Or)
        }),
        _ => false,
    }
}

/// The currency of a literal amount, and its place.
fn currency<'t>(expr: &Tree<'t>) -> Option<(&'t str, Span)> {
    match &bare(expr).kind {
        Kind::Number(number) => match number.value {
            NumberValue::Money { currency, .. } => Some((currency, expr.span)),
            _ => None,
        },
        _ => None,
    }
}

/// One operation.
struct Sides<'t> {
    operator: Operator,
    at: Location,
    left: &'t Tree<'t>,
    right: &'t Tree<'t>,
}

fn same_level(a: BinaryOperator, b: BinaryOperator) -> bool {
    use BinaryOperator::{Add, Concat, Divide, Multiply, Remainder, Subtract};
    match a {
        Add | Subtract | Concat => matches!(b, Add | Subtract | Concat),
        Multiply | Divide | Remainder => matches!(b, Multiply | Divide | Remainder),
        _ => false,
    }
}

fn is_soft(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Ref(Ref::Task { soft: true, .. }))
}

fn plain_operator(operator: Operator) -> BinaryOperator {
    match operator {
        Operator::Union | Operator::Coalesce | Operator::As => BinaryOperator::Coalesce,
        Operator::Or => BinaryOperator::Or,
        Operator::And => BinaryOperator::And,
        Operator::Equal => BinaryOperator::Equal,
        Operator::NotEqual => BinaryOperator::NotEqual,
        Operator::Less => BinaryOperator::Less,
        Operator::LessEqual => BinaryOperator::LessEqual,
        Operator::Greater => BinaryOperator::Greater,
        Operator::GreaterEqual => BinaryOperator::GreaterEqual,
        Operator::In => BinaryOperator::In,
        Operator::Add => BinaryOperator::Add,
        Operator::Subtract => BinaryOperator::Subtract,
        Operator::Multiply => BinaryOperator::Multiply,
        Operator::Divide => BinaryOperator::Divide,
        Operator::Remainder => BinaryOperator::Remainder,
    }
}

/// Literal texts compute like texts.
fn scalar_of(kind: &Type) -> Type {
    match kind {
        Type::Literal(_) => Type::String,
        Type::Union(members)
            if members
                .iter()
                .all(|member| matches!(member, Type::Literal(_))) =>
        {
            Type::String
        }
        other => other.clone(),
    }
}

/// The type of an operation on two types, if there is one.
fn result_of(operator: Operator, left: &Type, right: &Type) -> Option<Type> {
    use Type::{Bool, Duration, Int, Money, Number, Size, String};
    let numbers = |left: &Type, right: &Type| match (left, right) {
        (Int, Int) => Some(Int),
        (Int | Number, Int | Number) => Some(Number),
        _ => None,
    };
    match operator {
        Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual => {
            match (left, right) {
                (String, String) | (Duration, Duration) | (Size, Size) | (Money, Money) => {
                    Some(Bool)
                }
                _ => numbers(left, right).map(|_| Bool),
            }
        }
        Operator::Add => match (left, right) {
            (String, String) => Some(String),
            (Duration, Duration) | (Size, Size) | (Money, Money) => Some(left.clone()),
            _ => numbers(left, right),
        },
        Operator::Subtract => match (left, right) {
            (Duration, Duration) | (Size, Size) | (Money, Money) => Some(left.clone()),
            _ => numbers(left, right),
        },
        Operator::Multiply => match (left, right) {
            (Duration | Size, Int) => Some(left.clone()),
            (Int, Duration | Size) => Some(right.clone()),
            _ => numbers(left, right),
        },
        Operator::Divide => match (left, right) {
            (Duration, Duration) | (Size, Size) => Some(Number),
            _ => numbers(left, right).map(|_| Number),
        },
        Operator::Remainder => match (left, right) {
            (Duration, Duration) | (Size, Size) => Some(left.clone()),
            _ => numbers(left, right),
        },
        Operator::Union
        | Operator::Coalesce
        | Operator::Or
        | Operator::And
        | Operator::Equal
        | Operator::NotEqual
        | Operator::In
        | Operator::As => None,
    }
}
