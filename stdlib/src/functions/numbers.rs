//! Numbers.

use super::argument::{mismatch, wants, wrong};
use super::{Function, Lookup, Mismatch, Work, required};
use crate::types::Type;
use crate::value::Value;

const FAMILY: &str = "numbers";

/// The functions of this family.
pub(super) const FUNCTIONS: [Function; 4] = [
    Function {
        name: "abs",
        family: FAMILY,
        params: &[required("number")],
        signature: "abs(number: T) -> T",
        doc: "An int, a number or a duration without its sign.",
        examples: &[("abs(-3)", "3"), ("abs(-0.5)", "0.5")],
        check: |types, lookup| match types.first().map(|kind| kind.resolve(lookup)) {
            Some(
                kind @ (Type::Unknown | Type::Int | Type::Number | Type::Duration | Type::Size),
            ) => Ok(kind.clone()),
            _ => Err(mismatch(0, "number")),
        },
        run: |values| match &values[0] {
            Value::Int(number) => {
                let positive = number.checked_abs();
                positive
                    .map(Value::Int)
                    .ok_or_else(|| too_large(*number as f64))
            }
            Value::Number(number) => Ok(Value::Number(number.abs())),
            other => Err(wrong(Some(other), "a number")),
        },
        special: false,
        work: Work::Constant,
    },
    Function {
        name: "round",
        family: FAMILY,
        params: &[required("number")],
        signature: "round(number: number) -> int",
        doc: "The nearest int; halves go away from zero.",
        examples: &[("round(2.5)", "3"), ("round(-2.5)", "-3")],
        check: number_to_int,
        run: |values| to_int(values, f64::round),
        special: false,
        work: Work::Constant,
    },
    Function {
        name: "floor",
        family: FAMILY,
        params: &[required("number")],
        signature: "floor(number: number) -> int",
        doc: "The greatest int that is not above the number.",
        examples: &[("floor(-1.5)", "-2")],
        check: number_to_int,
        run: |values| to_int(values, f64::floor),
        special: false,
        work: Work::Constant,
    },
    Function {
        name: "ceil",
        family: FAMILY,
        params: &[required("number")],
        signature: "ceil(number: number) -> int",
        doc: "The least int that is not below the number.",
        examples: &[("ceil(1.2)", "2")],
        check: number_to_int,
        run: |values| to_int(values, f64::ceil),
        special: false,
        work: Work::Constant,
    },
];

fn number_to_int(types: &[Type], lookup: &dyn Lookup) -> Result<Type, Mismatch> {
    wants(types, 0, &Type::Number, lookup)?;
    Ok(Type::Int)
}

fn to_int(values: &[Value], rounded: fn(f64) -> f64) -> Result<Value, String> {
    match &values[0] {
        Value::Int(_) => Ok(values[0].clone()),
        Value::Number(number) => {
            let whole = rounded(*number);
            let fits = (-(2_f64.powi(63))..2_f64.powi(63)).contains(&whole);
            fits.then_some(Value::Int(whole as i64))
                .ok_or_else(|| too_large(*number))
        }
        other => Err(wrong(Some(other), "a number")),
    }
}

fn too_large(number: f64) -> String {
    format!("{} does not fit an int of 64 bits", Value::Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::{call, check};

    #[test]
    fn what_fits_no_int_is_an_error() {
        assert!(call("abs(-9223372036854775808)").is_err());
        assert!(call("round(1e19)").unwrap_err().contains("64 bits"));
        assert!(call("floor(-1e19)").is_err());
        assert!(call("ceil(9223372036854775807.5)").is_err());
        assert_eq!(
            call("floor(-9223372036854775808.0)").unwrap(),
            "-9223372036854775808"
        );
        assert_eq!(call("round(7)").unwrap(), "7");
        assert_eq!(call("ceil(-0.5)").unwrap(), "0");
    }

    #[test]
    fn types_of_arguments() {
        assert_eq!(check("abs", &[Type::Duration]).unwrap(), "duration");
        assert_eq!(check("abs", &[Type::String]), Err((0, "number".into())));
        assert_eq!(check("round", &[Type::Int]).unwrap(), "int");
        assert_eq!(check("round", &[Type::Duration]), Err((0, "number".into())));
    }
}
