//! Which tasks the text of a task mentions, in source order, without looking at types.

use outpost_grammar::tree::{
    Argument, Block, Element, Entry, Expr, ExprKind, Member, Part, PostfixOperation, Rule,
};
use outpost_grammar::{SourceId, Span};

use crate::load::{Brief, BriefPart};
use crate::options::{self, BlockKind, Kind};

/// A task's name where it is read or waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mention {
    /// The task, by its index.
    pub task: u32,
    /// Whether it is `name?`.
    pub soft: bool,
    /// Whether it stands in `after`.
    pub after: bool,
    /// The name.
    pub span: Span,
    /// The file of the brief in which it stands, if it does.
    pub brief: Option<SourceId>,
}

/// Finds the tasks that a block mentions.
pub(crate) struct Finder<'f, 't> {
    /// The index of a task's name.
    pub task: &'f dyn Fn(&str) -> Option<u32>,
    /// The names that mean something else here.
    pub hidden: Vec<&'t str>,
    /// What was found.
    pub found: Vec<Mention>,
    /// Entries of `after` that are no task.
    pub strangers: Vec<&'t Expr<'t>>,
    /// The brief in a file of its own that a path means.
    pub brief: &'f dyn Fn(&Expr<'t>) -> Option<&'t Brief<'t>>,
    /// The brief that is being read.
    pub inside: Option<SourceId>,
    /// For a call of a template: which of its parameters are no values.
    pub entities: &'f dyn Fn(Kind, &Expr<'t>) -> Vec<bool>,
}

impl<'t> Finder<'_, 't> {
    /// The mentions in a block of a kind.
    pub(crate) fn block(&mut self, block: &'t Block<'t>, kind: &'static BlockKind) {
        let hidden = self.hidden.len();
        if let Some(each) = &block.each {
            self.expr(&each.list);
            self.hidden.push(each.variable.text);
        }
        self.hidden.extend(run_names(block));
        for entry in &block.entries {
            match entry {
                Entry::Field(field) => {
                    let property = kind
                        .property(&field.name.text)
                        .map(|property| property.kind);
                    self.field(property, kind.open, &field.value);
                }
                Entry::Block(inner) => {
                    if let Some(nested) = kind.block(inner.keyword.text) {
                        self.block(inner, nested.kind);
                    }
                }
                Entry::Rule(rule) => match &**rule {
                    Rule::Reject { text, when, .. } => {
                        self.expr(text);
                        self.expr(when);
                    }
                    Rule::Accept { when, .. } => self.expr(when),
                    Rule::Expect { .. } | Rule::Input { .. } => {}
                },
                Entry::Broken(_) => {}
            }
        }
        self.hidden.truncate(hidden);
    }

    fn field(&mut self, kind: Option<Kind>, open: bool, value: &'t Expr<'t>) {
        match kind {
            Some(Kind::Tasks) => self.after(value),
            Some(
                kind @ (Kind::StepCall
                | Kind::CheckCall
                | Kind::AttemptCall
                | Kind::LoopCall
                | Kind::WorkflowCall),
            ) => self.call(kind, value),
            Some(Kind::Path) => {
                if let Some(brief) = (self.brief)(value) {
                    self.inside = Some(brief.source);
                    for part in &brief.parts {
                        if let BriefPart::Hole(expr) = part {
                            self.expr(expr);
                        }
                    }
                    self.inside = None;
                }
            }
            Some(kind) if kind.reads_values() => self.expr(value),
            Some(_) => {}
            None if open => self.expr(value),
            None => {}
        }
    }

    fn call(&mut self, kind: Kind, value: &'t Expr<'t>) {
        let entities = (self.entities)(kind, value);
        let ExprKind::Postfix(postfix) = &value.kind else {
            return;
        };
        let Some(PostfixOperation::Call { arguments, .. }) = postfix.operations.last() else {
            return;
        };
        for (index, argument) in arguments.iter().enumerate() {
            match argument {
                Argument::Positional(_) if entities.get(index).copied().unwrap_or(false) => {}
                Argument::Positional(expr) | Argument::Spread(expr) | Argument::Named(_, expr) => {
                    self.expr(expr)
                }
            }
        }
    }

    fn after(&mut self, value: &'t Expr<'t>) {
        match &value.kind {
            ExprKind::List(elements) => {
                for element in elements {
                    match element {
                        Element::Item(expr) => self.after_item(expr),
                        Element::Spread(expr) => self.strangers.push(expr),
                    }
                }
            }
            ExprKind::Broken => {}
            _ => self.strangers.push(value),
        }
    }

    fn after_item(&mut self, expr: &'t Expr<'t>) {
        let (name, span, soft) = match &expr.kind {
            ExprKind::Name(name) => (*name, expr.span, false),
            ExprKind::Postfix(postfix) => match (&postfix.base.kind, &postfix.operations[..]) {
                (ExprKind::Name(name), [PostfixOperation::Optional { .. }]) => {
                    (*name, postfix.base.span, true)
                }
                _ => {
                    self.strangers.push(expr);
                    return;
                }
            },
            ExprKind::Broken => return,
            _ => {
                self.strangers.push(expr);
                return;
            }
        };
        match (self.task)(name) {
            Some(task) => self.found.push(Mention {
                task,
                soft,
                after: true,
                span,
                brief: self.inside,
            }),
            None => self.strangers.push(expr),
        }
    }

    /// The mentions in an expression.
    pub(crate) fn expr(&mut self, expr: &'t Expr<'t>) {
        match &expr.kind {
            ExprKind::Name(name) => self.mention(name, expr.span, false),
            ExprKind::Postfix(postfix) => {
                let mut operations = &postfix.operations[..];
                match (&postfix.base.kind, operations.first()) {
                    (ExprKind::Name("inputs" | "run" | "secret" | "env"), _) => {}
                    (ExprKind::Name(_), Some(PostfixOperation::Call { .. })) => {}
                    (
                        ExprKind::Name(name),
                        Some(
                            PostfixOperation::Optional { .. } | PostfixOperation::SafeField { .. },
                        ),
                    ) => self.mention(name, postfix.base.span, true),
                    _ => self.expr(&postfix.base),
                }
                while let Some((operation, rest)) = operations.split_first() {
                    self.operation(operation);
                    operations = rest;
                }
            }
            ExprKind::Comprehension(inner) => {
                self.expr(&inner.list);
                self.hidden.push(inner.variable.text);
                self.expr(&inner.element);
                if let Some(condition) = &inner.condition {
                    self.expr(condition);
                }
                self.hidden.pop();
            }
            ExprKind::Object(members) => {
                for member in members {
                    match member {
                        Member::Pair { value, .. } | Member::Spread(value) => self.expr(value),
                        Member::Shorthand(name) => self.mention(name.text, name.span, false),
                    }
                }
            }
            _ => children(expr, &mut |child| self.expr(child)),
        }
    }

    fn operation(&mut self, operation: &'t PostfixOperation<'t>) {
        match operation {
            PostfixOperation::Index { index, .. } => self.expr(index),
            PostfixOperation::Call { arguments, .. } => {
                for argument in arguments {
                    let (Argument::Positional(expr)
                    | Argument::Named(_, expr)
                    | Argument::Spread(expr)) = argument;
                    self.expr(expr);
                }
            }
            PostfixOperation::Field { .. }
            | PostfixOperation::SafeField { .. }
            | PostfixOperation::NotNull { .. }
            | PostfixOperation::Optional { .. } => {}
        }
    }

    fn mention(&mut self, name: &'t str, span: Span, soft: bool) {
        if self.hidden.contains(&name) {
            return;
        }
        if let Some(task) = (self.task)(name) {
            self.found.push(Mention {
                task,
                soft,
                after: false,
                span,
                brief: self.inside,
            });
        }
    }
}

/// The names of the `run` blocks directly inside a block.
pub(crate) fn run_names<'t>(block: &'t Block<'t>) -> impl Iterator<Item = &'t str> {
    block.entries.iter().filter_map(|entry| match entry {
        Entry::Block(inner) if inner.keyword.text == "run" => match &inner.target {
            Some(outpost_grammar::tree::Target::Name(name)) => Some(name.text),
            _ => None,
        },
        _ => None,
    })
}

/// Whether a task has a step of this name anywhere inside.
pub(crate) fn has_run(block: &Block<'_>, name: &str) -> bool {
    block.entries.iter().any(|entry| match entry {
        Entry::Block(inner) => {
            let own = inner.keyword.text == "run"
                && matches!(&inner.target, Some(outpost_grammar::tree::Target::Name(run)) if run.text == name);
            own || has_run(inner, name)
        }
        _ => false,
    })
}

/// The block kind of a task's keyword.
pub(crate) fn task_kind(keyword: &str) -> Option<&'static BlockKind> {
    match keyword {
        "task" => Some(&options::TASK),
        "loop" => Some(&options::LOOP),
        "race" => Some(&options::RACE),
        "approval" => Some(&options::APPROVAL),
        "pause" => Some(&options::PAUSE),
        "ask" => Some(&options::ASK),
        _ => None,
    }
}

/// The expressions directly inside an expression.
pub(crate) fn children<'t>(expr: &'t Expr<'t>, visit: &mut dyn FnMut(&'t Expr<'t>)) {
    match &expr.kind {
        ExprKind::Null
        | ExprKind::Bool(_)
        | ExprKind::Number(_)
        | ExprKind::Text(_)
        | ExprKind::Name(_)
        | ExprKind::Broken => {}
        ExprKind::Template(parts) => {
            for part in parts {
                if let Part::Hole { expr, .. } = part {
                    visit(expr);
                }
            }
        }
        ExprKind::List(elements) => {
            for element in elements {
                let (Element::Item(expr) | Element::Spread(expr)) = element;
                visit(expr);
            }
        }
        ExprKind::Comprehension(inner) => {
            visit(&inner.list);
            visit(&inner.element);
            if let Some(condition) = &inner.condition {
                visit(condition);
            }
        }
        ExprKind::Object(members) => {
            for member in members {
                match member {
                    Member::Pair { value, .. } | Member::Spread(value) => visit(value),
                    Member::Shorthand(_) => {}
                }
            }
        }
        ExprKind::Chain(chain) => {
            visit(&chain.first);
            for (_, _, operand) in &chain.rest {
                visit(operand);
            }
        }
        ExprKind::Prefix(prefix) => visit(&prefix.operand),
        ExprKind::Postfix(postfix) => {
            visit(&postfix.base);
            for operation in &postfix.operations {
                match operation {
                    PostfixOperation::Index { index, .. } => visit(index),
                    PostfixOperation::Call { arguments, .. } => {
                        for argument in arguments {
                            let (Argument::Positional(expr)
                            | Argument::Named(_, expr)
                            | Argument::Spread(expr)) = argument;
                            visit(expr);
                        }
                    }
                    PostfixOperation::Field { .. }
                    | PostfixOperation::SafeField { .. }
                    | PostfixOperation::NotNull { .. }
                    | PostfixOperation::Optional { .. } => {}
                }
            }
        }
        ExprKind::If(inner) => {
            for (condition, value) in &inner.arms {
                visit(condition);
                visit(value);
            }
            visit(&inner.otherwise);
        }
        ExprKind::Match(inner) => {
            visit(&inner.subject);
            for arm in &inner.arms {
                visit(&arm.value);
            }
        }
        ExprKind::Generic(generic) => visit(&generic.argument),
        ExprKind::Parens(inner) => visit(inner),
    }
}

/// Every name in an expression, with the field that follows it, if one does.
pub(crate) fn names<'t>(expr: &'t Expr<'t>, visit: &mut dyn FnMut(&'t str, Option<&'t str>)) {
    match &expr.kind {
        ExprKind::Name(name) => visit(name, None),
        ExprKind::Object(members) => {
            for member in members {
                match member {
                    Member::Pair { value, .. } | Member::Spread(value) => names(value, visit),
                    Member::Shorthand(name) => visit(name.text, None),
                }
            }
        }
        ExprKind::Postfix(postfix) => {
            if let (ExprKind::Name(name), Some(PostfixOperation::Field { name: field, .. })) =
                (&postfix.base.kind, postfix.operations.first())
            {
                visit(name, Some(field.text));
                for operation in &postfix.operations {
                    if let PostfixOperation::Call { arguments, .. } = operation {
                        for argument in arguments {
                            let (Argument::Positional(expr)
                            | Argument::Named(_, expr)
                            | Argument::Spread(expr)) = argument;
                            names(expr, visit);
                        }
                    }
                }
            } else {
                children(expr, &mut |child| names(child, visit));
            }
        }
        _ => children(expr, &mut |child| names(child, visit)),
    }
}
