//! The built-in functions: one table that feeds the checker, the evaluator, suggestions and the reference.

use crate::types::{NamedId, Type};
use crate::value::Value;

/// A built-in function.
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// The group it belongs to in the reference.
    pub family: &'static str,
    /// Its parameters; the optional ones are last.
    pub params: &'static [Param],
    /// As shown to people: `tail(text: string, count: int) -> string`.
    pub signature: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// An expression and the JSON of its value; run by a test.
    pub examples: &'static [(&'static str, &'static str)],
    /// The type of the result for the types of the arguments, or which argument does not fit.
    pub check: fn(&[Type], &dyn Lookup) -> Result<Type, Mismatch>,
    /// What it computes; one value for each parameter, null for one left out.
    pub run: fn(&[Value]) -> Result<Value, String>,
    /// Whether it may only stand where §6 of the language allows (`readFile`, `fileHash`, `raw`, …): the compiler decides.
    pub special: bool,
}

/// A parameter of a built-in function.
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Whether it may be left out.
    pub optional: bool,
}

/// An argument of the wrong type.
#[derive(Debug, PartialEq)]
pub struct Mismatch {
    /// Which argument, from 0.
    pub argument: usize,
    /// What it should be: `string`, `list<string>`, `a list`.
    pub expected: String,
}

/// Finds the definitions of named types.
pub trait Lookup {
    /// What a named type stands for.
    fn definition(&self, id: NamedId) -> &Type;
}
