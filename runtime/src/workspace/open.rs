//! Opening a sandbox: finding its repository, and its work tree or making one.

use super::git::Git;
use super::lock::{BranchLock, LockFault};
use super::state::path_of_line;
use super::trees::{self, Tree};
use super::{Caller, Request, Workspace};
use crate::fault::Fault;
use crate::walk::hex;
use outpost_compiler::program::Branch;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most characters of a branch that the name of its folder shows.
const SHOWN_BRANCH: usize = 48;

/// The beginning of the full name of a branch.
const HEADS: &str = "refs/heads/";

/// What an unfinished operation of Git leaves in the folder of a work tree's own state, and what it is.
const OPERATIONS: [(&str, &str); 6] = [
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// Where the run is.
pub struct Place {
    /// The project's root.
    pub root: PathBuf,
    /// The folder of the workflow's file.
    pub folder: PathBuf,
    /// The id of the run.
    pub run: Arc<str>,
}

/// What is open.
#[derive(Default)]
pub struct Open {
    workspaces: Vec<(Request, PathBuf)>,
    /// The locks of named branches, by the folders of their work trees.
    locks: BTreeMap<PathBuf, BranchLock>,
}

/// Opens a sandbox, or gives the one that is open.
pub async fn open(
    open: &mut Open,
    place: &Place,
    git: &Git,
    request: &Request,
    caller: &Caller,
) -> Result<Workspace, Box<Fault>> {
    let known = open.workspaces.iter().find(|(known, _)| known == request);
    if let Some((_, folder)) = known
        && folder.is_dir()
    {
        return Ok(Workspace {
            folder: folder.clone(),
            made: false,
        });
    }
    let repository = place.folder.join(&request.repository);
    let workspace = match &request.branch {
        Branch::Current => {
            let folder = current(git, &repository, caller).await?;
            let made = false;
            Workspace { folder, made }
        }
        Branch::Named { name, from } => {
            let opening = Opening {
                place,
                git,
                caller,
                repository,
                name,
                from: from.as_deref(),
            };
            opening.named(&mut open.locks).await?
        }
        Branch::Integrate { .. } => {
            return Err(git.fault(
                "a sandbox with `branch: integrate` cannot be opened here",
                "",
            ));
        }
    };
    open.workspaces.retain(|(known, _)| known != request);
    let entry = (request.clone(), workspace.folder.clone());
    open.workspaces.push(entry);
    Ok(workspace)
}

/// The top of the checkout that a folder lies in, if it lies in one.
pub async fn top(git: &Git, folder: &Path, caller: &Caller) -> Result<Option<PathBuf>, Box<Fault>> {
    let arguments = ["rev-parse", "--show-toplevel"];
    let answer = git.ask(folder, &arguments, caller).await?;
    let absent = [NO_REPOSITORY, "must be run in a work tree"];
    match answer.status {
        0 => Ok(Some(path_of_line(&answer.output))),
        _ if absent.iter().any(|words| answer.words.contains(words)) => Ok(None),
        _ => Err(git.fault("Git could not find the checkout", &answer.words)),
    }
}

/// What Git says where there is no repository.
const NO_REPOSITORY: &str = "not a git repository";

async fn current(git: &Git, folder: &Path, caller: &Caller) -> Result<PathBuf, Box<Fault>> {
    if let Some(top) = top(git, folder, caller).await? {
        return Ok(top);
    }
    common_folder(git, folder, caller).await?;
    let message = format!(
        "`{}` has no files checked out, so that there is no current checkout: run it from a work tree, or name a branch",
        folder.display()
    );
    Err(git.fault(&message, ""))
}

/// The folder of what all work trees of a repository share.
async fn common_folder(git: &Git, folder: &Path, caller: &Caller) -> Result<PathBuf, Box<Fault>> {
    let arguments = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let answer = git.ask(folder, &arguments, caller).await?;
    let shown = folder.display();
    let message = match answer.status {
        0 => {
            let path = path_of_line(&answer.output);
            return Ok(fs::canonicalize(&path).unwrap_or(path));
        }
        _ if answer.words.contains(NO_REPOSITORY) => format!(
            "`{shown}` is in no Git repository: run `git init` there, or leave `in` out to work without a sandbox"
        ),
        _ => format!("Git could not find the repository of `{shown}`"),
    };
    Err(git.fault(&message, &answer.words))
}

/// A named branch while it is opened.
struct Opening<'a> {
    place: &'a Place,
    git: &'a Git,
    caller: &'a Caller,
    /// A folder in the repository.
    repository: PathBuf,
    /// The branch.
    name: &'a str,
    /// Where it starts if it is not there.
    from: Option<&'a str>,
}

impl Opening<'_> {
    async fn named(
        &self,
        locks: &mut BTreeMap<PathBuf, BranchLock>,
    ) -> Result<Workspace, Box<Fault>> {
        let common = common_folder(self.git, &self.repository, self.caller).await?;
        self.check_name().await?;
        let home = self.home()?;
        let folder = home.join(self.folder_name(&common));
        let lock = match locks.contains_key(&folder) {
            true => None,
            false => Some(self.lock(&folder)?),
        };
        let made = !self.reuse(&common, &folder).await?;
        if made {
            self.make(&folder).await?;
        }
        if let Some(lock) = lock {
            locks.insert(folder.clone(), lock);
        }
        Ok(Workspace { folder, made })
    }

    fn fault(&self, message: &str) -> Box<Fault> {
        self.git.fault(message, "")
    }

    async fn check_name(&self) -> Result<(), Box<Fault>> {
        let name = self.name;
        let arguments = ["check-ref-format", "--branch", name];
        let fits = !name.is_empty() && !name.contains('\0');
        let answer = match fits {
            true => Some(self.ask(&arguments).await?),
            false => None,
        };
        // Git would take `@{-1}` for another name.
        match answer {
            Some(answer) if answer.status == 0 && answer.line() == name => Ok(()),
            _ => Err(self.fault(&format!("`{name}` cannot be the name of a branch"))),
        }
    }

    /// The folder of all work trees of the project, which Git ignores.
    fn home(&self) -> Result<PathBuf, Box<Fault>> {
        let outpost = self.place.root.join(".outpost");
        let home = outpost.join("worktrees");
        let make = || -> io::Result<PathBuf> {
            fs::create_dir_all(&home)?;
            let ignore = outpost.join(".gitignore");
            if !ignore.exists() {
                fs::write(ignore, "*\n")?;
            }
            fs::canonicalize(&home)
        };
        let made = make().map_err(|error| {
            self.fault(&format!("`{}` cannot be made: {error}", home.display()))
        })?;
        match made.to_str() {
            Some(_) => Ok(made),
            None => Err(self.fault(&format!("the path `{}` is not UTF-8", made.display()))),
        }
    }

    /// A name that people recognise, made unique by a digest.
    ///
    /// A repository inside the project goes by its relative path, so that the work tree is found again when the project was moved.
    fn folder_name(&self, common: &Path) -> String {
        let root = fs::canonicalize(&self.place.root);
        let relative = root.ok().and_then(|root| {
            let inside = common.strip_prefix(root);
            inside.ok().map(Path::to_owned)
        });
        let identity = relative.as_deref().unwrap_or(common);
        let mut digest = Sha256::new();
        digest.update(identity.as_os_str().as_bytes());
        digest.update([0]);
        digest.update(self.name);
        let digest = hex(&digest.finalize());
        // The project's own repository needs no name, and loses none when the project is moved.
        let named = match identity.file_name() {
            Some(name) if name == ".git" => identity.parent().and_then(Path::file_name),
            name => name,
        };
        let repository = named.unwrap_or_default().to_string_lossy();
        let repository = repository.strip_suffix(".git").unwrap_or(&repository);
        let parts = [&readable(repository), &readable(self.name), &digest[..8]];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<&str>>().join("-")
    }

    fn lock(&self, folder: &Path) -> Result<BranchLock, Box<Fault>> {
        let path = folder.with_added_extension("lock");
        let name = self.name;
        BranchLock::take(&path, &self.place.run).map_err(|fault| match fault {
            LockFault::Held(holder) => {
                let holder = match holder {
                    Some(holder) => format!("run `{}` (process {})", holder.run, holder.pid),
                    None => "another run".to_owned(),
                };
                self.fault(&format!(
                    "the branch `{name}` is held by {holder}: wait until it has ended, or use another branch"
                ))
            }
            LockFault::Io(error) => {
                self.fault(&format!("`{}` cannot be locked: {error}", path.display()))
            }
        })
    }

    async fn ask(&self, arguments: &[&str]) -> Result<super::git::Answer, Box<Fault>> {
        self.git.ask(&self.repository, arguments, self.caller).await
    }

    async fn call(&self, purpose: &str, arguments: &[&str]) -> Result<(), Box<Fault>> {
        let called = self
            .git
            .call(&self.repository, purpose, arguments, self.caller);
        called.await.map(|_| ())
    }

    async fn trees(&self) -> Result<Vec<Tree>, Box<Fault>> {
        let arguments = ["worktree", "list", "--porcelain", "-z"];
        let purpose = "list the work trees";
        let called = self
            .git
            .call(&self.repository, purpose, &arguments, self.caller);
        Ok(trees::parse(&called.await?.output))
    }

    /// Whether the work tree is there and can be used; if not, nothing is in the way of making it.
    async fn reuse(&self, common: &Path, folder: &Path) -> Result<bool, Box<Fault>> {
        let mut trees = self.trees().await?;
        let listed = |trees: &[Tree]| trees.iter().any(|tree| tree.folder == folder);
        if !listed(&trees) && folder.join(".git").is_file() {
            // The project was moved, and Git still has the old path.
            self.call(
                "repair the work tree",
                &["worktree", "repair", text(folder)],
            )
            .await?;
            trees = self.trees().await?;
        }
        let own = trees.iter().find(|tree| tree.folder == folder);
        match own {
            Some(own) if own.is_unfinished() => self.forget(folder).await?,
            Some(own) if !self.is_vacant(folder)? => {
                self.check_healthy(common, folder, own).await?;
                return Ok(true);
            }
            Some(_) => self.forget(folder).await?,
            None if !self.is_vacant(folder)? => {
                return Err(self.fault(&format!(
                    "`{}` is in the way: it is no work tree of this repository; move what you need of it and remove it",
                    folder.display()
                )));
            }
            None => {}
        }
        let full = format!("{HEADS}{}", self.name);
        let mut elsewhere = trees.iter().filter(|tree| tree.folder != folder);
        match elsewhere.find(|tree| tree.branch.as_ref() == Some(&full)) {
            Some(tree) => Err(self.checked_out(tree)),
            None => Ok(false),
        }
    }

    fn checked_out(&self, tree: &Tree) -> Box<Fault> {
        let name = self.name;
        let at = tree.folder.display();
        let mend = match tree.folder.exists() {
            true => "switch that folder to another branch, or use another branch here",
            false => "that folder is gone; run `git worktree prune` if it is not to come back",
        };
        self.fault(&format!(
            "the branch `{name}` is checked out in `{at}`: {mend}"
        ))
    }

    /// Whether nothing, or an empty folder, is at a path.
    fn is_vacant(&self, folder: &Path) -> Result<bool, Box<Fault>> {
        match fs::read_dir(folder) {
            Ok(mut entries) => Ok(entries.next().is_none()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => {
                let shown = folder.display();
                Err(self.fault(&format!("`{shown}` cannot be looked at: {error}")))
            }
        }
    }

    /// Makes Git forget a work tree in which nothing ever ran, or of which nothing is left.
    async fn forget(&self, folder: &Path) -> Result<(), Box<Fault>> {
        if folder.exists() && !folder.join(".git").exists() {
            fs::remove_dir_all(folder).map_err(|error| {
                let shown = folder.display();
                self.fault(&format!("`{shown}` cannot be removed: {error}"))
            })?;
        }
        let arguments = ["worktree", "remove", "--force", "--force", text(folder)];
        self.call("forget the work tree that is gone", &arguments)
            .await
    }

    async fn check_healthy(
        &self,
        common: &Path,
        folder: &Path,
        tree: &Tree,
    ) -> Result<(), Box<Fault>> {
        let shown = folder.display();
        let purpose = format!("use the work tree `{shown}`");
        let arguments = ["rev-parse", "--path-format=absolute", "--git-dir"];
        let answer = self.git.call(folder, &purpose, &arguments, self.caller);
        let own = path_of_line(&answer.await?.output);
        let own = fs::canonicalize(&own).unwrap_or(own);
        if !own.starts_with(common.join("worktrees")) {
            return Err(self.fault(&format!(
                "`{shown}` is in the way: it is no work tree of this repository; move what you need of it and remove it"
            )));
        }
        let unfinished = OPERATIONS.iter().find(|(file, _)| own.join(file).exists());
        if let Some((_, operation)) = unfinished {
            return Err(self.fault(&format!(
                "the work tree `{shown}` is in the middle of {operation}: finish or abort it there"
            )));
        }
        let full = format!("{HEADS}{}", self.name);
        let name = self.name;
        match &tree.branch {
            Some(branch) if *branch == full => Ok(()),
            Some(other) => {
                let other = other.strip_prefix(HEADS).unwrap_or(other);
                Err(self.fault(&format!(
                    "the work tree `{shown}` is on the branch `{other}` and not on `{name}`: run `git switch {name}` there"
                )))
            }
            None => Err(self.fault(&format!(
                "the work tree `{shown}` is on no branch, and not on `{name}`: run `git switch {name}` there"
            ))),
        }
    }

    async fn make(&self, folder: &Path) -> Result<(), Box<Fault>> {
        let name = self.name;
        let folder = text(folder);
        let full = format!("{HEADS}{name}");
        let arguments = ["show-ref", "--verify", "--quiet", &full];
        let purpose = "make the work tree";
        if self.ask(&arguments).await?.status == 0 {
            let arguments = ["worktree", "add", "--quiet", folder, name];
            return self.call(purpose, &arguments).await;
        }
        let start = self.start().await?;
        let arguments = ["worktree", "add", "--quiet", "-b", name, folder, &start];
        self.call(purpose, &arguments).await
    }

    /// The commit at which a new branch starts.
    async fn start(&self) -> Result<String, Box<Fault>> {
        let start = self.from.unwrap_or("HEAD");
        let commit = format!("{start}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--end-of-options", &commit];
        let answer = match start.contains('\0') {
            true => None,
            false => Some(self.ask(&arguments).await?),
        };
        let words = match answer {
            Some(answer) if answer.status == 0 => return Ok(answer.line()),
            Some(answer) => answer.words,
            None => String::new(),
        };
        let name = self.name;
        let message = match self.from {
            Some(from) => format!(
                "the branch `{name}` cannot be made: the repository has no commit `{from}` to start from"
            ),
            None => format!(
                "the branch `{name}` cannot be made: the repository has no commit yet; commit something first"
            ),
        };
        Err(self.git.fault(&message, &words))
    }
}

/// A path of ours as an argument: [`Opening::home`] has seen that it is UTF-8.
fn text(folder: &Path) -> &str {
    folder.to_str().unwrap_or_default()
}

/// A name with nothing in it that a shell or a person would stumble over.
fn readable(name: &str) -> String {
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() => letter,
        '.' | '_' => letter,
        _ => '-',
    };
    let name: String = name.chars().take(SHOWN_BRANCH).map(plain).collect();
    name.trim_start_matches(['.', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_are_plain() {
        assert_eq!(readable("outpost/fix-tests"), "outpost-fix-tests");
        assert_eq!(readable(".bare"), "bare");
        assert_eq!(readable("a b$(c)"), "a-b--c-");
        assert_eq!(readable(&"ü".repeat(100)), "");
        assert_eq!(readable(&"x".repeat(100)).len(), SHOWN_BRANCH);
    }
}
