//! Executors: what performs an action.
//!
//! One request, one outcome. An executor never repeats an action, never falls back, and decides nothing.

use crate::event::{Left, Phase, Usage};
use crate::fault::Fault;
use crate::harness::{AgentEvent, Baseline, Start};
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{Accepts, AgentId, SandboxId};
use outpost_stdlib::{Type, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

pub mod local;
pub mod script;
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
    pub work: Work,
    /// The whole environment of the process.
    pub environment: Vec<(String, String)>,
    /// Where it runs; without one in the folder.
    pub sandbox: Option<SandboxId>,
    /// The folder of the workflow's file.
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

/// What an action does.
#[derive(Clone, Debug)]
pub enum Work {
    /// It runs a program.
    Command(CommandRequest),
    /// An agent takes a turn.
    Turn(Box<TurnRequest>),
}

impl Work {
    /// The command, if it is one.
    pub fn command(&self) -> Option<&CommandRequest> {
        match self {
            Work::Command(command) => Some(command),
            Work::Turn(_) => None,
        }
    }

    /// The turn, if it is one.
    pub fn turn(&self) -> Option<&TurnRequest> {
        match self {
            Work::Command(_) => None,
            Work::Turn(turn) => Some(turn),
        }
    }
}

/// A turn of an agent, its inputs evaluated.
#[derive(Clone, Debug)]
pub struct TurnRequest {
    /// The agent, a plain one.
    pub agent: AgentId,
    /// Its name.
    pub name: String,
    /// Which of its turns in this run this is, from 0: a scripted agent answers by it.
    pub number: u32,
    /// What it is told, with what is asked of its answer's form.
    pub brief: String,
    /// In which conversation.
    pub start: Start,
    /// What was used in that conversation before.
    pub baseline: Baseline,
    /// The type of its answer.
    pub response: Option<Type>,
    /// The commit that was checked out when the step began, if that was earlier.
    pub since: Option<String>,
    /// The variables of `auth`.
    pub credentials: Vec<(String, String)>,
    /// Its deadline.
    pub timeout: Option<Duration>,
    /// The longest silence.
    pub idle: Option<Duration>,
    /// The longest time in which nothing but notices of retries comes.
    pub give_up_after: Option<Duration>,
}

/// What an agent's turn gave.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The answer.
    pub text: String,
    /// The answer of the type that was asked for, or what is wrong with it; nothing if none was asked for.
    pub value: Option<Result<Value, String>>,
    /// The commits that were made since the step began: id and subject.
    pub commits: Vec<(String, String)>,
    /// The branch that is checked out.
    pub branch: String,
}

/// How an agent's turn ended.
#[derive(Clone, Debug)]
pub struct TurnOutcome {
    /// What it gave, or why it failed.
    pub result: Result<Answer, Box<Fault>>,
    /// The agent's name of the conversation.
    pub conversation: Option<String>,
    /// The commit that was checked out when the step began.
    pub head: Option<String>,
    /// Tokens of the turn.
    pub usage: Option<Usage>,
    /// Tokens of the whole conversation.
    pub total: Option<Usage>,
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
    /// The turn of an agent has ended.
    Turned(Box<TurnOutcome>),
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
    /// The agent has named its conversation; the commit is that of the step's beginning.
    Session(ActionId, String, Option<String>),
    /// The agent does something. Nothing depends on it.
    Agent(ActionId, AgentEvent),
    /// The action has ended, and so have all its processes; how it left its sandbox.
    Ended(ActionId, Outcome, Option<Left>),
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
        self.left(id, outcome, None);
    }

    /// The action has ended, in a sandbox.
    pub fn left(&self, id: ActionId, outcome: Outcome, left: Option<Left>) {
        // A driver that is gone wants to know nothing more.
        let _ = self.sender.send(Report::Ended(id, outcome, left));
    }

    /// The agent has named its conversation.
    pub fn session(&self, id: ActionId, conversation: String, head: Option<String>) {
        let _ = self.sender.send(Report::Session(id, conversation, head));
    }

    /// The agent does something.
    pub fn agent(&self, id: ActionId, event: AgentEvent) {
        let _ = self.sender.send(Report::Agent(id, event));
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

/// Which sandboxes of a run are to be looked at.
#[derive(Clone, Debug)]
pub struct Look {
    /// The run.
    pub run: Arc<str>,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// The folder of the workflow's file.
    pub folder: PathBuf,
    /// The folder of the run.
    pub checkpoint: Option<PathBuf>,
    /// The sandboxes.
    pub sandboxes: Vec<SandboxId>,
}

/// Performs actions.
pub trait Executor {
    /// Starts an action; its outcome comes through the sink, exactly once.
    fn start(&mut self, request: ActionRequest, outcomes: &Outcomes);
    /// Stops an action that is in flight; its outcome still comes.
    fn stop(&mut self, id: ActionId, how: StopHow);
    /// How sandboxes are now; nothing for one that cannot be looked at.
    fn look(&mut self, at: Look) -> Pin<Box<dyn Future<Output = Vec<Option<Left>>> + '_>> {
        let unknown = at.sandboxes.iter().map(|_| None).collect();
        Box::pin(std::future::ready(unknown))
    }
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
