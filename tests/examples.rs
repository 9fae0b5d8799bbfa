//! Each example is run as its first lines say.

#[path = "support/project.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod project;

use project::Project;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The copy that the example works on; Git ignores it.
const COPY: &str = "fix-until-green/work";

/// All examples; each has a test below.
const EXAMPLES: [&str; 3] = [
    "build-and-test.outpost",
    "fix-until-green/fix.outpost",
    "verified.outpost",
];

/// A project with a copy of all examples.
fn examples() -> Project {
    let project = Project::new(&[]);
    let folder = folder();
    for file in files(&folder) {
        let name = file
            .strip_prefix(&folder)
            .expect("it lies below")
            .to_str()
            .expect("names are UTF-8");
        let text = fs::read_to_string(&file).expect("examples are text");
        project.write(name, &text);
    }
    project
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// All files of the examples, without what a run of them made.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is part of the repository") {
        let path = entry.expect("it can be read").path();
        match path.is_dir() {
            true if path.ends_with(COPY) => {}
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

#[test]
fn every_example_has_a_test() {
    let folder = folder();
    let all = files(&folder);
    let workflows = all.iter().filter(|file| {
        file.extension()
            .is_some_and(|extension| extension == "outpost")
    });
    let names: Vec<&Path> = workflows
        .map(|file| file.strip_prefix(&folder).expect("it lies below"))
        .collect();
    assert_eq!(names, EXAMPLES.map(Path::new));
}

#[test]
fn every_example_is_without_a_mistake() {
    let project = examples();
    for name in EXAMPLES {
        let end = project.call(&["check", name, "--deny", "warnings"]);
        assert_eq!(end.code, Some(0), "{name}: {end}");
        assert_eq!(end.stdout, "", "{name}");
    }
}

#[test]
fn verified() {
    let end = examples().call(&["run", "verified.outpost"]);
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(
        end.stdout,
        "{\"round\":2,\"feedback\":\"Cover the missing edge case.\"}\n"
    );
}

#[test]
fn verified_leaves_no_trace_when_it_is_ephemeral() {
    let project = examples();
    let end = project.call(&["run", "verified.outpost", "--ephemeral"]);
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(
        end.stdout,
        "{\"round\":2,\"feedback\":\"Cover the missing edge case.\"}\n"
    );
    assert!(!project.path(".outpost/runs").exists());
}

#[test]
fn build_and_test() {
    let project = examples();
    let end = project.call(&["run", "build-and-test.outpost"]);
    assert_eq!(end.code, Some(0), "{end}");
    let output: Value = serde_json::from_str(&end.stdout).expect("the output is JSON");
    assert_eq!(
        output,
        json!({ "greeting": "Hello, World!", "lines": 2, "published": "no" })
    );

    let end = project.call(&[
        "run",
        "build-and-test.outpost",
        "--input",
        "name=Ada",
        "--input",
        "publish=true",
    ]);
    assert_eq!(end.code, Some(0), "{end}");
    let output: Value = serde_json::from_str(&end.stdout).expect("the output is JSON");
    assert_eq!(output["greeting"], "Hello, Ada!");
    let published = output["published"].as_str().expect("it is text");
    assert!(published.starts_with("published "), "{published}");
}

#[test]
fn fix_until_green_may_be_run_again_and_again() {
    let project = examples();
    for _ in 0..2 {
        let before = files(&project.path("fix-until-green"));
        let end = project.call(&["run", "fix-until-green/fix.outpost"]);
        assert_eq!(end.code, Some(0), "{end}");
        let output: Value = serde_json::from_str(&end.stdout).expect("the output is JSON");
        assert_eq!(output["rounds"], 2);
        assert_eq!(
            project.lines(&format!("{COPY}/calls.log")),
            ["prepare", "repair 1", "repair 2"]
        );
        assert_eq!(
            files(&project.path("fix-until-green")),
            before,
            "only `work/` may change"
        );
    }
}

#[test]
fn fix_until_green_tells_round_2_which_test_failed() {
    let project = examples();
    let run = ["run", "fix-until-green/fix.outpost", "--format", "json"];
    let result = project.json(&run);
    let tasks = result["tasks"].as_array().expect("a result has tasks");
    let repair = tasks
        .iter()
        .find(|task| task["key"] == "repair")
        .expect("it is in the file");
    let feedback = repair["rounds"][0]["verdict"]["feedback"]
        .as_str()
        .expect("round 1 is rejected");
    assert!(
        feedback.contains("not ok 4 - no dash at either end"),
        "{feedback}"
    );
    assert!(!feedback.contains("not ok 3"), "{feedback}");
    assert_eq!(repair["rounds"][1]["verdict"]["done"], true);
}
