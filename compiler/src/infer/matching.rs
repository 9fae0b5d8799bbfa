//! `match`: patterns, narrowing, and whether every case is there.

use outpost_grammar::tree::{
    Arm, Expr as Tree, ExprKind as Kind, Match, NumberValue, Operator, PrefixOperator,
};
use outpost_grammar::{Location, Span};
use outpost_stdlib::{Type, Value};
use std::sync::Arc;

use crate::context::Context;
use crate::infer::flow::bare;
use crate::infer::literals::{is_literal, number, texts_of};
use crate::infer::scope::{Known, Scope};
use crate::infer::types::{comparable, definition, fits, may_be_null, without_null};
use crate::infer::{Typed, Want};
use crate::program::{Expr, ExprKind, Pattern};
use crate::rules;

/// What a pattern means.
struct Meant {
    pattern: Pattern,
    /// What is known of the subject in its arm.
    known: Option<Known>,
}

impl<'t> Context<'t> {
    /// `match subject { pattern => value, … }`.
    pub(crate) fn matching(
        &mut self,
        scope: &mut Scope<'t>,
        span: Span,
        matching: &'t Match<'t>,
        want: Option<Want<'_>>,
    ) -> Typed {
        let subject = self.infer(scope, &matching.subject);
        let subject_tree = bare(&matching.subject);
        let mut rest = Rest::of(&subject.kind, self);
        let mut kind = Type::Never;
        let mut arms = Vec::with_capacity(matching.arms.len());
        let mut complete_at: Option<Location> = None;
        for arm in &matching.arms {
            let at = scope.at(arm.span);
            if let Some(before) = complete_at {
                self.report(rules::types::unreachable_arm(at, before));
            }
            let left = rest.known();
            let meant = self.pattern(scope, arm, &subject.kind, &mut rest);
            let facts = scope.facts.len();
            let known = match arm.pattern {
                Some(_) => meant.known,
                None => left,
            };
            if let Some(known) = known {
                self.learn(scope, subject_tree, known);
            }
            let value = self.arm(scope, &arm.value, want, &mut kind);
            scope.facts.truncate(facts);
            arms.push((meant.pattern, value));
            if complete_at.is_none() && rest.is_nothing() && subject.kind != Type::Unknown {
                complete_at = Some(at);
            }
        }
        if !rest.is_nothing() && subject.kind != Type::Unknown {
            let missing = rest.describe();
            self.report(rules::types::match_incomplete(
                scope.at(matching.keyword),
                &missing,
            ));
        }
        Typed {
            expr: Expr {
                kind: ExprKind::Match {
                    subject: Box::new(subject.expr),
                    arms: arms.into(),
                },
                at: scope.at(span),
            },
            kind,
        }
    }

    fn pattern(
        &mut self,
        scope: &mut Scope<'t>,
        arm: &'t Arm<'t>,
        subject: &Type,
        rest: &mut Rest,
    ) -> Meant {
        let Some(pattern) = &arm.pattern else {
            rest.clear();
            return Meant {
                pattern: Pattern::Any,
                known: None,
            };
        };
        let mut constants = Vec::new();
        let mut types = Vec::new();
        let mut known = Vec::new();
        for alternative in alternatives(pattern) {
            match self.constant_pattern(scope, alternative, subject, rest) {
                Some((value, kind)) => {
                    constants.push(value);
                    known.push(kind);
                }
                None if matches!(bare(alternative).kind, Kind::Broken) => rest.clear(),
                None => {
                    let kind = self.type_of(scope.source, alternative, false);
                    rest.remove_type(&kind, self);
                    known.push(kind.clone());
                    types.push(kind);
                }
            }
        }
        let known = match known.as_slice() {
            [Type::Null] => Some(Known::Null),
            [only] => Some(Known::Is(only.clone())),
            several
                if !several.is_empty()
                    && several.iter().all(|kind| matches!(kind, Type::Literal(_))) =>
            {
                Some(Known::Is(Type::Union(several.to_vec().into())))
            }
            _ => None,
        };
        if !types.is_empty() && !constants.is_empty() {
            types.extend(constants.iter().map(type_of_value));
            constants.clear();
        }
        Meant {
            pattern: if types.is_empty() {
                Pattern::Constants(constants)
            } else {
                Pattern::Types(types)
            },
            known,
        }
    }

    /// A literal as a pattern, and the type that it narrows to.
    fn constant_pattern(
        &mut self,
        scope: &Scope<'t>,
        pattern: &'t Tree<'t>,
        subject: &Type,
        rest: &mut Rest,
    ) -> Option<(Value, Type)> {
        let at = scope.at(pattern.span);
        let resolved = definition(subject, &self.program.types).clone();
        let inner = without_null(&resolved).clone();
        let (value, kind) = match &bare(pattern).kind {
            Kind::Null => {
                if !may_be_null(&resolved, &self.program.types)
                    && !matches!(resolved, Type::Unknown | Type::Json)
                {
                    self.report(rules::types::pattern_never_fits(at, "null", subject));
                }
                rest.null = false;
                return Some((Value::Null, Type::Null));
            }
            Kind::Text(text) => {
                if let Some(texts) = texts_of(&inner)
                    && !texts.contains(&&**text)
                {
                    let diagnostic = rules::types::not_a_member(at, text, &texts);
                    self.report(diagnostic);
                    return Some((Value::Text(Arc::from(&**text)), Type::Unknown));
                }
                let kind = match inner {
                    Type::Union(_) | Type::Literal(_) => Type::Literal(Arc::from(&**text)),
                    _ => Type::String,
                };
                if !rest.remove_literal(text) && matches!(inner, Type::Union(_) | Type::Literal(_))
                {
                    self.report(rules::types::repeated_pattern(at, &format!("\"{text}\"")));
                }
                (Value::Text(Arc::from(&**text)), kind)
            }
            Kind::Bool(value) => {
                rest.remove_bool(*value);
                (Value::Bool(*value), Type::Bool)
            }
            Kind::Number(literal) => number(&literal.value),
            Kind::Prefix(prefix) => match (&prefix.operators[..], &prefix.operand.kind) {
                ([(PrefixOperator::Negate, _)], Kind::Number(literal)) => match literal.value {
                    NumberValue::Int(value) => (Value::Int(value.saturating_neg()), Type::Int),
                    NumberValue::Float(value) => (Value::Number(-value), Type::Number),
                    _ => return None,
                },
                _ => return None,
            },
            _ => return None,
        };
        if !comparable(&kind, &resolved, &self.program.types) {
            self.report(rules::types::pattern_never_fits(
                at,
                self.text_at(at),
                subject,
            ));
        }
        Some((value, kind))
    }
}

fn type_of_value(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Number(_) => Type::Number,
        Value::Text(text) => Type::Literal(text.clone()),
        Value::List(_) | Value::Object(_) => Type::Json,
    }
}

/// The alternatives of a pattern: `"a" | "b"`.
fn alternatives<'t>(pattern: &'t Tree<'t>) -> Vec<&'t Tree<'t>> {
    match &bare(pattern).kind {
        Kind::Chain(chain)
            if chain
                .rest
                .iter()
                .all(|(operator, _, _)| *operator == Operator::Union) =>
        {
            std::iter::once(&chain.first)
                .chain(chain.rest.iter().map(|rest| &rest.2))
                .collect()
        }
        _ => vec![pattern],
    }
}

/// What no arm has covered yet.
struct Rest {
    /// Whether null is left.
    null: bool,
    /// The members of a union that are left, or the one type; `bool` is two of them.
    kinds: Vec<Type>,
    /// For `bool`: which values are left.
    bools: Option<(bool, bool)>,
}

impl Rest {
    fn of(subject: &Type, ctx: &Context<'_>) -> Rest {
        let resolved = definition(subject, &ctx.program.types);
        let null = may_be_null(resolved, &ctx.program.types);
        let inner = definition(without_null(resolved), &ctx.program.types);
        let (kinds, bools) = match inner {
            Type::Null | Type::Never | Type::Unknown => (Vec::new(), None),
            Type::Bool => (Vec::new(), Some((true, true))),
            Type::Union(members) => (members.to_vec(), None),
            other => (vec![other.clone()], None),
        };
        Rest { null, kinds, bools }
    }

    fn is_nothing(&self) -> bool {
        !self.null && self.kinds.is_empty() && matches!(self.bools, None | Some((false, false)))
    }

    fn clear(&mut self) {
        self.null = false;
        self.kinds.clear();
        self.bools = None;
    }

    /// Whether the literal was left.
    fn remove_literal(&mut self, text: &str) -> bool {
        let before = self.kinds.len();
        self.kinds.retain(|kind| !is_literal(kind, text));
        before != self.kinds.len()
    }

    fn remove_bool(&mut self, value: bool) {
        if let Some((yes, no)) = &mut self.bools {
            if value { *yes = false } else { *no = false }
        }
    }

    fn remove_type(&mut self, kind: &Type, ctx: &Context<'_>) {
        if *kind == Type::Unknown || *kind == Type::Json {
            self.clear();
            return;
        }
        self.kinds
            .retain(|left| !fits(left, kind, &ctx.program.types));
        if *kind == Type::Bool {
            self.bools = None;
        }
        if may_be_null(kind, &ctx.program.types) {
            self.null = false;
        }
    }

    /// What is known of the subject where all arms so far did not fit.
    fn known(&self) -> Option<Known> {
        match (self.null, self.kinds.as_slice()) {
            (false, [only]) => Some(Known::Is(only.clone())),
            (false, several) if several.len() > 1 => {
                Some(Known::Is(Type::Union(several.to_vec().into())))
            }
            (true, []) if self.bools.is_none() => Some(Known::Null),
            (false, []) if self.bools.is_some() => Some(Known::NotNull),
            _ => None,
        }
    }

    fn describe(&self) -> Vec<String> {
        let mut missing: Vec<String> = self
            .kinds
            .iter()
            .map(|kind| match kind {
                Type::Literal(text) => format!("`\"{text}\"`"),
                other => format!("other values of type {}", crate::infer::types::show(other)),
            })
            .collect();
        if let Some((yes, no)) = self.bools {
            missing.extend(yes.then(|| "`true`".to_owned()));
            missing.extend(no.then(|| "`false`".to_owned()));
        }
        missing.extend(self.null.then(|| "`null`".to_owned()));
        missing
    }
}
