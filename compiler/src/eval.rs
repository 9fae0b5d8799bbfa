//! Evaluation of expressions: pure, total, and bounded in depth, work and memory.
//!
//! Decided here, where the language page leaves it open:
//! an index below zero gives null like any other that is out of range;
//! `x in m` asks a map for a key and a text for a part;
//! two amounts of money are compared as amounts.

use crate::program::{
    BinaryOperator, Comprehension, Entry, Expr, ExprKind, FunctionId, Item, LocalId, Pattern,
    Program, Quantity, Ref, TemplatePart,
};
use outpost_grammar::Location;
use outpost_stdlib::functions::{self, Lookup, Work, shell_quoted};
use outpost_stdlib::quantity::{format_duration, format_size};
use outpost_stdlib::types::NamedId;
use outpost_stdlib::value::{MAX_ITEMS, MAX_JSON_BYTES};
use outpost_stdlib::{Object, Type, Value};
use std::fmt::Write;
use std::sync::Arc;

mod operators;
mod walk;

pub use walk::{children, references};

/// The most steps of one evaluation: a part of an expression is a step, so is an element that a function looks at.
pub const MAX_STEPS: u64 = 10_000_000;

/// The most bytes that the texts, lists and objects made by one evaluation may take together.
pub const MAX_WORKING_BYTES: u64 = 512 << 20;

/// The most expressions that may be under evaluation inside one another, calls of functions included.
pub const MAX_FRAMES: u32 = 1_000;

/// How many bytes of text count as one step.
const BYTES_PER_STEP: u64 = 64;

/// What a pattern that is made at run time costs: it may have to be compiled.
const STEPS_PER_PATTERN: u64 = 2_000;

/// About what an element of a list takes.
const ITEM_BYTES: u64 = 24;

/// About what a field of an object takes.
const FIELD_BYTES: u64 = 80;

/// An evaluation that failed: code `failed` at run time, `configuration` where all is constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The expression that failed.
    pub at: Location,
    /// The fact, in lower case and without a full stop.
    pub message: String,
}

/// What expressions read besides locals.
pub trait Scope {
    /// The value of any reference but a local; the error says why there is none.
    fn read(&self, reference: &Ref) -> Result<Value, String>;
}

/// The scope of constants: there is nothing in it.
pub struct ConstScope;

impl Scope for ConstScope {
    fn read(&self, _: &Ref) -> Result<Value, String> {
        Err("this is not known before the run".to_owned())
    }
}

/// The value of an expression. `locals` is the frame of its task, step or template: parameters first; it grows as needed.
pub fn evaluate(
    expr: &Expr,
    program: &Program,
    scope: &dyn Scope,
    locals: &mut Vec<Value>,
) -> Result<Value, Fault> {
    if let ExprKind::Const(value) = &expr.kind {
        return Ok(value.clone());
    }
    let mut evaluation = Evaluation {
        program,
        scope,
        locals,
        base: 0,
        steps: MAX_STEPS,
        bytes: MAX_WORKING_BYTES,
        frames: 0,
    };
    let value = evaluation.value(expr).map_err(|fault| *fault)?;
    match value.check_limits() {
        Ok(()) => Ok(value),
        Err(message) => Err(Fault {
            at: expr.at,
            message,
        }),
    }
}

/// The named types of a program.
pub struct Types<'p>(pub &'p Program);

impl Lookup for Types<'_> {
    fn definition(&self, id: NamedId) -> &Type {
        let named = self.0.types.get(id.0 as usize);
        named.map_or(&Type::Unknown, |named| &named.definition)
    }
}

/// Boxed, so that the value on the way back is small.
type Evaluated<T = Value> = Result<T, Box<Fault>>;

struct Evaluation<'e> {
    program: &'e Program,
    scope: &'e dyn Scope,
    /// The frames of all calls, the innermost last.
    locals: &'e mut Vec<Value>,
    /// Where the innermost frame starts.
    base: usize,
    /// Steps that are left.
    steps: u64,
    /// Bytes that are left.
    bytes: u64,
    /// Expressions under evaluation.
    frames: u32,
}

impl Evaluation<'_> {
    fn value(&mut self, expr: &Expr) -> Evaluated {
        self.spend(1, expr.at)?;
        match &expr.kind {
            ExprKind::Const(value) => return Ok(value.clone()),
            ExprKind::Ref(reference) => return self.reference(reference, expr.at),
            _ => {}
        }
        self.frames += 1;
        if self.frames > MAX_FRAMES {
            let message = format!("this nests more than {MAX_FRAMES} expressions and calls");
            return fault(expr.at, message);
        }
        let value = self.compound(expr);
        self.frames -= 1;
        value
    }

    /// Every arm is one call, so that the stack that recursion needs stays small.
    fn compound(&mut self, expr: &Expr) -> Evaluated {
        match &expr.kind {
            ExprKind::Const(value) => Ok(value.clone()),
            ExprKind::Ref(reference) => self.reference(reference, expr.at),
            ExprKind::Field { of, name, safe } => self.field(of, name, *safe, expr.at),
            ExprKind::Index { of, index } => self.index(of, index, expr.at),
            ExprKind::Builtin {
                function,
                arguments,
            } => self.builtin(*function, arguments, expr.at),
            ExprKind::Call {
                function,
                arguments,
            } => self.call(*function, arguments, expr.at),
            ExprKind::Not(inner) => self.not(inner),
            ExprKind::Negate(inner) => self.negate(inner, expr.at),
            ExprKind::NotNull(inner) => self.not_null(inner, expr.at),
            ExprKind::Chain { first, rest } => self.chain(first, rest),
            ExprKind::If { arms, otherwise } => self.conditional(arms, otherwise),
            ExprKind::Match { subject, arms } => self.choice(subject, arms, expr.at),
            ExprKind::List(items) => self.list(items, expr.at),
            ExprKind::Object(entries) => self.object(entries, expr.at),
            ExprKind::Comprehension(inner) => self.comprehension(inner, expr.at),
            ExprKind::Template(parts) => self.template(parts, expr.at),
            ExprKind::As(inner, kind) => self.narrowed(inner, kind, expr.at),
            ExprKind::Quote(inner) => self.quoted(inner),
            ExprKind::Format(inner, quantity) => self.formatted(inner, *quantity),
        }
    }

    #[inline(never)]
    fn reference(&mut self, reference: &Ref, at: Location) -> Evaluated {
        match reference {
            Ref::Local(local) => {
                let place = self.base + local.index();
                match self.locals.get(place) {
                    Some(value) => Ok(value.clone()),
                    None => fault(at, "this has no value here"),
                }
            }
            other => match self.scope.read(other) {
                Ok(value) => Ok(value),
                Err(message) => fault(at, message),
            },
        }
    }

    #[inline(never)]
    fn field(&mut self, of: &Expr, name: &Arc<str>, safe: bool, at: Location) -> Evaluated {
        match self.value(of)? {
            Value::Object(fields) => Ok(fields.get(name).cloned().unwrap_or_default()),
            Value::Null if safe => Ok(Value::Null),
            other => fault(at, format!("`{name}` is read from {}", other.kind())),
        }
    }

    #[inline(never)]
    fn index(&mut self, of: &Expr, index: &Expr, at: Location) -> Evaluated {
        let of = self.value(of)?;
        let index = self.value(index)?;
        match (&of, &index) {
            (Value::List(items), Value::Int(place)) => {
                let place = usize::try_from(*place).ok();
                let item = place.and_then(|place| items.get(place));
                Ok(item.cloned().unwrap_or_default())
            }
            (Value::Object(fields), Value::Text(key)) => {
                Ok(fields.get(key).cloned().unwrap_or_default())
            }
            _ => {
                let message = format!("{} has no element at {}", of.kind(), index.kind());
                fault(at, message)
            }
        }
    }

    #[inline(never)]
    fn builtin(&mut self, function: u16, arguments: &[Expr], at: Location) -> Evaluated {
        let function = functions::get(function);
        let mut values = Vec::with_capacity(function.params.len());
        for argument in arguments {
            values.push(self.value(argument)?);
        }
        values.resize(function.params.len(), Value::Null);
        self.charge(function.work, arguments, &values, at)?;
        let value = (function.run)(&values).or_else(|message| fault(at, message))?;
        if function.work != Work::Constant {
            self.allocate(footprint(&value), at)?;
        }
        Ok(value)
    }

    /// Pays for a call of a built-in function before it is made.
    fn charge(
        &mut self,
        work: Work,
        arguments: &[Expr],
        values: &[Value],
        at: Location,
    ) -> Evaluated<()> {
        let steps = match work {
            Work::Constant => 0,
            Work::Shallow => values.iter().map(surface).sum(),
            Work::Deep => values.iter().map(weight).sum(),
            Work::Pattern => {
                let constant = |pattern: &Expr| matches!(pattern.kind, ExprKind::Const(_));
                let known = arguments.get(1).is_some_and(constant);
                let compiling = if known { 0 } else { STEPS_PER_PATTERN };
                compiling + values.iter().map(surface).sum::<u64>()
            }
        };
        self.spend(steps, at)
    }

    #[inline(never)]
    fn call(&mut self, function: FunctionId, arguments: &[Expr], at: Location) -> Evaluated {
        let Some(function) = self.program.functions.get(function.index()) else {
            return fault(at, "this function does not exist");
        };
        let mut values = Vec::with_capacity(function.locals as usize);
        for argument in arguments {
            values.push(self.value(argument)?);
        }
        let (base, length) = (self.base, self.locals.len());
        self.base = length;
        self.locals.append(&mut values);
        self.locals
            .resize(length + function.locals as usize, Value::Null);
        let value = self.value(&function.body);
        self.locals.truncate(length);
        self.base = base;
        value
    }

    #[inline(never)]
    fn not(&mut self, inner: &Expr) -> Evaluated {
        Ok(Value::Bool(!self.truth(inner)?))
    }

    #[inline(never)]
    fn negate(&mut self, inner: &Expr, at: Location) -> Evaluated {
        let value = self.value(inner)?;
        operators::negate(&value).or_else(|message| fault(at, message))
    }

    #[inline(never)]
    fn not_null(&mut self, inner: &Expr, at: Location) -> Evaluated {
        match self.value(inner)? {
            Value::Null => fault(at, "this is null, and `!` says that it never is"),
            value => Ok(value),
        }
    }

    #[inline(never)]
    fn chain(&mut self, first: &Expr, rest: &[(BinaryOperator, Expr)]) -> Evaluated {
        if rest.iter().all(|(op, _)| *op == BinaryOperator::Concat) {
            return self.concatenation(first, rest);
        }
        let mut value = self.value(first)?;
        for (operator, operand) in rest {
            let decided = match (operator, &value) {
                (BinaryOperator::Coalesce, value) => !value.is_null(),
                (BinaryOperator::Or, Value::Bool(left)) => *left,
                (BinaryOperator::And, Value::Bool(left)) => !*left,
                _ => false,
            };
            if decided {
                continue;
            }
            let right = self.value(operand)?;
            let at = Location::new(first.at.source, first.at.span.to(operand.at.span));
            value = self.operate(*operator, value, right, at)?;
        }
        Ok(value)
    }

    fn operate(
        &mut self,
        operator: BinaryOperator,
        left: Value,
        right: Value,
        at: Location,
    ) -> Evaluated {
        match operator {
            BinaryOperator::Coalesce => return Ok(right),
            BinaryOperator::Or | BinaryOperator::And => {
                return match (left, right) {
                    (Value::Bool(_), Value::Bool(right)) => Ok(Value::Bool(right)),
                    _ => fault(at, "a condition is no bool"),
                };
            }
            BinaryOperator::Equal | BinaryOperator::NotEqual => {
                if is_large(&left) && is_large(&right) {
                    self.spend(weight(&left), at)?;
                }
            }
            BinaryOperator::In => self.spend(weight(&right), at)?,
            BinaryOperator::Less
            | BinaryOperator::LessEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterEqual => self.spend(surface(&left), at)?,
            BinaryOperator::Concat
            | BinaryOperator::Add
            | BinaryOperator::Subtract
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Remainder => {}
        }
        operators::binary(operator, &left, &right).or_else(|message| fault(at, message))
    }

    /// Texts one after the other, each copied once.
    fn concatenation(&mut self, first: &Expr, rest: &[(BinaryOperator, Expr)]) -> Evaluated {
        let mut text = String::new();
        for part in std::iter::once(first).chain(rest.iter().map(|(_, part)| part)) {
            match self.value(part)? {
                Value::Text(piece) => self.append(&mut text, &piece, part.at)?,
                other => return fault(part.at, format!("{} is no string", other.kind())),
            }
        }
        self.allocate(text.len() as u64, first.at)?;
        Ok(Value::from(text))
    }

    fn append(&mut self, text: &mut String, piece: &str, at: Location) -> Evaluated<()> {
        if text.len() + piece.len() > MAX_JSON_BYTES {
            let limit = format_size(MAX_JSON_BYTES as i64);
            return fault(at, format!("the text would be longer than {limit}"));
        }
        text.push_str(piece);
        self.spend(piece.len() as u64 / BYTES_PER_STEP, at)
    }

    #[inline(never)]
    fn conditional(&mut self, arms: &[(Expr, Expr)], otherwise: &Expr) -> Evaluated {
        for (condition, value) in arms {
            if self.truth(condition)? {
                return self.value(value);
            }
        }
        self.value(otherwise)
    }

    fn truth(&mut self, condition: &Expr) -> Evaluated<bool> {
        match self.value(condition)? {
            Value::Bool(value) => Ok(value),
            other => fault(
                condition.at,
                format!("expected bool, found {}", other.kind()),
            ),
        }
    }

    #[inline(never)]
    fn choice(&mut self, subject: &Expr, arms: &[(Pattern, Expr)], at: Location) -> Evaluated {
        let value = self.value(subject)?;
        for (pattern, result) in arms {
            if self.fits(pattern, &value, at)? {
                return self.value(result);
            }
        }
        fault(at, "no arm of the `match` fits")
    }

    fn fits(&mut self, pattern: &Pattern, value: &Value, at: Location) -> Evaluated<bool> {
        match pattern {
            Pattern::Any => Ok(true),
            Pattern::Constants(constants) => {
                self.spend(constants.len() as u64, at)?;
                Ok(constants.contains(value))
            }
            Pattern::Types(types) => {
                self.spend(weight(value), at)?;
                let lookup = Types(self.program);
                Ok(types.iter().any(|kind| kind.admits(value, &lookup)))
            }
        }
    }

    #[inline(never)]
    fn list(&mut self, items: &[Item], at: Location) -> Evaluated {
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::One(item) => all.push(self.value(item)?),
                Item::Spread(list) => match self.value(list)? {
                    Value::List(more) => {
                        self.spend(more.len() as u64, at)?;
                        all.extend(more.iter().cloned());
                    }
                    other => {
                        return fault(list.at, format!("expected a list, found {}", other.kind()));
                    }
                },
            }
            if all.len() > MAX_ITEMS {
                return too_many(at);
            }
        }
        self.allocate(all.len() as u64 * ITEM_BYTES, at)?;
        Ok(Value::List(all.into()))
    }

    #[inline(never)]
    fn object(&mut self, entries: &[Entry], at: Location) -> Evaluated {
        let mut fields = Object::with_capacity(entries.len());
        for entry in entries {
            match entry {
                Entry::Pair(key, value) => {
                    let value = self.value(value)?;
                    fields.insert(key.clone(), value);
                }
                Entry::Spread(object) => match self.value(object)? {
                    Value::Object(more) => {
                        self.spend(more.len() as u64, at)?;
                        let more = more.iter().map(|(key, value)| (key.clone(), value.clone()));
                        fields.extend(more);
                    }
                    other => {
                        let message = format!("expected an object, found {}", other.kind());
                        return fault(object.at, message);
                    }
                },
            }
            if fields.len() > MAX_ITEMS {
                return too_many(at);
            }
        }
        self.allocate(fields.len() as u64 * FIELD_BYTES, at)?;
        Ok(Value::Object(Arc::new(fields)))
    }

    #[inline(never)]
    fn comprehension(&mut self, inner: &Comprehension, at: Location) -> Evaluated {
        let items = match self.value(&inner.list)? {
            Value::List(items) => items,
            other => {
                let message = format!("expected a list, found {}", other.kind());
                return fault(inner.list.at, message);
            }
        };
        let mut all = Vec::new();
        for item in items.iter() {
            self.set(inner.variable, item.clone());
            let kept = match &inner.condition {
                Some(condition) => self.truth(condition)?,
                None => true,
            };
            if kept {
                all.push(self.value(&inner.element)?);
            }
        }
        self.set(inner.variable, Value::Null);
        if all.len() > MAX_ITEMS {
            return too_many(at);
        }
        self.allocate(all.len() as u64 * ITEM_BYTES, at)?;
        Ok(Value::List(all.into()))
    }

    fn set(&mut self, local: LocalId, value: Value) {
        let place = self.base + local.index();
        if place >= self.locals.len() {
            self.locals.resize(place + 1, Value::Null);
        }
        self.locals[place] = value;
    }

    #[inline(never)]
    fn template(&mut self, parts: &[TemplatePart], at: Location) -> Evaluated {
        let mut text = String::new();
        for part in parts {
            match part {
                TemplatePart::Text(piece) => self.append(&mut text, piece, at)?,
                TemplatePart::Hole(hole) => match self.value(hole)? {
                    Value::Text(piece) => self.append(&mut text, &piece, hole.at)?,
                    Value::Int(number) => write!(text, "{number}").expect("writing to a string"),
                    other => match other.to_display() {
                        Some(piece) => self.append(&mut text, &piece, hole.at)?,
                        None => return not_a_scalar(&other, hole.at),
                    },
                },
            }
        }
        self.allocate(text.len() as u64, at)?;
        Ok(Value::from(text))
    }

    #[inline(never)]
    fn narrowed(&mut self, inner: &Expr, kind: &Type, at: Location) -> Evaluated {
        let value = self.value(inner)?;
        let steps = weight(&value);
        self.spend(steps, at)?;
        self.allocate(steps.saturating_mul(ITEM_BYTES), at)?;
        let narrowed = kind.conform(value, &Types(self.program));
        narrowed.or_else(|error| fault(at, format!("`as` fails: {error}")))
    }

    #[inline(never)]
    fn quoted(&mut self, inner: &Expr) -> Evaluated {
        let value = self.value(inner)?;
        let Some(text) = value.to_display() else {
            return not_a_scalar(&value, inner.at);
        };
        self.allocate(text.len() as u64 * 4, inner.at)?;
        match shell_quoted(&text) {
            Ok(quoted) => Ok(Value::from(quoted)),
            Err(message) => fault(inner.at, message),
        }
    }

    #[inline(never)]
    fn formatted(&mut self, inner: &Expr, quantity: Quantity) -> Evaluated {
        match (self.value(inner)?, quantity) {
            (Value::Int(milliseconds), Quantity::Duration) => {
                Ok(Value::from(format_duration(milliseconds)))
            }
            (Value::Int(bytes), Quantity::Size) => Ok(Value::from(format_size(bytes))),
            (other, Quantity::Duration | Quantity::Size) => {
                let message = format!("expected a quantity, found {}", other.kind());
                fault(inner.at, message)
            }
        }
    }

    fn spend(&mut self, steps: u64, at: Location) -> Evaluated<()> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => fault(at, format!("this takes more than {MAX_STEPS} steps")),
        }
    }

    fn allocate(&mut self, bytes: u64, at: Location) -> Evaluated<()> {
        match self.bytes.checked_sub(bytes) {
            Some(left) => {
                self.bytes = left;
                Ok(())
            }
            None => {
                let limit = format_size(MAX_WORKING_BYTES as i64);
                fault(at, format!("this needs more than {limit} of memory"))
            }
        }
    }
}

#[cold]
fn fault<T>(at: Location, message: impl Into<String>) -> Evaluated<T> {
    let message = message.into();
    Err(Box::new(Fault { at, message }))
}

#[cold]
fn too_many(at: Location) -> Evaluated {
    fault(
        at,
        format!("this would have more than {MAX_ITEMS} elements"),
    )
}

#[cold]
fn not_a_scalar(value: &Value, at: Location) -> Evaluated {
    let message = match value {
        Value::Null => "null cannot be part of a text".to_owned(),
        other => format!("{} cannot be part of a text; use `json(…)`", other.kind()),
    };
    fault(at, message)
}

fn is_large(value: &Value) -> bool {
    matches!(value, Value::Text(_) | Value::List(_) | Value::Object(_))
}

/// Steps to go over a value without looking into its elements.
fn surface(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Number(_) => 0,
        Value::Text(text) => text.len() as u64 / BYTES_PER_STEP,
        Value::List(items) => items.len() as u64,
        Value::Object(fields) => fields.len() as u64,
    }
}

/// Steps to go over everything in a value.
fn weight(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Number(_) => 1,
        Value::Text(text) => 1 + text.len() as u64 / BYTES_PER_STEP,
        Value::List(items) => 1 + items.iter().map(weight).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(weight).sum::<u64>(),
    }
}

/// About how many bytes a function needed for its result, if nothing in it was there before.
fn footprint(value: &Value) -> u64 {
    let element = |value: &Value| match value {
        Value::Text(text) => ITEM_BYTES + text.len() as u64,
        Value::Object(fields) => ITEM_BYTES + fields.len() as u64 * FIELD_BYTES,
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Number(_) | Value::List(_) => {
            ITEM_BYTES
        }
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Number(_) => 0,
        Value::Text(text) => text.len() as u64,
        Value::List(items) => items.iter().map(element).sum(),
        Value::Object(fields) => fields.values().map(element).sum(),
    }
}

#[cfg(test)]
mod tests;
