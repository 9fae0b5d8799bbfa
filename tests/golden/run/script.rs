//! What the actions of a case answer.

use outpost_compiler::program::Accepts;
use outpost_runtime::agents::{Agents, Driven};
use outpost_runtime::answer;
use outpost_runtime::clock::Timestamp;
use outpost_runtime::event::Usage;
use outpost_runtime::executor::script::{self, Script as Turn};
use outpost_runtime::executor::scripted::Answer as Scripted;
use outpost_runtime::executor::{
    ActionRequest, Answer as Given, Outcome, TurnOutcome, TurnRequest, UsageReport,
};
use outpost_runtime::fault::{Fault, FaultCode};
use outpost_runtime::harness::Start;
use outpost_runtime::runnable::Types;
use outpost_stdlib::Value;
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::time::Duration;

/// `script.json`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Script {
    /// The inputs of the run.
    #[serde(default)]
    pub inputs: Map<String, Json>,
    /// The budget of attempts, instead of the file's.
    pub budget_attempts: Option<u64>,
    /// When somebody asks for the run's end, after each start.
    pub interrupt_at_ms: Option<u64>,
    /// When the run is resumed, after its first start, as long as it is not done.
    #[serde(default)]
    pub resume_at_ms: Vec<u64>,
    /// Whether what was live or cancelled may then run again.
    #[serde(default)]
    pub retry_incomplete: bool,
    /// A run that was stopped has less of its budget left: it fails for that all the same, but not at the same task.
    #[serde(default)]
    pub spent_anyway: bool,
    /// Agents name their conversation with their answer, not at the beginning of a turn.
    #[serde(default)]
    unnamed: bool,
    /// The answers by `task`, `task/phase` or `task/phase/step`: the longest that is there counts.
    ///
    /// In a loop the first is for round 1, the second for round 2, and so on; elsewhere the second is for the try after the first failed one.
    /// The last is repeated, and without any the action succeeds and says nothing.
    #[serde(default)]
    answers: BTreeMap<String, Vec<Answer>>,
    /// Places where the run is stopped for which the calls are known.
    #[serde(default)]
    pub stops: Vec<Stop>,
}

/// A stop while an action is in flight.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The action: `task/phase/step` as in a trace.
    #[serde(rename = "in")]
    pub action: String,
    /// Its round.
    pub round: u64,
    /// All calls, before the stop and after it.
    pub trace: Vec<String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Answer {
    /// How long it takes.
    takes_ms: u64,
    /// How long it takes to clean up when it is stopped.
    cleanup_ms: u64,
    status: i32,
    /// The signal it dies by.
    signal: Option<i32>,
    stdout: String,
    stderr: String,
    /// A fault instead of a result.
    fault: Option<ScriptFault>,
    usage: Vec<ScriptUsage>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScriptFault {
    code: FaultCode,
    message: String,
    #[serde(default)]
    unavailable: bool,
    retry_after_ms: Option<u64>,
    /// How long until a limit is renewed.
    reset_in_ms: Option<u64>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScriptUsage {
    receipt: Option<String>,
    usage: Usage,
}

impl Script {
    /// What an action answers; `failures` tells how many tries of its task have failed for good.
    pub fn answer(&self, request: &ActionRequest, failures: usize, now: Timestamp) -> Scripted {
        let task = &request.task;
        let phase = request.phase.name();
        let step = &request.step;
        let addresses = [
            format!("{task}/{phase}/{step}"),
            format!("{task}/{phase}"),
            task.to_string(),
        ];
        let answers = addresses
            .iter()
            .find_map(|address| self.answers.get(address));
        let index = match request.round {
            0 => failures,
            round => round as usize - 1,
        };
        let answer = answers.and_then(|answers| answers.get(index).or(answers.last()));
        answer.cloned().unwrap_or_default().scripted(request, now)
    }

    /// What an agent answers.
    pub fn turn(&self, request: &ActionRequest, turn: &TurnRequest, now: Timestamp) -> Scripted {
        let mut answer = scripted_turn(request, turn, now);
        if self.unnamed {
            answer.conversation = None;
        }
        answer
    }
}

impl Answer {
    fn scripted(self, request: &ActionRequest, now: Timestamp) -> Scripted {
        let outcome = self.outcome(request, now);
        let mut scripted = Scripted::new(outcome)
            .after(Duration::from_millis(self.takes_ms))
            .cleaning_up(Duration::from_millis(self.cleanup_ms));
        scripted.usage = self.usage.into_iter().map(reported).collect();
        scripted
    }

    /// As the executor of commands would tell it.
    fn outcome(&self, request: &ActionRequest, now: Timestamp) -> Outcome {
        if let Some(fault) = &self.fault {
            let mut told = Fault::new(fault.code, fault.message.clone());
            told.unavailable = fault.unavailable;
            told.retry_after_ms = fault.retry_after_ms;
            let reset = fault.reset_in_ms.map(Duration::from_millis);
            told.reset_at = reset.map(|wait| now.after(wait));
            return Outcome::Failed(Box::new(told));
        }
        let process =
            |message: String| Outcome::Failed(Box::new(Fault::new(FaultCode::Process, message)));
        let status = self.status;
        let nothing = Accepts::Only(Vec::new());
        let command = request.work.command();
        let accepts = command.map_or(&nothing, |command| &command.accepts);
        match (self.signal, accepts) {
            (Some(signal), _) => process(format!("killed by signal {signal}")),
            (None, _) if request.in_check && matches!(status, 126 | 127) => {
                process("it cannot be run".to_owned())
            }
            (None, Accepts::Only(accepted)) if status != 0 && !accepted.contains(&status) => {
                process(format!("exit status {status}"))
            }
            (None, Accepts::Only(_) | Accepts::Any) => Outcome::Done(self.result()),
        }
    }

    fn result(&self) -> Value {
        let fields = [
            ("status", Value::Int(self.status.into())),
            ("stdout", Value::text(self.stdout.as_str())),
            ("stderr", Value::text(self.stderr.as_str())),
            ("truncated", Value::Bool(false)),
        ];
        Value::object(fields)
    }
}

/// What a scripted agent answers; it edits nothing here.
fn scripted_turn(request: &ActionRequest, turn: &TurnRequest, now: Timestamp) -> Scripted {
    let agents = Agents::of(&request.plan);
    let Some(Driven::Scripted(turns)) = agents.get(turn.agent) else {
        let fault = Fault::new(FaultCode::Configuration, "only scripted agents answer here");
        return Scripted::new(Outcome::Failed(Box::new(fault)));
    };
    let Some(script) = Turn::of(turns, turn.number) else {
        let fault = script::exhausted(&turn.name, turns, turn.number);
        return Scripted::new(Outcome::Failed(Box::new(fault)));
    };
    let text = script.answer();
    let types = Types(&request.plan);
    let value = turn
        .response
        .as_ref()
        .map(|wanted| answer::read(&text, wanted, &types).map_err(|fault| fault.to_string()));
    let result = match script.failure(&turn.name, now) {
        Some(fault) => Err(Box::new(fault)),
        None => Ok(Given {
            text,
            value,
            ..Given::default()
        }),
    };
    let conversation = match &turn.start {
        Start::Continue(conversation) => conversation.to_string(),
        Start::New | Start::Fork(_) => script::conversation(&turn.name, turn.number),
    };
    let outcome = TurnOutcome {
        result,
        conversation: Some(conversation.clone()),
        head: None,
        usage: script.usage(),
        total: None,
    };
    let delay = script.milliseconds("delay").unwrap_or_default();
    let mut answer = Scripted::new(Outcome::Turned(Box::new(outcome))).after(delay);
    answer.conversation = Some(conversation);
    answer
}

fn reported(usage: ScriptUsage) -> UsageReport {
    UsageReport {
        receipt: usage.receipt,
        usage: usage.usage,
    }
}
