//! Types in the language's words.

use super::{Entity, FieldType, Type};
use crate::value::Value;
use std::fmt;

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Unknown => out.write_str("unknown"),
            Type::Never => out.write_str("nothing"),
            Type::Null => out.write_str("null"),
            Type::Bool => out.write_str("bool"),
            Type::Int => out.write_str("int"),
            Type::Number => out.write_str("number"),
            Type::String => out.write_str("string"),
            Type::Duration => out.write_str("duration"),
            Type::Size => out.write_str("size"),
            Type::Money => out.write_str("money"),
            Type::Json => out.write_str("json"),
            Type::Literal(text) => write!(out, "{}", Value::Text(text.clone())),
            Type::Union(members) => {
                for (at, member) in members.iter().enumerate() {
                    let bar = if at == 0 { "" } else { " | " };
                    write!(out, "{bar}{member}")?;
                }
                Ok(())
            }
            Type::Nullable(inner) => match **inner {
                Type::Union(_) => write!(out, "({inner})?"),
                _ => write!(out, "{inner}?"),
            },
            Type::List(element) => write!(out, "list<{element}>"),
            Type::Map(element) => write!(out, "map<{element}>"),
            Type::Object(object) => {
                for (at, field) in object.fields.iter().enumerate() {
                    out.write_str(if at == 0 { "{ " } else { ", " })?;
                    write!(out, "{field}")?;
                }
                out.write_str(if object.fields.is_empty() { "{}" } else { " }" })
            }
            Type::Named(_, name) => out.write_str(name),
            Type::Entity(Entity::Sandbox) => out.write_str("Sandbox"),
            Type::Entity(Entity::Agent) => out.write_str("Agent"),
        }
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_name(&self.name) {
            out.write_str(&self.name)?;
        } else {
            write!(out, "{}", Value::Text(self.name.clone()))?;
        }
        let mark = if self.optional { "?" } else { "" };
        write!(out, "{mark}: {}", self.kind)
    }
}

/// Whether a key can be written without quotes: ASCII, a letter or `_` first, `-` only before one of the others.
pub(super) fn is_name(key: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = key.as_bytes();
    let first = bytes
        .first()
        .is_some_and(|b| word(*b) && !b.is_ascii_digit());
    let rest = bytes.iter().enumerate().all(|(at, byte)| {
        word(*byte) || (*byte == b'-' && bytes.get(at + 1).is_some_and(|next| word(*next)))
    });
    first && rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::NamedId;

    #[test]
    fn types_read_as_they_are_written() {
        let risk = Type::union([Type::literal("low"), Type::literal("high")]);
        let object = Type::object(vec![
            FieldType::required("a", Type::Int),
            FieldType::optional("b", Type::String),
            FieldType::required("x y", Type::Named(NamedId(0), "Review".into())),
        ]);
        for (shown, text) in [
            (Type::String.nullable(), "string?"),
            (Type::list(Type::Int), "list<int>"),
            (Type::map(Type::list(Type::Json)), "map<list<json>>"),
            (risk.clone(), r#""low" | "high""#),
            (risk.nullable(), r#"("low" | "high")?"#),
            (object, r#"{ a: int, b?: string, "x y": Review }"#),
            (Type::object(Vec::new()), "{}"),
            (Type::Entity(Entity::Sandbox), "Sandbox"),
        ] {
            assert_eq!(shown.to_string(), text);
        }
    }
}
