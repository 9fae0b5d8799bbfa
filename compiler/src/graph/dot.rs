//! A graph in the language of Graphviz.

use crate::graph::words;
use crate::graph::{Children, Edge, Graph, Kind, Node, NodeId, Status, Step, Work};
use std::fmt::Write;

/// The widest line of a label, in characters.
const MAX_LABEL: usize = 60;

/// The whole graph, whatever its size.
///
/// A loop is a cluster of its two phases, a called workflow one of its tasks.
pub fn draw(graph: &Graph) -> String {
    let mut page = Page {
        graph,
        children: graph.children(),
        text: String::new(),
    };
    page.text.push_str("digraph ");
    page.text
        .push_str(&quoted(&words::one_line(&graph.workflow)));
    page.text.push_str(
        " {\n  compound=true\n  node [shape=box style=rounded fontname=\"Helvetica\" fontsize=11]\n  \
         edge [fontname=\"Helvetica\" fontsize=10]\n  graph [fontname=\"Helvetica\" fontsize=12]\n",
    );
    page.heading();
    page.nodes();
    for edge in graph.sound_edges() {
        page.edge(edge);
    }
    page.text.push_str("}\n");
    page.text
}

struct Page<'g> {
    graph: &'g Graph,
    children: Children,
    text: String,
}

impl Page<'_> {
    fn heading(&mut self) {
        let mut lines = vec![words::one_line(&self.graph.workflow)];
        lines.extend(self.graph.doc.as_deref().map(words::caption));
        lines.extend(self.graph.notes.iter().cloned());
        let _ = writeln!(self.text, "  label={}\n  labelloc=t", label(&lines));
    }

    /// All nodes; an explicit list of what is still to do, so that depth costs no stack.
    fn nodes(&mut self) {
        enum Due {
            Node(NodeId, usize),
            Close(usize),
        }
        let roots = self.children.roots.iter().rev();
        let mut due: Vec<Due> = roots.map(|id| Due::Node(*id, 1)).collect();
        while let Some(next) = due.pop() {
            match next {
                Due::Close(depth) => self.line(depth, "}"),
                Due::Node(id, depth) => {
                    let inside = self.children.inside[id.index()].clone();
                    if inside.is_empty() {
                        self.node(id, depth);
                        continue;
                    }
                    self.open(id, depth);
                    due.push(Due::Close(depth));
                    due.extend(inside.iter().rev().map(|id| Due::Node(*id, depth + 1)));
                }
            }
        }
    }

    fn line(&mut self, depth: usize, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "  ".repeat(depth.min(MAX_INDENT)));
    }

    fn open(&mut self, id: NodeId, depth: usize) {
        let node = &self.graph.nodes[id.index()];
        let lines = heading_lines(self.graph, node);
        self.line(depth, &format!("subgraph cluster_{} {{", id.0));
        let style = if node.each.is_some() {
            "rounded,bold"
        } else {
            "rounded"
        };
        let label = label(&lines);
        self.line(
            depth + 1,
            &format!("label={label} style={}{}", quoted(style), colour(node)),
        );
    }

    fn node(&mut self, id: NodeId, depth: usize) {
        let graph = self.graph;
        let node = &graph.nodes[id.index()];
        let (attempt, check, again) = match &node.work {
            Work::Loop { attempt, check, .. } => (attempt, check, true),
            Work::Race { attempt, check, .. } => (attempt, check, false),
            Work::Body(_) | Work::Question { .. } | Work::Call { .. } | Work::Summary(_) => {
                let mut lines = heading_lines(graph, node);
                lines.extend(words::work_lines(node));
                lines.extend(words::means(graph, node));
                let label = label(&lines);
                let line = format!("n{} [label={label}{}{}]", id.0, shape(node), colour(node));
                self.line(depth, &line);
                return;
            }
        };
        self.open(id, depth);
        let at = id.0;
        self.line(
            depth + 1,
            &format!("n{at} [label={}]", phase("attempt", attempt)),
        );
        self.line(
            depth + 1,
            &format!("n{at}_check [label={}]", phase("check", check)),
        );
        self.line(depth + 1, &format!("n{at} -> n{at}_check"));
        if again {
            let way =
                format!("n{at}_check -> n{at} [label=\"feedback\" style=dashed constraint=false]");
            self.line(depth + 1, &way);
        }
        self.line(depth, "}");
    }

    fn edge(&mut self, edge: &Edge) {
        let mut options = Vec::new();
        let from = self.end(edge.from, false);
        let to = self.end(edge.to, true);
        if self.is_cluster(edge.from) {
            options.push(format!("ltail=cluster_{}", edge.from.0));
        }
        if self.is_cluster(edge.to) {
            options.push(format!("lhead=cluster_{}", edge.to.0));
        }
        if edge.soft {
            options.push("style=dashed".to_owned());
        }
        if !edge.value {
            options.push("color=gray60 arrowhead=empty".to_owned());
        }
        let options = match options.is_empty() {
            true => String::new(),
            false => format!(" [{}]", options.join(" ")),
        };
        let _ = writeln!(self.text, "  {from} -> {to}{options}");
    }

    fn is_cluster(&self, id: NodeId) -> bool {
        let work = &self.graph.nodes[id.index()].work;
        let phases = matches!(work, Work::Loop { .. } | Work::Race { .. });
        phases || !self.children.inside[id.index()].is_empty()
    }

    /// The node that stands for the head or the end of a box: the first or the last inside.
    fn end(&self, id: NodeId, head: bool) -> String {
        let mut id = id;
        loop {
            let inside = &self.children.inside[id.index()];
            let next = if head { inside.first() } else { inside.last() };
            match next {
                Some(next) => id = *next,
                None => break,
            }
        }
        let work = &self.graph.nodes[id.index()].work;
        match work {
            Work::Loop { .. } | Work::Race { .. } if !head => format!("n{}_check", id.0),
            Work::Loop { .. } | Work::Race { .. } | Work::Body(_) => format!("n{}", id.0),
            Work::Question { .. } | Work::Call { .. } | Work::Summary(_) => format!("n{}", id.0),
        }
    }
}

/// How deep lines are indented, at most.
const MAX_INDENT: usize = 20;

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

fn shape(node: &Node) -> &'static str {
    match node.kind {
        Kind::Approval | Kind::Pause => " shape=octagon style=solid",
        Kind::Ask => " shape=hexagon style=solid",
        Kind::Task if node.each.is_some() => " shape=box3d style=solid",
        Kind::Task | Kind::Loop | Kind::Race | Kind::Summary => "",
    }
}

fn colour(node: &Node) -> &'static str {
    match node.state.as_ref().map(|state| state.status) {
        None | Some(Status::Waiting) => "",
        Some(Status::Done) => " color=forestgreen",
        Some(Status::Active) => " color=blue penwidth=2",
        Some(Status::Failed | Status::Rejected) => " color=red penwidth=2",
        Some(Status::Paused | Status::WaitingInput) => " color=darkorange penwidth=2",
        Some(Status::Skipped | Status::Cancelled) => " color=gray60",
    }
}

/// A label of lines; each is cut, escaped and centred.
fn label(lines: &[String]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .map(|line| escaped(&words::shortened(line, MAX_LABEL)))
        .collect();
    format!("\"{}\"", lines.join("\\n"))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// `"` ends a string, `\` begins an escape, `&` with a `;` behind it a character by name.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    match text.contains('&') && text.contains(';') {
        true => text.replace('&', "&amp;"),
        false => text,
    }
}
