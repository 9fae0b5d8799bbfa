//! Geometry of the SVG: nothing lies on anything else, and every edge is there once.

use crate::programs::{everything, fix_tests, generated, long_chain};
use outpost_compiler::graph::svg::{self, Area, Picture};
use outpost_compiler::graph::{Graph, NodeId};
use std::collections::HashMap;

fn overlap(one: &Area, other: &Area) -> bool {
    let beside = |a: f64, a_long: f64, b: f64, b_long: f64| a + a_long <= b || b + b_long <= a;
    !beside(one.left, one.width, other.left, other.width)
        && !beside(one.top, one.height, other.top, other.height)
}

fn inside(one: &Area, outer: &Area) -> bool {
    one.left >= outer.left
        && one.top >= outer.top
        && one.left + one.width <= outer.left + outer.width
        && one.top + one.height <= outer.top + outer.height
}

/// Boxes of one workflow keep apart, those of a called one stay inside their caller's.
fn check_boxes(graph: &Graph, picture: &Picture) {
    let page = Area {
        left: 0.0,
        top: 0.0,
        width: picture.size.0,
        height: picture.size.1,
    };
    assert_eq!(picture.boxes.len(), graph.nodes.len());
    for (at, (key, area)) in picture.boxes.iter().enumerate() {
        let parent = graph.nodes[at].parent;
        let outer = parent.map_or(&page, |parent| &picture.boxes[parent.index()].1);
        assert!(inside(area, outer), "{key} is not inside");
        for (other_at, (other_key, other)) in picture.boxes.iter().enumerate().skip(at + 1) {
            if graph.nodes[other_at].parent == parent {
                assert!(!overlap(area, other), "{key} lies on {other_key}");
            }
        }
    }
}

#[test]
fn boxes_keep_apart_and_edges_are_drawn_once() {
    let plans = (1..60).map(|seed| generated(seed, 2 + 3 * seed as u32, 1 + seed % 15));
    for plan in plans.chain([fix_tests(), everything(), long_chain(400)]) {
        let graph = Graph::of(&plan);
        let picture = svg::picture(&graph);
        check_boxes(&graph, &picture);
        assert_eq!(picture.edges, graph.edges.len());
        let titles = titles(&picture.svg);
        let names = |id: NodeId| &graph.nodes[id.index()].key;
        for edge in &graph.edges {
            let verb = match (edge.soft, edge.value) {
                (false, true) => "reads",
                (false, false) => "waits for",
                (true, true) => "reads, if it is done,",
                (true, false) => "waits for the end of",
            };
            let title = format!("{} {verb} {}", names(edge.to), names(edge.from));
            assert_eq!(titles.get(title.as_str()), Some(&1), "{title}");
        }
    }
}

/// The tooltips, and how often each is there.
fn titles(svg: &str) -> HashMap<&str, usize> {
    let mut titles = HashMap::new();
    for part in svg.split("<title>").skip(1) {
        let title = part.split("</title>").next().unwrap_or_default();
        *titles.entry(title).or_default() += 1;
    }
    titles
}

/// The straight vertical pieces of an edge, and where it starts and ends.
fn verticals(way: &str) -> Vec<(f64, f64, f64)> {
    let mut pieces = Vec::new();
    let (mut x, mut y) = (0.0, 0.0);
    let mut rest = way;
    while let Some(command) = rest.chars().next() {
        let end = rest[1..]
            .find(['M', 'V', 'C'])
            .map_or(rest.len(), |end| end + 1);
        let numbers: Vec<f64> = rest[1..end]
            .split(' ')
            .filter_map(|number| number.parse().ok())
            .collect();
        match (command, &numbers[..]) {
            ('M', [to_x, to_y]) | ('C', [_, _, _, _, to_x, to_y]) => (x, y) = (*to_x, *to_y),
            ('V', [to_y]) => {
                pieces.push((x, y, *to_y));
                y = *to_y;
            }
            other => assert_eq!(other.0, 'V', "an edge is made of M, V and C: {way}"),
        }
        rest = &rest[end..];
    }
    pieces
}

#[test]
fn edges_pass_no_box_and_end_at_borders() {
    for seed in 1..40 {
        let graph = Graph::of(&generated(seed, 40, 12));
        let picture = svg::picture(&graph);
        let (head, page) = picture
            .svg
            .split_once(r#"<g class="tasks-of-workflow" transform="translate("#)
            .expect("the tasks are a group");
        assert!(head.contains("<title"));
        let (place, page) = page.split_once(")").expect("the group has a place");
        let place: Vec<f64> = place
            .split(' ')
            .filter_map(|number| number.parse().ok())
            .collect();
        let ways = page.split(r#"<path class="edge"#).skip(1);
        let ways = ways.filter(|way| way.contains("</g>") && !way.starts_with(" again"));
        let mut edges = 0;
        for way in ways {
            let way = way.split('"').nth(2).expect("a path has a way");
            if way.contains('H') {
                // The way from attempt to check.
                continue;
            }
            let pieces = verticals(way);
            for (x, from, to) in &pieces {
                let (x, from, to) = (x + place[0], from + place[1], to + place[1]);
                for (key, area) in &picture.boxes {
                    let across = x > area.left + 0.2 && x < area.left + area.width - 0.2;
                    let along = from.min(to) < area.top + area.height - 0.2
                        && from.max(to) > area.top + 0.2;
                    assert!(!(across && along), "an edge runs through {key}");
                }
            }
            let start = pieces
                .first()
                .map(|piece| (piece.0 + place[0], piece.1 + place[1]));
            let end = pieces
                .last()
                .map(|piece| (piece.0 + place[0], piece.2 + place[1] + 6.0));
            let (start, end) = (start.expect("it starts"), end.expect("it ends"));
            let leaves = picture.boxes.iter().any(|(_, area)| {
                (area.top + area.height - start.1).abs() < 0.2
                    && area.left < start.0
                    && start.0 < area.left + area.width
            });
            let arrives = picture.boxes.iter().any(|(_, area)| {
                (area.top - end.1).abs() < 0.2
                    && area.left < end.0
                    && end.0 < area.left + area.width
            });
            assert!(leaves && arrives, "seed {seed}: {way}");
            edges += 1;
        }
        assert_eq!(edges, graph.edges.len());
    }
}
