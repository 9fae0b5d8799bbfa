//! A graph as JSON, for other programs to draw.

use crate::graph::words;
use crate::graph::{Edge, Graph, Node, State, Step, Trigger, Verb, Work};
use serde::Serialize;
use std::collections::BTreeMap;

/// The version of the format. Fields may be added, never renamed.
pub const VERSION: u32 = 1;

/// The whole graph, whatever its size, on one line.
pub fn draw(graph: &Graph) -> String {
    let page = Page {
        version: VERSION,
        workflow: &graph.workflow,
        doc: graph.doc.as_deref(),
        nodes: graph
            .nodes
            .iter()
            .map(|node| NodePage::of(graph, node))
            .collect(),
        edges: graph
            .edges
            .iter()
            .filter_map(|edge| EdgePage::of(graph, edge))
            .collect(),
        agents: graph.agents.iter().map(AgentPage::of).collect(),
        sandboxes: graph.sandboxes.iter().map(SandboxPage::of).collect(),
        notes: &graph.notes,
    };
    serde_json::to_string(&page).expect("texts and numbers always are JSON")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'g> {
    version: u32,
    workflow: &'g str,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc: Option<&'g str>,
    nodes: Vec<NodePage<'g>>,
    edges: Vec<EdgePage<'g>>,
    agents: Vec<AgentPage<'g>>,
    sandboxes: Vec<SandboxPage<'g>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'g [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodePage<'g> {
    key: &'g str,
    kind: &'static str,
    /// The key of the caller, inside a called workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'g str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc: Option<&'g str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<&'g str>,
    trigger: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#for: Option<EachPage<'g>>,
    tries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    cached: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_rounds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    select: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepPage<'g>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<Vec<StepPage<'g>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Vec<StepPage<'g>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'g str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actors: Option<&'g [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    choices: Option<&'g str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<&'g str>,
    agents: Vec<&'g str>,
    sandboxes: Vec<&'g str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<StatePage>,
}

#[derive(Serialize)]
struct EachPage<'g> {
    variable: &'g str,
    list: &'g str,
    count: Option<u64>,
    parallel: Option<u32>,
}

#[derive(Serialize)]
struct StepPage<'g> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'g str>,
    does: &'static str,
    text: &'g str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'g str>,
}

#[derive(Serialize)]
struct StatePage {
    status: &'static str,
    attempts: u64,
    rounds: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    items: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct EdgePage<'g> {
    from: &'g str,
    to: &'g str,
    soft: bool,
    value: bool,
}

/// An agent.
#[derive(Serialize)]
pub(crate) struct AgentPage<'g> {
    name: &'g str,
    #[serde(skip_serializing_if = "Option::is_none")]
    harness: Option<&'g str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'g str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fallback: Vec<&'g str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    on: &'g [&'static str],
}

/// A sandbox.
#[derive(Serialize)]
pub(crate) struct SandboxPage<'g> {
    name: &'g str,
    provider: &'g str,
    branch: &'g str,
    lifetime: &'static str,
}

impl<'g> NodePage<'g> {
    fn of(graph: &'g Graph, node: &'g Node) -> NodePage<'g> {
        let parent = node
            .parent
            .and_then(|parent| graph.nodes.get(parent.index()));
        let mut page = NodePage {
            key: &node.key,
            kind: node.kind.keyword(),
            parent: parent.map(|parent| parent.key.as_str()),
            doc: node.doc.as_deref(),
            when: node.when.as_deref(),
            trigger: trigger(node.trigger),
            r#for: node.each.as_ref().map(|each| EachPage {
                variable: &each.variable,
                list: &each.list,
                count: each.count,
                parallel: each.parallel,
            }),
            tries: node.tries,
            timeout_ms: node.timeout.map(words::milliseconds),
            cached: node.cached,
            max_rounds: None,
            select: None,
            steps: None,
            attempt: None,
            check: None,
            prompt: None,
            actors: None,
            choices: None,
            workflow: None,
            agents: node.agents.iter().map(|name| &**name).collect(),
            sandboxes: node.sandboxes.iter().map(|name| &**name).collect(),
            state: node.state.as_ref().map(StatePage::of),
        };
        page.work(&node.work);
        page
    }

    fn work(&mut self, work: &'g Work) {
        match work {
            Work::Body(steps) => self.steps = Some(step_pages(steps)),
            Work::Loop {
                max_rounds,
                attempt,
                check,
            } => {
                self.max_rounds = Some(*max_rounds);
                self.attempt = Some(step_pages(attempt));
                self.check = Some(step_pages(check));
            }
            Work::Race {
                best,
                attempt,
                check,
            } => {
                self.select = Some(if *best { "best" } else { "first" });
                self.attempt = Some(step_pages(attempt));
                self.check = Some(step_pages(check));
            }
            Work::Question {
                prompt,
                actors,
                choices,
            } => {
                self.prompt = Some(prompt);
                self.actors = Some(actors);
                self.choices = choices.as_deref();
            }
            Work::Call { workflow, .. } => self.workflow = Some(workflow),
            Work::Summary(lines) => self.doc = lines.first().map(String::as_str),
        }
    }
}

impl StatePage {
    fn of(state: &State) -> StatePage {
        let items = state.items.iter();
        StatePage {
            status: state.status.word(),
            attempts: state.attempts,
            rounds: state.rounds,
            items: items
                .map(|(status, count)| (status.word(), *count))
                .collect(),
        }
    }
}

impl<'g> EdgePage<'g> {
    fn of(graph: &'g Graph, edge: &Edge) -> Option<EdgePage<'g>> {
        Some(EdgePage {
            from: &graph.nodes.get(edge.from.index())?.key,
            to: &graph.nodes.get(edge.to.index())?.key,
            soft: edge.soft,
            value: edge.value,
        })
    }
}

impl<'g> AgentPage<'g> {
    /// The page of an agent.
    pub fn of(agent: &'g crate::graph::Agent) -> AgentPage<'g> {
        AgentPage {
            name: &agent.name,
            harness: agent.harness.as_deref(),
            model: agent.model.as_deref(),
            fallback: agent.members.iter().map(|name| &**name).collect(),
            on: &agent.on,
        }
    }
}

impl<'g> SandboxPage<'g> {
    /// The page of a sandbox.
    pub fn of(sandbox: &'g crate::graph::Sandbox) -> SandboxPage<'g> {
        SandboxPage {
            name: &sandbox.name,
            provider: &sandbox.provider,
            branch: &sandbox.branch,
            lifetime: if sandbox.per_task { "task" } else { "workflow" },
        }
    }
}

fn step_pages(steps: &[Step]) -> Vec<StepPage<'_>> {
    let pages = steps.iter().map(|step| StepPage {
        name: step.name.as_deref(),
        does: verb(step.verb),
        text: &step.text,
        sandbox: step.sandbox.as_deref(),
    });
    pages.collect()
}

fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Value => "value",
        Verb::Command => "command",
        Verb::Shell => "shell",
        Verb::Assert => "assert",
        Verb::Agent => "agent",
        Verb::Continue => "continue",
        Verb::Fork => "fork",
        Verb::Step => "step",
        Verb::Workflow => "workflow",
        Verb::Reject => "reject",
        Verb::Accept => "accept",
    }
}

fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Success => "success",
        Trigger::Failure => "failure",
        Trigger::Always => "always",
    }
}
