//! What the pictures are, and that no text does harm in them.

use crate::programs::{
    Maker, after, command, everything, fix_tests, generated, long_chain, one, task, text,
};
use outpost_compiler::graph::{Edge, Graph, NodeId, State, Status, ascii, dot, json, mermaid, svg};
use outpost_compiler::program::{Action, TaskKind};
use std::collections::BTreeMap;

fn run() -> BTreeMap<String, State> {
    let done = State {
        attempts: 2,
        ..State::of(Status::Done)
    };
    let active = State {
        rounds: 2,
        ..State::of(Status::Active)
    };
    BTreeMap::from([
        ("deps".to_owned(), done),
        ("fix".to_owned(), active),
        ("alarm".to_owned(), State::of(Status::Skipped)),
    ])
}

#[test]
fn a_workflow_with_a_loop_a_gate_and_triggers() {
    let graph = Graph::of(&fix_tests());
    insta::assert_snapshot!("fix_tests.svg", svg::draw(&graph));
    insta::assert_snapshot!("fix_tests.dot", dot::draw(&graph));
    insta::assert_snapshot!("fix_tests.mermaid", mermaid::draw(&graph));
    insta::assert_snapshot!("fix_tests.json", json::draw(&graph));
    insta::assert_snapshot!("fix_tests.wide", ascii::draw(&graph, 100));
    insta::assert_snapshot!("fix_tests.narrow", ascii::draw(&graph, 60));
}

#[test]
fn a_workflow_with_every_kind_of_task() {
    let graph = Graph::of(&everything());
    insta::assert_snapshot!("everything.dot", dot::draw(&graph));
    insta::assert_snapshot!("everything.mermaid", mermaid::draw(&graph));
    insta::assert_snapshot!("everything.wide", ascii::draw(&graph, 100));
    insta::assert_snapshot!("everything.narrow", ascii::draw(&graph, 60));
    insta::assert_snapshot!("everything.collapsed", mermaid::draw(&graph.collapsed()));
}

#[test]
fn a_run_on_top() {
    let graph = Graph::of(&fix_tests()).with_states(&run());
    insta::assert_snapshot!("run.wide", ascii::draw(&graph, 100));
    insta::assert_snapshot!("run.mermaid", mermaid::draw(&graph));
    let picture = svg::draw(&graph);
    assert!(picture.contains(r#"class="loop is-active""#));
    assert!(picture.contains(">done, 2 attempts<"));
}

#[test]
fn items_are_counted_at_their_task() {
    let states = BTreeMap::from([
        ("audit".to_owned(), State::of(Status::Active)),
        ("audit.0".to_owned(), State::of(Status::Done)),
        ("audit.1".to_owned(), State::of(Status::Done)),
        ("audit.2".to_owned(), State::of(Status::Failed)),
        ("nobody".to_owned(), State::of(Status::Failed)),
    ]);
    let graph = Graph::of(&everything()).with_states(&states);
    let picture = ascii::draw(&graph, 100);
    assert!(picture.contains("* active, 2 done, 1 failed"), "{picture}");
}

#[test]
fn a_workflow_without_tasks() {
    let plan = Maker::default().plan("nothing", Vec::new(), None);
    let graph = Graph::of(&plan);
    insta::assert_snapshot!("nothing.ascii", ascii::draw(&graph, 80));
    insta::assert_snapshot!("nothing.mermaid", mermaid::draw(&graph));
    insta::assert_snapshot!("nothing.dot", dot::draw(&graph));
    insta::assert_snapshot!("nothing.json", json::draw(&graph));
    balanced(&svg::draw(&graph));
}

/// Texts that mean something to a terminal, to XML, to Graphviz, to Mermaid or to a reader of right-to-left text.
const HOSTILE: [&str; 9] = [
    "</text><script>alert(1)</script>",
    "]]> <!-- & &amp; &#0; \"'",
    "\u{1b}[31mred\u{7}\u{0}",
    "\u{202e}txt.exe\u{2066}\u{200f}",
    "%%{init: {'theme': 'dark'}}%% \"] --> x",
    "end ` $$x$$ style a: #b; classDef: #c;",
    "back\\slash \\\" \\N {rank=same}",
    "line\nbreak\u{2028}and \u{fffe} more",
    "漢字 👩‍💻 e\u{301} ﷽",
];

#[test]
fn no_text_does_harm() {
    let mut tasks = Vec::new();
    for hostile in HOSTILE {
        let mut task = task(hostile, TaskKind::Task(one(command(&[hostile], None))));
        task.doc = Some(hostile.into());
        tasks.push(after(task, &[]));
    }
    let plan = Maker::default().plan(HOSTILE[0], tasks, Some(HOSTILE[4]));
    let graph = Graph::of(&plan);
    let picture = svg::draw(&graph);
    balanced(&picture);
    assert!(!picture.contains("<script"));
    for drawn in [
        &picture,
        &dot::draw(&graph),
        &mermaid::draw(&graph),
        &ascii::draw(&graph, 60),
    ] {
        let harmful =
            |c: &char| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c);
        assert_eq!(drawn.chars().find(harmful), None);
    }
    insta::assert_snapshot!("hostile.dot", dot::draw(&graph));
    insta::assert_snapshot!("hostile.mermaid", mermaid::draw(&graph));
    insta::assert_snapshot!("hostile.ascii", ascii::draw(&graph, 60));
    let read: serde_json::Value = serde_json::from_str(&json::draw(&graph)).expect("it is JSON");
    assert_eq!(read["nodes"][0]["key"], HOSTILE[0]);
}

/// Every element that is opened is closed, and every `&` begins an entity.
fn balanced(svg: &str) {
    let mut open = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        assert!(!tag.contains('<'), "{tag}");
        let name = tag.split([' ', '\n', '/']).find(|name| !name.is_empty());
        if tag.starts_with('/') {
            assert_eq!(open.pop(), name, "in {tag}");
        } else if !tag.ends_with('/') {
            open.extend(name);
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
    for entity in svg.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
        assert!(
            known.iter().any(|known| entity.starts_with(known)),
            "{entity:.20}"
        );
    }
}

#[test]
fn a_picture_is_the_same_every_time() {
    for seed in 1..6 {
        let (one, other) = (
            Graph::of(&generated(seed, 80, 9)),
            Graph::of(&generated(seed, 80, 9)),
        );
        assert_eq!(one, other);
        assert_eq!(svg::draw(&one), svg::draw(&other));
        assert_eq!(dot::draw(&one), dot::draw(&other));
        assert_eq!(mermaid::draw(&one), mermaid::draw(&other));
        assert_eq!(ascii::draw(&one, 200), ascii::draw(&other, 200));
        assert_eq!(json::draw(&one), json::draw(&other));
    }
}

#[test]
fn text_keeps_to_its_columns_and_names_every_task() {
    for seed in 1..40 {
        let graph = Graph::of(&generated(seed, 3 + seed as u32 % 20, 5));
        for columns in [40, 80, 120, 200] {
            let picture = ascii::draw(&graph, columns);
            let widest = picture.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(columns), "{picture}");
            let keys = graph.nodes.iter().map(|node| &node.key);
            let missing: Vec<&String> =
                keys.filter(|key| !picture.contains(key.as_str())).collect();
            assert!(missing.is_empty(), "{missing:?} in\n{picture}");
        }
    }
}

#[test]
fn every_edge_is_in_every_text_form_once() {
    let graph = Graph::of(&generated(11, 60, 7));
    let phases = graph
        .nodes
        .iter()
        .filter(|node| node.kind.keyword() == "loop")
        .count();
    let arrows = |text: &str, arrow: &str| text.lines().filter(|line| line.contains(arrow)).count();
    assert_eq!(
        arrows(&dot::draw(&graph), " -> "),
        graph.edges.len() + 2 * phases
    );
    let mermaid = mermaid::draw(&graph);
    let solid = arrows(&mermaid, " --> ");
    let dashed = arrows(&mermaid, " -.-> ");
    assert_eq!(solid + dashed, graph.edges.len() + phases);
    let read: serde_json::Value = serde_json::from_str(&json::draw(&graph)).expect("it is JSON");
    assert_eq!(
        read["edges"].as_array().map(Vec::len),
        Some(graph.edges.len())
    );
}

#[test]
fn large_graphs_are_summarised() {
    for plan in [long_chain(100_000), generated(3, 10_000, 2_000)] {
        let graph = Graph::of(&plan);
        let picture = svg::picture(&graph);
        assert!(picture.boxes.len() <= 40);
        assert!(picture.svg.contains("too many to draw one by one"));
        assert!(mermaid::draw(&graph).lines().count() <= 120);
        assert!(ascii::draw(&graph, 80).lines().count() <= 200);
        assert!(dot::draw(&graph).lines().count() > graph.nodes.len());
    }
}

#[test]
fn a_wide_graph_is_drawn_whole() {
    let mut tasks = vec![task("start", TaskKind::Task(one(Action::Value(text("x")))))];
    for at in 0..500 {
        let part = task(
            &format!("part{at}"),
            TaskKind::Task(one(Action::Value(text("x")))),
        );
        tasks.push(after(part, &[(0, false)]));
    }
    let all: Vec<(u32, bool)> = (0..501).map(|at| (at, false)).collect();
    tasks.push(after(
        task("end", TaskKind::Task(one(Action::Value(text("x"))))),
        &all,
    ));
    let graph = Graph::of(&Maker::default().plan("wide", tasks, None));
    let picture = svg::picture(&graph);
    assert_eq!(picture.boxes.len(), 502);
    assert_eq!(picture.edges, graph.edges.len());
    // Its layer is in several rows.
    let (width, height) = picture.size;
    assert!(width < 5_000.0 && height < 5_000.0, "{width} × {height}");
}

#[test]
fn a_dense_graph_leaves_out_its_longest_edges_and_says_so() {
    let tasks = (0..500).map(|at| {
        let all: Vec<(u32, bool)> = (0..at).map(|before| (before, false)).collect();
        after(
            task(
                &format!("t{at}"),
                TaskKind::Task(one(Action::Value(text("x")))),
            ),
            &all,
        )
    });
    let graph = Graph::of(&Maker::default().plan("dense", tasks.collect(), None));
    let picture = svg::picture(&graph);
    let missing = graph.edges.len() - picture.edges;
    assert!(missing > 0);
    let note = format!("{missing} of the longest edges are not drawn.");
    assert!(picture.svg.contains(&note));
    assert!(mermaid::draw(&graph).contains("too many"));
    assert!(ascii::draw(&graph, 80).contains("t499"));
}

#[test]
fn odd_graphs_are_drawn_as_far_as_they_go() {
    let mut graph = Graph::of(&fix_tests());
    let edge = |from, to| Edge {
        from: NodeId(from),
        to: NodeId(to),
        soft: false,
        value: true,
    };
    graph
        .edges
        .extend([edge(5, 0), edge(1, 1), edge(0, 99), edge(99, 0)]);
    graph.nodes[2].parent = Some(NodeId(2));
    graph.nodes[3].parent = Some(NodeId(77));
    let graph = graph;
    balanced(&svg::draw(&graph));
    assert!(dot::draw(&graph).contains("n5 -> n0"));
    assert!(mermaid::draw(&graph).contains("n5 --> n0"));
    assert!(ascii::draw(&graph, 30).contains("alarm"));
    assert!(ascii::draw(&graph, 200).contains("alarm"));
    assert!(json::draw(&graph).contains("alarm"));
}
