//! Tasks that may not run.

use outpost_grammar::{Code, Diagnostic, Location};

/// A condition that is always the same.
pub const CONSTANT_WHEN: Code = Code("constant-when");
/// The value of a task that may be skipped, in the workflow's output.
pub const MAY_NOT_RUN: Code = Code("may-not-run");

pub(crate) const CODES: &[Code] = &[CONSTANT_WHEN, MAY_NOT_RUN];

pub(crate) fn constant_when(at: Location, value: bool) -> Diagnostic {
    let effect = if value { "always runs" } else { "never runs" };
    Diagnostic::warning(
        CONSTANT_WHEN,
        at,
        format!("`when` is always `{value}`: the task {effect}"),
    )
    .help(if value {
        "remove the `when`"
    } else {
        "remove the task, or make the condition an input"
    })
}

pub(crate) fn may_not_run(at: Location, name: &str, why: &str) -> Diagnostic {
    Diagnostic::error(
        MAY_NOT_RUN,
        at,
        format!("`{name}` may be skipped, and then it has no value"),
    )
    .note(format!("it may be skipped because {why}"))
    .help(format!("write `{name}?`, which is null then"))
}
