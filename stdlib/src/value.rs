//! Values: lossless JSON, cheap to clone.
//!
//! A duration is an integer of milliseconds, a size an integer of bytes, money a text like `2.50USD`:
//! units live in the types, so that every value can be saved and read back without knowing its type.

use indexmap::IndexMap;
use std::sync::Arc;

/// The most bytes one value may have as JSON (SEMANTICS §11).
pub const MAX_JSON_BYTES: usize = 16 << 20;

/// The most lists and objects that may stand inside one another in a value (SEMANTICS §11).
pub const MAX_DEPTH: usize = 200;

/// The most elements a function or an expression may put into one list.
pub const MAX_ITEMS: usize = 1_000_000;

/// An object: keys in the order in which they were written.
pub type Object = IndexMap<Arc<str>, Value>;

/// A JSON value; text, lists and objects are shared.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A finite double.
    Number(f64),
    /// Text.
    Text(Arc<str>),
    /// A list.
    List(Arc<[Value]>),
    /// An object; equality ignores the order of keys.
    Object(Arc<Object>),
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => a == b,
            (Value::Int(a), Value::Number(b)) | (Value::Number(b), Value::Int(a)) => {
                *a as f64 == *b
            }
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Object(a), Value::Object(b)) => a == b,
            _ => false,
        }
    }
}

impl Value {
    /// Text.
    pub fn text(text: impl Into<Arc<str>>) -> Value {
        Value::Text(text.into())
    }

    /// A list of values.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Value {
        Value::List(items.into_iter().collect())
    }

    /// An object of keys and values; of equal keys the last one counts.
    pub fn object<K: Into<Arc<str>>>(fields: impl IntoIterator<Item = (K, Value)>) -> Value {
        let fields = fields
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect();
        Value::Object(Arc::new(fields))
    }

    /// A finite double; nothing for `NaN` and the infinities, which no value can be.
    pub fn number(number: f64) -> Option<Value> {
        number.is_finite().then_some(Value::Number(number))
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The truth value.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The whole number.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, whole or not.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(*value as f64),
            Value::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// The text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The fields of an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// The field of an object; nothing where it is absent or this is no object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// What kind of value it is, in the language's words.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Number(_) => "number",
            Value::Text(_) => "string",
            Value::List(_) => "list",
            Value::Object(_) => "object",
        }
    }

    /// A scalar as a template shows it; nothing for null, a list or an object.
    pub fn to_display(&self) -> Option<Arc<str>> {
        match self {
            Value::Text(text) => Some(text.clone()),
            Value::Int(number) => Some(number.to_string().into()),
            Value::Bool(value) => Some(if *value { "true" } else { "false" }.into()),
            Value::Number(_) => Some(self.to_json().into()),
            Value::Null | Value::List(_) | Value::Object(_) => None,
        }
    }

    /// How many lists and objects stand inside one another: 0 for a scalar, 1 for `[]`.
    pub fn depth(&self) -> usize {
        match self {
            Value::List(items) => 1 + items.iter().map(Value::depth).max().unwrap_or(0),
            Value::Object(fields) => 1 + fields.values().map(Value::depth).max().unwrap_or(0),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Number(_) | Value::Text(_) => 0,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Value {
        Value::Text(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_ignores_the_order_of_keys_and_the_form_of_numbers() {
        let one = Value::object([("a", Value::Int(1)), ("b", Value::Null)]);
        let two = Value::object([("b", Value::Null), ("a", Value::Number(1.0))]);
        assert_eq!(one, two);
        assert_ne!(Value::Null, Value::Bool(false));
        assert_ne!(Value::text("1"), Value::Int(1));
    }

    #[test]
    fn accessors_look_only_at_their_kind() {
        let value = Value::object([("list", Value::from(vec![1_i64, 2]))]);
        assert_eq!(value.get("list").unwrap().as_list().unwrap().len(), 2);
        assert_eq!(value.get("none"), None);
        assert_eq!(Value::Int(3).as_number(), Some(3.0));
        assert_eq!(Value::Number(3.0).as_int(), None);
        assert_eq!(value.depth(), 2);
        assert_eq!(Value::number(f64::NAN), None);
    }

    #[test]
    fn scalars_are_shown_like_json_but_for_quotes() {
        assert_eq!(Value::Number(1.0).to_display().unwrap().as_ref(), "1.0");
        assert_eq!(Value::Bool(true).to_display().unwrap().as_ref(), "true");
        assert_eq!(Value::text("a\"b").to_display().unwrap().as_ref(), "a\"b");
        assert_eq!(Value::Null.to_display(), None);
    }
}
