//! Pairs to nodes of the tree.
//!
//! The grammar guarantees which pairs a rule holds, so they are taken without asking.
//! Spans are those of the text, texts are slices of it.

use super::{Built, Context, Head, Rule};
use crate::diagnostic::Diagnostic;
use crate::mistakes;
use crate::numbers;
use crate::source::{Location, Span};
use crate::text::{Decoder, Ends, Layout, block_content};
use crate::tree::{
    Argument, Arm, Chain, Comprehension, Each, Element, Entry, Expr, ExprKind, Field, Function,
    Generic, If, Item, Match, Member, Name, Operator, Param, Part, Postfix, PostfixOperation,
    Prefix, PrefixOperator, Target, Text, Use, UsePath, UseWhat,
};
use pest::iterators::{Pair, Pairs};
use std::borrow::Cow;

/// Expressions nested deeper than this without brackets (`if` in `if`, `list<list<…`) are refused.
const MAX_EXPR_DEPTH: usize = 512;

/// Builds the nodes of one piece.
pub(super) struct Builder<'s, 'c> {
    ctx: Context<'s, 'c>,
    base: usize,
    depth: usize,
    too_deep: bool,
    diagnostics: Vec<Diagnostic>,
    stray_words: Vec<Diagnostic>,
}

/// The documentation comment that ends before a byte: lines of `##` with nothing but blanks and commas between and after.
pub(super) fn documentation<'s>(ctx: Context<'s, '_>, start: usize) -> Option<Cow<'s, str>> {
    let before = ctx
        .comments
        .partition_point(|c| (c.span.end as usize) <= start);
    let mut first = before;
    let mut next = start;
    while let Some(comment) = first.checked_sub(1).map(|index| ctx.comments[index]) {
        let gap = &ctx.text[comment.span.end as usize..next];
        if !comment.documentation
            || !is_blank(gap)
            || !starts_line(ctx.text, comment.span.start as usize)
        {
            break;
        }
        next = comment.span.start as usize;
        first -= 1;
    }
    let lines = &ctx.comments[first..before];
    let text = |span: Span| {
        let line = span.of(ctx.text).trim_start_matches('#');
        line.strip_prefix(' ').unwrap_or(line)
    };
    match lines {
        [] => None,
        [one] => Some(Cow::Borrowed(text(one.span))),
        several => {
            let lines: Vec<_> = several.iter().map(|c| text(c.span)).collect();
            Some(Cow::Owned(lines.join("\n")))
        }
    }
}

fn starts_line(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    is_blank(text[line..at].trim_start_matches('\u{feff}'))
}

/// Whether nothing but blanks and commas stands here: commas may be left out, so they change nothing.
fn is_blank(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte == b',' || byte.is_ascii_whitespace())
}

/// The next pair, which the grammar guarantees.
fn next<'i>(pairs: &mut Pairs<'i, Rule>) -> Pair<'i, Rule> {
    pairs.next().expect("the grammar gives this pair")
}

impl<'s, 'c> Builder<'s, 'c> {
    pub(super) fn new(ctx: Context<'s, 'c>, base: usize) -> Builder<'s, 'c> {
        Builder {
            ctx,
            base,
            depth: 0,
            too_deep: false,
            diagnostics: Vec::new(),
            stray_words: Vec::new(),
        }
    }

    pub(super) fn finish<T>(self, node: T) -> Built<T> {
        Built {
            node,
            diagnostics: self.diagnostics,
            stray_words: self.stray_words,
        }
    }

    /// The bytes of a pair in the text.
    fn range(&self, pair: &Pair<'_, Rule>) -> std::ops::Range<usize> {
        let span = pair.as_span();
        self.base + span.start()..self.base + span.end()
    }

    /// The place of a pair; a quote that was repaired is a part of a longer character, which is taken as a whole.
    fn span(&self, pair: &Pair<'_, Rule>) -> Span {
        let mut range = self.range(pair);
        while !self.ctx.text.is_char_boundary(range.start) {
            range.start -= 1;
        }
        while !self.ctx.text.is_char_boundary(range.end) {
            range.end += 1;
        }
        Span::new(range.start, range.end)
    }

    fn at(&self, span: Span) -> Location {
        Location::new(self.ctx.source, span)
    }

    fn slice(&self, span: Span) -> &'s str {
        span.of(self.ctx.text)
    }

    // ---- Items ----

    pub(super) fn item(&mut self, pair: Pair<'_, Rule>) -> Option<Item<'s>> {
        let start = self.range(&pair).start;
        let keyword = |length: usize| Span::new(start, start + length);
        let doc = documentation(self.ctx, start);
        let rule = pair.as_rule();
        let mut inner = pair.clone().into_inner();
        let item = match rule {
            Rule::use_item => Item::Use(self.use_item(keyword(3), inner)),
            Rule::secret_item => Item::Secret {
                doc,
                keyword: keyword(6),
                name: self.next_name(&mut inner),
            },
            Rule::type_item => Item::Type {
                doc,
                keyword: keyword(4),
                name: self.next_name(&mut inner),
                definition: self.next_expr(&mut inner),
            },
            Rule::fn_item => Item::Function(Box::new(Function {
                doc,
                keyword: keyword(2),
                name: self.next_name(&mut inner),
                params: self.params(next(&mut inner)),
                result: self.next_expr(&mut inner),
                body: self.next_expr(&mut inner),
            })),
            Rule::block => Item::Block(Box::new(self.block(pair))),
            _ => return None,
        };
        Some(item)
    }

    fn use_item(&mut self, keyword: Span, mut pairs: Pairs<'_, Rule>) -> Use<'s> {
        let from = next(&mut pairs);
        let path = match from.as_rule() {
            Rule::library => UsePath::Library {
                span: self.span(&from),
                parts: from.into_inner().map(|part| self.name(&part)).collect(),
            },
            _ => UsePath::File(self.text(from)),
        };
        let names = next(&mut pairs);
        let what = match names.as_rule() {
            Rule::use_names => {
                UseWhat::Names(names.into_inner().map(|name| self.name(&name)).collect())
            }
            _ => UseWhat::Whole(self.name(&names)),
        };
        Use {
            keyword,
            path,
            what,
        }
    }

    // ---- Blocks and entries ----

    fn block(&mut self, pair: Pair<'_, Rule>) -> crate::tree::Block<'s> {
        let span = self.span(&pair);
        let mut inner = pair.into_inner();
        let head = self.head(&mut inner);
        let mut block = super::open_block(self.ctx, span.start as usize, head);
        block.entries = self.entries(inner);
        block.span = span;
        block
    }

    /// Takes the pairs of a head and leaves those of the entries.
    pub(super) fn head(&mut self, pairs: &mut Pairs<'_, Rule>) -> Head<'s> {
        let mut head = Head {
            keyword: self.next_name(pairs),
            target: None,
            params: None,
            each: None,
        };
        while let Some(pair) = pairs.peek() {
            match pair.as_rule() {
                Rule::target => {
                    let target = pair.into_inner().next().expect("a target holds one pair");
                    head.target = Some(self.target(target));
                }
                Rule::params => head.params = Some(self.params(pair)),
                Rule::each => head.each = Some(self.each(pair)),
                _ => break,
            }
            pairs.next();
        }
        head
    }

    fn target(&mut self, pair: Pair<'_, Rule>) -> Target<'s> {
        match pair.as_rule() {
            Rule::name | Rule::quoted_name => Target::Name(self.name(&pair)),
            Rule::list => Target::List(Box::new(self.primary(pair))),
            _ => Target::Text(self.text(pair)),
        }
    }

    fn params(&mut self, pair: Pair<'_, Rule>) -> Vec<Param<'s>> {
        pair.into_inner()
            .map(|param| {
                let mut inner = param.into_inner();
                Param {
                    name: self.next_name(&mut inner),
                    kind: self.next_expr(&mut inner),
                    default: inner.next().map(|default| self.expr(default)),
                }
            })
            .collect()
    }

    fn each(&mut self, pair: Pair<'_, Rule>) -> Each<'s> {
        let start = self.range(&pair).start;
        let mut inner = pair.into_inner();
        Each {
            keyword: Span::new(start, start + 3),
            variable: self.next_name(&mut inner),
            list: self.next_expr(&mut inner),
        }
    }

    pub(super) fn entries(&mut self, pairs: Pairs<'_, Rule>) -> Vec<Entry<'s>> {
        let mut entries = Vec::with_capacity(pairs.len());
        entries.extend(pairs.filter_map(|pair| self.entry(pair)));
        entries
    }

    fn entry(&mut self, pair: Pair<'_, Rule>) -> Option<Entry<'s>> {
        let start = self.range(&pair).start;
        let keyword = |length: usize| Span::new(start, start + length);
        let rule = pair.as_rule();
        if rule == Rule::block {
            return Some(Entry::Block(Box::new(self.block(pair))));
        }
        let mut inner = pair.into_inner();
        let rule = match rule {
            Rule::field => {
                return Some(Entry::Field(Field {
                    name: self.next_key(&mut inner),
                    value: self.next_expr(&mut inner),
                }));
            }
            Rule::reject => crate::tree::Rule::Reject {
                keyword: keyword(6),
                text: self.next_expr(&mut inner),
                when: self.next_expr(&mut inner),
            },
            Rule::accept => crate::tree::Rule::Accept {
                keyword: keyword(6),
                when: self.next_expr(&mut inner),
            },
            Rule::expect => crate::tree::Rule::Expect {
                keyword: keyword(6),
                condition: self.next_expr(&mut inner),
            },
            Rule::input => crate::tree::Rule::Input {
                doc: documentation(self.ctx, start),
                keyword: keyword(5),
                name: self.next_name(&mut inner),
                kind: self.next_expr(&mut inner),
                default: inner.next().map(|default| self.expr(default)),
            },
            _ => return None,
        };
        Some(Entry::Rule(Box::new(rule)))
    }

    // ---- Names and keys ----

    fn next_name(&mut self, pairs: &mut Pairs<'_, Rule>) -> Name<'s> {
        self.name(&next(pairs))
    }

    fn name(&mut self, pair: &Pair<'_, Rule>) -> Name<'s> {
        let span = self.span(pair);
        let text = self.slice(span);
        match text
            .strip_prefix('`')
            .and_then(|text| text.strip_suffix('`'))
        {
            Some(inside) => {
                self.check_quoted(inside, span);
                Name { text: inside, span }
            }
            None => Name { text, span },
        }
    }

    /// A name in backticks is a task key (LANGUAGE §4).
    fn check_quoted(&mut self, inside: &str, span: Span) {
        let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let first = inside
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !first || !inside.bytes().all(letter) {
            let at = self.at(span);
            self.diagnostics
                .push(mistakes::malformed_name(at, self.slice(span)));
        }
    }

    fn next_key(&mut self, pairs: &mut Pairs<'_, Rule>) -> Text<'s> {
        let pair = next(pairs);
        match pair.as_rule() {
            Rule::name | Rule::quoted_name => {
                let name = self.name(&pair);
                Text {
                    text: Cow::Borrowed(name.text),
                    span: name.span,
                }
            }
            _ => self.text(pair),
        }
    }

    /// A text that may not have holes: a key, a path, the title of a test.
    fn text(&mut self, pair: Pair<'_, Rule>) -> Text<'s> {
        let expr = self.primary(pair);
        let text = match expr.kind {
            ExprKind::Text(text) => text,
            _ => {
                let at = self.at(expr.span);
                let message = "this text cannot hold `${…}`".to_owned();
                self.diagnostics.push(mistakes::unexpected(at, message));
                Cow::Borrowed("")
            }
        };
        Text {
            text,
            span: expr.span,
        }
    }

    // ---- Expressions ----

    pub(super) fn next_expr(&mut self, pairs: &mut Pairs<'_, Rule>) -> Expr<'s> {
        self.expr(next(pairs))
    }

    /// An `expr` or `type`, or the object of a `type` item.
    fn expr(&mut self, pair: Pair<'_, Rule>) -> Expr<'s> {
        let span = self.span(&pair);
        if !matches!(pair.as_rule(), Rule::expr | Rule::r#type) {
            return self.primary(pair);
        }
        if self.depth == MAX_EXPR_DEPTH {
            if !self.too_deep {
                self.too_deep = true;
                let first = Span::new(span.start as usize, span.start as usize);
                let at = self.at(first);
                self.diagnostics.push(mistakes::nesting(at));
            }
            return Expr {
                span,
                kind: ExprKind::Broken,
            };
        }
        self.depth += 1;
        let expr = self.row(span.start as usize, pair.into_inner());
        self.depth -= 1;
        expr
    }

    /// Operands and operators in a row.
    fn row(&mut self, start: usize, mut pairs: Pairs<'_, Rule>) -> Expr<'s> {
        let mut current = pairs.next();
        let first = self.operand(start, &mut current, &mut pairs);
        if current.is_none() {
            return first;
        }
        let mut row = Vec::new();
        let mut end = first.span.end;
        while let Some(pair) = current.take() {
            let span = self.span(&pair);
            let operator = operator(self.slice(span));
            self.check_line(operator, end, span);
            current = pairs.next();
            let operand = self.operand(span.end as usize, &mut current, &mut pairs);
            end = operand.span.end;
            row.push((operator, span, operand));
        }
        let mut row = row.into_iter().peekable();
        self.chain(0, first, &mut row)
    }

    /// Groups a row: what binds tighter than `level` first, then a flat chain of `level`.
    /// `first` is the operand before the row.
    fn chain(&mut self, at: u8, first: Expr<'s>, row: &mut Row<'s>) -> Expr<'s> {
        if at > TIGHTEST {
            return first;
        }
        let first = self.chain(at + 1, first, row);
        let mut rest = Vec::new();
        while let Some((operator, span, operand)) =
            row.next_if(|(operator, ..)| level(*operator) == at)
        {
            let operand = self.chain(at + 1, operand, row);
            rest.push((operator, span, operand));
        }
        let Some((.., last)) = rest.last() else {
            return first;
        };
        let span = first.span.to(last.span);
        let chain = Chain { first, rest };
        let kind = match self.mixes(&chain) {
            true => ExprKind::Broken,
            false => ExprKind::Chain(Box::new(chain)),
        };
        Expr { span, kind }
    }

    /// Reports comparisons in a row and `??` beside other operators without parentheses (GRAMMAR rule 14).
    fn mixes(&mut self, chain: &Chain<'s>) -> bool {
        let (operator, ..) = chain.rest[0];
        if is_comparison(operator) {
            let Some((_, span, _)) = chain.rest.get(1) else {
                return false;
            };
            let at = self.at(*span);
            self.diagnostics
                .push(mistakes::comparison_chain(at, self.slice(*span)));
            return true;
        }
        if operator != Operator::Coalesce {
            return false;
        }
        let operands =
            std::iter::once(&chain.first).chain(chain.rest.iter().map(|(.., operand)| operand));
        for (index, operand) in operands.enumerate() {
            let ExprKind::Chain(inner) = &operand.kind else {
                continue;
            };
            let (other, other_span, _) = &inner.rest[0];
            if !is_comparison(*other) && !matches!(other, Operator::And | Operator::Or) {
                continue;
            }
            let (_, span, _) = &chain.rest[index.saturating_sub(1)];
            let point = |at: u32| self.at(Span { start: at, end: at });
            let left =
                (index == 1).then(|| (point(chain.first.span.start), point(inner.first.span.end)));
            let mistake = mistakes::mixed_coalesce(self.at(*span), self.slice(*other_span), left);
            self.diagnostics.push(mistake);
            return true;
        }
        false
    }

    /// A word operator stands on the line of its left operand (GRAMMAR rule 3).
    fn check_line(&mut self, operator: Operator, end: u32, span: Span) {
        if !matches!(operator, Operator::In | Operator::As) {
            return;
        }
        if self.ctx.text[end as usize..span.start as usize].contains('\n') {
            let at = self.at(span);
            self.stray_words
                .push(mistakes::word_operator(at, self.slice(span)));
        }
    }

    /// Prefixes, a primary, postfixes; leaves `current` at the pair behind them.
    /// Nothing before `after` belongs to this operand.
    fn operand<'i>(
        &mut self,
        after: usize,
        current: &mut Option<Pair<'i, Rule>>,
        pairs: &mut Pairs<'i, Rule>,
    ) -> Expr<'s> {
        let pair = current.take().expect("an operand follows");
        let start = self.range(&pair).start;
        let prefixes = self.prefixes(after, start);
        let base = self.primary(pair);
        *current = pairs.next();
        let mut operations = Vec::new();
        while let Some(operation) = current.as_ref().and_then(|pair| self.postfix(pair)) {
            operations.push(operation);
            *current = pairs.next();
        }
        with_prefixes(prefixes, with_postfixes(base, operations))
    }

    /// The prefix operators that touch what starts at `start`; those before `after` belong to something else.
    fn prefixes(&self, after: usize, start: usize) -> Vec<(PrefixOperator, Span)> {
        let bytes = &self.ctx.text.as_bytes()[after..start];
        let count = bytes
            .iter()
            .rev()
            .take_while(|b| matches!(b, b'!' | b'-'))
            .count();
        let operators = (start - count..start).map(|at| {
            let operator = match self.ctx.text.as_bytes()[at] {
                b'!' => PrefixOperator::Not,
                _ => PrefixOperator::Negate,
            };
            (operator, Span::new(at, at + 1))
        });
        operators.collect()
    }

    fn postfix(&mut self, pair: &Pair<'_, Rule>) -> Option<PostfixOperation<'s>> {
        let span = self.span(pair);
        let mut inner = pair.clone().into_inner();
        Some(match pair.as_rule() {
            Rule::get => PostfixOperation::Field {
                name: self.next_name(&mut inner),
                span,
            },
            Rule::safe_get => PostfixOperation::SafeField {
                name: self.next_name(&mut inner),
                span,
            },
            Rule::index => PostfixOperation::Index {
                index: self.next_expr(&mut inner),
                span,
            },
            Rule::call => PostfixOperation::Call {
                arguments: inner.map(|argument| self.argument(argument)).collect(),
                span,
            },
            Rule::not_null => PostfixOperation::NotNull { span },
            Rule::optional => PostfixOperation::Optional { span },
            _ => return None,
        })
    }

    fn argument(&mut self, pair: Pair<'_, Rule>) -> Argument<'s> {
        match pair.as_rule() {
            Rule::named => {
                let mut inner = pair.into_inner();
                let name = self.next_name(&mut inner);
                Argument::Named(name, self.next_expr(&mut inner))
            }
            Rule::spread => Argument::Spread(self.next_expr(&mut pair.into_inner())),
            _ => Argument::Positional(self.expr(pair)),
        }
    }

    fn primary(&mut self, pair: Pair<'_, Rule>) -> Expr<'s> {
        let span = self.span(&pair);
        let rule = pair.as_rule();
        let kind = match rule {
            Rule::plain => {
                let range = self.range(&pair);
                ExprKind::Text(Cow::Borrowed(
                    &self.ctx.text[range.start + 1..range.end - 1],
                ))
            }
            Rule::reference => ExprKind::Name(self.slice(span)),
            Rule::quoted_name => ExprKind::Name(self.name(&pair).text),
            Rule::constant => match self.slice(span) {
                "true" => ExprKind::Bool(true),
                "false" => ExprKind::Bool(false),
                _ => ExprKind::Null,
            },
            Rule::number => match numbers::decode(self.slice(span), self.at(span)) {
                Ok(number) => ExprKind::Number(Box::new(number)),
                Err(mistake) => {
                    self.diagnostics.push(*mistake);
                    ExprKind::Broken
                }
            },
            Rule::template | Rule::text_block => self.template(pair),
            Rule::raw => {
                let range = self.range(&pair);
                ExprKind::Text(Cow::Borrowed(
                    &self.ctx.text[range.start + 1..range.end - 1],
                ))
            }
            Rule::raw_block => self.raw_block(&pair),
            Rule::list => self.list(pair.into_inner()),
            Rule::object => ExprKind::Object(
                pair.into_inner()
                    .map(|member| self.member(member))
                    .collect(),
            ),
            Rule::parens | Rule::type_parens => {
                ExprKind::Parens(Box::new(self.next_expr(&mut pair.into_inner())))
            }
            Rule::if_expr => return self.if_expr(span.start as usize, pair.into_inner()),
            Rule::match_expr => self.match_expr(span.start as usize, pair.into_inner()),
            Rule::generic => {
                let mut inner = pair.into_inner();
                ExprKind::Generic(Box::new(Generic {
                    name: self.next_name(&mut inner),
                    argument: self.next_expr(&mut inner),
                }))
            }
            _ => ExprKind::Broken,
        };
        Expr { span, kind }
    }

    fn list(&mut self, pairs: Pairs<'_, Rule>) -> ExprKind<'s> {
        let mut elements = Vec::with_capacity(pairs.len());
        for pair in pairs {
            match pair.as_rule() {
                Rule::spread => {
                    let spread = self.next_expr(&mut pair.into_inner());
                    elements.push(Element::Spread(spread));
                }
                Rule::comprehend => {
                    let mut inner = pair.into_inner();
                    let element = match elements.pop() {
                        Some(Element::Item(element)) => element,
                        Some(Element::Spread(spread)) => {
                            let at = self.at(spread.span);
                            let message = "`...` cannot stand before a `for`".to_owned();
                            self.diagnostics.push(mistakes::unexpected(at, message));
                            spread
                        }
                        None => return ExprKind::Broken,
                    };
                    return ExprKind::Comprehension(Box::new(Comprehension {
                        element,
                        variable: self.next_name(&mut inner),
                        list: self.next_expr(&mut inner),
                        condition: inner.next().map(|condition| self.expr(condition)),
                    }));
                }
                _ => elements.push(Element::Item(self.expr(pair))),
            }
        }
        ExprKind::List(elements.into_boxed_slice())
    }

    fn member(&mut self, pair: Pair<'_, Rule>) -> Member<'s> {
        let rule = pair.as_rule();
        let mut inner = pair.into_inner();
        match rule {
            Rule::spread => Member::Spread(self.next_expr(&mut inner)),
            Rule::shorthand => Member::Shorthand(self.next_name(&mut inner)),
            _ => {
                let key = self.next_key(&mut inner);
                let second = next(&mut inner);
                let optional = second.as_rule() == Rule::maybe;
                let value = if optional { next(&mut inner) } else { second };
                Member::Pair {
                    key,
                    optional,
                    value: self.expr(value),
                }
            }
        }
    }

    fn if_expr(&mut self, start: usize, mut pairs: Pairs<'_, Rule>) -> Expr<'s> {
        let mut arms = Vec::new();
        loop {
            let condition = self.next_expr(&mut pairs);
            let Some(value) = pairs.next() else {
                let keyword = Span::new(start, start + 2);
                let span = keyword.to(condition.span);
                let kind = ExprKind::If(Box::new(If {
                    keyword,
                    arms,
                    otherwise: condition,
                }));
                return Expr { span, kind };
            };
            arms.push((condition, self.expr(value)));
        }
    }

    fn match_expr(&mut self, start: usize, mut pairs: Pairs<'_, Rule>) -> ExprKind<'s> {
        let subject = self.next_expr(&mut pairs);
        let arms = pairs
            .map(|arm| {
                let mut inner = arm.into_inner();
                let pattern = next(&mut inner);
                let (span, pattern) = match pattern.as_rule() {
                    Rule::any_other => (self.span(&pattern), None),
                    _ => {
                        let pattern = self.expr(pattern);
                        (pattern.span, Some(pattern))
                    }
                };
                Arm {
                    span,
                    pattern,
                    value: self.next_expr(&mut inner),
                }
            })
            .collect();
        ExprKind::Match(Box::new(Match {
            keyword: Span::new(start, start + 5),
            subject,
            arms,
        }))
    }

    // ---- Texts ----

    fn decoder(&mut self) -> Decoder<'s, '_> {
        Decoder {
            source: self.ctx.source,
            text: self.ctx.text,
            diagnostics: &mut self.diagnostics,
        }
    }

    fn raw_block(&mut self, pair: &Pair<'_, Rule>) -> ExprKind<'s> {
        let (content, margin) = block_content(self.ctx.text, self.range(pair));
        let ends = Ends {
            fresh: true,
            last: true,
        };
        let text = self
            .decoder()
            .decode(content, Layout::Block { margin }, false, ends);
        ExprKind::Text(text)
    }

    fn template(&mut self, pair: Pair<'_, Rule>) -> ExprKind<'s> {
        let range = self.range(&pair);
        let (content, layout) = match pair.as_rule() {
            Rule::text_block => {
                let (content, margin) = block_content(self.ctx.text, range);
                (content, Layout::Block { margin })
            }
            _ => (range.start + 1..range.end - 1, Layout::Line),
        };
        let mut parts = Vec::new();
        let mut ends = Ends {
            fresh: true,
            last: false,
        };
        let mut at = content.start;
        for hole in pair
            .into_inner()
            .filter(|pair| pair.as_rule() == Rule::hole)
        {
            let span = self.span(&hole);
            // A hole on the line of the opener stands before the content; that line is a mistake of its own.
            if at <= span.start as usize {
                self.part(at..span.start as usize, layout, ends, &mut parts);
                ends.fresh = false;
                at = span.end as usize;
            }
            parts.push(Part::Hole {
                expr: self.next_expr(&mut hole.into_inner()),
                span,
            });
        }
        ends.last = true;
        if parts.is_empty() {
            return ExprKind::Text(self.decoder().decode(content, layout, true, ends));
        }
        self.part(at..content.end.max(at), layout, ends, &mut parts);
        ExprKind::Template(parts.into_boxed_slice())
    }

    fn part(
        &mut self,
        range: std::ops::Range<usize>,
        layout: Layout<'s>,
        ends: Ends,
        parts: &mut Vec<Part<'s>>,
    ) {
        let span = Span::new(range.start, range.end);
        let text = self.decoder().decode(range, layout, true, ends);
        if !text.is_empty() {
            parts.push(Part::Text { text, span });
        }
    }
}

type Row<'s> = std::iter::Peekable<std::vec::IntoIter<(Operator, Span, Expr<'s>)>>;

fn with_postfixes<'s>(base: Expr<'s>, operations: Vec<PostfixOperation<'s>>) -> Expr<'s> {
    let Some(last) = operations.last() else {
        return base;
    };
    let end = match last {
        PostfixOperation::Field { span, .. }
        | PostfixOperation::SafeField { span, .. }
        | PostfixOperation::Index { span, .. }
        | PostfixOperation::Call { span, .. }
        | PostfixOperation::NotNull { span }
        | PostfixOperation::Optional { span } => *span,
    };
    Expr {
        span: base.span.to(end),
        kind: ExprKind::Postfix(Box::new(Postfix { base, operations })),
    }
}

fn with_prefixes<'s>(operators: Vec<(PrefixOperator, Span)>, operand: Expr<'s>) -> Expr<'s> {
    let Some((_, first)) = operators.first() else {
        return operand;
    };
    Expr {
        span: first.to(operand.span),
        kind: ExprKind::Prefix(Box::new(Prefix { operators, operand })),
    }
}

fn operator(text: &str) -> Operator {
    match text {
        "|" => Operator::Union,
        "??" => Operator::Coalesce,
        "||" => Operator::Or,
        "&&" => Operator::And,
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterEqual,
        "in" => Operator::In,
        "as" => Operator::As,
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        _ => Operator::Remainder,
    }
}

/// The tightest level of `level`.
const TIGHTEST: u8 = 8;

/// How tight an operator binds. `as` binds tighter than the comparisons, so that `a < b as T` is not a chain of two.
fn level(operator: Operator) -> u8 {
    match operator {
        Operator::Union => 0,
        Operator::Coalesce => 1,
        Operator::Or => 2,
        Operator::And => 3,
        Operator::Equal | Operator::NotEqual => 4,
        Operator::Less
        | Operator::LessEqual
        | Operator::Greater
        | Operator::GreaterEqual
        | Operator::In => 5,
        Operator::As => 6,
        Operator::Add | Operator::Subtract => 7,
        Operator::Multiply | Operator::Divide | Operator::Remainder => TIGHTEST,
    }
}

fn is_comparison(operator: Operator) -> bool {
    matches!(level(operator), 4 | 5)
}
