//! Loops: rounds, checks, rules, feedback.

use outpost_grammar::tree::{Entry, ExprKind as Kind, Rule};
use outpost_grammar::{Code, Diagnostic, Location};

use crate::context::Context;
use crate::infer::flow::bare;
use crate::lower::entries::Entries;
use crate::program::CheckItem;
use crate::rules::bodies::EXCLUSIVE;
use crate::rules::names::MISPLACED_NAME;

/// A loop without `maxRounds`.
pub const UNBOUNDED_LOOP: Code = Code("unbounded-loop");
/// A loop or a race without an attempt or a check.
pub const INCOMPLETE_LOOP: Code = Code("incomplete-loop");
/// A check that can never reject.
pub const NEVER_REJECTS: Code = Code("never-rejects");
/// A check that can only reject.
pub const ALWAYS_REJECTS: Code = Code("always-rejects");
/// A rule that can never be reached.
pub const UNREACHABLE_RULE: Code = Code("unreachable-rule");
/// A rule that never applies.
pub const IDLE_RULE: Code = Code("idle-rule");
/// An `accept` as the last rule.
pub const ACCEPT_LAST: Code = Code("accept-last");
/// An agent that is not told why its work was rejected.
pub const FEEDBACK_UNUSED: Code = Code("feedback-unused");
/// `accepts` in a check.
pub const ACCEPTS_IN_CHECK: Code = Code("accepts-in-check");

pub(crate) const CODES: &[Code] = &[
    UNBOUNDED_LOOP,
    INCOMPLETE_LOOP,
    NEVER_REJECTS,
    ALWAYS_REJECTS,
    UNREACHABLE_RULE,
    IDLE_RULE,
    ACCEPT_LAST,
    FEEDBACK_UNUSED,
    ACCEPTS_IN_CHECK,
];

pub(crate) fn max_rounds_missing(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(
        UNBOUNDED_LOOP,
        at,
        format!("the loop `{name}` has no `maxRounds`"),
    )
    .help("write `maxRounds: 3`, or however many rounds it may cost")
}

pub(crate) fn part_missing(at: Location, kind: &str, name: &str, part: &str) -> Diagnostic {
    Diagnostic::error(
        INCOMPLETE_LOOP,
        at,
        format!("the {kind} `{name}` has no `{part}`"),
    )
    .help(format!("add `{part} {{ … }}`"))
}

pub(crate) fn misplaced_word(at: Location, name: &str, place: &str) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        MISPLACED_NAME,
        at,
        format!("`{name}` has no meaning in {place}"),
    );
    let help = match (name, place) {
        ("feedback", "a race's attempt") => {
            "the candidates of a race are tried once, so nothing is fed back"
        }
        ("feedback", _) => {
            "`feedback` is read in the `attempt` of a loop; a check sees the `candidate`"
        }
        ("candidate", _) => "`candidate` is what the attempt has made, and is read in the `check`",
        _ => "`previous` is the last round's agent result, and is read in the `attempt` of a loop",
    };
    diagnostic.help(help)
}

pub(crate) fn beside_body(at: Location, name: &str, body: Location) -> Diagnostic {
    Diagnostic::error(
        EXCLUSIVE,
        at,
        format!("`{name}` and `body` exclude each other"),
    )
    .also(body, "the declared loop brings both an attempt and a check")
}

pub(crate) fn feedback_unused(at: Location, name: &str) -> Diagnostic {
    Diagnostic::warning(
        FEEDBACK_UNUSED,
        at,
        format!("the agent in the attempt of `{name}` never reads `feedback`, so every round begins as blind as the first"),
    )
    .help("add `${feedback ?? \"\"}` to the brief")
}

pub(crate) fn accepts_in_check(at: Location) -> Diagnostic {
    Diagnostic::error(
        ACCEPTS_IN_CHECK,
        at,
        "`accepts` has no meaning in a check: every exit status is a value there",
    )
    .help("write a rule: `reject … when result.status != 0`")
}

fn never_rejects(at: Location) -> Diagnostic {
    Diagnostic::error(
        NEVER_REJECTS,
        at,
        "this check can never reject, so the loop would end after one round",
    )
    .help("add `reject \"…\" when …`")
}

fn always_rejects(at: Location, check: Location) -> Diagnostic {
    Diagnostic::error(
        ALWAYS_REJECTS,
        at,
        "this always rejects, so the loop can only be exhausted",
    )
    .also(check, "nothing in this check accepts before")
    .help("say when it rejects: `reject … when …`")
}

fn unreachable(at: Location, hider: Location) -> Diagnostic {
    Diagnostic::error(UNREACHABLE_RULE, at, "this rule can never be reached")
        .also(hider, "this always ends the check")
}

fn idle(at: Location) -> Diagnostic {
    Diagnostic::warning(
        IDLE_RULE,
        at,
        "this rule never applies: its condition is `false`",
    )
    .help("remove it")
}

fn accept_last(at: Location) -> Diagnostic {
    Diagnostic::error(
        ACCEPT_LAST,
        at,
        "`accept` as the last rule does nothing: the end of a check accepts anyway",
    )
    .help("write `reject … when …` with the opposite condition")
}

/// The rules of a check, taken together.
pub(crate) fn check_rules(ctx: &mut Context<'_>, entries: &Entries<'_>, items: &[CheckItem]) {
    let check = entries.at(entries.block.keyword.span);
    let mut rules: Vec<(Location, bool, Option<bool>)> = Vec::new();
    let mut broken = entries.broken;
    for entry in &entries.block.entries {
        let (keyword, reject, when) = match entry {
            Entry::Rule(rule) => match &**rule {
                Rule::Reject { keyword, when, .. } => (*keyword, true, when),
                Rule::Accept { keyword, when } => (*keyword, false, when),
                Rule::Expect { .. } | Rule::Input { .. } => continue,
            },
            Entry::Broken(_) => {
                broken = true;
                continue;
            }
            Entry::Field(_) | Entry::Block(_) => continue,
        };
        let constant = match bare(when).kind {
            Kind::Bool(value) => Some(value),
            _ => None,
        };
        rules.push((entries.at(keyword), reject, constant));
    }
    if broken {
        return;
    }
    if !rules
        .iter()
        .any(|(_, reject, constant)| *reject && *constant != Some(false))
    {
        ctx.report(never_rejects(check));
        return;
    }
    let mut ended: Option<Location> = None;
    let mut may_accept = false;
    for (at, reject, constant) in &rules {
        if let Some(hider) = ended {
            ctx.report(unreachable(*at, hider));
            continue;
        }
        match constant {
            Some(false) => ctx.report(idle(*at)),
            Some(true) => {
                if *reject && !may_accept {
                    ctx.report(always_rejects(*at, check));
                }
                may_accept |= !reject;
                ended = Some(*at);
            }
            None => may_accept |= !reject,
        }
    }
    let accept_at = match items.last() {
        Some(CheckItem::Accept { at, .. }) => Some(*at),
        Some(CheckItem::Step(_) | CheckItem::Reject { .. }) | None => None,
    };
    if let (Some(at), true) = (
        accept_at,
        ended.is_none_or(|ended| Some(ended) == accept_at),
    ) {
        ctx.report(accept_last(at));
    }
}
