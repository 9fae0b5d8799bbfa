//! A broken text: split into siblings by indentation, each parsed strictly, one error for each broken entry.
//!
//! Where the brackets of a region do not balance, they are ignored and indentation alone decides;
//! that makes missing and surplus brackets harmless to the neighbours.

mod explain;

use crate::diagnostic::Diagnostic;
use crate::mistakes;
use crate::parse::{self, Built, Context, Stop};
use crate::shape::{
    self, Keep, Oddity, Problem, ProblemKind, Shape, indentation, is_reserved, word_at,
};
use crate::source::{Location, Span};
use crate::tree::{Block, Broken, Entry, Expr, ExprKind, Field, Item, Name};
use explain::{Explained, Failure};
use std::ops::Range;

/// How large parts may be that are parsed before they are taken apart.
#[derive(Clone, Copy)]
struct Limits {
    /// Healthy neighbours are parsed together up to this many bytes.
    batch: usize,
    /// A block larger than this is taken apart without trying it as a whole.
    block: usize,
}

const LIMITS: Limits = Limits {
    batch: 4 << 10,
    block: 64 << 10,
};

/// Parses what is healthy of a file and reports the rest.
pub(crate) fn recover<'s>(
    ctx: Context<'s, '_>,
    range: Range<usize>,
    shape: &Shape,
) -> (Vec<Item<'s>>, Vec<Diagnostic>) {
    let mut recovery = Recovery::new(ctx, shape);
    let siblings: Siblings<Item<'s>> = recovery.siblings(range);
    (siblings.nodes, recovery.finish())
}

/// Parses one expression and reports at most one mistake of its form.
pub(crate) fn expr<'s>(
    ctx: Context<'s, '_>,
    range: Range<usize>,
    shape: &Shape,
) -> (Expr<'s>, Vec<Diagnostic>) {
    let mut recovery = Recovery::new(ctx, shape);
    if let Some(problem) = first_problem(&shape.problems) {
        let mistake = recovery.problem(problem);
        recovery.diagnostics.push(mistake);
        return (broken_expr(range), recovery.finish());
    }
    match parse::expr(ctx, &recovery.work, range.clone()) {
        Ok(built) => {
            let node = recovery.accept(built);
            (node, recovery.finish())
        }
        Err(stop) => {
            let failure = Failure {
                work: &recovery.work,
                text: ctx.text,
                source: ctx.source,
                range: range.clone(),
                rest: range.start,
                stop,
                top: false,
            };
            let explained = failure.explain();
            recovery.diagnostics.push(explained.mistake);
            (broken_expr(range), recovery.finish())
        }
    }
}

/// An expression that was reported.
pub(crate) fn broken_expr<'s>(range: Range<usize>) -> Expr<'s> {
    Expr {
        span: Span::new(range.start, range.end),
        kind: ExprKind::Broken,
    }
}

/// What stands beside each other: the items of a file or the entries of a block.
trait Sibling<'s>: Sized {
    /// Whether these are items.
    const TOP: bool;
    /// Parses a piece strictly.
    fn parse(
        ctx: Context<'s, '_>,
        work: &str,
        range: Range<usize>,
    ) -> Result<Built<Vec<Self>>, Stop>;
    /// Parses the healthy beginning of a piece.
    fn parse_before(
        ctx: Context<'s, '_>,
        work: &str,
        range: Range<usize>,
    ) -> Result<Built<Vec<Self>>, Stop>;
    /// A block among its siblings.
    fn block(block: Block<'s>) -> Self;
    /// A broken piece among its siblings.
    fn broken(broken: Broken<'s>) -> Self;
    /// Where it ends, and the field it is if it is one.
    fn tail(&mut self) -> (u32, Option<&mut Field<'s>>);
}

impl<'s> Sibling<'s> for Item<'s> {
    const TOP: bool = true;

    fn parse(
        ctx: Context<'s, '_>,
        work: &str,
        range: Range<usize>,
    ) -> Result<Built<Vec<Self>>, Stop> {
        parse::items(ctx, work, range)
    }

    fn parse_before(
        ctx: Context<'s, '_>,
        work: &str,
        range: Range<usize>,
    ) -> Result<Built<Vec<Self>>, Stop> {
        parse::items_before(ctx, work, range)
    }

    fn block(block: Block<'s>) -> Self {
        Item::Block(Box::new(block))
    }

    fn broken(broken: Broken<'s>) -> Self {
        Item::Broken(broken)
    }

    fn tail(&mut self) -> (u32, Option<&mut Field<'s>>) {
        let end = match self {
            Item::Use(item) => match &item.what {
                crate::tree::UseWhat::Names(names) => {
                    names.last().map_or(item.keyword, |name| name.span).end
                }
                crate::tree::UseWhat::Whole(name) => name.span.end,
            },
            Item::Secret { name, .. } => name.span.end,
            Item::Type { definition, .. } => definition.span.end,
            Item::Function(function) => function.body.span.end,
            Item::Block(block) => block.span.end,
            Item::Broken(broken) => broken.span.end,
        };
        (end, None)
    }
}

impl<'s> Sibling<'s> for Entry<'s> {
    const TOP: bool = false;

    fn parse(
        ctx: Context<'s, '_>,
        work: &str,
        range: Range<usize>,
    ) -> Result<Built<Vec<Self>>, Stop> {
        parse::entries(ctx, work, range)
    }

    fn parse_before(
        ctx: Context<'s, '_>,
        work: &str,
        range: Range<usize>,
    ) -> Result<Built<Vec<Self>>, Stop> {
        parse::entries_before(ctx, work, range)
    }

    fn block(block: Block<'s>) -> Self {
        Entry::Block(Box::new(block))
    }

    fn broken(broken: Broken<'s>) -> Self {
        Entry::Broken(broken)
    }

    fn tail(&mut self) -> (u32, Option<&mut Field<'s>>) {
        match self {
            Entry::Field(field) => (field.value.span.end, Some(field)),
            Entry::Block(block) => (block.span.end, None),
            Entry::Rule(rule) => {
                let end = match &**rule {
                    crate::tree::Rule::Reject { when, .. }
                    | crate::tree::Rule::Accept { when, .. } => when.span.end,
                    crate::tree::Rule::Expect { condition, .. } => condition.span.end,
                    crate::tree::Rule::Input { kind, default, .. } => {
                        default.as_ref().unwrap_or(kind).span.end
                    }
                };
                (end, None)
            }
            Entry::Broken(broken) => (broken.span.end, None),
        }
    }
}

/// Siblings, and whether some text among them could not be read.
struct Siblings<N> {
    nodes: Vec<N>,
    broken: bool,
}

struct Recovery<'s, 'c> {
    ctx: Context<'s, 'c>,
    /// The text, with what surely is not meant replaced by something of the same length.
    work: String,
    limits: Limits,
    diagnostics: Vec<Diagnostic>,
    /// Mistakes that were repaired in place.
    repaired: Vec<Diagnostic>,
    /// What could not be read.
    unread: Vec<Range<usize>>,
}

impl<'s, 'c> Recovery<'s, 'c> {
    /// Repairs what can be repaired in place, and reports it.
    fn new(ctx: Context<'s, 'c>, shape: &Shape) -> Recovery<'s, 'c> {
        let mut work = ctx.text.as_bytes().to_vec();
        let mut repaired = Vec::new();
        for (oddity, span) in &shape.oddities {
            let at = Location::new(ctx.source, *span);
            let target = &mut work[span.start as usize..span.end as usize];
            target.fill(b' ');
            match (oddity, target) {
                (Oddity::Slashes, _) => {
                    let slashes = Span::new(span.start as usize, span.start as usize + 2);
                    repaired.push(mistakes::slash_comment(Location::new(ctx.source, slashes)));
                    continue;
                }
                (Oddity::OpeningQuote, [.., last]) => *last = b'"',
                (Oddity::ClosingQuote, [first, ..]) => *first = b'"',
                (Oddity::OpeningQuote | Oddity::ClosingQuote, []) => {}
            }
            repaired.push(mistakes::typographic_quote(at, span.of(ctx.text)));
        }
        Recovery {
            ctx,
            work: String::from_utf8_lossy(&work).into_owned(),
            limits: LIMITS,
            diagnostics: Vec::new(),
            repaired,
            unread: Vec::new(),
        }
    }

    /// All mistakes. What was repaired in place counts only where the text could be read in the end: one mistake for each broken entry.
    fn finish(mut self) -> Vec<Diagnostic> {
        self.unread.sort_by_key(|range| range.start);
        let unread = &self.unread;
        let read = |d: &Diagnostic| !within(unread, d.at().span.start as usize);
        let repaired = self.repaired.into_iter().filter(read);
        self.diagnostics.extend(repaired);
        self.diagnostics
    }

    /// A place; a quote that was repaired is a part of a longer character, which is taken as a whole.
    fn at(&self, range: Range<usize>) -> Location {
        let text = self.ctx.text;
        let start = (0..=range.start)
            .rev()
            .find(|at| text.is_char_boundary(*at));
        let end = (range.end..=text.len()).find(|at| text.is_char_boundary(*at));
        let span = Span::new(start.unwrap_or(range.start), end.unwrap_or(range.end));
        Location::new(self.ctx.source, span)
    }

    /// Takes over what was wrong in something that could be read.
    fn accept<T>(&mut self, built: Built<T>) -> T {
        self.diagnostics.extend(built.diagnostics);
        self.diagnostics.extend(built.stray_words);
        built.node
    }

    /// All siblings of a region.
    fn siblings<N: Sibling<'s>>(&mut self, range: Range<usize>) -> Siblings<N> {
        let mut siblings = Siblings {
            nodes: Vec::new(),
            broken: false,
        };
        let pieces = self.split(range, N::TOP);
        let mut next = 0;
        while next < pieces.len() {
            let from = pieces[next].start;
            let size = pieces[next..]
                .iter()
                .take_while(|piece| piece.end - from <= self.limits.batch)
                .count();
            let batch = &pieces[next..next + size.max(1)];
            if size < 2 || !self.batch(from..batch[batch.len() - 1].end, &mut siblings) {
                for piece in batch {
                    self.piece(piece.clone(), &mut siblings);
                }
            }
            next += batch.len();
        }
        siblings
    }

    /// Several pieces at once, if all of them are healthy.
    fn batch<N: Sibling<'s>>(&mut self, range: Range<usize>, out: &mut Siblings<N>) -> bool {
        let shape = shape::shape(&self.work, range.clone(), Keep::Units);
        if !shape.problems.is_empty() {
            return false;
        }
        match N::parse(self.ctx, &self.work, range) {
            Ok(built) if built.stray_words.is_empty() => {
                let mut nodes = self.accept(built);
                out.nodes.append(&mut nodes);
                true
            }
            Ok(_) | Err(_) => false,
        }
    }

    /// A piece starts at a line that is code, begins with a word, and is indented no more than the first such line.
    /// In a region whose brackets balance it is not inside of any.
    fn split(&self, range: Range<usize>, top: bool) -> Vec<Range<usize>> {
        let shape = shape::shape(&self.work, range.clone(), Keep::Lines);
        let balanced = shape.problems.is_empty();
        let inside = self.sound_blocks(&shape);
        let mut pieces = Vec::new();
        let mut start = range.start;
        let mut limit = None;
        for (index, &(line, depth)) in shape.lines.iter().enumerate() {
            let (indent, code) = indentation(self.work.as_bytes(), line);
            let inner = match balanced {
                true => depth > 0,
                false => within(&inside, code),
            };
            if code >= range.end || inner || !self.starts_entry(code, top) {
                continue;
            }
            let first_line = index == 0 && !at_line_start(&self.work, range.start);
            if !first_line && indent > *limit.get_or_insert(indent) {
                continue;
            }
            if !blank(&self.work[start..line]) {
                pieces.push(start..line);
                start = line;
            }
        }
        if !blank(&self.work[start..range.end]) {
            pieces.push(start..range.end);
        }
        pieces
    }

    /// The blocks whose `}` begins a line that is indented like the line of their `{`, whatever is wrong elsewhere; outermost ones, in order.
    fn sound_blocks(&self, shape: &Shape) -> Vec<Range<usize>> {
        let bytes = self.work.as_bytes();
        let line = |at: usize| {
            let after = shape.lines.partition_point(|(line, _)| *line <= at);
            after.checked_sub(1).map_or(0, |index| shape.lines[index].0)
        };
        let mut blocks: Vec<Range<usize>> = Vec::new();
        // Pairs come in the order of their closers: an outer one behind those in it.
        for &(open, close) in &shape.braces {
            let (opener, closer) = (line(open), line(close));
            let (indent, code) = indentation(bytes, closer);
            if opener == closer || code != close || indent != indentation(bytes, opener).0 {
                continue;
            }
            while blocks.last().is_some_and(|inner| inner.start > open) {
                blocks.pop();
            }
            blocks.push(open..close);
        }
        blocks
    }

    /// A word that is not reserved, a reserved one before a colon, or `in`, which is always a property at the start of a line.
    /// At the top level nothing has a colon, and no rule stands there.
    fn starts_entry(&self, code: usize, top: bool) -> bool {
        let word = word_at(&self.work, code);
        if word.is_empty() {
            return matches!(self.work.as_bytes().get(code), Some(b'`' | b'"'))
                && self.line_has_colon(code);
        }
        let after = self.work[code + word.len()..].trim_start_matches([' ', '\t']);
        if top {
            let rule = matches!(word, "reject" | "accept" | "expect" | "input");
            return !rule && !after.starts_with(':') && !is_reserved(word);
        }
        word == "in" || after.starts_with(':') || !is_reserved(word)
    }

    /// Whether a quoted key and a colon start at a byte.
    fn line_has_colon(&self, code: usize) -> bool {
        let rest = &self.work[code..];
        let line = rest.lines().next().unwrap_or("");
        let quote = &line[..1];
        let key = line[1..].find(quote).map(|end| &line[end + 2..]);
        key.is_some_and(|after| after.trim_start().starts_with(':'))
    }

    /// One piece: strictly, or as a block whose inside is looked at, or as something broken.
    fn piece<N: Sibling<'s>>(&mut self, range: Range<usize>, out: &mut Siblings<N>) {
        let shape = shape::shape(&self.work, range.clone(), Keep::Lines);
        let deep = shape
            .problems
            .iter()
            .find(|p| p.kind == ProblemKind::TooDeep);
        if let Some(deep) = deep {
            let mistake = self.problem(deep);
            self.diagnostics.push(mistake);
            self.push_broken(range, out);
            return;
        }
        if range.len() > self.limits.block && self.block(range.clone(), &shape, out) {
            return;
        }
        if shape.problems.is_empty() {
            match N::parse(self.ctx, &self.work, range.clone()) {
                Ok(built)
                    if !built.stray_words.is_empty() && self.block(range.clone(), &shape, out) =>
                {
                    return;
                }
                Ok(built) => {
                    let mut nodes = self.accept(built);
                    out.nodes.append(&mut nodes);
                    return;
                }
                Err(_) if self.block(range.clone(), &shape, out) => return,
                Err(stop) => {
                    self.leaf(range, stop, out);
                    return;
                }
            }
        }
        if self.block(range.clone(), &shape, out) || self.headless(range.clone(), &shape, out) {
            return;
        }
        if let Some(problem) = first_problem(&shape.problems) {
            let mistake = self.problem(problem);
            self.diagnostics.push(mistake);
        }
        self.keep_before(range, out);
    }

    /// A piece that begins with the head of a block: its entries are siblings of their own.
    fn block<N: Sibling<'s>>(
        &mut self,
        range: Range<usize>,
        shape: &Shape,
        out: &mut Siblings<N>,
    ) -> bool {
        let Some(open) = self
            .head_end(range.clone())
            .filter(|_| !self.is_item::<N>(&range))
        else {
            return false;
        };
        let Ok(head) = parse::head(self.ctx, &self.work, range.start..open + 1) else {
            return false;
        };
        let reported = self.diagnostics.len();
        let start = head.node.keyword.span.start as usize;
        let head = self.accept(head);
        let mut block = parse::open_block(self.ctx, start, head);
        let close = self.block_end(range.clone(), open, shape);
        let end = close.unwrap_or(range.end);
        let inside: Siblings<Entry<'s>> = self.siblings(open + 1..end);
        block.entries = inside.nodes;
        block.broken = inside.broken;
        let code_end = self.code_end(range.clone(), shape);
        block.span.end = Span::new(end, close.map_or(code_end, |close| close + 1)).end;
        match close {
            None => {
                block.broken = true;
                if !swallowed(shape, &self.work) {
                    let other = self.at(code_end..code_end);
                    let at = self.at(open..open + 1);
                    self.diagnostics
                        .push(mistakes::unclosed_bracket(at, "{", Some(other)));
                }
                out.nodes.push(N::block(block));
            }
            Some(close) => {
                out.nodes.push(N::block(block));
                let told = self.diagnostics.len() > reported;
                self.after_block(close + 1..range.end, told, out);
            }
        }
        if self.diagnostics.len() == reported && range.len() <= self.limits.block {
            // The parts are healthy but the whole is not: say what the strict parse of the whole says.
            if let Err(stop) = N::parse(self.ctx, &self.work, range.clone()) {
                let mistake = self.failure(range, stop, N::TOP).explain().mistake;
                self.diagnostics.push(mistake);
            }
        }
        true
    }

    /// Whether a piece starts an item that is no block.
    fn is_item<N: Sibling<'s>>(&self, range: &Range<usize>) -> bool {
        let word = word_at(&self.work, skip_blanks(&self.work, range.clone()));
        N::TOP && matches!(word, "use" | "secret" | "type" | "fn")
    }

    /// What stands behind the `}` of a block in the same piece.
    /// If a mistake inside was told, a surplus `}` is most likely its consequence.
    fn after_block<N: Sibling<'s>>(
        &mut self,
        range: Range<usize>,
        told: bool,
        out: &mut Siblings<N>,
    ) {
        let mut start = range.start;
        loop {
            start = skip_blanks(&self.work, start..range.end);
            match self.work.as_bytes()[..range.end].get(start) {
                None => return,
                Some(b'}' | b')' | b']') => {
                    let closer = self.work[start..start + 1].to_owned();
                    let at = self.at(start..start + 1);
                    if !told {
                        let mistake = mistakes::surplus_closer(at, &closer);
                        self.diagnostics.push(mistake);
                    }
                    out.broken = true;
                    start += 1;
                }
                Some(b',') if !N::TOP && blank(&self.work[range.start..start]) => start += 1,
                Some(_) => break,
            }
        }
        self.piece(start..range.end, out);
    }

    /// A block whose `{` is missing: its head stands alone on its line, and a `}` further down closes nothing.
    fn headless<N: Sibling<'s>>(
        &mut self,
        range: Range<usize>,
        shape: &Shape,
        out: &mut Siblings<N>,
    ) -> bool {
        let stray = shape
            .problems
            .iter()
            .find(|p| p.kind == ProblemKind::Surplus);
        let stray = stray.filter(|p| p.span.of(&self.work) == "}" && !self.is_item::<N>(&range));
        let Some(stray) = stray else {
            return false;
        };
        let start = skip_blanks(&self.work, range.clone());
        let stray_at = stray.span.start as usize;
        let (line, entries) = self.head_line(start..stray_at);
        let head_text = self.work[start..line].trim_end().to_owned();
        let with_brace = format!("{}{head_text}{{", " ".repeat(start));
        let Ok(head) = parse::head(self.ctx, &with_brace, start..with_brace.len()) else {
            return false;
        };
        let at = self.at(start..start + head_text.len());
        let also = self.at(stray_at..stray_at + 1);
        self.diagnostics
            .push(mistakes::missing_brace(at, &head_text, Some(also)));
        let head = self.accept(head);
        let mut block = parse::open_block(self.ctx, start, head);
        let inside: Siblings<Entry<'s>> = self.siblings(entries..stray_at);
        block.entries = inside.nodes;
        block.broken = true;
        block.span.end = stray.span.end;
        out.nodes.push(N::block(block));
        self.after_block(stray_at + 1..range.end, false, out);
        true
    }

    /// Where the head of a block without a `{` ends, and where its entries begin:
    /// at the end of the line, or before the first word on it that has a colon.
    fn head_line(&self, range: Range<usize>) -> (usize, usize) {
        let line = self.work[range.clone()]
            .find('\n')
            .map_or(range.end, |end| range.start + end);
        let line = range.start..line;
        let comment = self.work[line.clone()]
            .find('#')
            .map_or(line.end, |at| line.start + at);
        let head = &self.work[line.start..comment];
        let mut depth = 0_usize;
        let colon = head.bytes().position(|byte| {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            byte == b':' && depth == 0
        });
        match colon {
            Some(colon) => {
                let before = head[..colon].trim_end();
                let word = before.rfind([' ', '\t', '{', ',']).map_or(0, |at| at + 1);
                (line.start + word, line.start + word)
            }
            None => (comment, line.end),
        }
    }

    /// The `{` of a head: the first one that is in no other bracket, on the first line or behind parameters.
    fn head_end(&self, range: Range<usize>) -> Option<usize> {
        let start = skip_blanks(&self.work, range.clone());
        let mut depth = 0_usize;
        let mut quote = None;
        for (index, byte) in self.work.as_bytes()[start..range.end].iter().enumerate() {
            match (byte, quote) {
                (b'\n', _) if depth == 0 => return None,
                (b'\n', _) => quote = None,
                (byte, Some(open)) if *byte == open => quote = None,
                (_, Some(_)) => {}
                (b'"' | b'\'' | b'`', None) => quote = Some(*byte),
                (b'#', None) => return None,
                (b'(' | b'[', None) => depth += 1,
                (b')' | b']', None) => depth = depth.saturating_sub(1),
                (b'{', None) if depth == 0 => return Some(start + index),
                (b':', None) if depth == 0 => return None,
                (_, None) => {}
            }
        }
        None
    }

    /// The `}` of the block that opens at `open`: its partner where all balances, else the first line that starts with `}`
    /// and is indented no more than the head, else its partner after all.
    fn block_end(&self, range: Range<usize>, open: usize, shape: &Shape) -> Option<usize> {
        let partner = shape
            .braces
            .iter()
            .find(|(from, _)| *from == open)
            .map(|(_, to)| *to);
        if shape.problems.is_empty() {
            return partner;
        }
        let bytes = &self.work.as_bytes()[..range.end];
        let line = self.work[..open]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let (outer, _) = indentation(bytes, line.max(parse::mark_length(&self.work)));
        let closing = shape
            .lines
            .iter()
            .filter(|(line, _)| *line > open)
            .find_map(|(line, _)| {
                let (indent, code) = indentation(bytes, *line);
                (bytes.get(code) == Some(&b'}') && indent <= outer).then_some(code)
            });
        let last = || {
            let end = self.code_end(range.clone(), shape);
            let count = |brace: u8| bytes[open..end].iter().filter(|b| **b == brace).count();
            (bytes[end - 1] == b'}' && count(b'{') <= count(b'}')).then_some(end - 1)
        };
        closing.or(partner).or_else(last)
    }

    /// The end of the last code of a piece: blanks and comments behind it do not count.
    fn code_end(&self, range: Range<usize>, shape: &Shape) -> usize {
        let mut end = range.end;
        loop {
            end = range.start + self.work[range.start..end].trim_end().len();
            let comment = shape
                .comments
                .iter()
                .rev()
                .find(|c| c.span.end as usize == end);
            match comment {
                Some(comment) => end = comment.span.start as usize,
                None => return end.max(range.start + 1),
            }
        }
    }

    /// A piece that is no block: exactly one error, and what is healthy before it.
    fn leaf<N: Sibling<'s>>(&mut self, range: Range<usize>, stop: Stop, out: &mut Siblings<N>) {
        let Explained { mistake, repair } = self.failure_in::<N>(range.clone(), stop).explain();
        self.diagnostics.push(mistake);
        let Some((at, with)) = repair else {
            self.keep_before(range, out);
            return;
        };
        self.work.replace_range(at..at + 1, with);
        match N::parse(self.ctx, &self.work, range.clone()) {
            Ok(built) => {
                let mut nodes = self.accept(built);
                out.nodes.append(&mut nodes);
            }
            Err(_) => self.keep_before(range, out),
        }
    }

    fn failure(&self, range: Range<usize>, stop: Stop, top: bool) -> Failure<'_> {
        Failure {
            work: &self.work,
            text: self.ctx.text,
            source: self.ctx.source,
            rest: range.start,
            range,
            stop,
            top,
        }
    }

    fn failure_in<N: Sibling<'s>>(&self, range: Range<usize>, stop: Stop) -> Failure<'_> {
        let mut failure = self.failure(range.clone(), stop, N::TOP);
        if let Ok(built) = N::parse_before(self.ctx, &self.work, range) {
            let mut nodes = built.node;
            if let Some(last) = nodes.last_mut() {
                failure.rest = last.tail().0 as usize;
            }
        }
        failure
    }

    /// Keeps the healthy beginning of a broken piece. The value of a field that touches the break may be cut short.
    fn keep_before<N: Sibling<'s>>(&mut self, range: Range<usize>, out: &mut Siblings<N>) {
        let mut rest = range.start;
        if let Ok(built) = N::parse_before(self.ctx, &self.work, range.clone()) {
            let mut nodes = built.node;
            if let Some(last) = nodes.last_mut() {
                let (end, field) = last.tail();
                rest = end as usize;
                if let Some(field) = field {
                    field.value.kind = ExprKind::Broken;
                }
            }
            out.nodes.append(&mut nodes);
        }
        self.push_broken(rest..range.end, out);
    }

    fn push_broken<N: Sibling<'s>>(&mut self, range: Range<usize>, out: &mut Siblings<N>) {
        out.broken = true;
        self.unread.push(range.clone());
        out.nodes.push(N::broken(Broken {
            words: self.words(range.clone()),
            span: Span::new(range.start, range.end),
        }));
    }

    /// The words at the head of a piece, at most three.
    fn words(&self, range: Range<usize>) -> Vec<Name<'s>> {
        let mut words = Vec::new();
        let mut at = skip_blanks(&self.work, range.clone());
        while words.len() < 3 && at < range.end {
            let quoted = self.work.as_bytes()[at] == b'`';
            let start = at + usize::from(quoted);
            let word = match quoted {
                true => self.work[start..range.end]
                    .split(['`', '\n'])
                    .next()
                    .unwrap_or(""),
                false => word_at(&self.work[..range.end], at),
            };
            if word.is_empty() {
                break;
            }
            let end = start + word.len();
            words.push(Name {
                text: &self.ctx.text[start..end],
                span: Span::new(start, end),
            });
            at = end + usize::from(quoted);
            at += self.work[at.min(range.end)..range.end]
                .bytes()
                .take_while(|b| matches!(b, b' ' | b'\t'))
                .count();
        }
        words
    }

    /// A problem of the shape in words.
    fn problem(&self, problem: &Problem) -> Diagnostic {
        let place = |span: Span| self.at(span.start as usize..span.end as usize);
        let at = place(problem.span);
        let other = problem.other.map(place);
        let text = problem.span.of(&self.work);
        match problem.kind {
            ProblemKind::UnclosedString => {
                let quote = if text.starts_with('\'') { '\'' } else { '"' };
                mistakes::unclosed_string(at, quote)
            }
            ProblemKind::UnclosedName => mistakes::unclosed_string(at, '`'),
            ProblemKind::UnclosedText => {
                // A piece ends where the text block must have ended: the line that shows it is the next one.
                let line = problem.other.map(|other| {
                    let rest = &self.work[other.start as usize..];
                    let start = self.work.len() - rest.trim_start().len();
                    self.at(start..start)
                });
                mistakes::unclosed_text(at, text, line)
            }
            ProblemKind::UnclosedHole => mistakes::unclosed_hole(at, other),
            ProblemKind::OneLineText => mistakes::one_line_text(at, text),
            ProblemKind::Unclosed => mistakes::unclosed_bracket(at, text, other),
            ProblemKind::WrongCloser => match other {
                Some(opener) => {
                    mistakes::wrong_closer(at, text, opener.span.of(&self.work), opener)
                }
                None => mistakes::surplus_closer(at, text),
            },
            ProblemKind::Surplus => mistakes::surplus_closer(at, text),
            ProblemKind::TooDeep => mistakes::nesting(at),
        }
    }
}

/// The problem that explains the others: what swallows text comes before brackets.
fn first_problem(problems: &[Problem]) -> Option<&Problem> {
    problems.iter().min_by_key(|problem| match problem.kind {
        ProblemKind::UnclosedString
        | ProblemKind::UnclosedName
        | ProblemKind::UnclosedText
        | ProblemKind::UnclosedHole
        | ProblemKind::OneLineText => 0,
        ProblemKind::WrongCloser | ProblemKind::Surplus => 1,
        ProblemKind::Unclosed => 2,
        ProblemKind::TooDeep => 3,
    })
}

/// Whether an unclosed string holds a `}` that may be the one that is missing.
fn swallowed(shape: &Shape, work: &str) -> bool {
    shape.problems.iter().any(|problem| match problem.kind {
        ProblemKind::UnclosedString | ProblemKind::UnclosedName => {
            problem.span.of(work).contains('}')
        }
        ProblemKind::UnclosedHole => {
            let line = work[problem.span.end as usize..].lines().next();
            line.is_some_and(|line| line.contains('}'))
        }
        ProblemKind::UnclosedText => problem
            .other
            .is_none_or(|other| other.start as usize >= work.len()),
        ProblemKind::OneLineText => true,
        ProblemKind::Unclosed
        | ProblemKind::WrongCloser
        | ProblemKind::Surplus
        | ProblemKind::TooDeep => false,
    })
}

/// Whether a byte lies in one of some ranges, which are in order and apart.
fn within(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).is_some_and(|range| range.start <= at)
}

fn at_line_start(text: &str, at: usize) -> bool {
    at == parse::mark_length(text) || text.as_bytes()[at - 1] == b'\n'
}

/// Whether there is nothing but white space and comments.
fn blank(text: &str) -> bool {
    skip_blanks(text, 0..text.len()) == text.len()
}

/// The first byte of a range that is neither white space nor comment.
fn skip_blanks(text: &str, range: Range<usize>) -> usize {
    let bytes = text.as_bytes();
    let mut at = range.start;
    while at < range.end {
        match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'#' => {
                while at < range.end && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            _ => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceId;
    use std::path::Path;

    #[expect(
        clippy::disallowed_methods,
        reason = "tests read their cases from files"
    )]
    fn texts(folder: &Path) -> Vec<String> {
        let mut texts = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                texts.extend(self::texts(&path));
            } else if path
                .extension()
                .is_some_and(|extension| extension == "outpost")
            {
                texts.push(std::fs::read_to_string(&path).unwrap());
            }
        }
        texts
    }

    /// Taking healthy files apart down to the last block changes nothing.
    #[test]
    fn healthy_files_are_taken_apart_without_harm() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases");
        let mut healthy = 0;
        for text in texts(&root) {
            let parsed = parse::parse(SourceId(0), &text);
            if !parsed.diagnostics.is_empty() {
                continue;
            }
            healthy += 1;
            let range = parse::mark_length(&text)..text.len();
            let shape = shape::shape(&text, range.clone(), Keep::Lines);
            let ctx = Context {
                source: SourceId(0),
                text: &text,
                comments: &shape.comments,
            };
            let mut recovery = Recovery::new(ctx, &shape);
            recovery.limits = Limits { batch: 0, block: 0 };
            let items: Siblings<Item<'_>> = recovery.siblings(range);
            assert!(
                recovery.diagnostics.is_empty(),
                "{text}\n{:#?}",
                recovery.diagnostics
            );
            assert!(items.nodes == parsed.document.items, "{text}");
        }
        assert!(healthy > 10, "only {healthy} files are healthy");
    }
}
