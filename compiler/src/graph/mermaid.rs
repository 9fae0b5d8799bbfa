//! A graph as a Mermaid flowchart, for pages that draw those.

use crate::graph::summary;
use crate::graph::words;
use crate::graph::{Children, Graph, Kind, Node, NodeId, Status, Step, Work};
use std::fmt::Write;

/// How many nodes a flowchart has; a larger graph is drawn as a summary of its layers.
pub const MAX_NODES: usize = 300;

/// How many edges Mermaid draws without being told to draw more; beyond, the graph is summarised.
pub const MAX_EDGES: usize = 500;

/// The widest line of a label, in characters.
const MAX_LABEL: usize = 60;

/// Draws a graph.
pub fn draw(graph: &Graph) -> String {
    let limit = if edges(graph) > MAX_EDGES {
        1
    } else {
        MAX_NODES
    };
    let graph = &*summary::within(graph, limit);
    let mut page = Page {
        graph,
        children: graph.children(),
        text: "flowchart TD\n".to_owned(),
        links: 0,
        order: Vec::new(),
    };
    let roots = page.children.roots.clone();
    page.nodes(&roots);
    page.edges();
    page.classes();
    page.text
}

fn edges(graph: &Graph) -> usize {
    let phases = graph.nodes.iter().map(|node| match node.work {
        Work::Loop { .. } => 2,
        Work::Race { .. } => 1,
        Work::Body(_) | Work::Question { .. } | Work::Call { .. } | Work::Summary(_) => 0,
    });
    phases.sum::<usize>() + graph.edges.len()
}

struct Page<'g> {
    graph: &'g Graph,
    children: Children,
    text: String,
    /// How many links are written; Mermaid styles them by number.
    links: usize,
    /// The numbers of those that are for order alone.
    order: Vec<usize>,
}

impl Page<'_> {
    /// Nodes and what they hold; an explicit list of what is still to do, so that depth costs no stack.
    fn nodes(&mut self, roots: &[NodeId]) {
        let mut due: Vec<Option<NodeId>> = roots.iter().rev().copied().map(Some).collect();
        while let Some(next) = due.pop() {
            let Some(id) = next else {
                self.text.push_str("  end\n");
                continue;
            };
            let inside = self.children.inside[id.index()].clone();
            if inside.is_empty() {
                self.node(id);
                continue;
            }
            let lines = heading_lines(self.graph, &self.graph.nodes[id.index()]);
            let _ = writeln!(self.text, "  subgraph n{}[{}]", id.0, label(&lines));
            due.push(None);
            due.extend(inside.iter().rev().copied().map(Some));
        }
    }

    fn node(&mut self, id: NodeId) {
        let node = &self.graph.nodes[id.index()];
        let mut lines = heading_lines(self.graph, node);
        let (attempt, check, again) = match &node.work {
            Work::Loop { attempt, check, .. } => (attempt, check, true),
            Work::Race { attempt, check, .. } => (attempt, check, false),
            Work::Body(_) | Work::Question { .. } | Work::Call { .. } | Work::Summary(_) => {
                lines.extend(words::work_lines(node));
                lines.extend(words::means(self.graph, node));
                let (open, close) = shape(node);
                let _ = writeln!(self.text, "  n{}{open}{}{close}", id.0, label(&lines));
                return;
            }
        };
        let at = id.0;
        let _ = writeln!(self.text, "  subgraph n{at}[{}]", label(&lines));
        self.text.push_str("    direction LR\n");
        let _ = writeln!(self.text, "    n{at}a[{}]", phase("attempt", attempt));
        let _ = writeln!(self.text, "    n{at}c[{}]", phase("check", check));
        let _ = writeln!(self.text, "    n{at}a --> n{at}c");
        self.links += 1;
        if again {
            let _ = writeln!(self.text, "    n{at}c -. \"feedback\" .-> n{at}a");
            self.links += 1;
        }
        self.text.push_str("  end\n");
    }

    fn edges(&mut self) {
        for edge in self.graph.sound_edges() {
            let arrow = if edge.soft { "-.->" } else { "-->" };
            let _ = writeln!(self.text, "  n{} {arrow} n{}", edge.from.0, edge.to.0);
            if !edge.value {
                self.order.push(self.links);
            }
            self.links += 1;
        }
    }

    fn classes(&mut self) {
        if !self.order.is_empty() {
            let numbers: Vec<String> = self.order.iter().map(usize::to_string).collect();
            let _ = writeln!(self.text, "  linkStyle {} stroke:#999", numbers.join(","));
        }
        let styles = [
            (Status::Done, "stroke:#1a7f37,stroke-width:2px"),
            (Status::Active, "stroke:#0969da,stroke-width:3px"),
            (Status::Failed, "stroke:#cf222e,stroke-width:3px"),
            (Status::Rejected, "stroke:#cf222e,stroke-width:3px"),
            (Status::Paused, "stroke:#9a6700,stroke-width:3px"),
            (Status::WaitingInput, "stroke:#9a6700,stroke-width:3px"),
            (Status::Skipped, "stroke-dasharray:4 3"),
            (Status::Cancelled, "stroke-dasharray:4 3"),
        ];
        for (status, style) in styles {
            let nodes = self.graph.nodes.iter().enumerate();
            let of_status = nodes.filter(|(_, node)| {
                let state = node.state.as_ref();
                state.is_some_and(|state| state.status == status)
            });
            let names: Vec<String> = of_status.map(|(at, _)| format!("n{at}")).collect();
            if !names.is_empty() {
                let word = status.word();
                let _ = writeln!(self.text, "  classDef {word} {style}");
                let _ = writeln!(self.text, "  class {} {word}", names.join(","));
            }
        }
        for note in &self.graph.notes {
            let _ = writeln!(
                self.text,
                "  %% {}",
                words::one_line(note).replace(['{', '}'], "")
            );
        }
    }
}

fn heading_lines(graph: &Graph, node: &Node) -> Vec<String> {
    let key = words::one_line(&node.key);
    let mut lines = vec![format!("{key} ({})", words::kind_words(node))];
    lines.extend(node.doc.as_deref().map(words::caption));
    lines.extend(words::facts(node));
    if matches!(node.work, Work::Loop { .. } | Work::Race { .. }) {
        lines.extend(words::means(graph, node));
    }
    lines.extend(node.state.as_ref().map(words::state_words));
    lines
}

fn phase(title: &str, steps: &[Step]) -> String {
    let mut lines = vec![title.to_owned()];
    lines.extend(steps.iter().map(words::step_line));
    label(&lines)
}

fn shape(node: &Node) -> (&'static str, &'static str) {
    match node.kind {
        Kind::Approval | Kind::Pause => ("{{", "}}"),
        Kind::Ask => ("([", "])"),
        Kind::Task if node.each.is_some() => ("[[", "]]"),
        Kind::Task | Kind::Loop | Kind::Race | Kind::Summary => ("[", "]"),
    }
}

fn label(lines: &[String]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .map(|line| escaped(&words::shortened(line, MAX_LABEL)))
        .collect();
    format!("\"{}\"", lines.join("<br/>"))
}

/// What Mermaid, Markdown or HTML would act on becomes an entity by number.
///
/// Mermaid also looks for the words `style` and `classDef` before a colon, wherever they stand, and for `$$`.
fn escaped(text: &str) -> String {
    let colon = text.contains("style") || text.contains("classDef");
    let dollar = text.contains("$$");
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        let acted_on = match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '%' | '\\' => true,
            ':' => colon,
            '$' => dollar,
            _ => false,
        };
        if acted_on {
            let _ = write!(escaped, "#{};", c as u32);
        } else {
            escaped.push(c);
        }
    }
    escaped
}
