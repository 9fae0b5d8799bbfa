//! Sandboxes: never two tasks in one at once, never two sandboxes on one branch.

use outpost_grammar::{Code, Diagnostic, Location};
use outpost_stdlib::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context::Context;
use crate::lower::body::SandboxUse;
use crate::lower::workflow::Lowered;
use crate::program::{Branch, SandboxId, Task, TaskKind};
use crate::rules::shown;

/// Two tasks in one sandbox at once.
pub const SANDBOX_OVERLAP: Code = Code("sandbox-overlap");
/// Items or candidates that would share one sandbox.
pub const SHARED_BY_ITEMS: Code = Code("shared-by-items");
/// A branch of two sandboxes.
pub const SHARED_BRANCH: Code = Code("shared-branch");
/// A branch that Git would refuse, or that is written wrongly.
pub const BAD_BRANCH: Code = Code("bad-branch");
/// An option that the provider or the branch does not have.
pub const SANDBOX_OPTION: Code = Code("sandbox-option");

pub(crate) const CODES: &[Code] = &[
    SANDBOX_OVERLAP,
    SHARED_BY_ITEMS,
    SHARED_BRANCH,
    BAD_BRANCH,
    SANDBOX_OPTION,
];

pub(crate) fn one_branch_in_two(
    at: Location,
    branch: &str,
    owner: &str,
    first: Location,
) -> Diagnostic {
    Diagnostic::error(
        SHARED_BRANCH,
        at,
        format!("the branch `{branch}` belongs to the sandbox `{owner}` already"),
    )
    .also(first, "first named here")
    .help("use one sandbox in both places, or give each its own branch")
}

pub(crate) fn bad_branch(at: Location, text: &str) -> Diagnostic {
    Diagnostic::error(BAD_BRANCH, at, format!("`{}` says no branch", shown(text)))
        .help("write `current`, `named(\"branch\")` or `integrate()`")
}

pub(crate) fn bad_branch_name(at: Location, name: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(
        BAD_BRANCH,
        at,
        format!("`{name}` cannot name a branch: {reason}"),
    )
}

pub(crate) fn option_of_other_provider(at: Location, option: &str, provider: &str) -> Diagnostic {
    Diagnostic::error(
        SANDBOX_OPTION,
        at,
        format!("`{option}` has no meaning for the provider `{provider}`"),
    )
    .help("remove it, or choose another provider")
}

pub(crate) fn quota_resume_without_integrate(at: Location) -> Diagnostic {
    Diagnostic::error(
        SANDBOX_OPTION,
        at,
        "`quotaResume` needs `lifetime: task` and a branch that is integrated",
    )
    .help("write `branch: integrate()  lifetime: task`, or remove it: a warm sandbox goes on where it was")
}

/// What two tasks may not use at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// A sandbox that stays open for the whole run, or that holds a branch of its own.
    Sandbox(SandboxId),
    /// The current checkout of a repository, whichever sandbox works in it.
    Checkout(String),
}

/// Where a sandbox works; `None` where every attempt has a work tree and a branch of its own.
fn place_of(ctx: &Context<'_>, id: SandboxId) -> Option<Place> {
    let sandbox = &ctx.program.sandboxes[id.index()];
    match &sandbox.branch {
        Branch::Current => Some(Place::Checkout(repository(&sandbox.options))),
        Branch::Named { .. } => Some(Place::Sandbox(id)),
        Branch::Integrate { .. } if sandbox.per_task => None,
        Branch::Integrate { .. } => Some(Place::Sandbox(id)),
    }
}

/// The `repository` of a sandbox, in one form for each folder.
pub(crate) fn repository(options: &[(Arc<str>, Value)]) -> String {
    let written = options.iter().find_map(|(name, value)| match value {
        Value::Text(text) if &**name == "repository" => Some(&**text),
        _ => None,
    });
    let parts = written.unwrap_or(".").split('/').enumerate();
    let kept: Vec<&str> = parts
        .filter(|(at, part)| !(*part == "." || part.is_empty() && *at > 0))
        .map(|(_, part)| part)
        .collect();
    kept.join("/")
}

/// A use of a sandbox by a task.
#[derive(Clone, Copy)]
struct User<'a> {
    task: &'a str,
    sandbox: &'a str,
    used: SandboxUse,
}

fn overlap(place: &Place, earlier: User<'_>, later: User<'_>) -> Diagnostic {
    let (first, second) = (earlier.task, later.task);
    let what = match place {
        Place::Sandbox(_) => format!("may use the sandbox `{}` at the same time", later.sandbox),
        Place::Checkout(_) if earlier.sandbox == later.sandbox => format!(
            "may use the sandbox `{}`, which is the current checkout, at the same time",
            later.sandbox
        ),
        Place::Checkout(_) => format!(
            "may change the current checkout at the same time, in `{}` and `{}`",
            earlier.sandbox, later.sandbox
        ),
    };
    let diagnostic = Diagnostic::error(
        SANDBOX_OVERLAP,
        later.used.at,
        format!("`{first}` and `{second}` {what}"),
    )
    .also(earlier.used.at, format!("`{first}` uses it here"));
    let inside = [later.used.inside, earlier.used.inside];
    let mut shown: Vec<Location> = Vec::new();
    let mut diagnostic = diagnostic;
    for inside in inside.into_iter().flatten() {
        if !shown.contains(&inside) {
            shown.push(inside);
            diagnostic = diagnostic.also(inside, "it is used in here");
        }
    }
    diagnostic.help(format!(
        "order them: `after: [{first}]` in `{second}`; or give each its own: `branch: integrate()  lifetime: task`"
    ))
}

fn shared_by_items(used: User<'_>, place: &Place, race: bool, per_task: bool) -> Diagnostic {
    let what = if race { "candidates" } else { "items" };
    let (task, sandbox) = (used.task, used.sandbox);
    let why = match place {
        Place::Checkout(_) => "which is the current checkout",
        Place::Sandbox(_) if per_task => "which has one branch",
        Place::Sandbox(_) => "whose lifetime is the workflow's",
    };
    let own = match (place, per_task) {
        (Place::Sandbox(_), false) => "`lifetime: task`",
        _ => "`branch: integrate()  lifetime: task`",
    };
    let help = if race {
        format!("give it {own}, so that each candidate has its own")
    } else {
        format!("give it {own}, or write `parallel: 1`")
    };
    let diagnostic = Diagnostic::error(
        SHARED_BY_ITEMS,
        used.used.at,
        format!("the {what} of `{task}` would share the sandbox `{sandbox}`, {why}"),
    );
    let diagnostic = match used.used.inside {
        Some(inside) => diagnostic.also(inside, "it is used in here"),
        None => diagnostic,
    };
    diagnostic.help(help)
}

/// Two tasks that no edge orders must not use one warm sandbox, nor the current checkout.
///
/// The users of a place must form a chain; in topological order it is enough that each has its predecessor among its ancestors.
pub(crate) fn overlaps(ctx: &mut Context<'_>, lowered: &Lowered, order: &[u32]) {
    let mut users: BTreeMap<Place, Vec<(u32, SandboxUse)>> = BTreeMap::new();
    let mut found = Vec::new();
    let tasks = &lowered.tasks;
    for (index, task) in tasks.iter().enumerate() {
        let Some(findings) = lowered.findings(index) else {
            continue;
        };
        let mut first: Vec<(Place, SandboxUse)> = Vec::new();
        for used in &findings.sandboxes {
            if let Some(place) = place_of(ctx, used.sandbox)
                && !first.iter().any(|(known, _)| *known == place)
            {
                first.push((place, *used));
            }
        }
        for (place, used) in first {
            let race = matches!(task.kind, TaskKind::Race(_));
            if let Some(each) = &task.each
                && each.parallel != Some(1)
            {
                let per_task = ctx.program.sandboxes[used.sandbox.index()].per_task;
                found.push(shared_by_items(
                    user(ctx, task, used),
                    &place,
                    race,
                    per_task,
                ));
            }
            users.entry(place).or_default().push((index as u32, used));
        }
    }
    users.retain(|_, list| list.len() > 1);
    if !users.is_empty() {
        let mut position = vec![0u32; tasks.len()];
        for (at, index) in order.iter().enumerate() {
            position[*index as usize] = at as u32;
        }
        // How far along the chain of users the ancestors of a task reach; 0 is none.
        let mut reached: Vec<u32> = vec![0; tasks.len()];
        for (place, mut list) in users {
            list.sort_unstable_by_key(|(index, _)| position[*index as usize]);
            let pairs = unordered(&list, tasks, order, &position, &mut reached);
            found.extend(pairs.into_iter().map(|(a, b)| {
                let (earlier, later) = if a.1.at < b.1.at { (a, b) } else { (b, a) };
                let of = |(index, used): (u32, SandboxUse)| user(ctx, &tasks[index as usize], used);
                overlap(&place, of(earlier), of(later))
            }));
        }
    }
    found
        .into_iter()
        .for_each(|diagnostic| ctx.report(diagnostic));
}

fn user<'a>(ctx: &'a Context<'_>, task: &'a Task, used: SandboxUse) -> User<'a> {
    User {
        task: &task.key,
        sandbox: &ctx.program.sandboxes[used.sandbox.index()].name,
        used,
    }
}

/// A task that uses a place.
type Use = (u32, SandboxUse);

/// The neighbours in a chain of users that no path orders.
fn unordered(
    list: &[Use],
    tasks: &[Task],
    order: &[u32],
    position: &[u32],
    reached: &mut [u32],
) -> Vec<(Use, Use)> {
    let mut pairs = Vec::new();
    let (Some(first), Some(last)) = (list.first(), list.last()) else {
        return pairs;
    };
    let window = position[first.0 as usize] as usize..=position[last.0 as usize] as usize;
    for index in &order[window.clone()] {
        reached[*index as usize] = 0;
    }
    let mut next = 0;
    for index in &order[window.clone()] {
        let own = &tasks[*index as usize];
        let reach = own
            .dependencies
            .iter()
            .map(|dependency| dependency.task.0)
            .filter(|needed| window.contains(&(position[*needed as usize] as usize)))
            .map(|needed| reached[needed as usize])
            .max()
            .unwrap_or(0);
        reached[*index as usize] = reach;
        if list[next].0 != *index {
            continue;
        }
        if next > 0 && (reach as usize) < next {
            pairs.push((list[next - 1], list[next]));
        }
        next += 1;
        reached[*index as usize] = next as u32;
        if next == list.len() {
            break;
        }
    }
    pairs
}
