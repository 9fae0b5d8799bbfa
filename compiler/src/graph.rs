//! The picture of a workflow as plain data: its tasks, what they wait for, what they do, and how far a run has come.
//!
//! It is made of a [`Plan`] and drawn by the modules below; it decides nothing and knows nothing of files or terminals.
//! Everything is in source order, the tasks of a called workflow right behind their caller.

use crate::graph::words::Words;
use crate::plan::Plan;
use crate::program::{
    self, Action, AgentKind, Body, Branch, Check, CheckItem, Program, Task, TaskId, TaskKind,
    WorkflowId,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

pub mod ascii;
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

pub use crate::program::Trigger;

/// How deep called workflows are drawn inside their callers; a deeper one is a single box.
pub const MAX_CALL_DEPTH: usize = 16;

/// How many tasks of called workflows a graph holds; a call beyond it is a single box.
pub const MAX_CALLED_TASKS: usize = 20_000;

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
        let program = plan.program();
        let workflow = plan.workflow();
        let mut build = Build {
            program,
            words: Words::new(program),
            graph: Graph {
                workflow: workflow.name.to_string(),
                doc: workflow.doc.as_deref().map(str::to_owned),
                ..Graph::default()
            },
            called: 0,
            agents: BTreeSet::new(),
            sandboxes: BTreeSet::new(),
        };
        build.workflow(plan.workflow_id(), None, 0);
        build.finish()
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
                let (from, to) = (places[edge.from.index()]?, places[edge.to.index()]?);
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

struct Build<'p> {
    program: &'p Program,
    words: Words<'p>,
    graph: Graph,
    called: usize,
    agents: BTreeSet<program::AgentId>,
    sandboxes: BTreeSet<program::SandboxId>,
}

impl Build<'_> {
    fn workflow(&mut self, id: WorkflowId, parent: Option<NodeId>, depth: usize) {
        let tasks = &self.program.workflows[id.index()].tasks;
        let mut places = Vec::with_capacity(tasks.len());
        let mut reads = Vec::with_capacity(tasks.len());
        for (at, task) in tasks.iter().enumerate() {
            let place = NodeId(self.graph.nodes.len() as u32);
            places.push(place);
            let uses = uses::of(self.program, task);
            let open = self.opens(task, depth);
            let mut node = self.node(task, parent, &uses);
            node.task = Some((id, TaskId(at as u32)));
            if let Work::Call { open: flag, .. } = &mut node.work {
                *flag = open.is_some();
            }
            reads.push(uses.reads);
            self.agents.extend(uses.agents);
            self.sandboxes.extend(uses.sandboxes);
            self.graph.nodes.push(node);
            if let Some(callee) = open {
                self.called += self.program.workflows[callee.index()].tasks.len();
                self.workflow(callee, Some(place), depth + 1);
            }
        }
        for (at, task) in tasks.iter().enumerate() {
            self.edges(task, places[at], &places, &reads[at]);
        }
    }

    /// The workflow that a task calls, if it is drawn inside.
    fn opens(&self, task: &Task, depth: usize) -> Option<WorkflowId> {
        let callee = called_workflow(task)?;
        let tasks = self.program.workflows[callee.index()].tasks.len();
        let fits = depth < MAX_CALL_DEPTH && self.called + tasks <= MAX_CALLED_TASKS;
        (fits && tasks > 0).then_some(callee)
    }

    fn edges(&mut self, task: &Task, to: NodeId, places: &[NodeId], reads: &BTreeSet<TaskId>) {
        let mut known: HashMap<NodeId, usize> = HashMap::new();
        for dependency in &task.dependencies {
            let from = places[dependency.task.index()];
            let next = self.graph.edges.len();
            let at = *known.entry(from).or_insert(next);
            if at < next {
                self.graph.edges[at].soft &= dependency.soft;
                continue;
            }
            self.graph.edges.push(Edge {
                from,
                to,
                soft: dependency.soft,
                value: reads.contains(&dependency.task),
            });
        }
    }

    fn node(&self, task: &Task, parent: Option<NodeId>, uses: &uses::Uses) -> Node {
        let key = match parent {
            Some(parent) => format!("{}.{}", self.graph.nodes[parent.index()].key, task.key),
            None => task.key.to_string(),
        };
        let agents = uses.named.iter();
        let sandboxes = uses.sandboxes.iter();
        Node {
            key,
            kind: kind_of(&task.kind),
            parent,
            task: None,
            doc: task.doc.as_deref().map(str::to_owned),
            when: task.when.as_ref().map(|when| self.words.expr(when)),
            trigger: task.trigger,
            each: task.each.as_ref().map(|each| Each {
                variable: each.name.to_string(),
                list: self.words.expr(&each.list),
                count: uses::length(&each.list),
                parallel: each.parallel,
            }),
            tries: task.retry.as_ref().map_or(1, |retry| retry.attempts.max(1)),
            timeout: task.timeout,
            cached: task.cache.is_some(),
            work: self.work(task),
            agents: agents
                .map(|id| self.program.agents[id.index()].name.clone())
                .collect(),
            sandboxes: sandboxes
                .map(|id| self.program.sandboxes[id.index()].name.clone())
                .collect(),
            state: None,
        }
    }

    fn work(&self, task: &Task) -> Work {
        match &task.kind {
            TaskKind::Task(body) => match called_workflow(task) {
                Some(callee) => {
                    let callee = &self.program.workflows[callee.index()];
                    Work::Call {
                        workflow: callee.name.to_string(),
                        tasks: callee.tasks.len(),
                        open: false,
                    }
                }
                None => Work::Body(self.body(body)),
            },
            TaskKind::Loop(looping) => Work::Loop {
                max_rounds: looping.max_rounds,
                attempt: self.body(&looping.attempt),
                check: self.check(&looping.check),
            },
            TaskKind::Race(race) => Work::Race {
                best: race.best,
                attempt: self.body(&race.attempt),
                check: self.check(&race.check),
            },
            TaskKind::Gate(gate) => Work::Question {
                prompt: self.words.text(&gate.prompt),
                actors: gate.actors.iter().map(|actor| actor.to_string()).collect(),
                choices: None,
            },
            TaskKind::Ask(ask) => Work::Question {
                prompt: self.words.text(&ask.question),
                actors: ask.actors.iter().map(|actor| actor.to_string()).collect(),
                choices: ask.choices.as_ref().map(|choices| self.words.list(choices)),
            },
        }
    }

    fn body(&self, body: &Body) -> Vec<Step> {
        body.steps.iter().map(|step| self.step(step)).collect()
    }

    fn check(&self, check: &Check) -> Vec<Step> {
        let items = check.items.iter();
        items
            .map(|item| match item {
                CheckItem::Step(step) => self.step(step),
                CheckItem::Reject { when, .. } => self.rule(Verb::Reject, when),
                CheckItem::Accept { when, .. } => self.rule(Verb::Accept, when),
            })
            .collect()
    }

    fn rule(&self, verb: Verb, when: &program::Expr) -> Step {
        Step {
            name: None,
            verb,
            text: self.words.expr(when),
            sandbox: None,
        }
    }

    fn step(&self, step: &program::Step) -> Step {
        let (verb, text) = self.words.action(&step.action);
        let sandbox = match &step.action {
            Action::Command(command) => command.sandbox,
            Action::Agent(turn) => turn.sandbox,
            Action::Value(_) | Action::Assert { .. } => None,
            Action::Call { .. } | Action::Workflow { .. } => None,
        };
        Step {
            name: step.name.as_deref().map(str::to_owned),
            verb,
            text,
            sandbox: sandbox.and_then(|(sandbox, _)| match sandbox {
                program::SandboxRef::Named(id) => {
                    Some(self.program.sandboxes[id.index()].name.clone())
                }
                program::SandboxRef::Param(_) => None,
            }),
        }
    }

    fn finish(mut self) -> Graph {
        // Those of a called workflow were found before those of its caller.
        self.graph.edges.sort_by_key(|edge| edge.to);
        let agents = self.agents.iter();
        self.graph.agents = agents
            .map(|id| self.agent(&self.program.agents[id.index()]))
            .collect();
        let sandboxes = self.sandboxes.iter();
        self.graph.sandboxes = sandboxes
            .map(|id| {
                let sandbox = &self.program.sandboxes[id.index()];
                Sandbox {
                    name: sandbox.name.clone(),
                    provider: sandbox.provider.clone(),
                    branch: branch_words(&sandbox.branch),
                    per_task: sandbox.per_task,
                }
            })
            .collect();
        self.graph
    }

    fn agent(&self, agent: &program::Agent) -> Agent {
        let mut drawn = Agent {
            name: agent.name.clone(),
            harness: None,
            model: None,
            members: Vec::new(),
            on: Vec::new(),
        };
        match &agent.kind {
            AgentKind::Plain(plain) => {
                drawn.harness = Some(plain.harness.to_string());
                drawn.model = plain.model.as_deref().map(str::to_owned);
            }
            AgentKind::Fallback {
                members,
                on_quota,
                on_unavailable,
            } => {
                let names = members
                    .iter()
                    .map(|id| self.program.agents[id.index()].name.clone());
                drawn.members = names.collect();
                let faults = [("quota", *on_quota), ("unavailable", *on_unavailable)];
                drawn.on = faults
                    .iter()
                    .filter(|fault| fault.1)
                    .map(|fault| fault.0)
                    .collect();
            }
            AgentKind::Broken => {}
        }
        drawn
    }
}

/// The workflow that a task calls: the single action of a `task` (SEMANTICS S7).
pub(crate) fn called_workflow(task: &Task) -> Option<WorkflowId> {
    let TaskKind::Task(body) = &task.kind else {
        return None;
    };
    match body.steps.first().map(|step| &step.action) {
        Some(Action::Workflow { workflow, .. }) => Some(*workflow),
        Some(_) | None => None,
    }
}

fn kind_of(kind: &TaskKind) -> Kind {
    match kind {
        TaskKind::Task(_) => Kind::Task,
        TaskKind::Loop(_) => Kind::Loop,
        TaskKind::Gate(gate) if gate.pause => Kind::Pause,
        TaskKind::Gate(_) => Kind::Approval,
        TaskKind::Ask(_) => Kind::Ask,
        TaskKind::Race(_) => Kind::Race,
    }
}

fn branch_words(branch: &Branch) -> String {
    match branch {
        Branch::Current => "the current checkout".to_owned(),
        Branch::Named { name, from: None } => format!("branch {name}"),
        Branch::Named {
            name,
            from: Some(from),
        } => format!("branch {name} from {from}"),
        Branch::Integrate { from: None } => "a branch of its own, merged back".to_owned(),
        Branch::Integrate { from: Some(from) } => {
            format!("a branch of its own from {from}, merged back")
        }
    }
}
