//! How long it takes to read files of many tasks: `cargo bench -p outpost-grammar`.

use divan::{Bencher, counter::BytesCount};
use outpost_grammar::{SourceId, parse};
use std::fmt::Write;

fn main() {
    divan::main();
}

/// A workflow of tasks of four lines each.
fn tasks(count: usize) -> String {
    let mut text = String::from("workflow w {\n");
    for task in 0..count {
        let (a, b) = (task / 2, task / 3);
        let after = if task < 3 {
            String::new()
        } else {
            format!("t{a}, t{b}")
        };
        write!(
            text,
            "  task t{task} {{\n    after: [{after}]\n    command: [\"true\"]\n  }}\n"
        )
        .expect("a string takes all");
    }
    text.push_str("}\n");
    text
}

/// The same file with one mistake in the middle.
fn broken(count: usize) -> String {
    let text = tasks(count);
    let middle = text.len() / 2;
    let colon = middle + text[middle..].find(':').expect("there are more properties");
    format!("{}{}", &text[..colon], &text[colon + 1..])
}

/// Prose, templates and expressions.
fn prose(count: usize) -> String {
    let mut text = String::new();
    for index in 0..count {
        let part =
            include_str!("prose.outpost").replace("fix-tests", &format!("fix-tests-{index}"));
        text.push_str(&part);
    }
    text
}

fn measure(bencher: Bencher, text: &str) {
    bencher
        .counter(BytesCount::of_str(text))
        .bench(|| parse(SourceId(0), divan::black_box(text)));
}

#[divan::bench(args = [1_000, 10_000, 100_000], sample_count = 10)]
fn healthy(bencher: Bencher, count: usize) {
    measure(bencher, &tasks(count));
}

#[divan::bench(args = [1_000, 10_000, 100_000], sample_count = 10)]
fn one_mistake(bencher: Bencher, count: usize) {
    measure(bencher, &broken(count));
}

#[divan::bench(args = [100, 3_000], sample_count = 10)]
fn long_texts(bencher: Bencher, count: usize) {
    measure(bencher, &prose(count));
}
