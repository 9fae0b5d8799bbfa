//! What the functions ask of their arguments, as types and as values, and the limits of what they give.

use super::{Lookup, Mismatch};
use crate::quantity::format_size;
use crate::types::Type;
use crate::value::{MAX_ITEMS, MAX_JSON_BYTES, Object, Value};

/// Refuses an argument that is not of a type.
pub(super) fn wants(
    types: &[Type],
    argument: usize,
    wanted: &Type,
    lookup: &dyn Lookup,
) -> Result<(), Mismatch> {
    match types.get(argument) {
        Some(given) if wanted.accepts(given, lookup) => Ok(()),
        Some(_) | None => Err(mismatch(argument, wanted)),
    }
}

/// Refuses an argument that is neither left out nor of a type.
pub(super) fn may_have(
    types: &[Type],
    argument: usize,
    wanted: &Type,
    lookup: &dyn Lookup,
) -> Result<(), Mismatch> {
    match types.get(argument) {
        None | Some(Type::Null) => Ok(()),
        Some(_) => wants(types, argument, wanted, lookup),
    }
}

/// The type of the elements of a list.
pub(super) fn element(
    types: &[Type],
    argument: usize,
    lookup: &dyn Lookup,
) -> Result<Type, Mismatch> {
    match types.get(argument).map(|kind| kind.resolve(lookup)) {
        Some(Type::List(element)) => Ok((**element).clone()),
        Some(Type::Unknown) => Ok(Type::Unknown),
        Some(Type::Never) => Ok(Type::Never),
        _ => Err(mismatch(argument, "a list")),
    }
}

/// The wrong argument and what it should be.
pub(super) fn mismatch(argument: usize, expected: impl ToString) -> Mismatch {
    Mismatch {
        argument,
        expected: expected.to_string(),
    }
}

/// The argument as text.
pub(super) fn text(values: &[Value], argument: usize) -> Result<&str, String> {
    match values.get(argument) {
        Some(Value::Text(text)) => Ok(text),
        other => Err(wrong(other, "a string")),
    }
}

/// The argument as a whole number.
pub(super) fn int(values: &[Value], argument: usize) -> Result<i64, String> {
    match values.get(argument) {
        Some(Value::Int(number)) => Ok(*number),
        other => Err(wrong(other, "an int")),
    }
}

/// The argument as a count: negative ones count as nothing.
pub(super) fn count(values: &[Value], argument: usize) -> Result<usize, String> {
    let count = int(values, argument)?.max(0);
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// The argument as a list.
pub(super) fn list(values: &[Value], argument: usize) -> Result<&[Value], String> {
    match values.get(argument) {
        Some(Value::List(items)) => Ok(items),
        other => Err(wrong(other, "a list")),
    }
}

/// The argument as an object or a map.
pub(super) fn object(values: &[Value], argument: usize) -> Result<&Object, String> {
    match values.get(argument) {
        Some(Value::Object(fields)) => Ok(fields),
        other => Err(wrong(other, "a map")),
    }
}

/// The message for a value of another kind.
pub(super) fn wrong(value: Option<&Value>, expected: &str) -> String {
    let found = value.map_or("nothing", Value::kind);
    format!("expected {expected}, found {found}")
}

/// Text that is being put together and stays within the limit.
#[derive(Default)]
pub(super) struct Output(String);

impl Output {
    /// Adds a piece.
    pub(super) fn push(&mut self, piece: &str) -> Result<(), String> {
        if self.0.len() + piece.len() > MAX_JSON_BYTES {
            return Err(too_long());
        }
        self.0.push_str(piece);
        Ok(())
    }

    /// The value.
    pub(super) fn done(self) -> Value {
        Value::from(self.0)
    }
}

/// A text as a value, if it is within the limit.
pub(super) fn bounded(text: String) -> Result<Value, String> {
    if text.len() > MAX_JSON_BYTES {
        return Err(too_long());
    }
    Ok(Value::from(text))
}

fn too_long() -> String {
    let limit = format_size(MAX_JSON_BYTES as i64);
    format!("the result would be longer than {limit}")
}

/// The elements as a list, if there are not too many.
pub(super) fn collect(items: impl Iterator<Item = Value>) -> Result<Value, String> {
    let mut all = Vec::new();
    for item in items {
        if all.len() == MAX_ITEMS {
            return Err(too_many());
        }
        all.push(item);
    }
    Ok(Value::List(all.into()))
}

/// The message for a list beyond [`MAX_ITEMS`].
pub(super) fn too_many() -> String {
    format!("the result would have more than {MAX_ITEMS} elements")
}
