//! Executors: what performs an action.
//!
//! One request, one outcome. An executor never repeats an action, never falls back, and decides nothing.

use crate::event::{Phase, Usage};
use crate::fault::Fault;
use outpost_compiler::plan::Plan;
use outpost_compiler::program::Accepts;
use outpost_stdlib::{Type, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

pub mod local;
pub mod scripted;

/// An action in flight: unique in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionId(pub u64);

/// Everything that an action needs; its inputs are evaluated.
#[derive(Clone, Debug)]
pub struct ActionRequest {
    /// The action.
    pub id: ActionId,
    /// The run.
    pub run: Arc<str>,
    /// The task's key.
    pub task: Arc<str>,
    /// The attempt.
    pub attempt: u32,
    /// The round; 0 outside loops.
    pub round: u64,
    /// The phase.
    pub phase: Phase,
    /// The step's path.
    pub step: String,
    /// The same whenever this step of this phase is done again (SEMANTICS L6).
    pub idempotency_key: String,
    /// Whether it is written in a check: a command that cannot run is then no verdict (SEMANTICS L8).
    pub in_check: bool,
    /// What is to be done.
    pub command: CommandRequest,
    /// The whole environment of the process.
    pub environment: Vec<(String, String)>,
    /// The folder in which it runs, before `directory`.
    pub folder: PathBuf,
    /// The types that `returns` may name.
    pub plan: Arc<Plan>,
    /// Where its streams are kept: a path without `.out` and `.err`. Nothing in ephemeral runs.
    pub logs: Option<PathBuf>,
}

impl ActionRequest {
    /// The marker by which its processes are found again: `run/task/attempt/phase` (SEMANTICS S4).
    pub fn marker(&self) -> String {
        let phase = self.phase.name();
        format!("{}/{}/{}/{phase}", self.run, self.task, self.attempt)
    }
}

/// A command, its inputs evaluated.
#[derive(Clone, Debug)]
pub struct CommandRequest {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Standard input; empty without.
    pub stdin: Option<String>,
    /// Relative to the folder.
    pub directory: Option<String>,
    /// Its own environment.
    pub environment: Vec<(String, String)>,
    /// Which exit statuses are no failure.
    pub accepts: Accepts,
    /// The type of its standard output as JSON.
    pub returns: Option<Type>,
    /// Its own deadline.
    pub timeout: Option<Duration>,
    /// The longest silence.
    pub idle: Option<Duration>,
    /// How many bytes of each stream the result keeps.
    pub keep: u64,
}

/// How an action ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// With a result.
    Done(Value),
    /// With a fault; a quota has code `quota`, and its reset where known.
    Failed(Box<Fault>),
}

/// Tokens that an action says it used.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageReport {
    /// What makes it count once.
    pub receipt: Option<String>,
    /// The tokens.
    pub usage: Usage,
}

/// What an executor says.
#[derive(Debug)]
pub enum Report {
    /// Tokens were used.
    Usage(ActionId, UsageReport),
    /// The action has ended, and so have all its processes.
    Ended(ActionId, Outcome),
}

/// Where executors report to.
#[derive(Clone, Debug)]
pub struct Outcomes {
    sender: UnboundedSender<Report>,
}

impl Outcomes {
    /// A sink in front of a channel.
    pub fn new(sender: UnboundedSender<Report>) -> Outcomes {
        Outcomes { sender }
    }

    /// The action has ended.
    pub fn ended(&self, id: ActionId, outcome: Outcome) {
        // A driver that is gone wants to know nothing more.
        let _ = self.sender.send(Report::Ended(id, outcome));
    }

    /// The action used tokens.
    pub fn usage(&self, id: ActionId, report: UsageReport) {
        let _ = self.sender.send(Report::Usage(id, report));
    }
}

/// How an action is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopHow {
    /// Asked first, killed after a grace period.
    Gracefully,
    /// Killed.
    Now,
}

/// Performs actions.
pub trait Executor {
    /// Starts an action; its outcome comes through the sink, exactly once.
    fn start(&mut self, request: ActionRequest, outcomes: &Outcomes);
    /// Stops an action that is in flight; its outcome still comes.
    fn stop(&mut self, id: ActionId, how: StopHow);
    /// Lets go of what it holds; nothing is in flight any more.
    fn close(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// The environment of the machine, as the host gives it.
#[derive(Clone, Debug, Default)]
pub struct HostEnvironment {
    variables: BTreeMap<String, String>,
}

/// What reaches every action (LANGUAGE §12).
const ALLOWED: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR"];

impl HostEnvironment {
    /// From names and values.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> HostEnvironment {
        HostEnvironment {
            variables: variables.into_iter().collect(),
        }
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// What reaches every action.
    pub fn allowed(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = self.variables.iter();
        let allowed = variables
            .filter(|(name, _)| ALLOWED.contains(&name.as_str()) || name.starts_with("LC_"));
        allowed.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
