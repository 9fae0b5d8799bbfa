//! Constant arithmetic: what can be computed while compiling, is; what cannot, is an error there.

use outpost_grammar::Location;
use outpost_stdlib::Value;

use crate::program::{BinaryOperator, Expr, ExprKind};

/// The expression computed, if all of it is constant; where and why that fails otherwise.
pub(crate) fn fold(expr: Expr) -> Result<Expr, (Location, &'static str)> {
    let at = expr.at;
    let value = match &expr.kind {
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::Const(Value::Bool(value)) => Some(Value::Bool(!value)),
            _ => None,
        },
        ExprKind::Negate(inner) => match &inner.kind {
            ExprKind::Const(Value::Int(value)) => {
                Some(Value::Int(value.checked_neg().ok_or((at, OVERFLOW))?))
            }
            ExprKind::Const(Value::Number(value)) => Some(Value::Number(-value)),
            _ => None,
        },
        ExprKind::Chain { first, rest } => match (&first.kind, &rest[..]) {
            (ExprKind::Const(left), [(operator, right)]) => match &right.kind {
                ExprKind::Const(right) => {
                    binary(*operator, left, right).map_err(|reason| (at, reason))?
                }
                _ => None,
            },
            (_, rest) => {
                let zero = rest.iter().find(|(operator, right)| {
                    matches!(operator, BinaryOperator::Divide | BinaryOperator::Remainder)
                        && matches!(right.kind, ExprKind::Const(Value::Int(0)))
                });
                match zero {
                    Some(_) => return Err((at, ZERO)),
                    None => None,
                }
            }
        },
        _ => None,
    };
    Ok(match value {
        Some(value) => Expr {
            kind: ExprKind::Const(value),
            at,
        },
        None => expr,
    })
}

const OVERFLOW: &str = "the result does not fit into an int of 64 bits";
const ZERO: &str = "this divides by zero";

fn binary(
    operator: BinaryOperator,
    left: &Value,
    right: &Value,
) -> Result<Option<Value>, &'static str> {
    use BinaryOperator as Op;
    Ok(match (operator, left, right) {
        (Op::Add, Value::Int(a), Value::Int(b)) => {
            Some(Value::Int(a.checked_add(*b).ok_or(OVERFLOW)?))
        }
        (Op::Subtract, Value::Int(a), Value::Int(b)) => {
            Some(Value::Int(a.checked_sub(*b).ok_or(OVERFLOW)?))
        }
        (Op::Multiply, Value::Int(a), Value::Int(b)) => {
            Some(Value::Int(a.checked_mul(*b).ok_or(OVERFLOW)?))
        }
        (Op::Divide | Op::Remainder, _, Value::Int(0)) => return Err(ZERO),
        (Op::Divide | Op::Remainder, _, Value::Number(b)) if *b == 0.0 => return Err(ZERO),
        (Op::Remainder, Value::Int(a), Value::Int(b)) => {
            Some(Value::Int(a.checked_rem(*b).ok_or(OVERFLOW)?))
        }
        (Op::And, Value::Bool(a), Value::Bool(b)) => Some(Value::Bool(*a && *b)),
        (Op::Or, Value::Bool(a), Value::Bool(b)) => Some(Value::Bool(*a || *b)),
        (Op::Equal, a, b) => Some(Value::Bool(a == b)),
        (Op::NotEqual, a, b) => Some(Value::Bool(a != b)),
        (Op::Less, Value::Int(a), Value::Int(b)) => Some(Value::Bool(a < b)),
        (Op::LessEqual, Value::Int(a), Value::Int(b)) => Some(Value::Bool(a <= b)),
        (Op::Greater, Value::Int(a), Value::Int(b)) => Some(Value::Bool(a > b)),
        (Op::GreaterEqual, Value::Int(a), Value::Int(b)) => Some(Value::Bool(a >= b)),
        (Op::Concat, Value::Text(a), Value::Text(b)) => {
            let mut text = String::with_capacity(a.len() + b.len());
            text.push_str(a);
            text.push_str(b);
            Some(Value::Text(text.into()))
        }
        _ => None,
    })
}
