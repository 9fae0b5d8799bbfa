//! Secrets and the host's environment, which may stand in few places.

use outpost_grammar::{Code, Diagnostic, Location};

use crate::resolve::suggest::Near;
use crate::rules::names::UNKNOWN_NAME;
use crate::rules::suggest;

/// A secret where it would be seen.
pub const MISPLACED_SECRET: Code = Code("misplaced-secret");
/// A variable of the host outside `env { … }`.
pub const MISPLACED_ENV: Code = Code("misplaced-env");

pub(crate) const CODES: &[Code] = &[MISPLACED_SECRET, MISPLACED_ENV];

pub(crate) fn unknown_secret(at: Location, name: &str, near: Option<&Near>) -> Diagnostic {
    let diagnostic = Diagnostic::error(UNKNOWN_NAME, at, format!("there is no secret `{name}`"));
    suggest(
        diagnostic,
        near,
        Some(format!(
            "declare it at the top of the file: `secret {name}`"
        )),
    )
}

pub(crate) fn misplaced_secret(at: Location, name: &str, place: &str) -> Diagnostic {
    Diagnostic::error(MISPLACED_SECRET, at, format!("the secret `{name}` would be seen in {place}")).help(format!(
        "pass it in the environment, `env {{ {name}: secret.{name} }}`, and let the program read `${name}`"
    ))
}

pub(crate) fn misplaced_env(at: Location, name: &str, place: &str) -> Diagnostic {
    Diagnostic::error(
        MISPLACED_ENV,
        at,
        format!("the variable `{name}` of the machine may not be read in {place}"),
    )
    .help(format!(
        "read it in `env {{ {name}: env.{name} }}`, or make it an input"
    ))
}
