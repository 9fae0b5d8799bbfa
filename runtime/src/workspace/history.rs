//! Commits and branches.

use super::git::Git;
use super::{Caller, Commit, Commits, MAX_COMMITS};
use crate::fault::Fault;
use std::path::Path;

/// The status of Git for "no", where it is no error.
const NO: i32 = 1;

/// The commits that HEAD has and `since` has not, oldest first.
pub async fn commits(
    git: &Git,
    folder: &Path,
    since: Option<&str>,
    caller: &Caller,
) -> Result<Commits, Box<Fault>> {
    let verify = ["rev-parse", "--verify", "--quiet", "HEAD"];
    if git.ask(folder, &verify, caller).await?.status == NO {
        return Ok(Commits::default());
    }
    let range = match since {
        Some(since) => format!("{since}..HEAD"),
        None => "HEAD".to_owned(),
    };
    let count = format!("--max-count={}", MAX_COMMITS + 1);
    let arguments = [
        "log",
        "-z",
        "--no-color",
        "--no-decorate",
        "--no-patch",
        "--encoding=UTF-8",
        "--format=tformat:%H %s",
        &count,
        "--end-of-options",
        &range,
        "--",
    ];
    let answer = git.call(folder, "list the commits", &arguments, caller);
    Ok(parse(git, &answer.await?.output))
}

/// The newest comes first, and one more than wanted tells that there are more.
fn parse(git: &Git, output: &[u8]) -> Commits {
    let entries = output.split(|byte| *byte == 0);
    let mut entries = entries.filter(|entry| !entry.is_empty());
    let newest = entries.by_ref().take(MAX_COMMITS);
    let mut commits: Vec<Commit> = newest
        .map(|entry| {
            let text = git.masked(entry);
            let (oid, subject) = text.split_once(' ').unwrap_or((&text, ""));
            Commit {
                oid: oid.to_owned(),
                subject: subject.to_owned(),
            }
        })
        .collect();
    commits.reverse();
    Commits {
        commits,
        more: entries.next().is_some(),
    }
}

/// The branch that HEAD stands for, without `refs/heads/`.
pub async fn branch(
    git: &Git,
    folder: &Path,
    caller: &Caller,
) -> Result<Option<String>, Box<Fault>> {
    let answer = git.ask(folder, &["symbolic-ref", "--quiet", "HEAD"], caller);
    let answer = answer.await?;
    match answer.status {
        0 => {
            let line = answer.line();
            let name = line.strip_prefix("refs/heads/").unwrap_or(&line);
            Ok(Some(name.to_owned()))
        }
        NO => Ok(None),
        _ => Err(git.fault("Git could not tell the branch", &answer.words)),
    }
}
