//! What `check --format sarif` prints is SARIF 2.1.0, by the schema of its standard.

#[path = "support/project.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod project;
#[path = "support/schemas.rs"]
mod schemas;

use project::Project;
use serde_json::{Value, json};

/// The schema, without the pattern of languages: it has a bracket too many, and no language is printed.
fn schema() -> Value {
    let mut schema = schemas::read("tests/schemas/sarif-2.1.0.json");
    for place in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][place]["properties"]["language"];
        let pattern = language.as_object_mut().and_then(|it| it.remove("pattern"));
        assert!(pattern.is_some());
    }
    schema
}

/// The log of a check, which fits the schema.
#[track_caller]
fn log(project: &Project, arguments: &[&str]) -> Value {
    let all = [&["check", "--format", "sarif"], arguments].concat();
    let log = project.json(&all);
    let found = schemas::mistakes(&schema(), &log);
    assert!(found.is_empty(), "{}\nin {log}", found.join("\n"));
    log
}

fn results(log: &Value) -> &[Value] {
    let results = log["runs"][0]["results"].as_array();
    results.map_or(&[], Vec::as_slice)
}

#[track_caller]
fn of_code<'l>(log: &'l Value, code: &str) -> &'l Value {
    let found = results(log).iter().find(|one| one["ruleId"] == code);
    found.unwrap_or_else(|| unreachable!("no `{code}` in {log}"))
}

fn place(result: &Value) -> &Value {
    &result["locations"][0]["physicalLocation"]
}

const HEALTHY: &str = "workflow w {\n  task a { value: 1 }\n  output: a\n}\n";

/// A duplicate (two labels), an unknown name, and an unused function (a warning).
const SEVERAL: &str = "workflow w {\n  task a { value: on }\n  task a { value: 1 }\n  output: a\n}\nfn f(x: int) -> int = 1\n";

#[test]
fn nothing_found_is_a_log_too() {
    let project = Project::new(&[]);
    assert_eq!(results(&log(&project, &[])), &[] as &[Value]);
    project.write("main.outpost", HEALTHY);
    let log = log(&project, &[]);
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(log["runs"][0]["results"], json!([]));
    assert_eq!(log["runs"][0]["tool"]["driver"]["rules"], json!([]));
}

#[test]
fn errors_warnings_and_their_labels_fit() {
    let project = Project::new(&[("main.outpost", SEVERAL)]);
    let log = log(&project, &[]);
    let levels: Vec<&Value> = results(&log).iter().map(|one| &one["level"]).collect();
    assert!(levels.contains(&&json!("error")), "{log}");
    assert!(levels.contains(&&json!("warning")), "{log}");
    let labelled = results(&log)
        .iter()
        .find(|one| one["relatedLocations"] != json!([]));
    let related = &labelled.expect("a duplicate names the first")["relatedLocations"][0];
    assert_eq!(related["id"], 1);
    assert_eq!(related["physicalLocation"]["region"]["startLine"], 2);
    for result in results(&log) {
        let rules = &log["runs"][0]["tool"]["driver"]["rules"];
        let index = result["ruleIndex"].as_u64().expect("a rule");
        let rule = &rules[usize::try_from(index).expect("it is small")];
        assert_eq!(rule["id"], result["ruleId"]);
        let help = rule["help"]["markdown"].as_str().expect("its page");
        assert!(help.contains("## Why"), "{help}");
    }
}

#[test]
fn mends_fit() {
    let text = "workflow w {\n  task a { command= [“make”] }\n  output: a.status;\n}\n";
    let project = Project::new(&[("main.outpost", text)]);
    let log = log(&project, &[]);
    let mut mended = 0;
    for result in results(&log) {
        for change in result["fixes"][0]["artifactChanges"]
            .as_array()
            .into_iter()
            .flatten()
        {
            assert_eq!(change["artifactLocation"]["uri"], "main.outpost");
            mended += 1;
        }
    }
    assert!(mended >= 3, "{log}");
    let sign = results(&log)
        .iter()
        .flat_map(|one| one["fixes"].as_array().into_iter().flatten())
        .flat_map(|fix| fix["artifactChanges"][0]["replacements"].as_array())
        .flatten()
        .find(|one| one["insertedContent"]["text"] == ":");
    let region = &sign.expect("`=` is mended")["deletedRegion"];
    assert_eq!(
        *region,
        json!({ "startLine": 2, "startColumn": 19, "endLine": 2, "endColumn": 20 })
    );
}

#[test]
fn several_files_with_any_name_fit() {
    let text = "workflow w { output: nowhere }\n";
    let project = Project::new(&[
        ("a folder/main.outpost", text),
        ("größe/日本.outpost", text),
        ("100%#?.outpost", text),
        ("healthy.outpost", HEALTHY),
    ]);
    let log = log(&project, &[]);
    let uris: Vec<&str> = results(&log)
        .iter()
        .map(|one| {
            place(one)["artifactLocation"]["uri"]
                .as_str()
                .expect("a URI")
        })
        .collect();
    assert_eq!(
        uris,
        [
            "100%25%23%3F.outpost",
            "a%20folder/main.outpost",
            "gr%C3%B6%C3%9Fe/%E6%97%A5%E6%9C%AC.outpost",
        ]
    );
}

#[test]
fn a_label_in_another_file_fits() {
    let library = "sandbox work { provider: local  repository: \".\"  branch: current }\nworkflow make {\n  task build { command: [\"make\"]  in: work }\n  output: build.status\n}\n";
    let main = "use \"./lib.outpost\" { make }\nworkflow w {\n  task one { workflow: make() }\n  task two { workflow: make() }\n  output: one + two\n}\n";
    let project = Project::new(&[
        ("my lib/lib.outpost", library),
        ("my lib/main.outpost", main),
    ]);
    let log = log(&project, &["my lib/main.outpost"]);
    let result = of_code(&log, "sandbox-overlap");
    assert_eq!(
        place(result)["artifactLocation"]["uri"],
        "my%20lib/main.outpost"
    );
    let related = result["relatedLocations"].as_array().expect("labels");
    let other = related
        .iter()
        .find(|one| one["physicalLocation"]["artifactLocation"]["uri"] == "my%20lib/lib.outpost");
    assert!(other.is_some(), "{log}");
}

/// The mark is no column; characters outside of the basic plane are one.
#[test]
fn columns_count_characters_and_no_byte_order_mark() {
    let text =
        "\u{feff}workflow w { output: nowhere }\r\nfn f(s: string) -> bool = \"🦀\" == gone\r\n";
    let project = Project::new(&[("main.outpost", text)]);
    let log = log(&project, &[]);
    let regions: Vec<&Value> = results(&log)
        .iter()
        .filter(|one| one["level"] == "error")
        .map(|one| &place(one)["region"])
        .collect();
    assert_eq!(
        regions,
        [
            &json!({ "startLine": 1, "startColumn": 22, "endLine": 1, "endColumn": 29 }),
            &json!({ "startLine": 2, "startColumn": 34, "endLine": 2, "endColumn": 38 }),
        ]
    );
    assert_eq!(of_code(&log, "unknown-name")["level"], "error");
}

/// The schema is the whole one: it refuses what SARIF does not know.
#[test]
fn the_schema_refuses_what_is_no_sarif() {
    let project = Project::new(&[("main.outpost", SEVERAL)]);
    let log = log(&project, &[]);
    let schema = schema();
    for (path, value) in [
        ("/version", json!("2.0")),
        ("/runs/0/results/0/level", json!("fatal")),
        (
            "/runs/0/results/0/locations/0/physicalLocation/region/startLine",
            json!(0),
        ),
        (
            "/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri",
            json!("a b"),
        ),
        ("/runs/0/results/0/message", json!({ "text": 1 })),
    ] {
        let mut wrong = log.clone();
        *wrong.pointer_mut(path).expect("it is there") = value;
        assert_eq!(schemas::mistakes(&schema, &wrong).len(), 1, "{path}");
    }
}
