//! A graph for a terminal: boxes in layers if they fit, else a list of layers.

use crate::graph::ascii::canvas::Canvas;
use crate::graph::layers;
use crate::graph::layout::{self, Layout, Sizes};
use crate::graph::summary;
use crate::graph::widths::{columns, columns_of};
use crate::graph::words;
use crate::graph::{Graph, Node, Step, Work};
use std::fmt::Write;

mod canvas;

/// How many boxes are drawn; a larger graph is a list of layers.
pub const MAX_BOXES: usize = 60;

/// How many edges are drawn; a denser graph is a list of layers.
pub const MAX_EDGES: usize = 150;

/// How many tasks are listed; a larger graph is a list of its layers put together.
pub const MAX_LISTED: usize = 2_000;

/// The widest lines in boxes that are tried, one after the other, until the picture fits.
const LINES: [usize; 3] = [40, 30, 22];

/// How many lines a box has between its borders.
const MAX_LINES: usize = 14;

/// The narrowest terminal that is drawn for.
const MIN_COLUMNS: usize = 20;

/// The widest picture.
const MAX_COLUMNS: usize = 500;

/// Draws a graph for a terminal of so many columns.
pub fn draw(graph: &Graph, columns: usize) -> String {
    let columns = columns.clamp(MIN_COLUMNS, MAX_COLUMNS);
    let mut text = heading(graph, columns);
    let collapsed = graph.collapsed();
    let few = collapsed.nodes.len() <= MAX_BOXES && collapsed.edges.len() <= MAX_EDGES;
    let mut pictures = LINES
        .iter()
        .take_while(|_| few)
        .filter_map(|line| boxes(&collapsed, *line, columns));
    let body = pictures.next().unwrap_or_else(|| list(graph, columns));
    text.push_str(&body);
    text
}

fn heading(graph: &Graph, width: usize) -> String {
    let mut text = cut(&words::one_line(&graph.workflow), width);
    text.push('\n');
    if let Some(doc) = &graph.doc {
        let _ = writeln!(text, "{}", cut(&words::caption(doc), width));
    }
    text.push('\n');
    if graph.nodes.is_empty() {
        text.push_str("no tasks\n");
    }
    text
}

/// The picture, if it fits.
fn boxes(graph: &Graph, line: usize, columns: usize) -> Option<String> {
    let lines: Vec<Vec<String>> = graph
        .nodes
        .iter()
        .map(|node| node_lines(graph, node, line))
        .collect();
    let widths: Vec<f64> = lines
        .iter()
        .map(|lines| {
            let widest = lines.iter().map(|line| columns_of(line)).max().unwrap_or(1);
            // An odd width has a middle column.
            ((widest + 4) | 1) as f64
        })
        .collect();
    let links = summary::links(graph);
    let layout = layout::lay_out(&Sizes {
        widths: &widths,
        links: &links,
        gap: 3.0,
        lane: 1.0,
        lane_gap: 2.0,
        widest: f64::INFINITY,
    });
    if layout.width > columns as f64 {
        return None;
    }
    let drawing = Drawing::of(&layout, &lines, graph);
    (drawing.width <= columns).then(|| drawing.draw(&lines))
}

/// A stretch of an edge between two layers.
#[derive(Clone, Copy)]
struct Stretch {
    from: usize,
    start: usize,
    end: usize,
    soft: bool,
    /// Whether it ends at a box.
    tip: bool,
    track: usize,
}

struct Drawing<'l> {
    layout: &'l Layout,
    left: Vec<usize>,
    width: usize,
    /// Top and height of each layer.
    bands: Vec<(usize, usize)>,
    /// The stretches below each layer.
    gaps: Vec<Vec<Stretch>>,
    /// Bends that are passed, by layer: column and whether dashed.
    lanes: Vec<Vec<(usize, bool)>>,
    height: usize,
}

impl<'l> Drawing<'l> {
    fn of(layout: &'l Layout, lines: &[Vec<String>], graph: &Graph) -> Drawing<'l> {
        let left: Vec<usize> = layout
            .left
            .iter()
            .map(|x| x.round().max(0.0) as usize)
            .collect();
        let wide = |point: usize| layout.widths[point] as usize;
        let right = (0..left.len()).map(|point| left[point] + wide(point));
        let mut drawing = Drawing {
            layout,
            width: right.max().unwrap_or(0),
            left,
            bands: Vec::new(),
            gaps: vec![Vec::new(); layout.rows.len()],
            lanes: vec![Vec::new(); layout.rows.len()],
            height: 0,
        };
        drawing.stretches(graph, lines.len());
        let mut y = 0;
        for (row, points) in layout.rows.iter().enumerate() {
            let heights = points.iter().filter_map(|point| lines.get(*point));
            let height = heights.map(|lines| lines.len() + 2).max().unwrap_or(1);
            drawing.bands.push((y, height));
            y += height;
            let tracks = assign_tracks(&mut drawing.gaps[row]);
            if !drawing.gaps[row].is_empty() {
                y += tracks + if tracks == 0 { 2 } else { 1 };
            } else if row + 1 < layout.rows.len() {
                y += 1;
            }
        }
        drawing.height = y;
        drawing
    }

    fn middle(&self, point: usize) -> usize {
        self.left[point] + self.layout.widths[point] as usize / 2
    }

    fn stretches(&mut self, graph: &Graph, boxes: usize) {
        let mut row_of = vec![0; self.left.len()];
        for (row, points) in self.layout.rows.iter().enumerate() {
            points.iter().for_each(|point| row_of[*point] = row);
        }
        for (edge, chain) in graph.sound_edges().zip(&self.layout.chains) {
            let chain = chain.as_deref().unwrap_or_default();
            let mut start = chain.first().map_or(0, |first| self.middle(*first));
            for pair in chain.windows(2) {
                let (from, to) = (pair[0], pair[1]);
                let mut end = self.middle(to);
                if start.abs_diff(end) <= 2 && self.layout.widths[to] >= 7.0 {
                    end = start;
                }
                self.gaps[row_of[from]].push(Stretch {
                    from,
                    start,
                    end,
                    soft: edge.soft,
                    tip: to < boxes,
                    track: 0,
                });
                if to >= boxes {
                    self.lanes[row_of[to]].push((end, edge.soft));
                }
                start = end;
            }
        }
    }

    fn draw(&self, lines: &[Vec<String>]) -> String {
        let mut canvas = Canvas::new(self.width, self.height);
        for (row, points) in self.layout.rows.iter().enumerate() {
            let (top, height) = self.bands[row];
            for (x, dashed) in &self.lanes[row] {
                canvas.vertical(*x, top, top + height - 1, *dashed);
            }
            for point in points {
                let Some(lines) = lines.get(*point) else {
                    continue;
                };
                let left = self.left[*point];
                let width = self.layout.widths[*point] as usize;
                canvas.frame(left, top, width, lines.len() + 2);
                for (at, line) in lines.iter().enumerate() {
                    canvas.text(left + 2, top + 1 + at, line);
                }
            }
        }
        for (row, stretches) in self.gaps.iter().enumerate() {
            for stretch in stretches {
                self.stretch(&mut canvas, row, stretch, lines);
            }
        }
        canvas.lines()
    }

    fn stretch(&self, canvas: &mut Canvas, row: usize, stretch: &Stretch, lines: &[Vec<String>]) {
        let (top, height) = self.bands[row];
        let Some((next, _)) = self.bands.get(row + 1) else {
            return;
        };
        let leaves = match lines.get(stretch.from) {
            Some(lines) => top + lines.len() + 1,
            None => top + height - 1,
        };
        let turn = top + height + stretch.track;
        let (one, other) = (
            stretch.start.min(stretch.end),
            stretch.start.max(stretch.end),
        );
        let arrives = if stretch.tip { next - 1 } else { *next };
        if one == other {
            canvas.vertical(one, leaves, arrives, stretch.soft);
        } else {
            canvas.vertical(stretch.start, leaves, turn, stretch.soft);
            canvas.horizontal(turn, one, other, stretch.soft);
            canvas.vertical(stretch.end, turn, arrives, stretch.soft);
        }
        if stretch.tip {
            canvas.text(stretch.end, arrives, "▼");
        }
    }
}

/// All stretches that leave one point and turn: they share a row.
struct Net {
    from: usize,
    start: usize,
    low: usize,
    high: usize,
    /// The nets that must turn above this one: they start where it ends.
    above: Vec<usize>,
    track: Option<usize>,
}

/// Gives each stretch that turns a row of its own or one it can share; gives how many rows there are.
fn assign_tracks(stretches: &mut [Stretch]) -> usize {
    let mut nets = nets(stretches);
    for _ in 0..nets.len() {
        let open = |net: &Net| net.track.is_none();
        let free = nets
            .iter()
            .position(|net| open(net) && !net.above.iter().any(|at| open(&nets[*at])));
        // In a circle the leftmost goes first, and two lines share a stretch of a column.
        let Some(at) = free.or_else(|| nets.iter().position(open)) else {
            break;
        };
        let net = &nets[at];
        let before = net.above.iter().filter_map(|at| nets[*at].track);
        let least = before.max().map_or(0, |last| last + 1);
        let taken = |row: usize| {
            let mut others = nets.iter().filter(|other| other.track == Some(row));
            others.any(|other| other.low <= net.high && net.low <= other.high)
        };
        nets[at].track = (least..).find(|row| !taken(*row));
    }
    for stretch in stretches.iter_mut() {
        let net = nets.iter().find(|net| net.from == stretch.from);
        stretch.track = net.and_then(|net| net.track).unwrap_or(0);
    }
    nets.iter()
        .filter_map(|net| net.track)
        .max()
        .map_or(0, |last| last + 1)
}

fn nets(stretches: &[Stretch]) -> Vec<Net> {
    let turning = stretches
        .iter()
        .filter(|stretch| stretch.start != stretch.end);
    let mut nets: Vec<Net> = Vec::new();
    for stretch in turning.clone() {
        let low = stretch.start.min(stretch.end);
        let high = stretch.start.max(stretch.end);
        match nets.iter_mut().find(|net| net.from == stretch.from) {
            Some(net) => (net.low, net.high) = (net.low.min(low), net.high.max(high)),
            None => nets.push(Net {
                from: stretch.from,
                start: stretch.start,
                low,
                high,
                above: Vec::new(),
                track: None,
            }),
        }
    }
    nets.sort_by_key(|net| (net.low, net.high));
    for stretch in turning {
        let above = nets.iter().position(|net| net.start == stretch.end);
        let below = nets.iter().position(|net| net.from == stretch.from);
        if let (Some(above), Some(below)) = (above, below)
            && above != below
        {
            nets[below].above.push(above);
        }
    }
    nets
}

fn node_lines(graph: &Graph, node: &Node, width: usize) -> Vec<String> {
    let mut lines = vec![words::one_line(&node.key), words::kind_words(node)];
    lines.extend(words::facts(node));
    match &node.work {
        Work::Loop { attempt, check, .. } => {
            let phases = phase_lines(attempt, check, width);
            let first = phases.iter().take(1).map(|line| format!("┌▶ {line}"));
            lines.extend(first);
            lines.extend(phases.iter().skip(1).map(|line| format!("│  {line}")));
            lines.push("└─ feedback".to_owned());
        }
        Work::Race { attempt, check, .. } => lines.extend(phase_lines(attempt, check, width)),
        Work::Body(_) | Work::Question { .. } | Work::Call { .. } | Work::Summary(_) => {
            lines.extend(words::work_lines(node));
        }
    }
    lines.extend(words::means(graph, node));
    let room = if node.state.is_some() {
        MAX_LINES - 1
    } else {
        MAX_LINES
    };
    if lines.len() > room {
        let more = lines.len() - room + 1;
        lines.truncate(room - 1);
        lines.push(format!("and {more} more"));
    }
    lines.extend(
        node.state
            .as_ref()
            .map(|state| format!("* {}", words::state_words(state))),
    );
    lines.iter().map(|line| cut(line, width)).collect()
}

/// A loop's phases in at most six lines.
fn phase_lines(attempt: &[Step], check: &[Step], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (title, steps, most) in [("attempt: ", attempt, 2), ("check: ", check, 4)] {
        let room = width - 3 - title.len();
        let mut words: Vec<String> = steps.iter().map(words::step_line).collect();
        if words.len() > most {
            let more = words.len() + 1 - most;
            words.truncate(most - 1);
            words.push(format!("and {more} more"));
        }
        let indent = " ".repeat(title.len());
        for (at, line) in words.iter().enumerate() {
            let start = if at == 0 { title } else { &indent };
            lines.push(format!("{start}{}", cut(line, room)));
        }
    }
    lines
}

/// At most so many columns, the last of them `…` if something is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if columns_of(text) <= most {
        return text.to_owned();
    }
    let mut used = 1;
    let mut kept = String::new();
    for c in text.chars() {
        used += columns(c);
        if used > most {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// A line for each task, by layers; inside called workflows indented.
fn list(graph: &Graph, width: usize) -> String {
    let graph = &*summary::within(graph, MAX_LISTED);
    let children = graph.children();
    let layer = layers::layers(graph.nodes.len(), &summary::links(graph));
    let mut before: Vec<Vec<String>> = vec![Vec::new(); graph.nodes.len()];
    for edge in graph.sound_edges() {
        let mark = if edge.soft { "?" } else { "" };
        let key = words::one_line(&graph.nodes[edge.from.index()].key);
        before[edge.to.index()].push(format!("{key}{mark}"));
    }
    let mut text = String::new();
    let by_layer = |ids: &[crate::graph::NodeId]| {
        let mut ids = ids.to_vec();
        ids.sort_by_key(|id| std::cmp::Reverse((layer[id.index()], id.0)));
        ids
    };
    let mut due = by_layer(&children.roots);
    let mut last = None;
    while let Some(id) = due.pop() {
        let node = &graph.nodes[id.index()];
        let number = match node.parent {
            None if last != Some(layer[id.index()]) => (layer[id.index()] + 1).to_string(),
            None => String::new(),
            Some(_) => "·".to_owned(),
        };
        if node.parent.is_none() {
            last = Some(layer[id.index()]);
        }
        let mut line = format!(
            "{number:>4}  {} ({})",
            words::one_line(&node.key),
            words::kind_words(node)
        );
        if let Some(state) = &node.state {
            let _ = write!(line, " * {}", words::state_words(state));
        }
        let mut facts = words::facts(node);
        facts.extend(summary_lines(node));
        if !before[id.index()].is_empty() && !matches!(node.work, Work::Summary(_)) {
            let after = format!("after {}", before[id.index()].join(", "));
            if columns_of(&line) + 1 + columns_of(&after) <= width {
                let _ = write!(line, " {after}");
            } else {
                facts.insert(0, after);
            }
        }
        let _ = writeln!(text, "{}", cut(&line, width));
        for fact in facts {
            let _ = writeln!(text, "{}", cut(&format!("        {fact}"), width));
        }
        due.extend(by_layer(&children.inside[id.index()]));
    }
    for note in &graph.notes {
        let _ = writeln!(text, "\n{note}");
    }
    text
}

fn summary_lines(node: &Node) -> Vec<String> {
    match &node.work {
        Work::Summary(lines) => lines.iter().map(|line| words::one_line(line)).collect(),
        Work::Body(_) | Work::Question { .. } | Work::Call { .. } => Vec::new(),
        Work::Loop { .. } | Work::Race { .. } => Vec::new(),
    }
}
