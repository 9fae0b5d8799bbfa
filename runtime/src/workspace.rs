//! Workspaces: the folders in which the sandboxes of a run work, and what is in them.
//!
//! A sandbox of the provider `local` is a work tree of a Git repository on this machine:
//! the current checkout, or a work tree of a named branch under `ROOT/.outpost/worktrees`.
//! It is opened on first use and stays as it is afterwards: nothing in it is ever reset or removed.
//! A named branch belongs to one run at a time, by a kernel lock.
//!
//! Git 2.36 or newer is needed.
//! Whatever Git says comes from Git's own program, started under the supervisor of the run.
//! This module decides nothing: it opens, looks, and tells in Git's words what is wrong.

mod git;
mod history;
mod lock;
mod open;
mod state;
mod trees;

use crate::executor::HostEnvironment;
use crate::fault::Fault;
use crate::process::{Masks, Stop, Supervisor};
use git::Git;
use open::{Open, Place};
use outpost_compiler::program::{Branch, Sandbox};
use outpost_stdlib::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex, watch};

/// The most commits that [`Workspaces::commits`] tells.
pub const MAX_COMMITS: usize = 10_000;

/// What the workspaces of a run are made with.
#[derive(Clone)]
pub struct Settings {
    /// The project's root, above `.outpost`.
    pub root: PathBuf,
    /// The folder of the workflow's file: `repository` is relative to it.
    pub folder: PathBuf,
    /// The id of the run.
    pub run: Arc<str>,
    /// What starts processes.
    pub supervisor: Supervisor,
    /// The environment of the machine; only what reaches every action reaches Git.
    pub environment: HostEnvironment,
    /// The folder of the run, by which its processes are found again; none if the run leaves nothing behind.
    pub checkpoint: Option<PathBuf>,
    /// The secrets that no message may show.
    pub masks: Masks,
}

/// For whom something is done: how the processes are found again, and how they are stopped.
#[derive(Clone, Debug)]
pub struct Caller {
    /// `run/task/attempt/phase`.
    pub marker: String,
    /// Anything but `No` ends what is being done, with a fault of code `aborted`.
    pub stop: watch::Receiver<Stop>,
}

impl Caller {
    /// A caller that stops nothing.
    pub fn new(marker: impl Into<String>) -> Caller {
        Caller {
            marker: marker.into(),
            stop: watch::channel(Stop::No).1,
        }
    }
}

/// A sandbox, as far as opening it is concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The repository, relative to the folder of the workflow's file.
    pub repository: PathBuf,
    /// The branch.
    pub branch: Branch,
}

impl Request {
    /// The request of a declared sandbox.
    pub fn of(sandbox: &Sandbox) -> Request {
        let mut options = sandbox.options.iter();
        let repository = options.find(|(name, _)| &**name == "repository");
        let repository = repository.and_then(|(_, value)| match value {
            Value::Text(text) => Some(PathBuf::from(&**text)),
            _ => None,
        });
        Request {
            repository: repository.unwrap_or_else(|| PathBuf::from(".")),
            branch: sandbox.branch.clone(),
        }
    }
}

/// An open sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The top of its work tree.
    pub folder: PathBuf,
    /// Whether the work tree was made by this opening; its branch may be older.
    pub made: bool,
}

/// What a work tree holds, short enough to be journaled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The commit that is checked out; none if there is no commit yet.
    pub head: Option<String>,
    /// SHA-256 over all that differs from it: the status of Git, and the content of every changed and untracked file.
    pub digest: String,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its object id.
    pub oid: String,
    /// The first line of its message.
    pub subject: String,
}

/// Commits, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Commits {
    /// At most [`MAX_COMMITS`], the newest.
    pub commits: Vec<Commit>,
    /// There are more, older ones.
    pub more: bool,
}

/// The workspaces of one run. Clones share them; the last one to go lets go of the branches.
#[derive(Clone)]
pub struct Workspaces {
    place: Arc<Place>,
    git: Git,
    /// Sandboxes are opened one after another: Git locks the repository anyway.
    open: Arc<Mutex<Open>>,
}

impl Workspaces {
    /// The workspaces of a run; nothing is touched yet.
    pub fn new(settings: Settings) -> Workspaces {
        let git = Git::new(
            settings.supervisor,
            &settings.environment,
            settings.checkpoint.as_deref(),
            settings.masks,
        );
        let place = Place {
            root: settings.root,
            folder: settings.folder,
            run: settings.run,
        };
        Workspaces {
            place: Arc::new(place),
            git,
            open: Arc::default(),
        }
    }

    /// Opens a sandbox; gives the same folder whenever it is asked again.
    ///
    /// Every failure is of code `workspace`, or `aborted` if the caller stopped it.
    /// `integrate` is not known here and is refused.
    pub async fn open(&self, request: &Request, caller: &Caller) -> Result<Workspace, Box<Fault>> {
        let mut open = self.open.lock().await;
        open::open(&mut open, &self.place, &self.git, request, caller).await
    }

    /// The top of the checkout that a folder lies in; none if it is in no Git repository, or in a bare one.
    pub async fn top(&self, folder: &Path, caller: &Caller) -> Result<Option<PathBuf>, Box<Fault>> {
        open::top(&self.git, folder, caller).await
    }

    /// What the work tree at a folder holds: one call of Git if it is clean.
    pub async fn state(&self, folder: &Path, caller: &Caller) -> Result<State, Box<Fault>> {
        state::state(&self.git, folder, caller).await
    }

    /// The commits that were made since one; without it, since the beginning.
    pub async fn commits(
        &self,
        folder: &Path,
        since: Option<&str>,
        caller: &Caller,
    ) -> Result<Commits, Box<Fault>> {
        history::commits(&self.git, folder, since, caller).await
    }

    /// The branch that is checked out; none if it is a commit by itself.
    pub async fn branch(
        &self,
        folder: &Path,
        caller: &Caller,
    ) -> Result<Option<String>, Box<Fault>> {
        history::branch(&self.git, folder, caller).await
    }
}
