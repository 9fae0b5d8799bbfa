//! The committed schemas say precisely what the machine outputs are.
//!
//! Readers are told that fields may be added, so the schemas are open. Here they are closed before they are used: a field
//! that is printed and that no schema names is a mistake of the schema.

#[path = "support/project.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod project;
#[path = "support/schemas.rs"]
mod schemas;

use project::Project;
use schemas::{mistakes, read};
use serde_json::{Value, json};
use std::fs;

/// The outputs that have a schema.
const NAMES: [&str; 7] = [
    "diagnostics",
    "diff",
    "doctor",
    "events",
    "graph",
    "plan",
    "report",
];

fn schema(name: &str) -> Value {
    read(&format!("schemas/{name}.json"))
}

/// The schema with every object that lists its fields closed to others.
fn closed(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(rules) => {
            for (_, rule) in rules.iter_mut() {
                *rule = closed(rule.take());
            }
            let lists = rules.get("properties").is_some_and(Value::is_object);
            if lists && !rules.contains_key("additionalProperties") {
                rules.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(choices) => {
            for choice in choices {
                *choice = closed(choice.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    schema
}

#[track_caller]
fn fits(name: &str, value: &Value) {
    let found = mistakes(&closed(schema(name)), value);
    assert!(found.is_empty(), "{name}: {}\nin {value}", found.join("\n"));
}

/// Every line of an output as an event.
#[track_caller]
fn events_fit(text: &str) -> Vec<String> {
    let mut kinds = Vec::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).expect("a line is JSON");
        fits("events", &event);
        kinds.push(event["kind"].as_str().expect("it has a kind").to_owned());
    }
    kinds
}

const CI: &str = r#"## Builds and tests.
workflow ci {
  input name: string = "x"
  concurrency: 1
  task build { command: ["sh", "-c", "echo built"] }
  loop fix {
    after: [build]
    maxRounds: 3
    attempt { value: round }
    check { reject "again" when candidate < 2 }
  }
  task never { when: fix > 5  value: 1 }
  task flaky {
    after: [fix]
    retry { attempts: 2 }
    command: ["sh", "-c", "echo no >&2; test -e go"]
  }
  task report { after: [flaky]  value: inputs.name }
  output: report
}
"#;

const WIDE: &str = r#"use std.checks { worktree-clean }
agent coder { harness: claude  model: "opus"  auth: account }
agent judge { harness: claude  model: "sonnet"  auth: account }
type Review { approved: bool, feedback: string }
sandbox work { provider: local  repository: "."  branch: named("outpost/fix") }
workflow fix-tests {
  input goal: string = "Fix the failing tests and commit."
  budget { attempts: 40  cost: 5USD  outputTokens: 500k }
  prices {
    "opus": { input: 5USD, output: 25USD }
    "sonnet": { input: 3USD, output: 15USD }
  }
  onQuota: pause(maxWait: 4h)
  task deps { command: ["npm", "ci"]  in: work }
  loop fix {
    after: [deps]
    maxRounds: 4
    timeout: 20m
    attempt { agent: coder  in: work  brief: "${inputs.goal} ${feedback ?? ""}" }
    check {
      run tests { command: ["npm", "test"]  in: work }
      reject tail("${tests.stdout}\n${tests.stderr}", 20k) when tests.status != 0
      run tree { step: worktree-clean(work) }
      reject "Commit your work." when !tree.clean
      run review { agent: judge  in: work  brief: "Review the last commit."  response: Review }
      reject review.value.feedback when !review.value.approved
    }
  }
  approval ship { prompt: "Merge? ${fix.text}"  actors: ["maintainer"] }
  task publish { after: [ship]  command: ["git", "push", "origin", "outpost/fix"]  in: work }
  output: { text: fix.text, by: ship.actor, pushed: publish.status }
}
"#;

#[test]
fn the_program_prints_the_committed_schemas() {
    let project = Project::new(&[]);
    for name in NAMES {
        assert_eq!(project.json(&["schema", name]), schema(name), "{name}");
    }
}

#[test]
fn a_schema_refuses_what_is_missing_wrong_or_unknown() {
    for name in NAMES {
        let schema = closed(schema(name));
        assert!(!mistakes(&schema, &json!({})).is_empty(), "{name}");
        let unknown = json!({ "version": 1, "new": true });
        assert!(!mistakes(&schema, &unknown).is_empty(), "{name}");
    }
    let wrong =
        json!({ "version": 1, "verdict": "maybe", "tasks": [{}], "changes": [], "notes": [1] });
    let found = mistakes(&closed(schema("diff")), &wrong);
    for part in ["maybe", "key", "action", "reason", "notes"] {
        assert!(
            found.iter().any(|one| one.contains(part)),
            "{part}: {found:?}"
        );
    }
}

/// What the schemas themselves say is JSON Schema.
#[test]
fn the_schemas_are_schemas() {
    for name in NAMES {
        let schema = schema(name);
        let found = jsonschema::meta::validate(&schema);
        assert!(found.is_ok(), "{name}: {found:?}");
    }
}

#[test]
fn diagnostics_fit() {
    let text = "workflow w {\n  task a { value: on }\n  task a { value: 1 }\n  output: a\n}\nfn f(x: int) -> int = 1\n";
    let project = Project::new(&[("bad.outpost", text), ("good.outpost", CI)]);
    let found = project.json(&["check", "--format", "json", "--stats"]);
    fits("diagnostics", &found);
    let labels = found["diagnostics"].as_array().into_iter().flatten();
    assert!(
        labels.clone().any(|one| one["labels"] != json!([])),
        "{found}"
    );
    fits(
        "diagnostics",
        &project.json(&["check", "good.outpost", "--format", "json"]),
    );
}

#[test]
fn findings_of_the_machine_fit() {
    let project = Project::new(&[("wide.outpost", WIDE)]);
    // What the machine has is not known here: only the shape counts.
    for arguments in [&["doctor"][..], &["doctor", "wide.outpost"]] {
        let found = project.json(&[arguments, &["--format", "json"]].concat());
        fits("doctor", &found);
        assert_ne!(found["agents"], json!([]), "{found}");
    }
}

#[test]
fn plans_fit() {
    let project = Project::new(&[("ci.outpost", CI), ("wide.outpost", WIDE)]);
    fits(
        "plan",
        &project.json(&["plan", "ci.outpost", "--format", "json"]),
    );
    let wide = project.json(&["plan", "wide.outpost", "--format", "json"]);
    fits("plan", &wide);
    assert_eq!(wide["gates"], json!(["ship"]));
    assert_eq!(wide["budget"]["attempts"], json!(40));
    assert!(wide["budget"]["cost"].is_string(), "{wide}");
    assert_ne!(wide["agents"], json!([]));
    assert_ne!(wide["sandboxes"], json!([]));
}

const CALLS: &str = r#"workflow inner {
  input n: int
  task one { value: inputs.n }
  output: one
}
agent opus { harness: claude  model: "opus"  auth: account }
agent sonnet { harness: claude  auth: account }
agent coder { fallback: [opus, sonnet]  on: [quota, unavailable] }
## All kinds of tasks.
workflow w {
  ## Calls.
  task call { workflow: inner(n: 1) }
  task many for x in [1, 2] { parallel: 2  cache { key: x  version: "1" }  value: x }
  race quick for x in [1, 2] { attempt { value: x }  check { reject "no" when candidate < 2 }  score: candidate  select: best }
  ask color { question: "Which?"  choices: ["red", "blue"]  actors: ["*"] }
  pause wait { prompt: "Go on?"  actors: ["anna"] }
  task code { after: [wait]  agent: coder  brief: "Code." }
  task clean { after: [code?]  trigger: always  when: call > 0  retry { attempts: 2 }  timeout: 1m  command: ["true"] }
  output: { many, quick, color, text: code.text }
}
"#;

#[test]
fn graphs_fit() {
    let project = Project::new(&[
        ("calls.outpost", CALLS),
        ("ci.outpost", CI),
        ("wide.outpost", WIDE),
    ]);
    let graph = |arguments: &[&str]| {
        let graph = project.json(&[&["graph", "--format", "json"], arguments].concat());
        fits("graph", &graph);
        graph
    };
    let calls = graph(&["calls.outpost", "w"]);
    let keys = |graph: &Value| -> Vec<String> {
        let nodes = graph["nodes"].as_array().expect("a list");
        let keys = nodes.iter().map(|node| node["key"].as_str().expect("text"));
        keys.map(str::to_owned).collect()
    };
    assert_eq!(keys(&calls)[..2], ["call", "call.one"]);
    assert_eq!(
        keys(&graph(&["calls.outpost", "w", "--collapse"]))[..2],
        ["call", "many"]
    );
    graph(&["wide.outpost"]);
    project.call(&["run", "ci.outpost", "--run-id", &project.run]);
    let run = graph(&[&project.run]);
    assert_eq!(run["nodes"][0]["state"]["status"], "done");
}

#[test]
fn runs_fit() {
    let project = Project::new(&[("ci.outpost", CI)]);
    let run = [
        "run",
        "ci.outpost",
        "--run-id",
        &project.run,
        "--format",
        "json",
    ];
    let with_events = [&run[..], &["--events", "events"]].concat();
    let report = project.json(&with_events);
    fits("report", &report);
    assert_eq!(report["status"], "failed");
    let text = fs::read_to_string(project.path("events")).expect("they were written");
    let kinds = events_fit(&text);
    for kind in ["start", "attempt", "loop", "retry", "task", "finish"] {
        assert!(kinds.iter().any(|one| one == kind), "{kind}: {kinds:?}");
    }

    fits(
        "diff",
        &project.json(&["resume", "--last", "--plan", "--format", "json"]),
    );
    let edited = CI
        .replace("maxRounds: 3", "maxRounds: 4")
        .replace("echo built", "echo new");
    project.write("edited.outpost", &edited);
    for arguments in [
        ["diff", &project.run, "edited.outpost", "--format", "json"],
        ["diff", "ci.outpost", "edited.outpost", "--format", "json"],
        ["diff", "edited.outpost", "ci.outpost", "--format", "json"],
        ["diff", "ci.outpost", "ci.outpost", "--format", "json"],
    ] {
        fits("diff", &project.json(&arguments));
    }

    project.write("ci.outpost", &edited);
    let status = project.json(&["status", &project.run, "--format", "json"]);
    fits("report", &status);
    assert!(status["edited"].is_object(), "{status}");
    project.write("ci.outpost", CI);
    project.write("go", "");
    let resumed = project.json(&["resume", "--last", "--retry-incomplete", "--format", "json"]);
    fits("report", &resumed);
    assert_eq!(resumed["status"], "done");
    let events = project.call(&["events", &project.run, "--format", "ndjson"]);
    assert!(
        events_fit(&events.stdout)
            .iter()
            .any(|kind| kind == "resume")
    );
}

#[test]
fn runs_that_end_otherwise_fit() {
    let slow =
        "workflow w {\n  task a { timeout: 50ms  command: [\"sleep\", \"60\"] }\n  output: a\n}\n";
    let exhausted = "workflow w {\n  loop a { maxRounds: 1  attempt { value: 1 }  check { reject \"no\" when candidate < 2 } }\n  output: a\n}\n";
    let costly = "workflow w {\n  task a { command: [\"true\"] }\n  task b { after: [a]  command: [\"true\"] }\n  output: b\n}\n";
    let project = Project::new(&[
        ("slow.outpost", slow),
        ("exhausted.outpost", exhausted),
        ("costly.outpost", costly),
    ]);
    for (file, code, kind) in [
        ("slow.outpost", "timeout", "stop"),
        ("exhausted.outpost", "exhausted", "loop"),
        ("costly.outpost", "limit", "budget-exceeded"),
    ] {
        let mut arguments = vec![
            "run",
            file,
            "--format",
            "json",
            "--events",
            "events",
            "--ephemeral",
        ];
        if file == "costly.outpost" {
            arguments.extend(["--budget-attempts", "1"]);
        }
        let report = project.json(&arguments);
        fits("report", &report);
        assert_eq!(report["code"], code, "{report}");
        let text = fs::read_to_string(project.path("events")).expect("they were written");
        let kinds = events_fit(&text);
        assert!(kinds.iter().any(|one| one == kind), "{kind}: {kinds:?}");
    }
}

/// Scripted agents, one of them in a list, and a CLI that a file declares.
const AGENTS: &str = r#"secret TOKEN
type Review { approved: bool }
harness fake {
  command: ["sh", "./fake.sh"]
  output: lines
  event conversation { when: { "t": "session" }  id: "id" }
  event text { when: { "t": "say" }  text: "text" }
  event tool { when: { "t": "tool" }  name: "name"  input: "input" }
  event usage { when: { "t": "usage" }  input: "in"  output: "out" }
  event retry { when: { "t": "retry" }  text: "text" }
  event failure { when: { "t": "oops" }  text: "text" }
  event result { when: { "t": "result" }  text: "text" }
  event finished { when: { "t": "end" } }
  supports: [continue]
  continueArgument: ["--again"]
}
agent fake-one { harness: fake  env { TOKEN: secret.TOKEN } }
agent first {
  harness: scripted
  turns: [{ fail: quota, message: "weekly", resetIn: 3h }, { fail: quota, resetIn: 3h }]
}
agent second {
  harness: scripted
  turns: [{ tools: [{ name: "Read", input: { path: "a" } }, { name: "Stop" }], text: "well", usage: { input: 5, output: 1 } }]
}
agent team { fallback: [first, second]  on: [quota] }
workflow agents {
  onQuota: pause(maxWait: 1s)
  task listed { agent: team  brief: "go" }
  task asked { agent: fake-one  brief: "go"  response: Review  repairs: 1 }
  task waits { after: [listed, asked]  agent: first  brief: "go" }
  output: waits.text
}
"#;

const FAKE: &str = r#"
cat > prompt
say() { printf '%s\n' "$1"; }
say '{"t":"session","id":"talk-1"}'
say '{"t":"say","text":"\u001b[2J my token is s3cret\"sl\/ash"}'
say 'the token is s3cret"sl/ash, or "s3cret\"sl/ash"'
for n in 1 2 3 4 5; do say '{"t":"tool","name":"Bash","input":{"command":"ls"}}'; done
say '{"t":"usage","in":7,"out":2}'
say '{"t":"retry","text":"overloaded"}'
if test -e asked; then say '{"t":"result","text":"<response>{\"approved\":true}</response>"}'
else touch asked; say '{"t":"result","text":"I forgot the form"}'; fi
say '{"t":"end"}'
"#;

const SECRET: &str = "s3cret\"sl/ash";

/// The project of the agents, and a call of the binary in it that knows the secret.
fn with_agents() -> (Project, impl Fn(&Project, &[&str]) -> project::Ended) {
    let project = Project::new(&[("agents.outpost", AGENTS), ("fake.sh", FAKE)]);
    let call = |project: &Project, arguments: &[&str]| {
        let mut command = project.command(arguments);
        command.env("TOKEN", SECRET);
        project::ended(command)
    };
    (project, call)
}

#[test]
fn runs_with_agents_fit() {
    let (project, call) = with_agents();
    let run = project.run.clone();
    let arguments = [
        "run",
        "agents.outpost",
        "--run-id",
        &run,
        "--format",
        "json",
    ];
    let live = ["--events", "events", "--live"];
    let ended = call(&project, &[&arguments[..], &live].concat());
    assert_eq!(ended.code, Some(3), "{ended}");
    let report: Value = serde_json::from_str(&ended.stdout).expect("it is JSON");
    fits("report", &report);
    assert_eq!(
        report["tasks"][0]["fallback"][0]["to"], "second",
        "{report}"
    );
    assert_eq!(
        report["tasks"][1]["turns"][1]["agent"], "fake-one",
        "{report}"
    );

    let text = fs::read_to_string(project.path("events")).expect("they were written");
    let mut last = 0;
    let mut did = Vec::new();
    let mut kept = String::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).expect("a line is JSON");
        fits("events", &event);
        let seq = event["seq"].as_u64().expect("it has a number");
        assert!(seq >= last, "{line}");
        last = seq;
        if event["live"] != json!(true) {
            kept.push_str(line);
            kept.push('\n');
        }
        if event["kind"] == "agent" {
            did.push((
                event["did"].as_str().expect("a word").to_owned(),
                event["live"] == json!(true),
            ));
        }
    }
    for (word, live) in [
        ("began", false),
        ("answered", false),
        ("failed", false),
        ("text", true),
        ("tool", true),
        ("usage", true),
        ("retry", true),
        ("stuck", true),
        ("raw", true),
    ] {
        assert!(did.contains(&(word.to_owned(), live)), "{word}: {did:?}");
    }
    // What is durable is the same without them.
    let events = project.call(&["events", &run, "--format", "ndjson"]);
    assert_eq!(events.stdout, kept);
    assert!(events_fit(&kept).iter().any(|kind| kind == "fallback"));
    fits(
        "report",
        &project.json(&["status", &run, "--format", "json"]),
    );
}

#[test]
fn what_agents_do_is_written_only_where_it_is_asked_for() {
    let (project, call) = with_agents();
    let arguments = ["run", "agents.outpost", "--ephemeral", "--events", "events"];
    let ended = call(&project, &arguments);
    // A run that nobody could resume does not wait for a limit that ends later than it waits.
    assert_eq!(ended.code, Some(1), "{ended}");
    let text = fs::read_to_string(project.path("events")).expect("they were written");
    assert!(
        text.contains(r#""did":"answered""#) && !text.contains("live"),
        "{text}"
    );
    let refused = call(&project, &["run", "agents.outpost", "--live"]);
    assert_eq!(refused.code, Some(2), "{refused}");
}

#[test]
fn a_sink_that_fails_changes_nothing() {
    let (project, call) = with_agents();
    let arguments = [
        "run",
        "agents.outpost",
        "--events",
        "/dev/full",
        "--live",
        "-vv",
    ];
    let ended = call(&project, &arguments);
    assert_eq!(ended.code, Some(3), "{ended}");
    let told = ended
        .stderr
        .matches("events are no longer reported")
        .count();
    assert_eq!(told, 1, "{ended}");
    assert!(
        ended.stderr.contains("waits for the quota of first"),
        "{ended}"
    );
}

#[test]
fn a_secret_that_an_agent_prints_reaches_nobody() {
    let (project, call) = with_agents();
    let run = project.run.clone();
    let arguments = [
        "run",
        "agents.outpost",
        "--run-id",
        &run,
        "--format",
        "json",
        "--events",
        "events",
        "--live",
        "-vv",
    ];
    let ended = call(&project, &arguments);
    let events = fs::read_to_string(project.path("events")).expect("they were written");
    let logs = project.call(&["logs", &run]);
    for text in [&ended.stdout, &ended.stderr, &events, &logs.stdout] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    for text in [&ended.stderr, &events, &logs.stdout] {
        assert!(text.contains("my token is ***"), "{text}");
    }
    assert!(
        ended.stderr.contains(r#"the token is ***, or "***""#),
        "{ended}"
    );
    // What an agent says cannot steer a terminal.
    assert!(!ended.stderr.contains('\u{1b}'), "{ended}");
}
