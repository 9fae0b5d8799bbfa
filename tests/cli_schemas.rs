//! The committed schemas say precisely what the machine outputs are.
//!
//! The checker knows the few words that these schemas use. It is stricter than JSON Schema: a field that a schema
//! does not name is a mistake of the schema.

#![expect(
    clippy::panic,
    reason = "a schema that the checker cannot read is a mistake of the schema"
)]

#[path = "support/project.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod project;

use project::Project;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The outputs that have a schema.
const NAMES: [&str; 6] = ["diagnostics", "diff", "doctor", "events", "plan", "report"];

fn schema(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("schemas/{name}.json"));
    let text = fs::read_to_string(&path).expect("the schema is committed");
    serde_json::from_str(&text).expect("it is JSON")
}

/// What is wrong with a value, with the path to it.
fn mistakes(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let rules = schema.as_object().expect("a schema is an object");
    let mut found = Vec::new();
    for (word, rule) in rules {
        match word.as_str() {
            "$schema"
            | "$defs"
            | "title"
            | "description"
            | "required"
            | "properties"
            | "additionalProperties" => {}
            "$ref" => {
                let place = rule.as_str().expect("a reference is text");
                let place = place.strip_prefix('#').expect("it stays in the file");
                let target = root.pointer(place).expect("what is referred to exists");
                found.extend(mistakes(root, target, value, at));
            }
            "type" => {
                let names: Vec<&Value> = rule
                    .as_array()
                    .map_or(vec![rule], |all| all.iter().collect());
                if !names.iter().any(|name| is_of(value, name.as_str())) {
                    found.push(format!("{at}: {value} is not {rule}"));
                }
            }
            "const" if rule != value => found.push(format!("{at}: {value} is not {rule}")),
            "const" => {}
            "enum" => {
                let known = rule.as_array().expect("a list");
                if !known.contains(value) {
                    found.push(format!("{at}: {value} is not one of {rule}"));
                }
            }
            "minimum" => {
                if value.as_f64() < rule.as_f64() && value.is_number() {
                    found.push(format!("{at}: {value} is less than {rule}"));
                }
            }
            "format" => {
                assert_eq!(rule, "date-time");
                let text = value.as_str();
                if text.is_some_and(|text| !(text.contains('T') && text.ends_with('Z'))) {
                    found.push(format!("{at}: {value} is no time"));
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(mistakes(root, rule, item, &format!("{at}[{index}]")));
                }
            }
            "anyOf" | "oneOf" => {
                let choices = rule.as_array().expect("a list").iter();
                let tried: Vec<_> = choices.map(|one| mistakes(root, one, value, at)).collect();
                let fit = tried.iter().filter(|one| one.is_empty()).count();
                if fit == 0 || (word == "oneOf" && fit > 1) {
                    let closest = tried.into_iter().min_by_key(Vec::len).unwrap_or_default();
                    found.push(format!("{at}: {fit} of the choices fit; {closest:?}"));
                }
            }
            unknown => panic!("the checker does not know `{unknown}`"),
        }
    }
    if let Some(fields) = value.as_object() {
        found.extend(mistakes_of_fields(root, schema, fields, at));
    }
    found
}

fn mistakes_of_fields(
    root: &Value,
    schema: &Value,
    fields: &serde_json::Map<String, Value>,
    at: &str,
) -> Vec<String> {
    let mut found = Vec::new();
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().expect("a name is text");
        if !fields.contains_key(name) {
            found.push(format!("{at}: `{name}` is missing"));
        }
    }
    for (name, value) in fields {
        let at = format!("{at}.{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, Value::Null) if schema["properties"].is_object() => {
                found.push(format!("{at}: the schema does not know it"));
            }
            (Value::Null, Value::Null) => {}
            (Value::Null, others) => found.extend(mistakes(root, others, value, &at)),
            (rule, _) => found.extend(mistakes(root, rule, value, &at)),
        }
    }
    found
}

fn is_of(value: &Value, name: Option<&str>) -> bool {
    match name {
        Some("null") => value.is_null(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(_) | None => false,
    }
}

#[track_caller]
fn fits(name: &str, value: &Value) {
    let schema = schema(name);
    let found = mistakes(&schema, &schema, value, name);
    assert!(found.is_empty(), "{}\nin {value}", found.join("\n"));
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
        let schema = schema(name);
        assert!(
            !mistakes(&schema, &schema, &json!({}), name).is_empty(),
            "{name}"
        );
        let unknown = json!({ "version": 1, "new": true });
        assert!(
            !mistakes(&schema, &schema, &unknown, name).is_empty(),
            "{name}"
        );
    }
    let schema = schema("diff");
    let wrong =
        json!({ "version": 1, "verdict": "maybe", "tasks": [{}], "changes": [], "notes": [1] });
    assert_eq!(mistakes(&schema, &schema, &wrong, "diff").len(), 5);
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
