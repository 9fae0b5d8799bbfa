//! Names: unknown, of the wrong kind, declared twice, reserved.

use outpost_grammar::{Code, Diagnostic, Location};

use crate::resolve::suggest::Near;
use crate::rules::{listed, shown, suggest};

/// A name that nothing has.
pub const UNKNOWN_NAME: Code = Code("unknown-name");
/// A name of something else than what is wanted.
pub const WRONG_KIND: Code = Code("wrong-kind");
/// A name that is declared twice.
pub const DUPLICATE_NAME: Code = Code("duplicate-name");
/// A name that the language keeps for itself.
pub const RESERVED_NAME: Code = Code("reserved-name");
/// A step or a variable with the name of a task.
pub const HIDDEN_TASK: Code = Code("hidden-task");
/// A block whose name is missing.
pub const MISSING_NAME: Code = Code("missing-name");
/// A name that cannot be a task's key.
pub const BAD_NAME: Code = Code("bad-name");
/// A reserved name where it has no meaning.
pub const MISPLACED_NAME: Code = Code("misplaced-name");
/// A step that is read before it has run.
pub const STEP_ORDER: Code = Code("step-order");
/// A name in quotes.
pub const QUOTED_NAME: Code = Code("quoted-name");
/// A parameter without a default after one that has one.
pub const PARAMETER_ORDER: Code = Code("parameter-order");

pub(crate) const CODES: &[Code] = &[
    UNKNOWN_NAME,
    WRONG_KIND,
    DUPLICATE_NAME,
    RESERVED_NAME,
    HIDDEN_TASK,
    MISSING_NAME,
    BAD_NAME,
    MISPLACED_NAME,
    STEP_ORDER,
    QUOTED_NAME,
    PARAMETER_ORDER,
];

/// `a` or `an`, before a word.
fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o']) {
        "an"
    } else {
        "a"
    }
}

pub(crate) fn unknown_name(
    at: Location,
    name: &str,
    near: Option<&Near>,
    owner: Option<&str>,
) -> Diagnostic {
    let diagnostic = Diagnostic::error(UNKNOWN_NAME, at, format!("nothing here is named `{name}`"));
    let diagnostic = match owner {
        Some(task) => {
            return diagnostic.help(format!(
                "`{name}` is a step inside `{task}`; give it out with `output:` there and read `{task}`"
            ));
        }
        None => diagnostic,
    };
    suggest(diagnostic, near, None)
}

pub(crate) fn needs_spaces(at: Location, name: &str, split: &str) -> Diagnostic {
    Diagnostic::error(UNKNOWN_NAME, at, format!("nothing here is named `{name}`"))
        .help(format!(
            "did you mean `{split}`? a subtraction needs blanks around its `-`"
        ))
        .fix(at, split)
}

pub(crate) fn unknown_task(at: Location, name: &str, near: Option<&Near>) -> Diagnostic {
    let diagnostic = Diagnostic::error(UNKNOWN_NAME, at, format!("there is no task `{name}`"));
    suggest(diagnostic, near, None)
}

pub(crate) fn unknown_entity(
    at: Location,
    name: &str,
    kind: &str,
    near: Option<&Near>,
    known: &[&str],
) -> Diagnostic {
    let diagnostic = Diagnostic::error(UNKNOWN_NAME, at, format!("there is no {kind} `{name}`"));
    let otherwise = match (known, kind) {
        ([], "harness") => None,
        ([], _) => Some(format!("declare it: `{kind} {name} {{ … }}`")),
        (known, _) if known.len() <= 12 => Some(format!("write {}", listed(known, "or"))),
        _ => None,
    };
    suggest(diagnostic, near, otherwise)
}

pub(crate) fn unknown_function(at: Location, name: &str, near: Option<&Near>) -> Diagnostic {
    let diagnostic = Diagnostic::error(UNKNOWN_NAME, at, format!("there is no function `{name}`"));
    suggest(diagnostic, near, None)
}

pub(crate) fn unknown_type(at: Location, name: &str, near: Option<&Near>) -> Diagnostic {
    let diagnostic = Diagnostic::error(UNKNOWN_NAME, at, format!("there is no type `{name}`"));
    suggest(
        diagnostic,
        near,
        Some(format!("declare it: `type {name} {{ … }}`")),
    )
}

pub(crate) fn unknown_input(at: Location, name: &str, near: Option<&Near>) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        UNKNOWN_NAME,
        at,
        format!("the workflow has no input `{name}`"),
    );
    suggest(
        diagnostic,
        near,
        Some(format!("declare it: `input {name}: string`")),
    )
}

pub(crate) fn wrong_kind(at: Location, name: &str, kind: &str, wanted: &str) -> Diagnostic {
    let (a, b) = (article(kind), article(wanted));
    Diagnostic::error(
        WRONG_KIND,
        at,
        format!("`{name}` is {a} {kind}, and {b} {wanted} is wanted here"),
    )
}

pub(crate) fn not_a_value(at: Location, name: &str, kind: &str) -> Diagnostic {
    let what = match kind.split_once(' ') {
        Some(_) => kind.to_owned(),
        None => format!("{} {kind}", article(kind)),
    };
    let diagnostic = Diagnostic::error(
        WRONG_KIND,
        at,
        format!("`{name}` is {what}, which has no value"),
    );
    match kind {
        "function" => diagnostic.help(format!("call it: `{name}(…)`")),
        "type" => diagnostic
            .help("a type stands after `as`, in `response:`, in `returns:` and in declarations"),
        "file" => diagnostic.help(format!(
            "write `{name}.` and the name of something in that file"
        )),
        _ => diagnostic,
    }
}

pub(crate) fn not_callable(at: Location, name: &str, kind: &str) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        WRONG_KIND,
        at,
        format!("`{name}` is {} {kind}, not a function", article(kind)),
    );
    match kind {
        "task" => diagnostic.help(format!("write `{name}` for its value")),
        "step" => diagnostic.help(format!("run it with `step: {name}(…)`")),
        "workflow" => diagnostic.help(format!("run it with `workflow: {name}(…)`")),
        _ => diagnostic,
    }
}

pub(crate) fn no_members(at: Location, name: &str, kind: &str) -> Diagnostic {
    Diagnostic::error(
        WRONG_KIND,
        at,
        format!("`{name}` is {} {kind}, not an imported file", article(kind)),
    )
}

pub(crate) fn not_a_name(at: Location, text: &str, kind: &str) -> Diagnostic {
    Diagnostic::error(
        WRONG_KIND,
        at,
        format!(
            "the name of {} {kind} is wanted here, not `{}`",
            article(kind),
            shown(text)
        ),
    )
}

pub(crate) fn not_a_call(at: Location, text: &str, kind: &str) -> Diagnostic {
    Diagnostic::error(
        WRONG_KIND,
        at,
        format!(
            "a call of a declared {kind} is wanted here, not `{}`",
            shown(text)
        ),
    )
    .help("write the name with parentheses: `name(…)`")
}

pub(crate) fn quoted_name(at: Location, name: &str, kind: &str) -> Diagnostic {
    Diagnostic::error(
        QUOTED_NAME,
        at,
        format!(
            "{} {kind} is named without quotes, and this is a text",
            article(kind)
        ),
    )
    .help(format!("write `{name}`"))
    .fix(at, name)
}

pub(crate) fn duplicate_name(at: Location, name: &str, kind: &str, first: Location) -> Diagnostic {
    Diagnostic::error(
        DUPLICATE_NAME,
        at,
        format!("the name `{name}` is already taken"),
    )
    .also(
        first,
        format!("{} {kind} of this name is declared here", article(kind)),
    )
    .help("give one of them another name")
}

pub(crate) fn reserved_name(at: Location, name: &str, kind: &str) -> Diagnostic {
    Diagnostic::error(
        RESERVED_NAME,
        at,
        format!(
            "{} {kind} cannot be named `{name}`: the language gives this name a meaning",
            article(kind)
        ),
    )
    .help("choose another name")
}

pub(crate) fn hides_task(at: Location, name: &str, kind: &str, task: Location) -> Diagnostic {
    Diagnostic::error(
        HIDDEN_TASK,
        at,
        format!("this {kind} hides the task `{name}`"),
    )
    .also(task, "the task")
    .help("give one of them another name")
}

pub(crate) fn block_without_name(at: Location, keyword: &str) -> Diagnostic {
    Diagnostic::error(MISSING_NAME, at, format!("this `{keyword}` has no name"))
        .help(format!("write `{keyword} name {{ … }}`"))
}

pub(crate) fn bad_task_name(at: Location, name: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(
        BAD_NAME,
        at,
        format!("`{name}` cannot name a task: {reason}"),
    )
    .note("a task's name becomes a key in the journal and in the names of files")
}

pub(crate) fn reserved_word_without_meaning(at: Location, name: &str, place: &str) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        MISPLACED_NAME,
        at,
        format!("`{name}` has no meaning in {place}"),
    );
    match name {
        "round" | "phase" => diagnostic.help(format!(
            "`{name}` belongs to the attempt and the check of a `loop`"
        )),
        "result" => {
            diagnostic.help("`result` is what the single action of a body gives, after it has run")
        }
        "attempt" | "quota" | "idempotencyKey" => {
            diagnostic.help(format!("`{name}` belongs to the body of a task"))
        }
        _ => diagnostic,
    }
}

pub(crate) fn incomplete(at: Location, name: &str) -> Diagnostic {
    let rest = match name {
        "run" => "`run.id` or `run.name`",
        "secret" => "`secret.` and the name of a declared secret",
        "env" => "`env.` and the name of a variable",
        _ => "`inputs.` and the name of an input",
    };
    Diagnostic::error(MISPLACED_NAME, at, format!("`{name}` alone is no value"))
        .help(format!("write {rest}"))
}

pub(crate) fn no_inputs_here(at: Location, place: &str) -> Diagnostic {
    Diagnostic::error(
        MISPLACED_NAME,
        at,
        format!("the inputs of a workflow are not visible in {place}"),
    )
    .help("pass the value as an argument")
}

pub(crate) fn not_yet_run(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        STEP_ORDER,
        at,
        format!("the step `{name}` has not run here"),
    )
    .help("steps run in the order in which they are written; move this below it")
}

pub(crate) fn required_after_optional(at: Location, name: &str, before: Location) -> Diagnostic {
    Diagnostic::error(
        PARAMETER_ORDER,
        at,
        format!("`{name}` has no default, but a parameter before it has one"),
    )
    .also(before, "this one may be left out")
    .help("put the parameters with defaults last")
}
