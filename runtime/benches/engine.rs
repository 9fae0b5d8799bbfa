//! The engine: scheduling, the durable journal, loops, and resuming a long run.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail where it stands")]

#[path = "../tests/scenarios/build.rs"]
#[expect(dead_code, reason = "shared with the tests, which use all of it")]
mod build;

use build::{a_loop, command, commands_loop, does, int, looped, planned, read, value, workflow};
use divan::Bencher;
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{Action, CheckItem, Ref};
use outpost_runtime::clock::{SystemClock, Timestamp};
use outpost_runtime::executor::{
    ActionId, ActionRequest, Executor, HostEnvironment, Outcome, Outcomes, StopHow,
};
use outpost_runtime::{Host, ResumeOptions, RunRecord, StartOptions, resume, start};
use outpost_stdlib::Value;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Tasks of the large graphs.
const TASKS: u32 = 100_000;

fn main() {
    divan::main();
}

/// Answers at once: what is measured is the engine, and actions that end together are seen together.
struct AtOnce;

impl Executor for AtOnce {
    fn start(&mut self, request: ActionRequest, outcomes: &Outcomes) {
        let result = Value::object([
            ("status", Value::Int(1)),
            ("stdout", Value::text(format!("round {}", request.round))),
            ("stderr", Value::text("")),
            ("truncated", Value::Bool(false)),
        ]);
        outcomes.ended(request.id, Outcome::Done(result));
    }

    fn stop(&mut self, _id: ActionId, _how: StopHow) {}
}

fn host() -> Host {
    let (_, interrupts) = mpsc::unbounded_channel();
    Host {
        clock: Rc::new(SystemClock::new()),
        executor: Box::new(AtOnce),
        observers: Vec::new(),
        environment: HostEnvironment::default(),
        interrupts,
        notes: Box::new(|_| {}),
        wrap_journal: None,
    }
}

fn run(plan: &Arc<Plan>, root: &Path, ephemeral: bool) -> RunRecord {
    let options = StartOptions {
        root: root.to_owned(),
        file: "main.outpost".to_owned(),
        run: Some("run1".to_owned()),
        ephemeral,
        ..StartOptions::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime
        .block_on(start(plan.clone(), options, host()))
        .unwrap()
}

/// Each task waits for the one a thousand before it and reads its value.
fn graph() -> Arc<Plan> {
    let tasks = (0..TASKS).map(|at| match at.checked_sub(1_000) {
        Some(on) => value(&format!("task-{at}"), &[on], build::of(on)),
        None => value(&format!("task-{at}"), &[], int(i64::from(at))),
    });
    planned(workflow(tasks.collect()))
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn hundred_thousand_tasks_ephemeral(bencher: Bencher) {
    let plan = graph();
    let folder = tempfile::tempdir().unwrap();
    bencher.bench_local(|| run(&plan, folder.path(), true));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn hundred_thousand_tasks_durable(bencher: Bencher) {
    let plan = graph();
    bencher
        .with_inputs(|| tempfile::tempdir().unwrap())
        .bench_local_refs(|folder| run(&plan, folder.path(), false));
}

#[divan::bench(sample_count = 2, sample_size = 1)]
fn ten_thousand_rounds_durable(bencher: Bencher) {
    let plan = planned(workflow(vec![looped("fix", &[], commands_loop(10_000))]));
    bencher
        .with_inputs(|| tempfile::tempdir().unwrap())
        .bench_local_refs(|folder| run(&plan, folder.path(), false));
}

/// As many rounds as one loop has above, of 64 loops at once: they share their durable writes.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn ten_thousand_rounds_of_64_loops_durable(bencher: Bencher) {
    let loops = (0..64).map(|at| looped(&format!("fix-{at}"), &[], commands_loop(157)));
    let mut workflow = workflow(loops.collect());
    workflow.policy.concurrency = 64;
    let plan = planned(workflow);
    bencher
        .with_inputs(|| tempfile::tempdir().unwrap())
        .bench_local_refs(|folder| run(&plan, folder.path(), false));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn ten_thousand_rounds_in_process(bencher: Bencher) {
    let check = CheckItem::Reject {
        at: build::here(),
        text: build::text("again"),
        when: build::truth(true),
    };
    let of = a_loop(10_000, does(Action::Value(read(Ref::Round))), vec![check]);
    let plan = planned(workflow(vec![looped("fix", &[], of)]));
    bencher
        .with_inputs(|| tempfile::tempdir().unwrap())
        .bench_local_refs(|folder| run(&plan, folder.path(), false));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn resume_with_a_hundred_thousand_done(bencher: Bencher) {
    let plan = graph();
    let folder = tempfile::tempdir().unwrap();
    run(&plan, folder.path(), false);
    let options = ResumeOptions::default();
    bencher.bench_local(|| {
        let resumption = resume(folder.path(), "run1", &plan, &options, Timestamp(1)).unwrap();
        assert_eq!(resumption.plan().tasks.len(), TASKS as usize);
    });
}

/// One command after another: what the engine adds to each.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn thousand_commands_durable(bencher: Bencher) {
    let tasks = (0..1_000u32).map(|at| {
        let after: Vec<u32> = at.checked_sub(1).into_iter().collect();
        build::task(&format!("task-{at}"), &after, does(command("true")))
    });
    let plan = planned(workflow(tasks.collect()));
    bencher
        .with_inputs(|| tempfile::tempdir().unwrap())
        .bench_local_refs(|folder| run(&plan, folder.path(), false));
}
