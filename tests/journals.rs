//! Journals as older versions wrote them: every version reads the formats of all before it (SEMANTICS J8).
//!
//! A folder `tests/journals/<format>/` holds the file of a run `kept`, its journal and its side file, as they were
//! when its last task had failed because a file `go` was missing. A new format adds a folder; none is ever changed.

#![cfg(unix)]

#[path = "support/project.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod project;

use project::Project;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The kept journals, each in a project of its own.
fn kept() -> Vec<(PathBuf, Project)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals");
    let mut formats: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    formats.sort();
    let project_of = |format: &PathBuf| {
        let source = fs::read_to_string(format.join("flow.outpost")).expect("it is text");
        let project = Project::new(&[("flow.outpost", &source)]);
        let run = project.path(".outpost/runs/kept");
        fs::create_dir_all(&run).expect("a temporary folder can be written");
        for name in ["journal.db", "seal"] {
            fs::copy(format.join(name), run.join(name)).expect("it is there");
        }
        project
    };
    formats
        .iter()
        .map(|format| (format.clone(), project_of(format)))
        .collect()
}

#[test]
fn a_kept_journal_is_whole() {
    for (format, project) in kept() {
        let end = project.call(&["runs", "verify", "kept"]);
        assert_eq!(end.code, Some(0), "{}: {end}", format.display());
    }
}

#[test]
fn a_kept_run_is_shown_as_it_was() {
    for (format, project) in kept() {
        let end = project.call(&["status", "kept", "--format", "json"]);
        let status: Value = serde_json::from_str(&end.stdout).expect("it is JSON");
        assert_eq!(status["status"], "failed", "{}: {end}", format.display());
        assert_eq!(status["code"], "process");
        let draft = &status["tasks"][1];
        assert_eq!(draft["key"], "draft");
        assert_eq!(
            draft["value"],
            json!({ "round": 2, "said": "Round 1 is too early." })
        );
        assert_eq!(status["tasks"][2]["attempts"], 2);
    }
}

#[test]
fn a_kept_run_is_continued() {
    for (format, project) in kept() {
        project.write("go", "");
        let end = project.call(&["resume", "kept", "--retry-incomplete"]);
        assert_eq!(end.code, Some(0), "{}: {end}", format.display());
        let output: Value = serde_json::from_str(&end.stdout).expect("it is JSON");
        assert_eq!(
            output,
            json!({
                "greet": "hello Ada",
                "draft": { "round": 2, "said": "Round 1 is too early." },
                "shipped": 0,
            })
        );
    }
}

#[test]
fn a_kept_run_knows_what_it_was_started_from() {
    for (format, project) in kept() {
        let source = fs::read_to_string(project.path("flow.outpost")).expect("it is text");
        project.write(
            "flow.outpost",
            &source.replace("maxRounds: 3", "maxRounds: 4"),
        );
        let end = project.call(&["resume", "kept", "--retry-incomplete"]);
        assert_eq!(end.code, Some(5), "{}: {end}", format.display());
        for words in ["maxRounds", "was 3", "is 4"] {
            assert!(end.stderr.contains(words), "{words}: {end}");
        }
    }
}

/// What agents did is in the formats from 2 on.
#[test]
fn a_kept_run_of_agents_is_shown_as_it_was() {
    let mut with_agents = kept();
    with_agents.retain(|(format, _)| !format.ends_with("1"));
    assert!(!with_agents.is_empty());
    for (format, project) in with_agents {
        let end = project.call(&["status", "kept", "--format", "json"]);
        let status: Value = serde_json::from_str(&end.stdout).expect("it is JSON");
        let review = &status["tasks"][3];
        assert_eq!(review["key"], "review", "{}: {end}", format.display());
        // The list began anew after its pause.
        assert_eq!(review["attempts"], 2);
        assert_eq!(review["value"]["value"], json!({ "approved": true }));
        assert_eq!(review["value"]["conversation"], "second/second-2");
        assert_eq!(review["value"]["fallback"]["selected"]["name"], "second");
        let turns = review["turns"].as_array().expect("its agents took turns");
        let agents: Vec<&Value> = turns.iter().map(|turn| &turn["agent"]).collect();
        assert_eq!(agents, ["first", "second", "first", "second", "second"]);
        assert_eq!(turns[0]["error"]["code"], "quota");
        assert_eq!(review["fallback"].as_array().map(Vec::len), Some(2));
        assert_eq!(review["usage"]["input"], 10);
        assert_eq!(review["usage"]["output"], 13);
    }
}

/// The rows themselves: a pause, hand-overs and an answer that was mended.
#[test]
fn the_events_of_a_kept_run_of_agents_are_told() {
    let mut with_agents = kept();
    with_agents.retain(|(format, _)| !format.ends_with("1"));
    for (format, project) in with_agents {
        let end = project.call(&["events", "kept", "--format", "ndjson"]);
        let events: Vec<Value> = end
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("it is JSON"))
            .collect();
        let count = |kind: &str| events.iter().filter(|event| event["kind"] == kind).count();
        assert_eq!(count("quota"), 1, "{}: {end}", format.display());
        assert_eq!(count("fallback"), 2);
        let repaired = |event: &&Value| event["kind"] == "agent" && event["repair"] == 1;
        assert_eq!(events.iter().filter(repaired).count(), 1);
    }
}
