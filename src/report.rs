//! Diagnostics for people: excerpts of the sources with the places marked. The only file that knows miette.
//!
//! The forms for machines are in [`machine`].

pub mod machine;

use crate::terminal::{Style, Terminal, visible};
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    SourceCode, SourceSpan, SpanContents,
};
use outpost_grammar::{
    Code, Diagnostic, Label, Location, Severity, Source, SourceId, SourceMap, Span,
};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;
use std::io::{self, Write};

/// The longest excerpt around a place; a longer one is cut to the neighbourhood of the place.
const MAX_EXCERPT_BYTES: usize = 4 << 10;

/// How much of an overlong line is shown before and after a place.
const NEIGHBOURHOOD_BYTES: usize = 60;

/// Of an excerpt that is no diagnostic.
const NO_CODE: Code = Code("");

/// Diagnostics of one compilation, with the sources that they point into.
pub struct Findings<'a> {
    /// The sources.
    pub sources: &'a SourceMap,
    /// The diagnostics, in the order in which they are shown.
    pub diagnostics: &'a [Diagnostic],
}

/// How many of each severity there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
}

impl Count {
    /// Counts diagnostics.
    pub fn of<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Count {
        let mut count = Count::default();
        for diagnostic in diagnostics {
            match diagnostic.severity {
                Severity::Error => count.errors += 1,
                Severity::Warning => count.warnings += 1,
            }
        }
        count
    }
}

impl Count {
    /// In words: `2 errors and 1 warning`; `None` if there is nothing to count.
    pub fn words(self) -> Option<String> {
        let errors = counted(self.errors, "error");
        let warnings = counted(self.warnings, "warning");
        match (self.errors, self.warnings) {
            (0, 0) => None,
            (_, 0) => Some(errors),
            (0, _) => Some(warnings),
            (_, _) => Some(format!("{errors} and {warnings}")),
        }
    }
}

/// `1 task`, `2 tasks`.
pub fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// Writes diagnostics with their excerpts, a blank line after each.
pub fn write(to: &mut impl Write, findings: &Findings<'_>, terminal: &Terminal) -> io::Result<()> {
    let texts = Texts::of(findings.sources);
    for diagnostic in findings.diagnostics {
        writeln!(to, "{}", render(&texts, diagnostic, terminal))?;
    }
    Ok(())
}

/// A fact at a place that is no diagnostic of a file: what differs from an earlier state of it.
pub fn excerpt(
    sources: &SourceMap,
    at: Location,
    title: &str,
    notes: Vec<String>,
    terminal: &Terminal,
) -> String {
    let diagnostic = Diagnostic {
        notes,
        ..Diagnostic::error(NO_CODE, at, title)
    };
    render(&Texts::of(sources), &diagnostic, terminal)
}

/// The rest of a line from a place on, as a program tells it: a file's name, a line and a column from 1.
pub fn place(sources: &SourceMap, file: &str, line: u32, column: u32) -> Option<Location> {
    let (id, source) = sources.iter().find(|(_, source)| source.name == file)?;
    let text = source.text.split_inclusive('\n').nth(line as usize - 1)?;
    let base = text.as_ptr() as usize - source.text.as_ptr() as usize;
    let column = column as usize - 1;
    let start = text
        .char_indices()
        .nth(column)
        .map_or(text.len(), |(at, _)| at);
    let end = text.trim_end().len().max(start);
    Some(Location::new(id, Span::new(base + start, base + end)))
}

/// Renders one diagnostic with its excerpts, ending in a newline.
fn render(texts: &Texts<'_>, diagnostic: &Diagnostic, terminal: &Terminal) -> String {
    let theme = match (terminal.dumb, terminal.color) {
        (true, _) => GraphicalTheme::none(),
        (false, true) => GraphicalTheme::unicode(),
        (false, false) => GraphicalTheme::unicode_nocolor(),
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(terminal.width)
        .with_links(false);
    let shown = Shown {
        diagnostic,
        excerpts: Excerpts::of(texts, diagnostic),
    };
    let mut text = String::new();
    handler
        .render_report(&mut text, &shown)
        .expect("a string takes all that is written, and the excerpts exist");
    let mut text = text.trim_end().to_owned();
    text.push('\n');
    for note in &diagnostic.notes {
        text.push_str(&footer("note", note, terminal));
    }
    text
}

/// A line under the excerpts, wrapped and aligned with miette's own `help:`.
fn footer(name: &str, words: &str, terminal: &Terminal) -> String {
    let head = format!("  {}: ", terminal.paint(Style::Hint, name));
    let indent = name.len() + 4;
    let mut text = head;
    let mut column = indent;
    for (at, word) in visible(words, false).split_whitespace().enumerate() {
        let length = word.chars().count();
        if at > 0 && column + 1 + length > terminal.width {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if at > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
    text
}

/// A diagnostic as miette sees it.
struct Shown<'a> {
    diagnostic: &'a Diagnostic,
    excerpts: Excerpts<'a>,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.diagnostic, f)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.diagnostic.message, false))
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn code<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        let severity = match self.diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        (self.diagnostic.code != NO_CODE).then(|| -> Box<dyn fmt::Display> {
            Box::new(format!("{severity}[{}]", self.diagnostic.code.0))
        })
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        let help = self.diagnostic.help.as_deref()?;
        Some(Box::new(visible(help, false)))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.excerpts)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let labels = self.diagnostic.labels.iter().enumerate();
        Some(Box::new(labels.map(|(at, label)| {
            let words = Some(visible(&label.text, false)).filter(|words| !words.is_empty());
            let span = self.excerpts.span(label);
            match at {
                0 => LabeledSpan::new_primary_with_span(words, span),
                _ => LabeledSpan::new_with_span(words, span),
            }
        })))
    }
}

/// The sources with their controls replaced by marks of the same length, each made when first asked for.
struct Texts<'a> {
    sources: &'a SourceMap,
    texts: Vec<OnceCell<Cow<'a, str>>>,
}

impl<'a> Texts<'a> {
    fn of(sources: &'a SourceMap) -> Texts<'a> {
        let texts = sources.iter().map(|_| OnceCell::new()).collect();
        Texts { sources, texts }
    }

    fn get(&self, id: SourceId) -> &str {
        self.texts[id.0 as usize].get_or_init(|| harmless(&self.sources.get(id).text))
    }
}

/// The sources of a diagnostic end to end, the primary one first: miette knows one text, a diagnostic may have several.
struct Excerpts<'a> {
    pieces: Vec<Piece<'a>>,
}

/// One source in the chain.
struct Piece<'a> {
    id: SourceId,
    source: &'a Source,
    /// The text as it is shown.
    text: &'a str,
    /// Where it starts in the chain.
    base: usize,
}

impl<'a> Excerpts<'a> {
    fn of(texts: &'a Texts<'_>, diagnostic: &Diagnostic) -> Excerpts<'a> {
        let mut pieces: Vec<Piece<'a>> = Vec::new();
        for label in &diagnostic.labels {
            if pieces.iter().any(|piece| piece.id == label.at.source) {
                continue;
            }
            let base = pieces.last().map_or(0, |piece| piece.end() + 1);
            pieces.push(Piece {
                id: label.at.source,
                source: texts.sources.get(label.at.source),
                text: texts.get(label.at.source),
                base,
            });
        }
        Excerpts { pieces }
    }

    fn span(&self, label: &Label) -> SourceSpan {
        let piece = self.pieces.iter().find(|piece| piece.id == label.at.source);
        let piece = piece.expect("each label has its source in the chain");
        let span = label.at.span;
        let mut start = (span.start as usize).min(piece.text.len());
        let mut end = (span.end as usize).clamp(start, piece.text.len());
        // The end of the file is shown behind its last line, as nothing can be marked below it.
        if start == piece.text.len() {
            start = piece.text.trim_end_matches(['\n', '\r']).len();
            end = start;
        }
        SourceSpan::new((piece.base + start).into(), end - start)
    }
}

impl Piece<'_> {
    fn end(&self) -> usize {
        self.base + self.text.len()
    }
}

impl SourceCode for Excerpts<'_> {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (start, end) = (span.offset(), span.offset() + span.len());
        let within = |piece: &&Piece<'_>| piece.base <= start && end <= piece.end();
        let piece = self.pieces.iter().find(within);
        let piece = piece.ok_or(MietteError::OutOfBounds)?;
        let (start, end) = (start - piece.base, end - piece.base);
        let (first, last) = window(piece.text, start, end, lines_before, lines_after);

        let source = piece.source;
        let (first_line, _) = source.line_column(first as u32);
        let (line, column) = source.line_column(start as u32);
        // Without context miette asks for the place itself, to name it in the heading.
        let (line, column) = match (lines_before, lines_after) {
            (0, 0) => (line - 1, column - 1),
            _ => (first_line - 1, 0),
        };
        let (first, last) = match (lines_before, lines_after) {
            (0, 0) => (start, end),
            _ => (first, last),
        };
        let data = &piece.text.as_bytes()[first..last];
        Ok(Box::new(MietteSpanContents::new_named(
            visible(&source.name, false),
            data,
            SourceSpan::new((piece.base + first).into(), last - first),
            line as usize,
            column as usize,
            data.iter().filter(|byte| **byte == b'\n').count(),
        )))
    }
}

/// The bytes of whole lines around a place, or its neighbourhood if those are too long.
fn window(
    text: &str,
    start: usize,
    end: usize,
    lines_before: usize,
    lines_after: usize,
) -> (usize, usize) {
    let mut first = line_start(text, start);
    let mut last = line_end(text, end);
    if last - first > MAX_EXCERPT_BYTES && end - start <= MAX_EXCERPT_BYTES {
        first = floor_boundary(text, start.saturating_sub(NEIGHBOURHOOD_BYTES)).max(first);
        last = floor_boundary(text, end + NEIGHBOURHOOD_BYTES).min(last);
        return (first, last.max(end));
    }
    for _ in 0..lines_before {
        let before = line_start(text, first.saturating_sub(1));
        if first - before <= MAX_EXCERPT_BYTES {
            first = before;
        }
    }
    for _ in 0..lines_after {
        let after = line_end(text, (last + 1).min(text.len()));
        if after - last <= MAX_EXCERPT_BYTES {
            last = after;
        }
    }
    (first, last)
}

fn line_start(text: &str, at: usize) -> usize {
    text.as_bytes()[..at]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |newline| newline + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    let newline = text.as_bytes()[at..].iter().position(|byte| *byte == b'\n');
    newline.map_or(text.len(), |newline| at + newline)
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The same text with every control character replaced by a mark of the same length in bytes.
fn harmless(text: &str) -> Cow<'_, str> {
    let steers = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mark = |c: char| match (steers(c), c.len_utf8()) {
        (false, _) => c,
        (true, 1) => '?',
        (true, 2) => '¤',
        (true, _) => '\u{fffd}',
    };
    Cow::Owned(text.chars().map(mark).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Terminal = Terminal {
        color: false,
        live: false,
        dumb: false,
        width: 60,
    };

    fn rendered(sources: &SourceMap, diagnostic: Diagnostic) -> String {
        let mut bytes = Vec::new();
        let findings = Findings {
            sources,
            diagnostics: &[diagnostic],
        };
        write(&mut bytes, &findings, &PLAIN).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn at(source: u32, start: usize, end: usize) -> Location {
        Location::new(SourceId(source), Span::new(start, end))
    }

    #[test]
    fn labels_in_two_files_have_an_excerpt_each() {
        let mut sources = SourceMap::default();
        sources.add(Source::new("other.outpost", "# one\n\nagent coder {}\n"));
        sources.add(Source::new("main.outpost", "agent a {}\nagent coder {}\n"));
        let diagnostic = Diagnostic::error(
            Code("duplicate-name"),
            at(1, 17, 22),
            "`coder` is declared twice",
        )
        .also(at(0, 13, 18), "first declared here")
        .help("give one of them another name")
        .note("agents, sandboxes, types, functions, steps and workflows share one set of names");
        insta::assert_snapshot!(rendered(&sources, diagnostic));
    }

    #[test]
    fn hostile_text_is_shown_and_long_lines_are_cut() {
        let mut sources = SourceMap::default();
        let text = format!(
            "{}\u{1b}[2J bad \u{202e}{}",
            "x".repeat(9000),
            "y".repeat(9000)
        );
        sources.add(Source::new("a.outpost", text));
        let diagnostic =
            Diagnostic::warning(Code("odd"), at(0, 9005, 9008), "`\u{1b}` is odd").here("here");
        insta::assert_snapshot!(rendered(&sources, diagnostic));
    }

    #[test]
    fn the_end_of_a_file_and_an_empty_file_have_places() {
        let mut sources = SourceMap::default();
        sources.add(Source::new("a.outpost", "task x {\n"));
        sources.add(Source::new("empty.outpost", ""));
        let diagnostic = Diagnostic::error(Code("unclosed"), at(0, 9, 9), "`}` is missing")
            .also(at(1, 0, 0), "nothing here");
        insta::assert_snapshot!(rendered(&sources, diagnostic));
    }
}
