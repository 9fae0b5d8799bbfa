//! Properties and blocks: unknown, missing, repeated, of the wrong form.

use outpost_grammar::{Code, Diagnostic, Location};

use crate::resolve::suggest::Near;
use crate::rules::types::WRONG_TYPE;
use crate::rules::{listed, shown, suggest};

/// A property that the block does not have.
pub const UNKNOWN_PROPERTY: Code = Code("unknown-property");
/// A block that may not stand here.
pub const UNKNOWN_BLOCK: Code = Code("unknown-block");
/// A block where a value is wanted.
pub const VALUE_EXPECTED: Code = Code("value-expected");
/// A value where a block is wanted.
pub const BLOCK_EXPECTED: Code = Code("block-expected");
/// A property that is written twice.
pub const DUPLICATE_PROPERTY: Code = Code("duplicate-property");
/// A property that must be written.
pub const MISSING_PROPERTY: Code = Code("missing-property");
/// A rule outside a check, an input outside a workflow, an expectation outside a test.
pub const MISPLACED_RULE: Code = Code("misplaced-rule");
/// Parameters of a block that takes none.
pub const MISPLACED_PARAMETERS: Code = Code("misplaced-parameters");
/// A number outside its range.
pub const OUT_OF_RANGE: Code = Code("out-of-range");
/// A word that is none of those that are allowed.
pub const UNKNOWN_WORD: Code = Code("unknown-word");
/// A word in quotes.
pub const QUOTED_WORD: Code = Code("quoted-word");
/// A text without quotes.
pub const BARE_TEXT: Code = Code("bare-text");
/// A computed value where a literal is wanted.
pub const NOT_LITERAL: Code = Code("not-literal");
/// An entry that a list holds twice.
pub const LISTED_TWICE: Code = Code("listed-twice");
/// A name that no environment variable can have.
pub const BAD_VARIABLE: Code = Code("bad-variable");

pub(crate) const CODES: &[Code] = &[
    UNKNOWN_PROPERTY,
    UNKNOWN_BLOCK,
    VALUE_EXPECTED,
    BLOCK_EXPECTED,
    DUPLICATE_PROPERTY,
    MISSING_PROPERTY,
    MISPLACED_RULE,
    MISPLACED_PARAMETERS,
    OUT_OF_RANGE,
    UNKNOWN_WORD,
    QUOTED_WORD,
    BARE_TEXT,
    NOT_LITERAL,
    LISTED_TWICE,
    BAD_VARIABLE,
];

/// A literal of the wrong kind.
pub(crate) struct Literal<'a> {
    /// Its place.
    pub at: Location,
    /// The property.
    pub property: &'a str,
    /// What it takes.
    pub wanted: &'a str,
    /// What it got.
    pub found: &'a str,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

pub(crate) fn wrong_literal(literal: Literal<'_>) -> Diagnostic {
    let Literal {
        at,
        property,
        wanted,
        found,
        suggestion,
    } = literal;
    let diagnostic = Diagnostic::error(
        WRONG_TYPE,
        at,
        format!("`{property}` takes {wanted}, not {found}"),
    );
    match suggestion {
        Some(text) => diagnostic.help(format!("write `{text}`")),
        None => diagnostic,
    }
}

pub(crate) fn unknown_property(
    at: Location,
    name: &str,
    kind: &str,
    near: Option<&Near>,
    owners: &[&str],
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        UNKNOWN_PROPERTY,
        at,
        format!("`{kind}` has no property `{name}`"),
    );
    let otherwise =
        (!owners.is_empty()).then(|| format!("`{name}` belongs to {}", listed(owners, "and")));
    match (near, otherwise) {
        (_, Some(text)) => diagnostic.help(text),
        (near, None) => suggest(diagnostic, near, None),
    }
}

pub(crate) fn unknown_block(
    at: Location,
    name: &str,
    kind: &str,
    near: Option<&Near>,
    owners: &[&str],
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        UNKNOWN_BLOCK,
        at,
        format!("`{name}` may not stand in `{kind}`"),
    );
    match (name, kind) {
        ("retry", "loop") => {
            return diagnostic
                .help("a loop repeats by itself; write `retryPhase { … }` to repeat a phase when something was unavailable");
        }
        ("retry" | "cache", "approval" | "pause" | "ask") => {
            return diagnostic.help(format!(
                "remove it: a person decides, and `{name}` has no meaning there"
            ));
        }
        _ => {}
    }
    let otherwise =
        (!owners.is_empty()).then(|| format!("`{name}` belongs to {}", listed(owners, "and")));
    match (near, otherwise) {
        (_, Some(text)) => diagnostic.help(text),
        (near, None) => suggest(diagnostic, near, None),
    }
}

pub(crate) fn unknown_item(
    at: Location,
    name: &str,
    near: Option<&Near>,
    inside: &[&str],
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        UNKNOWN_BLOCK,
        at,
        format!("a file declares nothing with `{name}`"),
    );
    let otherwise =
        (!inside.is_empty()).then(|| format!("`{name}` belongs into {}", listed(inside, "or")));
    suggest(diagnostic, near, otherwise)
}

pub(crate) fn value_expected(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        VALUE_EXPECTED,
        at,
        format!("`{name}` is a value and needs a `:`"),
    )
    .help(format!("write `{name}: …`"))
}

pub(crate) fn block_expected(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        BLOCK_EXPECTED,
        at,
        format!("`{name}` is a block and takes no `:`"),
    )
    .help(format!("write `{name} {{ … }}`"))
}

pub(crate) fn duplicate_property(at: Location, name: &str, first: Location) -> Diagnostic {
    Diagnostic::error(DUPLICATE_PROPERTY, at, format!("`{name}` is written twice"))
        .also(first, "first written here")
}

pub(crate) fn missing_property(at: Location, kind: &str, name: &str, property: &str) -> Diagnostic {
    let subject = if kind == name {
        format!("this `{kind}`")
    } else {
        format!("the {kind} `{name}`")
    };
    Diagnostic::error(
        MISSING_PROPERTY,
        at,
        format!("{subject} has no `{property}`"),
    )
    .help(format!("add `{property}: …`"))
}

pub(crate) fn misplaced_rule(at: Location, word: &str, kind: &str) -> Diagnostic {
    let place = match word {
        "input" => "a `workflow`",
        "expect" => "a `test`",
        _ => "a `check`",
    };
    Diagnostic::error(
        MISPLACED_RULE,
        at,
        format!("`{word}` may not stand in `{kind}`"),
    )
    .help(format!("`{word}` belongs into {place}"))
}

pub(crate) fn misplaced_parameters(at: Location, kind: &str) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        MISPLACED_PARAMETERS,
        at,
        format!("`{kind}` takes no parameters"),
    );
    match kind {
        "workflow" => diagnostic.help("declare them as inputs: `input name: type`"),
        _ => diagnostic
            .help("`step`, `check`, `attempt` and `loop` at the top of a file take parameters"),
    }
}

pub(crate) fn out_of_range(
    at: Location,
    name: &str,
    value: &str,
    least: i64,
    most: i64,
) -> Diagnostic {
    let negative = value.starts_with('-');
    let small = negative || value.parse().is_ok_and(|value: i64| value < least);
    let range = if small {
        format!("at least {least}")
    } else {
        format!("at most {most}")
    };
    Diagnostic::error(
        OUT_OF_RANGE,
        at,
        format!("`{name}` must be {range}, and this is {value}"),
    )
}

pub(crate) fn duration_out_of_range(
    at: Location,
    name: &str,
    text: &str,
    least: u64,
    most: u64,
) -> Diagnostic {
    Diagnostic::error(
        OUT_OF_RANGE,
        at,
        format!("`{name}` must be between {least} ms and {most} ms, and this is {text}"),
    )
}

pub(crate) fn negative_money(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(OUT_OF_RANGE, at, format!("`{name}` must not be negative"))
}

pub(crate) fn unknown_word(
    at: Location,
    property: &str,
    word: &str,
    words: &[&str],
    near: Option<&Near>,
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        UNKNOWN_WORD,
        at,
        format!("`{property}` knows no `{}`", shown(word)),
    );
    suggest(
        diagnostic,
        near,
        Some(format!("write {}", listed(words, "or"))),
    )
}

pub(crate) fn quoted_word(
    at: Location,
    property: &str,
    text: &str,
    words: &[&str],
    near: Option<&Near>,
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        QUOTED_WORD,
        at,
        format!("`{property}` takes a word without quotes, not the text `{text}`"),
    );
    match near {
        Some(near) => {
            let diagnostic = diagnostic.help(format!("write `{}`", near.name));
            match near.only {
                true => diagnostic.fix(at, near.name.as_str()),
                false => diagnostic,
            }
        }
        None => diagnostic.help(format!("write {}", listed(words, "or"))),
    }
}

pub(crate) fn bare_text(at: Location, property: &str, word: &str) -> Diagnostic {
    Diagnostic::error(
        BARE_TEXT,
        at,
        format!("`{property}` takes a text, and `{word}` is not in quotes"),
    )
    .help(format!("write `\"{word}\"`"))
    .fix(at, format!("\"{word}\""))
}

pub(crate) fn not_literal(at: Location, property: &str, wanted: &str) -> Diagnostic {
    Diagnostic::error(
        NOT_LITERAL,
        at,
        format!("`{property}` takes {wanted}, and this is computed"),
    )
    .note("it must be known before anything runs")
}

pub(crate) fn not_constant(at: Location, property: &str) -> Diagnostic {
    Diagnostic::error(
        NOT_LITERAL,
        at,
        format!("`{property}` takes a constant, and this is computed"),
    )
    .note("it must be known before anything runs")
}

pub(crate) fn list_expected(at: Location, property: &str, text: &str) -> Diagnostic {
    Diagnostic::error(WRONG_TYPE, at, format!("`{property}` takes a list"))
        .help(format!("write `[{}]`", shown(text)))
}

pub(crate) fn listed_twice(
    at: Location,
    entry: &str,
    property: &str,
    first: Location,
) -> Diagnostic {
    Diagnostic::error(
        LISTED_TWICE,
        at,
        format!("`{property}` lists `{entry}` twice"),
    )
    .also(first, "first listed here")
    .help("remove one of them")
}

pub(crate) fn bad_variable(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        BAD_VARIABLE,
        at,
        format!("no environment variable can be named `{name}`"),
    )
    .help("use letters, digits and `_`, and start with no digit")
}
