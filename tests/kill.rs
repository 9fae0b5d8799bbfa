//! The real binary, killed with -9: it goes on to the same end, repeats nothing that was done, and leaves no process.

#![cfg(target_os = "linux")]

#[path = "support/fifo.rs"]
mod fifo;
#[path = "support/project.rs"]
mod project;

use fifo::{GRACE, Seen, watch};
use project::{Ended, Project, ended};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How many times the runner is killed at a random moment.
const KILLS: usize = 100;
/// How often one run is killed before it may end.
const KILLS_OF_A_RUN: usize = 3;

const STEPS: &str = include_str!("golden/steps.outpost");
/// Writes down that it starts and that it ends; in between it has a child of its own.
const STEP: &str = "echo \"start $1\" >>log\nsh -c 'read line </dev/null || true'\necho \"end $1\" >>log\necho \"$1\"\n";

#[test]
fn killed_at_a_hundred_moments_a_run_ends_as_if_it_had_not_been() {
    let undisturbed = Project::new(&[("steps.outpost", STEPS), ("step.sh", STEP)]);
    let start = Instant::now();
    let expected = undisturbed.call(&["run", "steps.outpost"]);
    let length = start.elapsed();
    assert_eq!(expected.code, Some(0), "{expected}");

    let mut random = Random(1);
    let mut kills = 0;
    while kills < KILLS {
        kills += kill_and_resume(&mut random, length, &expected.stdout);
    }
}

/// Kills one run up to [`KILLS_OF_A_RUN`] times and lets it end; gives how often it was killed.
fn kill_and_resume(random: &mut Random, length: Duration, expected: &str) -> usize {
    let project = Project::new(&[("steps.outpost", STEPS), ("step.sh", STEP)]);
    let mut killed = 0;
    loop {
        let finished = finished_steps(&project);
        let before = counts(&project.lines("log"), "start ");
        let mut runner = begin_or_resume(&project);
        if killed < KILLS_OF_A_RUN && !ends_within(&mut runner, random.below(length)) {
            runner.kill().expect("it is ours");
            runner.wait().expect("it is ours");
            killed += 1;
            nothing_repeated(&project, &finished, &before);
            continue;
        }
        let end = output_of(runner);
        assert_eq!(
            (end.code, end.stdout.as_str()),
            (Some(0), expected),
            "{end}"
        );
        nothing_repeated(&project, &finished, &before);
        let all = counts(&project.lines("log"), "start ");
        let most = all.values().max().copied().unwrap_or(0);
        assert!(most <= killed + 1, "{killed} kills, but {all:?}");
        assert_eq!(
            processes_of(&project.run),
            [0; 0],
            "processes outlived their run"
        );
        return killed;
    }
}

/// A new run, or the one that is there if its start was durable.
///
/// A run that was killed before its start was durable has done nothing: it is started again, under its id.
fn begin_or_resume(project: &Project) -> Child {
    let known = project.call(&["status", &project.run]).code == Some(0);
    let arguments: &[&str] = match known {
        true => &["resume", &project.run, "--retry-incomplete"],
        false => &["run", "steps.outpost", "--run-id", &project.run],
    };
    let mut command = project.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the binary is there")
}

/// What the journal holds as done: names as `step.sh` was given them.
fn finished_steps(project: &Project) -> Vec<String> {
    let status = project.call(&["status", &project.run, "--format", "json"]);
    let Ok(status) = serde_json::from_str::<Value>(&status.stdout) else {
        return Vec::new();
    };
    let tasks = status["tasks"].as_array().cloned().unwrap_or_default();
    let done = tasks.iter().filter(|task| task["status"] == "done");
    let mut names: Vec<String> = done
        .filter_map(|task| Some(task["key"].as_str()?.to_owned()))
        .collect();
    for round in tasks
        .iter()
        .filter_map(|task| task["rounds"].as_array())
        .flatten()
    {
        // A candidate is there when the attempt is done, a verdict when the check is.
        let number = &round["round"];
        if !round["candidate"].is_null() {
            names.push(format!("attempt-{number}"));
        }
        if !round["verdict"].is_null() {
            names.push(format!("check-{number}"));
        }
    }
    names
}

fn nothing_repeated(project: &Project, finished: &[String], before: &BTreeMap<String, usize>) {
    let now = counts(&project.lines("log"), "start ");
    for step in finished {
        assert_eq!(
            now.get(step),
            before.get(step),
            "`{step}` was done, and was started again"
        );
    }
}

/// How many lines there are of each kind.
fn counts(lines: &[String], prefix: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in lines.iter().filter_map(|line| line.strip_prefix(prefix)) {
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

/// Whether a process ends before the time is over.
fn ends_within(child: &mut Child, time: Duration) -> bool {
    // This is the one place where time decides: the moment of the kill is what the test draws.
    std::thread::sleep(time);
    child.try_wait().expect("it is ours").is_some()
}

fn output_of(child: Child) -> Ended {
    let output = child.wait_with_output().expect("it is ours");
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// SplitMix64: the same moments in every run of the tests.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: Duration) -> Duration {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        limit.mul_f64((mixed >> 11) as f64 / (1u64 << 53) as f64)
    }
}

#[test]
fn fix_until_green_goes_on_where_it_was_killed() {
    let undisturbed = example();
    let end = undisturbed.call(&["run", "fix.outpost", "--events", "events.ndjson"]);
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(
        undisturbed.lines("work/calls.log"),
        ["prepare", "repair 1", "repair 2"]
    );
    let events = undisturbed.lines("events.ndjson").len();

    for after in (1..events).step_by(3) {
        let project = example();
        kill_after_events(&project, after);
        let status = project.json(&["status", &project.run, "--format", "json"]);
        let before = project.lines("work/calls.log");
        let head = git(&project, &["rev-parse", "--short", "HEAD"]);
        let end = project.call(&["resume", &project.run, "--retry-incomplete"]);
        assert_eq!(end.code, Some(0), "killed after {after} events: {end}");
        let output: Value = serde_json::from_str(&end.stdout).expect("the output is JSON");
        assert_eq!(output["rounds"], 2, "killed after {after} events: {output}");

        let calls = project.lines("work/calls.log");
        let repeated = calls.len() - 3;
        assert!(repeated <= 1, "killed after {after} events: {calls:?}");
        let tasks = status["tasks"].as_array().expect("a status has tasks");
        let rounds = tasks
            .iter()
            .filter_map(|task| task["rounds"].as_array())
            .flatten();
        for round in rounds.filter(|round| !round["candidate"].is_null()) {
            let call = format!("repair {}", round["round"]);
            let count = |lines: &[String]| lines.iter().filter(|line| **line == call).count();
            assert_eq!(
                count(&before),
                count(&calls),
                "`{call}` was done: {calls:?}"
            );
        }
        if tasks
            .iter()
            .any(|task| task["key"] == "prepare" && task["status"] == "done")
        {
            assert_eq!(calls.iter().filter(|call| *call == "prepare").count(), 1);
            let kept = git(
                &project,
                &["merge-base", "--is-ancestor", head.stdout.trim(), "HEAD"],
            );
            assert_eq!(kept.code, Some(0), "the work of before the kill is gone");
        }
        assert_eq!(
            processes_of(&project.run),
            [0; 0],
            "processes outlived their run"
        );
    }
}

/// A copy of the example in a project of its own.
fn example() -> Project {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fix-until-green");
    let names = [
        "fix.outpost",
        "prepare.sh",
        "repair.sh",
        "project/slug.sh",
        "project/tests/run.sh",
    ];
    let texts =
        names.map(|name| fs::read_to_string(folder.join(name)).expect("the example is complete"));
    let files: Vec<(&str, &str)> = names
        .iter()
        .copied()
        .zip(texts.iter().map(String::as_str))
        .collect();
    Project::new(&files)
}

/// Starts the example and kills the runner when it has shown so many events.
fn kill_after_events(project: &Project, count: usize) {
    let mut command = project.command(&[
        "run",
        "fix.outpost",
        "--run-id",
        &project.run,
        "--events",
        "-",
    ]);
    let mut runner = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary is there");
    let stdout = runner.stdout.take().expect("it is piped");
    let seen = BufReader::new(stdout).lines().take(count).count();
    assert_eq!(seen, count, "the run ended before it was killed");
    runner.kill().expect("it is ours");
    runner.wait().expect("it is ours");
}

fn git(project: &Project, arguments: &[&str]) -> Ended {
    let mut command = Command::new("git");
    command.arg("-C").arg(project.path("work")).args(arguments);
    ended(command)
}

/// An action whose grandchild has a session of its own and ignores TERM; all hold the FIFO `alive` open.
const STUBBORN: &str = "exec 9>alive
setsid sh -c 'trap \"\" TERM; trap \"\" HUP; echo ready >&9; while :; do read line <never; done' &
trap '' TERM
wait
while :; do read line <never; done
";

const STUBBORN_WORKFLOW: &str = r#"
workflow stubborn {
  task hang {
    command: ["sh", "stubborn.sh"]
    TIMEOUT
  }
}
"#;

#[test]
fn a_timeout_leaves_no_process_that_ignores_term() {
    let project = stubborn("timeout: 500ms");
    let alive = watch(&project.path("alive"));
    let end = project.call(&["run", "stubborn.outpost", "--run-id", &project.run]);
    assert_eq!(end.code, Some(1), "{end}");
    assert_eq!(
        processes_of(&project.run),
        [0; 0],
        "processes outlived their run"
    );
    assert_eq!(alive.recv_timeout(GRACE), Ok(Seen::Line));
    assert_eq!(alive.recv_timeout(GRACE), Ok(Seen::Gone));
}

#[test]
fn a_killed_runner_leaves_no_process_that_ignores_term() {
    let project = stubborn("timeout: 1h");
    let alive = watch(&project.path("alive"));
    let mut command = project.command(&["run", "stubborn.outpost", "--run-id", &project.run]);
    let mut runner = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary is there");
    assert_eq!(alive.recv_timeout(GRACE), Ok(Seen::Line));
    runner.kill().expect("it is ours");
    runner.wait().expect("it is ours");
    assert_eq!(alive.recv_timeout(GRACE), Ok(Seen::Gone));
}

fn stubborn(timeout: &str) -> Project {
    let workflow = STUBBORN_WORKFLOW.replace("TIMEOUT", timeout);
    let project = Project::new(&[("stubborn.outpost", &workflow), ("stubborn.sh", STUBBORN)]);
    fifo::make(&project.path("never"));
    project
}

#[test]
fn another_process_takes_over_from_a_dead_owner_at_once() {
    let project = Project::new(&[(
        "two.outpost",
        r#"
workflow two {
  task first { command: ["sh", "-c", "echo first >>log"] }
  task second {
    after: [first]
    command: ["sh", "-c", "echo second-$OUTPOST_ATTEMPT >>log; test -e go || { exec 9>alive; echo x >&9; read line <never; }"]
    output: attempt
  }
  output: second
}
"#,
    )]);
    fifo::make(&project.path("never"));
    let alive = watch(&project.path("alive"));
    let mut command = project.command(&["run", "two.outpost", "--run-id", &project.run]);
    let mut runner = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary is there");
    assert_eq!(alive.recv_timeout(GRACE), Ok(Seen::Line));
    runner.kill().expect("it is ours");
    runner.wait().expect("it is ours");
    project.write("go", "");

    let refused = project.call(&["resume", &project.run]);
    assert_eq!(refused.code, Some(5), "{refused}");
    assert_eq!(
        project.lines("log"),
        ["first", "second-1"],
        "nothing may run without permission"
    );

    let end = project.call(&["resume", &project.run, "--retry-incomplete"]);
    assert_eq!((end.code, end.stdout.trim()), (Some(0), "2"), "{end}");
    assert_eq!(project.lines("log"), ["first", "second-1", "second-2"]);
    assert_eq!(alive.recv_timeout(GRACE), Ok(Seen::Gone));
}

/// Process ids whose environment has the marker of an action of this run.
pub fn processes_of(run: &str) -> Vec<u32> {
    let marker = format!("\0OUTPOST_ACTION={run}/");
    let folders = fs::read_dir("/proc").expect("this is Linux");
    let ids = folders.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| has_in_environment(*id, &marker))
        .collect()
}

fn has_in_environment(id: u32, marker: &str) -> bool {
    // A process that is gone, or not ours, has no environment for us; a zombie's is empty.
    let environment = fs::read(Path::new("/proc").join(id.to_string()).join("environ"));
    let text = format!(
        "\0{}",
        String::from_utf8_lossy(&environment.unwrap_or_default())
    );
    text.contains(marker)
}
