//! The types of the language.

use std::sync::Arc;

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
