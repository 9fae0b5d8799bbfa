//! The order of values: texts by code points, numbers by size.

use crate::quantity::Money;
use crate::value::Value;
use std::cmp::Ordering;

/// Which of two values is larger, for `<` and its kin; two amounts of money are compared as amounts.
pub fn compare(a: &Value, b: &Value) -> Result<Ordering, String> {
    if let (Value::Text(left), Value::Text(right)) = (a, b)
        && let (Ok(left), Ok(right)) = (Money::parse(left), Money::parse(right))
    {
        return left.compare(right);
    }
    plain(a, b).ok_or_else(|| format!("{} and {} have no order", a.kind(), b.kind()))
}

/// The total order of texts among themselves and of numbers among themselves.
pub(super) fn plain(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Number(a), Value::Number(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Number(b)) => Some(int_and_number(*a, *b)),
        (Value::Number(a), Value::Int(b)) => Some(int_and_number(*b, *a).reverse()),
        _ => None,
    }
}

/// Exact, unlike a comparison of doubles: sorting needs an order without contradictions.
fn int_and_number(int: i64, number: f64) -> Ordering {
    if number >= 2_f64.powi(63) {
        return Ordering::Less;
    }
    if number < -(2_f64.powi(63)) {
        return Ordering::Greater;
    }
    let whole = number.trunc();
    let by_whole = int.cmp(&(whole as i64));
    by_whole.then_with(|| {
        0.0_f64
            .partial_cmp(&(number - whole))
            .unwrap_or(Ordering::Equal)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_exactly() {
        let big = (1_i64 << 53) + 1;
        let double = Value::Number(2_f64.powi(53));
        assert_eq!(compare(&Value::Int(big), &double), Ok(Ordering::Greater));
        assert_eq!(compare(&double, &Value::Int(big)), Ok(Ordering::Less));
        assert_eq!(
            compare(&Value::Int(-1), &Value::Number(-1.5)),
            Ok(Ordering::Greater)
        );
        assert_eq!(
            compare(&Value::Int(1), &Value::Number(1.5)),
            Ok(Ordering::Less)
        );
        assert_eq!(
            compare(&Value::Int(i64::MAX), &Value::Number(1e19)),
            Ok(Ordering::Less)
        );
        assert_eq!(
            compare(&Value::Int(i64::MIN), &Value::Number(-1e19)),
            Ok(Ordering::Greater)
        );
        assert_eq!(
            compare(&Value::Int(2), &Value::Number(2.0)),
            Ok(Ordering::Equal)
        );
    }

    #[test]
    fn texts_and_money() {
        let text = |text: &str| Value::from(text);
        assert_eq!(compare(&text("10"), &text("9")), Ok(Ordering::Less));
        assert_eq!(
            compare(&text("10.00USD"), &text("9.00USD")),
            Ok(Ordering::Greater)
        );
        assert!(compare(&text("1.00USD"), &text("1.00EUR")).is_err());
        assert!(compare(&text("1"), &Value::Int(1)).is_err());
        assert!(compare(&Value::Null, &Value::Null).is_err());
    }
}
