//! The types of the language: what they accept, their common types, their text, their JSON Schema.
//!
//! Decided here, where the language page leaves it open:
//! an object type accepts objects with more fields (a value keeps them, nothing is lost); [`Type::excess`] finds them, for literals, where they are mistakes.
//! A field that may be absent may also be null: both read as null.
//! The common type of two objects has the fields of both, those of one alone as optional ones.

use crate::functions::Lookup;
use std::cell::Cell;
use std::sync::Arc;

mod accept;
mod conform;
mod display;
mod known;
mod schema;

pub use conform::Nonconformity;

/// The most named types that may stand for one another before something that is no name.
const MAX_ALIASES: usize = 100;

/// The most definitions that one comparison looks up; unions of recursive types could ask for any number.
const MAX_LOOKUPS: u32 = 10_000_000;

/// Finds definitions until there were [`MAX_LOOKUPS`]; from then on nothing fits.
struct Bounded<'l> {
    lookup: &'l dyn Lookup,
    left: Cell<u32>,
}

impl Bounded<'_> {
    fn new(lookup: &dyn Lookup) -> Bounded<'_> {
        Bounded {
            lookup,
            left: Cell::new(MAX_LOOKUPS),
        }
    }
}

impl Lookup for Bounded<'_> {
    fn definition(&self, id: NamedId) -> &Type {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                self.lookup.definition(id)
            }
            None => &Type::Never,
        }
    }
}

/// A structural type. Cloning is cheap.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Of something broken that was reported: agrees with everything, silently (LANGUAGE §17.1).
    Unknown,
    /// Of no value: the element of `[]`.
    Never,
    /// `null`.
    Null,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `number`; an `int` is accepted where a `number` is wanted.
    Number,
    /// `string`.
    String,
    /// `duration`: milliseconds.
    Duration,
    /// `size`: bytes.
    Size,
    /// `money`: a text of amount and currency.
    Money,
    /// `json`: must be narrowed before it is looked into.
    Json,
    /// One text: `"low"`.
    Literal(Arc<str>),
    /// Two or more members, none of them a union or nullable.
    Union(Arc<[Type]>),
    /// `T?`; the type inside is not nullable.
    Nullable(Arc<Type>),
    /// `list<T>`.
    List(Arc<Type>),
    /// `map<T>`.
    Map(Arc<Type>),
    /// `{ a: T, b?: U }`.
    Object(Arc<ObjectType>),
    /// A named type, looked up where its fields are needed; equal when its id is.
    Named(NamedId, Arc<str>),
    /// A sandbox, an agent or a workflow given as a parameter: no value.
    Entity(Entity),
}

/// The index of a named type in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedId(pub u32);

/// What a parameter of a declared step, check, attempt or loop may be besides a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    /// A sandbox.
    Sandbox,
    /// An agent.
    Agent,
}

/// The fields of an object type, in the order in which they were declared.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectType {
    /// The fields.
    pub fields: Vec<FieldType>,
}

/// A field of an object type.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldType {
    /// Its key.
    pub name: Arc<str>,
    /// Its type.
    pub kind: Type,
    /// Whether the key may be absent; reading it gives null then.
    pub optional: bool,
}

impl ObjectType {
    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&FieldType> {
        self.fields.iter().find(|field| &*field.name == name)
    }
}

impl FieldType {
    /// A field that is always there.
    pub fn required(name: impl Into<Arc<str>>, kind: Type) -> FieldType {
        FieldType {
            name: name.into(),
            kind,
            optional: false,
        }
    }

    /// A field that may be absent.
    pub fn optional(name: impl Into<Arc<str>>, kind: Type) -> FieldType {
        FieldType {
            name: name.into(),
            kind,
            optional: true,
        }
    }

    /// What reading it gives: nullable if it may be absent.
    pub fn read(&self) -> Type {
        if self.optional {
            return self.kind.nullable();
        }
        self.kind.clone()
    }
}

impl Type {
    /// `list<T>`.
    pub fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    /// `map<T>`.
    pub fn map(element: Type) -> Type {
        Type::Map(Arc::new(element))
    }

    /// `{ … }`.
    pub fn object(fields: Vec<FieldType>) -> Type {
        Type::Object(Arc::new(ObjectType { fields }))
    }

    /// One text.
    pub fn literal(text: impl Into<Arc<str>>) -> Type {
        Type::Literal(text.into())
    }

    /// The union of some types: flat, each member once, null as `T?`; what is not there (`Never`) adds nothing.
    pub fn union(members: impl IntoIterator<Item = Type>) -> Type {
        let mut flat: Vec<Type> = Vec::new();
        let mut null = false;
        for member in members {
            add_member(member, &mut flat, &mut null);
        }
        let unknown = flat.contains(&Type::Unknown);
        let union = match flat.len() {
            _ if unknown => Type::Unknown,
            0 => Type::Never,
            1 => flat.remove(0),
            _ => Type::Union(flat.into()),
        };
        if null { union.nullable() } else { union }
    }

    /// `T?`.
    pub fn nullable(&self) -> Type {
        match self {
            Type::Unknown | Type::Null | Type::Nullable(_) => self.clone(),
            Type::Never => Type::Null,
            _ => Type::Nullable(Arc::new(self.clone())),
        }
    }

    /// What is left when it is not null; `Never` of `null` itself.
    pub fn non_null(&self, lookup: &dyn Lookup) -> Type {
        match self {
            Type::Nullable(inner) => inner.non_null(lookup),
            Type::Null => Type::Never,
            Type::Named(..) if self.resolve(lookup).may_be_null(lookup) => {
                self.resolve(lookup).non_null(lookup)
            }
            _ => self.clone(),
        }
    }

    /// Whether null is one of its values. `json` may be null, and says so only when it is narrowed; it is not counted here.
    pub fn may_be_null(&self, lookup: &dyn Lookup) -> bool {
        matches!(self.resolve(lookup), Type::Null | Type::Nullable(_))
    }

    /// What a name stands for, through other names; anything else is itself.
    pub fn resolve<'t>(&'t self, lookup: &'t dyn Lookup) -> &'t Type {
        let mut current = self;
        for _ in 0..MAX_ALIASES {
            match current {
                Type::Named(id, _) => current = lookup.definition(*id),
                _ => return current,
            }
        }
        &Type::Unknown
    }

    /// Whether a template may show its values: text, numbers and truth values.
    pub fn is_scalar(&self, lookup: &dyn Lookup) -> bool {
        match self.resolve(lookup) {
            Type::Unknown
            | Type::Never
            | Type::Bool
            | Type::Int
            | Type::Number
            | Type::String
            | Type::Duration
            | Type::Size
            | Type::Money
            | Type::Literal(_) => true,
            Type::Union(members) => members.iter().all(|member| member.is_scalar(lookup)),
            Type::Null
            | Type::Json
            | Type::Nullable(_)
            | Type::List(_)
            | Type::Map(_)
            | Type::Object(_)
            | Type::Named(..)
            | Type::Entity(_) => false,
        }
    }

    /// The text literals of a literal or of a union of nothing else.
    pub fn literals(&self, lookup: &dyn Lookup) -> Option<Vec<Arc<str>>> {
        match self.resolve(lookup) {
            Type::Literal(text) => Some(vec![text.clone()]),
            Type::Union(members) => {
                let all = members.iter().map(|member| member.literals(lookup));
                Some(all.collect::<Option<Vec<_>>>()?.concat())
            }
            _ => None,
        }
    }

    /// A literal or a union of literals as `string`, for where a value may change: anything else is itself.
    pub fn widened(&self) -> Type {
        match self {
            Type::Literal(_) => Type::String,
            Type::Union(members) => Type::union(members.iter().map(Type::widened)),
            Type::Nullable(inner) => inner.widened().nullable(),
            Type::List(element) => Type::list(element.widened()),
            _ => self.clone(),
        }
    }
}

fn add_member(member: Type, flat: &mut Vec<Type>, null: &mut bool) {
    match member {
        Type::Never => {}
        Type::Null => *null = true,
        Type::Nullable(inner) => {
            *null = true;
            add_member((*inner).clone(), flat, null);
        }
        Type::Union(members) => {
            for member in members.iter() {
                add_member(member.clone(), flat, null);
            }
        }
        Type::Literal(_) if flat.contains(&Type::String) => {}
        Type::String => {
            flat.retain(|other| !matches!(other, Type::Literal(_)));
            if !flat.contains(&Type::String) {
                flat.push(Type::String);
            }
        }
        other => {
            if !flat.contains(&other) {
                flat.push(other);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Named types of a test, by index.
    #[derive(Default)]
    pub(crate) struct Names(pub(crate) Vec<Type>);

    impl Lookup for Names {
        fn definition(&self, id: NamedId) -> &Type {
            &self.0[id.0 as usize]
        }
    }

    /// No named types.
    pub(crate) const NONE: Names = Names(Vec::new());
}

#[cfg(test)]
mod tests {
    use super::testing::{NONE, Names};
    use super::*;

    #[test]
    fn unions_are_flat_and_have_no_null_inside() {
        let low = Type::literal("low");
        let high = Type::literal("high");
        let both = Type::union([low.clone(), high.clone()]);
        let again = Type::union([both.clone(), low.clone(), Type::Null]);
        assert_eq!(again, both.nullable());
        assert_eq!(Type::union([low.clone(), Type::String]), Type::String);
        assert_eq!(Type::union([Type::String, low.clone()]), Type::String);
        assert_eq!(Type::union([low.clone()]), low);
        assert_eq!(Type::union([]), Type::Never);
        assert_eq!(Type::union([Type::Null]), Type::Null);
        assert_eq!(both.literals(&NONE).unwrap().len(), 2);
        assert_eq!(both.widened(), Type::String);
    }

    #[test]
    fn null_is_taken_off_through_names() {
        let names = Names(vec![Type::String.nullable()]);
        let named = Type::Named(NamedId(0), "Maybe".into());
        assert!(named.may_be_null(&names));
        assert_eq!(named.non_null(&names), Type::String);
        assert_eq!(named.nullable().non_null(&names), Type::String);
        assert_eq!(Type::Null.non_null(&names), Type::Never);
        assert_eq!(Type::Int.non_null(&names), Type::Int);
    }

    #[test]
    fn a_name_for_itself_is_unknown() {
        let names = Names(vec![Type::Named(NamedId(0), "Loop".into())]);
        let named = Type::Named(NamedId(0), "Loop".into());
        assert_eq!(named.resolve(&names), &Type::Unknown);
    }
}
