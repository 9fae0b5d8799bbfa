//! What may be wrong with a program: one file for each family, one named constructor for each message.

pub(crate) mod agents;
pub(crate) mod bodies;
pub(crate) mod budgets;
pub(crate) mod credentials;
pub(crate) mod gates;
pub(crate) mod graph;
pub(crate) mod loops;
pub(crate) mod modules;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod programs;
pub(crate) mod sandboxes;
pub(crate) mod secrets;
pub(crate) mod shell;
pub(crate) mod skip;
pub(crate) mod tasks;
pub(crate) mod tests;
pub(crate) mod types;
pub(crate) mod unused;

use outpost_grammar::{Code, Diagnostic};

use crate::resolve::suggest::Near;

/// The codes of this crate, family by family.
pub const CODES: &[&[Code]] = &[
    agents::CODES,
    bodies::CODES,
    budgets::CODES,
    credentials::CODES,
    gates::CODES,
    graph::CODES,
    loops::CODES,
    modules::CODES,
    names::CODES,
    options::CODES,
    programs::CODES,
    sandboxes::CODES,
    secrets::CODES,
    shell::CODES,
    skip::CODES,
    tasks::CODES,
    tests::CODES,
    types::CODES,
    unused::CODES,
];

/// Names in backticks, with commas and a word before the last: `a`, `b` and `c`.
pub(crate) fn listed<S: AsRef<str>>(names: &[S], word: &str) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

/// Adds the suggestion, or what else may be written.
pub(crate) fn suggest(
    diagnostic: Diagnostic,
    near: Option<&Near>,
    otherwise: Option<String>,
) -> Diagnostic {
    match (near, otherwise) {
        (Some(near), _) => {
            let at = diagnostic.at();
            let diagnostic = diagnostic.help(format!("did you mean `{}`?", near.name));
            match near.only && is_plain(&near.name) {
                true => diagnostic.fix(at, near.name.as_str()),
                false => diagnostic,
            }
        }
        (None, Some(text)) => diagnostic.help(text),
        (None, None) => diagnostic,
    }
}

/// Whether a suggestion can be written as it is: words with dots, or a text in quotes.
fn is_plain(name: &str) -> bool {
    let inner = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'));
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    match inner {
        Some(text) => !text.contains(['"', '\\', '$', '\n']),
        None => {
            name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && name.bytes().all(word)
        }
    }
}

/// A text of the source as it is shown in a message: on one line, and not too long.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 40;
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > MOST {
        let cut: String = line.chars().take(MOST - 2).collect();
        format!("{cut} …")
    } else {
        line
    }
}
