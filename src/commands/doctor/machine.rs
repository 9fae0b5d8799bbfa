//! What the machine itself has: Git, a terminal, and a place for runs.

use super::{Finding, State};
use crate::files::{Project, STATE_FOLDER, io_words};
use crate::terminal::Terminal;
use outpost_runtime::checkpoint::{LockFault, RunLock};
use outpost_runtime::clock::Timestamp;
use outpost_runtime::executor::HostEnvironment;
use outpost_runtime::harness::probe::{self, ANSWER_LIMIT, Asker};
use outpost_runtime::process::Supervisor;
use std::cmp::Ordering;
use std::fs;
use std::io;
use std::path::Path;

/// The oldest Git whose list of work trees can be read safely (`git worktree list -z`).
const OLDEST_GIT: &str = "2.36";

/// What is known of Git: its version, the repository, and who commits.
pub async fn git(
    supervisor: &Supervisor,
    host: &HostEnvironment,
    project: &Project,
    is_wanted: bool,
) -> Vec<Finding> {
    let bad = match is_wanted {
        true => State::Problem,
        false => State::Warning,
    };
    let path = host.get("PATH").unwrap_or_default();
    if probe::find("git", path, &project.root).is_none() {
        let help = "install Git: work trees need it";
        return vec![found("git", bad, "not on the PATH").help(help)];
    }
    let asker = Asker {
        supervisor: supervisor.clone(),
        environment: probe::environment(host),
        folder: project.root.clone(),
    };
    let ask = |arguments: &'static [&'static str]| asker.ask("git", arguments, ANSWER_LIMIT);
    let version = match ask(&["--version"]).await {
        Ok(text) => probe::version(&text),
        Err(problem) => return vec![found("git", bad, problem.to_string())],
    };
    let mut findings = vec![match version {
        None => found("git", State::Warning, "tells no version"),
        Some(version) => match probe::compare(&version, OLDEST_GIT) {
            Ordering::Less => {
                let text = format!("{version} is older than {OLDEST_GIT}, which work trees need");
                found("git", bad, text)
            }
            Ordering::Equal | Ordering::Greater => found("git", State::Good, version),
        },
    }];
    findings.push(match ask(&["rev-parse", "--show-toplevel"]).await {
        Ok(folder) => found("repository", State::Good, folder.trim()),
        Err(_) => {
            let state = if is_wanted {
                State::Problem
            } else {
                State::Note
            };
            found("repository", state, "the project is in none")
        }
    });
    let mut missing = Vec::new();
    for (name, question) in [
        ("user.name", &["config", "--get", "user.name"]),
        ("user.email", &["config", "--get", "user.email"]),
    ] {
        match ask(question).await {
            Ok(text) if !text.trim().is_empty() => {}
            Ok(_) | Err(_) => missing.push(name),
        }
    }
    findings.push(match &missing[..] {
        [] => found("identity", State::Good, "user.name and user.email are set"),
        _ => {
            let text = format!(
                "Git has no {}, so agents cannot commit",
                missing.join(" and ")
            );
            let help = format!("set it with `git config --global {} …`", missing[0]);
            found("identity", State::Warning, text).help(help)
        }
    });
    findings
}

/// What standard output can show.
pub fn terminal(terminal: &Terminal, host: &HostEnvironment) -> Finding {
    let kind = match (terminal.live, terminal.dumb) {
        (true, _) => "a terminal",
        (false, true) => "a terminal without movement",
        (false, false) => "no terminal",
    };
    let colors = match terminal.color {
        true => "colours",
        false => "no colours",
    };
    let mut locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let locale = locale.find_map(|name| host.get(name).filter(|value| !value.is_empty()));
    let characters = match locale.map(str::to_lowercase) {
        Some(name) if name.contains("utf-8") || name.contains("utf8") => "UTF-8",
        Some(_) => "a locale without UTF-8",
        None => "no locale",
    };
    let text = format!("{kind}, {} columns, {colors}, {characters}", terminal.width);
    match locale.is_some() && characters != "UTF-8" {
        true => found("terminal", State::Warning, text).help("set `LANG=C.UTF-8`"),
        false => found("terminal", State::Good, text),
    }
}

/// Whether runs can be kept: their folder can be written, and its files can be locked.
pub fn state(project: &Project) -> Finding {
    let own = project.root.join(STATE_FOLDER);
    let base = match own.symlink_metadata() {
        Ok(_) => &own,
        Err(_) => &project.root,
    };
    let folder = base.join(format!(".doctor-{}", std::process::id()));
    let tried = match base.is_dir() {
        true => fs::create_dir(&folder).map_err(|error| io_words(&error)),
        false => Err("it is no folder".to_owned()),
    };
    let tried = tried.and_then(|()| {
        let tried = try_lock(&folder);
        // What is left of it is an empty folder that nobody reads.
        let _ = fs::remove_dir_all(&folder);
        tried
    });
    match tried {
        Ok(()) => {
            let text = format!("`{STATE_FOLDER}` can be written, and its files be locked");
            found("runs", State::Good, text)
        }
        Err(why) => {
            let text = format!("nothing can be kept in `{}`: {why}", base.display());
            let help = "make the folder writable on a local file system, or use `run --ephemeral`";
            found("runs", State::Problem, text).help(help)
        }
    }
}

/// Locks a folder as a run does, and sees that nobody else can then.
fn try_lock(folder: &Path) -> Result<(), String> {
    let lock = || RunLock::take(folder, Timestamp::default(), false);
    let words = |error: &io::Error| format!("its files cannot be locked: {}", io_words(error));
    let _first = lock().map_err(|fault| match fault {
        LockFault::Io(error) => words(&error),
        LockFault::InUse(_) | LockFault::OtherMachine(_) => "its files cannot be locked".to_owned(),
    })?;
    match lock() {
        Err(LockFault::InUse(_)) => Ok(()),
        Err(LockFault::Io(error)) => Err(words(&error)),
        Err(LockFault::OtherMachine(_)) | Ok(_) => {
            Err("a lock there does not keep others out".to_owned())
        }
    }
}

fn found(what: &'static str, state: State, text: impl Into<String>) -> Finding {
    Finding {
        what,
        state,
        text: text.into(),
        help: None,
    }
}

impl Finding {
    fn help(mut self, help: impl Into<String>) -> Finding {
        self.help = Some(help.into());
        self
    }
}
