//! Types: what does not fit, may be null, is never null, cannot be computed.

use outpost_grammar::mistakes::COMPARISON_CHAIN;
use outpost_grammar::{Code, Diagnostic, Location};
use outpost_stdlib::Type;

use crate::infer::types::show;
use crate::resolve::suggest::Near;
use crate::rules::{listed, shown, suggest};

/// A value of the wrong type.
pub const WRONG_TYPE: Code = Code("wrong-type");
/// A value that may be null where none may be.
pub const MAYBE_NULL: Code = Code("maybe-null");
/// Values of one place that have no type in common.
pub const DIFFERENT_TYPES: Code = Code("different-types");
/// A text that is no member of a union.
pub const NOT_A_MEMBER: Code = Code("not-a-member");
/// A list, an object or a map inside a text.
pub const NOT_SCALAR: Code = Code("not-scalar");
/// A field that the value does not have.
pub const UNKNOWN_FIELD: Code = Code("unknown-field");
/// A field of a value of type `json`.
pub const JSON_FIELD: Code = Code("json-field");
/// A key that an object holds twice.
pub const DUPLICATE_KEY: Code = Code("duplicate-key");
/// A field that an object needs.
pub const MISSING_FIELD: Code = Code("missing-field");
/// Operands that do not go together.
pub const OPERANDS: Code = Code("operands");
/// A check for null of something that never is.
pub const NEVER_NULL: Code = Code("never-null");
/// A constant that cannot be computed.
pub const CONSTANT_FAILS: Code = Code("constant-fails");
/// Arguments that do not match the parameters.
pub const WRONG_ARGUMENTS: Code = Code("wrong-arguments");
/// Something that is no type where one is wanted, or the other way round.
pub const NOT_A_TYPE: Code = Code("not-a-type");
/// A type's name in quotes.
pub const QUOTED_TYPE: Code = Code("quoted-type");
/// A type that contains itself.
pub const RECURSIVE_TYPE: Code = Code("recursive-type");
/// A `match` that leaves something out.
pub const MATCH_INCOMPLETE: Code = Code("match-incomplete");
/// An arm of a `match` that is never reached.
pub const UNREACHABLE_ARM: Code = Code("unreachable-arm");
/// A `?` that stands after no task's name.
pub const MISPLACED_QUESTION_MARK: Code = Code("misplaced-question-mark");

/// A union of other things than texts.
pub const MIXED_UNION: Code = Code("mixed-union");

pub(crate) const CODES: &[Code] = &[
    MIXED_UNION,
    WRONG_TYPE,
    MAYBE_NULL,
    DIFFERENT_TYPES,
    NOT_A_MEMBER,
    NOT_SCALAR,
    UNKNOWN_FIELD,
    JSON_FIELD,
    DUPLICATE_KEY,
    MISSING_FIELD,
    OPERANDS,
    NEVER_NULL,
    CONSTANT_FAILS,
    WRONG_ARGUMENTS,
    NOT_A_TYPE,
    QUOTED_TYPE,
    RECURSIVE_TYPE,
    MATCH_INCOMPLETE,
    UNREACHABLE_ARM,
    MISPLACED_QUESTION_MARK,
];

pub(crate) fn wrong_type(
    at: Location,
    by: &str,
    wanted: &Type,
    found: &Type,
    text: &str,
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        WRONG_TYPE,
        at,
        format!(
            "{by} must be {}, and this is {}",
            describe(wanted),
            describe(found)
        ),
    );
    let text = shown(text);
    match (wanted, found) {
        (
            Type::String,
            Type::Int | Type::Number | Type::Bool | Type::Money | Type::Duration | Type::Size,
        ) => {
            let literal = text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
            let digit = text.starts_with(|first: char| first.is_ascii_digit());
            if literal && digit {
                diagnostic.help(format!("write `\"{text}\"`"))
            } else {
                diagnostic.help(format!("write `\"${{{text}}}\"`"))
            }
        }
        (Type::String, Type::List(_)) => diagnostic.help(format!("write `join({text}, \" \")`")),
        (Type::String, Type::Object(_) | Type::Map(_) | Type::Json | Type::Named(..)) => {
            diagnostic.help(format!("write `json({text})`, or read one of its fields"))
        }
        (Type::List(inner), found) if **inner == *found => {
            diagnostic.help(format!("write `[{text}]`"))
        }
        (_, Type::Json) => diagnostic.help(format!("narrow it: `{text} as {}`", show(wanted))),
        (Type::Bool, Type::Int) => diagnostic.help(format!("compare it: `{text} != 0`")),
        _ => diagnostic,
    }
}

/// A type for a sentence; what is inside a list that is only known to be one is left out.
fn describe(kind: &Type) -> String {
    match kind {
        Type::List(inner) if **inner == Type::Unknown => "a list".to_owned(),
        Type::Object(object) if object.fields.is_empty() => "an object".to_owned(),
        _ => show(kind),
    }
}

pub(crate) fn wrong_argument(
    at: Location,
    by: &str,
    expected: &str,
    found: &Type,
    text: &str,
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        WRONG_TYPE,
        at,
        format!("{by} must be {expected}, and this is {}", show(found)),
    );
    match found {
        Type::Json => diagnostic.help(format!("narrow it: `{} as T`", shown(text))),
        _ => diagnostic,
    }
}

pub(crate) fn maybe_null(at: Location, text: &str, by: &str) -> Diagnostic {
    let text = shown(text);
    let diagnostic = Diagnostic::error(
        MAYBE_NULL,
        at,
        format!("`{text}` may be null, which {by} does not take"),
    );
    match &*text {
        "feedback" => diagnostic
            .help("write `feedback ?? \"\"`")
            .note("`feedback` is null in round one: nothing was rejected yet"),
        "previous" => diagnostic
            .help("write `previous?.…`, or test it with `if`")
            .note("`previous` is null in round one"),
        "quota" => diagnostic
            .help("write `quota?.…`")
            .note("`quota` is null but in the first attempt after a quota pause"),
        _ if by.starts_with("reading") => {
            diagnostic.help(format!("write `({text})?.…`, `({text} ?? …)` or `{text}!`"))
        }
        _ => diagnostic.help(format!("write `{text} ?? …`, or test it with `if`")),
    }
}

/// `a < b == c`: the grammar tells about two comparisons of one level, this about those of two.
pub(crate) fn comparisons_chain(
    at: Location,
    operator: &str,
    first: Location,
    side: &str,
) -> Diagnostic {
    Diagnostic::error(
        COMPARISON_CHAIN,
        at,
        format!("comparisons do not chain, and `{operator}` is the second one"),
    )
    .also(first, "the first one")
    .help(format!(
        "put the comparison that is meant first in parentheses: `({})`",
        shown(side)
    ))
}

pub(crate) fn mixed_union(at: Location, kind: &Type, literal: bool) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        MIXED_UNION,
        at,
        format!(
            "a union has texts in quotes as members, and this is {}",
            show(kind)
        ),
    );
    diagnostic.help(match literal {
        true => "write `string` for any text, or list the texts that may stand here",
        false => "write `json` for a value of several types, and narrow it with `as` or `match`; a value that may be null is `T?`",
    })
}

pub(crate) fn union_with_null(at: Location, text: &str) -> Diagnostic {
    Diagnostic::error(
        MIXED_UNION,
        at,
        format!("a `{}` that may be null is no union", shown(text)),
    )
    .help(format!("write `{}?`", shown(text)))
}

pub(crate) fn different_types(at: Location, first: &Type, other: &Type) -> Diagnostic {
    Diagnostic::error(
        DIFFERENT_TYPES,
        at,
        format!(
            "this is {}, and what stands before it is {}",
            show(other),
            show(first)
        ),
    )
    .help("give all of them one type")
}

pub(crate) fn not_a_member(at: Location, text: &str, members: &[&str]) -> Diagnostic {
    let near = crate::resolve::suggest::nearest(text, members.iter().copied());
    let all: Vec<String> = members
        .iter()
        .map(|member| format!("\"{member}\""))
        .collect();
    let diagnostic = Diagnostic::error(
        NOT_A_MEMBER,
        at,
        format!("`\"{text}\"` is none of the texts that may stand here"),
    );
    let near = near.map(|near| Near {
        name: format!("\"{}\"", near.name),
        only: near.only,
    });
    suggest(
        diagnostic,
        near.as_ref(),
        Some(format!("write {}", listed(&all, "or"))),
    )
}

pub(crate) fn not_scalar(at: Location, text: &str, kind: &Type, by: &str) -> Diagnostic {
    let text = shown(text);
    Diagnostic::error(
        NOT_SCALAR,
        at,
        format!("`{text}` is {}, and {by} takes scalars only", show(kind)),
    )
    .help(format!(
        "write `${{json({text})}}`, or read one of its fields"
    ))
}

pub(crate) fn list_in_text(at: Location, text: &str, kind: &Type, by: &str) -> Diagnostic {
    let text = shown(text);
    Diagnostic::error(
        NOT_SCALAR,
        at,
        format!(
            "`{text}` is a list ({}), and {by} takes scalars only",
            show(kind)
        ),
    )
    .help(format!(
        "write `${{join({text}, \", \")}}` or `${{json({text})}}`"
    ))
}

pub(crate) fn unknown_field(
    at: Location,
    name: &str,
    subject: &str,
    known: &[&str],
    near: Option<&Near>,
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        UNKNOWN_FIELD,
        at,
        format!("{subject} has no field `{name}`"),
    );
    if name == "value" && known.contains(&"commits") {
        return diagnostic.help("give the agent a `response:` type, and its answer is `value`");
    }
    if name == "value" && known.contains(&"stdout") {
        return diagnostic.help("give the command a `returns:` type, and its output is `value`");
    }
    let otherwise = (!known.is_empty() && known.len() <= 12)
        .then(|| format!("it has {}", listed(known, "and")));
    suggest(diagnostic, near, otherwise)
}

pub(crate) fn unknown_key(
    at: Location,
    name: &str,
    by: &str,
    known: &[&str],
    near: Option<&Near>,
) -> Diagnostic {
    let diagnostic = Diagnostic::error(UNKNOWN_FIELD, at, format!("{by} has no field `{name}`"));
    let otherwise = (!known.is_empty() && known.len() <= 12)
        .then(|| format!("it has {}", listed(known, "and")));
    suggest(diagnostic, near, otherwise)
}

pub(crate) fn field_of_json(at: Location, name: &str, text: &str) -> Diagnostic {
    let text = shown(text);
    Diagnostic::error(
        JSON_FIELD,
        at,
        format!("`{text}` is json, and nothing is known of a field `{name}`"),
    )
    .help(format!(
        "say what it is: `({text} as {{ {name}: string }}).{name}`"
    ))
}

pub(crate) fn field_of_list(at: Location, name: &str, text: &str, kind: &Type) -> Diagnostic {
    let text = shown(text);
    Diagnostic::error(
        UNKNOWN_FIELD,
        at,
        format!(
            "`{text}` is a list ({}), which has no field `{name}`",
            show(kind)
        ),
    )
    .help(format!(
        "write `[x.{name} for x in {text}]`, or read one element: `{text}[0]`"
    ))
}

pub(crate) fn no_fields(at: Location, name: &str, text: &str, kind: &Type) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        UNKNOWN_FIELD,
        at,
        format!(
            "`{}` is {}, which has no field `{name}`",
            shown(text),
            show(kind)
        ),
    );
    match kind {
        Type::Map(_) => diagnostic.help(format!("write `{}[\"{name}\"]`", shown(text))),
        _ => diagnostic,
    }
}

pub(crate) fn no_index(at: Location, text: &str, kind: &Type) -> Diagnostic {
    Diagnostic::error(
        WRONG_TYPE,
        at,
        format!("`{}` is {}, which has no elements", shown(text), show(kind)),
    )
}

pub(crate) fn not_a_function(at: Location) -> Diagnostic {
    Diagnostic::error(WRONG_TYPE, at, "this calls a value, which is no function")
}

pub(crate) fn duplicate_key(at: Location, key: &str, first: Location) -> Diagnostic {
    Diagnostic::error(
        DUPLICATE_KEY,
        at,
        format!("the key `{key}` is written twice"),
    )
    .also(first, "first written here")
}

pub(crate) fn missing_fields(at: Location, by: &str, missing: &[&str]) -> Diagnostic {
    Diagnostic::error(
        MISSING_FIELD,
        at,
        format!("{by} needs {}", listed(missing, "and")),
    )
}

pub(crate) fn optional_key_in_value(at: Location, key: &str) -> Diagnostic {
    Diagnostic::error(
        NOT_A_TYPE,
        at,
        format!("`{key}?` is written in types; a value has the key or not"),
    )
    .help(format!("write `{key}`"))
}

pub(crate) fn field_without_type(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(NOT_A_TYPE, at, format!("the field `{name}` has no type"))
        .help(format!("write `{name}: string`"))
}

pub(crate) fn spread_of_no_object(at: Location, kind: &Type) -> Diagnostic {
    Diagnostic::error(
        WRONG_TYPE,
        at,
        format!("a spread must be an object, and this is {}", show(kind)),
    )
}

pub(crate) fn operands(at: Location, operator: &str, left: &Type, right: &Type) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        OPERANDS,
        at,
        format!(
            "`{operator}` does not take {} and {}",
            show(left),
            show(right)
        ),
    );
    match (operator, left, right) {
        ("+", Type::String, _) | ("+", _, Type::String) => {
            diagnostic.help("there is no implicit conversion; write a template: `\"${a}${b}\"`")
        }
        ("+", Type::List(_), Type::List(_)) => diagnostic.help("write `[...a, ...b]`"),
        ("-", Type::String, _) | ("-", _, Type::String) => {
            diagnostic.help("numbers are subtracted, texts are not")
        }
        _ => diagnostic,
    }
}

pub(crate) fn never_null(at: Location, operator: &str, text: &str) -> Diagnostic {
    let text = shown(text);
    let help = match operator {
        "??" => format!("write `{text}` alone"),
        "?." => "write `.`".to_owned(),
        _ => format!("remove the `{operator}`"),
    };
    Diagnostic::warning(
        NEVER_NULL,
        at,
        format!("`{text}` is never null, so `{operator}` does nothing"),
    )
    .help(help)
}

pub(crate) fn constant_fails(at: Location, reason: &str) -> Diagnostic {
    Diagnostic::error(
        CONSTANT_FAILS,
        at,
        format!("this cannot be computed: {reason}"),
    )
}

pub(crate) fn too_few_arguments(at: Location, name: &str, missing: &[&str]) -> Diagnostic {
    Diagnostic::error(
        WRONG_ARGUMENTS,
        at,
        format!("`{name}` also needs {}", listed(missing, "and")),
    )
}

pub(crate) fn too_many_arguments(at: Location, name: &str, params: &[&str]) -> Diagnostic {
    let takes = if params.is_empty() {
        "no argument".to_owned()
    } else {
        format!("only {}", listed(params, "and"))
    };
    Diagnostic::error(WRONG_ARGUMENTS, at, format!("`{name}` takes {takes}"))
        .help("remove this argument")
}

pub(crate) fn unknown_argument(
    at: Location,
    argument: &str,
    name: &str,
    params: &[&str],
    near: Option<&Near>,
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        WRONG_ARGUMENTS,
        at,
        format!("`{name}` has no parameter `{argument}`"),
    );
    let otherwise = (!params.is_empty()).then(|| format!("it has {}", listed(params, "and")));
    suggest(diagnostic, near, otherwise)
}

pub(crate) fn argument_twice(at: Location, name: &str, first: Option<Location>) -> Diagnostic {
    let diagnostic = Diagnostic::error(WRONG_ARGUMENTS, at, format!("`{name}` is given twice"));
    match first {
        Some(first) => diagnostic.also(first, "first given here"),
        None => diagnostic,
    }
}

pub(crate) fn positional_after_named(at: Location) -> Diagnostic {
    Diagnostic::error(
        WRONG_ARGUMENTS,
        at,
        "an argument without a name may not follow one with a name",
    )
    .help("write `name: value`, or put it first")
}

pub(crate) fn spread_argument(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        WRONG_ARGUMENTS,
        at,
        format!("`{name}` takes no spread: its parameters are counted"),
    )
    .help("give each argument by itself")
}

pub(crate) fn not_a_type(at: Location, text: &str) -> Diagnostic {
    Diagnostic::error(
        NOT_A_TYPE,
        at,
        format!("a type is wanted here, not `{}`", shown(text)),
    )
}

pub(crate) fn type_as_value(at: Location, text: &str) -> Diagnostic {
    Diagnostic::error(
        NOT_A_TYPE,
        at,
        format!("`{}` is a type, and a value is wanted here", shown(text)),
    )
}

pub(crate) fn misplaced_entity(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        NOT_A_TYPE,
        at,
        format!("`{name}` is the type of a parameter and of nothing else"),
    )
    .help("write it in the parameters of a `step`, `check`, `attempt` or `loop`")
}

pub(crate) fn quoted_type(at: Location, text: &str) -> Diagnostic {
    Diagnostic::error(
        QUOTED_TYPE,
        at,
        format!("`\"{text}\"` is a text, and there is a type `{text}`"),
    )
    .help(format!("write `{text}`"))
    .fix(at, text)
}

pub(crate) fn recursive_type(at: Location, names: &[&str], declared: Location) -> Diagnostic {
    let first = names.first().copied().unwrap_or_default();
    Diagnostic::error(
        RECURSIVE_TYPE,
        at,
        format!("`{first}` contains itself, so no value of it can exist"),
    )
    .also(declared, "declared here")
    .help("put a list, a map or an optional field between")
}

pub(crate) fn match_incomplete(at: Location, missing: &[String]) -> Diagnostic {
    Diagnostic::error(
        MATCH_INCOMPLETE,
        at,
        format!("this `match` leaves out {}", missing.join(", ")),
    )
    .help("add an arm for it, or `_ => …`")
}

pub(crate) fn unreachable_arm(at: Location, before: Location) -> Diagnostic {
    Diagnostic::error(UNREACHABLE_ARM, at, "this arm is never reached")
        .also(before, "nothing is left after this one")
}

pub(crate) fn repeated_pattern(at: Location, pattern: &str) -> Diagnostic {
    Diagnostic::error(
        UNREACHABLE_ARM,
        at,
        format!("`{pattern}` was matched before"),
    )
    .help("remove it")
}

pub(crate) fn pattern_never_fits(at: Location, pattern: &str, subject: &Type) -> Diagnostic {
    Diagnostic::error(
        UNREACHABLE_ARM,
        at,
        format!(
            "`{}` never fits: the value is {}",
            shown(pattern),
            show(subject)
        ),
    )
}

pub(crate) fn misplaced_question_mark(at: Location) -> Diagnostic {
    Diagnostic::error(
        MISPLACED_QUESTION_MARK,
        at,
        "`?` stands after a task's name, or after a type",
    )
    .help("write `?.field` to read a field of something that may be null, or `?? …` for a default")
}
