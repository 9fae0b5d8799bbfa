//! The page around the tasks: title, legend, notes, and the picture in words.

use crate::graph::svg::pen::{Area, DOC, FACT, Number, Pen, THEME, TITLE, escaped};
use crate::graph::svg::{Picture, Sheet};
use crate::graph::widths::{fitted, wrapped};
use crate::graph::words;
use crate::graph::{Graph, Work};
use std::fmt::Write;

/// Around everything.
const MARGIN: f64 = 24.0;
/// The least width of the page.
const MIN_WIDTH: f64 = 320.0;
/// The widest title.
const MAX_TITLE: f64 = 600.0;
/// The least room for lines of text, if they are long.
const TEXT_WIDTH: f64 = 420.0;
/// How many tasks the description names.
const MAX_DESCRIBED: usize = 40;

/// Puts the tasks on a page; `insides` tells where in their boxes called workflows stand.
pub(crate) fn finish(
    graph: &Graph,
    tasks: &Sheet,
    sheets: &[Option<Sheet>],
    insides: &[(f64, f64)],
) -> Picture {
    let edges = tasks.edges + drawn(sheets);
    let legend = legend(graph);
    let title = fitted(
        &words::one_line(&graph.workflow),
        TITLE.face,
        TITLE.size,
        MAX_TITLE,
    );
    let widths = [tasks.width, legend.width, TITLE.width(&title)];
    let width = widths.into_iter().fold(MIN_WIDTH - 2.0 * MARGIN, f64::max);
    let room = width.max(TEXT_WIDTH);
    let caption = graph.doc.as_deref().map(words::caption).unwrap_or_default();
    let captions = wrapped(&caption, DOC.size, room, 3);
    let notes = notes(graph, edges, room);
    let texts = captions.iter().map(|line| DOC.width(line));
    let texts = texts.chain(notes.iter().map(|line| FACT.width(line)));
    let width = texts.fold(width, f64::max) + 2.0 * MARGIN;

    let mut around = Pen::default();
    let mut y = MARGIN + 14.0;
    around.words(TITLE, (MARGIN, y), &title);
    for line in &captions {
        y += 17.0;
        around.words(DOC, (MARGIN, y), line);
    }
    let place = ((width - tasks.width) / 2.0, y + 22.0);
    y = place.1 + tasks.height;
    if legend.width > 0.0 {
        y += 30.0;
        around.open("legend", MARGIN, y);
        around.raw(&legend.pen.text);
        around.close();
    }
    for line in &notes {
        y += 20.0;
        around.words(FACT, (MARGIN, y), line);
    }
    let size = (width.ceil(), (y + MARGIN).ceil());
    Picture {
        boxes: boxes(graph, tasks, sheets, insides, place),
        svg: document(graph, &around, tasks, size, place),
        size,
        edges,
    }
}

/// What the picture leaves out.
fn notes(graph: &Graph, edges: usize, room: f64) -> Vec<String> {
    let notes = graph.notes.iter();
    let mut lines: Vec<String> = notes
        .flat_map(|note| wrapped(note, FACT.size, room, 3))
        .collect();
    let missing = graph.edges.len().saturating_sub(edges);
    if missing > 0 {
        lines.push(format!("{missing} of the longest edges are not drawn."));
    }
    lines
}

fn drawn(sheets: &[Option<Sheet>]) -> usize {
    sheets.iter().flatten().map(|sheet| sheet.edges).sum()
}

fn boxes(
    graph: &Graph,
    page: &Sheet,
    sheets: &[Option<Sheet>],
    insides: &[(f64, f64)],
    (left, top): (f64, f64),
) -> Vec<(String, Area)> {
    let mut areas: Vec<Option<Area>> = vec![None; graph.nodes.len()];
    for (id, area) in &page.places {
        areas[id.index()] = Some(area.moved(left, top));
    }
    for at in 0..graph.nodes.len() {
        if let (Some(sheet), Some(outer)) = (&sheets[at], areas[at]) {
            let (x, y) = (outer.left + insides[at].0, outer.top + insides[at].1);
            for (id, area) in &sheet.places {
                areas[id.index()] = Some(area.moved(x, y));
            }
        }
    }
    let known = graph.nodes.iter().zip(areas);
    known
        .filter_map(|(node, area)| Some((node.key.clone(), area?)))
        .collect()
}

fn document(
    graph: &Graph,
    head: &Pen,
    page: &Sheet,
    (width, height): (f64, f64),
    (left, top): (f64, f64),
) -> String {
    let id: String = graph
        .workflow
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .take(60)
        .collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"outpost-graph\" role=\"img\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         aria-labelledby=\"graph-{id}-title graph-{id}-desc\">\n\
         <title id=\"graph-{id}-title\">{}</title>\n<desc id=\"graph-{id}-desc\">{}</desc>\n",
        escaped(&format!("Workflow {}", words::one_line(&graph.workflow))),
        escaped(&description(graph)),
        width = Number(width),
        height = Number(height),
    );
    svg.push_str(THEME);
    let mut pen = Pen { text: svg };
    let paper = Area {
        left: 0.0,
        top: 0.0,
        width,
        height,
    };
    pen.area("paper", paper, 0.0);
    pen.raw("\n");
    pen.raw(&head.text);
    pen.open("tasks-of-workflow", left, top);
    pen.raw("\n");
    pen.raw(&page.pen.text);
    pen.close();
    pen.raw("</svg>\n");
    pen.text
}

/// The picture in words, for those who do not see it.
fn description(graph: &Graph) -> String {
    let mut before: Vec<Vec<&str>> = vec![Vec::new(); graph.nodes.len()];
    for edge in graph.sound_edges() {
        before[edge.to.index()].push(&graph.nodes[edge.from.index()].key);
    }
    let tasks = graph.nodes.iter().zip(&before).take(MAX_DESCRIBED);
    let mut sentences: Vec<String> = tasks
        .map(|(node, before)| {
            let mut text = format!(
                "{}: {}",
                words::one_line(&node.key),
                words::kind_words(node)
            );
            if !before.is_empty() {
                let shown: Vec<String> = before
                    .iter()
                    .take(8)
                    .map(|key| words::one_line(key))
                    .collect();
                let more = if before.len() > 8 { " and others" } else { "" };
                let _ = write!(text, ", after {}{more}", shown.join(", "));
            }
            if let Some(state) = &node.state {
                let _ = write!(text, "; {}", words::state_words(state));
            }
            text
        })
        .collect();
    let rest = graph.nodes.len().saturating_sub(MAX_DESCRIBED);
    if rest > 0 {
        sentences.push(format!("and {rest} more"));
    }
    if sentences.is_empty() {
        sentences.push("No tasks".to_owned());
    }
    format!("{}.", sentences.join(". "))
}

struct Legend {
    width: f64,
    pen: Pen,
}

/// What the lines mean, as far as there are such.
fn legend(graph: &Graph) -> Legend {
    let mut legend = Legend {
        width: 0.0,
        pen: Pen::default(),
    };
    let summary = graph
        .nodes
        .iter()
        .any(|node| matches!(node.work, Work::Summary(_)));
    let edges = &graph.edges;
    let rows = [
        (
            "",
            "reads the value",
            edges.iter().any(|edge| edge.value && !edge.soft),
        ),
        (
            " order",
            "order alone",
            edges.iter().any(|edge| !edge.value && !edge.soft),
        ),
        (
            " soft",
            "however it ends",
            edges.iter().any(|edge| edge.soft),
        ),
    ];
    if summary || rows[1..].iter().all(|row| !row.2) {
        return legend;
    }
    for (class, text, _) in rows.into_iter().filter(|row| row.2) {
        let x = legend.width;
        legend.pen.path(
            &format!("edge{class}"),
            &format!("M{} 0H{}", Number(x), Number(x + 24.0)),
        );
        legend.pen.words(FACT, (x + 31.0, 4.0), text);
        legend.width = x + 31.0 + FACT.width(text) + 22.0;
    }
    legend
}
