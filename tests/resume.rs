//! Runs that are continued by the real binary: owners, edits, corruption, other surroundings.

#![cfg(unix)]

#[path = "support/fifo.rs"]
mod fifo;
#[path = "support/project.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod project;

use fifo::{GRACE, Seen, watch};
use project::{Project, ended};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Ends badly while the file `go` is missing, and well once it is there.
const STOPS: &str = r#"
workflow stops {
  task first { command: ["sh", "-c", "echo first >>log"] }
  task second { after: [first]  command: ["sh", "-c", "echo second >>log; test -e go"] }
  task third { after: [second]  command: ["sh", "-c", "echo third >>log"] }
  output: "done"
}
"#;

/// A project with a run `stops` that has failed in its second task.
fn stopped() -> Project {
    let project = Project::new(&[("stops.outpost", STOPS)]);
    let end = project.call(&["run", "stops.outpost", "--run-id", &project.run]);
    assert_eq!(end.code, Some(1), "{end}");
    assert_eq!(project.lines("log"), ["first", "second"]);
    project
}

#[test]
fn what_is_done_is_not_done_again() {
    let project = stopped();
    project.write("go", "");
    let end = project.call(&["resume", &project.run]);
    assert_eq!(end.code, Some(5), "{end}");
    assert_eq!(
        project.lines("log"),
        ["first", "second"],
        "nothing may run without permission"
    );

    let end = project.call(&["resume", "--last", "--retry-incomplete"]);
    assert_eq!(
        (end.code, end.stdout.as_str()),
        (Some(0), "\"done\"\n"),
        "{end}"
    );
    assert_eq!(project.lines("log"), ["first", "second", "second", "third"]);

    let end = project.call(&["resume", &project.run, "--retry-incomplete"]);
    assert_eq!(
        (end.code, end.stdout.as_str()),
        (Some(0), "\"done\"\n"),
        "{end}"
    );
    assert_eq!(
        project.lines("log").len(),
        4,
        "a run that is done calls nothing"
    );
}

#[test]
fn an_exhausted_loop_stays_exhausted() {
    let project = Project::new(&[(
        "hopeless.outpost",
        r#"
workflow hopeless {
  loop fix {
    maxRounds: 2
    attempt { command: ["sh", "-c", "echo attempt >>log"] }
    check {
      run look { command: ["sh", "-c", "echo check >>log; exit 1"] }
      reject "no, in round ${round}" when look.status != 0
    }
  }
}
"#,
    )]);
    let end = project.call(&["run", "hopeless.outpost", "--run-id", &project.run]);
    assert_eq!(end.code, Some(7), "{end}");
    for mode in [
        &["resume", &project.run][..],
        &["resume", &project.run, "--retry-incomplete"],
    ] {
        let end = project.call(mode);
        assert_eq!(end.code, Some(7), "{mode:?}: {end}");
        assert!(end.stderr.contains("no, in round 2"), "{mode:?}: {end}");
    }
    assert_eq!(
        project.lines("log"),
        ["attempt", "check", "attempt", "check"]
    );
}

#[test]
fn a_run_belongs_to_one_process() {
    let project = Project::new(&[(
        "waits.outpost",
        r#"
workflow waits {
  task first { command: ["sh", "-c", "echo first >>log; echo x >started; read line <go"]  output: "good" }
  output: first
}
"#,
    )]);
    fifo::make(&project.path("go"));
    let started = watch(&project.path("started"));
    let mut command = project.command(&["run", "waits.outpost", "--run-id", &project.run]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let runner = command.spawn().expect("the binary is there");
    assert_eq!(started.recv_timeout(GRACE), Ok(Seen::Line));

    let second = project.call(&["resume", &project.run, "--retry-incomplete"]);
    assert_eq!(second.code, Some(5), "{second}");
    assert!(second.stderr.contains("in use"), "{second}");
    assert!(
        second.stderr.contains(&runner.id().to_string()),
        "the owner is named: {second}"
    );
    let same_name = project.call(&["run", "waits.outpost", "--run-id", &project.run]);
    assert_ne!(
        same_name.code,
        Some(0),
        "an existing name is refused: {same_name}"
    );

    project.write("go", "go\n");
    let first = runner.wait_with_output().expect("it is ours");
    assert_eq!(first.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&first.stdout), "\"good\"\n");
    assert_eq!(project.lines("log"), ["first"]);
}

#[test]
fn a_new_run_tells_of_an_unfinished_one() {
    let project = stopped();
    project.write("go", "");
    let end = project.call(&["run", "stops.outpost"]);
    assert_eq!(end.code, Some(0), "{end}");
    let told: Vec<&str> = end
        .stderr
        .lines()
        .filter(|line| line.contains(&project.run) && line.contains("unfinished"))
        .collect();
    assert_eq!(told.len(), 1, "{end}");
    assert_eq!(
        project.lines("log").len(),
        5,
        "the new run starts from the beginning"
    );
}

#[test]
fn other_surroundings_do_not_change_a_plan() {
    let project = Project::new(&[(
        "letters.outpost",
        r#"
workflow letters {
  task a { command: ["sh", "-c", "echo a >>log"] }
  task A { after: [a]  command: ["sh", "-c", "echo A >>log; test -e go"] }
}
"#,
    )]);
    let mut command = project.command(&["run", "letters.outpost", "--run-id", &project.run]);
    command.env("TZ", "Europe/Paris").env("LC_ALL", "C");
    let end = ended(command);
    assert_eq!(end.code, Some(1), "{end}");

    project.write("go", "");
    let mut command = project.command(&["resume", &project.run, "--retry-incomplete"]);
    command.env("TZ", "Asia/Tokyo").env("LC_ALL", "tr_TR.UTF-8");
    let end = ended(command);
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(project.lines("log"), ["a", "A", "A"]);
}

#[test]
#[cfg(target_os = "linux")]
fn events_that_cannot_be_written_change_nothing() {
    let project = Project::new(&[("stops.outpost", STOPS), ("go", "")]);
    let end = project.call(&["run", "stops.outpost", "--events", "/dev/full"]);
    assert_eq!(
        (end.code, end.stdout.as_str()),
        (Some(0), "\"done\"\n"),
        "{end}"
    );
    let warnings = end.stderr.lines().filter(|line| line.contains("warning"));
    assert_eq!(warnings.count(), 1, "{end}");
}

#[test]
fn each_edit_has_its_verdict() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/run/25-edits");
    let main = fs::read_to_string(cases.join("main.outpost")).expect("the case is there");
    let project = Project::new(&[("main.outpost", &main)]);
    let end = project.call(&["run", "main.outpost", "--run-id", &project.run]);
    assert_eq!(end.code, Some(1), "{end}");

    let mut wrong = Vec::new();
    for edit in edits(&cases.join("edits")) {
        if let Err(why) = verdict_of(&project, &edit) {
            wrong.push(format!("{}: {why}", edit.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn edits(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the case is there");
    let mut edits: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    edits.sort();
    assert!(edits.len() > 15, "the edits are gone");
    edits
}

/// Compares the verdict on an edited file with the one in its first line, and the changed task with the second.
fn verdict_of(project: &Project, edit: &Path) -> Result<(), String> {
    let text = fs::read_to_string(edit).map_err(|error| error.to_string())?;
    project.write("main.outpost", &text);
    let mut lines = text.lines();
    let wanted = lines
        .next()
        .and_then(|line| line.strip_prefix("# verdict: "))
        .ok_or("it has no verdict")?;
    let changed = lines
        .next()
        .and_then(|line| line.strip_prefix("# change: "));

    let end = project.call(&[
        "resume",
        &project.run,
        "--plan",
        "--retry-incomplete",
        "--format",
        "json",
    ]);
    let plan: Value =
        serde_json::from_str(&end.stdout).map_err(|error| format!("{error}: {end}"))?;
    if plan["verdict"] != wanted {
        return Err(format!(
            "the verdict is {}, not {wanted}: {plan}",
            plan["verdict"]
        ));
    }
    let changes = plan["changes"].as_array().ok_or("a plan has changes")?;
    if let Some(task) = changed
        && !changes.iter().any(|change| change["task"] == task)
    {
        return Err(format!("no change of `{task}`: {plan}"));
    }
    // Whatever is told of an edit shows where it is in the file as it is now.
    let lines = text.lines().count() as u64;
    let inside = |change: &Value| {
        change["line"]
            .as_u64()
            .is_some_and(|line| (1..=lines).contains(&line))
    };
    match changes.iter().find(|change| !inside(change)) {
        Some(change) => Err(format!("a change without a place: {change}")),
        None => refused_for_real(project, wanted),
    }
}

/// Without `--plan` an edit that is not compatible is refused, and nothing runs.
fn refused_for_real(project: &Project, verdict: &str) -> Result<(), String> {
    if verdict == "compatible" {
        return Ok(());
    }
    let end = project.call(&["resume", &project.run, "--retry-incomplete"]);
    match end.code {
        Some(5) => Ok(()),
        Some(_) | None => Err(format!("it is not refused: {end}")),
    }
}

#[test]
fn a_moved_file_is_found_when_it_is_named() {
    let project = stopped();
    project.write("go", "");
    fs::rename(project.path("stops.outpost"), project.path("moved.outpost"))
        .expect("both are ours");
    let missing = project.call(&["resume", &project.run, "--retry-incomplete"]);
    assert_eq!(missing.code, Some(5), "{missing}");
    assert!(missing.stderr.contains("stops.outpost"), "{missing}");
    let end = project.call(&[
        "resume",
        &project.run,
        "--retry-incomplete",
        "--file",
        "moved.outpost",
    ]);
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(project.lines("log"), ["first", "second", "second", "third"]);
}

#[test]
fn an_edited_run_is_marked_where_runs_are_listed() {
    let project = stopped();
    project.write(
        "stops.outpost",
        &STOPS.replace("workflow stops {", "workflow stops {\n  version: \"2\""),
    );
    for arguments in [&["runs"][..], &["status", &project.run]] {
        let end = project.call(arguments);
        assert_eq!(end.code, Some(0), "{arguments:?}: {end}");
        let said = format!("{}{}", end.stdout, end.stderr);
        assert!(
            said.contains("version"),
            "{arguments:?} does not say what was edited: {end}"
        );
    }
}
