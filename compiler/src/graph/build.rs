//! A graph of a plan: every task in words, and the tasks of called workflows behind their callers.

use crate::graph::uses::{self, Uses};
use crate::graph::words::Words;
use crate::graph::{Agent, Each, Edge, Graph, Kind, Node, NodeId, Sandbox, Step, Verb, Work};
use crate::plan::Plan;
use crate::program::{
    self, Action, AgentKind, Body, Branch, Check, CheckItem, Program, Task, TaskId, TaskKind,
    WorkflowId,
};
use std::collections::{BTreeSet, HashMap};

/// How deep called workflows are drawn inside their callers; a deeper one is a single box.
pub const MAX_CALL_DEPTH: usize = 16;

/// How many tasks of called workflows a graph holds; a call beyond it is a single box.
pub const MAX_CALLED_TASKS: usize = 20_000;

/// The graph of a plan.
pub(crate) fn build(plan: &Plan) -> Graph {
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

    fn node(&self, task: &Task, parent: Option<NodeId>, uses: &Uses) -> Node {
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
fn called_workflow(task: &Task) -> Option<WorkflowId> {
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
