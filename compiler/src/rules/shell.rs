//! Shell texts.

use outpost_grammar::{Code, Diagnostic, Location};

/// A hole inside the shell's own quotes.
pub const HOLE_IN_QUOTES: Code = Code("hole-in-quotes");
/// A hole that is not quoted.
pub const RAW_TEXT: Code = Code("raw-text");
/// A shell text that is not written in the file.
pub const COMPUTED_SHELL: Code = Code("computed-shell");

pub(crate) const CODES: &[Code] = &[HOLE_IN_QUOTES, RAW_TEXT, COMPUTED_SHELL];

pub(crate) fn hole_in_quotes(at: Location, place: &str) -> Diagnostic {
    Diagnostic::error(
        HOLE_IN_QUOTES,
        at,
        format!("this hole stands inside {place} of the shell, but its value is quoted already"),
    )
    .help(if place.ends_with("quotes") {
        "remove the quotes; the value is quoted for you"
    } else {
        "move it out; the value is quoted for you as one word of a command"
    })
}

pub(crate) fn raw(at: Location) -> Diagnostic {
    Diagnostic::warning(
        RAW_TEXT,
        at,
        "`raw` puts this into the shell as it is: a value can run any command",
    )
    .help("pass one word with `${…}`, or use `command: […]` with `...list` for several")
}

pub(crate) fn raw_outside_shell(at: Location) -> Diagnostic {
    Diagnostic::error(
        RAW_TEXT,
        at,
        "`raw` may only be a whole hole of a `shell` text: `${raw(…)}`",
    )
    .help("remove it: nothing is quoted here")
}

pub(crate) fn braced_variable(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        crate::rules::names::UNKNOWN_NAME,
        at,
        format!("nothing here is named `{name}`; `${{…}}` is a hole of the language"),
    )
    .help(format!(
        "for the shell's own variable write `\\${{{name}}}` or `${name}`"
    ))
}

pub(crate) fn not_a_literal(at: Location) -> Diagnostic {
    Diagnostic::error(
        COMPUTED_SHELL,
        at,
        "a `shell` text is written in the file, so that its holes can be quoted",
    )
    .help("write a text with holes, `\"program ${value}\"`, or use `command: […]`")
}
