//! From text to a plan: how long each step takes, by the number of tasks.
//!
//! A task is four lines with two dependencies; the dense graph has 10,000 tasks with 99,000 edges.
//! The layers are those of `gen_dag.py`.

use divan::{Bencher, black_box};
use outpost_compiler::load::Memory;
use outpost_compiler::plan;
use outpost_compiler::program::{Program, WorkflowId};
use outpost_grammar::SourceId;
use std::fmt::Write;
use std::sync::Arc;

fn main() {
    divan::main();
}

/// Tasks of a measured file.
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

/// The file of a workflow, for the compiler.
fn files(text: String) -> Memory {
    let mut files = Memory::default();
    files.files.insert("graph.outpost".to_owned(), text.into());
    files
}

fn parsed(text: &str) -> usize {
    outpost_grammar::parse(SourceId(0), black_box(text))
        .document
        .items
        .len()
}

fn compiled(files: &Memory) -> Arc<Program> {
    let compiled = outpost_compiler::compile(black_box(files), "graph.outpost");
    assert!(compiled.diagnostics.is_empty(), "the graph has no mistakes");
    Arc::new(compiled.program)
}

fn planned(program: Arc<Program>) -> usize {
    let plan = plan::build(program, WorkflowId(0));
    plan.expect("the graph has no cycle").order().len()
}

#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn parse(bencher: Bencher, tasks: usize) {
    let text = workflow(tasks, 2);
    bencher.bench_local(|| parsed(&text));
}

#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn parse_and_check(bencher: Bencher, tasks: usize) {
    let files = files(workflow(tasks, 2));
    bencher.bench_local(|| compiled(&files));
}

#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn plan_of_checked(bencher: Bencher, tasks: usize) {
    let program = compiled(&files(workflow(tasks, 2)));
    bencher.bench_local(|| planned(program.clone()));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn dense_parse(bencher: Bencher) {
    let text = workflow(10_000, 10);
    bencher.bench_local(|| parsed(&text));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn dense_parse_check_and_plan(bencher: Bencher) {
    let files = files(workflow(10_000, 10));
    bencher.bench_local(|| planned(compiled(&files)));
}
