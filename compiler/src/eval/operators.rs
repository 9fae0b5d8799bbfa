//! Operators on values. The checker has seen to the types; what does not fit all the same is an error, never a panic.

use crate::program::BinaryOperator;
use outpost_stdlib::Value;
use outpost_stdlib::functions::order::compare;
use outpost_stdlib::quantity::Money;
use std::cmp::Ordering;

/// What an operator that needs both its operands gives. `&&`, `||` and `??` are decided by the caller.
pub(super) fn binary(
    operator: BinaryOperator,
    left: &Value,
    right: &Value,
) -> Result<Value, String> {
    match operator {
        BinaryOperator::Coalesce | BinaryOperator::Or | BinaryOperator::And => Ok(right.clone()),
        BinaryOperator::Equal => Ok(Value::Bool(left == right)),
        BinaryOperator::NotEqual => Ok(Value::Bool(left != right)),
        BinaryOperator::Less => ordered(left, right, Ordering::is_lt),
        BinaryOperator::LessEqual => ordered(left, right, Ordering::is_le),
        BinaryOperator::Greater => ordered(left, right, Ordering::is_gt),
        BinaryOperator::GreaterEqual => ordered(left, right, Ordering::is_ge),
        BinaryOperator::In => is_in(left, right),
        BinaryOperator::Concat => concat(left, right),
        BinaryOperator::Add
        | BinaryOperator::Subtract
        | BinaryOperator::Multiply
        | BinaryOperator::Divide
        | BinaryOperator::Remainder => arithmetic(operator, left, right),
    }
}

/// `-x`.
pub(super) fn negate(value: &Value) -> Result<Value, String> {
    match value {
        Value::Int(number) => number.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Number(number) => Ok(Value::Number(-number)),
        Value::Text(text) => Money::parse(text)?.times(-1).map(money),
        other => Err(format!("{} has no negative", other.kind())),
    }
}

fn ordered(left: &Value, right: &Value, wanted: fn(Ordering) -> bool) -> Result<Value, String> {
    Ok(Value::Bool(wanted(compare(left, right)?)))
}

fn is_in(element: &Value, of: &Value) -> Result<Value, String> {
    match (element, of) {
        (_, Value::List(items)) => Ok(Value::Bool(items.contains(element))),
        (Value::Text(key), Value::Object(fields)) => Ok(Value::Bool(fields.contains_key(key))),
        (Value::Text(part), Value::Text(text)) => Ok(Value::Bool(text.contains(&**part))),
        _ => Err(format!("{} cannot be in {}", element.kind(), of.kind())),
    }
}

fn concat(left: &Value, right: &Value) -> Result<Value, String> {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => Ok(Value::from(format!("{left}{right}"))),
        _ => Err(format!("{} and {} do not join", left.kind(), right.kind())),
    }
}

fn arithmetic(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value, String> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) if operator != BinaryOperator::Divide => {
            whole(operator, *left, *right)
        }
        (Value::Text(_), _) | (_, Value::Text(_)) => amounts(operator, left, right),
        _ => match (left.as_number(), right.as_number()) {
            (Some(left), Some(right)) => fraction(operator, left, right),
            _ => Err(format!(
                "{} and {} do not make a number",
                left.kind(),
                right.kind()
            )),
        },
    }
}

fn whole(operator: BinaryOperator, left: i64, right: i64) -> Result<Value, String> {
    let result = match operator {
        BinaryOperator::Add => left.checked_add(right),
        BinaryOperator::Subtract => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        BinaryOperator::Remainder if right == 0 => return Err(division_by_zero()),
        BinaryOperator::Remainder => Some(left.wrapping_rem(right)),
        _ => None,
    };
    result.map(Value::Int).ok_or_else(overflow)
}

fn fraction(operator: BinaryOperator, left: f64, right: f64) -> Result<Value, String> {
    let result = match operator {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        BinaryOperator::Divide | BinaryOperator::Remainder if right == 0.0 => {
            return Err(division_by_zero());
        }
        BinaryOperator::Divide => left / right,
        BinaryOperator::Remainder => left % right,
        _ => f64::NAN,
    };
    Value::number(result).ok_or_else(|| "the result is too large for a number".to_owned())
}

/// Money: sums and differences, so many times an amount, and how many times one is in another.
fn amounts(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value, String> {
    let amount = |value: &Value| match value {
        Value::Text(text) => Money::parse(text).map(Some),
        _ => Ok(None),
    };
    match (operator, amount(left)?, amount(right)?, left, right) {
        (BinaryOperator::Add, Some(a), Some(b), ..) => a.plus(b).map(money),
        (BinaryOperator::Subtract, Some(a), Some(b), ..) => a.minus(b).map(money),
        (BinaryOperator::Multiply, Some(a), None, _, Value::Int(factor))
        | (BinaryOperator::Multiply, None, Some(a), Value::Int(factor), _) => {
            a.times(*factor).map(money)
        }
        (BinaryOperator::Divide, Some(a), Some(b), ..) => {
            a.compare(b)?;
            fraction(operator, a.millionths() as f64, b.millionths() as f64)
        }
        _ => Err(format!(
            "money does not go with {} here",
            if amount(left)?.is_some() { right } else { left }.kind()
        )),
    }
}

fn money(amount: Money) -> Value {
    Value::from(amount.to_string())
}

fn overflow() -> String {
    "the result does not fit an int of 64 bits".to_owned()
}

fn division_by_zero() -> String {
    "this divides by zero".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use BinaryOperator::{Add, Divide, Equal, In, Less, Multiply, Remainder, Subtract};

    /// The operator on two JSON values: JSON or the message.
    fn apply(left: &str, operator: BinaryOperator, right: &str) -> String {
        let value = |text: &str| Value::from_json(text).expect("a test writes JSON");
        match binary(operator, &value(left), &value(right)) {
            Ok(value) => value.to_json(),
            Err(message) => message,
        }
    }

    const OVERFLOW: &str = "the result does not fit an int of 64 bits";
    const ZERO: &str = "this divides by zero";

    #[test]
    fn ints_overflow_and_numbers_stay_finite() {
        assert_eq!(apply("1", Add, "2"), "3");
        assert_eq!(apply("1", Add, "0.5"), "1.5");
        assert_eq!(apply("9223372036854775807", Add, "1"), OVERFLOW);
        assert_eq!(apply("-9223372036854775808", Subtract, "1"), OVERFLOW);
        assert_eq!(apply("9223372036854775807", Multiply, "2"), OVERFLOW);
        assert_eq!(apply("-9223372036854775808", Remainder, "-1"), "0");
        assert_eq!(
            apply("1e308", Multiply, "10.0"),
            "the result is too large for a number"
        );
        assert_eq!(negate(&Value::Int(i64::MIN)), Err(OVERFLOW.to_owned()));
        assert_eq!(negate(&Value::Number(1.5)), Ok(Value::Number(-1.5)));
    }

    #[test]
    fn division_gives_a_number_and_never_divides_by_zero() {
        assert_eq!(apply("6", Divide, "3"), "2.0");
        assert_eq!(apply("-7", Remainder, "3"), "-1");
        for zero in ["0", "0.0", "-0.0"] {
            assert_eq!(apply("1", Divide, zero), ZERO);
            assert_eq!(apply("1", Remainder, zero), ZERO);
        }
    }

    #[test]
    fn money_is_exact() {
        let (ten, cents) = ("\"10.00USD\"", "\"0.10USD\"");
        let mixed = "`USD` and `EUR` do not mix";
        assert_eq!(apply(ten, Add, cents), "\"10.10USD\"");
        assert_eq!(apply(cents, Multiply, "3"), "\"0.30USD\"");
        assert_eq!(apply("3", Multiply, cents), "\"0.30USD\"");
        assert_eq!(apply(ten, Divide, cents), "100.0");
        assert_eq!(apply("\"9.00USD\"", Less, ten), "true");
        assert_eq!(apply(ten, Add, "\"1.00EUR\""), mixed);
        assert_eq!(apply(ten, Divide, "\"1.00EUR\""), mixed);
        assert_eq!(apply(ten, Less, "\"1.00EUR\""), mixed);
        assert_eq!(apply(ten, Divide, "\"0.00USD\""), ZERO);
        assert_eq!(apply(ten, Add, "1"), "money does not go with int here");
        assert_eq!(
            apply("1.5", Multiply, ten),
            "money does not go with number here"
        );
        assert_eq!(negate(&Value::from("1USD")), Ok(Value::from("-1.00USD")));
    }

    #[test]
    fn membership_and_equality() {
        assert_eq!(apply("2", In, "[1,2.0]"), "true");
        assert_eq!(apply("\"a\"", In, "{\"a\":null}"), "true");
        assert_eq!(apply("\"b\"", In, "\"abc\""), "true");
        assert_eq!(apply("1", In, "\"1\""), "int cannot be in string");
        assert_eq!(apply("{\"a\":1}", Equal, "{\"a\":1.0}"), "true");
        assert_eq!(apply("null", Equal, "false"), "false");
        assert_eq!(apply("null", Less, "1"), "null and int have no order");
        assert_eq!(apply("true", Add, "1"), "bool and int do not make a number");
    }
}
