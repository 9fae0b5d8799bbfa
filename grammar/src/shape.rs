//! The shape of a text: strings, comments, brackets and line starts, found without the grammar.
//!
//! One pass over the bytes tells where a text may be cut into pieces, how deep it nests, and what is unclosed.
//! It never judges what stands between the brackets.

use crate::source::Span;
use crate::tree::Comment;
use std::ops::Range;

/// The deepest nest of brackets and `${` that is parsed (GRAMMAR §4).
pub(crate) const MAX_NESTING: usize = 200;

/// Pieces are cut at the first safe place after this many bytes.
const PIECE_BYTES: usize = 6 << 10;

/// Words that are no references; a line that begins with one continues an expression.
pub(crate) const RESERVED: [&str; 13] = [
    "if", "then", "else", "for", "in", "when", "match", "as", "true", "false", "null", "list",
    "map",
];

/// What is wrong with the shape of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// A `"` or `'` string reaches the end of its line.
    UnclosedString,
    /// A backtick name reaches the end of its line.
    UnclosedName,
    /// A text block is never closed; the other place is the first line that is not indented more than its opening line.
    UnclosedText,
    /// A `${` is not closed in its string, or in its text block, whose closer is the other place.
    UnclosedHole,
    /// Text follows the opener of a text block.
    OneLineText,
    /// An opening bracket has no closer; the other place is where that shows.
    Unclosed,
    /// A closer that does not fit the opener at the other place.
    WrongCloser,
    /// A closer that closes nothing.
    Surplus,
    /// Nesting goes deeper than is parsed.
    TooDeep,
}

/// A problem and its places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// What it is.
    pub kind: ProblemKind,
    /// Where it shows.
    pub span: Span,
    /// The other place involved.
    pub other: Option<Span>,
}

/// A part of a text that can be parsed by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Whole items.
    Items(Range<usize>),
    /// The head of a large block, up to its `{`.
    Head(Range<usize>),
    /// Entries of the block whose head came before.
    Entries(Range<usize>),
    /// The `}` of the block whose head came before.
    Close(usize),
}

/// Text that surely is not meant, and can be replaced by text of the same length that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Oddity {
    /// A `//` comment.
    Slashes,
    /// A typographic quote where a string begins.
    OpeningQuote,
    /// A typographic quote where a string ends.
    ClosingQuote,
}

/// All that the pass finds.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    /// Comments, in order.
    pub comments: Vec<Comment>,
    /// Problems, in the order they were noticed.
    pub problems: Vec<Problem>,
    /// The parts; only good if there are no problems.
    pub units: Vec<Unit>,
    /// Where each line begins that does not begin inside a text, with the depth of brackets there.
    /// Only kept when asked for.
    pub lines: Vec<(usize, usize)>,
    /// `//` comments and typographic quotes, each character of the latter.
    pub oddities: Vec<(Oddity, Span)>,
    /// Brackets with their closers, where asked for: `(opener, closer)` in the order of closing.
    pub braces: Vec<(usize, usize)>,
}

/// What the pass is to keep besides problems and comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The units of a healthy text.
    Units,
    /// Line starts and pairs of braces, for splitting a broken text.
    Lines,
}

/// An open construct.
#[derive(Clone, Copy, Debug)]
enum Frame {
    /// `(`, `[` or `{` at a byte.
    Bracket { open: u8, at: usize },
    /// A `"` string.
    Text { at: usize },
    /// `${`.
    Hole { at: usize },
    /// A text block, and the indentation of the line of its opener.
    Block { at: usize, indent: usize, raw: bool },
}

struct Scan<'t> {
    bytes: &'t [u8],
    text: &'t str,
    at: usize,
    keep: Keep,
    frames: Vec<Frame>,
    /// How many of the frames are `"` strings.
    texts: usize,
    /// How many of the frames are text blocks.
    blocks: usize,
    line_indent: usize,
    /// Whether it was said that brackets are nested too deep.
    too_deep: bool,
    shape: Shape,
    /// The start of the unit in work.
    unit: usize,
    /// The line at depth 0 on which the open block started, if nothing was closed on it before.
    head: Option<usize>,
    /// Whether the head of the open block became a unit.
    inside: bool,
}

/// The shape of the bytes `range` of a text.
pub(crate) fn shape(text: &str, range: Range<usize>, keep: Keep) -> Shape {
    let mut scan = Scan {
        bytes: &text.as_bytes()[..range.end],
        text,
        at: range.start,
        keep,
        frames: Vec::new(),
        texts: 0,
        blocks: 0,
        line_indent: 0,
        too_deep: false,
        shape: Shape::default(),
        unit: range.start,
        head: None,
        inside: false,
    };
    scan.line_start();
    scan.run();
    scan.finish();
    scan.shape
}

/// Columns of a line's indentation (a tab counts four) and the byte after it.
pub(crate) fn indentation(bytes: &[u8], mut at: usize) -> (usize, usize) {
    let mut columns = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4,
            _ => break,
        }
        at += 1;
    }
    (columns, at)
}

/// The word that starts at a byte, or nothing.
pub(crate) fn word_at(text: &str, at: usize) -> &str {
    let bytes = text.as_bytes();
    let letter = |at: usize| {
        bytes
            .get(at)
            .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
    };
    if !letter(at) || bytes[at].is_ascii_digit() {
        return "";
    }
    let mut end = at + 1;
    while letter(end) || (bytes.get(end) == Some(&b'-') && letter(end + 1)) {
        end += 1;
    }
    &text[at..end]
}

/// Whether a word may not be a reference.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

impl Scan<'_> {
    fn run(&mut self) {
        while self.at < self.bytes.len() {
            match self.frames.last() {
                Some(Frame::Text { .. }) => self.in_text(),
                Some(Frame::Block { raw, .. }) => {
                    let raw = *raw;
                    self.in_block(raw);
                }
                Some(Frame::Bracket { .. } | Frame::Hole { .. }) | None => self.in_code(),
            }
        }
    }

    fn problem(&mut self, kind: ProblemKind, span: Range<usize>, other: Option<Range<usize>>) {
        self.shape.problems.push(Problem {
            kind,
            span: Span::new(span.start, span.end),
            other: other.map(|other| Span::new(other.start, other.end)),
        });
    }

    fn push(&mut self, frame: Frame) {
        let depth = self.frames.len() - self.texts - self.blocks;
        if depth == MAX_NESTING && !std::mem::replace(&mut self.too_deep, true) {
            self.problem(ProblemKind::TooDeep, self.at..self.at + 1, None);
        }
        match frame {
            Frame::Text { .. } => self.texts += 1,
            Frame::Block { .. } => self.blocks += 1,
            Frame::Bracket { .. } | Frame::Hole { .. } => {}
        }
        self.frames.push(frame);
    }

    fn pop(&mut self) {
        match self.frames.pop() {
            Some(Frame::Text { .. }) => self.texts -= 1,
            Some(Frame::Block { .. }) => self.blocks -= 1,
            Some(Frame::Bracket { .. } | Frame::Hole { .. }) | None => {}
        }
    }

    /// Code up to the next string, line break or change of frame.
    fn in_code(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match CLASSES[byte as usize] {
                Class::Plain => self.at += 1,
                Class::Break => {
                    self.line_break();
                    return;
                }
                Class::Open => {
                    self.open(byte);
                    return;
                }
                Class::Close => {
                    self.close(byte);
                    return;
                }
                Class::Quote => {
                    self.quote();
                    return;
                }
                Class::RawQuote => {
                    self.raw();
                    return;
                }
                Class::Backtick => self.backtick(),
                Class::Hash => self.comment(),
                Class::Slash => self.slash(),
                Class::High => self.high(),
            }
        }
    }

    /// A line break anywhere but in a text block; a string that is open there is not closed.
    fn line_break(&mut self) {
        if self.texts > 0 {
            self.cut_texts();
        }
        self.at += 1;
        if self.blocks == 0 || !self.block_line() {
            self.line_start();
        }
    }

    fn cut_texts(&mut self) {
        // The outermost one; from the inside, as all that is inside of it goes, and what is outside may be much.
        let frames = self.frames.iter().enumerate().rev();
        let mut texts = frames.filter(|(_, frame)| matches!(frame, Frame::Text { .. }));
        let Some((first, _)) = texts.nth(self.texts - 1) else {
            return;
        };
        let end = self.line_end();
        match (self.frames[first], self.frames.get(first + 1)) {
            (_, Some(Frame::Hole { at })) => {
                self.problem(ProblemKind::UnclosedHole, *at..*at + 2, None);
            }
            (Frame::Text { at }, _) => self.problem(ProblemKind::UnclosedString, at..end, None),
            (Frame::Bracket { .. } | Frame::Hole { .. } | Frame::Block { .. }, _) => {}
        }
        while self.frames.len() > first {
            self.pop();
        }
    }

    /// The end of the line that holds the current byte, blanks and `\r` before it excluded.
    fn line_end(&self) -> usize {
        let mut end = self.at;
        while end < self.bytes.len() && self.bytes[end] != b'\n' {
            end += 1;
        }
        while end > 0 && matches!(self.bytes[end - 1], b'\r' | b' ' | b'\t') {
            end -= 1;
        }
        end
    }

    fn line_start(&mut self) {
        let start = self.at;
        let (indent, code) = indentation(self.bytes, start);
        self.line_indent = indent;
        self.at = code;
        match self.keep {
            Keep::Lines => self.shape.lines.push((start, self.frames.len())),
            Keep::Units if self.frames.len() <= 1 => self.maybe_cut(start, code),
            Keep::Units => {}
        }
    }

    /// Cuts before a line at depth 0 or 1 that begins with two words, of which none is reserved: it starts an item or a block.
    fn maybe_cut(&mut self, start: usize, code: usize) {
        match self.frames.first() {
            None => {
                if self.bytes.get(code).is_some_and(u8::is_ascii_alphabetic) {
                    self.head = Some(start);
                    if start - self.unit >= PIECE_BYTES && self.two_words(code) {
                        self.shape.units.push(Unit::Items(self.unit..start));
                        self.unit = start;
                    }
                }
            }
            Some(Frame::Bracket { open: b'{', at }) => {
                let at = *at;
                let Some(head) = self.head else { return };
                if start - self.unit < PIECE_BYTES || !self.two_words(code) {
                    return;
                }
                if !self.inside {
                    if head > self.unit {
                        self.shape.units.push(Unit::Items(self.unit..head));
                    }
                    self.shape.units.push(Unit::Head(head..at + 1));
                    self.unit = at + 1;
                    self.inside = true;
                }
                self.shape.units.push(Unit::Entries(self.unit..start));
                self.unit = start;
            }
            Some(_) => {}
        }
    }

    fn two_words(&self, at: usize) -> bool {
        let first = word_at(self.text, at);
        let mut second = at + first.len();
        while matches!(self.bytes.get(second), Some(b' ' | b'\t')) {
            second += 1;
        }
        let gap = second > at + first.len();
        let second = word_at(self.text, second);
        gap && !first.is_empty()
            && !second.is_empty()
            && !is_reserved(first)
            && !is_reserved(second)
    }

    fn open(&mut self, byte: u8) {
        self.push(Frame::Bracket {
            open: byte,
            at: self.at,
        });
        self.at += 1;
    }

    fn close(&mut self, byte: u8) {
        let at = self.at;
        self.at += 1;
        let opener = match byte {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        match self.frames.last() {
            Some(Frame::Bracket { open, at: from }) if *open == opener => {
                let from = *from;
                self.pop();
                self.closed(from, at);
            }
            Some(Frame::Hole { .. }) if byte == b'}' => self.pop(),
            _ => self.misfit(opener, at),
        }
    }

    /// A closer that is not the one of the innermost opener: either that is unclosed, or this is wrong.
    fn misfit(&mut self, opener: u8, at: usize) {
        let mut depth = self.frames.len();
        let found = loop {
            let Some(below) = depth.checked_sub(1) else {
                break None;
            };
            match self.frames[below] {
                Frame::Bracket { open, .. } if open == opener => break Some(below),
                Frame::Bracket { .. } => {}
                Frame::Hole { .. } if opener == b'{' => break Some(below),
                Frame::Hole { .. } | Frame::Text { .. } | Frame::Block { .. } => break None,
            }
            depth = below;
        };
        match (found, self.frames.last()) {
            (Some(index), _) => {
                if let Some(Frame::Bracket { at: inner, .. }) = self.frames.get(index + 1) {
                    let inner = *inner;
                    self.problem(ProblemKind::Unclosed, inner..inner + 1, Some(at..at + 1));
                }
                while self.frames.len() > index {
                    self.pop();
                }
            }
            (None, Some(Frame::Bracket { at: from, .. })) => {
                let from = *from;
                self.problem(ProblemKind::WrongCloser, at..at + 1, Some(from..from + 1));
                self.pop();
            }
            (None, _) => self.problem(ProblemKind::Surplus, at..at + 1, None),
        }
    }

    fn closed(&mut self, from: usize, at: usize) {
        if self.keep == Keep::Lines {
            self.shape.braces.push((from, at));
            return;
        }
        if !self.frames.is_empty() {
            return;
        }
        if self.inside {
            self.shape.units.push(Unit::Entries(self.unit..at));
            self.shape.units.push(Unit::Close(at));
            self.unit = at + 1;
        }
        self.inside = false;
        self.head = None;
    }

    /// A `"`: the start of a string or of a text block. (The end of a string is found inside it.)
    fn quote(&mut self) {
        if self.bytes[self.at..].starts_with(b"\"\"\"") {
            self.block_opener(false);
            return;
        }
        let at = self.at;
        self.push(Frame::Text { at });
        self.at += 1;
    }

    /// `"""` or `'''`, which is the last on its line.
    fn block_opener(&mut self, raw: bool) {
        let at = self.at;
        let mut end = at + 3;
        while matches!(self.bytes.get(end), Some(b' ' | b'\t' | b'\r')) {
            end += 1;
        }
        let last = matches!(self.bytes.get(end), Some(b'\n') | None);
        if !last {
            self.problem(ProblemKind::OneLineText, at..at + 3, None);
            let closer = &self.bytes[at..at + 3];
            let rest = &self.bytes[at + 3..];
            let stops = |place: &usize| rest[*place] == b'\n' || rest[*place..].starts_with(closer);
            let stop = (0..rest.len()).find(stops).unwrap_or(rest.len());
            end = at + 3 + stop;
            if rest[stop..].starts_with(closer) {
                self.at = end + 3;
                return;
            }
        }
        self.push(Frame::Block {
            at,
            indent: self.line_indent,
            raw,
        });
        self.at = end;
    }

    fn in_text(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    self.pop();
                    return;
                }
                b'\\' => {
                    self.at += 1;
                    if self
                        .bytes
                        .get(self.at)
                        .is_some_and(|b| !matches!(b, b'\n' | b'\r'))
                    {
                        self.at += 1;
                    }
                }
                b'\n' => {
                    self.line_break();
                    return;
                }
                b'$' if self.bytes.get(self.at + 1) == Some(&b'{') => {
                    let at = self.at;
                    self.push(Frame::Hole { at });
                    self.at += 2;
                    return;
                }
                0xe2 if self.smart_end() => {
                    self.odd(Oddity::ClosingQuote, self.at..self.at + 3);
                    self.at += 3;
                    self.pop();
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    /// Whether the current byte starts a typographic quote that must be meant as the closer: no other quote follows on the line.
    fn smart_end(&self) -> bool {
        let rest = &self.bytes[self.at..];
        let quote = |at: &usize| rest[*at] == b'"' || is_smart(&rest[*at..]);
        let next = (3..rest.len()).find(|at| rest[*at] == b'\n' || quote(at));
        is_smart(rest) && next.is_none_or(|at| rest[at] == b'\n')
    }

    fn in_block(&mut self, raw: bool) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => {
                    self.at += 1;
                    if self.block_line() {
                        return;
                    }
                }
                b'\\' if !raw => {
                    self.at += 1;
                    if self.bytes.get(self.at).is_some_and(|b| *b != b'\n') {
                        self.at += 1;
                    }
                }
                b'$' if !raw && self.bytes.get(self.at + 1) == Some(&b'{') => {
                    let at = self.at;
                    self.push(Frame::Hole { at });
                    self.at += 2;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    /// The start of a line inside a text block or a hole of one; whether the block ended here.
    fn block_line(&mut self) -> bool {
        let Some(index) = self
            .frames
            .iter()
            .rposition(|f| matches!(f, Frame::Block { .. }))
        else {
            return false;
        };
        let Frame::Block {
            at: from,
            indent: outer,
            raw,
        } = self.frames[index]
        else {
            return false;
        };
        let (indent, code) = indentation(self.bytes, self.at);
        let closer: &[u8] = if raw { b"'''" } else { b"\"\"\"" };
        let rest = &self.bytes[code..];
        if rest.starts_with(closer) {
            if let Some(Frame::Hole { at }) = self.frames.get(index + 1) {
                let at = *at;
                self.problem(ProblemKind::UnclosedHole, at..at + 2, Some(code..code + 3));
            }
            while self.frames.len() > index {
                self.pop();
            }
            self.line_indent = indent;
            self.at = code + 3;
            return true;
        }
        let blank = matches!(rest.first(), None | Some(b'\n' | b'\r'));
        if blank || indent > outer {
            return false;
        }
        self.problem(ProblemKind::UnclosedText, from..from + 3, Some(code..code));
        while self.frames.len() > index {
            self.pop();
        }
        self.line_start();
        true
    }

    fn raw(&mut self) {
        let at = self.at;
        if self.bytes[at..].starts_with(b"'''") {
            self.block_opener(true);
            return;
        }
        let end = self.bytes[at + 1..]
            .iter()
            .position(|b| matches!(b, b'\'' | b'\n'));
        let end = end.map_or(self.bytes.len(), |end| at + 1 + end);
        match self.bytes.get(end) {
            Some(b'\'') => self.at = end + 1,
            _ => {
                let end = self.line_end();
                self.problem(ProblemKind::UnclosedString, at..end, None);
                self.at = end;
            }
        }
    }

    fn backtick(&mut self) {
        let at = self.at;
        let end = self.bytes[at + 1..]
            .iter()
            .position(|b| matches!(b, b'`' | b'\n'));
        let end = end.map_or(self.bytes.len(), |end| at + 1 + end);
        match self.bytes.get(end) {
            Some(b'`') => self.at = end + 1,
            _ => {
                let end = self.line_end();
                self.problem(ProblemKind::UnclosedName, at..end, None);
                self.at = end;
            }
        }
    }

    fn comment(&mut self) {
        let at = self.at;
        while self.bytes.get(self.at).is_some_and(|b| *b != b'\n') {
            self.at += 1;
        }
        let end = self.line_end();
        self.shape.comments.push(Comment {
            span: Span::new(at, end),
            documentation: self.bytes[at..end].starts_with(b"##"),
        });
    }

    fn slash(&mut self) {
        let address = self.at > 0 && self.bytes[self.at - 1] == b':';
        if self.bytes.get(self.at + 1) != Some(&b'/') || address {
            self.at += 1;
            return;
        }
        let end = self.line_end();
        self.odd(Oddity::Slashes, self.at..end);
        self.at = end;
    }

    /// The first byte of a character that is not ASCII: a typographic quote opens a string up to its partner on the line.
    fn high(&mut self) {
        if !is_smart(&self.bytes[self.at..]) {
            self.at += 1;
            return;
        }
        self.odd(Oddity::OpeningQuote, self.at..self.at + 3);
        self.at += 3;
        let rest = &self.bytes[self.at..];
        let quote = |at: &usize| rest[*at] == b'"' || is_smart(&rest[*at..]);
        let next = (0..rest.len()).find(|at| rest[*at] == b'\n' || quote(at));
        if let Some(close) = next.filter(quote) {
            let at = self.at + close;
            let length = if self.bytes[at] == b'"' { 1 } else { 3 };
            if length == 3 {
                self.odd(Oddity::ClosingQuote, at..at + 3);
            }
            self.at = at + length;
        }
    }

    fn odd(&mut self, oddity: Oddity, span: Range<usize>) {
        let span = Span::new(span.start, span.end);
        self.shape.oddities.push((oddity, span));
    }

    fn finish(&mut self) {
        let end = self.bytes.len();
        if self.texts > 0 {
            self.cut_texts();
        }
        let frames = std::mem::take(&mut self.frames);
        for (index, frame) in frames.iter().enumerate() {
            match *frame {
                Frame::Bracket { at, .. } => {
                    self.problem(ProblemKind::Unclosed, at..at + 1, Some(end..end));
                }
                Frame::Block { at, .. } => {
                    self.problem(ProblemKind::UnclosedText, at..at + 3, Some(end..end));
                    break;
                }
                Frame::Hole { at } => self.problem(ProblemKind::UnclosedHole, at..at + 2, None),
                Frame::Text { at } => {
                    debug_assert!(index > 0 || at < end, "strings were cut");
                }
            }
        }
        if self.keep == Keep::Units && self.unit < end {
            self.shape.units.push(Unit::Items(self.unit..end));
        }
    }
}

/// Whether the bytes begin with a typographic quote: U+2018 to U+201F.
pub(crate) fn is_smart(bytes: &[u8]) -> bool {
    matches!(bytes, [0xe2, 0x80, 0x98..=0x9f, ..])
}

/// How the pass treats a byte of code.
#[derive(Clone, Copy)]
enum Class {
    Plain,
    Break,
    Open,
    Close,
    Quote,
    RawQuote,
    Backtick,
    Hash,
    Slash,
    High,
}

const CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut table = [Class::Plain; 256];
    table[b'\n' as usize] = Class::Break;
    table[b'(' as usize] = Class::Open;
    table[b'[' as usize] = Class::Open;
    table[b'{' as usize] = Class::Open;
    table[b')' as usize] = Class::Close;
    table[b']' as usize] = Class::Close;
    table[b'}' as usize] = Class::Close;
    table[b'"' as usize] = Class::Quote;
    table[b'\'' as usize] = Class::RawQuote;
    table[b'`' as usize] = Class::Backtick;
    table[b'#' as usize] = Class::Hash;
    table[b'/' as usize] = Class::Slash;
    table[0xe2] = Class::High;
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<(ProblemKind, &str)> {
        let shape = shape(text, 0..text.len(), Keep::Lines);
        let problems = shape.problems.iter();
        problems
            .map(|problem| (problem.kind, problem.span.of(text)))
            .collect()
    }

    #[test]
    fn healthy_texts_have_no_problem() {
        for text in [
            "a { b: \"x ${f(\"}\")} y\" }",
            "a: \"\"\"\n  { ${b\n  } \"\n  \"\"\"",
            "a: '\"{' # }",
            "a: '''\n  ${ \"\"\"\n  '''",
            "`a.b` { c: [1, (2)] }",
        ] {
            assert_eq!(problems(text), [], "{text}");
        }
    }

    #[test]
    fn problems_are_where_they_show() {
        assert_eq!(
            problems("a: \"b\nc: 1"),
            [(ProblemKind::UnclosedString, "\"b")]
        );
        assert_eq!(
            problems("a: \"b ${c\nd: 1"),
            [(ProblemKind::UnclosedHole, "${")]
        );
        assert_eq!(
            problems("a: \"\"\"\n  b\nc: 1"),
            [(ProblemKind::UnclosedText, "\"\"\"")]
        );
        assert_eq!(problems("a: f(b]"), [(ProblemKind::WrongCloser, "]")]);
        assert_eq!(problems("a: [f(b]"), [(ProblemKind::Unclosed, "(")]);
        assert_eq!(problems("a }"), [(ProblemKind::Surplus, "}")]);
        assert_eq!(problems("a {"), [(ProblemKind::Unclosed, "{")]);
        assert_eq!(problems(&"[".repeat(201))[0].0, ProblemKind::TooDeep);
    }

    /// A large workflow is cut between its tasks, and the pieces are the whole text.
    #[test]
    fn large_blocks_are_cut_inside() {
        let tasks: String = (0..2_000)
            .map(|task| format!("  task t{task} {{\n    value: 1\n  }}\n"))
            .collect();
        let text = format!("agent a {{ b: 1 }}\nworkflow w {{\n{tasks}}}\nagent c {{ d: 1 }}\n");
        let units = shape(&text, 0..text.len(), Keep::Units).units;
        assert!(units.len() > 6, "{units:?}");
        let mut end = 0;
        for unit in &units {
            let (start, next) = match unit {
                Unit::Items(range) | Unit::Head(range) | Unit::Entries(range) => {
                    (range.start, range.end)
                }
                Unit::Close(at) => (*at, at + 1),
            };
            assert_eq!(start, end);
            end = next;
        }
        assert_eq!(end, text.len());
    }
}
