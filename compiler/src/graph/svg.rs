//! A graph as SVG, laid out here: no other program, no script, no font from elsewhere.
//!
//! Boxes stand in layers from the top; edges leave below a box, pass other layers in lanes of their own and end above one.

use crate::graph::layers::Links;
use crate::graph::layout::{self, Layout, Sizes};
use crate::graph::summary;
use crate::graph::svg::card::Card;
use crate::graph::svg::pen::{Direction, Number, Pen, TIP};
use crate::graph::words;
use crate::graph::{Edge, Graph, NodeId};
use std::collections::HashMap;
use std::fmt::Write;

mod card;
mod page;
mod pen;

pub use crate::graph::svg::pen::Area;

/// How many boxes a picture has; a larger graph is drawn as a summary of its layers.
pub const MAX_BOXES: usize = 600;

/// Between two boxes of a layer.
const GAP: f64 = 28.0;
/// The widest layer that stands in one row.
const WIDEST: f64 = 1600.0;
/// Between two layers, at least.
const LAYER_GAP: f64 = 44.0;
/// What wide turns between two layers add, at most.
const MAX_EXTRA_GAP: f64 = 90.0;
/// Between the ends of edges at one side of a box.
const PORT_GAP: f64 = 16.0;

/// A picture and where the nodes of its graph are in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The SVG document.
    pub svg: String,
    /// Its size.
    pub size: (f64, f64),
    /// The box of each node, in the order of the nodes that are drawn.
    pub boxes: Vec<(String, Area)>,
    /// How many edges are drawn.
    pub edges: usize,
}

/// Draws a graph.
pub fn draw(graph: &Graph) -> String {
    picture(graph).svg
}

/// Draws a graph and tells what is where.
pub fn picture(graph: &Graph) -> Picture {
    let graph = &*summary::within(graph, MAX_BOXES);
    let children = graph.children();
    let mut inner = inner_edges(graph);
    let mut cards: Vec<Option<Card>> = graph.nodes.iter().map(|_| None).collect();
    let mut sheets: Vec<Option<Sheet>> = graph.nodes.iter().map(|_| None).collect();
    let mut insides = vec![(0.0, 0.0); graph.nodes.len()];
    // Behind its caller comes a called workflow, so that from the end on, all that a box holds is drawn before it.
    for at in (0..graph.nodes.len()).rev() {
        let id = NodeId(at as u32);
        let inside = &children.inside[at];
        if !inside.is_empty() {
            let edges = inner.remove(&Some(id)).unwrap_or_default();
            sheets[at] = Some(sheet(graph, inside, &edges, &mut cards));
        }
        let size = sheets[at].as_ref().map(|sheet| (sheet.width, sheet.height));
        let mut card = card::draw(graph, &graph.nodes[at], size);
        if let Some(sheet) = &sheets[at] {
            card.pen.open("inside", card.inside.0, card.inside.1);
            card.pen.raw(&sheet.pen.text);
            card.pen.close();
        }
        insides[at] = card.inside;
        cards[at] = Some(card);
    }
    let edges = inner.remove(&None).unwrap_or_default();
    let tasks = sheet(graph, &children.roots, &edges, &mut cards);
    page::finish(graph, &tasks, &sheets, &insides)
}

/// The edges of each workflow, by its caller.
fn inner_edges(graph: &Graph) -> HashMap<Option<NodeId>, Vec<Edge>> {
    let mut edges: HashMap<Option<NodeId>, Vec<Edge>> = HashMap::new();
    for edge in graph.sound_edges() {
        let parent = graph.nodes[edge.to.index()].parent;
        if graph.nodes[edge.from.index()].parent == parent {
            edges.entry(parent).or_default().push(*edge);
        }
    }
    edges
}

/// One workflow, drawn.
struct Sheet {
    width: f64,
    height: f64,
    pen: Pen,
    places: Vec<(NodeId, Area)>,
    edges: usize,
}

fn sheet(graph: &Graph, nodes: &[NodeId], edges: &[Edge], cards: &mut [Option<Card>]) -> Sheet {
    let taken: Vec<Card> = nodes
        .iter()
        .filter_map(|id| cards[id.index()].take())
        .collect();
    let mut index: HashMap<NodeId, usize> = HashMap::new();
    index.extend(nodes.iter().enumerate().map(|(at, id)| (*id, at)));
    let links: Vec<(usize, usize)> = edges
        .iter()
        .filter_map(|edge| Some((*index.get(&edge.from)?, *index.get(&edge.to)?)))
        .collect();
    let widths: Vec<f64> = taken.iter().map(|card| card.width).collect();
    let layout = layout::lay_out(&Sizes {
        widths: &widths,
        links: &links,
        gap: GAP,
        lane: 2.0,
        lane_gap: 14.0,
        widest: WIDEST,
    });
    let ports = Ports::of(&layout, &links, widths.len());
    let heights: Vec<f64> = taken.iter().map(|card| card.height).collect();
    let bands = bands(&layout, &heights, &ports);
    let mut sheet = Sheet {
        width: layout.width,
        height: bands.last().map_or(0.0, |band| band.1),
        pen: Pen::default(),
        places: Vec::with_capacity(nodes.len()),
        edges: 0,
    };
    let top =
        |at: usize, row: usize| bands[row].0 + (bands[row].1 - bands[row].0 - heights[at]) / 2.0;
    let mut row_of = vec![0; nodes.len()];
    for (row, points) in layout.rows.iter().enumerate() {
        for at in points.iter().filter(|at| **at < nodes.len()) {
            row_of[*at] = row;
        }
    }
    for (at, edge) in edges.iter().enumerate() {
        let Some(Some(chain)) = layout.chains.get(at) else {
            continue;
        };
        let (from, to) = links[at];
        let ends = (top(from, row_of[from]) + heights[from], top(to, row_of[to]));
        let way = way(
            &layout,
            chain,
            ports.of_edge[at],
            (row_of[from], &bands),
            ends,
        );
        draw_edge(
            &mut sheet.pen,
            graph,
            edge,
            &way,
            (ports.of_edge[at].1, ends.1),
        );
        sheet.edges += 1;
    }
    for (at, (id, card)) in nodes.iter().zip(taken).enumerate() {
        let area = Area {
            left: layout.left[at],
            top: top(at, row_of[at]),
            width: card.width,
            height: card.height,
        };
        let classes = card::classes(&graph.nodes[id.index()]);
        sheet.pen.open(&classes, area.left, area.top);
        sheet.pen.raw(&card.pen.text);
        sheet.pen.close();
        sheet.places.push((*id, area));
    }
    sheet
}

/// Where the edges leave and reach their boxes.
struct Ports {
    /// For each edge, the places at the lower side of one box and at the upper side of the other.
    of_edge: Vec<(f64, f64)>,
}

impl Ports {
    fn of(layout: &Layout, links: &Links, count: usize) -> Ports {
        let mut of_edge = vec![(0.0, 0.0); links.len()];
        let mut below: Vec<Vec<(f64, usize)>> = vec![Vec::new(); count];
        let mut above: Vec<Vec<(f64, usize)>> = vec![Vec::new(); count];
        for (at, chain) in layout.chains.iter().enumerate() {
            let Some([first, second, ..]) = chain.as_deref() else {
                continue;
            };
            let (first, second) = (*first, *second);
            below[first].push((layout.middle(second), at));
            let chain = chain.iter().flatten().rev().take(2);
            if let [last, before] = chain.copied().collect::<Vec<_>>()[..] {
                above[last].push((layout.middle(before), at));
            }
        }
        for (node, ends) in below.iter_mut().enumerate() {
            spread(layout, node, ends, |at, x| of_edge[at].0 = x);
        }
        for (node, ends) in above.iter_mut().enumerate() {
            spread(layout, node, ends, |at, x| of_edge[at].1 = x);
        }
        Ports { of_edge }
    }
}

/// Spreads the ends of edges around the middle of a box, in the order of where they come from.
fn spread(
    layout: &Layout,
    node: usize,
    ends: &mut [(f64, usize)],
    mut put: impl FnMut(usize, f64),
) {
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let room = (layout.widths[node] - 32.0).max(0.0);
    let step = PORT_GAP.min(room / (ends.len().max(2) - 1) as f64);
    let first = layout.middle(node) - step * (ends.len() as f64 - 1.0) / 2.0;
    for (at, (_, edge)) in ends.iter().enumerate() {
        put(*edge, first + step * at as f64);
    }
}

/// The top and the bottom of each layer.
fn bands(layout: &Layout, heights: &[f64], ports: &Ports) -> Vec<(f64, f64)> {
    let mut turns = vec![0.0f64; layout.rows.len()];
    let mut row_of = vec![0; layout.left.len()];
    for (row, points) in layout.rows.iter().enumerate() {
        points.iter().for_each(|point| row_of[*point] = row);
    }
    for (at, chain) in layout.chains.iter().enumerate() {
        for (step, x0, x1) in steps(
            layout,
            chain.as_deref().unwrap_or_default(),
            ports.of_edge[at],
        ) {
            let row = row_of[chain.as_deref().map_or(0, |chain| chain[0])] + step;
            turns[row] = turns[row].max((x1 - x0).abs());
        }
    }
    let mut bands = Vec::with_capacity(layout.rows.len());
    let mut y = 0.0;
    for (row, points) in layout.rows.iter().enumerate() {
        let boxes = points.iter().filter_map(|point| heights.get(*point));
        let height = boxes.copied().fold(0.0, f64::max);
        bands.push((y, y + height));
        y += height + LAYER_GAP + (turns[row] / 8.0).min(MAX_EXTRA_GAP);
    }
    bands
}

/// The turns of an edge: which layer it leaves, counted from its first, and from where to where it goes.
fn steps<'l>(
    layout: &'l Layout,
    chain: &'l [usize],
    ends: (f64, f64),
) -> impl Iterator<Item = (usize, f64, f64)> + 'l {
    let last = chain.len().saturating_sub(1);
    let x = move |at: usize| match at {
        0 => ends.0,
        at if at == last => ends.1,
        at => layout.middle(chain[at]),
    };
    (0..last).map(move |at| (at, x(at), x(at + 1)))
}

/// The way of an edge, up to the tip of its arrow.
fn way(
    layout: &Layout,
    chain: &[usize],
    ports: (f64, f64),
    (first, bands): (usize, &[(f64, f64)]),
    (start, end): (f64, f64),
) -> String {
    let mut way = format!("M{} {}", Number(ports.0), Number(start));
    for (step, x0, x1) in steps(layout, chain, ports) {
        let (y0, y1) = (bands[first + step].1, bands[first + step + 1].0);
        let _ = write!(way, "V{}", Number(y0));
        if (x1 - x0).abs() >= 0.1 {
            let y1 = y1 - TIP;
            let half = (y0 + y1) / 2.0;
            let numbers = [x0, half, x1, half, x1, y1].map(|number| Number(number).to_string());
            let _ = write!(way, "C{}", numbers.join(" "));
        }
    }
    let _ = write!(way, "V{}", Number(end - TIP + 1.0));
    way
}

fn draw_edge(pen: &mut Pen, graph: &Graph, edge: &Edge, way: &str, end: (f64, f64)) {
    let mut classes = String::new();
    if !edge.value {
        classes.push_str(" order");
    }
    if edge.soft {
        classes.push_str(" soft");
    }
    let name = |id: NodeId| words::one_line(&graph.nodes[id.index()].key);
    let verb = match (edge.soft, edge.value) {
        (true, true) => "reads, if it is done,",
        (true, false) => "waits for the end of",
        (false, true) => "reads",
        (false, false) => "waits for",
    };
    pen.raw("<g>");
    pen.tooltip(&format!("{} {verb} {}", name(edge.to), name(edge.from)));
    pen.path(&format!("edge{classes}"), way);
    pen.tip(&format!("tip{classes}"), end, Direction::Down);
    pen.close();
}
