//! The picture of a workflow as plain data: its tasks, what they wait for, what they do, and how far a run has come.
//!
//! It is made of a [`Plan`] and drawn by the modules below; it decides nothing and knows nothing of files or terminals.
//! Everything is in source order, the tasks of a called workflow right behind their caller.

use crate::plan::Plan;
use crate::program::{TaskId, WorkflowId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub mod ascii;
mod build;
pub mod dot;
pub mod json;
pub(crate) mod layers;
mod layout;
pub mod mermaid;
mod summary;
pub mod svg;
pub(crate) mod uses;
pub(crate) mod widths;
pub(crate) mod words;

pub use crate::graph::build::{MAX_CALL_DEPTH, MAX_CALLED_TASKS};
pub use crate::graph::uses::agents;
pub use crate::program::Trigger;

/// A workflow, ready to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The workflow's name.
    pub workflow: String,
    /// Its documentation comment.
    pub doc: Option<String>,
    /// Its tasks and those of the workflows that it calls.
    pub nodes: Vec<Node>,
    /// What waits for what, by the waiting task; each pair once.
    pub edges: Vec<Edge>,
    /// The agents that tasks use, with the members of lists.
    pub agents: Vec<Agent>,
    /// The sandboxes that tasks use.
    pub sandboxes: Vec<Sandbox>,
    /// What the picture leaves out, as sentences.
    pub notes: Vec<String>,
}

/// A node of a graph: an index into its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A task.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its key; `caller.callee` inside a called workflow.
    pub key: String,
    /// Which kind of task.
    pub kind: Kind,
    /// The task that calls the workflow which this one belongs to.
    pub parent: Option<NodeId>,
    /// The task in the program; `None` for a box that stands for many tasks.
    pub task: Option<(WorkflowId, TaskId)>,
    /// The documentation comment.
    pub doc: Option<String>,
    /// The condition, as written.
    pub when: Option<String>,
    /// When it runs relative to its dependencies.
    pub trigger: Trigger,
    /// `for x in list`.
    pub each: Option<Each>,
    /// How often an attempt is tried; 1 without `retry`.
    pub tries: u32,
    /// The deadline of an attempt; of a round in a loop.
    pub timeout: Option<Duration>,
    /// Whether results are cached.
    pub cached: bool,
    /// What it does.
    pub work: Work,
    /// The agents that it names, in the order of the program.
    pub agents: Vec<Arc<str>>,
    /// The sandboxes that it works in, in the order of the program.
    pub sandboxes: Vec<Arc<str>>,
    /// How far a run has come with it.
    pub state: Option<State>,
}

/// The kinds of boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One body.
    Task,
    /// Attempt and check until accepted.
    Loop,
    /// A gate that approves.
    Approval,
    /// A gate that lets go on.
    Pause,
    /// A question.
    Ask,
    /// Candidates against one another.
    Race,
    /// Many tasks in one box, where the picture would be too large.
    Summary,
}

impl Kind {
    /// The keyword that declares it.
    pub fn keyword(self) -> &'static str {
        match self {
            Kind::Task => "task",
            Kind::Loop => "loop",
            Kind::Approval => "approval",
            Kind::Pause => "pause",
            Kind::Ask => "ask",
            Kind::Race => "race",
            Kind::Summary => "tasks",
        }
    }
}

/// `for x in list`.
#[derive(Clone, Debug, PartialEq)]
pub struct Each {
    /// The variable.
    pub variable: String,
    /// The list, as written.
    pub list: String,
    /// How many items it has, where the file says so.
    pub count: Option<u64>,
    /// How many items run at once.
    pub parallel: Option<u32>,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Steps in order.
    Body(Vec<Step>),
    /// Steps that make a candidate, steps that reject or accept it.
    Loop {
        /// The most rounds.
        max_rounds: u64,
        /// Makes the candidate.
        attempt: Vec<Step>,
        /// Rejects or accepts it.
        check: Vec<Step>,
    },
    /// The same for each item, and one winner.
    Race {
        /// Whether the best wins, not the first.
        best: bool,
        /// Makes a candidate.
        attempt: Vec<Step>,
        /// Rejects or accepts it.
        check: Vec<Step>,
    },
    /// `approval`, `pause` and `ask`: waits for a person.
    Question {
        /// What is asked, as written.
        prompt: String,
        /// Who may decide.
        actors: Vec<String>,
        /// The choices, as written.
        choices: Option<String>,
    },
    /// A called workflow.
    Call {
        /// Its name.
        workflow: String,
        /// How many tasks it has.
        tasks: usize,
        /// Whether these are nodes of the graph.
        open: bool,
    },
    /// Many tasks in one box, described line by line.
    Summary(Vec<String>),
}

/// A step of a body or a check, in a few words.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// `run name { … }`.
    pub name: Option<String>,
    /// What kind of step.
    pub verb: Verb,
    /// The command, the agent, the called step, the condition.
    pub text: String,
    /// Where it works.
    pub sandbox: Option<Arc<str>>,
}

/// The kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are the words of the language")]
pub enum Verb {
    Value,
    Command,
    Shell,
    Assert,
    Agent,
    Continue,
    Fork,
    Step,
    Workflow,
    Reject,
    Accept,
}

/// One task waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Which is waited for.
    pub from: NodeId,
    /// Which waits.
    pub to: NodeId,
    /// Whether it waits until the other has settled, however it ended.
    pub soft: bool,
    /// Whether it reads the other's value; else the edge is for order alone.
    pub value: bool,
}

/// An agent that tasks use.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: Arc<str>,
    /// The harness and model of a plain one.
    pub harness: Option<String>,
    /// The model, where the file names one.
    pub model: Option<String>,
    /// The members of a fallback list, in their order.
    pub members: Vec<Arc<str>>,
    /// The faults that hand over to the next member.
    pub on: Vec<&'static str>,
}

/// A sandbox that tasks use.
#[derive(Clone, Debug, PartialEq)]
pub struct Sandbox {
    /// Its name.
    pub name: Arc<str>,
    /// Its provider.
    pub provider: Arc<str>,
    /// The branch, in words.
    pub branch: String,
    /// Whether every attempt opens its own.
    pub per_task: bool,
}

/// How far a run has come with a task.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its status.
    pub status: Status,
    /// How many attempts it took.
    pub attempts: u64,
    /// How many rounds a loop took.
    pub rounds: u64,
    /// The items of a `for`, by status.
    pub items: BTreeMap<Status, u64>,
}

impl State {
    /// A status without attempts.
    pub fn of(status: Status) -> State {
        State {
            status,
            attempts: 0,
            rounds: 0,
            items: BTreeMap::new(),
        }
    }
}

/// The states of a task (SEMANTICS R4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Not begun.
    Waiting,
    /// An attempt runs, or waits for its repetition.
    Active,
    /// It has its value.
    Done,
    /// It has an error.
    Failed,
    /// Its condition or a dependency ruled it out.
    Skipped,
    /// The run ended before it did.
    Cancelled,
    /// A gate is open, or a quota has to come back.
    Paused,
    /// A gate was refused.
    Rejected,
    /// A question is open.
    WaitingInput,
}

impl Status {
    /// As in reports.
    pub fn word(self) -> &'static str {
        match self {
            Status::Waiting => "waiting",
            Status::Active => "active",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
            Status::Cancelled => "cancelled",
            Status::Paused => "paused",
            Status::Rejected => "rejected",
            Status::WaitingInput => "waiting-input",
        }
    }
}

impl Graph {
    /// The graph of a plan.
    pub fn of(plan: &Plan) -> Graph {
        build::build(plan)
    }

    /// The same graph with the states of a run, by task key.
    ///
    /// The items of a `for` (`audit.0`) are counted at their task.
    pub fn with_states(mut self, states: &BTreeMap<String, State>) -> Graph {
        let places: BTreeMap<&str, usize> = self
            .nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (node.key.as_str(), at))
            .collect();
        let mut found: Vec<(usize, State)> = Vec::new();
        let mut items: Vec<(usize, Status)> = Vec::new();
        for (key, state) in states {
            match places.get(key.as_str()) {
                Some(at) => found.push((*at, state.clone())),
                None => items.extend(self.item_of(&places, key).map(|at| (at, state.status))),
            }
        }
        for (at, state) in found {
            self.nodes[at].state = Some(state);
        }
        for (at, status) in items {
            let state = self.nodes[at]
                .state
                .get_or_insert_with(|| State::of(Status::Waiting));
            *state.items.entry(status).or_default() += 1;
        }
        self
    }

    /// The same graph with every called workflow as a single box.
    pub fn collapsed(&self) -> Graph {
        let mut places = vec![None; self.nodes.len()];
        let mut graph = Graph {
            nodes: Vec::new(),
            edges: Vec::new(),
            ..self.clone()
        };
        for (at, node) in self.nodes.iter().enumerate() {
            if node.parent.is_some() {
                continue;
            }
            places[at] = Some(NodeId(graph.nodes.len() as u32));
            let mut node = node.clone();
            if let Work::Call { open, .. } = &mut node.work {
                *open = false;
            }
            graph.nodes.push(node);
        }
        graph.edges = self
            .edges
            .iter()
            .filter_map(|edge| {
                let place = |id: NodeId| places.get(id.index()).copied().flatten();
                let (from, to) = (place(edge.from)?, place(edge.to)?);
                Some(Edge { from, to, ..*edge })
            })
            .collect();
        graph
    }

    /// The nodes of each box: first those of the workflow itself, then by caller.
    pub(crate) fn children(&self) -> Children {
        let mut children = Children {
            roots: Vec::new(),
            inside: vec![Vec::new(); self.nodes.len()],
        };
        for (at, node) in self.nodes.iter().enumerate() {
            let id = NodeId(at as u32);
            match node.parent {
                Some(parent) if parent.index() < at => children.inside[parent.index()].push(id),
                Some(_) | None => children.roots.push(id),
            }
        }
        children
    }

    /// The edges between nodes that exist.
    pub(crate) fn sound_edges(&self) -> impl Iterator<Item = &Edge> {
        let count = self.nodes.len();
        let edges = self.edges.iter();
        edges.filter(move |edge| edge.from.index() < count && edge.to.index() < count)
    }

    /// The agent of a name.
    pub(crate) fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| &*agent.name == name)
    }

    fn item_of(&self, places: &BTreeMap<&str, usize>, key: &str) -> Option<usize> {
        let dots = key.match_indices('.').map(|(at, _)| at);
        let prefixes = dots.rev().filter_map(|dot| places.get(&key[..dot]));
        let many = |at: &usize| self.nodes[*at].each.is_some();
        prefixes.copied().find(many)
    }
}

/// Which nodes stand inside which.
pub(crate) struct Children {
    /// The workflow's own tasks.
    pub roots: Vec<NodeId>,
    /// Those of the workflow that a node calls.
    pub inside: Vec<Vec<NodeId>>,
}
