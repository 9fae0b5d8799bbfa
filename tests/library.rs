//! Everything in the standard library that acts is run: in a Git repository of its own, with scripted agents,
//! and with programs that only play the tools that it calls.

#[path = "support/project.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod project;

use project::{Ended, Project};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Writes down how it was called, and does what the answer of that number says.
const STUB: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$(basename "$0") $*" >>"$here/calls.log"
. "$here/answers/$(wc -l <"$here/calls.log" | tr -d ' ')"
"#;

/// A project with a repository in `repo/` and programs in `bin/`.
struct World {
    project: Project,
}

impl World {
    /// A repository with one commit, which is tagged `start`.
    fn new() -> World {
        let world = World {
            project: Project::new(&[("repo/kept.txt", "kept\n"), ("repo/old.txt", "old\n")]),
        };
        world.git(&["init", "--quiet", "--initial-branch", "main"]);
        world.git(&["config", "user.name", "Library"]);
        world.git(&["config", "user.email", "library@localhost"]);
        world.git(&["config", "commit.gpgSign", "false"]);
        world.git(&["config", "core.hooksPath", "/dev/null"]);
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "--message", "Begin"]);
        world.git(&["tag", "start"]);
        world
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command
            .args(arguments)
            .current_dir(self.project.path("repo"));
        let output = command.output().expect("Git is there");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A program of that name, which answers its calls in this order. All programs of a world share the count.
    fn stub(&self, name: &str, answers: &[&str]) {
        let path = format!("bin/{name}");
        self.project.write(&path, STUB);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.project.path(&path), executable).expect("the file is ours");
        for (at, answer) in answers.iter().enumerate() {
            let path = format!("bin/answers/{}", at + 1);
            self.project.write(&path, answer);
        }
    }

    fn calls(&self) -> Vec<String> {
        self.project.lines("bin/calls.log")
    }

    /// Runs a workflow with the programs of this world in front of those of the machine.
    fn call(&self, workflow: &str, arguments: &[&str]) -> Ended {
        self.project.write("w.outpost", workflow);
        let checked = self
            .project
            .call(&["check", "w.outpost", "--deny", "warnings"]);
        assert_eq!(checked.code, Some(0), "{workflow}\n{checked}");
        let mut command = self.project.command(&["run", "w.outpost"]);
        let path = std::env::var("PATH").expect("it is set");
        let bin = self.project.path("bin");
        command
            .args(arguments)
            .env("PATH", format!("{}:{path}", bin.display()));
        project::ended(command)
    }

    /// The result of a run, as JSON.
    fn result(&self, workflow: &str) -> Value {
        let end = self.call(workflow, &["--format", "json"]);
        let result = serde_json::from_str(&end.stdout);
        assert!(result.is_ok(), "{end}");
        result.expect("it was just looked at")
    }

    /// The output of a run that ends well.
    fn output(&self, workflow: &str) -> Value {
        let end = self.call(workflow, &[]);
        assert_eq!(end.code, Some(0), "{end}");
        serde_json::from_str(&end.stdout).expect("the output is JSON")
    }

    /// What a check says of two rounds, whose attempts are these shell texts.
    fn rounds(&self, check: &str, first: &str, second: &str) -> [Option<String>; 2] {
        self.judged("", check, [first, second])
    }

    fn judged(&self, declared: &str, check: &str, attempts: [&str; 2]) -> [Option<String>; 2] {
        let name = check.split('(').next().expect("it is a call");
        let module = module_of(name);
        let [first, second] = attempts.map(|text| Value::from(text).to_string());
        let result = self.result(&format!(
            r#"
            use std.{module} {{ {name} }}
            {declared}
            sandbox work {{ provider: local  repository: "repo"  branch: current }}
            workflow w {{
              loop fix {{
                maxRounds: 2
                attempt {{ command: ["sh", "-euc", if round == 1 then {first} else {second}]  in: work }}
                check: {check}
              }}
              output: fix.status
            }}"#
        ));
        let verdicts = verdicts(&result);
        assert_eq!(verdicts.len(), 2, "{result}");
        verdicts.try_into().expect("there are two rounds")
    }

    /// A check that runs a tool: it rejects what the tool says in its first calls, and accepts afterwards.
    fn tool(&self, tool: &str, check: &str, answers: &[&str], calls: &[&str]) -> String {
        self.stub(tool, answers);
        let [first, second] = self.rounds(check, "true", "true");
        assert_eq!(self.calls(), calls, "{check}");
        assert_eq!(second, None, "{check} accepts in round 2");
        first.expect("round 1 is rejected")
    }
}

/// The module that declares a name.
fn module_of(name: &str) -> String {
    let declares = |text: &str| declared(text).any(|known| known == name);
    let mut modules = modules().into_iter();
    let found = modules.find(|(_, text)| declares(text));
    found.expect("the library has the name").0
}

/// The modules of the library: name and text.
fn modules() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("stdlib/std");
    let entries = fs::read_dir(folder).expect("the library is part of the repository");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let sources = paths.filter(|path| path.extension().is_some_and(|is| is == "outpost"));
    let mut modules: Vec<(String, String)> = sources
        .map(|path| {
            let name = path.file_stem().expect("it has a name").to_string_lossy();
            let text = fs::read_to_string(&path).expect("modules are text");
            (name.into_owned(), text)
        })
        .collect();
    modules.sort();
    modules
}

/// The steps, checks, attempts and loops that a module declares.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let (kind, rest) = line.split_once(' ')?;
        let is_body = ["step", "check", "attempt", "loop"].contains(&kind);
        is_body.then(|| rest.split('(').next().unwrap_or_default())
    })
}

/// What each round of the only loop came to: the feedback, or nothing where it was accepted.
fn verdicts(result: &Value) -> Vec<Option<String>> {
    let tasks = result["tasks"].as_array().expect("a result has tasks");
    let fix = tasks.iter().find(|task| task["key"] == "fix");
    let rounds = fix.expect("it is in the file")["rounds"].as_array();
    let verdicts = rounds.into_iter().flatten().map(|round| {
        let verdict = &round["verdict"];
        assert!(verdict.is_object(), "a round has no verdict: {result}");
        verdict["feedback"].as_str().map(str::to_owned)
    });
    verdicts.collect()
}

#[test]
fn everything_that_acts_has_a_test() {
    let tests = include_str!("library.rs");
    for (module, text) in modules() {
        for name in declared(&text) {
            assert!(tests.contains(&format!("{name}(")), "std.{module}: {name}");
        }
    }
}

#[test]
fn the_library_is_in_canonical_form() {
    let world = World::new();
    for (module, text) in modules() {
        let file = format!("{module}.outpost");
        world.project.write(&file, &text);
        let end = world.project.call(&["fmt", "--check", &file]);
        assert_eq!(end.code, Some(0), "{end}");
    }
}

#[test]
fn worktree_clean() {
    let world = World::new();
    let workflow = r#"
        use std.checks { worktree-clean }
        sandbox work { provider: local  repository: "repo"  branch: current }
        workflow w {
          task before { step: worktree-clean(work) }
          task change {
            after: [before]
            command: ["sh", "-c", "echo new >kept.txt; echo x >ä.txt"]
            in: work
          }
          task later { after: [change]  step: worktree-clean(work) }
          output: { before: before, later: later }
        }"#;
    let output = world.output(workflow);
    assert_eq!(output["before"], json!({ "clean": true, "changes": [] }));
    let changes = [" M kept.txt", "?? ä.txt"];
    assert_eq!(
        output["later"],
        json!({ "clean": false, "changes": changes })
    );
}

#[test]
fn committed() {
    let world = World::new();
    let commit = "git add --all; git commit --quiet --message More";
    let [first, second] = world.rounds("committed(work)", "echo x >more.txt", commit);
    let told = "Commit your work. Not committed:\n?? more.txt";
    assert_eq!(first.as_deref(), Some(told));
    assert_eq!(second, None);
}

#[test]
fn passes() {
    let world = World::new();
    let check =
        r#"passes(work, ["sh", "-c", "cat kept.txt; echo why >&2; grep -q good kept.txt"])"#;
    let [first, second] = world.rounds(check, "true", "echo good >kept.txt");
    let told = "`sh -c cat kept.txt; echo why >&2; grep -q good kept.txt` failed with status 1:\nkept\n\nwhy";
    assert_eq!(first.as_deref(), Some(told));
    assert_eq!(second, None);
}

#[test]
fn a_tool_that_is_missing_is_no_feedback() {
    let world = World::new();
    let result = world.result(
        r#"
        use std.checks { passes }
        sandbox work { provider: local  repository: "repo"  branch: current }
        workflow w {
          loop fix { maxRounds: 3  attempt { value: 1 }  check: passes(work, ["no-such-program"]) }
          output: fix
        }"#,
    );
    assert_eq!(result["status"], "failed");
    let message = result["error"]["message"].as_str().expect("it has one");
    assert!(message.contains("no-such-program"), "{message}");
    assert_eq!(result["tasks"][0]["attempts"], 1);
}

#[test]
fn cargo_test() {
    let told = World::new().tool(
        "cargo",
        r#"cargo-test(work, ["--features", "all"])"#,
        &[
            "echo 'test x ... FAILED'; echo 'error: test failed' >&2; exit 101",
            "exit 0",
        ],
        &["cargo test --features all", "cargo test --features all"],
    );
    assert_eq!(
        told,
        "`cargo test` failed:\ntest x ... FAILED\n\nerror: test failed"
    );
}

#[test]
fn cargo_clippy() {
    let call = "cargo clippy --all-targets -p one -- -D warnings";
    let told = World::new().tool(
        "cargo",
        r#"cargo-clippy(work, ["-p", "one"])"#,
        &["echo 'error: needless' >&2; exit 101", "exit 0"],
        &[call, call],
    );
    assert_eq!(told, "`cargo clippy` found:\nerror: needless");
}

#[test]
fn cargo_fmt() {
    let call = "cargo fmt --all --check";
    let told = World::new().tool(
        "cargo",
        "cargo-fmt(work)",
        &["echo 'Diff in main.rs'; exit 1", "exit 0"],
        &[call, call],
    );
    assert_eq!(told, "Run `cargo fmt --all`:\nDiff in main.rs");
}

#[test]
fn npm_script() {
    let call = "npm run --silent lint";
    let told = World::new().tool(
        "npm",
        r#"npm-script(work, "lint")"#,
        &["echo '1 problem'; exit 1", "exit 0"],
        &[call, call],
    );
    assert_eq!(told, "`npm run lint` failed:\n1 problem");
}

#[test]
fn pytest() {
    let told = World::new().tool(
        "pytest",
        r#"pytest(work, ["tests"])"#,
        &["echo '1 failed'; exit 1", "exit 0"],
        &["pytest -q tests", "pytest -q tests"],
    );
    assert_eq!(told, "pytest failed:\n1 failed");
    let told = World::new().tool(
        "pytest",
        "pytest(work)",
        &["echo 'no tests ran'; exit 5", "exit 0"],
        &["pytest -q", "pytest -q"],
    );
    assert_eq!(told, "pytest found no tests.");
}

#[test]
fn go_test() {
    let (vet, test) = ("go vet ./...", "go test ./...");
    let told = World::new().tool(
        "go",
        "go-test(work)",
        &["echo 'unreachable code' >&2; exit 1", "exit 0", "exit 0"],
        &[vet, vet, test],
    );
    assert_eq!(told, "`go vet` found:\nunreachable code");
    let (vet, test) = ("go vet ./a", "go test ./a");
    let told = World::new().tool(
        "go",
        r#"go-test(work, ["./a"])"#,
        &["exit 0", "echo 'FAIL a'; exit 1", "exit 0", "exit 0"],
        &[vet, test, vet, test],
    );
    assert_eq!(told, "`go test` failed:\nFAIL a");
}

#[test]
fn make() {
    let told = World::new().tool(
        "make",
        "make(work)",
        &["echo 'make: *** [test] Error 1' >&2; exit 2", "exit 0"],
        &["make test", "make test"],
    );
    assert_eq!(told, "`make test` failed:\nmake: *** [test] Error 1");
}

#[test]
fn only_paths() {
    let world = World::new();
    let [first, second] = world.rounds(
        r#"only-paths(work, "start", ["src/", "kept.txt"])"#,
        // Committed, staged, changed, new, and one that only begins like an allowed folder.
        "mkdir src srcs; echo x >src/a; echo x >srcs/b; git add srcs; git commit --quiet --message B; \
         git rm --quiet old.txt; echo x >kept.txt; echo x >ä.txt",
        "git reset --quiet --hard start; rm ä.txt; echo x >src/c; git add --all; git commit --quiet --message C",
    );
    let told = "Change only src/, kept.txt. Undo your changes to:\nold.txt\nsrcs/b\nä.txt";
    assert_eq!(first.as_deref(), Some(told));
    assert_eq!(second, None);
}

#[test]
fn diff_size() {
    let world = World::new();
    let [first, second] = world.rounds(
        r#"diff-size(work, "start", 3)"#,
        "printf '1\\n2\\n' >kept.txt; git commit --quiet --all --message Two; echo x >new.txt",
        "git reset --quiet --hard start; printf '1\\n2\\n3\\n' >new.txt",
    );
    let told = "The change has 4 lines; at most 3 are wanted. Make it smaller.";
    assert_eq!(first.as_deref(), Some(told));
    assert_eq!(second, None, "exactly as many as are allowed");
}

/// Two reviews: a rejection and an approval.
const REVIEWER: &str = r#"
    agent reviewer {
      harness: scripted
      turns: [
        { value: { approved: false, feedback: "Say why." } },
        { text: "Good.", value: { approved: true, feedback: "" } },
      ]
    }"#;

#[test]
fn reviewed() {
    let world = World::new();
    let check = r#"reviewed(reviewer, work, "Add a file.", "start")"#;
    let [first, second] = world.judged(REVIEWER, check, ["true", "true"]);
    assert_eq!(first.as_deref(), Some("Say why."));
    assert_eq!(second, None);
}

#[test]
fn passes_and_reviewed() {
    let world = World::new();
    let result = world.result(&format!(
        r#"
        use std.review {{ passes-and-reviewed }}
        {REVIEWER}
        sandbox work {{ provider: local  repository: "repo"  branch: current }}
        workflow w {{
          loop fix {{
            maxRounds: 3
            attempt {{ command: ["sh", "-euc", "echo ${{round}} >kept.txt"]  in: work }}
            check: passes-and-reviewed(reviewer, work, ["sh", "-c", "cat kept.txt; ! grep -q 1 kept.txt"], "Count.")
          }}
          output: fix.status
        }}"#
    ));
    let told = [
        Some("`sh -c cat kept.txt; ! grep -q 1 kept.txt` failed:\n1".to_owned()),
        Some("Say why.".to_owned()),
        None,
    ];
    assert_eq!(verdicts(&result), told);
    let turns = result["tasks"][0]["turns"]
        .as_array()
        .expect("it has turns");
    assert_eq!(turns.len(), 2, "what does not pass is not reviewed");
}

#[test]
fn until_passes() {
    let world = World::new();
    let result = world.result(
        r#"
        use std.loops { until-passes }
        agent coder {
          harness: scripted
          turns: [
            { text: "Tried.", edit: { "kept.txt": "bad" } },
            { text: "Better.", edit: { "kept.txt": "good" } },
            { text: "Committed.", commit: "Be good" },
          ]
        }
        sandbox work { provider: local  repository: "repo"  branch: current }
        workflow w {
          loop fix { maxRounds: 3  body: until-passes(coder, work, "Be good.", ["grep", "good", "kept.txt"]) }
          output: fix
        }"#,
    );
    let told = [
        Some("`grep good kept.txt` failed:\n".to_owned()),
        Some("Commit your work. Not committed:\n M kept.txt".to_owned()),
        None,
    ];
    assert_eq!(verdicts(&result), told);
    let wanted = json!({ "summary": "Committed.", "commits": 1 });
    assert_eq!(result["output"], wanted);
}

#[test]
fn until_approved() {
    let world = World::new();
    let result = world.result(&format!(
        r#"
        use std.loops {{ until-approved }}
        {REVIEWER}
        agent coder {{
          harness: scripted
          turns: [
            {{ text: "Tried.", edit: {{ "kept.txt": "bad" }} }},
            {{ text: "Better.", edit: {{ "kept.txt": "good" }} }},
            {{ text: "Committed.", commit: "Be good" }},
            {{ text: "Explained.", edit: {{ "why.txt": "because" }}, commit: "Say why" }},
          ]
        }}
        sandbox work {{ provider: local  repository: "repo"  branch: current }}
        workflow w {{
          loop fix {{
            maxRounds: 4
            body: until-approved(coder, reviewer, work, "Be good.", ["grep", "good", "kept.txt"])
          }}
          output: fix
        }}"#
    ));
    let told = [
        Some("`grep good kept.txt` failed:\n".to_owned()),
        Some("Commit your work. Not committed:\n M kept.txt".to_owned()),
        Some("Say why.".to_owned()),
        None,
    ];
    assert_eq!(verdicts(&result), told);
    assert_eq!(result["output"]["summary"], "Explained.");
}

#[test]
fn draft_and_review() {
    let world = World::new();
    let result = world.result(&format!(
        r#"
        use std.loops {{ draft-and-review }}
        {REVIEWER}
        agent writer {{ harness: scripted  turns: [{{ text: "Bread." }}, {{ text: "Bread, since we are hungry." }}] }}
        sandbox work {{ provider: local  repository: "repo"  branch: current }}
        workflow w {{
          loop fix {{ maxRounds: 2  body: draft-and-review(writer, reviewer, work, "A slogan.") }}
          output: fix
        }}"#
    ));
    assert_eq!(verdicts(&result), [Some("Say why.".to_owned()), None]);
    assert_eq!(result["output"], "Bread, since we are hungry.");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

/// A step of the library, after a shell text has changed the repository.
fn step(world: &World, name: &str, call: &str, before: &str) -> Value {
    let before = Value::from(before).to_string();
    world.output(&format!(
        r#"
        use std.git {{ {name} }}
        sandbox work {{ provider: local  repository: "repo"  branch: current }}
        workflow w {{
          task before {{ command: ["sh", "-euc", {before}]  in: work }}
          task it {{ after: [before]  step: {call} }}
          output: it
        }}"#
    ))
}

#[test]
fn head_commit() {
    let world = World::new();
    let found = step(&world, "head-commit", "head-commit(work)", "true");
    let oid = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(found, json!({ "oid": oid, "subject": "Begin" }));

    let silent = "git commit --quiet --allow-empty --allow-empty-message --message ''";
    let found = step(&world, "head-commit", "head-commit(work)", silent);
    let oid = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(found, json!({ "oid": oid, "subject": "" }));
}

#[test]
fn current_branch() {
    let world = World::new();
    let call = "current-branch(work)";
    assert_eq!(step(&world, "current-branch", call, "true"), "main");
    let detach = "git checkout --quiet --detach";
    assert_eq!(step(&world, "current-branch", call, detach), "");
}

/// Commits one change, stages one, and leaves one; one file is new and one is ignored.
const CHANGES: &str = "printf '1\\n2\\n' >kept.txt; git commit --quiet --all --message Two; \
    git rm --quiet old.txt; printf '1\\n2\\n3\\n' >kept.txt; echo x >'new ä.txt'; echo x >ignored; \
    echo ignored >.git/info/exclude";

#[test]
fn changed_files() {
    let world = World::new();
    let call = r#"changed-files(work, "start")"#;
    assert_eq!(step(&world, "changed-files", call, "true"), json!([]));
    let found = step(&world, "changed-files", call, CHANGES);
    assert_eq!(found, json!(["kept.txt", "old.txt", "new ä.txt"]));
}

#[test]
fn changed_lines() {
    let world = World::new();
    let call = r#"changed-lines(work, "start")"#;
    let none = json!({ "added": 0, "removed": 0, "total": 0 });
    assert_eq!(step(&world, "changed-lines", call, "true"), none);
    let binary = format!("{CHANGES}; printf '\\0' >binary; git add binary");
    let some = json!({ "added": 4, "removed": 2, "total": 6 });
    assert_eq!(step(&world, "changed-lines", call, &binary), some);
    let status = world.git(&["status", "--porcelain", "new ä.txt"]);
    assert!(status.starts_with("??"), "the index is as it was: {status}");
}

#[test]
fn diff() {
    let world = World::new();
    let call = r#"diff(work, "start")"#;
    let found = step(&world, "diff", call, "echo more >>kept.txt");
    let found = found.as_str().expect("it is text");
    assert!(
        found.starts_with("diff --git a/kept.txt b/kept.txt\n"),
        "{found}"
    );
    assert!(found.ends_with("@@ -1 +1,2 @@\n kept\n+more\n"), "{found}");
    let short = step(&world, "diff", r#"diff(work, "start", 6)"#, "true");
    assert_eq!(short, "+more\n");
    let with_new = step(&world, "diff", call, "printf new >new.txt");
    let with_new = with_new.as_str().expect("it is text");
    assert!(with_new.contains("+++ b/new.txt\n"), "{with_new}");
    assert_eq!(world.git(&["diff", "--cached"]), "", "nothing is staged");
}

#[test]
fn commit_all() {
    let world = World::new();
    let call = r#"commit-all(work, "Say \"it's\"\n\nTwice.")"#;
    let before = world.git(&["rev-parse", "HEAD"]);
    let nothing = step(&world, "commit-all", call, "true");
    assert_eq!(
        nothing,
        json!({ "oid": before }),
        "there is nothing to commit"
    );

    let made = step(
        &world,
        "commit-all",
        call,
        "git rm --quiet old.txt; echo x >new.txt",
    );
    let after = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(made, json!({ "oid": after }));
    assert_ne!(before, after);
    assert_eq!(
        world.git(&["log", "-1", "--format=%B"]),
        "Say \"it's\"\n\nTwice."
    );
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn push() {
    let world = World::new();
    let remote = world.project.path("remote.git");
    let remote = remote.to_str().expect("the path is UTF-8");
    world.git(&["init", "--quiet", "--bare", remote]);
    world.git(&["remote", "add", "origin", remote]);
    let call = r#"push(work, "review/one")"#;
    let pushed = step(&world, "push", call, "true");
    assert_eq!(
        pushed,
        json!({ "remote": "origin", "branch": "review/one" })
    );
    let there = || world.git(&["ls-remote", "origin", "refs/heads/review/one"]);
    let first = there();
    assert!(
        first.starts_with(&world.git(&["rev-parse", "HEAD"])),
        "{first}"
    );

    // Another history is not forced upon the remote.
    world.git(&["commit", "--quiet", "--amend", "--message", "Begin anew"]);
    let result = world.result(&format!(
        r#"
        use std.git {{ push }}
        sandbox work {{ provider: local  repository: "repo"  branch: current }}
        workflow w {{
          task it {{ step: {call} }}
          output: it
        }}"#
    ));
    assert_eq!(result["code"], "process", "{result}");
    assert_eq!(there(), first);
}

#[test]
fn usage_lines_are_counted() {
    let world = World::new();
    let result = world.result(
        r#"
        use std.harness { UsageLine, usage-line }
        fn once() -> UsageLine = { receipt: "call-1", input: 20, output: 3 }
        workflow w {
          task it { shell: "printf '%s\\n' ${usage-line(once())} ${usage-line(once())} >>\"$OUTPOST_USAGE\"" }
          output: it.status
        }"#,
    );
    assert_eq!(result["usage"]["input"], 20, "{result}");
    assert_eq!(result["usage"]["output"], 3, "{result}");
}
