//! The plan: what will happen when a workflow runs.
//!
//! Immutable, acyclic, complete: holding one proves it.
//! petgraph stays in this file; its own order never reaches output or disk.

use crate::program::{Program, Task, TaskId, Workflow, WorkflowId};
use outpost_grammar::{Code, Diagnostic};
use petgraph::csr::Csr;
use petgraph::visit::DfsPostOrder;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A compiled workflow, ready to run.
#[derive(Debug)]
pub struct Plan {
    program: Arc<Program>,
    workflow: WorkflowId,
    /// From each task to those that wait for it.
    graph: Csr<(), (), petgraph::Directed, u32>,
    order: Vec<TaskId>,
    keys: OnceLock<HashMap<Arc<str>, TaskId>>,
}

/// The dependencies of a workflow go in a circle. The checker says where; this only refuses.
pub const CYCLE: Code = Code("cycle");

/// Builds the plan of one workflow of a program that was compiled without errors.
///
/// Fails if the tasks depend on one another in a circle.
pub fn build(program: Arc<Program>, workflow: WorkflowId) -> Result<Plan, Vec<Diagnostic>> {
    let tasks = &program.workflows[workflow.index()].tasks;
    let graph = graph_of(tasks);
    let order = topological_order(&graph);
    let mut position = vec![0u32; tasks.len()];
    for (at, task) in order.iter().enumerate() {
        position[task.index()] = at as u32;
    }
    for (at, task) in tasks.iter().enumerate() {
        for dependency in &task.dependencies {
            if position[dependency.task.index()] >= position[at] {
                let message = format!("`{}` waits for itself", task.key);
                return Err(vec![Diagnostic::error(CYCLE, dependency.at, message)]);
            }
        }
    }
    Ok(Plan {
        program,
        workflow,
        graph,
        order,
        keys: OnceLock::new(),
    })
}

impl Plan {
    /// The program that the workflow is part of.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Which workflow it is.
    pub fn workflow_id(&self) -> WorkflowId {
        self.workflow
    }

    /// The workflow.
    pub fn workflow(&self) -> &Workflow {
        &self.program.workflows[self.workflow.index()]
    }

    /// Its tasks, in the order of declaration; a [`TaskId`] is an index into them.
    pub fn tasks(&self) -> &[Task] {
        &self.workflow().tasks
    }

    /// One task.
    pub fn task(&self, id: TaskId) -> &Task {
        &self.tasks()[id.index()]
    }

    /// All ids, in the order of declaration.
    pub fn ids(&self) -> impl Iterator<Item = TaskId> + use<> {
        (0..self.order.len() as u32).map(TaskId)
    }

    /// The task of a key.
    pub fn find(&self, key: &str) -> Option<TaskId> {
        let keys = self.keys.get_or_init(|| {
            let keys = self.tasks().iter().map(|task| task.key.clone());
            keys.zip(self.ids()).collect()
        });
        keys.get(key).copied()
    }

    /// The tasks that wait for a task, each once, in the order of declaration.
    pub fn dependents(&self, id: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        self.graph
            .neighbors_slice(id.0)
            .iter()
            .map(|at| TaskId(*at))
    }

    /// The tasks so that each comes after all that it waits for.
    pub fn order(&self) -> &[TaskId] {
        &self.order
    }
}

fn graph_of(tasks: &[Task]) -> Csr<(), (), petgraph::Directed, u32> {
    let mut edges: Vec<(u32, u32)> = tasks
        .iter()
        .enumerate()
        .flat_map(|(at, task)| {
            task.dependencies
                .iter()
                .map(move |dependency| (dependency.task.0, at as u32))
        })
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let mut graph = Csr::from_sorted_edges(&edges).expect("the edges are sorted and unique");
    while graph.node_count() < tasks.len() {
        graph.add_node(());
    }
    graph
}

/// Reverse postorder: topological if the graph is acyclic; among several, the earlier declared one first.
fn topological_order(graph: &Csr<(), (), petgraph::Directed, u32>) -> Vec<TaskId> {
    let count = graph.node_count() as u32;
    let mut order = Vec::with_capacity(count as usize);
    let mut walk = DfsPostOrder::empty(graph);
    for start in (0..count).rev() {
        walk.move_to(start);
        while let Some(node) = walk.next(graph) {
            order.push(TaskId(node));
        }
    }
    order.reverse();
    order
}
