//! Whole runs with real agents: a project is repaired, limits hand over and pause, and nothing outlives a stop.

use crate::answer::{Answer, OUTPUT};
use crate::fifo::{GRACE, Seen, watch};
use crate::install;
use crate::repair::{Ended, Repair, ended, two_rounds};
use crate::stub::Stub;
use jiff::{SignedDuration, Timestamp};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use std::process::{Child, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The changes that leave one agent alone.
fn alone(agent: &'static str) -> [(&'static str, &'static str); 1] {
    match agent {
        "claude" => [("agent: coder", "agent: claude")],
        _ => [("agent: coder", "agent: codex")],
    }
}

/// The model of an agent.
fn model<'a>(repair: &'a Repair, agent: &str) -> &'a Stub {
    match agent {
        "claude" => &repair.claude,
        _ => &repair.codex,
    }
}

/// Checks that a run has ended with the project repaired in two rounds.
fn repaired(repair: &Repair, end: &Ended) {
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(end.json()["text"], "It greets the world.", "{end}");
    assert_eq!(repair.commits(), ["Greet the world", "Greet"]);
    // The agents work on a branch of their own.
    assert!(!repair.machine.path("work/greeting.txt").exists());
    assert_eq!(repair.processes(), [""; 0]);
}

#[test]
fn an_agent_repairs_a_project_in_two_rounds() {
    let Some(programs) = install::programs() else {
        return;
    };
    for agent in ["claude", "codex"] {
        let repair = Repair::new(programs, &alone(agent));
        let stub = model(&repair, agent);
        stub.go_on_with(two_rounds());
        let end = ended(repair.start());
        repaired(&repair, &end);
        assert_eq!(end.json()["commits"], 1, "{end}");
        assert_eq!(stub.strays(), [""; 0]);
        let requests = stub.requests();
        assert_eq!(requests.len(), 7);
        let feedback = "greeting.txt does not greet the world";
        assert!(requests[..3].iter().all(|request| !request.says(feedback)));
        assert!(requests[3].says(feedback), "{:?}", requests[3].texts());
        assert!(requests[3].says("Make the tests pass, and commit."));
        // Each round is a conversation of its own.
        assert!(!requests[3].says("It greets."));
        let tokens = &repair.status()["usage"];
        assert_eq!(tokens["output"], 7 * OUTPUT, "{tokens}");
    }
}

#[test]
fn where_one_agent_is_limited_the_next_one_takes_over() {
    let Some(programs) = install::programs() else {
        return;
    };
    let repair = Repair::new(programs, &[]);
    repair
        .claude
        .go_on_with([Answer::RateLimited { retry_after: None }]);
    repair.codex.go_on_with(two_rounds());
    let end = ended(repair.start());
    repaired(&repair, &end);
    let by = &end.json()["by"];
    assert_eq!(by["selected"]["name"], "codex", "{end}");
    assert_eq!(by["attempts"][0]["agent"], "claude");
    assert_eq!(by["attempts"][0]["failure"], "quota");
    let request = &repair.codex.requests()[0];
    assert!(request.says("Make the tests pass, and commit."));
}

#[test]
fn where_an_agent_is_overloaded_the_next_one_takes_over_what_it_has_begun() {
    let Some(programs) = install::programs() else {
        return;
    };
    let repair = Repair::new(programs, &[]);
    repair.claude.go_on_with([
        Answer::write("greeting.txt", "hello world\n"),
        Answer::Overloaded,
    ]);
    repair.codex.go_on_with([
        Answer::shell("git add greeting.txt && git commit --quiet --message=Greet"),
        Answer::text("It was there already."),
    ]);
    let end = ended(repair.start());
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(repair.commits(), ["Greet"]);
    let attempt = &end.json()["by"]["attempts"][0];
    assert_eq!(attempt["failure"], "unavailable", "{end}");
}

#[test]
fn where_all_agents_are_limited_the_run_pauses_and_goes_on_later() {
    let Some(programs) = install::programs() else {
        return;
    };
    let repair = Repair::new(programs, &[]);
    let limited = Answer::RateLimited { retry_after: None };
    repair.claude.go_on_with([limited.clone()]);
    repair.codex.go_on_with([limited]);
    let end = ended(repair.start());
    assert_eq!(end.code, Some(3), "{end}");
    assert_eq!(repair.status()["status"], "paused");
    assert_eq!(repair.processes(), [""; 0]);

    repair.claude.go_on_with(two_rounds());
    let end = ended(repair.resume());
    repaired(&repair, &end);
    assert_eq!(
        end.json()["by"],
        json!(null),
        "claude was the first to answer"
    );
}

#[test]
fn a_limit_that_says_when_it_ends_is_kept_and_waited_for() {
    let Some(programs) = install::programs() else {
        return;
    };
    let repair = Repair::new(programs, &alone("codex"));
    let resets = Timestamp::now() + SignedDuration::from_hours(3);
    let resets_at = resets.as_second();
    repair.codex.go_on_with([Answer::UsageLimit { resets_at }]);
    let end = ended(repair.start());
    assert_eq!(end.code, Some(3), "{end}");
    let asked = repair.codex.requests().len();

    // It is not over: nothing runs.
    let end = ended(repair.resume());
    assert_eq!(end.code, Some(3), "{end}");
    assert_eq!(repair.codex.requests().len(), asked);
}

/// How long an agent may take to call its first tool.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run whose agent has called a command that never ends.
struct Endless {
    repair: Repair,
    agent: &'static str,
    runner: Child,
    alive: Receiver<Seen>,
}

impl Endless {
    /// Starts it, and waits until the command runs.
    fn start(agent: &'static str, changes: &[(&str, &str)]) -> Option<Endless> {
        let programs = install::programs()?;
        let changes = [&alone(agent)[..], changes].concat();
        let repair = Repair::new(programs, &changes);
        let alive = repair.machine.path("alive");
        let call = Answer::shell(&format!("sh endless.sh {}", alive.display()));
        model(&repair, agent).go_on_with([call, Answer::Hang]);
        let alive = watch(&alive);
        let mut command = repair.start();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let runner = command.spawn().expect("the binary is there");
        let endless = Endless {
            repair,
            agent,
            runner,
            alive,
        };
        let seen = endless.alive.recv_timeout(PATIENCE);
        if seen != Ok(Seen::Line) {
            // Its supervisor takes everything down.
            endless.signal(Signal::SIGKILL);
        }
        assert_eq!(seen, Ok(Seen::Line), "{agent} has not called its tool");
        Some(endless)
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.runner.id()).expect("it is the id of a process");
        kill(Pid::from_raw(id), signal).expect("it is ours");
    }

    /// Waits for the end of the runner, and checks that of the command.
    fn end(self) -> (Repair, Ended) {
        let output = self.runner.wait_with_output().expect("it is ours");
        assert_eq!(
            self.alive.recv_timeout(GRACE),
            Ok(Seen::Gone),
            "{}",
            self.agent
        );
        let end = Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        (self.repair, end)
    }
}

/// Lets a run go on that was stopped while its agent's command ran.
fn goes_on(repair: &Repair, agent: &str) {
    let stub = model(repair, agent);
    let before = stub.requests().len();
    stub.go_on_with(two_rounds());
    let mut resume = repair.resume();
    // It may have changed files already.
    resume.arg("--retry-incomplete");
    let end = ended(resume);
    repaired(repair, &end);
    let first = &stub.requests()[before];
    // It still knows what it did, and is told why it has to go on.
    for text in ["endless.sh", "You were interrupted"] {
        assert!(first.says(text), "{:?}", first.texts());
    }
}

#[test]
fn a_timeout_in_a_tool_leaves_no_process() {
    for agent in ["claude", "codex"] {
        let changes = [("maxRounds: 3", "maxRounds: 3\n    timeout: 10s")];
        let Some(endless) = Endless::start(agent, &changes) else {
            return;
        };
        let (repair, end) = endless.end();
        assert_eq!(end.code, Some(1), "{end}");
        assert_eq!(repair.processes(), [""; 0]);
        assert_eq!(repair.status()["code"], "timeout", "{}", repair.status());
    }
}

#[test]
fn a_run_that_is_terminated_in_a_tool_leaves_no_process_and_goes_on() {
    for agent in ["claude", "codex"] {
        let Some(endless) = Endless::start(agent, &[]) else {
            return;
        };
        endless.signal(Signal::SIGTERM);
        let (repair, end) = endless.end();
        assert_eq!(end.code, Some(143), "{end}");
        assert_eq!(repair.processes(), [""; 0]);
        assert_eq!(repair.status()["status"], "cancelled");
        goes_on(&repair, agent);
    }
}

#[test]
fn a_run_that_is_killed_in_a_tool_leaves_no_process_and_goes_on() {
    for agent in ["claude", "codex"] {
        let Some(endless) = Endless::start(agent, &[]) else {
            return;
        };
        endless.signal(Signal::SIGKILL);
        let (repair, end) = endless.end();
        assert_eq!(end.code, None, "{end}");
        goes_on(&repair, agent);
    }
}
