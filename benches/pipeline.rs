//! From text to a plan: how long each step takes, by the number of tasks.
//!
//! A task is four lines with two dependencies; the dense graph has 10,000 tasks with 99,000 edges.
//! The layers are those of `gen_dag.py`.

use divan::{Bencher, black_box};
use outpost_grammar::SourceId;
use std::fmt::Write;

fn main() {
    divan::main();
}

/// Tasks of a measured file; half a million more cost a machine of 2 GiB its memory in the slowest step.
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// A layer's width for a number of tasks: a hundred layers.
const LAYERS: usize = 100;

/// A workflow of a hundred layers, each task waiting for `fanin` of the layer before.
fn workflow(tasks: usize, fanin: usize) -> String {
    let width = tasks / LAYERS;
    let mut text = String::from("workflow graph {\n");
    for task in 0..tasks {
        let (layer, at) = (task / width, task % width);
        let _ = writeln!(text, "  task t{task} {{");
        if layer > 0 {
            let needs: Vec<String> = (0..fanin)
                .map(|k| format!("t{}", (layer - 1) * width + (at + k * 7) % width))
                .collect();
            let _ = writeln!(text, "    after: [{}]", needs.join(", "));
        }
        text.push_str("    command: [\"true\"]\n  }\n");
    }
    text.push_str("}\n");
    text
}

#[divan::bench(args = SIZES, sample_count = 5)]
fn parse(bencher: Bencher, tasks: usize) {
    let text = workflow(tasks, 2);
    bencher.bench_local(|| {
        outpost_grammar::parse(SourceId(0), black_box(&text))
            .document
            .items
            .len()
    });
}

#[divan::bench(sample_count = 10)]
fn parse_dense(bencher: Bencher) {
    let text = workflow(10_000, 10);
    bencher.bench_local(|| {
        outpost_grammar::parse(SourceId(0), black_box(&text))
            .document
            .items
            .len()
    });
}
