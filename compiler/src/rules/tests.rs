//! `test` blocks.

use outpost_grammar::{Code, Diagnostic, Location};

use crate::rules::listed;

/// Inputs that a test must give.
pub const MISSING_INPUTS: Code = Code("missing-inputs");
/// `rounds()` of something that has none.
pub const NO_ROUNDS: Code = Code("no-rounds");
/// A stub that matches no action.
pub const UNMATCHED_STUB: Code = Code("unmatched-stub");

pub(crate) const CODES: &[Code] = &[MISSING_INPUTS, NO_ROUNDS, UNMATCHED_STUB];

pub(crate) fn missing_inputs(at: Location, workflow: &str, missing: &[&str]) -> Diagnostic {
    Diagnostic::error(
        MISSING_INPUTS,
        at,
        format!("`{workflow}` also needs {}", listed(missing, "and")),
    )
    .help("write `inputs { … }` with a value for each")
}

pub(crate) fn no_rounds(at: Location, name: &str, keyword: &str, task: Location) -> Diagnostic {
    Diagnostic::error(
        NO_ROUNDS,
        at,
        format!("`{name}` is no loop, so it has no rounds"),
    )
    .also(task, format!("a `{keyword}`"))
    .help(format!("write `attempts({name})`"))
}

pub(crate) fn stub_matches_nothing(at: Location) -> Diagnostic {
    Diagnostic::warning(
        UNMATCHED_STUB,
        at,
        "no command of the workflow begins like this",
    )
    .help("write the first words of a command as they stand in the workflow")
}
