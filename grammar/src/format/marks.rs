//! What the tree knows about places of the text: where parts start and end, which operators join two operands.

use crate::source::Span;
use crate::tree::{
    Argument, Block, Document, Element, Entry, Expr, ExprKind, Field, Item, Member, Param, Part,
    PostfixOperation, Rule, Target, UsePath, UseWhat,
};
use std::collections::{HashMap, HashSet};

/// Places by their byte.
#[derive(Default)]
pub(super) struct Marks {
    /// A part of a bracket starts here: an entry, a member, an element, an argument, an arm, a parameter.
    pub starts: HashSet<usize>,
    /// An entry of a block starts here.
    pub entries: HashSet<usize>,
    /// A line must start here.
    pub breaks: HashSet<usize>,
    /// Something that a comma separates ends here, and whether it is the last.
    pub ends: HashMap<usize, bool>,
    /// Infix operators.
    pub infixes: HashSet<usize>,
    /// Prefix operators.
    pub prefixes: HashSet<usize>,
    /// Texts, and where they end.
    pub texts: HashMap<usize, usize>,
    /// Brackets that belong to what stands before them: of calls, indices and parameters.
    pub glued: HashSet<usize>,
    /// The `{` of objects.
    pub objects: HashSet<usize>,
}

/// The marks of a healthy document.
pub(super) fn marks(text: &str, document: &Document<'_>) -> Marks {
    let mut walk = Walk {
        text,
        marks: Marks::default(),
    };
    for item in &document.items {
        walk.item(item);
    }
    walk.marks
}

struct Walk<'t> {
    text: &'t str,
    marks: Marks,
}

impl Walk<'_> {
    fn item(&mut self, item: &Item<'_>) {
        let start = match item {
            Item::Use(item) => {
                if let UsePath::File(path) = &item.path {
                    self.text(path.span);
                }
                if let UseWhat::Names(names) = &item.what {
                    self.parts(names.iter().map(|name| name.span));
                }
                item.keyword
            }
            Item::Secret { keyword, .. } => *keyword,
            Item::Type {
                keyword,
                definition,
                ..
            } => {
                self.expr(definition);
                *keyword
            }
            Item::Function(function) => {
                self.params(&function.params, function.name.span);
                self.expr(&function.result);
                self.expr(&function.body);
                function.keyword
            }
            Item::Block(block) => {
                self.block(block);
                block.span
            }
            Item::Broken(broken) => broken.span,
        };
        self.marks.starts.insert(start.start as usize);
        self.marks.breaks.insert(start.start as usize);
    }

    fn text(&mut self, span: Span) {
        let quoted = span.of(self.text).starts_with(['"', '\'']);
        if quoted {
            self.marks
                .texts
                .insert(span.start as usize, span.end as usize);
        }
    }

    /// Parts of a bracket that commas separate.
    fn parts(&mut self, spans: impl ExactSizeIterator<Item = Span>) {
        let count = spans.len();
        for (index, span) in spans.enumerate() {
            self.marks.starts.insert(span.start as usize);
            self.marks
                .ends
                .insert(span.end as usize, index + 1 == count);
        }
    }

    /// Where a spread starts, whose value is known.
    fn dots(&self, value: Span) -> Span {
        let start = self.text[..value.start as usize].rfind("...");
        Span::new(start.unwrap_or(value.start as usize), value.end as usize)
    }

    /// Whether a line break stands between the parts of a bracket.
    fn broken(&self, bracket: Span, parts: &[Span]) -> bool {
        let mut at = bracket.start as usize;
        let ends = parts
            .iter()
            .map(|part| (part.start as usize, part.end as usize));
        ends.chain([(bracket.end as usize, 0)]).any(|(start, end)| {
            let gap = &self.text[at..start];
            at = end;
            gap.contains('\n')
        })
    }

    /// A bracket with line breaks between its parts has its first part and its end on lines of their own.
    fn bracket(&mut self, bracket: Span, parts: Vec<Span>) {
        if let Some(first) = parts.first().filter(|_| self.broken(bracket, &parts)) {
            self.marks.breaks.insert(first.start as usize);
            self.marks.breaks.insert(bracket.end as usize - 1);
        }
        self.parts(parts.into_iter());
    }

    /// The same with each part on a line of its own.
    fn lines(&mut self, bracket: Span, parts: Vec<Span>) {
        if self.broken(bracket, &parts) {
            self.marks
                .breaks
                .extend(parts.iter().map(|part| part.start as usize));
        }
        self.bracket(bracket, parts);
    }

    /// Parameters, somewhere behind what they belong to.
    fn params(&mut self, params: &[Param<'_>], head: Span) {
        let mut behind = self.text[head.end as usize..].split_inclusive('\n');
        let mut at = head.end as usize;
        behind.find(|line| {
            let code = line.split('#').next().unwrap_or_default();
            let open = code.find('(').map(|open| at + open);
            at += line.len();
            open.is_some_and(|open| self.marks.glued.insert(open))
        });
        for param in params {
            self.expr(&param.kind);
            param.default.iter().for_each(|default| self.expr(default));
        }
        self.parts(params.iter().map(|param| {
            let last = param.default.as_ref().unwrap_or(&param.kind);
            param.name.span.to(last.span)
        }));
    }

    fn block(&mut self, block: &Block<'_>) {
        match &block.target {
            Some(Target::Text(text)) => self.text(text.span),
            Some(Target::List(list)) => self.expr(list),
            Some(Target::Name(_)) | None => {}
        }
        let head = match &block.target {
            Some(Target::Text(text)) => text.span,
            Some(Target::List(list)) => list.span,
            Some(Target::Name(name)) => name.span,
            None => block.keyword.span,
        };
        let params = block.params.iter();
        params.for_each(|params| self.params(params, head));
        block.each.iter().for_each(|each| self.expr(&each.list));
        let spread = block.span.of(self.text).contains('\n') && !block.entries.is_empty();
        for entry in &block.entries {
            let start = self.entry(entry).start as usize;
            self.marks.starts.insert(start);
            self.marks.entries.insert(start);
            if spread {
                self.marks.breaks.insert(start);
            }
        }
        if spread {
            self.marks.breaks.insert(block.span.end as usize - 1);
        }
    }

    fn entry(&mut self, entry: &Entry<'_>) -> Span {
        match entry {
            Entry::Field(Field { name, value }) => {
                self.text(name.span);
                self.expr(value);
                name.span
            }
            Entry::Block(block) => {
                self.block(block);
                block.span
            }
            Entry::Rule(rule) => self.rule(rule),
            Entry::Broken(broken) => broken.span,
        }
    }

    fn rule(&mut self, rule: &Rule<'_>) -> Span {
        match rule {
            Rule::Reject {
                keyword,
                text,
                when,
            } => {
                self.expr(text);
                self.expr(when);
                *keyword
            }
            Rule::Accept { keyword, when } => {
                self.expr(when);
                *keyword
            }
            Rule::Expect { keyword, condition } => {
                self.expr(condition);
                *keyword
            }
            Rule::Input {
                keyword,
                kind,
                default,
                ..
            } => {
                self.expr(kind);
                default.iter().for_each(|default| self.expr(default));
                *keyword
            }
        }
    }

    fn expr(&mut self, expr: &Expr<'_>) {
        match &expr.kind {
            ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Number(_)
            | ExprKind::Name(_)
            | ExprKind::Broken => {}
            ExprKind::Text(_) => self.text(expr.span),
            ExprKind::Template(parts) => {
                self.text(expr.span);
                for part in parts {
                    if let Part::Hole { expr, .. } = part {
                        self.expr(expr);
                    }
                }
            }
            ExprKind::List(elements) => {
                let parts = elements.iter().map(|element| match element {
                    Element::Item(item) => item.span,
                    Element::Spread(value) => self.dots(value.span),
                });
                let parts = parts.collect();
                self.bracket(expr.span, parts);
                for element in elements {
                    let (Element::Item(item) | Element::Spread(item)) = element;
                    self.expr(item);
                }
            }
            ExprKind::Comprehension(each) => {
                self.marks.starts.insert(each.element.span.start as usize);
                self.expr(&each.element);
                self.expr(&each.list);
                each.condition
                    .iter()
                    .for_each(|condition| self.expr(condition));
            }
            ExprKind::Object(members) => self.object(expr.span, members),
            ExprKind::Chain(chain) => {
                self.expr(&chain.first);
                for (_, span, operand) in &chain.rest {
                    self.marks.infixes.insert(span.start as usize);
                    self.expr(operand);
                }
            }
            ExprKind::Prefix(prefix) => {
                let places = prefix.operators.iter().map(|(_, span)| span.start as usize);
                self.marks.prefixes.extend(places);
                self.expr(&prefix.operand);
            }
            ExprKind::Postfix(postfix) => {
                self.expr(&postfix.base);
                postfix
                    .operations
                    .iter()
                    .for_each(|operation| self.operation(operation));
            }
            ExprKind::If(node) => {
                for (condition, value) in &node.arms {
                    self.expr(condition);
                    self.expr(value);
                }
                self.expr(&node.otherwise);
            }
            ExprKind::Match(node) => {
                self.expr(&node.subject);
                let arms = node
                    .arms
                    .iter()
                    .map(|arm| arm.span.to(arm.value.span))
                    .collect();
                let head = node.subject.span.end;
                self.lines(
                    Span {
                        start: head,
                        end: expr.span.end,
                    },
                    arms,
                );
                for arm in &node.arms {
                    arm.pattern.iter().for_each(|pattern| self.expr(pattern));
                    self.expr(&arm.value);
                }
            }
            ExprKind::Generic(generic) => self.expr(&generic.argument),
            ExprKind::Parens(inner) => {
                self.marks.starts.insert(inner.span.start as usize);
                self.expr(inner);
            }
        }
    }

    fn object(&mut self, span: Span, members: &[Member<'_>]) {
        self.marks.objects.insert(span.start as usize);
        let parts = members.iter().map(|member| match member {
            Member::Pair { key, value, .. } => key.span.to(value.span),
            Member::Shorthand(name) => name.span,
            Member::Spread(value) => self.dots(value.span),
        });
        let parts = parts.collect();
        self.lines(span, parts);
        for member in members {
            match member {
                Member::Pair { key, value, .. } => {
                    self.text(key.span);
                    self.expr(value);
                }
                Member::Shorthand(_) => {}
                Member::Spread(value) => self.expr(value),
            }
        }
    }

    fn operation(&mut self, operation: &PostfixOperation<'_>) {
        match operation {
            PostfixOperation::Field { .. }
            | PostfixOperation::SafeField { .. }
            | PostfixOperation::NotNull { .. }
            | PostfixOperation::Optional { .. } => {}
            PostfixOperation::Index { index, span } => {
                self.marks.glued.insert(span.start as usize);
                self.marks.starts.insert(index.span.start as usize);
                self.expr(index);
            }
            PostfixOperation::Call { arguments, span } => {
                let parts = arguments.iter().map(|argument| match argument {
                    Argument::Positional(value) => value.span,
                    Argument::Spread(value) => self.dots(value.span),
                    Argument::Named(name, value) => name.span.to(value.span),
                });
                let parts = parts.collect();
                self.marks.glued.insert(span.start as usize);
                self.bracket(*span, parts);
                for argument in arguments {
                    let (Argument::Positional(value)
                    | Argument::Spread(value)
                    | Argument::Named(_, value)) = argument;
                    self.expr(value);
                }
            }
        }
    }
}
