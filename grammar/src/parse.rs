//! Text to tree: the shape pass cuts a healthy text into pieces, pest reads each, the builder makes the tree of it.
//!
//! A text that is not healthy goes to `recover`, which parses what is.

mod build;

use crate::diagnostic::{self, Diagnostic};
use crate::mistakes;
use crate::recover;
use crate::shape::{self, Keep, Unit};
use crate::source::{Location, MAX_SOURCE_BYTES, SourceId, Span};
use crate::tree::{Block, Comment, Document, Each, Entry, Expr, Item, Name, Param, Parsed, Target};
use build::Builder;
use pest::Parser;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::ops::Range;

/// The generated parser; its `Rule` stays in this module and in `recover`.
#[derive(pest_derive::Parser)]
#[grammar = "../outpost.pest"]
pub(crate) struct Grammar;

/// Texts with fewer pieces are parsed on the current thread.
const PARALLEL_UNITS: usize = 8;

/// What all pieces of a text share.
#[derive(Clone, Copy)]
pub(crate) struct Context<'s, 'c> {
    /// The file.
    pub source: SourceId,
    /// Its text, from which the tree borrows.
    pub text: &'s str,
    /// Its comments, for documentation.
    pub comments: &'c [Comment],
}

/// A block's head.
pub(crate) struct Head<'s> {
    pub keyword: Name<'s>,
    pub target: Option<Target<'s>>,
    pub params: Option<Vec<Param<'s>>>,
    pub each: Option<Each<'s>>,
}

/// Something built, with what was wrong inside it.
pub(crate) struct Built<T> {
    /// The node.
    pub node: T,
    /// Mistakes inside literals and between operators; the rest is healthy.
    pub diagnostics: Vec<Diagnostic>,
    /// Word operators that do not stand on the line of their left operand; they may be entries whose `:` is missing.
    pub stray_words: Vec<Diagnostic>,
}

/// Where pest stopped, and what it could have gone on with.
pub(crate) struct Stop {
    /// The byte in the text.
    pub at: usize,
    /// The rules it tried there.
    pub expected: Vec<Rule>,
}

/// Parses a file. There is always a document, of all that is healthy.
pub fn parse(source: SourceId, text: &str) -> Parsed<'_> {
    if text.len() > MAX_SOURCE_BYTES {
        let at = Location::new(source, Span::default());
        return Parsed {
            document: Document::default(),
            trivia: Vec::new(),
            diagnostics: vec![mistakes::source_size(at)],
        };
    }
    let start = mark_length(text);
    let shape = shape::shape(text, start..text.len(), Keep::Units);
    let ctx = Context {
        source,
        text,
        comments: &shape.comments,
    };
    let healthy = shape.problems.is_empty() && shape.oddities.is_empty();
    let parsed = match healthy {
        true => parse_units(ctx, &shape.units),
        false => None,
    };
    let (items, mut diagnostics) = match parsed {
        Some(parsed) => parsed,
        None => recover::recover(ctx, start..text.len(), &shape),
    };
    diagnostic::sort(&mut diagnostics);
    Parsed {
        document: Document { items },
        trivia: shape.comments,
        diagnostics,
    }
}

/// Parses one expression, such as the value of `--input name=value`.
pub fn parse_expr(source: SourceId, text: &str) -> (Expr<'_>, Vec<Diagnostic>) {
    let whole = 0..text.len().min(MAX_SOURCE_BYTES);
    if text.len() > MAX_SOURCE_BYTES {
        let at = Location::new(source, Span::default());
        return (recover::broken_expr(whole), vec![mistakes::source_size(at)]);
    }
    let shape = shape::shape(text, whole.clone(), Keep::Lines);
    let ctx = Context {
        source,
        text,
        comments: &shape.comments,
    };
    recover::expr(ctx, whole, &shape)
}

/// The length of the byte order mark.
pub(crate) fn mark_length(text: &str) -> usize {
    if text.starts_with('\u{feff}') { 3 } else { 0 }
}

/// What one unit of a healthy text gives.
enum Piece<'s> {
    Items(Vec<Item<'s>>),
    Head(usize, Head<'s>),
    Entries(Vec<Entry<'s>>),
    Close(usize),
}

/// All units strictly, or nothing if one of them is not right.
fn parse_units<'s>(
    ctx: Context<'s, '_>,
    units: &[Unit],
) -> Option<(Vec<Item<'s>>, Vec<Diagnostic>)> {
    let pieces: Option<Vec<_>> = match units.len() < PARALLEL_UNITS {
        true => units.iter().map(|unit| parse_unit(ctx, unit)).collect(),
        false => units.par_iter().map(|unit| parse_unit(ctx, unit)).collect(),
    };
    let mut items = Vec::new();
    let mut open = None;
    let mut diagnostics = Vec::new();
    for (piece, mistakes) in pieces? {
        diagnostics.extend(mistakes);
        match (piece, &mut open) {
            (Piece::Items(more), _) => items.extend(more),
            (Piece::Head(start, head), open) => *open = Some(open_block(ctx, start, head)),
            (Piece::Entries(more), Some(block)) => block.entries.extend(more),
            (Piece::Close(at), open) => {
                let mut block = open.take()?;
                block.span.end = Span::new(at, at + 1).end;
                items.push(Item::Block(Box::new(block)));
            }
            (Piece::Entries(_), None) => return None,
        }
    }
    Some((items, diagnostics))
}

fn parse_unit<'s>(ctx: Context<'s, '_>, unit: &Unit) -> Option<(Piece<'s>, Vec<Diagnostic>)> {
    let whole = ctx.text;
    let (piece, diagnostics, stray) = match unit {
        Unit::Items(range) => {
            let built = items(ctx, whole, range.clone()).ok()?;
            (
                Piece::Items(built.node),
                built.diagnostics,
                built.stray_words,
            )
        }
        Unit::Head(range) => {
            let built = head(ctx, whole, range.clone()).ok()?;
            let start = built.node.keyword.span.start as usize;
            (
                Piece::Head(start, built.node),
                built.diagnostics,
                built.stray_words,
            )
        }
        Unit::Entries(range) => {
            let built = entries(ctx, whole, range.clone()).ok()?;
            (
                Piece::Entries(built.node),
                built.diagnostics,
                built.stray_words,
            )
        }
        Unit::Close(at) => (Piece::Close(*at), Vec::new(), Vec::new()),
    };
    stray.is_empty().then_some((piece, diagnostics))
}

/// A block of a head, without entries yet.
pub(crate) fn open_block<'s>(ctx: Context<'s, '_>, start: usize, head: Head<'s>) -> Block<'s> {
    Block {
        doc: build::documentation(ctx, start),
        keyword: head.keyword,
        target: head.target,
        params: head.params,
        each: head.each.map(Box::new),
        entries: Vec::new(),
        span: head.keyword.span,
        broken: false,
    }
}

/// Parses `range` of `work`, which is the text or a repaired copy of it, as items.
pub(crate) fn items<'s>(
    ctx: Context<'s, '_>,
    work: &str,
    range: Range<usize>,
) -> Result<Built<Vec<Item<'s>>>, Stop> {
    run(ctx, work, range, Rule::items_only, |builder, pairs| {
        pairs.filter_map(|pair| builder.item(pair)).collect()
    })
}

/// The same as entries of a block.
pub(crate) fn entries<'s>(
    ctx: Context<'s, '_>,
    work: &str,
    range: Range<usize>,
) -> Result<Built<Vec<Entry<'s>>>, Stop> {
    run(ctx, work, range, Rule::entries_only, |builder, pairs| {
        builder.entries(pairs)
    })
}

/// The same as entries, up to where the text is no entry any more.
pub(crate) fn entries_before<'s>(
    ctx: Context<'s, '_>,
    work: &str,
    range: Range<usize>,
) -> Result<Built<Vec<Entry<'s>>>, Stop> {
    run(ctx, work, range, Rule::entries_before, |builder, pairs| {
        builder.entries(pairs)
    })
}

/// The same as items, up to where the text is no item any more.
pub(crate) fn items_before<'s>(
    ctx: Context<'s, '_>,
    work: &str,
    range: Range<usize>,
) -> Result<Built<Vec<Item<'s>>>, Stop> {
    run(ctx, work, range, Rule::items_before, |builder, pairs| {
        pairs.filter_map(|pair| builder.item(pair)).collect()
    })
}

/// The same as the head of a block with its `{`.
pub(crate) fn head<'s>(
    ctx: Context<'s, '_>,
    work: &str,
    range: Range<usize>,
) -> Result<Built<Head<'s>>, Stop> {
    run(ctx, work, range, Rule::head_only, |builder, mut pairs| {
        builder.head(&mut pairs)
    })
}

/// The same as one expression.
pub(crate) fn expr<'s>(
    ctx: Context<'s, '_>,
    work: &str,
    range: Range<usize>,
) -> Result<Built<Expr<'s>>, Stop> {
    run(ctx, work, range, Rule::expr_only, |builder, mut pairs| {
        builder.next_expr(&mut pairs)
    })
}

fn run<'s, T>(
    ctx: Context<'s, '_>,
    work: &str,
    range: Range<usize>,
    rule: Rule,
    build: impl FnOnce(&mut Builder<'s, '_>, pest::iterators::Pairs<'_, Rule>) -> T,
) -> Result<Built<T>, Stop> {
    let base = range.start;
    match Grammar::parse(rule, &work[range]) {
        Ok(mut pairs) => {
            let mut builder = Builder::new(ctx, base);
            let whole = pairs.next().expect("an entry rule gives one pair");
            let node = build(&mut builder, whole.into_inner());
            Ok(builder.finish(node))
        }
        Err(error) => Err(stop(base, error)),
    }
}

fn stop(base: usize, error: pest::error::Error<Rule>) -> Stop {
    let at = match error.location {
        pest::error::InputLocation::Pos(at) | pest::error::InputLocation::Span((at, _)) => {
            base + at
        }
    };
    let expected = match error.variant {
        pest::error::ErrorVariant::ParsingError { positives, .. } => positives,
        pest::error::ErrorVariant::CustomError { .. } => Vec::new(),
    };
    Stop { at, expected }
}
