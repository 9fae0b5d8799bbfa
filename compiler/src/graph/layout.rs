//! Where the boxes of a layered picture stand, left to right, and where the edges pass between them.
//!
//! The steps are those of Sugiyama: layers, a bend for each layer that an edge passes, few crossings, short and straight ways.
//! All sweeps are bounded. Heights are the renderer's business.

use crate::graph::layers::{self, Links, Lists};
use std::collections::HashMap;

/// How many bends a picture has; the longest edges beyond it are not drawn.
pub const MAX_BENDS: usize = 20_000;

/// The same where edges share bends, which are few then; what grows is the length of the ways.
pub const MAX_SHARED_BENDS: usize = 60_000;

/// Which part of the widest row a row is high, about.
const ROW_SHARE: f64 = 8.0;

/// How often all layers are put in a better order, at most.
const MAX_SWEEPS: usize = 24;

/// How many boxes and bends are visited by all sweeps together, at most.
const MAX_VISITS: usize = 4_000_000;

/// What is laid out. Widths and gaps are in the renderer's unit.
pub(crate) struct Sizes<'a> {
    /// The width of each box.
    pub widths: &'a [f64],
    /// The edges.
    pub links: &'a Links,
    /// Between two boxes.
    pub gap: f64,
    /// The width of the lane of an edge that passes a layer.
    pub lane: f64,
    /// Between a lane and its neighbour.
    pub lane_gap: f64,
    /// A wider layer is put into several rows; infinite if none is.
    pub widest: f64,
}

/// Boxes and bends in layers. A point is a box, or past those a bend.
pub(crate) struct Layout {
    /// The points of each layer, from the left.
    pub rows: Vec<Vec<usize>>,
    /// The left side of each point.
    pub left: Vec<f64>,
    /// The width of each point.
    pub widths: Vec<f64>,
    /// The points of each edge, one for each layer; `None` for an edge that is not drawn.
    pub chains: Vec<Option<Vec<usize>>>,
    /// The width of the whole.
    pub width: f64,
}

impl Layout {
    /// The middle of a point.
    pub fn middle(&self, point: usize) -> f64 {
        self.left[point] + self.widths[point] / 2.0
    }
}

/// Lays out boxes.
pub(crate) fn lay_out(sizes: &Sizes) -> Layout {
    let count = sizes.widths.len();
    let natural = layers::layers(count, sizes.links);
    let layer = wrapped(&natural, sizes);
    let lanes = match layer == natural {
        true => Lanes::Own,
        false => Lanes::Shared,
    };
    let mut rows = layers::rows(&layer);
    let chains = chains(sizes.links, &layer, lanes, &mut rows);
    let points: usize = rows.iter().map(Vec::len).sum();
    let mut widths = sizes.widths.to_vec();
    widths.resize(points, sizes.lane);
    let steps: Vec<(usize, usize)> = chains
        .iter()
        .flatten()
        .flat_map(|chain| chain.windows(2).map(|pair| (pair[0], pair[1])))
        .collect();
    let web = Web {
        boxes: count,
        down: Lists::of(points, steps.iter().copied()),
        up: Lists::of(points, steps.iter().map(|(from, to)| (*to, *from))),
    };
    let sweeps = MAX_SWEEPS
        .min(MAX_VISITS / (points + steps.len()).max(1))
        .max(1);
    order(&mut rows, &web, points, sweeps);
    let mut layout = Layout {
        left: vec![0.0; points],
        rows,
        widths,
        chains,
        width: 0.0,
    };
    place(&mut layout, &web, sizes, sweeps);
    layout
}

struct Web {
    boxes: usize,
    down: Lists,
    up: Lists,
}

impl Web {
    fn side(&self, down: bool) -> &Lists {
        if down { &self.down } else { &self.up }
    }

    /// How much an edge wants to be straight: most between two bends.
    fn pull(&self, one: usize, other: usize) -> f64 {
        match (one < self.boxes, other < self.boxes) {
            (true, true) => 3.0,
            (true, false) | (false, true) => 1.0,
            (false, false) => 8.0,
        }
    }
}

/// The layers again, those that are too wide in as many rows of about the same width as they need.
fn wrapped(layer: &[usize], sizes: &Sizes) -> Vec<usize> {
    let mut wrapped = layer.to_vec();
    let mut next = 0;
    for row in layers::rows(layer) {
        let width: f64 = row.iter().map(|at| sizes.widths[*at] + sizes.gap).sum();
        // Rows grow with the layer, so that the whole is about as high as wide.
        let widest = sizes.widest.max((width * sizes.widest / ROW_SHARE).sqrt());
        let parts = (width / widest).ceil().max(1.0);
        let share = width / parts;
        let mut left = 0.0;
        let mut full = share;
        for at in row {
            let width = sizes.widths[at] + sizes.gap;
            if left > 0.0 && left + width / 2.0 > full {
                full += share;
                next += 1;
            }
            left += width;
            wrapped[at] = next;
        }
        next += 1;
    }
    wrapped
}

/// Whose the bends are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lanes {
    /// Each edge has bends of its own.
    Own,
    /// The edges of one box pass a row in one lane: where layers are in several rows, there are too many for lanes of their own.
    Shared,
}

/// The end whose edges share lanes: the one with more of them.
fn shared_ends(links: &Links, count: usize) -> Vec<usize> {
    let mut below = vec![0usize; count];
    let mut above = vec![0usize; count];
    for (from, to) in links {
        below[*from] += 1;
        above[*to] += 1;
    }
    let busier = |(from, to): &(usize, usize)| match below[*from] >= above[*to] {
        true => *from,
        false => *to + count,
    };
    links.iter().map(busier).collect()
}

/// A chain of points for each edge; new bends go into the rows that they pass.
fn chains(
    links: &Links,
    layer: &[usize],
    lanes: Lanes,
    rows: &mut [Vec<usize>],
) -> Vec<Option<Vec<usize>>> {
    let count = layer.len();
    let span = |(from, to): (usize, usize)| layer[to].saturating_sub(layer[from]);
    let mut by_span: Vec<usize> = (0..links.len()).collect();
    by_span.sort_by_key(|at| span(links[*at]));
    let most = match lanes {
        Lanes::Own => MAX_BENDS,
        Lanes::Shared => MAX_SHARED_BENDS,
    };
    let mut bends = 0;
    let mut drawn = vec![false; links.len()];
    for at in by_span {
        let span = span(links[at]);
        if span == 0 || bends + span - 1 > most {
            continue;
        }
        bends += span - 1;
        drawn[at] = true;
    }
    let mut next = count;
    let ends = shared_ends(links, count);
    let mut known: HashMap<(usize, usize), usize> = HashMap::new();
    let mut chains = Vec::with_capacity(links.len());
    for (at, (from, to)) in links.iter().enumerate() {
        if !drawn[at] {
            chains.push(None);
            continue;
        }
        let mut chain = vec![*from];
        let passed = layer[*from] + 1..layer[*to];
        for (row, points) in passed.clone().zip(&mut rows[passed]) {
            let point = match lanes {
                Lanes::Own => next,
                Lanes::Shared => *known.entry((ends[at], row)).or_insert(next),
            };
            if point == next {
                points.push(next);
                next += 1;
            }
            chain.push(point);
        }
        chain.push(*to);
        chains.push(Some(chain));
    }
    chains
}

/// Puts the points of each row in an order with few crossings.
fn order(rows: &mut Vec<Vec<usize>>, web: &Web, points: usize, sweeps: usize) {
    let mut position = vec![0usize; points];
    let mut best = rows.clone();
    let mut fewest = u64::MAX;
    for sweep in 0..=sweeps {
        let crossings = crossings(rows, web, &mut position);
        if crossings < fewest {
            fewest = crossings;
            best.clone_from(rows);
        }
        if fewest == 0 || sweep == sweeps {
            break;
        }
        let downwards = sweep.is_multiple_of(2);
        let count = rows.len();
        for step in 1..count {
            let at = if downwards { step } else { count - 1 - step };
            sort_row(&mut rows[at], web.side(!downwards), &mut position);
        }
        if sweep % 4 >= 2 {
            rows.iter_mut()
                .for_each(|row| swap_neighbours(row, web, &mut position));
        }
    }
    *rows = best;
}

/// Sorts a row by the middle of each point's neighbours on one side; points without any keep their place.
fn sort_row(row: &mut [usize], side: &Lists, position: &mut [usize]) {
    let mut keys: Vec<(f64, usize)> = row
        .iter()
        .enumerate()
        .map(|(at, point)| {
            let mut places: Vec<usize> = side
                .of_box(*point)
                .iter()
                .map(|other| position[*other])
                .collect();
            places.sort_unstable();
            (middle_of(&places).unwrap_or(at as f64), *point)
        })
        .collect();
    keys.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (at, (_, point)) in keys.into_iter().enumerate() {
        row[at] = point;
        position[point] = at;
    }
}

fn middle_of(sorted: &[usize]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let sum: usize = sorted.iter().sum();
    let median = (sorted[last / 2] + sorted[last.div_ceil(2)]) as f64 / 2.0;
    // The mean breaks ties between equal medians.
    Some(median + sum as f64 / sorted.len() as f64 * 1e-3)
}

/// Swaps neighbours of a row where that takes crossings away.
fn swap_neighbours(row: &mut [usize], web: &Web, position: &mut [usize]) {
    for at in 1..row.len() {
        let (left, right) = (row[at - 1], row[at]);
        let count = |one: usize, other: usize| -> u64 {
            [&web.up, &web.down]
                .into_iter()
                .map(|side| between(side.of_box(one), side.of_box(other), position))
                .sum()
        };
        if count(right, left) < count(left, right) {
            row.swap(at - 1, at);
            position[left] = at;
            position[right] = at - 1;
        }
    }
}

/// How often the edges of a left point cross those of a right one.
fn between(left: &[usize], right: &[usize], position: &[usize]) -> u64 {
    const MAX_COMPARED: usize = 64;
    let left = &left[..left.len().min(MAX_COMPARED)];
    let right = &right[..right.len().min(MAX_COMPARED)];
    let crossed = |one: &usize| {
        let other = right
            .iter()
            .filter(|other| position[**other] < position[*one]);
        other.count() as u64
    };
    left.iter().map(crossed).sum()
}

/// All crossings between neighbouring rows; writes each point's position.
fn crossings(rows: &[Vec<usize>], web: &Web, position: &mut [usize]) -> u64 {
    for row in rows {
        for (at, point) in row.iter().enumerate() {
            position[*point] = at;
        }
    }
    let mut total = 0;
    for pair in rows.windows(2) {
        let mut ends: Vec<usize> = Vec::new();
        for point in &pair[0] {
            let first = ends.len();
            ends.extend(web.down.of_box(*point).iter().map(|to| position[*to]));
            ends[first..].sort_unstable();
        }
        total += inversions(&ends, pair[1].len());
    }
    total
}

/// How many pairs are in the wrong order, by a tree of sums.
fn inversions(ends: &[usize], size: usize) -> u64 {
    let mut sums = vec![0u64; size + 1];
    let mut total = 0;
    for (seen, end) in ends.iter().enumerate() {
        let mut not_above = 0;
        let mut at = end + 1;
        while at > 0 {
            not_above += sums[at];
            at &= at - 1;
        }
        total += seen as u64 - not_above;
        let mut at = end + 1;
        while at <= size {
            sums[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    total
}

/// Gives each point its place: as near to its neighbours as the order and the gaps allow.
fn place(layout: &mut Layout, web: &Web, sizes: &Sizes, sweeps: usize) {
    let gap = |left: usize, right: usize| match (left < web.boxes, right < web.boxes) {
        (true, true) => sizes.gap,
        (true, false) | (false, true) | (false, false) => sizes.lane_gap,
    };
    for row in &layout.rows {
        let mut x = 0.0;
        for (at, point) in row.iter().enumerate() {
            if at > 0 {
                x += gap(row[at - 1], *point);
            }
            layout.left[*point] = x;
            x += layout.widths[*point];
        }
    }
    for sweep in 0..sweeps * 2 {
        pull_rows(layout, web, &gap, sweep);
    }
    straighten(layout, web, &gap);
    let left = layout.left.iter().copied().fold(f64::INFINITY, f64::min);
    layout.left.iter_mut().for_each(|x| *x -= left);
    let right = layout
        .left
        .iter()
        .zip(&layout.widths)
        .map(|(x, width)| x + width);
    layout.width = right.fold(0.0, f64::max);
}

/// One sweep: each row as near as it can be to the rows above, below, or both.
fn pull_rows(layout: &mut Layout, web: &Web, gap: &impl Fn(usize, usize) -> f64, sweep: usize) {
    let count = layout.rows.len();
    let (downwards, both) = (sweep.is_multiple_of(2), sweep % 4 == 3);
    let sides = [
        Some(&web.up).filter(|_| both || downwards),
        Some(&web.down).filter(|_| both || !downwards),
    ];
    for step in 0..count {
        let at = if downwards { step } else { count - 1 - step };
        let row = &layout.rows[at];
        let wishes: Vec<Wish> = row
            .iter()
            .map(|point| wish(layout, web, *point, &sides))
            .collect();
        let steps: Vec<f64> = row
            .windows(2)
            .map(|pair| layout.widths[pair[0]] + gap(pair[0], pair[1]))
            .collect();
        let places = nearest(&wishes, &steps);
        for (point, x) in layout.rows[at].iter().zip(places) {
            layout.left[*point] = x;
        }
    }
}

/// Puts points that follow one another alone below one another, as far as their neighbours let them.
fn straighten(layout: &mut Layout, web: &Web, gap: &impl Fn(usize, usize) -> f64) {
    let points = layout.left.len();
    let mut beside = vec![(None, None); points];
    for row in &layout.rows {
        for pair in row.windows(2) {
            beside[pair[0]].1 = Some(pair[1]);
            beside[pair[1]].0 = Some(pair[0]);
        }
    }
    let only = |list: &[usize]| if let [one] = list { Some(*one) } else { None };
    let next = |point: usize| {
        let below = only(web.down.of_box(point))?;
        only(web.up.of_box(below)).map(|_| below)
    };
    let mut starts = vec![true; points];
    (0..points)
        .filter_map(next)
        .for_each(|below| starts[below] = false);
    for start in (0..points).filter(|point| starts[*point]) {
        let mut group = vec![start];
        let mut room = room(layout, &beside, start, gap);
        let mut at = start;
        while let Some(below) = next(at) {
            let there = self::room(layout, &beside, below, gap);
            let shared = (room.0.max(there.0), room.1.min(there.1));
            if shared.0 > shared.1 {
                align(layout, &group, room);
                group.clear();
                room = there;
            } else {
                room = shared;
            }
            group.push(below);
            at = below;
        }
        align(layout, &group, room);
    }
}

/// Between which places the middle of a point may move.
fn room(
    layout: &Layout,
    beside: &[(Option<usize>, Option<usize>)],
    point: usize,
    gap: &impl Fn(usize, usize) -> f64,
) -> (f64, f64) {
    let half = layout.widths[point] / 2.0;
    let (before, behind) = beside[point];
    let low = before.map_or(f64::NEG_INFINITY, |other| {
        layout.left[other] + layout.widths[other] + gap(other, point) + half
    });
    let high = behind.map_or(f64::INFINITY, |other| {
        layout.left[other] - gap(point, other) - half
    });
    (low, high)
}

fn align(layout: &mut Layout, group: &[usize], (low, high): (f64, f64)) {
    if group.len() < 2 || low > high {
        return;
    }
    let sum: f64 = group.iter().map(|point| layout.middle(*point)).sum();
    let middle = (sum / group.len() as f64).clamp(low, high);
    for point in group {
        layout.left[*point] = middle - layout.widths[*point] / 2.0;
    }
}

/// Where a point would like its left side to be, and how much.
#[derive(Clone, Copy)]
struct Wish {
    x: f64,
    weight: f64,
}

fn wish(layout: &Layout, web: &Web, point: usize, sides: &[Option<&Lists>]) -> Wish {
    const STAY: f64 = 0.01;
    let half = layout.widths[point] / 2.0;
    let mut sum = layout.left[point] * STAY;
    let mut weight = STAY;
    for side in sides.iter().flatten() {
        for other in side.of_box(point) {
            let pull = web.pull(point, *other);
            sum += (layout.middle(*other) - half) * pull;
            weight += pull;
        }
    }
    Wish {
        x: sum / weight,
        weight,
    }
}

/// The places nearest to all wishes that keep the order and the steps between neighbours: the least sum of weighted squares.
fn nearest(wishes: &[Wish], steps: &[f64]) -> Vec<f64> {
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(wishes.len());
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for (at, wish) in wishes.iter().enumerate() {
        if at > 0 {
            offset += steps[at - 1];
        }
        offsets.push(offset);
        let mut block = ((wish.x - offset) * wish.weight, wish.weight, 1);
        while let Some(last) = blocks.last() {
            if last.0 / last.1 <= block.0 / block.1 {
                break;
            }
            block = (block.0 + last.0, block.1 + last.1, block.2 + last.2);
            blocks.pop();
        }
        blocks.push(block);
    }
    let places = blocks
        .iter()
        .flat_map(|(sum, weight, count)| std::iter::repeat_n(sum / weight, *count));
    places.zip(offsets).map(|(x, offset)| x + offset).collect()
}
