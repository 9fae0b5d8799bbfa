//! The corpus of the fuzzers, through what the fuzzers do: no panic, no hang, no memory without bound.
//!
//! Work is counted, not timed: what is allocated grows with every step that the compiler takes.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the corpus is in files, and a test says which one it was at"
)]
#![expect(
    unsafe_code,
    reason = "an allocator that counts is one that forwards to the system's"
)]

use outpost_compiler::program::WorkflowId;
use outpost_compiler::{Memory, compile, plan};
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is allocated, at most at once: so much, and so much for each byte of the input.
const MEMORY: (usize, usize) = (32 << 20, 64);

/// How often something is allocated: the standard library's files that an input imports, and so much for each byte.
const ALLOCATIONS: (usize, usize) = (20_000, 100);

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn grow(bytes: usize) {
    let now = NOW.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
    COUNT.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every call is forwarded as it is; the counters change nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What one input took.
struct Took {
    peak: usize,
    allocations: usize,
}

fn took(work: impl FnOnce()) -> Took {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    COUNT.store(0, Ordering::Relaxed);
    work();
    Took {
        peak: PEAK.load(Ordering::Relaxed) - before,
        allocations: COUNT.load(Ordering::Relaxed),
    }
}

/// The function of `fuzz/fuzz_targets/check.rs`.
fn check(text: &str) {
    let loader = Memory {
        files: [("main.outpost".to_owned(), Arc::from(text))].into(),
    };
    let compiled = compile(&loader, "main.outpost");
    if compiled.has_errors() {
        return;
    }
    let program = Arc::new(compiled.program);
    for at in 0..program.own_workflows {
        plan::build(program.clone(), WorkflowId(at as u32)).expect("it was checked");
    }
}

/// The function of `fuzz/fuzz_targets/fmt.rs`.
fn fmt(text: &str) {
    if let Ok(once) = outpost_grammar::format(text) {
        let twice = outpost_grammar::format(&once).expect("what was written can be read");
        assert_eq!(once, twice);
    }
}

/// All inputs that are texts: the fuzzers skip the others.
fn inputs(target: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let mut inputs = Vec::new();
    for entry in std::fs::read_dir(folder.join(target)).expect("the corpus is committed") {
        let path = entry.expect("it can be listed").path();
        let bytes = std::fs::read(&path).expect("it can be read");
        if let Ok(text) = String::from_utf8(bytes) {
            inputs.push((path.display().to_string(), text));
        }
    }
    inputs.sort();
    inputs
}

/// One test, as the counters are of the whole process.
#[test]
fn every_input_is_harmless() {
    for (target, run) in [("check", check as fn(&str)), ("fmt", fmt)] {
        let inputs = inputs(target);
        assert!(inputs.len() > 100, "{target}: {}", inputs.len());
        for (path, text) in inputs {
            // The name of the input that panics.
            let done = Named(&path);
            let took = took(|| run(&text));
            std::mem::forget(done);
            let memory = MEMORY.0 + MEMORY.1 * text.len();
            assert!(took.peak <= memory, "{path}: {} bytes", took.peak);
            let allocations = ALLOCATIONS.0 + ALLOCATIONS.1 * text.len();
            assert!(
                took.allocations <= allocations,
                "{path}: {} allocations",
                took.allocations
            );
        }
    }
}

/// Says what it names when it is dropped, which a panic does.
struct Named<'n>(&'n str);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        println!("while {} was read", self.0);
    }
}
