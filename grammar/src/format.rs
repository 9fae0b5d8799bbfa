//! Tree to text: the canonical form of a file.
//!
//! Blanks, indentation, commas and blank lines are decided here; the line breaks inside of expressions are the author's.
//! Comments and all other characters stay, in their order, so the meaning stays as well.

mod marks;

use crate::diagnostic::Diagnostic;
use crate::parse::{mark_length, parse};
use crate::shape::word_at;
use crate::source::SourceId;
use crate::text::block_content;
use crate::tree::Comment;
use marks::Marks;

/// Blanks for each level.
const INDENT: usize = 2;

/// The canonical form of a file without mistakes of form; else the mistakes.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parse(SourceId(0), text);
    if !parsed.diagnostics.is_empty() {
        return Err(parsed.diagnostics);
    }
    let marks = marks::marks(text, &parsed.document);
    let tokens = tokens(text, &marks, &parsed.trivia);
    let mut writer = Writer {
        text,
        marks: &marks,
        out: String::with_capacity(text.len()),
        brackets: Vec::new(),
        line_indent: 0,
        about: None,
    };
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| &tokens[index]);
        writer.token(before, token, &tokens[index + 1..]);
    }
    if !writer.out.is_empty() {
        writer.out.push('\n');
    }
    Ok(writer.out)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Comment,
    Text,
    Word,
    Sign,
}

/// A token, and how many line breaks stand before it.
#[derive(Clone, Copy, Debug)]
struct Token {
    kind: Kind,
    start: usize,
    end: usize,
    breaks: usize,
}

/// Signs of several characters, the longest first.
const SIGNS: [&str; 11] = [
    "...", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.",
];

/// All tokens but commas, which are set anew.
fn tokens(text: &str, marks: &Marks, comments: &[Comment]) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut comments = comments.iter().peekable();
    let mut at = mark_length(text);
    let mut breaks = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        let (kind, end) = match byte {
            b'\n' => {
                breaks += 1;
                at += 1;
                continue;
            }
            b' ' | b'\t' | b'\r' | b',' => {
                at += 1;
                continue;
            }
            b'#' => {
                let comment = comments.find(|comment| comment.span.start as usize == start);
                let end = comment.map_or(text.len(), |comment| comment.span.end as usize);
                (Kind::Comment, end)
            }
            b'"' | b'\'' => (
                Kind::Text,
                marks.texts.get(&start).copied().unwrap_or(start + 1),
            ),
            b'`' => {
                let end = text[start + 1..]
                    .find('`')
                    .map_or(text.len(), |end| start + end + 2);
                (Kind::Word, end)
            }
            b'0'..=b'9' => (Kind::Word, number_end(bytes, start)),
            _ if !word_at(text, start).is_empty() => {
                (Kind::Word, start + word_at(text, start).len())
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| text[start..].starts_with(**sign));
                let generic =
                    |sign: &&&str| sign.starts_with('>') && !marks.infixes.contains(&start);
                // `?` before `?.` or `??` is its own sign where the tree says so, and `>=` may close a type.
                let length = match sign.filter(|sign| !generic(sign)) {
                    Some(sign) => sign.len(),
                    None => text[start..].chars().next().map_or(1, char::len_utf8),
                };
                (Kind::Sign, start + length)
            }
        };
        tokens.push(Token {
            kind,
            start,
            end,
            breaks,
        });
        breaks = 0;
        at = end.max(start + 1);
    }
    tokens
}

fn number_end(bytes: &[u8], start: usize) -> usize {
    let letter = |at: usize| {
        bytes
            .get(at)
            .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
    };
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = start;
    while letter(end) || (bytes.get(end) == Some(&b'.') && digit(end + 1)) {
        end += 1;
    }
    end
}

struct Writer<'t> {
    text: &'t str,
    marks: &'t Marks,
    out: String,
    /// For each open bracket the indentation of the line on which it opened.
    brackets: Vec<usize>,
    line_indent: usize,
    /// What the comments here are about, once it was looked for: a row of comments is about one thing, or about nothing.
    about: Option<Option<Token>>,
}

impl Writer<'_> {
    fn of(&self, token: &Token) -> &str {
        &self.text[token.start..token.end]
    }

    fn closes(&self, token: &Token) -> bool {
        token.kind == Kind::Sign && matches!(self.of(token), ")" | "]" | "}")
    }

    fn opens(&self, token: &Token) -> bool {
        token.kind == Kind::Sign && matches!(self.of(token), "(" | "[" | "{")
    }

    fn token(&mut self, before: Option<&Token>, token: &Token, rest: &[Token]) {
        if let Some(before) = before {
            let breaks = self.breaks(before, token);
            match breaks {
                true => self.new_line(before, token, rest),
                false => self.out.push_str(self.gap(before, token)),
            }
        }
        if self.closes(token) {
            self.brackets.pop();
        }
        if self.opens(token) {
            self.brackets.push(self.line_indent);
        }
        match token.kind {
            Kind::Text if self.of(token).contains('\n') => self.block(token),
            Kind::Comment | Kind::Text | Kind::Word | Kind::Sign => {
                self.out.push_str(&self.text[token.start..token.end])
            }
        }
        self.comma(token, rest);
    }

    /// A comma behind something that one separates; behind the last only if its bracket closes on another line.
    fn comma(&mut self, token: &Token, rest: &[Token]) {
        let Some(last) = self.marks.ends.get(&token.end) else {
            return;
        };
        let mut before = token;
        let mut broken = false;
        for next in rest {
            broken |= next.kind == Kind::Comment || self.breaks(before, next);
            before = next;
            if next.kind != Kind::Comment {
                break;
            }
        }
        if !last || broken {
            self.out.push(',');
        }
    }

    /// Whether a line break stands between two tokens.
    fn breaks(&self, before: &Token, token: &Token) -> bool {
        if before.kind == Kind::Comment || self.marks.breaks.contains(&token.start) {
            return true;
        }
        if token.breaks == 0 {
            return false;
        }
        if token.kind == Kind::Comment {
            return true;
        }
        let head = self.of(token) == "{" && !self.marks.objects.contains(&token.start);
        let colon = token.kind == Kind::Sign && self.of(token) == ":";
        let value = before.kind == Kind::Sign && self.of(before) == ":";
        let single = before.kind == Kind::Sign && self.of(before) == "{" && self.closes(token);
        let edge = self.opens(before) || self.closes(token);
        !(head || colon || value || single || (self.touches(before, token) && !edge))
    }

    fn new_line(&mut self, before: &Token, token: &Token, rest: &[Token]) {
        let blank = token.breaks > 1 && !self.opens(before) && !self.closes(token);
        let inside = self.brackets.last().map_or(0, |line| line + INDENT);
        // A comment stands like what it is about.
        let about = match self.about {
            Some(about) if about.is_none_or(|about| about.start >= token.start) => about,
            Some(_) | None => {
                let mut tokens = std::iter::once(token).chain(rest);
                tokens.find(|token| token.kind != Kind::Comment).copied()
            }
        };
        self.about = Some(about);
        let starts = about
            .is_none_or(|about| self.closes(&about) || self.marks.starts.contains(&about.start));
        let indent = match self.closes(token) {
            true => self.brackets.last().copied().unwrap_or(0),
            false if starts => inside,
            false => inside + INDENT,
        };
        self.out.push_str(if blank { "\n\n" } else { "\n" });
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.line_indent = indent;
    }

    /// The blanks between two tokens of a line.
    fn gap(&self, before: &Token, token: &Token) -> &'static str {
        if token.kind == Kind::Comment {
            return " ";
        }
        if self.touches(before, token) {
            return "";
        }
        let entry = self.marks.entries.contains(&token.start) && self.of(before) != "{";
        if entry { "  " } else { " " }
    }

    /// Whether nothing stands between two tokens.
    fn touches(&self, before: &Token, token: &Token) -> bool {
        let infix = |token: &Token| self.marks.infixes.contains(&token.start);
        if infix(before) || infix(token) {
            return false;
        }
        let left = self.of(before);
        if before.kind == Kind::Sign {
            match left {
                "(" | "[" | "." | "?." | "..." => return true,
                "<" => return true,
                "!" | "-" if self.marks.prefixes.contains(&before.start) => return true,
                "{" => return self.of(token) == "}",
                _ => {}
            }
        }
        if token.kind != Kind::Sign {
            return false;
        }
        match self.of(token) {
            ")" | "]" | ":" | "." | "?." | "?" | ">" | "<" => true,
            "!" => !self.marks.prefixes.contains(&token.start),
            "(" | "[" => self.marks.glued.contains(&token.start),
            _ => false,
        }
    }

    /// A text block, indented anew.
    fn block(&mut self, token: &Token) {
        let (content, margin) = block_content(self.text, token.start..token.end);
        let delimiter = &self.text[token.end - 3..token.end];
        let indent = self.line_indent + INDENT;
        self.out.push_str(delimiter);
        self.out.push('\n');
        let lines = &self.text[content.start..token.end - 3];
        let lines = &lines[..lines.rfind('\n').map_or(0, |newline| newline + 1)];
        for line in lines.lines() {
            let rest = line.strip_prefix(margin).unwrap_or(line.trim_start());
            let rest = if line.trim().is_empty() { "" } else { rest };
            if !rest.is_empty() {
                self.out.extend(std::iter::repeat_n(' ', indent));
            }
            self.out.push_str(rest);
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.out.push_str(delimiter);
        // What follows stands on the line of the closer, and a text block is indented more than the line of its opener.
        self.line_indent = indent;
    }
}
