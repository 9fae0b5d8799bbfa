//! What the actions of a case answer.

use outpost_compiler::program::Accepts;
use outpost_runtime::event::Usage;
use outpost_runtime::executor::scripted::Answer as Scripted;
use outpost_runtime::executor::{ActionRequest, Outcome, UsageReport};
use outpost_runtime::fault::{Fault, FaultCode};
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
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScriptUsage {
    receipt: Option<String>,
    usage: Usage,
}

impl Script {
    /// What an action answers; `failures` tells how many tries of its task have failed for good.
    pub fn answer(&self, request: &ActionRequest, failures: usize) -> Scripted {
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
        answer.cloned().unwrap_or_default().scripted(request)
    }
}

impl Answer {
    fn scripted(self, request: &ActionRequest) -> Scripted {
        let outcome = self.outcome(request);
        let mut scripted = Scripted::new(outcome)
            .after(Duration::from_millis(self.takes_ms))
            .cleaning_up(Duration::from_millis(self.cleanup_ms));
        scripted.usage = self.usage.into_iter().map(reported).collect();
        scripted
    }

    /// As the executor of commands would tell it.
    fn outcome(&self, request: &ActionRequest) -> Outcome {
        if let Some(fault) = &self.fault {
            let mut told = Fault::new(fault.code, fault.message.clone());
            told.unavailable = fault.unavailable;
            told.retry_after_ms = fault.retry_after_ms;
            return Outcome::Failed(Box::new(told));
        }
        let process =
            |message: String| Outcome::Failed(Box::new(Fault::new(FaultCode::Process, message)));
        let status = self.status;
        match (self.signal, &request.command.accepts) {
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

fn reported(usage: ScriptUsage) -> UsageReport {
    UsageReport {
        receipt: usage.receipt,
        usage: usage.usage,
    }
}
