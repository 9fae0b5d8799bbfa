//! SEMANTICS L7, Q2 and LANGUAGE §11 as far as a work tree is concerned.

use libtest_mimic::{Failed, Trial};
use outpost_compiler::program::Branch;
use outpost_runtime::executor::HostEnvironment;
use outpost_runtime::fault::FaultCode;
use outpost_runtime::process::{Masks, Stop, Supervisor};
use outpost_runtime::workspace::{
    Caller, MAX_COMMITS, Request, Settings, State, Workspace, Workspaces,
};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use tokio::sync::watch;

pub fn trials() -> Vec<Trial> {
    let tests: [(&str, fn()); 20] = [
        ("the_current_checkout", the_current_checkout),
        ("no_repository", no_repository),
        ("a_named_branch", a_named_branch),
        ("opened_side_by_side", opened_side_by_side),
        ("where_a_branch_starts", where_a_branch_starts),
        ("names_of_branches", names_of_branches),
        ("held_by_another_run", held_by_another_run),
        ("checked_out_elsewhere", checked_out_elsewhere),
        ("a_work_tree_that_is_gone", a_work_tree_that_is_gone),
        ("an_unfinished_operation", an_unfinished_operation),
        ("another_branch_in_its_place", another_branch_in_its_place),
        ("something_in_the_way", something_in_the_way),
        ("killed_while_it_was_made", killed_while_it_was_made),
        ("a_project_that_was_moved", a_project_that_was_moved),
        ("linked_and_bare_repositories", linked_and_bare_repositories),
        ("the_state_of_files", the_state_of_files),
        (
            "the_state_of_repositories_inside",
            the_state_of_repositories_inside,
        ),
        ("commits_and_branches", commits_and_branches),
        ("what_reaches_git", what_reaches_git),
        ("stopped", stopped),
    ];
    tests
        .into_iter()
        .map(|(name, test)| {
            Trial::test(name, move || {
                test();
                Ok::<(), Failed>(())
            })
        })
        .collect()
}

/// A folder with a repository `project` in it, which has one commit.
struct World {
    /// Removes the folder at the end.
    _folder: TempDir,
    base: PathBuf,
    project: PathBuf,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let project = base.join("project");
        fs::create_dir(&project).unwrap();
        git(&project, &["init", "--quiet", "--initial-branch=main"]);
        write(&project.join("file"), "one\n");
        commit(&project, "first");
        World {
            _folder: folder,
            base,
            project,
        }
    }

    fn settings(&self, run: &str) -> Settings {
        let home = self.base.display().to_string();
        let variables = [
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", home),
            ("LANG", "de_DE.UTF-8".to_owned()),
            ("LC_MESSAGES", "de_DE.UTF-8".to_owned()),
            ("GIT_DIR", "/nowhere".to_owned()),
            ("GIT_INDEX_FILE", "/nowhere/index".to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value));
        Settings {
            root: self.project.clone(),
            folder: self.project.clone(),
            run: run.into(),
            supervisor: Supervisor::new(),
            environment: HostEnvironment::new(variables),
            checkpoint: None,
            masks: Masks::default(),
        }
    }

    fn worktrees(&self) -> PathBuf {
        self.project.join(".outpost/worktrees")
    }
}

/// Git as a person would use it.
fn git_command(folder: &Path, arguments: &[&str]) -> std::process::Output {
    Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args([
            "-c",
            "protocol.file.allow=always",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(arguments)
        .current_dir(folder)
        .env_remove("GIT_DIR")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap()
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = git_command(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

fn commit(folder: &Path, subject: &str) -> String {
    git(folder, &["add", "--all"]);
    git(
        folder,
        &["commit", "--quiet", "--allow-empty", "-m", subject],
    );
    git(folder, &["rev-parse", "HEAD"])
}

/// Runs something with workspaces, and lets their processes go.
fn with<T>(settings: Settings, test: impl AsyncFnOnce(&Workspaces) -> T) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    runtime.block_on(async {
        let supervisor = settings.supervisor.clone();
        let result = test(&Workspaces::new(settings)).await;
        supervisor.close().await;
        result
    })
}

fn caller() -> Caller {
    Caller::new("run/task/1/attempt")
}

fn at(repository: &str, branch: Branch) -> Request {
    let repository = repository.into();
    Request { repository, branch }
}

fn named(name: &str) -> Request {
    named_from(name, None)
}

fn named_from(name: &str, from: Option<&str>) -> Request {
    let branch = Branch::Named {
        name: name.into(),
        from: from.map(Into::into),
    };
    at(".", branch)
}

/// Opens a sandbox in a run of its own.
fn open(settings: Settings, request: &Request) -> Result<Workspace, String> {
    with(settings, async |workspaces| {
        workspaces.open(request, &caller()).await
    })
    .map_err(|fault| {
        assert_eq!(fault.code, FaultCode::Workspace, "{}", fault.message);
        fault.message
    })
}

fn refusal(settings: Settings, request: &Request) -> String {
    match open(settings, request) {
        Ok(workspace) => panic!("it was opened at {}", workspace.folder.display()),
        Err(message) => message,
    }
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

fn the_current_checkout() {
    let world = World::new();
    fs::create_dir_all(world.project.join("flows/deep")).unwrap();
    for (folder, repository) in [
        (".", "."),
        ("flows/deep", "."),
        ("flows", ".."),
        (".", "flows"),
    ] {
        let mut settings = world.settings("r");
        settings.folder = world.project.join(folder);
        let opened = open(settings, &at(repository, Branch::Current)).unwrap();
        assert_eq!(opened.folder, world.project);
        assert!(!opened.made);
    }
    // Nothing was made for it.
    assert!(!world.project.join(".outpost").exists());
    let linked = world.base.join("linked");
    git(
        &world.project,
        &["worktree", "add", "--quiet", linked.to_str().unwrap()],
    );
    let opened = open(world.settings("r"), &at("../linked", Branch::Current)).unwrap();
    assert_eq!(opened.folder, linked);
}

fn no_repository() {
    let world = World::new();
    fs::create_dir(world.base.join("plain")).unwrap();
    git(&world.base, &["init", "--quiet", "--bare", "bare"]);
    let name = Branch::Named {
        name: "x".into(),
        from: None,
    };
    for branch in [Branch::Current, name] {
        let message = refusal(world.settings("r"), &at("../plain", branch.clone()));
        says(
            &message,
            &[
                "/plain` is in no Git repository",
                "git init",
                "leave `in` out",
            ],
        );
        says(&message, &["\nfatal: not a git repository"]);
        let message = refusal(world.settings("r"), &at("../missing", branch));
        says(&message, &["/missing` cannot be entered: No such file"]);
    }
    for place in ["../bare", ".git"] {
        let message = refusal(world.settings("r"), &at(place, Branch::Current));
        says(&message, &["has no files checked out"]);
    }
    let integrate = Branch::Integrate { from: None };
    says(
        &refusal(world.settings("r"), &at(".", integrate)),
        &["`branch: integrate` cannot be opened"],
    );
    with(world.settings("r"), async |workspaces| {
        let top = async |folder: &str| {
            let folder = world.base.join(folder);
            workspaces.top(&folder, &caller()).await.unwrap()
        };
        assert_eq!(top("project").await, Some(world.project.clone()));
        assert_eq!(top("plain").await, None);
        assert_eq!(top("bare").await, None);
    });
}

fn a_named_branch() {
    let world = World::new();
    let request = named("outpost/fix-tests");
    let folder = with(world.settings("r1"), async |workspaces| {
        let opened = workspaces.open(&request, &caller()).await.unwrap();
        assert!(opened.made);
        assert_eq!(opened.folder.parent().unwrap(), world.worktrees());
        let name = opened.folder.file_name().unwrap().to_string_lossy();
        assert!(name.starts_with("outpost-fix-tests-"), "{name}");
        let branch = workspaces.branch(&opened.folder, &caller()).await.unwrap();
        assert_eq!(branch.as_deref(), Some("outpost/fix-tests"));
        let again = workspaces.open(&request, &caller()).await.unwrap();
        assert_eq!(again.folder, opened.folder);
        assert!(!again.made);
        opened.folder
    });
    assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "one\n");
    // The repository around it does not see it.
    let ignore = world.project.join(".outpost/.gitignore");
    assert_eq!(fs::read_to_string(ignore).unwrap(), "*\n");
    assert_eq!(git(&world.project, &["status", "--porcelain"]), "");
    // Another run finds what the first one left: a commit, an edit, a new file.
    write(&folder.join("made"), "1");
    let head = commit(&folder, "made");
    write(&folder.join("file"), "two\n");
    write(&folder.join("new"), "n");
    let opened = open(world.settings("r2"), &request).unwrap();
    assert_eq!(
        opened,
        Workspace {
            folder: folder.clone(),
            made: false
        }
    );
    assert_eq!(git(&folder, &["rev-parse", "HEAD"]), head);
    assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "two\n");
    assert_eq!(fs::read_to_string(folder.join("new")).unwrap(), "n");
    // Names that look alike have folders of their own.
    let other = open(world.settings("r3"), &named("outpost-fix-tests")).unwrap();
    assert_ne!(other.folder, folder);
    let other = git(&other.folder, &["symbolic-ref", "--short", "HEAD"]);
    assert_eq!(other, "outpost-fix-tests");
}

fn opened_side_by_side() {
    let world = World::new();
    with(world.settings("r"), async |workspaces| {
        let request = named("x");
        let other = named("y");
        let caller = caller();
        let (a, b, c, d) = tokio::join!(
            workspaces.open(&request, &caller),
            workspaces.open(&other, &caller),
            workspaces.open(&request, &caller),
            workspaces.open(&request, &caller),
        );
        let (a, b) = (a.unwrap(), b.unwrap());
        for same in [c.unwrap(), d.unwrap()] {
            assert_eq!(same.folder, a.folder);
            assert!(!same.made);
        }
        assert!(a.made && b.made);
        assert_ne!(a.folder, b.folder);
        // The same branch by another way is the same work tree, and no clash of the run with itself.
        let from = named_from("x", Some("main"));
        let again = workspaces.open(&from, &caller).await.unwrap();
        assert_eq!(again.folder, a.folder);
        // A work tree that was removed while the run goes on is made again.
        fs::remove_dir_all(&a.folder).unwrap();
        let again = workspaces.open(&request, &caller).await.unwrap();
        assert_eq!(again, a);
    });
}

fn where_a_branch_starts() {
    let world = World::new();
    let first = git(&world.project, &["rev-parse", "HEAD"]);
    let second = commit(&world.project, "second");
    git(&world.project, &["tag", "-a", "-m", "t", "v1", &first]);
    git(&world.project, &["branch", "old", &first]);
    let head = |request: &Request| {
        let folder = open(world.settings("r"), request).unwrap().folder;
        git(&folder, &["rev-parse", "HEAD"])
    };
    assert_eq!(head(&named("a")), second);
    assert_eq!(head(&named_from("b", Some("v1"))), first);
    assert_eq!(head(&named_from("c", Some("main~1"))), first);
    // A branch that is there stays where it is.
    assert_eq!(head(&named_from("old", Some("main"))), first);
    for from in ["nope", "-q", "--all", "", "a\0b", ":", "HEAD^{tree}"] {
        let message = refusal(world.settings("r"), &named_from("d", Some(from)));
        says(
            &message,
            &["`d` cannot be made: the repository has no commit `"],
        );
    }
    assert_eq!(git(&world.project, &["branch", "--list", "d"]), "");
    git(&world.base, &["init", "--quiet", "empty"]);
    let branch = named("x").branch;
    let message = refusal(world.settings("r"), &at("../empty", branch));
    says(&message, &["has no commit yet", "commit something first"]);
}

fn names_of_branches() {
    let world = World::new();
    for name in [
        "", "a b", "-x", "@{-1}", "a..b", "x.lock", "/", "a\0b", "HEAD",
    ] {
        let message = refusal(world.settings("r"), &named(name));
        says(&message, &["` cannot be the name of a branch"]);
    }
    for name in ["ünïcode", "a+b", "deep/er/still", "$(x)"] {
        let folder = open(world.settings("r"), &named(name)).unwrap().folder;
        let branch = with(world.settings("r"), async |workspaces| {
            workspaces.branch(&folder, &caller()).await.unwrap()
        });
        assert_eq!(branch.as_deref(), Some(name));
    }
    // A tag of the same name is no obstacle.
    git(&world.project, &["branch", "same"]);
    git(&world.project, &["tag", "same"]);
    let folder = open(world.settings("r"), &named("same")).unwrap().folder;
    let head = git(&folder, &["symbolic-ref", "HEAD"]);
    assert_eq!(head, "refs/heads/same");
}

fn held_by_another_run() {
    let world = World::new();
    with(world.settings("first"), async |workspaces| {
        workspaces.open(&named("x"), &caller()).await.unwrap();
        let second = Workspaces::new(world.settings("second"));
        let fault = second.open(&named("x"), &caller()).await.unwrap_err();
        assert_eq!(fault.code, FaultCode::Workspace);
        let process = format!("run `first` (process {})", std::process::id());
        says(&fault.message, &["the branch `x` is held by", &process]);
        // Another branch is free, and a clone holds what it shares.
        second.open(&named("y"), &caller()).await.unwrap();
        let clone = second.clone();
        drop(second);
        let fault = workspaces.open(&named("y"), &caller()).await.unwrap_err();
        says(&fault.message, &["run `second`"]);
        drop(clone);
        workspaces.open(&named("y"), &caller()).await.unwrap();
    });
    assert!(!open(world.settings("third"), &named("x")).unwrap().made);
    // A branch that could not be opened is not held.
    with(world.settings("fourth"), async |workspaces| {
        let broken = named_from("z", Some("nope"));
        workspaces.open(&broken, &caller()).await.unwrap_err();
        let other = Workspaces::new(world.settings("fifth"));
        other.open(&named("z"), &caller()).await.unwrap();
    });
}

fn checked_out_elsewhere() {
    let world = World::new();
    let message = refusal(world.settings("r"), &named("main"));
    let place = format!(
        "the branch `main` is checked out in `{}`",
        world.project.display()
    );
    says(&message, &[&place, "switch that folder"]);
    let foreign = world.base.join("fo reign");
    let folder = foreign.to_str().unwrap();
    git(
        &world.project,
        &["worktree", "add", "--quiet", "-b", "x", folder],
    );
    let message = refusal(world.settings("r"), &named("x"));
    says(
        &message,
        &["checked out in `", "/fo reign`", "switch that folder"],
    );
    fs::remove_dir_all(&foreign).unwrap();
    let message = refusal(world.settings("r"), &named("x"));
    says(&message, &["/fo reign`", "is gone", "git worktree prune"]);
    git(&world.project, &["worktree", "prune"]);
    assert!(open(world.settings("r"), &named("x")).unwrap().made);
}

fn a_work_tree_that_is_gone() {
    let world = World::new();
    let away = world.base.join("away");
    git(
        &world.project,
        &["worktree", "add", "--quiet", away.to_str().unwrap()],
    );
    let folder = open(world.settings("r"), &named("x")).unwrap().folder;
    let head = commit(&folder, "kept");
    fs::rename(&away, world.base.join("unplugged")).unwrap();
    for vacant in [false, true] {
        fs::remove_dir_all(&folder).unwrap();
        if vacant {
            fs::create_dir(&folder).unwrap();
        }
        let opened = open(world.settings("r"), &named("x")).unwrap();
        assert_eq!(
            opened,
            Workspace {
                folder: folder.clone(),
                made: true
            }
        );
        assert_eq!(git(&folder, &["rev-parse", "HEAD"]), head);
    }
    // What else is gone is not ours to forget.
    let trees = git(&world.project, &["worktree", "list"]);
    says(&trees, &["/away "]);
}

fn an_unfinished_operation() {
    let world = World::new();
    let folder = open(world.settings("r"), &named("x")).unwrap().folder;
    write(&folder.join("file"), "theirs\n");
    commit(&folder, "theirs");
    write(&world.project.join("file"), "ours\n");
    commit(&world.project, "ours");
    for (operation, told) in [
        ("merge", "a merge"),
        ("rebase", "a rebase"),
        ("cherry-pick", "a cherry-pick"),
    ] {
        let begun = git_command(&folder, &[operation, "main"]);
        assert!(!begun.status.success());
        let message = refusal(world.settings("r"), &named("x"));
        says(
            &message,
            &["is in the middle of ", told, folder.to_str().unwrap()],
        );
        // Nothing was reset.
        says(
            &fs::read_to_string(folder.join("file")).unwrap(),
            &["<<<<<<<"],
        );
        git(&folder, &[operation, "--abort"]);
        assert!(!open(world.settings("r"), &named("x")).unwrap().made);
    }
}

fn another_branch_in_its_place() {
    let world = World::new();
    let folder = open(world.settings("r"), &named("x")).unwrap().folder;
    git(&folder, &["switch", "--quiet", "-c", "other"]);
    let message = refusal(world.settings("r"), &named("x"));
    says(
        &message,
        &["is on the branch `other` and not on `x`", "git switch x"],
    );
    git(&folder, &["switch", "--quiet", "--detach"]);
    let message = refusal(world.settings("r"), &named("x"));
    says(&message, &["is on no branch, and not on `x`"]);
    git(&folder, &["switch", "--quiet", "x"]);
    assert!(!open(world.settings("r"), &named("x")).unwrap().made);
}

fn something_in_the_way() {
    let world = World::new();
    let folder = open(world.settings("r"), &named("x")).unwrap().folder;
    git(
        &world.project,
        &["worktree", "remove", folder.to_str().unwrap()],
    );
    fs::create_dir(&folder).unwrap();
    write(&folder.join("precious"), "p");
    says(
        &refusal(world.settings("r"), &named("x")),
        &["is in the way"],
    );
    git(&folder, &["init", "--quiet"]);
    says(
        &refusal(world.settings("r"), &named("x")),
        &["is in the way"],
    );
    assert!(folder.join("precious").exists());
    fs::remove_dir_all(&folder).unwrap();
    assert!(open(world.settings("r"), &named("x")).unwrap().made);
    // A work tree that lost its tie to the repository still has files in it.
    fs::remove_file(folder.join(".git")).unwrap();
    refusal(world.settings("r"), &named("x"));
    assert!(folder.join("file").exists());
}

fn killed_while_it_was_made() {
    let world = World::new();
    let folder = open(world.settings("r"), &named("x")).unwrap().folder;
    for without_tie in [false, true] {
        let path = folder.to_str().unwrap();
        git(
            &world.project,
            &["worktree", "lock", "--reason", "initializing", path],
        );
        fs::remove_file(folder.join("file")).unwrap();
        if without_tie {
            fs::remove_file(folder.join(".git")).unwrap();
        }
        let opened = open(world.settings("r"), &named("x")).unwrap();
        assert!(opened.made);
        assert!(folder.join("file").exists());
    }
}

fn a_project_that_was_moved() {
    let mut world = World::new();
    let folder = open(world.settings("r"), &named("x")).unwrap().folder;
    write(&folder.join("file"), "edited\n");
    let moved = world.base.join("elsewhere");
    fs::rename(&world.project, &moved).unwrap();
    world.project = moved;
    let opened = open(world.settings("r"), &named("x")).unwrap();
    assert!(!opened.made);
    assert!(opened.folder.starts_with(&world.project));
    let text = fs::read_to_string(opened.folder.join("file")).unwrap();
    assert_eq!(text, "edited\n");
    assert_eq!(git(&opened.folder, &["status", "--short"]), "M file");
}

fn linked_and_bare_repositories() {
    let world = World::new();
    let linked = world.base.join("linked");
    git(
        &world.project,
        &[
            "worktree",
            "add",
            "--quiet",
            "-b",
            "feature",
            linked.to_str().unwrap(),
        ],
    );
    let head = commit(&linked, "feature");
    let mut settings = world.settings("r");
    settings.root = linked.clone();
    settings.folder = linked.clone();
    let opened = open(settings.clone(), &named("x")).unwrap();
    assert!(opened.folder.starts_with(linked.join(".outpost/worktrees")));
    // `HEAD` is that of the checkout in which the workflow's file is.
    assert_eq!(git(&opened.folder, &["rev-parse", "HEAD"]), head);
    assert_eq!(git(&linked, &["status", "--porcelain"]), "");
    assert!(!open(settings, &named("x")).unwrap().made);

    // A folder whose repository is bare, with its work trees side by side.
    let home = world.base.join("home");
    fs::create_dir(&home).unwrap();
    let source = world.project.to_str().unwrap();
    git(&home, &["clone", "--quiet", "--bare", source, ".bare"]);
    write(&home.join(".git"), "gitdir: ./.bare\n");
    git(&home, &["worktree", "add", "--quiet", "trunk", "main"]);
    let mut settings = world.settings("r");
    settings.root = home.clone();
    settings.folder = home.clone();
    let opened = open(settings.clone(), &named("y")).unwrap();
    assert!(opened.made && opened.folder.starts_with(&home));
    assert!(opened.folder.join("file").exists());
    assert!(!open(settings.clone(), &named("y")).unwrap().made);
    says(&refusal(settings.clone(), &named("main")), &["/trunk`"]);
    settings.folder = home.join("trunk");
    let current = open(settings, &at(".", Branch::Current)).unwrap();
    assert_eq!(current.folder, home.join("trunk"));
}

/// The state of a folder, in a run of its own.
fn state(world: &World, folder: &Path) -> State {
    with(world.settings("r"), async |workspaces| {
        workspaces.state(folder, &caller()).await.unwrap()
    })
}

fn the_state_of_files() {
    let world = World::new();
    let project = &world.project;
    write(&project.join(".gitignore"), "ignored\n");
    write(&project.join("run"), "x");
    let head = commit(project, "more");
    let clean = state(&world, project);
    assert_eq!(clean.head.as_deref(), Some(head.as_str()));
    assert_eq!(clean.digest.len(), 64);
    assert_eq!(state(&world, project), clean);
    write(&project.join("ignored"), "1");
    assert_eq!(state(&world, project), clean);

    let mut seen = vec![clean.clone()];
    let mut differs = |what: &str| {
        let now = state(&world, project);
        assert_eq!(now, state(&world, project), "{what}");
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    write(&project.join("file"), "two\n");
    differs("an edit");
    write(&project.join("file"), "six\n");
    differs("another edit of the same file, as long as the first");
    git(project, &["add", "file"]);
    differs("an edit that is staged");
    write(&project.join("new"), "1");
    differs("a new file");
    write(&project.join("new"), "2");
    differs("an edit of the new file");
    fs::set_permissions(project.join("new"), fs::Permissions::from_mode(0o755)).unwrap();
    differs("a new file that can be executed");
    fs::create_dir(project.join("deep")).unwrap();
    write(&project.join("deep/ü\n\"er"), "1");
    differs("a name that Git would quote");
    write(&project.join("deep/ü\n\"er"), "2");
    differs("an edit of it");
    symlink("file", project.join("link")).unwrap();
    differs("a link");
    fs::remove_file(project.join("link")).unwrap();
    symlink("/nowhere", project.join("link")).unwrap();
    differs("a link to elsewhere");
    fs::remove_file(project.join("run")).unwrap();
    differs("a file that is gone");
    let fifo = Command::new("mkfifo").arg(project.join("run")).status();
    assert!(fifo.unwrap().success());
    // A FIFO in its place is seen and not waited for.
    state(&world, project);
    fs::remove_file(project.join("run")).unwrap();
    git(project, &["mv", "file", "moved"]);
    differs("a file with another name");

    let from_below = state(&world, &project.join("deep"));
    assert_eq!(from_below, state(&world, project));
    git(project, &["reset", "--quiet", "--hard"]);
    git(project, &["clean", "--quiet", "-fd"]);
    assert_eq!(state(&world, project), clean);
    let next = commit(project, "next");
    assert_eq!(state(&world, project).head, Some(next));

    git(&world.base, &["init", "--quiet", "empty"]);
    let empty = world.base.join("empty");
    let unborn = state(&world, &empty);
    assert_eq!(unborn.head, None);
    write(&empty.join("a"), "1");
    assert_ne!(state(&world, &empty).digest, unborn.digest);
}

fn the_state_of_repositories_inside() {
    let world = World::new();
    let project = &world.project;
    git(&world.base, &["init", "--quiet", "library"]);
    let library = world.base.join("library");
    write(&library.join("code"), "1");
    commit(&library, "code");
    git(
        project,
        &[
            "submodule",
            "--quiet",
            "add",
            library.to_str().unwrap(),
            "sub",
        ],
    );
    commit(project, "sub");
    let mut seen = vec![state(&world, project)];
    let mut differs = |what: &str| {
        let now = state(&world, project);
        assert_eq!(now, state(&world, project), "{what}");
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    write(&project.join("sub/code"), "2");
    differs("an edit in a submodule");
    write(&project.join("sub/code"), "3");
    differs("another edit in a submodule");
    commit(&project.join("sub"), "inner");
    differs("a commit in a submodule");
    git(
        project,
        &["clone", "--quiet", library.to_str().unwrap(), "clone"],
    );
    differs("a clone that nobody added");
    write(&project.join("clone/code"), "2");
    differs("an edit in the clone");
    write(&project.join("clone/code"), "3");
    differs("another edit in the clone");
    // Something that only looks like a repository does not lead Git in circles.
    fs::create_dir_all(project.join("fake/.git")).unwrap();
    write(&project.join("fake/a"), "1");
    differs("a broken repository");
}

fn commits_and_branches() {
    let world = World::new();
    let project = &world.project;
    let first = git(project, &["rev-parse", "HEAD"]);
    let second = commit(project, "second: ü \"quoted\"\n\nwith a body\n");
    let third = commit(project, " spaces  inside ");
    git(
        project,
        &[
            "-c",
            "core.commentChar=;",
            "commit",
            "--quiet",
            "--allow-empty",
            "--allow-empty-message",
            "-m",
            "",
        ],
    );
    let fourth = git(project, &["rev-parse", "HEAD"]);
    git(project, &["config", "log.showSignature", "true"]);
    git(project, &["config", "log.decorate", "full"]);
    git(project, &["config", "color.ui", "always"]);
    git(project, &["config", "format.pretty", "fuller"]);
    git(&world.base, &["init", "--quiet", "empty"]);
    with(world.settings("r"), async |workspaces| {
        let told = async |folder: &Path, since: Option<&str>| {
            let commits = workspaces.commits(folder, since, &caller()).await.unwrap();
            assert!(!commits.more);
            let commits = commits.commits.into_iter();
            let commits: Vec<_> = commits.map(|one| (one.oid, one.subject)).collect();
            commits
        };
        let expected = [
            (second.clone(), "second: ü \"quoted\"".to_owned()),
            (third, " spaces  inside".to_owned()),
            (fourth.clone(), String::new()),
        ];
        assert_eq!(told(project, Some(&first)).await, expected);
        assert_eq!(told(project, None).await.len(), 4);
        assert_eq!(told(project, Some(&fourth)).await, []);
        let empty = world.base.join("empty");
        assert_eq!(told(&empty, None).await, []);
        for since in ["nope", "--all", "0000000000000000000000000000000000000000"] {
            let commits = workspaces.commits(project, Some(since), &caller()).await;
            let fault = commits.unwrap_err();
            assert_eq!(fault.code, FaultCode::Workspace);
            says(&fault.message, &["Git could not list the commits\nfatal: "]);
        }
        // What was amended is told as it is now.
        git(project, &["reset", "--quiet", "--hard", &second]);
        let amended = commit(project, "amended");
        let now = told(project, Some(&fourth)).await;
        assert_eq!(now, [(amended, "amended".to_owned())]);

        let branch = async |folder: &Path| workspaces.branch(folder, &caller()).await;
        assert_eq!(branch(project).await.unwrap().as_deref(), Some("main"));
        git(project, &["tag", "main"]);
        assert_eq!(branch(project).await.unwrap().as_deref(), Some("main"));
        git(project, &["switch", "--quiet", "--detach"]);
        assert_eq!(branch(project).await.unwrap(), None);
        let fault = branch(&world.base).await.unwrap_err();
        says(&fault.message, &["not a git repository"]);
    });
    many_commits();
}

fn many_commits() {
    let world = World::new();
    let count = MAX_COMMITS + 5;
    let mut stream = String::from("reset refs/heads/main\n");
    for at in 0..count {
        stream.push_str(&format!(
            "commit refs/heads/main\ncommitter A <a@example.org> {at} +0000\ndata <<E\nnumber {at}\nE\n"
        ));
    }
    let file = world.base.join("stream");
    write(&file, &stream);
    let imported = Command::new("git")
        .args(["fast-import", "--quiet", "--force"])
        .stdin(fs::File::open(&file).unwrap())
        .current_dir(&world.project)
        .status();
    assert!(imported.unwrap().success());
    with(world.settings("r"), async |workspaces| {
        let commits = workspaces.commits(&world.project, None, &caller()).await;
        let commits = commits.unwrap();
        assert!(commits.more);
        assert_eq!(commits.commits.len(), MAX_COMMITS);
        assert_eq!(commits.commits[0].subject, "number 5");
        let last = &commits.commits[MAX_COMMITS - 1];
        assert_eq!(last.subject, format!("number {}", count - 1));
    });
}

fn what_reaches_git() {
    let world = World::new();
    let told = world.base.join("told");
    let hook = world.project.join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    write(
        &hook,
        &format!("#!/bin/sh\necho hook >> {}\n", told.display()),
    );
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let monitor = hook.with_file_name("monitor");
    fs::copy(&hook, &monitor).unwrap();
    git(
        &world.project,
        &["config", "core.fsmonitor", monitor.to_str().unwrap()],
    );
    let folder = open(world.settings("r"), &named("x")).unwrap().folder;
    state(&world, &folder);
    assert!(!told.exists(), "a hook was run");

    // A Git that says what it was given stands in for the real one.
    let programs = world.base.join("programs");
    fs::create_dir(&programs).unwrap();
    let fake = programs.join("git");
    write(
        &fake,
        &format!(
            "#!/bin/sh\nenv > {}\necho secret-of-mine >&2\nexit 3\n",
            told.display()
        ),
    );
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut settings = world.settings("r");
    let variables = [
        ("PATH", path.as_str()),
        ("LC_ALL", "de_DE.UTF-8"),
        ("GIT_DIR", "/nowhere"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    settings.environment = HostEnvironment::new(variables);
    settings.checkpoint = Some(PathBuf::from("/the/run"));
    settings.masks = Masks::new(["secret-of-mine"]).unwrap();
    let fault = with(settings, async |workspaces| {
        workspaces.state(&folder, &caller()).await.unwrap_err()
    });
    assert!(fault.message.ends_with("\n***"), "{}", fault.message);
    let environment = fs::read_to_string(&told).unwrap();
    let lines: Vec<&str> = environment.lines().collect();
    for line in [
        "LC_ALL=C",
        "OUTPOST_ACTION=run/task/1/attempt",
        "OUTPOST_CHECKPOINT=/the/run",
        "GIT_TERMINAL_PROMPT=0",
    ] {
        assert!(lines.contains(&line), "{line}\n{environment}");
    }
    assert!(!environment.contains("GIT_DIR"), "{environment}");

    // More than can be looked at is told, and not taken for something else.
    let mut settings = world.settings("r");
    write(&fake, "#!/bin/sh\nhead -c 17000000 /dev/zero\n");
    settings.environment = HostEnvironment::new([("PATH".to_owned(), path)]);
    let fault = with(settings, async |workspaces| {
        workspaces.state(&folder, &caller()).await.unwrap_err()
    });
    says(&fault.message, &["too many files differ", "`.gitignore`"]);

    let mut settings = world.settings("r");
    let nowhere = ("PATH".to_owned(), "/nowhere".to_owned());
    settings.environment = HostEnvironment::new([nowhere]);
    says(
        &refusal(settings, &named("x")),
        &["there is no program `git`"],
    );
}

fn stopped() {
    let world = World::new();
    let (stop, stopped) = watch::channel(Stop::Now);
    let caller = Caller {
        marker: "m".to_owned(),
        stop: stopped,
    };
    with(world.settings("r"), async |workspaces| {
        let fault = workspaces.open(&named("x"), &caller).await.unwrap_err();
        assert_eq!(fault.code, FaultCode::Aborted);
        let fault = workspaces.state(&world.project, &caller).await.unwrap_err();
        assert_eq!(fault.code, FaultCode::Aborted);
        stop.send_replace(Stop::No);
        workspaces.open(&named("x"), &caller).await.unwrap();
    });
}
