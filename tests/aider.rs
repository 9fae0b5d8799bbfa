//! The worked example of a declared harness, as the documentation shows it in the language,
//! does what the same example built into the program does.

use outpost_compiler::plan::{self, Plan};
use outpost_compiler::program::{AgentId, WorkflowId};
use outpost_compiler::{Memory, compile};
use outpost_runtime::agents::{Agents, Cli, Driven};
use outpost_runtime::classify::{self, Recording, Reference};
use outpost_runtime::harness::{self, Start, Turn};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The block of the page that declares the harness.
fn example() -> String {
    let page = fs::read_to_string(repository().join("docs/src/agents.md")).expect("it is there");
    let mut blocks = page.split("```outpost\n").skip(1);
    let found = blocks.find(|block| block.starts_with("harness aider {"));
    let block = found.expect("the page has the example");
    block.split("```").next().unwrap_or_default().to_owned()
}

fn planned(text: &str) -> Plan {
    let files = [("page.outpost".to_owned(), Arc::from(text))];
    let compiled = compile(
        &Memory {
            files: files.into_iter().collect(),
        },
        "page.outpost",
    );
    assert!(compiled.diagnostics.is_empty(), "the page is checked");
    plan::build(Arc::new(compiled.program), WorkflowId(0)).expect("nothing is wrong with it")
}

/// The agents of the example.
fn agents() -> Agents {
    Agents::of(&planned(&example()))
}

/// The one that the harness drives.
fn cli(agents: &Agents) -> &Cli {
    let driven = agents.get(AgentId(0)).expect("the example has an agent");
    let cli = match driven {
        Driven::Cli(cli) => Some(&**cli),
        Driven::Scripted(_) => None,
    };
    cli.expect("it has a harness")
}

#[test]
fn it_is_started_in_the_same_way() {
    let agents = agents();
    let cli = cli(&agents);
    let turn = Turn {
        brief: "Mend it.",
        settings: &cli.settings,
        start: Start::New,
    };
    let built_in = harness::known("aider").expect("it is the example");
    let (here, there) = (cli.harness().command(&turn), built_in.command(&turn));
    assert_eq!(here.argv, there.argv);
    assert_eq!(here.stdin, there.stdin);
    assert_eq!(here.env, there.env);
    let file = here.file.expect("the brief is delivered in a file");
    assert_eq!(file.text, "Mend it.");
    assert!(
        here.argv
            .ends_with(&["high", "--message-file", ""].map(str::to_owned))
    );
}

#[test]
fn every_recording_is_judged_in_the_same_way() {
    let folder = repository().join("tests/agent-streams");
    let rows = fs::read_to_string(folder.join("expected.tsv")).expect("it is there");
    let reference = Reference {
        now: "2026-11-30T14:15:00Z".parse().expect("it is a time"),
        zone: jiff::tz::TimeZone::UTC,
    };
    let built_in = harness::known("aider").expect("it is the example");
    let mut judged = 0;
    let agents = agents();
    let cli = cli(&agents);
    for row in rows.lines().filter(|row| row.starts_with("aider-")) {
        let fields: Vec<&str> = row.split('\t').collect();
        let read = |ending: &str| {
            fs::read(folder.join(format!("{}.{ending}", fields[0]))).unwrap_or_default()
        };
        let (stdout, stderr) = (read("jsonl"), read("stderr"));
        let recording = Recording {
            stdout: &stdout,
            stderr: &stderr,
            status: fields[2].parse().expect("it is a status"),
        };
        let here = classify::recorded(cli.harness(), &recording, &reference);
        let there = classify::recorded(built_in, &recording, &reference);
        assert_eq!(here.turn, there.turn, "{}", fields[0]);
        assert_eq!(here.reset, there.reset, "{}", fields[0]);
        // The table of the other one knows refusals, too: they are neither, as what nobody knows.
        let name = |category| match category {
            Some(classify::Category::Quota) => "quota",
            Some(classify::Category::Unavailable) => "unavailable",
            Some(classify::Category::Neither) | None => "neither",
        };
        assert_eq!(name(here.category), name(there.category), "{}", fields[0]);
        judged += 1;
    }
    assert!(judged > 15, "the recordings are there: {judged}");
}
