//! Bodies: one action or several steps, and what may stand beside them.

use outpost_grammar::{Code, Diagnostic, Location};

use crate::rules::shown;
use crate::rules::types::WRONG_TYPE;

/// A body without an action.
pub const NO_ACTION: Code = Code("no-action");
/// Two actions in one body.
pub const TWO_ACTIONS: Code = Code("two-actions");
/// A property that means nothing for this action.
pub const MISPLACED_OPTION: Code = Code("misplaced-option");
/// Two properties that exclude each other.
pub const EXCLUSIVE: Code = Code("exclusive-properties");
/// `result` after several steps.
pub const SEVERAL_RESULTS: Code = Code("several-results");
/// A call of a workflow that is not the single action of a task.
pub const MISPLACED_WORKFLOW: Code = Code("misplaced-workflow");
/// A command without a program.
pub const EMPTY_COMMAND: Code = Code("empty-command");

pub(crate) const CODES: &[Code] = &[
    NO_ACTION,
    TWO_ACTIONS,
    MISPLACED_OPTION,
    EXCLUSIVE,
    SEVERAL_RESULTS,
    MISPLACED_WORKFLOW,
    EMPTY_COMMAND,
];

pub(crate) fn no_action(at: Location, kind: &str, name: &str) -> Diagnostic {
    let subject = if kind == name {
        format!("this `{kind}`")
    } else {
        format!("the {kind} `{name}`")
    };
    Diagnostic::error(NO_ACTION, at, format!("{subject} does nothing"))
        .help("add one of `value`, `command`, `shell`, `agent`, `step`, `workflow`, `assert`, or steps `run name { … }`")
}

pub(crate) fn two_actions(
    at: Location,
    later: &str,
    first: &str,
    first_at: Location,
) -> Diagnostic {
    let help = match (first, later) {
        ("run", other) | (other, "run") => {
            format!("put `{other}` into a step of its own: `run name {{ {other}: … }}`")
        }
        _ => format!(
            "put each into a step of its own: `run a {{ {first}: … }}  run b {{ {later}: … }}`"
        ),
    };
    Diagnostic::error(
        TWO_ACTIONS,
        at,
        format!("`{first}` and `{later}` are two actions in one body"),
    )
    .also(first_at, "the first one")
    .help(help)
}

pub(crate) fn option_of_other_action(at: Location, option: &str, action: &str) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        MISPLACED_OPTION,
        at,
        format!("`{option}` has no meaning for `{action}`"),
    );
    match (option, action) {
        ("response", "command" | "shell") => {
            diagnostic.help("write `returns:` for the type of its output")
        }
        ("returns", "agent" | "continue" | "fork") => {
            diagnostic.help("write `response:` for the type of its answer")
        }
        ("brief", _) => diagnostic.help("a brief is what an `agent:` is told"),
        ("env" | "in", "step") => diagnostic.help("pass it to the step as an argument"),
        _ => diagnostic.help("remove it"),
    }
}

pub(crate) fn option_beside_runs(at: Location, option: &str) -> Diagnostic {
    Diagnostic::error(
        MISPLACED_OPTION,
        at,
        format!("`{option}` belongs to an action, and here are several"),
    )
    .help(format!("write `{option}` in each `run` that needs it"))
}

pub(crate) fn excludes(
    at: Location,
    later: &str,
    earlier: &str,
    earlier_at: Location,
) -> Diagnostic {
    Diagnostic::error(
        EXCLUSIVE,
        at,
        format!("`{later}` and `{earlier}` exclude each other"),
    )
    .also(earlier_at, "the other one")
    .help("remove one of them")
}

pub(crate) fn result_of_several(at: Location) -> Diagnostic {
    Diagnostic::error(
        SEVERAL_RESULTS,
        at,
        "`result` is what a single action gives, and here are several steps",
    )
    .help("write the name of the step that is meant")
}

pub(crate) fn misplaced_workflow(at: Location) -> Diagnostic {
    Diagnostic::error(
        MISPLACED_WORKFLOW,
        at,
        "`workflow` may only be the single action of a `task`",
    )
    .help("give the call a task of its own, and read that task here")
}

pub(crate) fn bad_accepts(at: Location, text: &str) -> Diagnostic {
    Diagnostic::error(
        WRONG_TYPE,
        at,
        format!(
            "`accepts` takes a list of exit statuses or `any`, not `{}`",
            shown(text)
        ),
    )
    .help("write `accepts: [0, 5]` or `accepts: any`")
}

pub(crate) fn empty_command(at: Location) -> Diagnostic {
    Diagnostic::error(EMPTY_COMMAND, at, "this command names no program")
        .help("write `[\"program\", \"argument\"]`")
}
