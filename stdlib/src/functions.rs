//! The built-in functions: one table that feeds the checker, the evaluator, suggestions and the reference.
//!
//! A function is pure and total: what it cannot do is an error with a message, never a panic, and no result is beyond the limits of a value.

use crate::types::{NamedId, Type};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

mod argument;
mod collections;
mod digest;
mod json;
mod numbers;
pub mod order;
mod patterns;
mod placed;
mod reference;
mod text;

pub use patterns::check_pattern;
pub use reference::reference;
pub use text::shell_quoted;

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
    /// An optional one that is left out is `null`, or not there at the end.
    pub check: fn(&[Type], &dyn Lookup) -> Result<Type, Mismatch>,
    /// What it computes; one value for each parameter, null for one left out.
    pub run: fn(&[Value]) -> Result<Value, String>,
    /// Whether it may only stand where §6 of the language allows (`readFile`, `fileHash`, `raw`, …): the compiler decides.
    pub special: bool,
    /// What a call costs, for the bound on the work of an evaluation.
    pub work: Work,
}

/// How the time of a call grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It does not.
    Constant,
    /// With the texts and lists that are given, not with what is in them.
    Shallow,
    /// With everything in its arguments.
    Deep,
    /// Like `Shallow`, and with a pattern that may have to be compiled: the second argument.
    Pattern,
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
///
/// No definition leads back to its own name without a list, a map or an object between: where one did, it must be [`Type::Unknown`].
pub trait Lookup {
    /// What a named type stands for.
    fn definition(&self, id: NamedId) -> &Type;
}

/// All functions, family by family.
pub fn all() -> &'static [Function] {
    &TABLE
}

/// The place of a function in the table.
pub fn find(name: &str) -> Option<u16> {
    PLACES.get(name).copied()
}

/// The function at a place that [`find`] gave.
pub fn get(place: u16) -> &'static Function {
    &TABLE[usize::from(place)]
}

static TABLE: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let mut table = Vec::new();
    table.extend(text::FUNCTIONS);
    table.extend(patterns::FUNCTIONS);
    table.extend(collections::FUNCTIONS);
    table.extend(json::FUNCTIONS);
    table.extend(numbers::FUNCTIONS);
    table.extend(digest::FUNCTIONS);
    table.extend(placed::FUNCTIONS);
    table
});

static PLACES: LazyLock<HashMap<&'static str, u16>> = LazyLock::new(|| {
    let places = TABLE.iter().zip(0_u16..);
    places.map(|(function, at)| (function.name, at)).collect()
});

/// A parameter that must be given.
const fn required(name: &'static str) -> Param {
    Param {
        name,
        optional: false,
    }
}

/// A parameter that may be left out.
const fn optional(name: &'static str) -> Param {
    Param {
        name,
        optional: true,
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::types::testing::NONE;

    /// Runs a function on values.
    pub(crate) fn run(name: &str, arguments: &[Value]) -> Result<Value, String> {
        let function = get(find(name).unwrap());
        let mut all = arguments.to_vec();
        all.resize(function.params.len(), Value::Null);
        (function.run)(&all)
    }

    /// Runs a call whose arguments are written as JSON, bare words before a colon being keys.
    pub(crate) fn call(text: &str) -> Result<String, String> {
        let (name, rest) = text.split_once('(').unwrap();
        let arguments = rest.strip_suffix(')').unwrap();
        let keys = regex::Regex::new(r"([{,] *)([A-Za-z]+):").unwrap();
        let json = keys.replace_all(arguments, "$1\"$2\":");
        let values = Value::from_json(&format!("[{json}]")).unwrap();
        run(name, values.as_list().unwrap()).map(|value| value.to_json())
    }

    /// The type of a call, or the wrong argument and what it should be.
    pub(crate) fn check(name: &str, arguments: &[Type]) -> Result<String, (usize, String)> {
        let function = get(find(name).unwrap());
        (function.check)(arguments, &NONE)
            .map(|kind| kind.to_string())
            .map_err(|mismatch| (mismatch.argument, mismatch.expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::testing::NONE;

    #[test]
    fn every_example_gives_what_it_says() {
        for function in all() {
            let needs = usize::from(!function.special);
            assert!(function.examples.len() >= needs, "{}", function.name);
            for (example, result) in function.examples {
                assert_eq!(testing::call(example).as_deref(), Ok(*result), "{example}");
            }
        }
    }

    #[test]
    fn the_table_is_consistent() {
        for (function, place) in all().iter().zip(0_u16..) {
            assert_eq!(find(function.name), Some(place), "declared once");
            let head = format!("{}(", function.name);
            assert!(function.signature.starts_with(&head), "{}", function.name);
            let params = function.signature[head.len()..].split(')').next().unwrap();
            let names = params.split(", ").map(|param| {
                let name = param.split(':').next().unwrap();
                (name.trim_end_matches('?'), name.ends_with('?'))
            });
            let declared = function.params.iter().map(|p| (p.name, p.optional));
            assert!(names.eq(declared), "{}", function.signature);
            assert!(function.params.is_sorted_by_key(|param| param.optional));
            assert!(function.doc.ends_with('.'), "{}", function.doc);
        }
        assert_eq!(find("nothing"), None);
    }

    #[test]
    fn the_language_has_these_functions() {
        let names = "len trim lines split join replace contains startsWith endsWith upper lower head tail firstLines lastLines indent quote \
             matches capture captureAll first last sum min max sort unique flatten reverse range keys values entries json parseJson \
             abs round floor ceil sha256 readFile fileHash repositoryFingerprint raw";
        for name in names.split_whitespace() {
            assert!(find(name).is_some(), "{name}");
        }
        assert_eq!(all().len(), names.split_whitespace().count());
    }

    #[test]
    fn unknown_arguments_are_silent_everywhere() {
        for function in all() {
            let unknown = vec![Type::Unknown; function.params.len()];
            assert!(
                (function.check)(&unknown, &NONE).is_ok(),
                "{}",
                function.name
            );
            let entity = vec![Type::Entity(crate::types::Entity::Agent); function.params.len()];
            assert!(
                (function.check)(&entity, &NONE).is_err(),
                "{}",
                function.name
            );
        }
    }

    #[test]
    fn no_values_make_a_function_panic() {
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::Int(i64::MAX),
            Value::Int(-1),
            Value::Number(-1e300),
            Value::Number(0.5),
            Value::from(""),
            Value::from("ü\u{1F600}\r\n('"),
            Value::from(vec![Value::Null, Value::Int(1), Value::from("x")]),
            Value::object([("a", Value::list([])), ("b", Value::Int(2))]),
        ];
        for function in all() {
            for first in &values {
                for second in &values {
                    let mut arguments = vec![first.clone(), second.clone(), Value::Int(1)];
                    arguments.truncate(function.params.len());
                    if let Ok(value) = (function.run)(&arguments) {
                        assert_eq!(value.check_limits(), Ok(()));
                    }
                }
            }
        }
    }
}
