//! JSON.

use super::argument::{bounded, mismatch, text, wants};
use super::{Function, Work, required};
use crate::types::Type;
use crate::value::Value;

const FAMILY: &str = "JSON";

/// The functions of this family.
pub(super) const FUNCTIONS: [Function; 2] = [
    Function {
        name: "json",
        family: FAMILY,
        params: &[required("value")],
        signature: "json(value: json) -> string",
        doc: "Any value as compact JSON with its keys sorted, so that equal objects give equal texts.",
        examples: &[(
            "json({ b: [1, 2.0], a: null })",
            "\"{\\\"a\\\":null,\\\"b\\\":[1,2.0]}\"",
        )],
        check: |types, lookup| match types.first() {
            Some(kind) if !matches!(kind.resolve(lookup), Type::Entity(_)) => Ok(Type::String),
            _ => Err(mismatch(0, "a value")),
        },
        run: |values| bounded(values[0].canonical_json()),
        special: false,
        work: Work::Deep,
    },
    Function {
        name: "parseJson",
        family: FAMILY,
        params: &[required("text")],
        signature: "parseJson(text: string) -> json",
        doc: "The value that a JSON text stands for, to be narrowed with `as`; fails if it is no JSON or beyond a limit.",
        examples: &[("parseJson(\"{\\\"a\\\": [1, null]}\")", "{\"a\":[1,null]}")],
        check: |types, lookup| {
            wants(types, 0, &Type::String, lookup)?;
            Ok(Type::Json)
        },
        run: |values| {
            let text = text(values, 0)?;
            Value::from_json(text).map_err(|error| format!("this is no JSON: {error}"))
        },
        special: false,
        work: Work::Shallow,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::{call, check, run};
    use crate::value::MAX_JSON_BYTES;

    #[test]
    fn what_is_no_json_fails_with_the_place() {
        let error = call("parseJson(\"[1,\")").unwrap_err();
        assert!(error.starts_with("this is no JSON: "), "{error}");
        assert!(error.contains("line 1 column"), "{error}");
        assert!(
            call("parseJson(\"9223372036854775808\")")
                .unwrap_err()
                .contains("64 bits")
        );
    }

    #[test]
    fn text_grows_no_further_than_the_limit() {
        let quotes = Value::from("\"".repeat(MAX_JSON_BYTES));
        assert!(run("json", &[quotes]).is_err());
    }

    #[test]
    fn types_of_arguments() {
        assert_eq!(check("json", &[Type::Null]).unwrap(), "string");
        assert_eq!(check("parseJson", &[Type::String]).unwrap(), "json");
        assert_eq!(check("parseJson", &[Type::Json]), Err((0, "string".into())));
    }
}
