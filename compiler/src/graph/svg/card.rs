//! The box of one task: its name, what it does, and for a loop how attempt and check follow one another.

use crate::graph::svg::pen::{
    Area, DOC, Direction, FACT, KIND, MEANS, NAME, Number, PHASE, Pen, STATE, Style, TIP, WORK,
};
use crate::graph::widths::{fitted, wrapped};
use crate::graph::words;
use crate::graph::{Graph, Kind, Node, Step, Work};

/// The widest line of text.
const MAX_LINE: f64 = 250.0;
/// The widest line inside a phase of a loop.
const MAX_PHASE_LINE: f64 = 210.0;
/// How many steps of a body are shown.
const MAX_LINES: usize = 12;
/// From the side of a box to its text; the bar is in it.
const SIDE: f64 = 15.0;
/// Above the first and below the last line.
const EDGE: f64 = 9.0;
/// The height of a line.
const LINE: f64 = 16.0;
/// The way from attempt to check.
const STEP_ASIDE: f64 = 38.0;
/// Below the phases, for the way back.
const WAY_BACK: f64 = 30.0;
/// How far the boxes behind a box stick out, where it stands for many.
pub(crate) const STACK: f64 = 4.0;

/// A drawn box, its top left corner at the origin.
pub(crate) struct Card {
    /// Its width, with what sticks out.
    pub width: f64,
    /// Its height, with what sticks out.
    pub height: f64,
    /// The shapes.
    pub pen: Pen,
    /// Where the drawing of a called workflow stands in it.
    pub inside: (f64, f64),
}

/// Draws a node around what it holds; `inside` is the size of that, if there is any.
pub(crate) fn draw(graph: &Graph, node: &Node, inside: Option<(f64, f64)>) -> Card {
    let lines = lines(graph, node);
    let phases = phases(node);
    let stack = if node.each.is_some() { STACK } else { 0.0 };
    let widest = lines.iter().map(|line| line.0.width(&line.1));
    let mut width = widest.fold(90.0, f64::max) + 2.0 * SIDE;
    let mut height = EDGE + lines.len() as f64 * LINE;
    if let Some(phases) = &phases {
        width = width.max(phases.width + 2.0 * SIDE);
        height += phases.height + 6.0;
    }
    let mut hole = (SIDE, height + 6.0);
    if let Some((inner_width, inner_height)) = inside {
        width = width.max(inner_width + 2.0 * SIDE);
        hole.0 = (width - inner_width) / 2.0;
        height += inner_height + 12.0;
    }
    let state = node.state.as_ref().map(words::state_words);
    if let Some(state) = &state {
        width = width.max(STATE.width(state) + 2.0 * SIDE);
        height += LINE;
    }
    height += EDGE;
    let mut card = Card {
        width: width + stack,
        height: height + stack,
        pen: Pen::default(),
        inside: hole,
    };
    let pen = &mut card.pen;
    pen.tooltip(&tooltip(graph, node));
    frame(pen, node, width, height);
    let mut y = EDGE + LINE - 4.5;
    for (style, text) in &lines {
        pen.words(*style, (SIDE, y), text);
        y += LINE;
    }
    if let Some(phases) = phases {
        pen.open("phases", SIDE, y - LINE + 10.0);
        pen.raw(&phases.pen.text);
        pen.close();
    }
    if let Some(state) = state {
        pen.words(STATE, (SIDE, height - EDGE - 2.0), &state);
    }
    card
}

/// The classes of a node's group.
pub(crate) fn classes(node: &Node) -> String {
    let kind = node.kind.keyword();
    match &node.state {
        Some(state) => format!("{kind} is-{}", state.status.word()),
        None => kind.to_owned(),
    }
}

fn frame(pen: &mut Pen, node: &Node, width: f64, height: f64) {
    let area = Area {
        left: 0.0,
        top: 0.0,
        width,
        height,
    };
    let radius = match node.kind {
        Kind::Ask | Kind::Approval | Kind::Pause => 14.0,
        Kind::Task | Kind::Loop | Kind::Race | Kind::Summary => 5.0,
    };
    if node.each.is_some() {
        pen.area("back", area.moved(STACK, STACK), radius);
    }
    pen.area("box", area, radius);
    let bar = Area {
        left: 5.0,
        top: EDGE,
        width: 3.0,
        height: height - 2.0 * EDGE,
    };
    pen.area("bar", bar, 1.5);
}

fn lines(graph: &Graph, node: &Node) -> Vec<(Style, String)> {
    let fit = |style: Style, text: &str| (style, fitted(text, style.face, style.size, MAX_LINE));
    let mut lines = vec![
        fit(NAME, &words::one_line(&node.key)),
        fit(KIND, &words::kind_words(node)),
    ];
    if let Some(doc) = &node.doc {
        let caption = words::caption(doc);
        let caption = wrapped(&caption, DOC.size, MAX_LINE, 2);
        lines.extend(caption.into_iter().map(|line| (DOC, line)));
    }
    lines.extend(words::facts(node).iter().map(|fact| fit(FACT, fact)));
    let work = words::work_lines(node);
    lines.extend(work.iter().take(MAX_LINES).map(|line| fit(WORK, line)));
    if work.len() > MAX_LINES {
        lines.push((FACT, format!("and {} more", work.len() - MAX_LINES)));
    }
    lines.extend(
        words::means(graph, node)
            .iter()
            .map(|line| fit(MEANS, line)),
    );
    lines
}

fn tooltip(graph: &Graph, node: &Node) -> String {
    let mut text = format!(
        "{}: {}",
        words::one_line(&node.key),
        words::kind_words(node)
    );
    let docs = node.doc.iter().map(|doc| words::one_line(doc));
    let facts = words::facts(node).into_iter();
    let work = words::work_lines(node).into_iter();
    let means = words::means(graph, node).into_iter();
    for line in docs
        .chain(facts)
        .chain(work)
        .chain(means)
        .take(2 * MAX_LINES)
    {
        text.push('\n');
        text.push_str(&line);
    }
    text
}

struct Phases {
    width: f64,
    height: f64,
    pen: Pen,
}

/// Attempt → check, and what follows: feedback and another round, or the winner.
fn phases(node: &Node) -> Option<Phases> {
    let (attempt, check, again) = match &node.work {
        Work::Loop { attempt, check, .. } => (attempt, check, true),
        Work::Race { attempt, check, .. } => (attempt, check, false),
        Work::Body(_) | Work::Question { .. } | Work::Call { .. } | Work::Summary(_) => {
            return None;
        }
    };
    let attempt = phase_lines(attempt);
    let check = phase_lines(check);
    let rows = attempt.len().max(check.len()) as f64;
    let height = 2.0 * EDGE + (rows + 1.0) * LINE - 4.0;
    let (left, right) = (
        phase_width("attempt", &attempt),
        phase_width("check", &check),
    );
    let mut pen = Pen::default();
    phase(&mut pen, "attempt", &attempt, (0.0, left, height));
    let start = left + STEP_ASIDE;
    phase(&mut pen, "check", &check, (start, right, height));
    let middle = (height / 2.0).min(EDGE + LINE);
    let way = format!(
        "M{} {}H{}",
        Number(left),
        Number(middle),
        Number(start - TIP + 1.0)
    );
    pen.path("edge", &way);
    pen.tip("tip", (start, middle), Direction::Right);
    if again {
        way_back(&mut pen, left / 2.0, start + right / 2.0, height);
    }
    Some(Phases {
        width: start + right,
        height: if again { height + WAY_BACK } else { height },
        pen,
    })
}

fn way_back(pen: &mut Pen, left: f64, right: f64, bottom: f64) {
    let (low, round) = (bottom + 18.0, 6.0);
    let way = format!(
        "M{right} {bottom}V{}Q{right} {low} {} {low}H{}Q{left} {low} {left} {}V{}",
        Number(low - round),
        Number(right - round),
        Number(left + round),
        Number(low - round),
        Number(bottom + TIP - 1.0),
        right = Number(right),
        left = Number(left),
        bottom = Number(bottom),
        low = Number(low),
    );
    pen.path("edge again", &way);
    pen.tip("tip again", (left, bottom), Direction::Up);
    let text = "feedback";
    let style = Style {
        class: "words-again",
        ..KIND
    };
    let x = (left + right - style.width(text)) / 2.0;
    pen.words(style, (x, low + 11.0), text);
}

fn phase_lines(steps: &[Step]) -> Vec<String> {
    let steps_shown = steps.iter().take(MAX_LINES);
    let mut lines: Vec<String> = steps_shown
        .map(|step| {
            fitted(
                &words::step_line(step),
                WORK.face,
                WORK.size,
                MAX_PHASE_LINE,
            )
        })
        .collect();
    if steps.len() > MAX_LINES {
        lines.push(format!("and {} more", steps.len() - MAX_LINES));
    }
    lines
}

fn phase_width(title: &str, lines: &[String]) -> f64 {
    let widths = lines.iter().map(|line| WORK.width(line));
    widths.fold(PHASE.width(title), f64::max).max(60.0) + 18.0
}

fn phase(pen: &mut Pen, title: &str, lines: &[String], (x, width, height): (f64, f64, f64)) {
    let area = Area {
        left: x,
        top: 0.0,
        width,
        height,
    };
    pen.area("inner", area, 4.0);
    let mut y = EDGE + LINE - 6.0;
    pen.words(PHASE, (x + 9.0, y), title);
    for line in lines {
        y += LINE;
        pen.words(WORK, (x + 9.0, y), line);
    }
}
