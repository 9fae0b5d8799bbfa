//! Random graphs against a naive reading of S1–S3.

use crate::build::*;
use crate::world::*;
use outpost_compiler::program::{Dependency, OnError, Task, TaskId, Trigger};
use outpost_runtime::fault::FaultCode;

/// A small generator of numbers: the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn random_tasks(numbers: &mut Numbers) -> Vec<Task> {
    let count = 2 + numbers.below(9);
    (0..count)
        .map(|at| {
            let fails = numbers.below(4) == 0;
            let key = format!("{}{at}", if fails { "bad" } else { "good" });
            let mut task = match numbers.below(3) {
                0 if !fails => value(&key, &[], int(at.cast_signed())),
                _ => runs(&key, &[]),
            };
            let mut dependencies = Vec::new();
            for on in 0..at {
                if numbers.below(4) == 0 {
                    dependencies.push(Dependency {
                        task: TaskId(on as u32),
                        soft: numbers.below(4) == 0,
                        at: here(),
                    });
                }
            }
            task.trigger = match numbers.below(6) {
                0 if !dependencies.is_empty() => Trigger::Failure,
                1 if !dependencies.is_empty() => Trigger::Always,
                _ => Trigger::Success,
            };
            if numbers.below(6) == 0 {
                task.when = Some(truth(numbers.below(2) == 0));
            }
            task.dependencies = dependencies.into();
            task
        })
        .collect()
}

/// Where every task ends under `onError: continue`: no order of execution changes that.
fn expected(tasks: &[Task]) -> Vec<&'static str> {
    let mut ends: Vec<&'static str> = Vec::new();
    for task in tasks {
        let of = |dependency: &Dependency| ends[dependency.task.index()];
        let mut dependencies = task.dependencies.iter();
        let runs = match task.trigger {
            Trigger::Success => dependencies.all(|on| on.soft || of(on) == "done"),
            Trigger::Failure => dependencies.any(|on| of(on) == "failed"),
            Trigger::Always => true,
        };
        let never = matches!(
            &task.when,
            Some(when) if format!("{:?}", when.kind).contains("false")
        );
        ends.push(match (runs, never) {
            (false, _) | (true, true) => "skipped",
            (true, false) if task.key.starts_with("bad") => "failed",
            (true, false) => "done",
        });
    }
    ends
}

fn script(
    call: &outpost_runtime::executor::ActionRequest,
    _: usize,
) -> outpost_runtime::executor::scripted::Answer {
    let wait = call.task.bytes().map(u64::from).sum::<u64>() % 7;
    match call.task.starts_with("bad") {
        true => fails(FaultCode::Process, "no").after(ms(wait)),
        false => exits(0, "").after(ms(wait)),
    }
}

#[test]
fn random_graphs_end_as_a_naive_reading_says() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for round in 0..150 {
        let tasks = random_tasks(&mut numbers);
        let ends = expected(&tasks);
        let mut of = workflow(tasks);
        of.policy.on_error = OnError::Continue;
        of.policy.concurrency = 1 + numbers.below(3) as u32;
        let plan = planned(of);
        let extras = Extras {
            ephemeral: true,
            ..Extras::default()
        };
        let ended = World::new().start(&plan, script, extras);
        let statuses: Vec<_> = ended
            .record()
            .tasks
            .iter()
            .map(|task| task.status.name())
            .collect();
        assert_eq!(statuses, ends, "graph {round}");
        let failed = ends.contains(&"failed");
        assert_eq!(
            ended.record().status.name(),
            if failed { "failed" } else { "done" }
        );
        if round % 15 == 0 {
            World::crash_everywhere(&plan, script);
        }
    }
}

/// Under `onError: stop` a graph always ends, and nothing is left open.
#[test]
fn random_graphs_stop_with_everything_settled() {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for round in 0..150 {
        let mut of = workflow(random_tasks(&mut numbers));
        of.policy.concurrency = 1 + numbers.below(3) as u32;
        let plan = planned(of);
        let extras = Extras {
            ephemeral: true,
            ..Extras::default()
        };
        let ended = World::new().start(&plan, script, extras);
        for task in &ended.record().tasks {
            assert!(
                matches!(
                    task.status.name(),
                    "done" | "failed" | "skipped" | "cancelled"
                ),
                "graph {round}: {} is {}",
                task.key,
                task.status.name()
            );
        }
        let failed = ended
            .record()
            .tasks
            .iter()
            .any(|task| task.status.name() == "failed");
        assert_eq!(
            ended.record().status.name(),
            if failed { "failed" } else { "done" }
        );
    }
}
