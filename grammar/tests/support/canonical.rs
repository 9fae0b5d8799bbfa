//! What holds of the canonical form of every text.

use crate::print;
use outpost_grammar::{SourceId, format, parse};

/// All comments of a text, in order.
fn comments(text: &str) -> Vec<String> {
    let trivia = parse(SourceId(0), text).trivia;
    trivia
        .iter()
        .map(|comment| comment.span.of(text).trim_end().to_owned())
        .collect()
}

/// The tree and the comments stay, and the form is its own form; a text with mistakes is refused with all of them.
pub fn check(text: &str) {
    let parsed = parse(SourceId(0), text);
    let formatted = match format(text) {
        Ok(formatted) => formatted,
        Err(diagnostics) => {
            assert_eq!(diagnostics, parsed.diagnostics);
            return;
        }
    };
    let again = parse(SourceId(0), &formatted);
    assert!(
        again.diagnostics.is_empty(),
        "{text}\n---\n{formatted}\n{:#?}",
        again.diagnostics
    );
    assert_eq!(
        print::document(&parsed.document),
        print::document(&again.document),
        "{text}\n---\n{formatted}"
    );
    assert_eq!(
        comments(text),
        comments(&formatted),
        "{text}\n---\n{formatted}"
    );
    assert_eq!(format(&formatted).as_ref(), Ok(&formatted), "{text}");
}
