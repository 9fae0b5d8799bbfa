//! What waits for what: cycles, self references, calls in a circle.

use outpost_grammar::{Code, Diagnostic, Location};

use crate::rules::shown;

/// Tasks that wait for one another.
pub const CYCLE: Code = Code("cycle");
/// A task that waits for itself.
pub const SELF_DEPENDENCY: Code = Code("self-dependency");
/// A task that `after` lists twice.
pub const REPEATED_DEPENDENCY: Code = Code("repeated-dependency");
/// Something in `after` that is no task.
pub const NOT_A_TASK: Code = Code("not-a-task");
/// A function that calls itself.
pub const RECURSIVE_FUNCTION: Code = Code("recursive-function");
/// Workflows or steps that call one another.
pub const RECURSIVE_CALL: Code = Code("recursive-call");
/// The value of a call of a workflow that has no output.
pub const NO_OUTPUT: Code = Code("no-output");

pub(crate) const CODES: &[Code] = &[
    CYCLE,
    SELF_DEPENDENCY,
    REPEATED_DEPENDENCY,
    NOT_A_TASK,
    RECURSIVE_FUNCTION,
    RECURSIVE_CALL,
    NO_OUTPUT,
];

/// The most steps of a cycle that a message names.
const MAX_NAMED: usize = 8;

fn chain(names: &[&str], verb: &str) -> String {
    let mut text = String::new();
    for (index, name) in names.iter().enumerate() {
        if index == MAX_NAMED && names.len() > MAX_NAMED + 2 {
            text.push_str(&format!(
                ", and so on through {} more",
                names.len() - MAX_NAMED - 1
            ));
            break;
        }
        match index {
            0 => text.push_str(&format!("`{name}`")),
            1 => text.push_str(&format!(" {verb} `{name}`")),
            _ => text.push_str(&format!(", which {verb} `{name}`")),
        }
    }
    text
}

pub(crate) fn cycle(places: &[Location], names: &[&str]) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(CYCLE, places[0], chain(names, "waits for"))
        .here(format!("`{}` waits for `{}` here", names[0], names[1]))
        .help("remove one of these edges; to repeat work until it is good, write a `loop`");
    for (index, place) in places.iter().enumerate().skip(1) {
        diagnostic = diagnostic.also(
            *place,
            format!("`{}` waits for `{}` here", names[index], names[index + 1]),
        );
    }
    diagnostic
}

pub(crate) fn waits_for_itself(at: Location, name: &str, after: bool) -> Diagnostic {
    let message = if after {
        format!("`{name}` waits for itself")
    } else {
        format!("`{name}` reads itself")
    };
    let help = if after {
        "remove it from `after`"
    } else {
        "a `loop` reads what an earlier round has made: `previous`, `feedback`"
    };
    Diagnostic::error(SELF_DEPENDENCY, at, message).help(help)
}

pub(crate) fn repeated_after(at: Location, name: &str, first: Location) -> Diagnostic {
    Diagnostic::warning(
        REPEATED_DEPENDENCY,
        at,
        format!("`after` lists `{name}` twice"),
    )
    .also(first, "first listed here")
    .help("remove one of them")
}

pub(crate) fn not_a_task(at: Location, text: &str) -> Diagnostic {
    Diagnostic::error(
        NOT_A_TASK,
        at,
        format!("the name of a task is wanted here, not `{}`", shown(text)),
    )
    .help("write names in a list: `[build, tests]`")
}

pub(crate) fn recursive_function(at: Location, names: &[&str], others: &[Location]) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(RECURSIVE_FUNCTION, at, chain(names, "calls"))
        .help("functions do not recurse; use a comprehension, or a built-in function over a list");
    for place in others {
        diagnostic = diagnostic.also(*place, "and this call");
    }
    diagnostic
}

pub(crate) fn calls_itself(
    at: Location,
    kind: &str,
    names: &[&str],
    others: &[Location],
) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(
        RECURSIVE_CALL,
        at,
        format!("{}: no {kind} may end in itself", chain(names, "calls")),
    )
    .help("to repeat work until it is good, write a `loop`");
    for place in others {
        diagnostic = diagnostic.also(*place, "and this call");
    }
    diagnostic
}

pub(crate) fn no_output(at: Location, task: &str, workflow: &str) -> Diagnostic {
    Diagnostic::error(
        NO_OUTPUT,
        at,
        format!("`{task}` has no value: the workflow `{workflow}` that it calls has no `output`"),
    )
    .help(format!(
        "give `{workflow}` an `output:`, or wait for the task with `after: [{task}]`"
    ))
}
