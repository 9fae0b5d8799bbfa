//! Gates and questions.

use outpost_grammar::{Code, Diagnostic, Location};

/// A prompt, a question or an actor of blanks alone.
pub const BLANK_TEXT: Code = Code("blank-text");
/// A gate that nobody may decide.
pub const NO_ACTORS: Code = Code("no-actors");
/// A question that nobody can answer.
pub const NO_ANSWER: Code = Code("no-answer");

pub(crate) const CODES: &[Code] = &[BLANK_TEXT, NO_ACTORS, NO_ANSWER];

pub(crate) fn blank(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(BLANK_TEXT, at, format!("this `{name}` is blank"))
        .help("say what the person needs to know")
}

pub(crate) fn no_actors(at: Location) -> Diagnostic {
    Diagnostic::error(
        NO_ACTORS,
        at,
        "`actors` is empty, so nobody could ever decide",
    )
    .help("name them, or write `[\"*\"]` for anyone")
}

pub(crate) fn no_answer_possible(at: Location) -> Diagnostic {
    Diagnostic::error(
        NO_ANSWER,
        at,
        "no answer is possible: there are no choices, and free text is off",
    )
    .help("write `choices: […]`, or remove `freeText: false`")
}
