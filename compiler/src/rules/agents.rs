//! Agents, fallback lists, harnesses, conversations.

use outpost_grammar::{Code, Diagnostic, Location};
use outpost_stdlib::Type;

use crate::infer::types::show;
use crate::logins::Key;
use crate::program::{Auth, AuthKind};
use crate::rules::options::MISSING_PROPERTY;
use crate::rules::shown;

/// A fallback list with too few members, itself, or another list in it.
pub const FALLBACK_MEMBERS: Code = Code("fallback-members");
/// Two members that are one and the same.
pub const ALIKE_MEMBERS: Code = Code("alike-members");
/// A member behind one that never stops.
pub const UNREACHABLE_MEMBER: Code = Code("unreachable-member");
/// A fallback list that hands over on nothing.
pub const FALLBACK_ON: Code = Code("fallback-on");
/// A property that a fallback list does not have, or that needs one.
pub const FALLBACK_OPTION: Code = Code("fallback-option");
/// An `auth` that is none.
pub const BAD_AUTH: Code = Code("bad-auth");
/// An `auth` that the agent's harness does not have.
pub const UNSUPPORTED_AUTH: Code = Code("unsupported-auth");
/// An `auth` and a variable that disagree about who pays.
pub const AUTH_CONFLICT: Code = Code("auth-conflict");
/// A token or a key that is written in the file.
pub const OPEN_CREDENTIAL: Code = Code("open-credential");
/// A pattern that is no regular expression.
pub const BAD_PATTERN: Code = Code("bad-pattern");
/// A mode of permissions that an agent's CLI lacks.
pub const UNSUPPORTED_PERMISSIONS: Code = Code("unsupported-permissions");
/// A turn of a scripted agent that is none.
pub const BAD_TURN: Code = Code("bad-turn");
/// An agent that may do everything unasked.
pub const BYPASS: Code = Code("bypass-permissions");
/// Something that the agent's CLI cannot do.
pub const UNSUPPORTED: Code = Code("unsupported");
/// A conversation that goes on with another agent, or with none.
pub const CONTINUE_AGENT: Code = Code("continue-agent");
/// A value that holds no conversation.
pub const NO_CONVERSATION: Code = Code("no-conversation");
/// A harness with the name of a built-in one.
pub const BUILT_IN_HARNESS: Code = Code("built-in-harness");
/// `repairs` without a type to repair to.
pub const REPAIRS_ALONE: Code = Code("repairs-alone");

pub(crate) const CODES: &[Code] = &[
    FALLBACK_MEMBERS,
    ALIKE_MEMBERS,
    UNREACHABLE_MEMBER,
    FALLBACK_ON,
    FALLBACK_OPTION,
    BAD_AUTH,
    UNSUPPORTED_AUTH,
    AUTH_CONFLICT,
    OPEN_CREDENTIAL,
    BAD_PATTERN,
    BAD_TURN,
    UNSUPPORTED_PERMISSIONS,
    BYPASS,
    UNSUPPORTED,
    CONTINUE_AGENT,
    NO_CONVERSATION,
    BUILT_IN_HARNESS,
    REPAIRS_ALONE,
];

pub(crate) fn too_few_members(at: Location, count: usize, name: &str) -> Diagnostic {
    Diagnostic::error(
        FALLBACK_MEMBERS,
        at,
        format!("the `fallback` of `{name}` lists {count}, and at least two agents are wanted"),
    )
    .help("add the agent that takes over")
}

pub(crate) fn nested_fallback(at: Location, name: &str, declared: Location) -> Diagnostic {
    Diagnostic::error(
        FALLBACK_MEMBERS,
        at,
        format!("`{name}` is itself a fallback list, and lists do not nest"),
    )
    .also(declared, "this list")
    .help("write its members instead")
}

pub(crate) fn alike_members(
    at: Location,
    name: &str,
    first: &str,
    first_at: Location,
) -> Diagnostic {
    Diagnostic::warning(
        ALIKE_MEMBERS,
        at,
        format!(
            "`{name}` is the same as `{first}` but for its name, so what stops one stops the other"
        ),
    )
    .also(first_at, "the other one")
    .help("give it another harness, model or account, or remove it")
}

pub(crate) fn unreachable_member(
    at: Location,
    name: &str,
    before: &str,
    before_at: Location,
) -> Diagnostic {
    Diagnostic::warning(
        UNREACHABLE_MEMBER,
        at,
        format!("`{name}` is never reached: no turn of `{before}` fails"),
    )
    .also(before_at, "this one always answers")
    .help(format!(
        "add a turn such as `{{ fail: quota }}` to `{before}`, or remove `{name}`"
    ))
}

pub(crate) fn fallback_of_itself(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        FALLBACK_MEMBERS,
        at,
        format!("`{name}` cannot fall back to itself"),
    )
}

pub(crate) fn on_missing(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        MISSING_PROPERTY,
        at,
        format!("the fallback list `{name}` has no `on`"),
    )
    .help("write `on: [quota, unavailable]`, or one of them")
}

pub(crate) fn on_empty(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        FALLBACK_ON,
        at,
        format!("`on` is empty, so `{name}` would never hand over"),
    )
    .help("write `on: [quota, unavailable]`, or one of them")
}

pub(crate) fn on_without_fallback(at: Location) -> Diagnostic {
    Diagnostic::error(
        FALLBACK_OPTION,
        at,
        "`on` has a meaning beside `fallback` alone",
    )
    .help("remove it")
}

pub(crate) fn option_beside_fallback(at: Location, option: &str, name: &str) -> Diagnostic {
    Diagnostic::error(
        FALLBACK_OPTION,
        at,
        format!("`{name}` is a fallback list, which has no `{option}`"),
    )
    .help("write it in the agents of the list")
}

pub(crate) fn bad_auth(at: Location, text: &str) -> Diagnostic {
    Diagnostic::error(
        BAD_AUTH,
        at,
        format!("`{}` says nothing about who pays", shown(text)),
    )
    .help("write `account`, `usage`, `account(secret.NAME)` or `usage(secret.NAME)`")
}

pub(crate) fn open_credential(at: Location, kind: AuthKind) -> Diagnostic {
    let word = kind.word();
    Diagnostic::error(
        OPEN_CREDENTIAL,
        at,
        format!("what `{word}(…)` is given holds no secret, so everybody who reads the file could use it"),
    )
    .help(format!(
        "declare `secret NAME` at the top of the file, and write `{word}(secret.NAME)`"
    ))
}

pub(crate) fn auth_of_a_script(at: Location, harness: &str) -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED_AUTH,
        at,
        format!("the harness `{harness}` starts no program, so nobody pays for it"),
    )
    .help("remove `auth`")
}

pub(crate) fn no_account_token(at: Location, harness: &str, has_usage: bool) -> Diagnostic {
    let help = match has_usage {
        true => "write `account`, which uses the login of the machine, or `usage(secret.NAME)`",
        false => "write `account`, which uses the login of the machine",
    };
    Diagnostic::error(
        UNSUPPORTED_AUTH,
        at,
        format!("the harness `{harness}` takes no token of an account"),
    )
    .help(help)
}

pub(crate) fn no_usage(at: Location, harness: &str) -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED_AUTH,
        at,
        format!("the harness `{harness}` takes no key that is billed by use"),
    )
    .help("write `account`, or `account(secret.NAME)`")
}

pub(crate) fn no_key_option(at: Location, harness: &str, declared: Option<Location>) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        UNSUPPORTED_AUTH,
        at,
        format!("the harness `{harness}` does not say which variable takes a key"),
    )
    .help("add `key: \"NAME_OF_THE_VARIABLE\"` to the harness");
    match declared {
        Some(declared) => diagnostic.also(declared, "it has no `key`"),
        None => diagnostic,
    }
}

pub(crate) fn usage_without_model(at: Location, harness: &str, agent: &str) -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED_AUTH,
        at,
        format!("the harness `{harness}` takes a key only for a model, and `{agent}` names none"),
    )
    .help("add `model: \"…\"`")
}

pub(crate) fn unknown_provider(
    at: Location,
    harness: &str,
    model: &str,
    keys: &[Key],
) -> Diagnostic {
    let providers: Vec<String> = keys
        .iter()
        .map(|key| format!("`{}/…`", key.provider))
        .collect();
    Diagnostic::error(
        UNSUPPORTED_AUTH,
        at,
        format!(
            "`{}` does not say whose key `{harness}` needs",
            shown(model)
        ),
    )
    .help(format!(
        "write the provider in front of the model ({}), or remove `auth` and pass the key in `env`",
        providers.join(", ")
    ))
}

pub(crate) fn auth_conflict(at: Location, name: &str, harness: &str, auth: &Auth) -> Diagnostic {
    let word = auth.kind.word();
    let other = match auth.kind {
        AuthKind::Account => "use",
        AuthKind::Usage => "an account",
    };
    Diagnostic::error(
        AUTH_CONFLICT,
        at,
        format!("with `{name}` set, `{harness}` is paid by {other}, and `auth` says `{word}`"),
    )
    .also(auth.at, "this says who pays")
    .help("remove one of the two")
}

pub(crate) fn credential_twice(at: Location, name: &str, auth: &Auth) -> Diagnostic {
    Diagnostic::error(AUTH_CONFLICT, at, format!("`auth` sets `{name}` already"))
        .also(auth.at, "by this")
        .help("remove one of the two")
}

pub(crate) fn bad_pattern(at: Location, property: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(
        BAD_PATTERN,
        at,
        format!("`{property}` is no regular expression: {reason}"),
    )
}

pub(crate) fn unsupported_permissions(at: Location, mode: &str, harness: &str) -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED_PERMISSIONS,
        at,
        format!("`{harness}` has no mode for `permissions: {mode}`"),
    )
    .help("write `permissions: bypass`, or take another agent")
}

pub(crate) fn bad_turn(at: Location, reason: &str) -> Diagnostic {
    Diagnostic::error(BAD_TURN, at, format!("this is no turn of a scripted agent: {reason}"))
        .help("write `{ text: \"…\" }` or `{ fail: quota }`; `edit`, `commit`, `usage`, `delay` and others may stand beside")
}

pub(crate) fn bypass(at: Location, name: &str) -> Diagnostic {
    Diagnostic::warning(
        BYPASS,
        at,
        format!("`{name}` may do everything that you may, without asking"),
    )
    .note("in an isolating sandbox this is the default and need not be written")
}

pub(crate) fn unsupported(
    at: Location,
    property: &str,
    agent: &str,
    harness: &str,
    agent_at: Location,
) -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED,
        at,
        format!("`{property}` is nothing that `{agent}` can do: its harness is `{harness}`"),
    )
    .also(agent_at, "this agent lacks it")
    .help("choose another agent, or remove the property")
}

pub(crate) fn unsupported_option(
    at: Location,
    option: &str,
    harness: &str,
    agent: &str,
) -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED,
        at,
        format!("the harness `{harness}` of `{agent}` has no `{option}`"),
    )
    .help("remove it")
}

pub(crate) fn turns_without_script(at: Location, harness: &str) -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED,
        at,
        format!("`turns` belongs to `scripted` agents, and this one's harness is `{harness}`"),
    )
    .help("write `harness: scripted`, or remove the turns")
}

pub(crate) fn continue_with_fallback(
    at: Location,
    property: &str,
    agent: &str,
    agent_at: Location,
) -> Diagnostic {
    Diagnostic::error(
        CONTINUE_AGENT,
        at,
        format!(
            "`{property}` goes on with the agent that answered, and `{}` is a fallback list",
            shown(agent)
        ),
    )
    .also(agent_at, "the list")
    .help("remove `agent:`, or start a new conversation")
}

pub(crate) fn agent_beside_continue(
    at: Location,
    property: &str,
    agent: &str,
    agent_at: Location,
) -> Diagnostic {
    Diagnostic::error(
        CONTINUE_AGENT,
        at,
        format!("`{property}` goes on with the agent that answered, so `agent: {}` has no meaning beside it", shown(agent)),
    )
    .also(agent_at, "the agent is written here")
    .help("remove `agent:`")
}

pub(crate) fn agent_wanted(at: Location, property: &str, text: &str) -> Diagnostic {
    Diagnostic::error(
        CONTINUE_AGENT,
        at,
        format!(
            "`{}` may be null, and then nobody is there to start what `{property}` goes on with",
            shown(text)
        ),
    )
    .help("add `agent: …`, which starts the conversation")
}

pub(crate) fn no_conversation(at: Location, property: &str, text: &str, kind: &Type) -> Diagnostic {
    Diagnostic::error(
        NO_CONVERSATION,
        at,
        format!(
            "`{property}` takes an agent's whole result, and `{}` is {}",
            shown(text),
            show(kind)
        ),
    )
    .help("read a task or a step whose action is `agent:` and that has no `output:`")
}

pub(crate) fn built_in_harness(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        BUILT_IN_HARNESS,
        at,
        format!("`{name}` is a built-in harness"),
    )
    .help(format!(
        "choose another name, or add failure texts to it: `extend {name} {{ limits {{ … }} }}`"
    ))
}

pub(crate) fn repairs_without_response(at: Location) -> Diagnostic {
    Diagnostic::error(
        REPAIRS_ALONE,
        at,
        "`repairs` mends answers of the wrong type, and there is no `response`",
    )
    .help("add `response: …`, or remove it")
}
