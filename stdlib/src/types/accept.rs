//! Which types fit where, and the common type of two.

use super::{Bounded, FieldType, NamedId, ObjectType, Type};
use crate::functions::Lookup;
use std::sync::Arc;

/// Pairs of named types and whether they fit: one that is being compared counts as fitting within itself, so that recursive types end.
type Assumed = Vec<(NamedId, NamedId, bool)>;

impl Type {
    /// Whether every value of `other` may stand where this is wanted.
    pub fn accepts(&self, other: &Type, lookup: &dyn Lookup) -> bool {
        accepts(self, other, &Bounded::new(lookup), &mut Vec::new())
    }

    /// The common type of two: of the arms of an `if` or a `match`, of the elements of a list.
    pub fn join(a: &Type, b: &Type, lookup: &dyn Lookup) -> Option<Type> {
        match (a, b) {
            (Type::Unknown, _) | (_, Type::Unknown) => Some(Type::Unknown),
            (Type::Never, other) | (other, Type::Never) => Some(other.clone()),
            (Type::Entity(_), _) | (_, Type::Entity(_)) => (a == b).then(|| a.clone()),
            (Type::Null, other) | (other, Type::Null) => Some(other.nullable()),
            (Type::Nullable(_), _) | (_, Type::Nullable(_)) => {
                let joined = Type::join(&a.non_null(lookup), &b.non_null(lookup), lookup)?;
                Some(joined.nullable())
            }
            (Type::List(a), Type::List(b)) => Type::join(a, b, lookup).map(Type::list),
            (Type::Map(a), Type::Map(b)) => Type::join(a, b, lookup).map(Type::map),
            (Type::Object(a), Type::Object(b)) => join_objects(a, b, lookup),
            _ if a.accepts(b, lookup) => Some(a.clone()),
            _ if b.accepts(a, lookup) => Some(b.clone()),
            (Type::Literal(_) | Type::Union(_), Type::Literal(_) | Type::Union(_)) => {
                let texts = a.literals(lookup).is_some() && b.literals(lookup).is_some();
                texts.then(|| Type::union([a.clone(), b.clone()]))
            }
            (Type::Named(..), _) | (_, Type::Named(..)) => {
                let (left, right) = (a.resolve(lookup), b.resolve(lookup));
                let names = matches!(left, Type::Named(..)) || matches!(right, Type::Named(..));
                if names {
                    None
                } else {
                    Type::join(left, right, lookup)
                }
            }
            _ => None,
        }
    }

    /// The first field of an object literal of type `other` that this type does not know: probably misspelt.
    pub fn excess<'t>(&self, other: &'t Type, lookup: &dyn Lookup) -> Option<&'t Arc<str>> {
        let Type::Object(given) = other else {
            return None;
        };
        let wanted = self.non_null(lookup);
        let known: Vec<&Type> = match wanted.resolve(lookup) {
            Type::Union(members) => members.iter().map(|m| m.resolve(lookup)).collect(),
            single => vec![single],
        };
        let objects = known.iter().map(|kind| match kind {
            Type::Object(object) => Some(object),
            _ => None,
        });
        let objects = objects.collect::<Option<Vec<_>>>()?;
        let names = given.fields.iter().map(|field| &field.name);
        names
            .into_iter()
            .find(|name| objects.iter().all(|object| object.field(name).is_none()))
    }
}

fn accepts(wanted: &Type, given: &Type, lookup: &dyn Lookup, assumed: &mut Assumed) -> bool {
    match (wanted, given) {
        (Type::Unknown, _) | (_, Type::Unknown | Type::Never) => true,
        (Type::Named(a, _), Type::Named(b, _)) => {
            a == b || accepts_named((*a, wanted), (*b, given), lookup, assumed)
        }
        // A named object keeps its name until it meets another name, so that recursion is noticed.
        (Type::Nullable(inner), Type::Named(..)) if !is_choice(given.resolve(lookup)) => {
            accepts(inner, given, lookup, assumed)
        }
        (Type::Union(members), Type::Named(..)) if !is_choice(given.resolve(lookup)) => members
            .iter()
            .any(|member| accepts(member, given, lookup, assumed)),
        (_, Type::Named(..)) => match given.resolve(lookup) {
            Type::Named(..) => false,
            definition => accepts(wanted, definition, lookup, assumed),
        },
        (Type::Named(..), _) => match wanted.resolve(lookup) {
            Type::Named(..) => false,
            definition => accepts(definition, given, lookup, assumed),
        },
        (Type::Json, _) => !matches!(given, Type::Entity(_)),
        (_, Type::Union(members)) => members
            .iter()
            .all(|member| accepts(wanted, member, lookup, assumed)),
        (Type::Nullable(inner), Type::Nullable(other)) => accepts(inner, other, lookup, assumed),
        (Type::Nullable(_), Type::Null) => true,
        (Type::Nullable(inner), _) => accepts(inner, given, lookup, assumed),
        (Type::Union(members), _) => members
            .iter()
            .any(|member| accepts(member, given, lookup, assumed)),
        (Type::Number, Type::Int) | (Type::String, Type::Literal(_)) => true,
        (Type::List(a), Type::List(b)) | (Type::Map(a), Type::Map(b)) => {
            accepts(a, b, lookup, assumed)
        }
        (Type::Map(element), Type::Object(object)) => object
            .fields
            .iter()
            .all(|field| accepts(element, &field.kind, lookup, assumed)),
        (Type::Object(a), Type::Object(b)) => a
            .fields
            .iter()
            .all(|field| accepts_field(field, b.field(&field.name), lookup, assumed)),
        _ => wanted == given,
    }
}

/// Whether a type is one of several, so that it has to be taken apart before what is wanted.
fn is_choice(kind: &Type) -> bool {
    matches!(kind, Type::Union(_) | Type::Nullable(_) | Type::Null)
}

fn accepts_named(
    (a, wanted): (NamedId, &Type),
    (b, given): (NamedId, &Type),
    lookup: &dyn Lookup,
    assumed: &mut Assumed,
) -> bool {
    let known = assumed.iter().find(|(c, d, _)| (*c, *d) == (a, b));
    if let Some((_, _, fits)) = known {
        return *fits;
    }
    let place = assumed.len();
    assumed.push((a, b, true));
    let (wanted, given) = (wanted.resolve(lookup), given.resolve(lookup));
    let fits = accepts(wanted, given, lookup, assumed);
    if !fits {
        // What was found to fit meanwhile may have relied on this pair.
        assumed[place].2 = false;
        let mut at = 0;
        assumed.retain(|(_, _, fits)| {
            at += 1;
            at <= place || !fits
        });
    }
    fits
}

fn accepts_field(
    wanted: &FieldType,
    given: Option<&FieldType>,
    lookup: &dyn Lookup,
    assumed: &mut Assumed,
) -> bool {
    match given {
        None => wanted.optional,
        Some(given) if wanted.optional => {
            accepts(&wanted.kind.nullable(), &given.kind, lookup, assumed)
        }
        Some(given) => accepts(&wanted.kind, &given.read(), lookup, assumed),
    }
}

fn join_objects(a: &ObjectType, b: &ObjectType, lookup: &dyn Lookup) -> Option<Type> {
    let mut fields = Vec::with_capacity(a.fields.len());
    for field in &a.fields {
        let joined = match b.field(&field.name) {
            Some(other) => FieldType {
                name: field.name.clone(),
                kind: Type::join(&field.kind, &other.kind, lookup)?,
                optional: field.optional || other.optional,
            },
            None => FieldType::optional(field.name.clone(), field.kind.clone()),
        };
        fields.push(joined);
    }
    let rest = b
        .fields
        .iter()
        .filter(|field| a.field(&field.name).is_none());
    fields.extend(rest.map(|field| FieldType::optional(field.name.clone(), field.kind.clone())));
    Some(Type::object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::testing::{NONE, Names};

    fn object(fields: &[(&str, Type)]) -> Type {
        let field = |(name, kind): &(&str, Type)| match name.strip_suffix('?') {
            Some(name) => FieldType::optional(name, kind.clone()),
            None => FieldType::required(*name, kind.clone()),
        };
        Type::object(fields.iter().map(field).collect())
    }

    fn named(id: u32) -> Type {
        Type::Named(NamedId(id), format!("T{id}").into())
    }

    #[test]
    fn scalars() {
        let accepts = |a: &Type, b: &Type| a.accepts(b, &NONE);
        assert!(accepts(&Type::Number, &Type::Int));
        assert!(!accepts(&Type::Int, &Type::Number));
        assert!(!accepts(&Type::Duration, &Type::Int));
        assert!(!accepts(&Type::Duration, &Type::Size));
        assert!(accepts(&Type::String, &Type::literal("a")));
        assert!(!accepts(&Type::literal("a"), &Type::String));
        assert!(accepts(&Type::Int, &Type::Unknown));
        assert!(accepts(&Type::Unknown, &Type::Int));
        assert!(accepts(&Type::list(Type::Int), &Type::list(Type::Never)));
        assert!(!accepts(&Type::Never, &Type::Int));
        assert!(accepts(&Type::Json, &Type::list(Type::Int.nullable())));
        assert!(!accepts(&Type::Int, &Type::Json));
    }

    #[test]
    fn null_and_unions() {
        let risk = Type::union([Type::literal("low"), Type::literal("high")]);
        let accepts = |a: &Type, b: &Type| a.accepts(b, &NONE);
        assert!(accepts(&Type::String.nullable(), &Type::Null));
        assert!(accepts(&Type::Number.nullable(), &Type::Int.nullable()));
        assert!(!accepts(&Type::String, &Type::String.nullable()));
        assert!(accepts(&Type::String, &risk));
        assert!(accepts(&risk, &Type::literal("low")));
        assert!(!accepts(&risk, &Type::literal("medium")));
        assert!(accepts(&risk.nullable(), &risk));
        assert!(accepts(&Type::String.nullable(), &risk.nullable()));
    }

    #[test]
    fn objects_are_structural_and_may_have_more() {
        let review = object(&[("approved", Type::Bool), ("note?", Type::String)]);
        let accepts = |b: &Type| review.accepts(b, &NONE);
        assert!(accepts(&object(&[("approved", Type::Bool)])));
        assert!(accepts(&object(&[
            ("approved", Type::Bool),
            ("x", Type::Int)
        ])));
        assert!(accepts(&object(&[
            ("approved", Type::Bool),
            ("note", Type::String.nullable())
        ])));
        assert!(!accepts(&object(&[
            ("approved", Type::Bool),
            ("note", Type::Int)
        ])));
        assert!(!accepts(&object(&[("approved?", Type::Bool)])));
        assert!(!accepts(&object(&[("note", Type::String)])));
        assert!(Type::map(Type::Int).accepts(&object(&[("a", Type::Int)]), &NONE));
        let literal = object(&[("approved", Type::Bool), ("nte", Type::String)]);
        assert_eq!(review.excess(&literal, &NONE).unwrap().as_ref(), "nte");
        assert_eq!(Type::map(Type::Json).excess(&literal, &NONE), None);
    }

    #[test]
    fn recursive_types_end() {
        let tree = |own: u32| object(&[("next?", named(own)), ("all", Type::list(named(own)))]);
        let names = Names(vec![tree(0), tree(1), object(&[("next?", Type::Int)])]);
        assert!(named(0).accepts(&named(1), &names));
        assert!(named(0).accepts(&tree(1), &names));
        assert!(!named(2).accepts(&named(0), &names));
        assert_eq!(Type::join(&named(0), &named(1), &names), Some(named(0)));
    }

    #[test]
    fn common_types() {
        let join = |a: &Type, b: &Type| Type::join(a, b, &NONE).map(|t| t.to_string());
        assert_eq!(join(&Type::Int, &Type::Number).unwrap(), "number");
        assert_eq!(join(&Type::Int, &Type::Null).unwrap(), "int?");
        assert_eq!(
            join(&Type::Int.nullable(), &Type::Number).unwrap(),
            "number?"
        );
        assert_eq!(
            join(&Type::literal("a"), &Type::literal("b")).unwrap(),
            r#""a" | "b""#
        );
        assert_eq!(join(&Type::literal("a"), &Type::String).unwrap(), "string");
        assert_eq!(
            join(&Type::list(Type::Never), &Type::list(Type::Int)).unwrap(),
            "list<int>"
        );
        assert_eq!(
            join(
                &object(&[("a", Type::Int), ("b", Type::Null)]),
                &object(&[("a", Type::Number), ("b", Type::String), ("c", Type::Int)])
            )
            .unwrap(),
            "{ a: number, b: string?, c?: int }"
        );
        assert_eq!(join(&Type::Int, &Type::String), None);
        assert_eq!(join(&Type::Int, &Type::literal("a")), None);
        assert_eq!(
            join(&Type::Unknown, &Type::literal("a")).unwrap(),
            "unknown"
        );
    }
}
