//! Stand-in.
use outpost_compiler::program::*;
use outpost_grammar::Location;
use outpost_stdlib::Value;
pub trait Scope { fn read(&self, of: &Ref) -> Result<Value, String>; }
#[derive(Debug)]
pub struct Fault { pub at: Location, pub message: String }
pub fn evaluate(e: &Expr, p: &Program, s: &dyn Scope, l: &[Value]) -> Result<Value, Fault> {
    let ev = |x: &Expr| evaluate(x, p, s, l);
    Ok(match &e.kind {
        ExprKind::Const(v) => v.clone(),
        ExprKind::Ref(r) => return s.read(r).map_err(|message| Fault { at: e.at, message }),
        ExprKind::Field { of, name, .. } => ev(of)?.get(name).cloned().unwrap_or_default(),
        ExprKind::Not(x) => Value::Bool(ev(x)? != Value::Bool(true)),
        ExprKind::Chain { first, rest } => {
            let mut v = ev(first)?;
            for (op, x) in rest {
                match op {
                    BinaryOperator::Coalesce => { if v.is_null() { v = ev(x)?; } }
                    BinaryOperator::Equal => v = Value::Bool(v == ev(x)?),
                    BinaryOperator::NotEqual => v = Value::Bool(v != ev(x)?),
                    BinaryOperator::Add => v = Value::Int(v.as_int().unwrap_or(0) + ev(x)?.as_int().unwrap_or(0)),
                    BinaryOperator::Less => v = Value::Bool(v.as_int() < ev(x)?.as_int()),
                    BinaryOperator::Divide => {
                        let d = ev(x)?;
                        if d == Value::Int(0) { return Err(Fault { at: x.at, message: "division by zero".into() }); }
                        v = Value::Number(v.as_number().unwrap_or(0.) / d.as_number().unwrap_or(1.));
                    }
                    _ => return Err(Fault { at: e.at, message: "stub".into() }),
                }
            }
            v
        }
        ExprKind::List(items) => {
            let mut out = Vec::new();
            for i in items { if let Item::One(x) = i { out.push(ev(x)?); } }
            Value::list(out)
        }
        ExprKind::Object(entries) => {
            let mut out = Vec::new();
            for i in entries { if let Entry::Pair(k, x) = i { out.push((k.clone(), ev(x)?)); } }
            Value::object(out)
        }
        ExprKind::Template(parts) => {
            let mut out = String::new();
            for part in parts { match part { TemplatePart::Text(t) => out.push_str(t), TemplatePart::Hole(x) => out.push_str(&ev(x)?.to_display().unwrap_or_default()) } }
            Value::text(out)
        }
        _ => return Err(Fault { at: e.at, message: "stub".into() }),
    })
}
