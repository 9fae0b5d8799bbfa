//! Properties that take a literal: numbers with units, quoted texts, bare words, constants.

use outpost_grammar::tree::{Expr as Tree, ExprKind as Kind, Member, NumberValue, PrefixOperator};
use outpost_grammar::{Location, SourceId};
use outpost_stdlib::{Object, Value};
use std::sync::Arc;
use std::time::Duration;

use crate::context::Context;
use crate::infer::flow::bare;
use crate::infer::literals::number;
use crate::lower::entries::{Entries, elements};
use crate::options::{self, Property};
use crate::resolve::suggest::{Near, nearest};
use crate::rules;
use crate::rules::options::Literal as Wrong;

impl<'t> Context<'t> {
    /// A literal whole number in the range of its property.
    pub(crate) fn int(&mut self, entries: &Entries<'t>, name: &str) -> Option<i64> {
        let (property, field) = entries.property(name)?;
        let at = entries.at(field.value.span);
        let options::Kind::Int(least, most) = property.kind else {
            return None;
        };
        match self.literal(entries.source, property, &field.value)? {
            Literal::Int(value) if (least..=most).contains(&value) => Some(value),
            Literal::Int(value) => {
                self.report(rules::options::out_of_range(
                    at,
                    name,
                    &value.to_string(),
                    least,
                    most,
                ));
                None
            }
            other => self.wrong(at, name, "a whole number", &other, None),
        }
    }

    /// A literal duration in the range of its property.
    pub(crate) fn duration(&mut self, entries: &Entries<'t>, name: &str) -> Option<Duration> {
        let (property, field) = entries.property(name)?;
        let at = entries.at(field.value.span);
        let options::Kind::Duration(least, most) = property.kind else {
            return None;
        };
        self.duration_value(entries.source, property, &field.value, at, (least, most))
    }

    /// A literal duration anywhere.
    pub(crate) fn duration_value(
        &mut self,
        source: SourceId,
        property: &Property,
        expr: &'t Tree<'t>,
        at: Location,
        (least, most): (u64, u64),
    ) -> Option<Duration> {
        match self.literal(source, property, expr)? {
            Literal::Duration(ms) if (least..=most).contains(&ms) => {
                Some(Duration::from_millis(ms))
            }
            Literal::Duration(_) => {
                let text = self.text_at(at).to_owned();
                self.report(rules::options::duration_out_of_range(
                    at,
                    property.name,
                    &text,
                    least,
                    most,
                ));
                None
            }
            other => {
                let suggestion = duration_meant(self.text_at(at), &other);
                self.wrong(at, property.name, "a duration", &other, suggestion)
            }
        }
    }

    /// A literal size, in bytes.
    pub(crate) fn size(&mut self, entries: &Entries<'t>, name: &str) -> Option<u64> {
        let (property, field) = entries.property(name)?;
        let at = entries.at(field.value.span);
        match self.literal(entries.source, property, &field.value)? {
            Literal::Size(bytes) => Some(bytes),
            other => {
                let suggestion = match &other {
                    Literal::Int(value) => Some(format!("{}KiB", value / 1024)),
                    _ => None,
                };
                self.wrong(at, name, "a size", &other, suggestion)
            }
        }
    }

    /// A literal amount of money, as a value of that type.
    pub(crate) fn money(
        &mut self,
        source: SourceId,
        property: &Property,
        expr: &'t Tree<'t>,
    ) -> Option<Arc<str>> {
        let at = Location::new(source, expr.span);
        match self.literal(source, property, expr)? {
            Literal::Money(text) if text.starts_with('-') => {
                self.report(rules::options::negative_money(at, property.name));
                None
            }
            Literal::Money(text) => Some(text),
            other => {
                let suggestion = match &other {
                    Literal::Int(value) => Some(format!("{value}USD")),
                    Literal::Number(value) => Some(format!("{value}USD")),
                    _ => None,
                };
                self.wrong(at, property.name, "money", &other, suggestion)
            }
        }
    }

    /// A quoted text without holes.
    pub(crate) fn quoted(
        &mut self,
        entries: &Entries<'t>,
        name: &str,
    ) -> Option<(Arc<str>, Location)> {
        let (property, field) = entries.property(name)?;
        self.quoted_value(entries.source, property, &field.value)
    }

    /// A quoted text anywhere.
    pub(crate) fn quoted_value(
        &mut self,
        source: SourceId,
        property: &Property,
        expr: &'t Tree<'t>,
    ) -> Option<(Arc<str>, Location)> {
        let at = Location::new(source, expr.span);
        match self.literal(source, property, expr)? {
            Literal::Text(text) => Some((text, at)),
            Literal::Word(word) => {
                self.report(rules::options::bare_text(at, property.name, word));
                None
            }
            other => self.wrong(at, property.name, "a quoted text", &other, None),
        }
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, entries: &Entries<'t>, name: &str) -> Option<bool> {
        let (property, field) = entries.property(name)?;
        let at = entries.at(field.value.span);
        match self.literal(entries.source, property, &field.value)? {
            Literal::Bool(value) => Some(value),
            other => self.wrong(at, name, "`true` or `false`", &other, None),
        }
    }

    /// A list of quoted texts, each with its place.
    pub(crate) fn quoted_list(
        &mut self,
        entries: &Entries<'t>,
        name: &str,
    ) -> Option<Vec<(Arc<str>, Location)>> {
        let (property, field) = entries.property(name)?;
        let at = entries.at(field.value.span);
        let Kind::List(list) = &bare(&field.value).kind else {
            let found = self.literal(entries.source, property, &field.value)?;
            let suggestion = Some(format!("[{}]", self.text_at(at)));
            return self.wrong(at, name, "a list of quoted texts", &found, suggestion);
        };
        let mut texts = Vec::with_capacity(list.len());
        for expr in elements(list) {
            texts.extend(self.quoted_value(entries.source, property, expr));
        }
        Some(texts)
    }

    /// One of the bare words of a property.
    pub(crate) fn word(&mut self, entries: &Entries<'t>, name: &str) -> Option<&'static str> {
        let (property, field) = entries.property(name)?;
        let options::Kind::Word(words) = property.kind else {
            return None;
        };
        self.one_word(entries.source, name, words, &field.value)
    }

    fn one_word(
        &mut self,
        source: SourceId,
        name: &str,
        words: &'static [&'static str],
        expr: &'t Tree<'t>,
    ) -> Option<&'static str> {
        let at = Location::new(source, expr.span);
        match &bare(expr).kind {
            Kind::Broken => None,
            Kind::Name(word) => {
                let known = words.iter().find(|known| *known == word);
                if known.is_none() {
                    let near = nearest(word, words.iter().copied());
                    self.report(rules::options::unknown_word(
                        at,
                        name,
                        word,
                        words,
                        near.as_ref(),
                    ));
                }
                known.copied()
            }
            Kind::Text(text) => {
                let near = words
                    .contains(&&**text)
                    .then(|| Near::certain(text))
                    .or_else(|| nearest(text, words.iter().copied()));
                self.report(rules::options::quoted_word(
                    at,
                    name,
                    text,
                    words,
                    near.as_ref(),
                ));
                None
            }
            _ => {
                self.touch(source, expr);
                let text = self.text_at(at).to_owned();
                self.report(rules::options::unknown_word(at, name, &text, words, None));
                None
            }
        }
    }

    /// A list of bare words, each with its place.
    pub(crate) fn word_list(
        &mut self,
        entries: &Entries<'t>,
        name: &str,
    ) -> Option<Vec<(&'static str, Location)>> {
        let (property, _) = entries.property(name)?;
        let options::Kind::Words(words) = property.kind else {
            return None;
        };
        let list = self.list_elements(entries, name)?;
        let mut found: Vec<(&'static str, Location)> = Vec::with_capacity(list.len());
        for expr in list {
            let place = entries.at(expr.span);
            let Some(word) = self.one_word(entries.source, name, words, expr) else {
                continue;
            };
            match found.iter().find(|(other, _)| *other == word) {
                Some((_, first)) => {
                    let diagnostic = rules::options::listed_twice(place, word, name, *first);
                    self.report(diagnostic);
                }
                None => found.push((word, place)),
            }
        }
        Some(found)
    }

    /// Any constant, with bare words as texts.
    pub(crate) fn constant_value(
        &mut self,
        source: SourceId,
        name: &str,
        expr: &'t Tree<'t>,
    ) -> Option<Value> {
        let at = Location::new(source, expr.span);
        match &expr.kind {
            Kind::Broken => None,
            Kind::Null => Some(Value::Null),
            Kind::Bool(value) => Some(Value::Bool(*value)),
            Kind::Number(literal) => Some(number(&literal.value).0),
            Kind::Text(text) => Some(Value::Text(Arc::from(&**text))),
            Kind::Name(word) => Some(Value::Text(Arc::from(*word))),
            Kind::Parens(inner) => self.constant_value(source, name, inner),
            Kind::Prefix(prefix)
                if matches!(prefix.operators[..], [(PrefixOperator::Negate, _)]) =>
            {
                match self.constant_value(source, name, &prefix.operand)? {
                    Value::Int(value) => Some(Value::Int(value.saturating_neg())),
                    Value::Number(value) => Some(Value::Number(-value)),
                    _ => {
                        self.report(rules::options::not_constant(at, name));
                        None
                    }
                }
            }
            Kind::List(list) => {
                let mut values = Vec::with_capacity(list.len());
                for expr in elements(list) {
                    values.push(self.constant_value(source, name, expr)?);
                }
                Some(Value::List(values.into()))
            }
            Kind::Object(members) => {
                let mut object = Object::default();
                for member in members {
                    let Member::Pair { key, value, .. } = member else {
                        self.report(rules::options::not_constant(at, name));
                        return None;
                    };
                    object.insert(
                        Arc::from(&*key.text),
                        self.constant_value(source, name, value)?,
                    );
                }
                Some(Value::Object(Arc::new(object)))
            }
            _ => {
                self.touch(source, expr);
                self.report(rules::options::not_constant(at, name));
                None
            }
        }
    }

    /// The literal that a property takes; anything computed is reported.
    fn literal(
        &mut self,
        source: SourceId,
        property: &Property,
        expr: &'t Tree<'t>,
    ) -> Option<Literal<'t>> {
        let at = Location::new(source, expr.span);
        Some(match &expr.kind {
            Kind::Broken => return None,
            Kind::Parens(inner) => return self.literal(source, property, inner),
            Kind::Null => Literal::Other("null"),
            Kind::Bool(value) => Literal::Bool(*value),
            Kind::Text(text) => Literal::Text(Arc::from(&**text)),
            Kind::Number(literal) => match literal.value {
                NumberValue::Int(value) => Literal::Int(value),
                NumberValue::Float(value) => Literal::Number(value),
                NumberValue::Duration(ms) => Literal::Duration(ms),
                NumberValue::Size(bytes) => Literal::Size(bytes),
                NumberValue::Money { .. } => match number(&literal.value).0 {
                    Value::Text(text) => Literal::Money(text),
                    _ => Literal::Other("money"),
                },
            },
            Kind::Prefix(prefix)
                if matches!(prefix.operators[..], [(PrefixOperator::Negate, _)]) =>
            {
                match self.literal(source, property, &prefix.operand)? {
                    Literal::Int(value) => Literal::Int(value.saturating_neg()),
                    Literal::Number(value) => Literal::Number(-value),
                    other => Literal::Other(other.kind()),
                }
            }
            Kind::Name(name) => {
                self.touch(source, expr);
                Literal::Word(name)
            }
            Kind::List(_) => Literal::Other("list"),
            Kind::Object(_) => Literal::Other("object"),
            _ => {
                self.touch(source, expr);
                self.report(rules::options::not_literal(
                    at,
                    property.name,
                    &property.kind.describe(),
                ));
                return None;
            }
        })
    }

    fn wrong<T>(
        &mut self,
        at: Location,
        name: &str,
        wanted: &'static str,
        found: &Literal<'_>,
        suggestion: Option<String>,
    ) -> Option<T> {
        self.report(rules::options::wrong_literal(Wrong {
            at,
            property: name,
            wanted,
            found: found.kind(),
            suggestion,
        }));
        None
    }
}

/// A literal in a property that takes one.
enum Literal<'t> {
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Number(f64),
    /// Milliseconds.
    Duration(u64),
    /// Bytes.
    Size(u64),
    /// An amount.
    Money(Arc<str>),
    /// A quoted text.
    Text(Arc<str>),
    /// `true`, `false`.
    Bool(bool),
    /// A name.
    Word(&'t str),
    /// Something else, of this kind.
    Other(&'static str),
}

impl Literal<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Literal::Int(_) => "int",
            Literal::Number(_) => "number",
            Literal::Duration(_) => "duration",
            Literal::Size(_) => "size",
            Literal::Money(_) => "money",
            Literal::Text(_) => "string",
            Literal::Bool(_) => "bool",
            Literal::Word(_) => "a name",
            Literal::Other(kind) => kind,
        }
    }
}

/// The duration that was probably meant: `5M` is `5m`, `20` is `20s`.
fn duration_meant(text: &str, literal: &Literal<'_>) -> Option<String> {
    match literal {
        Literal::Int(_) => match text.strip_suffix('M') {
            Some(minutes) => Some(format!("{minutes}m")),
            None if text.bytes().all(|byte| byte.is_ascii_digit()) => Some(format!("{text}s")),
            None => None,
        },
        _ => None,
    }
}
