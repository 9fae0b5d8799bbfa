//! Each example is run as its first lines say.

#[path = "support/project.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod project;

use project::{Ended, Project};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// In the folder of an example: what a run of it makes. Git ignores it.
const WORK: &str = "work";

/// The copy that `fix-until-green` works on.
const COPY: &str = "fix-until-green/work";

/// All examples; each has a test below.
const EXAMPLES: [&str; 8] = [
    "build-and-test.outpost",
    "fallback-agents/fallback.outpost",
    "fix-until-green/fix.outpost",
    "own-agent/slogan.outpost",
    "quota-night/night.outpost",
    "reviewed-fix/fix.outpost",
    "typed-report/report.outpost",
    "verified.outpost",
];

/// Those of them that work on files, whose folders may change in `work/` only.
const WITH_WORK: [&str; 5] = [
    "fallback-agents",
    "fix-until-green",
    "own-agent",
    "quota-night",
    "reviewed-fix",
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
            true if path.ends_with(WORK) => {}
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// A file that an example made, in the folder that it works in.
fn made(example: &str, file: &str) -> String {
    [example, "work", file].join("/")
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
        let end = project.call(&["fmt", "--check", name]);
        assert_eq!(end.code, Some(0), "{name}: {end}");
    }
}

#[test]
fn git_ignores_what_examples_make() {
    for example in WITH_WORK {
        let ignored = fs::read_to_string(folder().join(example).join(".gitignore"));
        let ignored = ignored.expect("the example has the file");
        assert_eq!(ignored, "work/\n", "{example}");
    }
}

/// Runs an example, and sees that it changes nothing but its `work/`.
fn run(project: &Project, file: &str) -> Ended {
    let present = || {
        let mut present = files(&project.path(""));
        present.retain(|path| !path.starts_with(project.path(".outpost")));
        present
    };
    let before = present();
    let end = project.call(&["run", file]);
    assert_eq!(present(), before, "{file}: only `work/` may change");
    end
}

/// The agents that took a turn in a task, in order.
fn turns(result: &Value, task: &str) -> Vec<String> {
    let tasks = result["tasks"].as_array().expect("a result has tasks");
    let found = tasks.iter().find(|known| known["key"] == task);
    let turns = found.expect("it is in the file")["turns"].as_array();
    let agents = turns
        .into_iter()
        .flatten()
        .map(|turn| turn["agent"].as_str());
    agents
        .map(|agent| agent.expect("a turn has an agent").to_owned())
        .collect()
}

/// Puts another text into an example.
fn replace(project: &Project, file: &str, text: &str, other: &str) {
    let whole = fs::read_to_string(project.path(file)).expect("it was just copied");
    assert!(whole.contains(text), "{file} has no `{text}`");
    project.write(file, &whole.replace(text, other));
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

const FALLBACK: &str = "fallback-agents/fallback.outpost";

#[test]
fn fallback_agents_go_on_in_the_same_workspace() {
    let project = examples();
    for _ in 0..2 {
        let end = run(&project, FALLBACK);
        assert_eq!(end.code, Some(0), "{end}");
        assert_eq!(
            end.stdout,
            "{\"says\":\"Hello, Ada!\",\"commits\":[\"Greet by name\"],\"by\":\"codex\",\
             \"stopped\":[\"opus: quota\",\"sonnet: unavailable\"]}\n"
        );
    }
    // What the first agent wrote is still there when the last one leaves that file alone.
    let finished = r#"edit: { "greet.sh": '''
        #!/bin/sh
        # Greets whoever is named, or the world.
        echo "Hello, ${1:-World}!""#;
    replace(&project, FALLBACK, finished, "edit: { \"other.txt\": '''");
    let end = run(&project, FALLBACK);
    assert_eq!(end.code, Some(0), "{end}");
    let output: Value = serde_json::from_str(&end.stdout).expect("the output is JSON");
    assert_eq!(output["says"], "Hello!");
}

#[test]
fn fallback_agents_hand_nothing_else_over() {
    let project = examples();
    replace(&project, FALLBACK, "fail: quota", "fail: process");
    let end = project.call(&["run", FALLBACK, "--format", "json"]);
    assert_eq!(end.code, Some(1), "{end}");
    let result: Value = serde_json::from_str(&end.stdout).expect("the result is JSON");
    assert_eq!(turns(&result, "change"), ["opus"]);
    assert_eq!(result["code"], "process");
}

#[test]
fn fallback_agents_that_are_all_used_up_tell_the_nearest_reset() {
    let project = examples();
    let outage = "fail: unavailable, message: \"overloaded\"";
    replace(&project, FALLBACK, outage, "fail: quota, resetIn: 2h");
    let answer = "text: \"greet.sh takes a name now.\",";
    replace(&project, FALLBACK, answer, "fail: quota, resetIn: 9h,");
    let end = project.call(&["run", FALLBACK, "--format", "json"]);
    assert_eq!(end.code, Some(1), "{end}");
    let result: Value = serde_json::from_str(&end.stdout).expect("the result is JSON");
    assert_eq!(turns(&result, "change"), ["opus", "sonnet", "codex"]);
    assert_eq!(result["code"], "quota");
    let reset = &result["error"]["resetAt"];
    let of_sonnet = &result["tasks"][1]["turns"][1]["error"]["resetAt"];
    assert!(reset.is_number(), "{end}");
    assert_eq!(reset, of_sonnet, "the second one is back first");
}

const REVIEWED: &str = "reviewed-fix/fix.outpost";

#[test]
fn reviewed_fix() {
    let project = examples();
    let end = run(&project, REVIEWED);
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(
        end.stdout,
        "{\"summary\":\"Blanks in front of a name are left out, and the tests are back.\",\"round\":3}\n"
    );
    assert_eq!(
        project.lines(&made("reviewed-fix", "tests/run.sh")),
        project.lines("reviewed-fix/project/tests/run.sh")
    );
}

#[test]
fn reviewed_fix_asks_the_reviewer_only_about_what_works() {
    let project = examples();
    let result = project.json(&["run", REVIEWED, "--format", "json"]);
    let agents = ["coder", "coder", "reviewer", "coder", "reviewer"];
    assert_eq!(turns(&result, "fix"), agents);
    let rounds = &result["tasks"][1]["rounds"];
    assert_eq!(
        rounds[0]["verdict"]["feedback"],
        "ok - Ada Lovelace\nok - grace hopper\nnot ok -   Alan Turing: got '  AT', expected 'AT'\n\n"
    );
    assert_eq!(
        rounds[1]["verdict"]["feedback"],
        "The last commit empties the tests. Put them back, and mend initials.sh."
    );
    assert_eq!(rounds[2]["verdict"]["done"], true);
}

const REPORT: &str = "typed-report/report.outpost";

#[test]
fn typed_report_is_repaired_once() {
    let project = examples();
    let end = run(&project, REPORT);
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(
        end.stdout,
        "{\"summary\":\"Two things to mend.\",\"high\":1,\"all\":2}\n"
    );
    let result = project.json(&["run", REPORT, "--format", "json"]);
    assert_eq!(turns(&result, "audit"), ["auditor", "auditor"]);
    let turns = &result["tasks"][0]["turns"];
    assert_eq!(turns[0]["conversation"], turns[1]["conversation"]);
}

#[test]
fn typed_report_gives_up_after_two_bad_answers() {
    let project = examples();
    replace(&project, REPORT, "level: \"high\"", "level: \"highest\"");
    let end = project.call(&["run", REPORT, "--format", "json"]);
    assert_eq!(end.code, Some(1), "{end}");
    let result: Value = serde_json::from_str(&end.stdout).expect("the result is JSON");
    assert_eq!(result["code"], "response");
    assert_eq!(turns(&result, "audit"), ["auditor", "auditor"]);
    let message = result["error"]["message"].as_str().expect("it has one");
    assert!(message.contains("`.findings[0].level`"), "{message}");
    assert_eq!(result["tasks"][1]["status"], "skipped");
}

const NIGHT: &str = "quota-night/night.outpost";

#[test]
fn quota_night_pauses_and_is_resumed() {
    let project = examples();
    let end = run(&project, NIGHT);
    assert_eq!(end.code, Some(3), "{end}");
    assert_eq!(end.stdout, "");
    assert!(
        !project.path("quota-night/work").exists(),
        "nothing is published"
    );

    let end = project.call(&["resume", "--last"]);
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(
        end.stdout,
        "{\"published\":\"work/night.md\",\"paused\":true}\n"
    );
    assert_eq!(
        project.lines(&made("quota-night", "night.md")),
        [
            "# Last night",
            "",
            "- The greeting takes a name.",
            "- docs/install.md names a version that is gone.",
        ]
    );
    assert_eq!(
        project.lines(&made("quota-night", "calls.log")),
        ["publish"]
    );
}

#[test]
fn quota_night_resumed_too_early_asks_nobody() {
    let project = examples();
    replace(&project, NIGHT, "resetIn: 1200ms", "resetIn: 9h");
    let end = project.call(&["run", NIGHT, "--run-id", "night"]);
    assert_eq!(end.code, Some(3), "{end}");
    let before = project.json(&["status", "night", "--format", "json"]);
    assert_eq!(turns(&before, "news"), ["writer", "writer"]);
    assert_eq!(turns(&before, "stale"), ["auditor"]);

    let end = project.call(&["resume", "night"]);
    assert_eq!(end.code, Some(3), "{end}");
    let after = project.json(&["status", "night", "--format", "json"]);
    assert_eq!(after["tasks"], before["tasks"], "nobody was asked");
}

#[test]
fn own_agent() {
    let project = examples();
    let end = run(&project, "own-agent/slogan.outpost");
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(
        end.stdout,
        "{\"draft\":\"OUR BREAD IS BAKED EVERY MORNING, AND SOLD OUT BY NOON.\",\
         \"slogan\":\"FRESH DAILY.\",\"conversation\":\"poet/c1\",\"tokens\":13}\n"
    );
    assert_eq!(
        project.lines(&made("own-agent", "calls.log")),
        [
            "chat=none model=loud: Write a slogan for bread.",
            "chat=none model=loud: Write a slogan for bread.",
            "chat=c1 model=loud: Shorter, please.",
        ],
        "the first call meets the limit"
    );
}
