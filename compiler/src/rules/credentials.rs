//! Credentials that are written into a file: keys and tokens with a shape of their own.
//!
//! Comments do not count, and neither do placeholders. What is found is never shown again: not in a message, not in an excerpt.

use outpost_grammar::tree::Comment;
use outpost_grammar::{Code, Diagnostic, Location, Source, SourceId, SourceMap, Span};

/// A credential in the text of a file.
pub const LITERAL_CREDENTIAL: Code = Code("literal-credential");

pub(crate) const CODES: &[Code] = &[LITERAL_CREDENTIAL];

/// How much of a credential is enough to find it in a message.
const RECOGNISED: usize = 12;

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
        match begins.then(|| credential_at(text, at)).flatten() {
            Some(found) => {
                at = found.end;
                all.push(found);
            }
            None => at += 1,
        }
    }
    all
}

/// The credential that begins at a byte.
fn credential_at(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    if at > 0 && is_word(bytes[at - 1]) {
        return None;
    }
    let rest = &bytes[at..];
    if rest.starts_with(PEM_START.as_bytes()) {
        return private_key(text, at);
    }
    let shape = SHAPES
        .iter()
        .find(|shape| rest.starts_with(shape.prefix.as_bytes()))?;
    let body = &rest[shape.prefix.len()..];
    let length = body.iter().take_while(|byte| (shape.part)(**byte)).count();
    if !(shape.least..=shape.most).contains(&length) {
        return None;
    }
    let end = at + shape.prefix.len() + length;
    // What goes on as a word is something else.
    if bytes.get(end).copied().is_some_and(is_word) || is_placeholder(&body[..length]) {
        return None;
    }
    Some(Found {
        start: at,
        end,
        prefix: shape.prefix,
        name: shape.name,
    })
}

/// `-----BEGIN … PRIVATE KEY-----`, and the lines of the key.
fn private_key(text: &str, at: usize) -> Option<Found> {
    let line = text[at..].lines().next()?;
    let head = line.find(PEM_END)?;
    let kind = &line[PEM_START.len().min(head)..head];
    if !kind.bytes().all(|byte| is_upper(byte) || byte == b' ') {
        return None;
    }
    let after = at + head + PEM_END.len();
    let part =
        |byte: &u8| is_alphanumeric(*byte) || b"+/=\\".contains(byte) || byte.is_ascii_whitespace();
    let body = text.as_bytes()[after..]
        .iter()
        .take_while(|byte| part(byte));
    let end = after + text[after..after + body.count()].trim_end().len();
    Some(Found {
        start: at,
        end,
        prefix: "-----BEGIN PRIVATE KEY-----",
        name: "a private key",
    })
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
    let found: Vec<String> = places
        .iter()
        .map(|at| sources.text(*at).to_owned())
        .collect();
    let mut masked = SourceMap::default();
    for (id, source) in sources.iter() {
        let mut bytes = source.text.as_bytes().to_vec();
        for at in places.iter().filter(|at| at.source == id) {
            let (start, end) = (at.span.start as usize, at.span.end as usize);
            let shown = shown_prefix(&source.text[start..end]);
            let hidden = bytes[start + shown..end].iter_mut();
            hidden
                .filter(|byte| byte.is_ascii_graphic())
                .for_each(|byte| *byte = b'*');
        }
        let text = String::from_utf8(bytes).unwrap_or_default();
        masked.add(Source::new(source.name.clone(), text));
    }
    *sources = masked;
    for diagnostic in diagnostics {
        let spoilt = |at: Location| places.iter().any(|place| place.source == at.source);
        if diagnostic.fixes.iter().any(|fix| spoilt(fix.at)) {
            diagnostic.fixes.clear();
        }
        let words = [&mut diagnostic.message].into_iter();
        let words = words.chain(diagnostic.help.as_mut());
        let words = words.chain(diagnostic.notes.iter_mut());
        for text in words.chain(diagnostic.labels.iter_mut().map(|label| &mut label.text)) {
            found.iter().for_each(|found| hide(text, found));
        }
    }
}

/// How many bytes of a credential may be shown.
fn shown_prefix(found: &str) -> usize {
    let shape = SHAPES.iter().find(|shape| found.starts_with(shape.prefix));
    match shape {
        Some(shape) => shape.prefix.len(),
        None => found.find(PEM_END).map_or(0, |head| head + PEM_END.len()),
    }
}

/// Hides a credential in a message, also where only its beginning is quoted.
fn hide(text: &mut String, found: &str) {
    let shown = shown_prefix(found);
    let secret = &found[shown..];
    let known = match secret.char_indices().nth(RECOGNISED) {
        Some((end, _)) => &found[..shown + end],
        None => found,
    };
    while let Some(start) = text.find(known) {
        let start = start + shown;
        let same = text[start..]
            .bytes()
            .zip(secret.bytes())
            .take_while(|(one, other)| one == other)
            .count();
        text.replace_range(start..start + same, "…");
    }
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
        let text = format!("{PEM_START}RSA {PEM_END}\nabc\n-----END RSA {PEM_END}");
        let all = credentials(&text, &[]);
        assert_eq!(all.len(), 1);
        assert!(text[..all[0].end].ends_with("\nabc"));
        assert!(credentials(&format!("{PEM_START}PUBLIC KEY-----"), &[]).is_empty());
    }

    #[test]
    fn a_message_does_not_quote_it() {
        let secret = format!("sk-ant-{}", "kQ7vZ2mN9xR4tY6wB1cD8fG3hJ5lP0sA7eU2");
        let mut whole = format!("`{secret}` says nothing");
        hide(&mut whole, &secret);
        assert_eq!(whole, "`sk-ant-…` says nothing");
        let mut part = format!("`{} …` says nothing", &secret[..30]);
        hide(&mut part, &secret);
        assert_eq!(part, "`sk-ant-… …` says nothing");
    }
}
