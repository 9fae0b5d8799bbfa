//! Text literals: escapes, and the indentation of text blocks.

use crate::diagnostic::Diagnostic;
use crate::mistakes;
use crate::source::{Location, SourceId, Span};
use std::borrow::Cow;
use std::ops::Range;

/// A literal, its source and where its mistakes go.
pub(crate) struct Decoder<'s, 'd> {
    /// The file.
    pub source: SourceId,
    /// Its text.
    pub text: &'s str,
    /// Mistakes found while decoding.
    pub diagnostics: &'d mut Vec<Diagnostic>,
}

/// How the lines of a literal are read.
#[derive(Clone, Copy)]
pub(crate) enum Layout<'s> {
    /// On one line.
    Line,
    /// A text block whose closer has this indentation.
    Block {
        /// The blanks before the closer.
        margin: &'s str,
    },
}

/// Decoded text that stays a slice of the source as long as it can.
struct Gather<'s> {
    text: &'s str,
    slice: Range<usize>,
    owned: Option<String>,
}

impl<'s> Gather<'s> {
    fn push(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        match &mut self.owned {
            Some(owned) => owned.push_str(&self.text[range]),
            None if self.slice.is_empty() => self.slice = range,
            None if self.slice.end == range.start => self.slice.end = range.end,
            None => {
                let mut owned = self.text[self.slice.clone()].to_owned();
                owned.push_str(&self.text[range]);
                self.owned = Some(owned);
            }
        }
    }

    fn push_char(&mut self, char: char) {
        let text = &self.text[self.slice.clone()];
        self.owned.get_or_insert_with(|| text.to_owned()).push(char);
    }

    fn finish(self) -> Cow<'s, str> {
        match self.owned {
            Some(owned) => Cow::Owned(owned),
            None => Cow::Borrowed(&self.text[self.slice]),
        }
    }
}

impl<'s> Decoder<'s, '_> {
    /// The text between `range`, which holds no hole.
    /// `fresh` says that it starts a line of a text block, `last` that it is followed by the closer and not by a hole.
    pub(crate) fn decode(
        &mut self,
        range: Range<usize>,
        layout: Layout<'s>,
        escapes: bool,
        ends: Ends,
    ) -> Cow<'s, str> {
        let mut gather = Gather {
            text: self.text,
            slice: range.start..range.start,
            owned: None,
        };
        match layout {
            Layout::Line => self.line(range, escapes, &mut gather),
            Layout::Block { margin } => self.block(range, margin, escapes, ends, &mut gather),
        }
        gather.finish()
    }

    fn block(
        &mut self,
        range: Range<usize>,
        margin: &str,
        escapes: bool,
        ends: Ends,
        gather: &mut Gather<'s>,
    ) {
        let mut at = range.start;
        let mut fresh = ends.fresh;
        loop {
            let rest = &self.text[at..range.end];
            let newline = rest.find('\n');
            let end = newline.map_or(range.end, |newline| at + newline);
            let whole = newline.is_some() || ends.last;
            let line = self.text[at..end].trim_end_matches('\r');
            let stop = if whole { at + line.len() } else { end };
            if fresh {
                at += self.margin(at..stop, margin, whole);
            }
            self.line(at..stop, escapes, gather);
            if newline.is_none() {
                return;
            }
            gather.push(end..end + 1);
            at = end + 1;
            fresh = true;
        }
    }

    /// How many bytes of a line belong to the margin; a line of blanks is all margin.
    fn margin(&mut self, line: Range<usize>, margin: &str, whole: bool) -> usize {
        let text = &self.text[line.clone()];
        let blank = text.trim_start_matches([' ', '\t']);
        if blank.is_empty() && whole {
            return text.len();
        }
        if text.starts_with(margin) {
            return margin.len();
        }
        let code = line.end - blank.len();
        let span = Span::new(line.start, code.max(line.start));
        let at = Location::new(self.source, span);
        self.diagnostics.push(mistakes::under_indented(at));
        code - line.start
    }

    fn line(&mut self, range: Range<usize>, escapes: bool, gather: &mut Gather<'s>) {
        if !escapes {
            gather.push(range);
            return;
        }
        let mut at = range.start;
        while let Some(slash) = self.text[at..range.end].find('\\') {
            let slash = at + slash;
            gather.push(at..slash);
            at = self.escape(slash..range.end, gather);
        }
        gather.push(at..range.end);
    }

    /// The escape at the start of the range; gives where it ends.
    fn escape(&mut self, range: Range<usize>, gather: &mut Gather<'s>) -> usize {
        let start = range.start;
        let rest = &self.text[start + 1..range.end];
        let Some(letter) = rest.chars().next() else {
            return range.end;
        };
        let char = match letter {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '"' | '\\' | '$' => letter,
            'u' => return self.unicode(range, gather),
            _ => {
                let end = start + 1 + letter.len_utf8();
                self.unknown(start..end);
                return end;
            }
        };
        gather.push_char(char);
        start + 2
    }

    /// `\u{1F600}`.
    fn unicode(&mut self, range: Range<usize>, gather: &mut Gather<'s>) -> usize {
        let start = range.start;
        let rest = &self.text[start + 2..range.end];
        let inside = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let Some((digits, _)) = inside else {
            self.unknown(start..start + 2);
            return start + 2;
        };
        let end = start + 4 + digits.len();
        let plain =
            (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let char = u32::from_str_radix(digits, 16)
            .ok()
            .filter(|_| plain)
            .and_then(char::from_u32);
        match char {
            Some(char) => gather.push_char(char),
            None => self.unknown(start..end),
        }
        end
    }

    fn unknown(&mut self, range: Range<usize>) {
        let text = &self.text[range.clone()];
        let at = Location::new(self.source, Span::new(range.start, range.end));
        self.diagnostics.push(mistakes::unknown_escape(at, text));
    }
}

/// What stands around a stretch of a text block.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    /// It starts a line.
    pub fresh: bool,
    /// The closer follows, not a hole.
    pub last: bool,
}

/// Where the content of a text block lies, and the blanks before its closer; `literal` holds both delimiters.
pub(crate) fn block_content(text: &str, literal: Range<usize>) -> (Range<usize>, &str) {
    let bytes = text.as_bytes();
    let opener = bytes[literal.start..literal.end]
        .iter()
        .position(|b| *b == b'\n');
    let start = opener.map_or(literal.end, |newline| literal.start + newline + 1);
    // A quote that was repaired may be part of a delimiter, which then begins inside its character.
    let closer = text.floor_char_boundary(literal.end - 3);
    let line = bytes[literal.start..closer.max(literal.start)]
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(closer, |newline| literal.start + newline + 1);
    let margin = &text[line.min(closer)..closer];
    let mut end = line.saturating_sub(1).max(start);
    if end > start && bytes[end - 1] == b'\r' {
        end -= 1;
    }
    (start.min(end)..end, margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> (String, usize) {
        let mut diagnostics = Vec::new();
        let mut decoder = Decoder {
            source: SourceId(0),
            text,
            diagnostics: &mut diagnostics,
        };
        let ends = Ends {
            fresh: true,
            last: true,
        };
        let decoded = decoder
            .decode(0..text.len(), Layout::Line, true, ends)
            .into_owned();
        (decoded, diagnostics.len())
    }

    #[test]
    fn escapes() {
        assert_eq!(line(r#"a\n\r\t\"\\\$b"#), ("a\n\r\t\"\\$b".to_owned(), 0));
        assert_eq!(line(r"\u{41}\u{1F600}"), ("A\u{1F600}".to_owned(), 0));
        assert_eq!(line(r"\d"), (String::new(), 1));
        assert_eq!(line(r"\u{110000} \u{} \u41").1, 3);
        assert_eq!(line("\\\u{e9}"), (String::new(), 1));
    }

    #[test]
    fn block_margins() {
        let text = "\"\"\"\r\n    a\n\n      b\n    \"\"\"";
        let (content, margin) = block_content(text, 0..text.len());
        assert_eq!(margin, "    ");
        let mut diagnostics = Vec::new();
        let mut decoder = Decoder {
            source: SourceId(0),
            text,
            diagnostics: &mut diagnostics,
        };
        let ends = Ends {
            fresh: true,
            last: true,
        };
        let decoded = decoder.decode(content, Layout::Block { margin }, true, ends);
        assert_eq!(decoded, "a\n\n  b");
        assert!(diagnostics.is_empty());
    }

    #[test]
    fn an_empty_block() {
        let text = "\"\"\"\n  \"\"\"";
        let (content, _) = block_content(text, 0..text.len());
        assert!(content.is_empty());
    }

    #[test]
    fn a_repaired_quote_in_a_delimiter() {
        let text = "\u{201c}\"\"\n  a\n  \"\"\"";
        let (content, margin) = block_content(text, 2..text.len());
        assert_eq!((&text[content], margin), ("  a", "  "));
        let text = "\"\"\"\n  a\n  \u{201c}\"\"";
        let (content, margin) = block_content(text, 0..text.len());
        assert_eq!((&text[content], margin), ("  a", "  "));
    }
}
