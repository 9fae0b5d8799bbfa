//! Sandboxes: never two tasks in one at once, never two sandboxes on one branch.

use outpost_grammar::{Code, Diagnostic, Location};
use std::collections::{BTreeMap, HashMap};

use crate::context::Context;
use crate::lower::body::SandboxUse;
use crate::lower::workflow::Lowered;
use crate::program::{SandboxId, TaskKind};
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

struct Pair<'a> {
    sandbox: &'a str,
    earlier: &'a str,
    earlier_at: Location,
    later: &'a str,
    later_use: SandboxUse,
}

fn overlap(pair: &Pair<'_>) -> Diagnostic {
    let Pair {
        sandbox,
        earlier,
        earlier_at,
        later,
        later_use,
    } = pair;
    let diagnostic = Diagnostic::error(
        SANDBOX_OVERLAP,
        later_use.at,
        format!("`{earlier}` and `{later}` may use the sandbox `{sandbox}` at the same time"),
    )
    .also(*earlier_at, format!("`{earlier}` uses it here"));
    let diagnostic = match later_use.inside {
        Some(inside) => diagnostic.also(inside, "it is used in here"),
        None => diagnostic,
    };
    diagnostic.help(format!(
        "order them: `after: [{earlier}]` in `{later}`; or give each its own sandbox, for example with `lifetime: task`"
    ))
}

fn shared_by_items(used: SandboxUse, sandbox: &str, task: &str, race: bool) -> Diagnostic {
    let what = if race { "candidates" } else { "items" };
    let help = if race {
        "give it `lifetime: task`, so that each candidate has its own".to_owned()
    } else {
        "give it `lifetime: task`, or write `parallel: 1`".to_owned()
    };
    Diagnostic::error(
        SHARED_BY_ITEMS,
        used.at,
        format!("the {what} of `{task}` would share the sandbox `{sandbox}`, whose lifetime is the workflow's"),
    )
    .help(help)
}

/// Two tasks that no edge orders must not use one warm sandbox.
///
/// The users of a sandbox must form a chain; in topological order it is enough that each has its predecessor among its ancestors.
pub(crate) fn overlaps(ctx: &mut Context<'_>, lowered: &Lowered, order: &[u32]) {
    let mut users: BTreeMap<SandboxId, Vec<(u32, SandboxUse)>> = BTreeMap::new();
    let mut found = Vec::new();
    let tasks = &lowered.tasks;
    for (index, task) in tasks.iter().enumerate() {
        let Some(findings) = lowered.findings(index) else {
            continue;
        };
        let mut first: HashMap<SandboxId, SandboxUse> = HashMap::new();
        for used in &findings.sandboxes {
            if !ctx.program.sandboxes[used.sandbox.index()].per_task {
                first.entry(used.sandbox).or_insert(*used);
            }
        }
        for (sandbox, used) in first {
            let race = matches!(task.kind, TaskKind::Race(_));
            if let Some(each) = &task.each
                && (race || each.parallel != Some(1))
            {
                let name = &ctx.program.sandboxes[sandbox.index()].name;
                found.push(shared_by_items(used, name, &task.key, race));
            }
            users.entry(sandbox).or_default().push((index as u32, used));
        }
    }
    users.retain(|_, list| list.len() > 1);
    if users.is_empty() {
        found
            .into_iter()
            .for_each(|diagnostic| ctx.report(diagnostic));
        return;
    }
    let mut position = vec![0u32; tasks.len()];
    for (at, index) in order.iter().enumerate() {
        position[*index as usize] = at as u32;
    }
    let mut best: Vec<u32> = vec![0; tasks.len()];
    for (sandbox, mut list) in users {
        list.sort_unstable_by_key(|(index, _)| position[*index as usize]);
        let (Some(first), Some(last)) = (list.first(), list.last()) else {
            continue;
        };
        let window = position[first.0 as usize] as usize..=position[last.0 as usize] as usize;
        // How far along the chain of users the ancestors of a task reach; 0 is none.
        for index in &order[window.clone()] {
            best[*index as usize] = 0;
        }
        let mut next = 0;
        for index in &order[window.clone()] {
            let own = &tasks[*index as usize];
            let reach = own
                .dependencies
                .iter()
                .map(|dependency| dependency.task.0)
                .filter(|needed| window.contains(&(position[*needed as usize] as usize)))
                .map(|needed| best[needed as usize])
                .max()
                .unwrap_or(0);
            best[*index as usize] = reach;
            if list[next].0 != *index {
                continue;
            }
            if next > 0 && (reach as usize) < next {
                let (a, b) = (list[next - 1], list[next]);
                let (earlier, later) = if a.1.at < b.1.at { (a, b) } else { (b, a) };
                found.push(overlap(&Pair {
                    sandbox: &ctx.program.sandboxes[sandbox.index()].name,
                    earlier: &tasks[earlier.0 as usize].key,
                    earlier_at: earlier.1.at,
                    later: &tasks[later.0 as usize].key,
                    later_use: later.1,
                }));
            }
            next += 1;
            best[*index as usize] = next as u32;
            if next == list.len() {
                break;
            }
        }
    }
    found
        .into_iter()
        .for_each(|diagnostic| ctx.report(diagnostic));
}
