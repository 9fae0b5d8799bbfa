//! A large graph as a small one: called workflows shut, then layers put together.

use crate::graph::layers;
use crate::graph::words::shortened;
use crate::graph::{Edge, Graph, Kind, Node, NodeId, State, Status, Trigger, Work};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How many boxes a summary has, at most.
pub const MAX_SUMMARY_BOXES: usize = 40;

/// How many keys a box of a summary names.
const MAX_KEYS: usize = 2;

/// The longest key that is named in full, in characters.
const MAX_KEY: usize = 24;

/// The graph itself if it has at most so many nodes, else one that says less and has a note on it.
pub(crate) fn within(graph: &Graph, most: usize) -> Cow<'_, Graph> {
    if graph.nodes.len() <= most {
        return Cow::Borrowed(graph);
    }
    let mut collapsed = graph.collapsed();
    if collapsed.nodes.len() <= most {
        collapsed.notes.push(format!(
            "{} tasks are too many to draw one by one: called workflows are shut.",
            graph.nodes.len()
        ));
        return Cow::Owned(collapsed);
    }
    let mut summary = summary(&collapsed);
    summary.notes.push(format!(
        "{} tasks are too many to draw one by one: each box stands for all tasks of some layers.",
        collapsed.nodes.len()
    ));
    Cow::Owned(summary)
}

fn summary(graph: &Graph) -> Graph {
    let links = links(graph);
    let layer = layers::layers(graph.nodes.len(), &links);
    let rows = layers::rows(&layer);
    let each = rows.len().div_ceil(MAX_SUMMARY_BOXES).max(1);
    let boxes = rows.chunks(each).enumerate();
    let nodes: Vec<Node> = boxes
        .map(|(at, rows)| {
            let first = at * each + 1;
            together(graph, first, rows)
        })
        .collect();
    let edges = (1..nodes.len() as u32).map(|to| Edge {
        from: NodeId(to - 1),
        to: NodeId(to),
        soft: false,
        value: true,
    });
    Graph {
        workflow: graph.workflow.clone(),
        doc: graph.doc.clone(),
        edges: edges.collect(),
        nodes,
        agents: graph.agents.clone(),
        sandboxes: graph.sandboxes.clone(),
        notes: graph.notes.clone(),
    }
}

/// The edges between nodes that exist, as pairs of indices.
pub(crate) fn links(graph: &Graph) -> Vec<(usize, usize)> {
    let edges = graph.sound_edges();
    edges
        .map(|edge| (edge.from.index(), edge.to.index()))
        .collect()
}

fn together(graph: &Graph, first: usize, rows: &[Vec<usize>]) -> Node {
    let members: Vec<&Node> = rows.iter().flatten().map(|at| &graph.nodes[*at]).collect();
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for node in &members {
        let word = node.kind.keyword();
        match kinds.iter_mut().find(|(kind, _)| *kind == word) {
            Some((_, count)) => *count += 1,
            None => kinds.push((word, 1)),
        }
    }
    let counts: Vec<String> = kinds.iter().map(|kind| count_words(*kind)).collect();
    let names = members
        .iter()
        .take(MAX_KEYS)
        .map(|node| shortened(&node.key, MAX_KEY));
    let mut names: Vec<Cow<str>> = names.collect();
    if let Some(last) = members.get(MAX_KEYS..).and_then(<[_]>::last) {
        names.extend((members.len() > MAX_KEYS + 1).then_some(Cow::Borrowed("…")));
        names.push(shortened(&last.key, MAX_KEY));
    }
    let last = first + rows.len() - 1;
    let key = match rows.len() {
        1 => format!("layer {first}"),
        _ => format!("layers {first} to {last}"),
    };
    Node {
        key,
        kind: Kind::Summary,
        parent: None,
        task: None,
        doc: None,
        when: None,
        trigger: Trigger::Success,
        each: None,
        tries: 1,
        timeout: None,
        cached: false,
        work: Work::Summary(vec![counts.join(", "), names.join(", ")]),
        agents: Vec::new(),
        sandboxes: Vec::new(),
        state: state(&members),
    }
}

fn count_words((kind, count): (&str, usize)) -> String {
    match count {
        1 => format!("1 {kind}"),
        _ => format!("{count} {kind}s"),
    }
}

/// The state of many: the most pressing one, and how many there are of each.
fn state(members: &[&Node]) -> Option<State> {
    let mut items: BTreeMap<Status, u64> = BTreeMap::new();
    let states = members.iter().filter_map(|node| node.state.as_ref());
    for state in states {
        *items.entry(state.status).or_default() += 1;
    }
    let order = [
        Status::Failed,
        Status::Rejected,
        Status::Active,
        Status::WaitingInput,
        Status::Paused,
        Status::Cancelled,
        Status::Waiting,
        Status::Done,
        Status::Skipped,
    ];
    let status = order
        .into_iter()
        .find(|status| items.contains_key(status))?;
    Some(State {
        items,
        ..State::of(status)
    })
}
