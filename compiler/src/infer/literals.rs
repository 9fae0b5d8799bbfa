//! Numbers, texts, templates, lists, objects and comprehensions.

use outpost_grammar::tree::{
    Comprehension, Element, Expr as Tree, ExprKind as Kind, Member, NumberValue, Part,
};
use outpost_grammar::{Location, Span};
use outpost_stdlib::types::{FieldType, ObjectType};
use outpost_stdlib::{Object, Type, Value};
use std::sync::Arc;

use crate::context::Context;
use crate::infer::flow::bare;
use crate::infer::scope::Scope;
use crate::infer::types::{definition, join, may_be_null, nullable, read, show, without_null};
use crate::infer::{Typed, Want, constant, unknown};
use crate::program::{self, Entry, Expr, ExprKind, Item, Quantity, TemplatePart};
use crate::resolve::suggest::nearest;
use crate::rules;

/// The value and type of a number.
pub(crate) fn number(number: &NumberValue<'_>) -> (Value, Type) {
    match number {
        NumberValue::Int(value) => (Value::Int(*value), Type::Int),
        NumberValue::Float(value) => (Value::Number(*value), Type::Number),
        NumberValue::Duration(ms) => (whole(*ms), Type::Duration),
        NumberValue::Size(bytes) => (whole(*bytes), Type::Size),
        NumberValue::Money { micros, currency } => {
            (Value::Text(money(*micros, currency)), Type::Money)
        }
    }
}

fn whole(value: u64) -> Value {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// An amount as text: at least two decimals, no more than needed.
fn money(micros: i64, currency: &str) -> Arc<str> {
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    let decimals = format!("{:06}", micros % 1_000_000);
    let kept = decimals.trim_end_matches('0').len().max(2);
    Arc::from(format!(
        "{sign}{}.{}{currency}",
        micros / 1_000_000,
        &decimals[..kept]
    ))
}

/// The type of a literal text that is compared with, or stands beside, something of a type: a member of its union, if it is one.
pub(crate) fn beside(expr: &Tree<'_>, own: Type, other: &Type, ctx: &Context<'_>) -> Type {
    let Kind::Text(text) = &bare(expr).kind else {
        return own;
    };
    match without_null(definition(other, &ctx.program.types)) {
        Type::Union(members) if members.iter().any(|member| is_literal(member, text)) => {
            Type::Literal(Arc::from(&**text))
        }
        Type::Literal(literal) if **literal == **text => Type::Literal(literal.clone()),
        _ => own,
    }
}

/// Whether a type is this literal text.
pub(crate) fn is_literal(kind: &Type, text: &str) -> bool {
    matches!(kind, Type::Literal(literal) if **literal == *text)
}

/// The texts of a union of literals, or `None` if it holds anything else.
pub(crate) fn texts_of(kind: &Type) -> Option<Vec<&str>> {
    match kind {
        Type::Literal(text) => Some(vec![text]),
        Type::Union(members) => members
            .iter()
            .map(|member| match member {
                Type::Literal(text) => Some(&**text),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

impl<'t> Context<'t> {
    /// A text, which is a member of a union where one is wanted.
    pub(crate) fn text_literal(
        &mut self,
        at: Location,
        text: &str,
        want: Option<Want<'_>>,
    ) -> Typed {
        let value = Value::Text(Arc::from(text));
        let Some(want) = want else {
            return constant(at, value, Type::String);
        };
        let wanted = without_null(definition(want.kind, &self.program.types));
        match wanted {
            Type::Union(members) if members.iter().any(|member| is_literal(member, text)) => {
                constant(at, value, Type::Literal(Arc::from(text)))
            }
            Type::Literal(literal) if **literal == *text => {
                constant(at, value, Type::Literal(literal.clone()))
            }
            _ => match texts_of(wanted) {
                Some(texts) => {
                    let diagnostic = rules::types::not_a_member(at, text, &texts);
                    self.report(diagnostic);
                    unknown(at)
                }
                None => constant(at, value, Type::String),
            },
        }
    }

    /// A text with holes.
    pub(crate) fn interpolation(
        &mut self,
        scope: &mut Scope<'t>,
        span: Span,
        parts: &'t [Part<'t>],
    ) -> Typed {
        let mut lowered = Vec::with_capacity(parts.len());
        for part in parts {
            lowered.push(match part {
                Part::Text { text, .. } => TemplatePart::Text(Arc::from(&**text)),
                Part::Hole { expr, .. } => {
                    let typed = self.infer(scope, expr);
                    TemplatePart::Hole(self.scalar(scope, expr, typed, "a template"))
                }
            });
        }
        Typed {
            expr: Expr {
                kind: ExprKind::Template(lowered.into()),
                at: scope.at(span),
            },
            kind: Type::String,
        }
    }

    /// A hole's value: a scalar, shown as people write it.
    pub(crate) fn scalar(
        &mut self,
        scope: &Scope<'t>,
        expr: &Tree<'t>,
        typed: Typed,
        by: &str,
    ) -> Expr {
        let at = scope.at(expr.span);
        let resolved = definition(&typed.kind, &self.program.types);
        let diagnostic = match resolved {
            Type::Unknown
            | Type::Never
            | Type::Bool
            | Type::Int
            | Type::Number
            | Type::String
            | Type::Money
            | Type::Literal(_) => None,
            Type::Duration => return format_as(typed.expr, at, Quantity::Duration),
            Type::Size => return format_as(typed.expr, at, Quantity::Size),
            Type::Union(members) => {
                let plain = members.iter().all(|member| {
                    matches!(
                        member,
                        Type::Literal(_) | Type::String | Type::Int | Type::Number | Type::Bool
                    )
                });
                (!plain).then(|| rules::types::not_scalar(at, self.text_at(at), &typed.kind, by))
            }
            Type::Null | Type::Nullable(_) => Some(self.maybe_null(scope, expr.span, by)),
            Type::List(_) => Some(rules::types::list_in_text(
                at,
                self.text_at(at),
                &typed.kind,
                by,
            )),
            Type::Json | Type::Map(_) | Type::Object(_) | Type::Named(..) | Type::Entity(_) => {
                Some(rules::types::not_scalar(
                    at,
                    self.text_at(at),
                    &typed.kind,
                    by,
                ))
            }
        };
        if let Some(diagnostic) = diagnostic {
            self.report(diagnostic);
        }
        typed.expr
    }

    /// `[a, b, ...c]`.
    pub(crate) fn list(
        &mut self,
        scope: &mut Scope<'t>,
        span: Span,
        elements: &'t [Element<'t>],
        want: Option<Want<'_>>,
    ) -> Typed {
        let at = scope.at(span);
        let wanted =
            want.map(|want| without_null(definition(want.kind, &self.program.types)).clone());
        let inner = match &wanted {
            Some(Type::List(inner)) => Some((**inner).clone()),
            Some(Type::Union(members)) => members.iter().find_map(|member| match member {
                Type::List(inner) => Some((**inner).clone()),
                _ => None,
            }),
            Some(Type::Json | Type::Unknown | Type::Never) | None => None,
            Some(other) => {
                let by = want.map_or("", |want| want.by);
                let found = Type::List(Arc::new(Type::Unknown));
                self.report(rules::types::wrong_type(
                    at,
                    by,
                    other,
                    &found,
                    self.text_at(at),
                ));
                self.touch_elements(scope, elements);
                return unknown(at);
            }
        };
        let by = format!("an element of {}", want.map_or("the list", |want| want.by));
        let mut kind = inner.clone().unwrap_or(Type::Never);
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            items.push(match element {
                Element::Item(expr) => {
                    let want = inner.as_ref().map(|kind| Want { kind, by: &by });
                    let typed = self.lower(scope, expr, want);
                    if inner.is_none() {
                        kind = self.join_element(scope, expr.span, kind, &typed.kind);
                    }
                    Item::One(typed.expr)
                }
                Element::Spread(expr) => {
                    let list = inner.clone().map(|inner| Type::List(Arc::new(inner)));
                    let want = list.as_ref().map(|kind| Want {
                        kind,
                        by: "a spread",
                    });
                    let typed = self.lower(scope, expr, want);
                    if inner.is_none() {
                        let element = self.element_of(scope, expr.span, &typed.kind, "a spread");
                        kind = self.join_element(scope, expr.span, kind, &element);
                    }
                    Item::Spread(typed.expr)
                }
            });
        }
        Typed {
            expr: Expr {
                kind: fold_list(items),
                at,
            },
            kind: Type::List(Arc::new(kind)),
        }
    }

    fn join_element(&mut self, scope: &Scope<'t>, span: Span, kind: Type, element: &Type) -> Type {
        match join(&kind, element, &self.program.types) {
            Some(joined) => joined,
            None => {
                self.report(rules::types::different_types(
                    scope.at(span),
                    &kind,
                    element,
                ));
                Type::Unknown
            }
        }
    }

    /// The type of the elements of a list.
    pub(crate) fn element_of(
        &mut self,
        scope: &Scope<'t>,
        span: Span,
        kind: &Type,
        by: &str,
    ) -> Type {
        let resolved = definition(kind, &self.program.types).clone();
        match resolved {
            Type::List(inner) => (*inner).clone(),
            Type::Unknown | Type::Never => Type::Unknown,
            Type::Null | Type::Nullable(_)
                if matches!(
                    definition(without_null(&resolved), &self.program.types),
                    Type::List(_)
                ) =>
            {
                let diagnostic = self.maybe_null(scope, span, by);
                self.report(diagnostic);
                Type::Unknown
            }
            _ => {
                let at = scope.at(span);
                let list = Type::List(Arc::new(Type::Unknown));
                let diagnostic = rules::types::wrong_type(at, by, &list, kind, self.text_at(at));
                self.report(diagnostic);
                Type::Unknown
            }
        }
    }

    /// `{ a: 1, b, ...c }`.
    pub(crate) fn object(
        &mut self,
        scope: &mut Scope<'t>,
        span: Span,
        members: &'t [Member<'t>],
        want: Option<Want<'_>>,
    ) -> Typed {
        let at = scope.at(span);
        let wanted =
            want.map(|want| without_null(definition(want.kind, &self.program.types)).clone());
        let shape = match &wanted {
            Some(Type::Object(shape)) => Shape::Fields(shape.clone()),
            Some(Type::Map(inner)) => Shape::Values((**inner).clone()),
            Some(Type::Union(members)) => match members.iter().find(|member| {
                matches!(
                    definition(member, &self.program.types),
                    Type::Object(_) | Type::Map(_)
                )
            }) {
                Some(_) => Shape::Free,
                None => Shape::Wrong,
            },
            Some(Type::Json | Type::Unknown | Type::Never) | None => Shape::Free,
            Some(_) => Shape::Wrong,
        };
        let by = want.map_or("the object", |want| want.by);
        if shape == Shape::Wrong {
            let found = Type::Object(Arc::new(ObjectType { fields: Vec::new() }));
            let wanted = wanted.unwrap_or(Type::Unknown);
            let diagnostic = rules::types::wrong_type(at, by, &wanted, &found, self.text_at(at));
            self.report(diagnostic);
            self.mute();
        }
        let (entries, fields, spread_unknown) = self.members(scope, members, &shape, by);
        if shape == Shape::Wrong {
            self.unmute();
            return unknown(at);
        }
        if let Shape::Fields(wanted) = &shape
            && !spread_unknown
        {
            self.missing_fields(at, wanted, &fields, by);
        }
        let kind = match (&shape, want) {
            (Shape::Fields(_) | Shape::Values(_), Some(want)) => want.kind.clone(),
            _ if spread_unknown => Type::Unknown,
            _ => Type::Object(Arc::new(ObjectType { fields })),
        };
        Typed {
            expr: Expr {
                kind: fold_object(entries),
                at,
            },
            kind: without_null(&kind).clone(),
        }
    }

    fn members(
        &mut self,
        scope: &mut Scope<'t>,
        members: &'t [Member<'t>],
        shape: &Shape,
        by: &str,
    ) -> (Vec<Entry>, Vec<FieldType>, bool) {
        let mut entries = Vec::with_capacity(members.len());
        let mut fields: Vec<FieldType> = Vec::with_capacity(members.len());
        let mut places: Vec<(&'t str, Span)> = Vec::new();
        let mut spread_unknown = false;
        for member in members {
            match member {
                Member::Pair {
                    key,
                    optional,
                    value,
                } => {
                    if *optional {
                        self.report(rules::types::optional_key_in_value(
                            scope.at(key.span),
                            &key.text,
                        ));
                    }
                    self.duplicate_key(scope, &mut places, &key.text, key.span);
                    let typed = self.member_value(scope, &key.text, key.span, value, shape, by);
                    entries.push(Entry::Pair(Arc::from(&*key.text), typed.expr));
                    set_field(&mut fields, &key.text, typed.kind);
                }
                Member::Shorthand(name) => {
                    self.duplicate_key(scope, &mut places, name.text, name.span);
                    let typed = self.name(scope, name.span, name.text);
                    let wanted = self.wanted_field(scope, name.text, name.span, shape, by);
                    if let Some(wanted) = wanted
                        && !crate::infer::types::fits(&typed.kind, &wanted, &self.program.types)
                    {
                        let at = scope.at(name.span);
                        let by = format!("field `{}`", name.text);
                        let diagnostic = if may_be_null(&typed.kind, &self.program.types) {
                            self.maybe_null(scope, name.span, &by)
                        } else {
                            rules::types::wrong_type(at, &by, &wanted, &typed.kind, name.text)
                        };
                        self.report(diagnostic);
                    }
                    entries.push(Entry::Pair(Arc::from(name.text), typed.expr));
                    set_field(&mut fields, name.text, typed.kind);
                }
                Member::Spread(expr) => {
                    let typed = self.infer(scope, expr);
                    match definition(&typed.kind, &self.program.types).clone() {
                        Type::Object(object) => {
                            for field in &object.fields {
                                set_field(&mut fields, &field.name, read(field));
                            }
                        }
                        Type::Unknown | Type::Map(_) => spread_unknown = true,
                        other => {
                            spread_unknown = true;
                            let at = scope.at(expr.span);
                            let diagnostic = if may_be_null(&other, &self.program.types) {
                                self.maybe_null(scope, expr.span, "a spread")
                            } else {
                                rules::types::spread_of_no_object(at, &other)
                            };
                            self.report(diagnostic);
                        }
                    }
                    entries.push(Entry::Spread(typed.expr));
                }
            }
        }
        (entries, fields, spread_unknown)
    }

    fn duplicate_key(
        &mut self,
        scope: &Scope<'t>,
        places: &mut Vec<(&'t str, Span)>,
        key: &str,
        span: Span,
    ) {
        let text = span.of(self.text(scope.text));
        let first = places
            .iter()
            .find(|(other, _)| other.trim_matches(['"', '`', '\'']) == key);
        if let Some((_, first)) = first {
            let diagnostic = rules::types::duplicate_key(scope.at(span), key, scope.at(*first));
            self.report(diagnostic);
        }
        places.push((text, span));
    }

    fn wanted_field(
        &mut self,
        scope: &Scope<'t>,
        key: &str,
        span: Span,
        shape: &Shape,
        by: &str,
    ) -> Option<Type> {
        match shape {
            Shape::Free | Shape::Wrong => None,
            Shape::Values(kind) => Some(kind.clone()),
            Shape::Fields(object) => match object.fields.iter().find(|field| &*field.name == key) {
                Some(field) if field.optional => Some(nullable(&field.kind)),
                Some(field) => Some(field.kind.clone()),
                None => {
                    let names: Vec<&str> = object.fields.iter().map(|field| &*field.name).collect();
                    let near = nearest(key, names.iter().copied());
                    let diagnostic =
                        rules::types::unknown_key(scope.at(span), key, by, &names, near.as_ref());
                    self.report(diagnostic);
                    None
                }
            },
        }
    }

    fn member_value(
        &mut self,
        scope: &mut Scope<'t>,
        key: &str,
        span: Span,
        value: &'t Tree<'t>,
        shape: &Shape,
        by: &str,
    ) -> Typed {
        match self.wanted_field(scope, key, span, shape, by) {
            Some(kind) => {
                let by = format!("field `{key}`");
                self.lower(
                    scope,
                    value,
                    Some(Want {
                        kind: &kind,
                        by: &by,
                    }),
                )
            }
            None => self.infer(scope, value),
        }
    }

    fn missing_fields(&mut self, at: Location, wanted: &ObjectType, given: &[FieldType], by: &str) {
        let missing: Vec<&str> = wanted
            .fields
            .iter()
            .filter(|field| !field.optional && !given.iter().any(|other| other.name == field.name))
            .map(|field| &*field.name)
            .collect();
        if !missing.is_empty() {
            self.report(rules::types::missing_fields(at, by, &missing));
        }
    }

    /// `[element for variable in list if condition]`.
    pub(crate) fn comprehension(
        &mut self,
        scope: &mut Scope<'t>,
        span: Span,
        inner: &'t Comprehension<'t>,
        want: Option<Want<'_>>,
    ) -> Typed {
        let at = scope.at(span);
        let list = self.infer(scope, &inner.list);
        let element = self.element_of(scope, inner.list.span, &list.kind, "a comprehension");
        let (frame, locals, facts) = (scope.frame, scope.locals.len(), scope.facts.len());
        let variable = scope.declare(inner.variable.text, element);
        let condition = inner.condition.as_ref().map(|condition| {
            let lowered = self.condition(scope, condition, "a condition");
            self.assume(scope, condition, true);
            lowered
        });
        let wanted =
            want.map(|want| without_null(definition(want.kind, &self.program.types)).clone());
        let typed = match (&wanted, want) {
            (Some(Type::List(kind)), Some(want)) => {
                let by = format!("an element of {}", want.by);
                self.lower(scope, &inner.element, Some(Want { kind, by: &by }))
            }
            (Some(Type::Json | Type::Unknown), _) | (None, _) | (_, None) => {
                self.infer(scope, &inner.element)
            }
            (Some(other), Some(want)) => {
                let found = Type::List(Arc::new(Type::Unknown));
                let text = show(&found);
                self.report(rules::types::wrong_type(at, want.by, other, &found, &text));
                self.infer(scope, &inner.element)
            }
        };
        scope.frame = frame;
        scope.locals.truncate(locals);
        scope.facts.truncate(facts);
        Typed {
            expr: Expr {
                kind: ExprKind::Comprehension(Box::new(program::Comprehension {
                    element: typed.expr,
                    variable,
                    list: list.expr,
                    condition,
                })),
                at,
            },
            kind: Type::List(Arc::new(typed.kind)),
        }
    }

    fn touch_elements(&mut self, scope: &mut Scope<'t>, elements: &'t [Element<'t>]) {
        self.mute();
        for element in elements {
            let (Element::Item(expr) | Element::Spread(expr)) = element;
            self.infer(scope, expr);
        }
        self.unmute();
    }
}

/// What an object literal must look like.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    /// As it likes.
    Free,
    /// Like an object type.
    Fields(Arc<ObjectType>),
    /// Like a map.
    Values(Type),
    /// There may be no object here.
    Wrong,
}

fn set_field(fields: &mut Vec<FieldType>, name: &str, kind: Type) {
    match fields.iter_mut().find(|field| &*field.name == name) {
        Some(field) => field.kind = kind,
        None => fields.push(FieldType {
            name: Arc::from(name),
            kind,
            optional: false,
        }),
    }
}

fn format_as(expr: Expr, at: Location, quantity: Quantity) -> Expr {
    Expr {
        kind: ExprKind::Format(Box::new(expr), quantity),
        at,
    }
}

/// A list of constants is a constant.
fn fold_list(items: Vec<Item>) -> ExprKind {
    let constant = items.iter().all(|item| {
        matches!(
            item,
            Item::One(Expr {
                kind: ExprKind::Const(_),
                ..
            })
        )
    });
    if !constant {
        return ExprKind::List(items.into());
    }
    let values: Vec<Value> = items
        .into_iter()
        .filter_map(|item| match item {
            Item::One(Expr {
                kind: ExprKind::Const(value),
                ..
            }) => Some(value),
            Item::One(_) | Item::Spread(_) => None,
        })
        .collect();
    ExprKind::Const(Value::List(values.into()))
}

/// An object of constants is a constant.
fn fold_object(entries: Vec<Entry>) -> ExprKind {
    let constant = entries.iter().all(|entry| {
        matches!(
            entry,
            Entry::Pair(
                _,
                Expr {
                    kind: ExprKind::Const(_),
                    ..
                }
            )
        )
    });
    if !constant {
        return ExprKind::Object(entries.into());
    }
    let mut object = Object::default();
    for entry in entries {
        if let Entry::Pair(
            key,
            Expr {
                kind: ExprKind::Const(value),
                ..
            },
        ) = entry
        {
            object.insert(key, value);
        }
    }
    ExprKind::Const(Value::Object(Arc::new(object)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_keeps_two_decimals_and_no_more_than_needed() {
        assert_eq!(&*money(2_500_000, "USD"), "2.50USD");
        assert_eq!(&*money(5_000_000, "EUR"), "5.00EUR");
        assert_eq!(&*money(125_500, "USD"), "0.1255USD");
    }
}
