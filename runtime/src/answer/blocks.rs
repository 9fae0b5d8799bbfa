//! Finding the block of an answer: text in, the JSON in it out.
//!
//! The tag form comes first, then code fences, then the answer as a whole; of several blocks of a form the last complete one counts.
//! A tag inside a JSON string is no tag: an end is looked for behind the value, and only if there is none by its text.

use super::AnswerFault;
use outpost_stdlib::Value;

const OPEN: &str = "<response>";
const CLOSE: &str = "</response>";

/// How often over a text is looked through for the ends of values, so that one full of open tags takes no longer.
const MAX_LOOKS: usize = 8;

/// The text that is to be read as JSON.
pub fn last(text: &str) -> Result<&str, AnswerFault> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let tagged = tagged(text);
    if let Some(content) = tagged.last {
        return Ok(inside(content));
    }
    let fenced = fenced(text);
    if let Some(content) = fenced.last {
        return Ok(content.trim());
    }
    if is_json(text) || text.starts_with(['{', '[']) {
        return Ok(text);
    }
    match tagged.unclosed || fenced.unclosed {
        true => Err(AnswerFault::Unclosed),
        false => Err(AnswerFault::Missing),
    }
}

/// The blocks of one form.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found<'t> {
    /// The content of the last complete one.
    last: Option<&'t str>,
    /// There is one without an end.
    unclosed: bool,
}

fn is_json(text: &str) -> bool {
    !text.is_empty() && Value::from_json(text).is_ok()
}

/// The content of a tagged block may be fenced.
fn inside(content: &str) -> &str {
    let content = content.trim_start_matches('\u{feff}').trim();
    match fenced(content).last {
        Some(fenced) => fenced.trim(),
        None => content,
    }
}

/// A tag by itself is often spoken of; a block is a tag with its end before the next tag, and something between them.
fn tagged(text: &str) -> Found<'_> {
    let mut found = Found::default();
    let mut at = 0;
    let mut effort = text.len().saturating_mul(MAX_LOOKS);
    while let Some(open) = find(text, OPEN, at) {
        let start = open + OPEN.len();
        if let Some(end) = end_behind_value(text, start, &mut effort) {
            found.last = Some(&text[start..end]);
            found.unclosed = false;
            at = end + CLOSE.len();
            continue;
        }
        let next = find(text, OPEN, start).unwrap_or(text.len());
        match find(&text[..next], CLOSE, start) {
            Some(end) => {
                let content = &text[start..end];
                if !content.trim().is_empty() {
                    found.last = Some(content);
                }
                found.unclosed = false;
                at = end + CLOSE.len();
            }
            None => {
                found.unclosed = true;
                at = start;
            }
        }
    }
    found
}

/// Where a tag stands next, in whatever case it is written.
fn find(text: &str, tag: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(step) = text[at..].find('<') {
        at += step;
        let end = at + tag.len();
        if end <= bytes.len() && bytes[at..end].eq_ignore_ascii_case(tag.as_bytes()) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Where the end of a block stands whose value is a text, a list or an object; `effort` is how many bytes may still be looked at.
fn end_behind_value(text: &str, start: usize, effort: &mut usize) -> Option<usize> {
    if *effort == 0 {
        return None;
    }
    let bytes = text.as_bytes();
    let mut at = start + spaces(&text[start..]);
    if text[at..].starts_with("```") || text[at..].starts_with("~~~") {
        let line = line_at(text, at);
        spend(effort, line.len())?;
        if !Fence::opens(line)?.may_be_json() {
            return None;
        }
        at += line.len();
        at += spaces(&text[at..]);
    }
    let mut end = end_of_value(bytes, at, effort)?;
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'`' | b'~');
    end += bytes[end..]
        .iter()
        .take_while(|byte| is_between(byte))
        .count();
    let close = bytes.get(end..end + CLOSE.len())?;
    close.eq_ignore_ascii_case(CLOSE.as_bytes()).then_some(end)
}

/// Takes from the effort; what it did not suffice for was the last.
fn spend(effort: &mut usize, bytes: usize) -> Option<()> {
    let rest = effort.checked_sub(bytes);
    *effort = rest.unwrap_or(0);
    rest.map(|_| ())
}

/// How many bytes of white space come first.
fn spaces(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The byte behind a text, a list or an object, by its quotes and brackets alone.
fn end_of_value(bytes: &[u8], start: usize, effort: &mut usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = start;
    while at < bytes.len() {
        let from = at;
        match bytes[at] {
            b'"' => at = end_of_text(bytes, at),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
        at += 1;
        spend(effort, at - from)?;
        if depth == 0 {
            return (at <= bytes.len()).then_some(at);
        }
    }
    None
}

/// The byte of the closing quote, or the end.
fn end_of_text(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// The line at a byte, with its end.
fn line_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    match rest.find('\n') {
        Some(end) => &rest[..=end],
        None => rest,
    }
}

/// The beginning of a code fence.
#[derive(Clone, Copy)]
struct Fence<'t> {
    mark: char,
    length: usize,
    language: &'t str,
}

impl<'t> Fence<'t> {
    fn opens(line: &'t str) -> Option<Fence<'t>> {
        let line = line.trim();
        let mark = line
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        let is_fence = length >= 3 && !(mark == '`' && rest.contains('`'));
        let language = rest.split_whitespace().next().unwrap_or_default();
        is_fence.then_some(Fence {
            mark,
            length,
            language,
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|letter| letter == self.mark)
    }

    fn is_json(&self) -> bool {
        self.language.eq_ignore_ascii_case("json")
    }

    fn may_be_json(&self) -> bool {
        self.is_json() || self.language.is_empty()
    }
}

/// Fences that say `json`, or else those that say nothing and hold JSON.
fn fenced(text: &str) -> Found<'_> {
    let mut found = Found::default();
    let mut plain = None;
    let mut open: Option<(Fence<'_>, usize)> = None;
    let mut at = 0;
    while at < text.len() {
        let line = line_at(text, at);
        let end = at + line.len();
        match open {
            None => open = Fence::opens(line).map(|fence| (fence, end)),
            Some((fence, start)) if fence.is_closed_by(line) => {
                let content = &text[start..at];
                if fence.is_json() {
                    found.last = Some(content);
                } else if fence.language.is_empty() {
                    plain = Some(content).filter(|content| is_json(content)).or(plain);
                }
                open = None;
            }
            Some(_) => {}
        }
        at = end;
    }
    found.unclosed = open.is_some_and(|(fence, _)| fence.may_be_json());
    found.last = found.last.or(plain);
    found
}
