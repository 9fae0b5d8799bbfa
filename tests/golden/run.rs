//! `run/`: a workflow and what its actions answer; no process is started and no time passes.
//!
//! A case is a folder with `main.outpost` and `script.json`, mostly with `expect.json` too.
//! It is run once undisturbed: what `expect.json` says must hold, and the public events, the output and the exit code are compared with a snapshot.
//! A run that pauses is resumed at the times that `script.json` gives.
//! Then it is stopped before each durable write and resumed, first without permission and then with it, and must come to the same end.

#[path = "run/engine.rs"]
mod engine;
#[path = "run/script.rs"]
mod script;
#[path = "run/stops.rs"]
mod stops;

use crate::{compare, entries};
use engine::{Asked, Call, Session};
use libtest_mimic::Failed;
use outpost_runtime::event::Status;
use outpost_runtime::fault::FaultCode;
use outpost_runtime::{RunRecord, RunStatus};
use script::Script;
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The cases below a folder.
pub fn find(folder: &Path) -> Vec<PathBuf> {
    let mut found = entries(folder);
    found.retain(|case| case.join("script.json").is_file());
    found
}

/// What must hold in the undisturbed run; what is not said is not compared.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Expect {
    /// The exit code.
    exit: Option<u8>,
    status: Option<String>,
    /// The code of what went wrong; null if nothing may have gone wrong.
    #[serde(default, deserialize_with = "said")]
    code: Option<Json>,
    #[serde(default, deserialize_with = "said")]
    output: Option<Json>,
    /// The statuses of tasks.
    #[serde(default)]
    tasks: BTreeMap<String, String>,
    /// The attempts of tasks.
    #[serde(default)]
    attempts: BTreeMap<String, u32>,
    /// The rounds of loops.
    #[serde(default)]
    rounds: BTreeMap<String, usize>,
    /// How many public events of a kind there are.
    #[serde(default)]
    events: BTreeMap<String, usize>,
    /// How many actions may be in flight at one time.
    at_most: Option<usize>,
    /// How each start of the run ended, where it is resumed.
    ends: Option<Vec<String>>,
    /// All tokens of the run: input and output.
    tokens: Option<(u64, u64)>,
    /// What agents were asked, turn by turn.
    turns: Option<Vec<ExpectedTurn>>,
    /// How long its last start takes on the virtual clock.
    took_ms: Option<u64>,
    /// How many different idempotency keys the actions of loops were given.
    idempotency_keys: Option<usize>,
    /// The calls in their order: `task attempt`, in loops `task/phase attempt` or `task/phase/step attempt`;
    /// of an agent with `agent#turn` behind.
    trace: Option<Vec<String>>,
}

/// What an agent was asked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExpectedTurn {
    agent: String,
    /// `new`, `continue a-1`, `fork a-1`.
    start: String,
    /// The brief.
    brief: Option<String>,
    /// What is in it.
    #[serde(default)]
    says: Vec<String>,
    /// What is not in it.
    #[serde(default)]
    never_says: Vec<String>,
}

impl ExpectedTurn {
    fn difference(&self, asked: &Asked) -> Option<String> {
        let same = self.agent == asked.agent
            && self.start == asked.start
            && self
                .brief
                .as_ref()
                .is_none_or(|brief| *brief == asked.brief)
            && self.says.iter().all(|words| asked.brief.contains(words))
            && !self
                .never_says
                .iter()
                .any(|words| asked.brief.contains(words));
        (!same).then(|| format!("another turn was asked for: {asked:?}"))
    }
}

/// A field that is there, be it null.
fn said<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(from).map(Some)
}

/// Runs one case.
pub fn test(folder: &Path) -> Result<(), Failed> {
    let script: Script = serde_json::from_str(&fs::read_to_string(folder.join("script.json"))?)?;
    let expect = match fs::read_to_string(folder.join("expect.json")) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Expect::default(),
    };
    let case = engine::Case::compile(folder, script)?;
    let story = case.story();
    for session in &story {
        if let Err(fault) = &session.ended {
            return Err(format!("the run broke off: {fault}").into());
        }
    }
    compare(folder, "output", &shown(&case.script, &story));
    let wrong = differences(&expect, &story);
    if !wrong.is_empty() {
        return Err(wrong.join("\n").into());
    }
    stops::everywhere(&case, &story)
}

/// The snapshot of a run.
fn shown(script: &Script, story: &[Session]) -> String {
    let mut text = String::new();
    for (at, session) in story.iter().enumerate() {
        if let Some(before) = at.checked_sub(1) {
            let ms = script.resume_at_ms[before];
            text.push_str(&format!("--- resumed at {ms} ms\n"));
        }
        for event in &session.events {
            text.push_str(&serde_json::to_string(event).expect("an event is JSON"));
            text.push('\n');
        }
        let Ok(record) = &session.ended else { continue };
        if record.status == RunStatus::Ended(Status::Done) {
            let output = serde_json::to_string(&record.output).expect("a value is JSON");
            text.push_str(&format!("--- stdout\n{output}\n"));
        }
        text.push_str(&format!("--- exit {}\n", exit_code(record)));
    }
    text.replace(
        &format!("\"outpostc\":\"{}\"", env!("CARGO_PKG_VERSION")),
        "\"outpostc\":\"[version]\"",
    )
}

/// The exit code of a run that has ended (SEMANTICS R7).
fn exit_code(record: &RunRecord) -> u8 {
    let RunStatus::Ended(status) = record.status else {
        return 70;
    };
    match (status, record.code) {
        (Status::Done, _) => 0,
        (Status::Failed, Some(FaultCode::Limit | FaultCode::UsageUnavailable)) => 6,
        (Status::Failed, Some(FaultCode::Exhausted)) => 7,
        (Status::Failed | Status::Skipped, _) => 1,
        (Status::Rejected, _) => 4,
        (Status::Paused | Status::WaitingInput, _) => 3,
        (Status::Cancelled, _) => 130,
    }
}

fn differences(expect: &Expect, story: &[Session]) -> Vec<String> {
    let mut wrong = Vec::new();
    let records: Vec<&RunRecord> = story.iter().flat_map(|session| &session.ended).collect();
    let (Some(last), Some(record)) = (story.last(), records.last()) else {
        return vec!["there is no end".to_owned()];
    };
    let calls: Vec<&Call> = story.iter().flat_map(|session| &session.calls).collect();
    let mut same = |what: &str, wanted: Option<Json>, is: Json| {
        if let Some(wanted) = wanted
            && wanted != is
        {
            wrong.push(format!("{what}: expected {wanted}, is {is}"));
        }
    };
    same(
        "exit",
        expect.exit.map(Json::from),
        exit_code(record).into(),
    );
    same(
        "status",
        expect.status.clone().map(Json::from),
        record.status.name().into(),
    );
    let code = record.code.map(FaultCode::name);
    same("code", expect.code.clone(), code.into());
    let output = serde_json::to_value(&record.output).unwrap_or_default();
    same("output", expect.output.clone(), output);
    for (key, status) in &expect.tasks {
        let is = record.task(key).map(|task| task.status.name());
        same(key, Some(status.as_str().into()), is.into());
    }
    for (key, attempts) in &expect.attempts {
        let is = record.task(key).map(|task| task.attempts);
        same(
            &format!("attempts of {key}"),
            Some((*attempts).into()),
            is.into(),
        );
    }
    for (key, rounds) in &expect.rounds {
        let is = record.task(key).map(|task| task.rounds.len());
        same(
            &format!("rounds of {key}"),
            Some((*rounds).into()),
            is.into(),
        );
    }
    for (kind, count) in &expect.events {
        let events = story.iter().flat_map(|session| &session.events);
        let is = events.filter(|event| event.kind == *kind).count();
        same(
            &format!("events `{kind}`"),
            Some((*count).into()),
            is.into(),
        );
    }
    same(
        "ms",
        expect.took_ms.map(Json::from),
        (last.took.as_millis() as u64).into(),
    );
    let ends: Vec<&str> = records.iter().map(|record| record.status.name()).collect();
    same("ends", expect.ends.clone().map(Json::from), ends.into());
    let usage = record.usage.clone().unwrap_or_default();
    same(
        "tokens",
        expect.tokens.map(|tokens| serde_json::json!(tokens)),
        serde_json::json!([usage.input, usage.output]),
    );
    let in_loops = calls.iter().filter(|call| call.round > 0);
    let keys: BTreeSet<&str> = in_loops.map(|call| call.idempotency_key.as_str()).collect();
    same(
        "idempotency keys",
        expect.idempotency_keys.map(Json::from),
        keys.len().into(),
    );
    let trace: Vec<String> = calls.iter().map(|call| call.named()).collect();
    same("trace", expect.trace.clone().map(Json::from), trace.into());
    let most_at_once = story.iter().map(|session| session.most_at_once).max();
    if most_at_once > expect.at_most.or(most_at_once) {
        wrong.push(format!(
            "{most_at_once:?} actions were in flight at one time"
        ));
    }
    if let Some(expected) = &expect.turns {
        let asked: Vec<&Asked> = calls.iter().filter_map(|call| call.turn.as_ref()).collect();
        let each = expected.iter().zip(&asked);
        wrong.extend(each.filter_map(|(expected, asked)| expected.difference(asked)));
        if expected.len() != asked.len() {
            wrong.push(format!("{} turns were taken", asked.len()));
        }
    }
    wrong
}
