//! Source files and places in them.

use std::sync::{Arc, OnceLock};

/// The most bytes one source may have (SEMANTICS §11).
pub const MAX_SOURCE_BYTES: usize = 128 << 20;

/// A file of the project, in the order of loading; 0 is the file that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// A range of bytes, end exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// A span from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span {
            start: u32::try_from(start).expect("a source is at most 128 MiB"),
            end: u32::try_from(end).expect("a source is at most 128 MiB"),
        }
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The text under this span.
    pub fn of(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }
}

/// A span in one of the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The file.
    pub source: SourceId,
    /// The range in it.
    pub span: Span,
}

impl Location {
    /// A place in a source.
    pub fn new(source: SourceId, span: Span) -> Location {
        Location { source, span }
    }
}

/// One source file.
#[derive(Debug)]
pub struct Source {
    /// The path as the user knows it: relative to the project's root, `/` between folders; `std.checks` for the library.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
    /// The byte at which each line starts, made when first asked for.
    lines: OnceLock<Vec<u32>>,
}

impl Source {
    /// A source with a name and a text.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Source {
        Source {
            name: name.into(),
            text: text.into(),
            lines: OnceLock::new(),
        }
    }

    /// Line and column of a byte, both from 1, columns in Unicode scalar values, a byte order mark not counted (CLI.md).
    pub fn line_column(&self, byte: u32) -> (u32, u32) {
        let lines = self.lines.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            std::iter::once(0)
                .chain(breaks.map(|(at, _)| at as u32 + 1))
                .collect()
        });
        let line = lines.partition_point(|start| *start <= byte) - 1;
        let start = lines[line] as usize;
        let before = &self.text[start..(byte as usize).clamp(start, self.text.len())];
        let marks = usize::from(line == 0 && before.starts_with('\u{feff}'));
        (line as u32 + 1, (before.chars().count() - marks) as u32 + 1)
    }
}

/// All sources of one compilation.
#[derive(Debug, Default)]
pub struct SourceMap {
    sources: Vec<Source>,
}

impl SourceMap {
    /// Adds a source and gives its id.
    pub fn add(&mut self, source: Source) -> SourceId {
        self.sources.push(source);
        SourceId(self.sources.len() as u32 - 1)
    }

    /// The source of an id of this map.
    pub fn get(&self, id: SourceId) -> &Source {
        &self.sources[id.0 as usize]
    }

    /// All sources, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.sources
            .iter()
            .enumerate()
            .map(|(at, source)| (SourceId(at as u32), source))
    }

    /// The text at a place.
    pub fn text(&self, at: Location) -> &str {
        at.span.of(&self.get(at.source).text)
    }

    /// `file:line:column`, for messages outside a rendered diagnostic.
    pub fn place(&self, at: Location) -> String {
        let source = self.get(at.source);
        let (line, column) = source.line_column(at.span.start);
        format!("{}:{line}:{column}", source.name)
    }
}
