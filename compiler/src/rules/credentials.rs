//! Credentials that are written into a file: keys and tokens with a shape of their own.
//!
//! Comments do not count, and neither do placeholders. What is found is never shown again: not in a message, not in an excerpt.

use outpost_grammar::tree::Comment;
use outpost_grammar::{Code, Diagnostic, Location, Source, SourceId, SourceMap, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// A credential in the text of a file.
pub const LITERAL_CREDENTIAL: Code = Code("literal-credential");

pub(crate) const CODES: &[Code] = &[LITERAL_CREDENTIAL];

/// How much of the secret part is hidden in a message, if it is there.
const RECOGNISED: usize = 6;

/// How many different characters the secret part of a credential has at least.
const MIN_DIFFERENT: usize = 8;

/// Parts of words that stand in examples and placeholders, in lower case.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "placeholder",
    "your",
    "redacted",
    "dummy",
    "changeme",
    "insert",
    "1234567890",
    "abcdefgh",
];

/// A kind of credential.
struct Shape {
    /// How it begins.
    prefix: &'static str,
    /// How many characters follow at least.
    least: usize,
    /// How many characters follow at most.
    most: usize,
    /// Which characters follow.
    part: fn(u8) -> bool,
    /// What it is.
    name: &'static str,
}

const MANY: usize = 1 << 10;

const fn shape(
    prefix: &'static str,
    (least, most): (usize, usize),
    part: fn(u8) -> bool,
    name: &'static str,
) -> Shape {
    Shape {
        prefix,
        least,
        most,
        part,
        name,
    }
}

/// Of two that fit, the earlier one counts.
const SHAPES: &[Shape] = &[
    shape(
        "sk-ant-",
        (20, MANY),
        is_url_safe,
        "an API key of Anthropic",
    ),
    shape("sk-proj-", (20, MANY), is_url_safe, "an API key of OpenAI"),
    shape(
        "sk-svcacct-",
        (20, MANY),
        is_url_safe,
        "an API key of OpenAI",
    ),
    shape(
        "sk-or-v1-",
        (32, MANY),
        is_url_safe,
        "an API key of OpenRouter",
    ),
    shape("ghp_", (36, MANY), is_alphanumeric, "a token of GitHub"),
    shape("gho_", (36, MANY), is_alphanumeric, "a token of GitHub"),
    shape("ghu_", (36, MANY), is_alphanumeric, "a token of GitHub"),
    shape("ghs_", (36, MANY), is_alphanumeric, "a token of GitHub"),
    shape("ghr_", (36, MANY), is_alphanumeric, "a token of GitHub"),
    shape("github_pat_", (22, MANY), is_word, "a token of GitHub"),
    shape("glpat-", (20, MANY), is_url_safe, "a token of GitLab"),
    shape("AKIA", (16, 16), is_upper, "an access key of AWS"),
    shape("ASIA", (16, 16), is_upper, "an access key of AWS"),
    shape("AIza", (35, 35), is_url_safe, "an API key of Google"),
    shape("xoxa-", (10, MANY), is_dashed, "a token of Slack"),
    shape("xoxb-", (10, MANY), is_dashed, "a token of Slack"),
    shape("xoxp-", (10, MANY), is_dashed, "a token of Slack"),
    shape("xoxr-", (10, MANY), is_dashed, "a token of Slack"),
    shape("xoxs-", (10, MANY), is_dashed, "a token of Slack"),
];

/// How long the kind of a private key is at most, with the words `PRIVATE KEY`.
const MAX_KEY_KIND: usize = 40;

/// How long the first line of the key itself is at least.
const MIN_KEY_LINE: usize = 16;

const PEM_START: &str = "-----BEGIN ";
const PEM_END: &str = "PRIVATE KEY-----";

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_dashed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn is_url_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// What the lines of a private key are made of, breaks and escaped breaks included.
fn is_key_text(byte: u8) -> bool {
    is_alphanumeric(byte) || b"+/=\\".contains(&byte) || byte.is_ascii_whitespace()
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn literal_credential(at: Location, found: &Found) -> Diagnostic {
    Diagnostic::warning(
        LITERAL_CREDENTIAL,
        at,
        format!("`{}…` looks like {}", found.prefix, found.name),
    )
    .help("declare it, `secret NAME`, and write `secret.NAME` in `env { … }` or `auth`; the machine provides the value")
    .note("whoever has read this file has the credential: revoke it")
}

/// A credential in a text.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Found {
    start: usize,
    end: usize,
    /// What may be shown of it.
    prefix: &'static str,
    name: &'static str,
}

/// Reports the credentials of a file or of a brief, and gives their places.
pub(crate) fn look(
    source: SourceId,
    text: &str,
    comments: &[Comment],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Location> {
    let mut places = Vec::new();
    for found in credentials(text, comments) {
        let at = Location::new(source, Span::new(found.start, found.end));
        diagnostics.push(literal_credential(at, &found));
        places.push(at);
    }
    places
}

/// All credentials in a text that are in no comment, in its order.
fn credentials(text: &str, comments: &[Comment]) -> Vec<Found> {
    let bytes = text.as_bytes();
    let mut comments = comments.iter().map(|comment| comment.span).peekable();
    let mut all = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(comment) = comments.next_if(|comment| comment.start as usize <= at) {
            at = at.max(comment.end as usize);
            continue;
        }
        let begins = matches!(bytes[at], b's' | b'g' | b'A' | b'x' | b'-');
        let (found, next) = match begins {
            true => credential_at(text, at),
            false => (None, at + 1),
        };
        all.extend(found);
        at = next;
    }
    all
}

/// The credential that begins at a byte, and where to look on: no byte is looked at many times.
fn credential_at(text: &str, at: usize) -> (Option<Found>, usize) {
    let bytes = text.as_bytes();
    if at > 0 && is_word(bytes[at - 1]) {
        return (None, at + 1);
    }
    let rest = &bytes[at..];
    if rest.starts_with(PEM_START.as_bytes()) {
        let found = private_key(text, at);
        return (found, found.map_or(at + PEM_START.len(), |found| found.end));
    }
    let fits = |shape: &&Shape| rest.starts_with(shape.prefix.as_bytes());
    let Some(shape) = SHAPES.iter().find(fits) else {
        return (None, at + 1);
    };
    let body = &rest[shape.prefix.len()..];
    let body_end = body.iter().take(shape.most + 1);
    let length = body_end.take_while(|byte| (shape.part)(**byte)).count();
    if length < shape.least {
        return (None, at + 1);
    }
    let end = at + shape.prefix.len() + length;
    // What goes on as a word is something else.
    let goes_on = length > shape.most || bytes.get(end).copied().is_some_and(is_word);
    if goes_on || is_placeholder(&body[..length]) {
        return (None, end);
    }
    let found = Found {
        start: at,
        end,
        prefix: shape.prefix,
        name: shape.name,
    };
    (Some(found), end)
}

/// `-----BEGIN … PRIVATE KEY-----`, and the lines of the key.
fn private_key(text: &str, at: usize) -> Option<Found> {
    let after = at + key_head(&text.as_bytes()[at..])?;
    let body = text.as_bytes()[after..].iter();
    let length = body.take_while(|byte| is_key_text(**byte)).count();
    let key = text[after..after + length].trim_end();
    let first = key.trim_start_matches(|c: char| c.is_whitespace() || c == '\\' || c == 'n');
    let line = first
        .bytes()
        .take_while(|byte| is_alphanumeric(*byte) || b"+/=".contains(byte));
    // The first line alone is a word of a search, not a key.
    if line.count() < MIN_KEY_LINE {
        return None;
    }
    let end = after + key.len();
    Some(Found {
        start: at,
        end,
        prefix: "-----BEGIN PRIVATE KEY-----",
        name: "a private key",
    })
}

/// How long the first line of a private key is, if the text begins with one.
fn key_head(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(PEM_START.as_bytes())?;
    let kind = rest.iter().take(MAX_KEY_KIND);
    let kind = kind
        .take_while(|byte| is_upper(**byte) || **byte == b' ')
        .count();
    // `RSA ` and the like, before `PRIVATE KEY`, which are capitals too.
    let words = &rest[..kind];
    let end = words.strip_suffix(b"PRIVATE KEY")?;
    let dashes = rest[kind..].starts_with(b"-----");
    dashes.then_some(PEM_START.len() + end.len() + PEM_END.len())
}

/// Whether the secret part is none: too uniform, or an example's.
fn is_placeholder(body: &[u8]) -> bool {
    let mut seen = [false; 256];
    body.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    if seen.iter().filter(|seen| **seen).count() < MIN_DIFFERENT {
        return true;
    }
    let digit = body.iter().any(u8::is_ascii_digit);
    let upper = body.iter().any(u8::is_ascii_uppercase);
    let lower = body.iter().any(u8::is_ascii_lowercase);
    if !(digit || upper && lower) {
        return true;
    }
    let text = String::from_utf8_lossy(body).to_lowercase();
    PLACEHOLDERS.iter().any(|word| text.contains(word))
}

/// Makes what was found unreadable in sources and diagnostics.
///
/// No mend is kept for a file with a credential: it would write the unreadable text back.
pub(crate) fn mask(sources: &mut SourceMap, diagnostics: &mut [Diagnostic], places: &[Location]) {
    if places.is_empty() {
        return;
    }
    let mut spoilt: HashMap<SourceId, Vec<Span>> = HashMap::new();
    for at in places {
        spoilt.entry(at.source).or_default().push(at.span);
    }
    let mut masked = SourceMap::default();
    for (id, source) in sources.iter() {
        let text = match spoilt.get(&id) {
            Some(spans) => Arc::from(without(&source.text, spans)),
            None => source.text.clone(),
        };
        masked.add(Source::new(source.name.clone(), text));
    }
    *sources = masked;
    for diagnostic in diagnostics {
        let fixes = &mut diagnostic.fixes;
        if fixes.iter().any(|fix| spoilt.contains_key(&fix.at.source)) {
            fixes.clear();
        }
        hide(&mut diagnostic.message);
        diagnostic.help.iter_mut().for_each(hide);
        diagnostic.notes.iter_mut().for_each(hide);
        let labels = diagnostic.labels.iter_mut();
        labels.for_each(|label| hide(&mut label.text));
    }
}

/// A text of the same length with stars for credentials.
fn without(text: &str, spans: &[Span]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for span in spans {
        let (start, end) = (span.start as usize, span.end as usize);
        let shown = shown_prefix(&text[start..end]);
        let hidden = bytes[start + shown..end].iter_mut();
        hidden
            .filter(|byte| byte.is_ascii_graphic())
            .for_each(|byte| *byte = b'*');
    }
    String::from_utf8(bytes).expect("letters were replaced by stars")
}

/// How many bytes of a credential may be shown.
fn shown_prefix(found: &str) -> usize {
    let shape = SHAPES.iter().find(|shape| found.starts_with(shape.prefix));
    match shape {
        Some(shape) => shape.prefix.len(),
        None => key_head(found.as_bytes()).unwrap_or(0),
    }
}

/// Hides credentials in a message, also where only the beginning of one is quoted.
fn hide(text: &mut String) {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let shape = SHAPES.iter().find(|shape| rest.starts_with(shape.prefix));
        let (prefix, part): (usize, fn(u8) -> bool) = match shape {
            Some(shape) => (shape.prefix.len(), shape.part),
            None => match key_head(rest.as_bytes()) {
                Some(head) => (head, is_key_text),
                None => (first.len_utf8(), |_| false),
            },
        };
        let secret = rest.bytes().skip(prefix).take_while(|byte| part(*byte));
        let length = secret.count();
        shown.push_str(&rest[..prefix]);
        match length >= RECOGNISED {
            true => shown.push('…'),
            false => shown.push_str(&rest[prefix..prefix + length]),
        }
        rest = &rest[prefix + length..];
    }
    *text = shown;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in the middle, so that this file holds no credential itself.
    fn found(prefix: &str, body: &str) -> bool {
        let text = format!("key: \"{prefix}{body}\" end");
        let all = credentials(&text, &[]);
        let whole = |found: &Found| text[found.start..found.end] == format!("{prefix}{body}");
        all.len() == 1 && all.iter().all(whole)
    }

    #[test]
    fn credentials_have_a_shape() {
        let random = "kQ7vZ2mN9xR4tY6wB1cD8fG3hJ5lP0sA7eU2";
        assert_eq!(random.len(), 36);
        assert!(found("sk-ant-", &format!("api03-{random}")));
        assert!(found("sk-proj-", random));
        assert!(found("ghp_", random));
        assert!(found("github_pat_", random));
        assert!(found("glpat-", &random[..20]));
        assert!(found("AKIA", "Q7VZ2MN9XR4TY6WB"));
        assert!(found("AIza", &random[..35]));
        assert!(found("xoxb-", "2718281828-3141592653-kQ7vZ2mN"));
    }

    #[test]
    fn look_alikes_are_none() {
        let random = "kQ7vZ2mN9xR4tY6wB1cD8fG3hJ5lP0sA7eU2";
        assert!(!found("sk-ant-", "..."));
        assert!(!found("sk-ant-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
        assert!(!found("sk-ant-", "your-key-goes-here-2024-please"));
        assert!(!found("sk-proj-", "name-of-the-thing-that-is-meant"));
        assert!(!found("risk-ant-", random));
        assert!(!found("AKIA", "IOSFODNN7EXAMPLE"));
        assert!(!found("AKIA", "Q7VZ2MN9XR4TY6WBC"));
        assert!(!found("ghp_", &random[..20]));
        assert!(
            credentials(
                "the shape sk-… is known, and so is -----BEGIN CERTIFICATE-----",
                &[]
            )
            .is_empty()
        );
    }

    #[test]
    fn a_private_key_is_found_to_its_end() {
        let text = format!("{PEM_START}RSA {PEM_END}\nMIIEowIBAAKCAQEA\n-----END RSA {PEM_END}");
        let all = credentials(&text, &[]);
        assert_eq!(all.len(), 1);
        assert!(text[..all[0].end].ends_with("\nMIIEowIBAAKCAQEA"));
        assert!(
            credentials(
                &format!("{PEM_START}PUBLIC KEY-----\nMIIEowIBAAKCAQEA"),
                &[]
            )
            .is_empty()
        );
        assert!(credentials(&format!("grep '{PEM_START}{PEM_END}' and more"), &[]).is_empty());
    }

    #[test]
    fn a_message_does_not_quote_it() {
        let secret = format!("sk-ant-{}", "kQ7vZ2mN9xR4tY6wB1cD8fG3hJ5lP0sA7eU2");
        let mut whole = format!("`{secret}` says nothing");
        hide(&mut whole);
        assert_eq!(whole, "`sk-ant-…` says nothing");
        let mut part = format!("`{} …` says nothing", &secret[..30]);
        hide(&mut part);
        assert_eq!(part, "`sk-ant-… …` says nothing");
        let mut other = format!("{PEM_START}{PEM_END}\nabcdefgh é sk-ant-");
        hide(&mut other);
        assert_eq!(other, format!("{PEM_START}{PEM_END}…é sk-ant-"));
    }
}
