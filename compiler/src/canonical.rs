//! Expressions and types as text that is the same for the same meaning: the parts of a plan are made of it.
//!
//! Names stand for ids, constants are canonical JSON, variables are numbered by how deep they are bound,
//! and functions that are called stand behind the expression, so that a changed function shows.

use crate::program::{
    BinaryOperator, Comprehension, Entry, Expr, ExprKind, FunctionId, Item, LocalId, Pattern,
    Program, Quantity, Ref, TemplatePart, Workflow,
};
use outpost_stdlib::{Type, Value, functions};
use std::fmt::Write;

/// Prints expressions and types of one workflow.
pub struct Printer<'p> {
    program: &'p Program,
    workflow: &'p Workflow,
}

impl<'p> Printer<'p> {
    /// A printer for expressions of a workflow.
    pub fn new(program: &'p Program, workflow: &'p Workflow) -> Printer<'p> {
        Printer { program, workflow }
    }

    /// The text of an expression, and behind it a line for each function that it calls, directly or not.
    pub fn expr(&self, expr: &Expr) -> String {
        let mut page = Page {
            printer: self,
            text: String::new(),
            bound: Vec::new(),
            called: Vec::new(),
        };
        page.expr(expr);
        let mut next = 0;
        while let Some(id) = page.called.get(next).copied() {
            next += 1;
            page.function(id);
        }
        page.text
    }

    /// The text of a type; named types are spelt out, inner mentions of themselves by name.
    pub fn kind(&self, kind: &Type) -> String {
        let mut text = kind.to_string();
        let mut seen = Vec::new();
        self.definitions(kind, &mut seen, &mut text);
        text
    }

    fn definitions(&self, kind: &Type, seen: &mut Vec<u32>, text: &mut String) {
        match kind {
            Type::Named(id, name) if !seen.contains(&id.0) => {
                seen.push(id.0);
                let Some(named) = self.program.types.get(id.0 as usize) else {
                    return;
                };
                let _ = write!(text, "\ntype {name} = {}", named.definition);
                self.definitions(&named.definition, seen, text);
            }
            Type::Nullable(inner) | Type::List(inner) | Type::Map(inner) => {
                self.definitions(inner, seen, text);
            }
            Type::Union(members) => {
                members
                    .iter()
                    .for_each(|member| self.definitions(member, seen, text));
            }
            Type::Object(object) => {
                let fields = object.fields.iter();
                fields.for_each(|field| self.definitions(&field.kind, seen, text));
            }
            Type::Named(..)
            | Type::Unknown
            | Type::Never
            | Type::Null
            | Type::Bool
            | Type::Int
            | Type::Number
            | Type::String
            | Type::Duration
            | Type::Size
            | Type::Money
            | Type::Json
            | Type::Literal(_)
            | Type::Entity(_) => {}
        }
    }
}

struct Page<'p> {
    printer: &'p Printer<'p>,
    text: String,
    /// Variables of the comprehensions around, outermost first.
    bound: Vec<LocalId>,
    /// Functions in the order of their first call.
    called: Vec<FunctionId>,
}

impl Page<'_> {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn function(&mut self, id: FunctionId) {
        let function = &self.printer.program.functions[id.index()];
        let _ = write!(self.text, "\nfn {}(", function.name);
        for param in &function.params {
            let _ = write!(self.text, "{}: {}, ", param.name, param.kind);
        }
        let _ = write!(self.text, ") -> {} = ", function.result);
        self.expr(&function.body);
    }

    fn constant(&mut self, value: &Value) {
        self.text.push_str(&value.canonical_json());
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value),
            ExprKind::Ref(reference) => self.reference(reference),
            ExprKind::Field { of, name, safe } => {
                self.expr(of);
                self.push(if *safe { "?." } else { "." });
                self.push(name);
            }
            ExprKind::Index { of, index } => {
                self.expr(of);
                self.push("[");
                self.expr(index);
                self.push("]");
            }
            ExprKind::Builtin {
                function,
                arguments,
            } => {
                self.push(functions::get(*function).name);
                self.list("(", arguments, ")");
            }
            ExprKind::Call {
                function,
                arguments,
            } => {
                if !self.called.contains(function) {
                    self.called.push(*function);
                }
                let name = &self.printer.program.functions[function.index()].name;
                self.push(name);
                self.list("(", arguments, ")");
            }
            ExprKind::Not(inner) => self.around("!(", inner, ")"),
            ExprKind::Negate(inner) => self.around("-(", inner, ")"),
            ExprKind::NotNull(inner) => self.around("(", inner, ")!"),
            ExprKind::Quote(inner) => self.around("quoted(", inner, ")"),
            ExprKind::Format(inner, Quantity::Duration) => self.around("duration(", inner, ")"),
            ExprKind::Format(inner, Quantity::Size) => self.around("size(", inner, ")"),
            ExprKind::As(inner, kind) => {
                self.around("(", inner, " as ");
                let kind = self.printer.kind(kind);
                self.push(&kind);
                self.push(")");
            }
            ExprKind::Chain { first, rest } => {
                self.around("(", first, "");
                for (operator, operand) in rest {
                    self.push(sign(*operator));
                    self.expr(operand);
                }
                self.push(")");
            }
            ExprKind::If { arms, otherwise } => {
                for (condition, value) in arms {
                    self.around("if ", condition, " then ");
                    self.around("", value, " else ");
                }
                self.expr(otherwise);
            }
            ExprKind::Match { subject, arms } => {
                self.around("match ", subject, " {");
                for (pattern, value) in arms {
                    self.pattern(pattern);
                    self.around(" => ", value, ",");
                }
                self.push("}");
            }
            ExprKind::List(items) => {
                self.push("[");
                for item in items {
                    match item {
                        Item::One(one) => self.around("", one, ", "),
                        Item::Spread(spread) => self.around("...", spread, ", "),
                    }
                }
                self.push("]");
            }
            ExprKind::Object(entries) => {
                self.push("{");
                for entry in entries {
                    match entry {
                        Entry::Pair(key, value) => {
                            self.constant(&Value::Text(key.clone()));
                            self.around(": ", value, ", ");
                        }
                        Entry::Spread(spread) => self.around("...", spread, ", "),
                    }
                }
                self.push("}");
            }
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Template(parts) => {
                self.push("text(");
                for part in parts {
                    match part {
                        TemplatePart::Text(text) => {
                            self.constant(&Value::Text(text.clone()));
                            self.push(", ");
                        }
                        TemplatePart::Hole(hole) => self.around("", hole, ", "),
                    }
                }
                self.push(")");
            }
        }
    }

    fn around(&mut self, before: &str, expr: &Expr, after: &str) {
        self.push(before);
        self.expr(expr);
        self.push(after);
    }

    fn list(&mut self, open: &str, exprs: &[Expr], close: &str) {
        self.push(open);
        for expr in exprs {
            self.around("", expr, ", ");
        }
        self.push(close);
    }

    fn comprehension(&mut self, comprehension: &Comprehension) {
        self.around("[for ", &comprehension.list, ": ");
        self.bound.push(comprehension.variable);
        if let Some(condition) = &comprehension.condition {
            self.around("if ", condition, " ");
        }
        self.expr(&comprehension.element);
        self.bound.pop();
        self.push("]");
    }

    fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Any => self.push("_"),
            Pattern::Constants(values) => {
                for value in values {
                    self.constant(value);
                    self.push(" | ");
                }
            }
            Pattern::Types(kinds) => {
                for kind in kinds {
                    let kind = self.printer.kind(kind);
                    self.push(&kind);
                    self.push(" | ");
                }
            }
        }
    }

    fn reference(&mut self, reference: &Ref) {
        let workflow = self.printer.workflow;
        match reference {
            Ref::Input(id) => {
                let _ = write!(self.text, "inputs.{}", workflow.inputs[id.index()].name);
            }
            Ref::Task { task, soft } => {
                let mark = if *soft { "?" } else { "" };
                let _ = write!(self.text, "`{}`{mark}", workflow.tasks[task.index()].key);
            }
            Ref::Step(at) => {
                let _ = write!(self.text, "step {at}");
            }
            Ref::Local(local) => match self.bound.iter().rposition(|bound| bound == local) {
                Some(depth) => {
                    let _ = write!(self.text, "${depth}");
                }
                None => {
                    let _ = write!(self.text, "@{}", local.0);
                }
            },
            Ref::Secret(id) => {
                let name = &self.printer.program.secrets[id.index()].name;
                let _ = write!(self.text, "secret.{name}");
            }
            Ref::Env(name) => {
                let _ = write!(self.text, "env.{name}");
            }
            Ref::Feedback => self.push("feedback"),
            Ref::Candidate => self.push("candidate"),
            Ref::Previous => self.push("previous"),
            Ref::Round => self.push("round"),
            Ref::Phase => self.push("phase"),
            Ref::Attempt => self.push("attempt"),
            Ref::IdempotencyKey => self.push("idempotencyKey"),
            Ref::Quota => self.push("quota"),
            Ref::RunId => self.push("run.id"),
            Ref::RunName => self.push("run.name"),
        }
    }
}

fn sign(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Coalesce => " ?? ",
        BinaryOperator::Or => " || ",
        BinaryOperator::And => " && ",
        BinaryOperator::Equal => " == ",
        BinaryOperator::NotEqual => " != ",
        BinaryOperator::Less => " < ",
        BinaryOperator::LessEqual => " <= ",
        BinaryOperator::Greater => " > ",
        BinaryOperator::GreaterEqual => " >= ",
        BinaryOperator::In => " in ",
        BinaryOperator::Add | BinaryOperator::Concat => " + ",
        BinaryOperator::Subtract => " - ",
        BinaryOperator::Multiply => " * ",
        BinaryOperator::Divide => " / ",
        BinaryOperator::Remainder => " % ",
    }
}
