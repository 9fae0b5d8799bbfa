//! Relations between types, with the program's named types at hand.

use outpost_stdlib::types::{FieldType, Type};

use crate::builtins::Definitions;
use crate::program::NamedType;

/// The longest type shown in a message, in characters.
const MAX_SHOWN: usize = 80;

/// The type itself, or what its name stands for.
pub(crate) fn definition<'a>(kind: &'a Type, types: &'a [NamedType]) -> &'a Type {
    let mut kind = kind;
    // A chain of names is at most as long as there are names; a circular one is reported and made unknown.
    for _ in 0..=types.len() {
        match kind {
            Type::Named(id, _) => match types.get(id.0 as usize) {
                Some(named) => kind = &named.definition,
                None => return &Type::Unknown,
            },
            _ => return kind,
        }
    }
    &Type::Unknown
}

/// Whether a value of the first type may stand where the second is wanted.
pub(crate) fn fits(from: &Type, to: &Type, types: &[NamedType]) -> bool {
    to.accepts(from, &Definitions(types))
}

/// The smallest type that both fit, if there is one.
pub(crate) fn join(a: &Type, b: &Type, types: &[NamedType]) -> Option<Type> {
    if a == b {
        return Some(a.clone());
    }
    Type::join(a, b, &Definitions(types))
}

/// The type that reading a field gives.
pub(crate) fn read(field: &FieldType) -> Type {
    if field.optional {
        nullable(&field.kind)
    } else {
        field.kind.clone()
    }
}

/// `T?`.
pub(crate) fn nullable(kind: &Type) -> Type {
    match kind {
        Type::Json => Type::Json,
        _ => kind.nullable(),
    }
}

/// The type inside a `T?`; the type itself otherwise.
pub(crate) fn without_null(kind: &Type) -> &Type {
    match kind {
        Type::Nullable(inner) => inner,
        _ => kind,
    }
}

/// Whether a value of the type may be null. `json` is not meant: it must be narrowed anyway.
pub(crate) fn may_be_null(kind: &Type, types: &[NamedType]) -> bool {
    matches!(definition(kind, types), Type::Null | Type::Nullable(_))
}

/// Whether `==` between them can ever hold.
pub(crate) fn comparable(a: &Type, b: &Type, types: &[NamedType]) -> bool {
    let (a, b) = (definition(a, types), definition(b, types));
    if fits(a, b, types) || fits(b, a, types) {
        return true;
    }
    match (a, b) {
        (Type::Nullable(a), b) | (b, Type::Nullable(a)) => comparable(a, without_null(b), types),
        (Type::Union(members), other) | (other, Type::Union(members)) => members
            .iter()
            .any(|member| comparable(member, other, types)),
        (Type::Json, _) | (_, Type::Json) => true,
        (Type::List(a), Type::List(b)) | (Type::Map(a), Type::Map(b)) => comparable(a, b, types),
        (Type::Object(a), Type::Object(b)) => a.fields.iter().all(|left| {
            match b.fields.iter().find(|field| field.name == left.name) {
                Some(right) => comparable(&left.kind, &right.kind, types),
                None => left.optional,
            }
        }),
        _ => false,
    }
}

/// A type as people write it, cut when it is long.
pub(crate) fn show(kind: &Type) -> String {
    let text = kind.to_string();
    if text.chars().count() > MAX_SHOWN {
        let cut: String = text.chars().take(MAX_SHOWN - 2).collect();
        return format!("{cut} …");
    }
    text
}

/// The types of results, made once and shared.
#[derive(Debug)]
pub(crate) struct Shapes {
    /// Of a command without `returns`.
    pub command: Type,
    /// Of an agent without `response`.
    pub agent: Type,
    /// Of a gate.
    pub gate: Type,
    /// `quota`.
    pub quota: Type,
    /// `phase`.
    pub phase: Type,
    /// `string?`.
    pub optional_text: Type,
}

impl Shapes {
    /// All of them.
    pub(crate) fn new() -> Shapes {
        Shapes {
            command: Type::command_result(None),
            agent: Type::agent_result(None),
            gate: Type::gate_result(),
            quota: Type::quota(),
            phase: Type::phase(),
            optional_text: Type::String.nullable(),
        }
    }
}

/// Whether the type is an agent's result, by its fields.
pub(crate) fn is_agent_result(kind: &Type, types: &[NamedType]) -> bool {
    match definition(without_null(definition(kind, types)), types) {
        Type::Object(object) => ["text", "commits", "usage", "conversation"]
            .iter()
            .all(|name| object.field(name).is_some()),
        Type::Unknown => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_that_share_a_member_can_be_equal() {
        let low = Type::union([Type::literal("low"), Type::literal("mid")]);
        let high = Type::union([Type::literal("mid"), Type::literal("high")]);
        assert!(comparable(&low, &high, &[]));
        assert!(!comparable(&low, &Type::Int, &[]));
        assert!(comparable(&Type::Int.nullable(), &Type::Int, &[]));
    }
}
