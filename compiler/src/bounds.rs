//! What would run, and how much of it at most: order, attempts, turns of agents, time, and what a run touches.
//!
//! All of it is read off the plan; nothing is run, and what only a run can know is said to be unknown.
//! The bounds hold for one start of a run: resuming it, and coming back from a quota, start the allowances again.

use crate::graph::layers;
use crate::graph::uses;
use crate::graph::words;
use crate::graph::{Agent, Graph, Kind, Node, NodeId, Sandbox, Work};
use crate::plan::Plan;
use crate::program::{
    Budget, OnError, OnQuota, Policy, Program, SecretId, Task, TaskKind, Trigger, WorkflowId,
};
use std::collections::BTreeSet;
use std::time::Duration;

pub mod json;
pub mod page;
mod time;

/// Counts do not grow beyond what JSON holds exactly.
pub const MAX_COUNT: u64 = (1 << 53) - 1;

/// How many candidates a race has (LANGUAGE §9).
const MAX_CANDIDATES: u64 = 8;

/// What would run.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// The workflow's name.
    pub workflow: String,
    /// Its documentation comment.
    pub doc: Option<String>,
    /// Its tasks by layers, those of a called workflow behind their caller.
    pub tasks: Vec<TaskBounds>,
    /// Attempts of the whole run.
    pub attempts: Count,
    /// Turns of agents in the whole run, those of every member of a list counted.
    pub turns: Option<u64>,
    /// The longest time, without the waits for people and quotas; `None` without a limit.
    pub time: Option<Duration>,
    /// The tasks that have no limit on their time.
    pub unlimited: Vec<String>,
    /// The run policy.
    pub policy: PolicyBounds,
    /// The agents that tasks use, with the members of lists.
    pub agents: Vec<Agent>,
    /// The sandboxes that tasks use.
    pub sandboxes: Vec<Sandbox>,
    /// The secrets that the machine must provide.
    pub secrets: Vec<String>,
}

/// What would run of one task, all items of a `for` together.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskBounds {
    /// Its key.
    pub key: String,
    /// Which kind of task.
    pub kind: Kind,
    /// The layer that it runs in, from 1, among the tasks of its workflow.
    pub layer: usize,
    /// How many callers it stands behind.
    pub depth: usize,
    /// The keys that it waits for; `?` behind a soft one.
    pub after: Vec<String>,
    /// When it runs at all: condition, trigger, items.
    pub conditions: Vec<String>,
    /// Its attempts.
    pub attempts: Count,
    /// Its turns of agents.
    pub turns: Option<u64>,
    /// The longest time; `None` without a limit.
    pub time: Option<Duration>,
    /// Who decides, for a gate or a question.
    pub actors: Option<Vec<String>>,
    /// What it does outside of the process.
    pub effects: Vec<Effect>,
    /// The agents that it names.
    pub agents: Vec<String>,
    /// The sandboxes that it works in.
    pub sandboxes: Vec<String>,
    /// The secrets that it needs.
    pub secrets: Vec<String>,
}

/// A number that only a run knows exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// If all goes well at once, and conditions that may be false are.
    pub least: u64,
    /// In the worst case; `None` if the file does not say.
    pub most: Option<u64>,
}

/// What a task does outside of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Runs a program.
    Command,
    /// Runs a text in a shell.
    Shell,
    /// Lets an agent work.
    Agent,
}

impl Effect {
    /// The word of the language.
    pub fn word(self) -> &'static str {
        match self {
            Effect::Command => "command",
            Effect::Shell => "shell",
            Effect::Agent => "agent",
        }
    }
}

/// The run policy, as far as it bounds a run.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyBounds {
    /// How many attempts run at once.
    pub concurrency: u32,
    /// What a failure does to the rest.
    pub on_error: OnError,
    /// What a quota does.
    pub on_quota: OnQuota,
    /// The deadline of one start.
    pub timeout: Option<Duration>,
    /// The limits that the file sets.
    pub budget: Option<Budget>,
}

impl Bounds {
    /// The bounds of a plan.
    pub fn of(plan: &Plan) -> Bounds {
        let graph = Graph::of(plan);
        let program = plan.program();
        let costs = costs(program, &graph);
        let listing = Listing::of(program, &graph, &costs);
        let roots = graph
            .nodes
            .iter()
            .zip(&costs)
            .filter(|(node, _)| node.parent.is_none());
        let mut total = Cost::default();
        roots.for_each(|(_, cost)| total = total.and(cost));
        let policy = &plan.workflow().policy;
        let path = time::longest_path(&graph, &costs);
        let least_slots = slots(program, &graph, plan.workflow_id());
        let time = time::makespan(total.work, path, least_slots);
        let time = [time, policy.timeout].into_iter().flatten().min();
        Bounds {
            workflow: graph.workflow.clone(),
            doc: graph.doc.clone(),
            tasks: listing.tasks,
            attempts: total.attempts,
            turns: total.turns,
            time,
            unlimited: match time {
                Some(_) => Vec::new(),
                None => listing.unlimited,
            },
            policy: policy_bounds(policy),
            agents: graph.agents,
            sandboxes: graph.sandboxes,
            secrets: names(program, &listing.secrets),
        }
    }

    /// The tasks that wait for a person.
    pub fn gates(&self) -> impl Iterator<Item = &TaskBounds> {
        self.tasks.iter().filter(|task| task.actors.is_some())
    }
}

/// What a task costs, all its items and all that it calls counted.
#[derive(Clone, Copy, Debug)]
struct Cost {
    attempts: Count,
    turns: Option<u64>,
    /// The longest time from its start to its end.
    path: Option<Duration>,
    /// The longest time that its attempts take together.
    work: Option<Duration>,
}

impl Default for Cost {
    fn default() -> Cost {
        Cost {
            attempts: Count {
                least: 0,
                most: Some(0),
            },
            turns: Some(0),
            path: Some(Duration::ZERO),
            work: Some(Duration::ZERO),
        }
    }
}

impl Cost {
    /// Both, one beside the other.
    fn and(self, other: &Cost) -> Cost {
        Cost {
            attempts: Count {
                least: capped(self.attempts.least.saturating_add(other.attempts.least)),
                most: plus(self.attempts.most, other.attempts.most),
            },
            turns: plus(self.turns, other.turns),
            path: time::later(self.path, other.path),
            work: time::sum(self.work, other.work),
        }
    }

    /// So often; unknown if that is not known.
    fn times(self, count: Option<u64>) -> Cost {
        let most = |number: Option<u64>| match (number, count) {
            (Some(0), _) => Some(0),
            (number, count) => Some(capped(number?.saturating_mul(count?))),
        };
        Cost {
            attempts: Count {
                least: capped(self.attempts.least.saturating_mul(count.unwrap_or(0))),
                most: most(self.attempts.most),
            },
            turns: most(self.turns),
            path: time::times(self.path, count),
            work: time::times(self.work, count),
        }
    }
}

fn plus(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(capped(one?.saturating_add(other?)))
}

fn capped(count: u64) -> u64 {
    count.min(MAX_COUNT)
}

/// The cost of every node, those of called workflows in their callers.
fn costs(program: &Program, graph: &Graph) -> Vec<Cost> {
    let children = graph.children();
    let skippable = skippable(graph);
    let mut costs = vec![Cost::default(); graph.nodes.len()];
    for at in (0..graph.nodes.len()).rev() {
        let node = &graph.nodes[at];
        let Some(task) = task_of(program, node) else {
            continue;
        };
        let mut cost = match &node.work {
            Work::Call { open: true, .. } => {
                let inside = &children.inside[at];
                let mut cost = Cost::default();
                inside
                    .iter()
                    .for_each(|id| cost = cost.and(&costs[id.index()]));
                cost.path = time::path_inside(graph, inside, &costs);
                called(program, node, cost)
            }
            Work::Call { tasks: 0, .. } => Cost::default(),
            Work::Call { .. } => UNKNOWN,
            Work::Body(_) | Work::Loop { .. } | Work::Race { .. } => own(program, node, task),
            Work::Question { .. } | Work::Summary(_) => Cost::default(),
        };
        cost = items(cost, node);
        if skippable[at] || node.cached {
            cost.attempts.least = 0;
        }
        costs[at] = cost;
    }
    costs
}

/// The cost of a call that is not looked into.
const UNKNOWN: Cost = Cost {
    attempts: Count {
        least: 0,
        most: None,
    },
    turns: None,
    path: None,
    work: None,
};

/// What a caller costs, whose called workflow costs so much.
fn called(program: &Program, node: &Node, callee: Cost) -> Cost {
    let mut once = callee;
    if let (Some(timeout), Some((workflow, _))) = (node.timeout, node.task) {
        let slots = program.workflows[workflow.index()].policy.concurrency;
        let work = timeout.saturating_mul(slots);
        once.path = Some(once.path.map_or(timeout, |path| path.min(timeout)));
        once.work = Some(once.work.map_or(work, |sum| sum.min(work)));
    }
    let retry = task_of(program, node).and_then(|task| task.retry.as_deref());
    let waits = retry.map_or(Duration::ZERO, time::waits);
    let mut all = once.times(Some(u64::from(node.tries)));
    all.attempts.least = once.attempts.least;
    all.path = time::sum(all.path, Some(waits));
    all
}

/// What one item of a task costs by its own doing.
fn own(program: &Program, node: &Node, task: &Task) -> Cost {
    let turns = uses::of(program, task).turns;
    let waits = task.retry.as_deref().map_or(Duration::ZERO, time::waits);
    let once = time::attempt(program, task);
    let (most, turns, path) = match &task.kind {
        TaskKind::Loop(looping) => {
            let repeats = looping
                .retry_phase
                .as_deref()
                .map_or(1, |retry| u64::from(retry.attempts));
            // Both phases share an attempt; each repetition of one is an attempt more (SEMANTICS L2, L4).
            let a_round = repeats.max(1).saturating_mul(2) - 1;
            let turns = turns
                .saturating_mul(repeats.max(1))
                .saturating_mul(looping.max_rounds);
            let most = a_round.saturating_mul(looping.max_rounds);
            (most, turns, time::times(once, Some(looping.max_rounds)))
        }
        TaskKind::Task(_) | TaskKind::Race(_) | TaskKind::Gate(_) | TaskKind::Ask(_) => {
            let tries = u64::from(node.tries);
            let path = time::sum(time::times(once, Some(tries)), Some(waits));
            (tries, turns.saturating_mul(tries), path)
        }
    };
    Cost {
        attempts: Count {
            least: 1,
            most: Some(capped(most)),
        },
        turns: Some(capped(turns)),
        path,
        work: path,
    }
}

/// All items of a `for`, all candidates of a race.
fn items(cost: Cost, node: &Node) -> Cost {
    let Some(each) = &node.each else {
        return cost;
    };
    let race = node.kind == Kind::Race;
    let count = match each.count {
        None if race => Some(MAX_CANDIDATES),
        count => count,
    };
    let mut all = cost.times(count);
    let parallel = each
        .parallel
        .map_or(u64::MAX, |parallel| u64::from(parallel.max(1)));
    all.path = time::times(cost.path, count.map(|count| count.div_ceil(parallel)));
    if race {
        // The first candidate may be the last: a winner ends the others.
        all.attempts.least = cost.attempts.least.min(count.unwrap_or(0));
    }
    all
}

/// Which nodes may be skipped though all goes well: by their own condition, or with one that they depend on.
fn skippable(graph: &Graph) -> Vec<bool> {
    let nodes = graph.nodes.iter();
    let mut skippable: Vec<bool> = nodes
        .map(|node| node.when.is_some() || node.trigger == Trigger::Failure)
        .collect();
    let hard = graph.edges.iter().filter(|edge| {
        let waiting = &graph.nodes[edge.to.index()];
        !edge.soft && waiting.trigger == Trigger::Success
    });
    let mut links: Vec<(usize, usize)> = hard
        .map(|edge| (edge.from.index(), edge.to.index()))
        .collect();
    let layer = layers::layers(graph.nodes.len(), &links);
    links.sort_by_key(|(from, _)| layer[*from]);
    for (from, to) in links {
        skippable[to] |= skippable[from];
    }
    skippable
}

/// The fewest attempts that may be held back to at once: that of the workflow or of one that it calls.
fn slots(program: &Program, graph: &Graph, own: WorkflowId) -> u32 {
    let used = graph
        .nodes
        .iter()
        .filter_map(|node| node.task.map(|(workflow, _)| workflow));
    let used: BTreeSet<WorkflowId> = used.chain([own]).collect();
    let limits = used
        .iter()
        .map(|id| program.workflows[id.index()].policy.concurrency);
    limits.min().unwrap_or(1).max(1)
}

fn task_of<'p>(program: &'p Program, node: &Node) -> Option<&'p Task> {
    let (workflow, task) = node.task?;
    program
        .workflows
        .get(workflow.index())?
        .tasks
        .get(task.index())
}

fn policy_bounds(policy: &Policy) -> PolicyBounds {
    PolicyBounds {
        concurrency: policy.concurrency,
        on_error: policy.on_error,
        on_quota: policy.on_quota,
        timeout: policy.timeout,
        budget: policy.budget.clone(),
    }
}

fn names(program: &Program, secrets: &BTreeSet<SecretId>) -> Vec<String> {
    let names = secrets
        .iter()
        .map(|id| program.secrets[id.index()].name.to_string());
    names.collect()
}

#[derive(Default)]
struct Listing {
    tasks: Vec<TaskBounds>,
    unlimited: Vec<String>,
    secrets: BTreeSet<SecretId>,
}

impl Listing {
    fn of(program: &Program, graph: &Graph, costs: &[Cost]) -> Listing {
        let children = graph.children();
        let links: Vec<(usize, usize)> = graph
            .edges
            .iter()
            .map(|edge| (edge.from.index(), edge.to.index()))
            .collect();
        let layer = layers::layers(graph.nodes.len(), &links);
        let mut after: Vec<Vec<String>> = vec![Vec::new(); graph.nodes.len()];
        for edge in &graph.edges {
            let mark = if edge.soft { "?" } else { "" };
            let key = &graph.nodes[edge.from.index()].key;
            after[edge.to.index()].push(format!("{key}{mark}"));
        }
        let by_layer = |ids: &[NodeId], depth: usize| {
            let mut ids: Vec<(NodeId, usize)> = ids.iter().map(|id| (*id, depth)).collect();
            ids.sort_by_key(|(id, _)| std::cmp::Reverse((layer[id.index()], id.0)));
            ids
        };
        let mut listing = Listing::default();
        let mut due = by_layer(&children.roots, 0);
        while let Some((id, depth)) = due.pop() {
            let at = id.index();
            let place = Place {
                layer: layer[at] + 1,
                depth,
                after: std::mem::take(&mut after[at]),
            };
            listing.add(program, &graph.nodes[at], &costs[at], place);
            due.extend(by_layer(&children.inside[at], depth + 1));
        }
        listing
    }

    fn add(&mut self, program: &Program, node: &Node, cost: &Cost, place: Place) {
        let uses = task_of(program, node)
            .map(|task| uses::of(program, task))
            .unwrap_or_default();
        let effects = [
            (Effect::Command, uses.command),
            (Effect::Shell, uses.shell),
            (Effect::Agent, uses.turns > 0),
        ];
        let leaf = !matches!(node.work, Work::Call { open: true, .. });
        if cost.path.is_none() && leaf {
            self.unlimited.push(node.key.clone());
        }
        self.tasks.push(TaskBounds {
            key: node.key.clone(),
            kind: node.kind,
            layer: place.layer,
            depth: place.depth,
            after: place.after,
            conditions: words::conditions(node),
            attempts: cost.attempts,
            turns: cost.turns,
            time: cost.path,
            actors: match &node.work {
                Work::Question { actors, .. } => Some(actors.clone()),
                Work::Body(_) | Work::Loop { .. } | Work::Race { .. } => None,
                Work::Call { .. } | Work::Summary(_) => None,
            },
            effects: effects
                .iter()
                .filter(|effect| effect.1)
                .map(|effect| effect.0)
                .collect(),
            agents: node.agents.iter().map(|name| name.to_string()).collect(),
            sandboxes: node.sandboxes.iter().map(|name| name.to_string()).collect(),
            secrets: names(program, &uses.secrets),
        });
        self.secrets.extend(uses.secrets);
    }
}

struct Place {
    layer: usize,
    depth: usize,
    after: Vec<String>,
}
