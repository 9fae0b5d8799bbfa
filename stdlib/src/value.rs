//! Values: lossless JSON, cheap to clone.
//!
//! A duration is an integer of milliseconds, a size an integer of bytes, money a text like `2.50USD`:
//! units live in the types, so that every value can be saved and read back without knowing its type.

use indexmap::IndexMap;
use std::sync::Arc;

/// The most bytes one value may have as JSON (SEMANTICS §11).
pub const MAX_JSON_BYTES: usize = 16 << 20;

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
