//! Going over an expression without evaluating it.

use crate::program::{Entry, Expr, ExprKind, Item, Ref, TemplatePart};
use outpost_grammar::Location;

/// The direct parts of an expression, in source order.
pub fn children<'e>(expr: &'e Expr, visit: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Ref(_) => {}
        ExprKind::Field { of: inner, .. }
        | ExprKind::Not(inner)
        | ExprKind::Negate(inner)
        | ExprKind::NotNull(inner)
        | ExprKind::As(inner, _)
        | ExprKind::Quote(inner)
        | ExprKind::Format(inner, _) => visit(inner),
        ExprKind::Index { of, index } => {
            visit(of);
            visit(index);
        }
        ExprKind::Builtin { arguments, .. } | ExprKind::Call { arguments, .. } => {
            arguments.iter().for_each(visit);
        }
        ExprKind::Chain { first, rest } => {
            visit(first);
            rest.iter().for_each(|(_, operand)| visit(operand));
        }
        ExprKind::If { arms, otherwise } => {
            for (condition, value) in arms {
                visit(condition);
                visit(value);
            }
            visit(otherwise);
        }
        ExprKind::Match { subject, arms } => {
            visit(subject);
            arms.iter().for_each(|(_, value)| visit(value));
        }
        ExprKind::List(items) => {
            for item in items {
                match item {
                    Item::One(inner) | Item::Spread(inner) => visit(inner),
                }
            }
        }
        ExprKind::Object(entries) => {
            for entry in entries {
                match entry {
                    Entry::Pair(_, inner) | Entry::Spread(inner) => visit(inner),
                }
            }
        }
        ExprKind::Comprehension(inner) => {
            visit(&inner.element);
            visit(&inner.list);
            inner.condition.iter().for_each(visit);
        }
        ExprKind::Template(parts) => {
            for part in parts {
                match part {
                    TemplatePart::Text(_) => {}
                    TemplatePart::Hole(inner) => visit(inner),
                }
            }
        }
    }
}

/// Every reference in an expression, in source order; the variables of comprehensions are among them.
pub fn references(expr: &Expr, visit: &mut dyn FnMut(&Ref, Location)) {
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        if let ExprKind::Ref(reference) = &expr.kind {
            visit(reference, expr.at);
        }
        let first = open.len();
        children(expr, &mut |child| open.push(child));
        open[first..].reverse();
    }
}
