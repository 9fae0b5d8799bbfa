//! A compact form of the tree: a line for each item and entry, expressions as prefix notation.

use outpost_grammar::tree::{
    Argument, Block, Document, Element, Entry, Expr, ExprKind, Function, Item, Member, Name, Param,
    Part, PostfixOperation, PrefixOperator, Rule, Target, UsePath, UseWhat,
};
use std::fmt::Write;

/// The whole document.
pub fn document(document: &Document) -> String {
    let mut out = String::new();
    for item in &document.items {
        print_item(&mut out, item);
    }
    out
}

fn line(out: &mut String, depth: usize, text: &str) {
    writeln!(out, "{:width$}{text}", "", width = depth * 2).expect("a string takes all");
}

fn comment(out: &mut String, depth: usize, doc: Option<&str>) {
    for text in doc.into_iter().flat_map(str::lines) {
        line(out, depth, &format!("## {text}"));
    }
}

fn print_item(out: &mut String, item: &Item) {
    match item {
        Item::Use(item) => {
            let path = match &item.path {
                UsePath::File(text) => format!("{:?}", text.text),
                UsePath::Library { parts, .. } => names(parts, "."),
            };
            let what = match &item.what {
                UseWhat::Names(imported) => format!("{{{}}}", names(imported, " ")),
                UseWhat::Whole(name) => format!("as {}", name.text),
            };
            line(out, 0, &format!("use {path} {what}"));
        }
        Item::Secret { doc, name, .. } => {
            comment(out, 0, doc.as_deref());
            line(out, 0, &format!("secret {}", name.text));
        }
        Item::Type {
            doc,
            name,
            definition,
            ..
        } => {
            comment(out, 0, doc.as_deref());
            line(
                out,
                0,
                &format!("type {} = {}", name.text, expr(definition)),
            );
        }
        Item::Function(function) => print_function(out, function),
        Item::Block(block) => print_block(out, 0, block),
        Item::Broken(broken) => line(out, 0, &format!("BROKEN {}", names(&broken.words, " "))),
    }
}

fn print_function(out: &mut String, function: &Function) {
    comment(out, 0, function.doc.as_deref());
    let head = format!("fn {}({})", function.name.text, params(&function.params));
    let text = format!(
        "{head} -> {} = {}",
        expr(&function.result),
        expr(&function.body)
    );
    line(out, 0, &text);
}

fn params(params: &[Param]) -> String {
    let params: Vec<_> = params
        .iter()
        .map(|param| match &param.default {
            Some(default) => format!(
                "{}: {} = {}",
                param.name.text,
                expr(&param.kind),
                expr(default)
            ),
            None => format!("{}: {}", param.name.text, expr(&param.kind)),
        })
        .collect();
    params.join(", ")
}

fn names(names: &[Name], separator: &str) -> String {
    let names: Vec<_> = names.iter().map(|name| name.text).collect();
    names.join(separator)
}

fn print_block(out: &mut String, depth: usize, block: &Block) {
    comment(out, depth, block.doc.as_deref());
    let mut head = block.keyword.text.to_owned();
    match &block.target {
        None => {}
        Some(Target::Name(name)) => write!(head, " {}", name.text).expect("a string takes all"),
        Some(Target::Text(text)) => write!(head, " {:?}", text.text).expect("a string takes all"),
        Some(Target::List(list)) => write!(head, " {}", expr(list)).expect("a string takes all"),
    }
    if let Some(list) = &block.params {
        write!(head, " ({})", params(list)).expect("a string takes all");
    }
    if let Some(each) = &block.each {
        write!(head, " for {} in {}", each.variable.text, expr(&each.list))
            .expect("a string takes all");
    }
    let broken = if block.broken { " (broken)" } else { "" };
    line(out, depth, &format!("{head}{broken}"));
    for entry in &block.entries {
        print_entry(out, depth + 1, entry);
    }
}

fn print_entry(out: &mut String, depth: usize, entry: &Entry) {
    match entry {
        Entry::Field(field) => {
            let text = format!("{}: {}", field.name.text, expr(&field.value));
            line(out, depth, &text);
        }
        Entry::Block(block) => print_block(out, depth, block),
        Entry::Rule(rule) => match &**rule {
            Rule::Reject { text, when, .. } => line(
                out,
                depth,
                &format!("reject {} when {}", expr(text), expr(when)),
            ),
            Rule::Accept { when, .. } => line(out, depth, &format!("accept when {}", expr(when))),
            Rule::Expect { condition, .. } => {
                line(out, depth, &format!("expect {}", expr(condition)))
            }
            Rule::Input {
                doc,
                name,
                kind,
                default,
                ..
            } => {
                comment(out, depth, doc.as_deref());
                let default = default
                    .as_ref()
                    .map_or(String::new(), |default| format!(" = {}", expr(default)));
                line(
                    out,
                    depth,
                    &format!("input {}: {}{default}", name.text, expr(kind)),
                );
            }
        },
        Entry::Broken(broken) => line(out, depth, &format!("BROKEN {}", names(&broken.words, " "))),
    }
}

/// An expression on one line.
pub fn expr(node: &Expr) -> String {
    match &node.kind {
        ExprKind::Null => "null".to_owned(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Number(number) => format!("{:?}", number.value),
        ExprKind::Text(text) => format!("{text:?}"),
        ExprKind::Template(parts) => {
            let parts = parts.iter().map(|part| match part {
                Part::Text { text, .. } => format!("{text:?}"),
                Part::Hole { expr: hole, .. } => format!("${}", expr(hole)),
            });
            format!("(text {})", parts.collect::<Vec<_>>().join(" "))
        }
        ExprKind::Name(name) => (*name).to_owned(),
        ExprKind::List(elements) => {
            let elements = elements.iter().map(|element| match element {
                Element::Item(item) => expr(item),
                Element::Spread(spread) => format!("...{}", expr(spread)),
            });
            format!("[{}]", elements.collect::<Vec<_>>().join(" "))
        }
        ExprKind::Comprehension(each) => {
            let condition = each.condition.as_ref().map_or(String::new(), |condition| {
                format!(" if {}", expr(condition))
            });
            let element = expr(&each.element);
            format!(
                "[{element} for {} in {}{condition}]",
                each.variable.text,
                expr(&each.list)
            )
        }
        ExprKind::Object(members) => {
            let members = members.iter().map(|member| match member {
                Member::Pair {
                    key,
                    optional,
                    value,
                } => {
                    format!(
                        "{}{}: {}",
                        key.text,
                        if *optional { "?" } else { "" },
                        expr(value)
                    )
                }
                Member::Shorthand(name) => name.text.to_owned(),
                Member::Spread(spread) => format!("...{}", expr(spread)),
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        ExprKind::Chain(chain) => {
            let rest = chain
                .rest
                .iter()
                .map(|(operator, _, operand)| format!(" {operator:?} {}", expr(operand)));
            format!("({}{})", expr(&chain.first), rest.collect::<String>())
        }
        ExprKind::Prefix(prefix) => {
            let operators = prefix.operators.iter().map(|(operator, _)| match operator {
                PrefixOperator::Not => "!",
                PrefixOperator::Negate => "-",
            });
            format!("{}{}", operators.collect::<String>(), expr(&prefix.operand))
        }
        ExprKind::Postfix(postfix) => {
            let operations = postfix.operations.iter().map(operation);
            format!("{}{}", expr(&postfix.base), operations.collect::<String>())
        }
        ExprKind::If(node) => {
            let arms = node.arms.iter().map(|(condition, value)| {
                format!("if {} then {} else ", expr(condition), expr(value))
            });
            format!("({}{})", arms.collect::<String>(), expr(&node.otherwise))
        }
        ExprKind::Match(node) => {
            let arms = node.arms.iter().map(|arm| {
                let pattern = arm.pattern.as_ref().map_or("_".to_owned(), expr);
                format!("{pattern} => {}", expr(&arm.value))
            });
            format!(
                "(match {} {{{}}})",
                expr(&node.subject),
                arms.collect::<Vec<_>>().join(", ")
            )
        }
        ExprKind::Generic(generic) => format!("{}<{}>", generic.name.text, expr(&generic.argument)),
        ExprKind::Parens(inner) => format!("(parens {})", expr(inner)),
        ExprKind::Broken => "BROKEN".to_owned(),
    }
}

fn operation(operation: &PostfixOperation) -> String {
    match operation {
        PostfixOperation::Field { name, .. } => format!(".{}", name.text),
        PostfixOperation::SafeField { name, .. } => format!("?.{}", name.text),
        PostfixOperation::Index { index, .. } => format!("[{}]", expr(index)),
        PostfixOperation::Call { arguments, .. } => {
            let arguments = arguments.iter().map(|argument| match argument {
                Argument::Positional(value) => expr(value),
                Argument::Named(name, value) => format!("{}: {}", name.text, expr(value)),
                Argument::Spread(value) => format!("...{}", expr(value)),
            });
            format!("({})", arguments.collect::<Vec<_>>().join(", "))
        }
        PostfixOperation::NotNull { .. } => "!".to_owned(),
        PostfixOperation::Optional { .. } => "?".to_owned(),
    }
}
