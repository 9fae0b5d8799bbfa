//! How long it takes at most, where deadlines say so.

use crate::bounds::Cost;
use crate::graph::layers;
use crate::graph::{Graph, NodeId};
use crate::program::{Action, Body, Check, CheckItem, Program, Retry, Step, Task, TaskKind};
use std::collections::HashMap;
use std::time::Duration;

/// The cap of an exponential wait when the file names none (SEMANTICS T1).
const EXPONENTIAL_CAP: Duration = Duration::from_secs(30);

/// How many steps are looked at for one task; called steps may call others over and over.
const MAX_STEPS: usize = 10_000;

/// How deep called steps are followed.
const MAX_DEPTH: usize = 64;

/// One after the other.
pub(crate) fn sum(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    Some(one?.saturating_add(other?))
}

/// Both at once.
pub(crate) fn later(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    Some(one?.max(other?))
}

/// So often one after the other.
pub(crate) fn times(time: Option<Duration>, count: Option<u64>) -> Option<Duration> {
    match (time, count) {
        (Some(Duration::ZERO), _) => Some(Duration::ZERO),
        (time, count) => {
            let ms = time?.as_millis().saturating_mul(u128::from(count?));
            Some(Duration::from_millis(u64::try_from(ms).unwrap_or(u64::MAX)))
        }
    }
}

/// The waits between the tries of a retry, all of them used; a server may ask for more.
pub(crate) fn waits(retry: &Retry) -> Duration {
    let count = u64::from(retry.attempts.saturating_sub(1));
    if !retry.exponential {
        let delay = retry
            .max_delay
            .map_or(retry.delay, |cap| retry.delay.min(cap));
        return times(Some(delay), Some(count)).unwrap_or(Duration::MAX);
    }
    let cap = retry.max_delay.unwrap_or(EXPONENTIAL_CAP);
    let mut total = Duration::ZERO;
    let mut delay = retry.delay;
    for used in 0..count {
        if delay >= cap || delay.is_zero() {
            let rest = times(Some(delay.min(cap)), Some(count - used));
            return total.saturating_add(rest.unwrap_or(Duration::MAX));
        }
        total = total.saturating_add(delay);
        delay = delay.saturating_mul(2);
    }
    total
}

/// The longest time of one attempt; of one round in a loop.
pub(crate) fn attempt(program: &Program, task: &Task) -> Option<Duration> {
    if task.timeout.is_some() {
        return task.timeout;
    }
    let mut walk = Walk { program, steps: 0 };
    match &task.kind {
        TaskKind::Task(body) => walk.body(body, 0),
        TaskKind::Loop(looping) => {
            let once = sum(walk.body(&looping.attempt, 0), walk.check(&looping.check));
            match looping.retry_phase.as_deref() {
                None => once,
                Some(retry) => {
                    let both = waits(retry).saturating_mul(2);
                    sum(
                        times(once, Some(u64::from(retry.attempts.max(1)))),
                        Some(both),
                    )
                }
            }
        }
        TaskKind::Race(race) => sum(walk.body(&race.attempt, 0), walk.check(&race.check)),
        TaskKind::Gate(_) | TaskKind::Ask(_) => Some(Duration::ZERO),
    }
}

struct Walk<'p> {
    program: &'p Program,
    steps: usize,
}

impl Walk<'_> {
    fn body(&mut self, body: &Body, depth: usize) -> Option<Duration> {
        let mut total = Duration::ZERO;
        for step in &body.steps {
            total = total.saturating_add(self.step(step, depth)?);
        }
        Some(total)
    }

    fn check(&mut self, check: &Check) -> Option<Duration> {
        let mut total = Duration::ZERO;
        for item in &check.items {
            match item {
                CheckItem::Step(step) => total = total.saturating_add(self.step(step, 0)?),
                CheckItem::Reject { .. } | CheckItem::Accept { .. } => {}
            }
        }
        Some(total)
    }

    fn step(&mut self, step: &Step, depth: usize) -> Option<Duration> {
        self.steps += 1;
        if self.steps > MAX_STEPS || depth > MAX_DEPTH {
            return None;
        }
        match &step.action {
            Action::Value(_) | Action::Assert { .. } => Some(Duration::ZERO),
            Action::Command(command) => command.timeout,
            Action::Agent(turn) => turn.timeout,
            Action::Call { step, .. } => {
                let program = self.program;
                self.body(&program.steps[step.index()].body, depth + 1)
            }
            Action::Workflow { .. } => None,
        }
    }
}

/// The longest way through the tasks of the workflow itself.
pub(crate) fn longest_path(graph: &Graph, costs: &[Cost]) -> Option<Duration> {
    path_inside(graph, &graph.children().roots, costs)
}

/// The longest way through some tasks of one workflow.
pub(crate) fn path_inside(graph: &Graph, nodes: &[NodeId], costs: &[Cost]) -> Option<Duration> {
    let index: HashMap<NodeId, usize> =
        nodes.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else {
        return Some(Duration::ZERO);
    };
    // Edges come by the waiting task, in the order of nodes, so those of one workflow lie between its first and last task.
    let start = graph.edges.partition_point(|edge| edge.to < *first);
    let inner = graph.edges[start..]
        .iter()
        .take_while(|edge| edge.to <= *last);
    let links: Vec<(usize, usize)> = inner
        .filter_map(|edge| Some((*index.get(&edge.from)?, *index.get(&edge.to)?)))
        .collect();
    let layer = layers::layers(nodes.len(), &links);
    let mut by_layer: Vec<&(usize, usize)> = links.iter().collect();
    by_layer.sort_by_key(|(from, _)| layer[*from]);
    let own = |at: usize| costs[nodes[at].index()].path;
    let mut end: Vec<Option<Duration>> = (0..nodes.len()).map(own).collect();
    for (from, to) in by_layer {
        let through = sum(end[*from], own(*to));
        end[*to] = later(end[*to], through);
    }
    end.into_iter().fold(Some(Duration::ZERO), later)
}

/// The longest time for work with so many slots: whenever a slot is free, the longest way is being walked.
pub(crate) fn makespan(
    work: Option<Duration>,
    path: Option<Duration>,
    slots: u32,
) -> Option<Duration> {
    let (work, path) = (work?, path?);
    let beside = work.saturating_sub(path) / slots.max(1);
    Some(path.saturating_add(beside))
}
