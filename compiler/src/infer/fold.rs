//! Constant arithmetic: what can be computed while compiling, is; what cannot, is an error there.

use outpost_grammar::Location;
use outpost_stdlib::Value;

use crate::eval::{ConstScope, evaluate};
use crate::program::{BinaryOperator, Expr, ExprKind, Program};

/// The expression computed, if all of it is constant; where and why that fails otherwise.
///
/// What was reported stands as null, and is left as it is.
pub(crate) fn fold(expr: Expr, program: &Program) -> Result<Expr, (Location, String)> {
    let known = |expr: &Expr| match &expr.kind {
        ExprKind::Const(value) => *value != Value::Null,
        _ => false,
    };
    let (constant, arithmetic) = match &expr.kind {
        ExprKind::Not(inner) => (known(inner), false),
        ExprKind::Negate(inner) => (known(inner), true),
        ExprKind::Chain { first, rest } => match &rest[..] {
            [(operator, right)] if known(first) && known(right) => (true, computes(*operator)),
            rest => match rest.iter().any(divides_by_zero) {
                true => return Err((expr.at, "this divides by zero".to_owned())),
                false => (false, false),
            },
        },
        _ => (false, false),
    };
    if !constant {
        return Ok(expr);
    }
    match evaluate(&expr, program, &ConstScope, &mut Vec::new()) {
        Ok(value) => Ok(Expr {
            kind: ExprKind::Const(value),
            at: expr.at,
        }),
        Err(fault) if arithmetic => Err((expr.at, fault.message)),
        // Operands of the wrong type were reported.
        Err(_) => Ok(expr),
    }
}

fn computes(operator: BinaryOperator) -> bool {
    use BinaryOperator::{Add, Divide, Multiply, Remainder, Subtract};
    matches!(operator, Add | Subtract | Multiply | Divide | Remainder)
}

fn divides_by_zero((operator, right): &(BinaryOperator, Expr)) -> bool {
    let divides = matches!(operator, BinaryOperator::Divide | BinaryOperator::Remainder);
    let zero = match &right.kind {
        ExprKind::Const(Value::Int(value)) => *value == 0,
        ExprKind::Const(Value::Number(value)) => *value == 0.0,
        _ => false,
    };
    divides && zero
}
