//! Scenarios 1–9, 15–17, 20, 21, 23, 39 and 49: graphs, retries, deadlines, interrupts.

use crate::build::*;
use crate::world::*;
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{Action, OnError, Ref, Trigger};
use outpost_runtime::event::{Interrupt, Usage};
use outpost_runtime::executor::scripted::Answer;
use outpost_runtime::executor::{ActionRequest, UsageReport};
use outpost_runtime::fault::FaultCode;
use outpost_runtime::{Observer, PublicEvent, RefusalReason, ResumeOptions, RunFault, open_run};
use outpost_stdlib::Value;
use std::sync::Arc;
use std::time::Duration;

fn ok(_: &ActionRequest, _: usize) -> Answer {
    exits(0, "")
}

fn permitted() -> ResumeOptions {
    ResumeOptions {
        retry_incomplete: true,
        ..ResumeOptions::default()
    }
}

/// Scenario 1 (S1).
#[test]
fn diamond_declared_in_reverse() {
    let join = list([field(of(1), "stdout"), field(of(2), "stdout")]);
    let mut diamond = workflow(vec![
        value("join", &[1, 2], join),
        runs("left", &[3]),
        runs("right", &[3]),
        runs("top", &[]),
    ]);
    diamond.output = Some(of(0));
    let plan = planned(diamond);
    let script: Script = |call, _| exits(0, &call.task);
    let extras = || Extras {
        concurrency: Some(2),
        ..Extras::default()
    };
    let ended = World::new().start(&plan, script, extras());
    let joined = Value::list([Value::text("left"), Value::text("right")]);
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.record().output, Some(joined));
    assert_eq!(
        ended.called(),
        ["top:attempt:0", "left:attempt:0", "right:attempt:0"]
    );
    World::crash_everywhere_with(&plan, script, extras);
}

/// Scenario 2 (S1).
#[test]
fn never_more_than_the_concurrency() {
    let plan = planned(workflow(
        ["a", "b", "c", "d", "e"].map(|key| runs(key, &[])).into(),
    ));
    let script: Script = |_, _| exits(0, "").after(ms(100));
    let extras = || Extras {
        concurrency: Some(2),
        ..Extras::default()
    };
    let ended = World::new().start(&plan, script, extras());
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.trace.most_at_once(), 2);
    assert_eq!(ended.trace.calls().len(), 5);
    World::crash_everywhere_with(&plan, script, extras);
}

/// Scenario 3 (S3).
#[test]
fn a_failure_cancels_the_slow_sibling_after_its_clean_up() {
    let plan = planned(workflow(vec![runs("fails", &[]), runs("slow", &[])]));
    let script: Script = |call, _| match &*call.task {
        "fails" => fails(FaultCode::Process, "no").after(ms(10)),
        _ => Answer::hang().cleaning_up(ms(500)),
    };
    let ended = World::new().start(&plan, script, Extras::default());
    assert_eq!(ended.record().status.name(), "failed");
    assert_eq!(ended.record().code, Some(FaultCode::Process));
    assert_eq!(ended.status("fails"), "failed");
    assert_eq!(ended.status("slow"), "cancelled");
    assert_eq!(ended.record().finished, Some(BEGIN.after(ms(510))));
    World::crash_everywhere(&plan, script);
}

/// Scenario 4 (S2, S3).
#[test]
fn on_error_continue_skips_the_child_and_runs_the_rest() {
    let mut graph = workflow(vec![
        runs("parent", &[]),
        runs("child", &[0]),
        runs("other", &[]),
    ]);
    graph.policy.on_error = OnError::Continue;
    let plan = planned(graph);
    let script: Script = |call, _| match &*call.task {
        "parent" => fails(FaultCode::Process, "no"),
        _ => exits(0, "").after(ms(5)),
    };
    let ended = World::new().start(&plan, script, Extras::default());
    assert_eq!(ended.record().status.name(), "failed");
    assert_eq!(ended.status("parent"), "failed");
    assert_eq!(ended.status("child"), "skipped");
    assert_eq!(ended.status("other"), "done");
    World::crash_everywhere(&plan, script);
}

/// Scenario 5 (S5, R2).
#[test]
fn a_false_condition_skips_the_task_and_its_child() {
    let plan = planned(workflow(vec![
        runs("maybe", &[]).when(truth(false)),
        runs("child", &[0]),
    ]));
    let ended = World::new().start(&plan, ok, Extras::default());
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.record().code, None);
    assert_eq!(ended.status("maybe"), "skipped");
    assert_eq!(ended.status("child"), "skipped");
    assert!(ended.called().is_empty());
}

/// S5: the condition is evaluated with attempt 0, and its failure fails the task.
#[test]
fn conditions_see_attempt_zero() {
    let plan = planned(workflow(vec![
        value("first", &[], read(Ref::Attempt)).when(not_equal(read(Ref::Attempt), int(1))),
        value("broken", &[], int(1)).when(not_equal(division_by_zero(), int(0))),
    ]));
    let ended = World::new().start(&plan, ok, Extras::default());
    assert_eq!(ended.value("first"), Value::Int(1));
    assert_eq!(ended.status("broken"), "failed");
    let error = ended.record().error.clone().unwrap();
    assert_eq!(error.code, FaultCode::Failed);
    assert_eq!(error.span.unwrap().to_string(), "main.outpost:1:1");
    assert_eq!(ended.attempts("broken"), 0);
}

fn third_try() -> Arc<Plan> {
    planned(workflow(vec![runs("flaky", &[]).retry(tries(3))]))
}

/// Scenario 6 (T1, T3).
#[test]
fn the_third_try_succeeds() {
    let plan = third_try();
    let script: Script = |_, before| match before {
        0 | 1 => fails(FaultCode::Process, "no"),
        _ => exits(0, "yes"),
    };
    let ended = World::new().start(&plan, script, Extras::default());
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.attempts("flaky"), 3);
    assert_eq!(ended.kinds("retry"), 2);
    assert_eq!(
        ended.value("flaky").get("stdout"),
        Some(&Value::text("yes"))
    );
    World::crash_everywhere(&plan, script);
}

/// Scenario 7 (T1).
#[test]
fn the_servers_minimum_wins_over_cap_and_jitter() {
    let mut retry = tries(2);
    retry.delay = Duration::ZERO;
    retry.max_delay = Some(ms(50));
    retry.full_jitter = true;
    let plan = planned(workflow(vec![runs("flaky", &[]).retry(retry)]));
    let script: Script = |_, before| match before {
        0 => {
            let mut fault = outpost_runtime::fault::Fault::new(FaultCode::Provider, "slow down");
            fault.retry_after_ms = Some(2_000);
            Answer::new(outpost_runtime::executor::Outcome::Failed(Box::new(fault)))
        }
        _ => exits(0, ""),
    };
    let ended = World::new().start(&plan, script, Extras::default());
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.record().finished, Some(BEGIN.after(ms(2_000))));
}

/// T1: doubling, then the cap; no jitter.
#[test]
fn waits_double_up_to_the_cap() {
    let mut retry = tries(5);
    retry.delay = ms(100);
    retry.exponential = true;
    retry.max_delay = Some(ms(250));
    let plan = planned(workflow(vec![runs("flaky", &[]).retry(retry)]));
    let script: Script = |_, _| fails(FaultCode::Process, "no");
    let ended = World::new().start(&plan, script, Extras::default());
    let waits: Vec<_> = ended
        .events
        .iter()
        .filter(|event| event.kind == "retry")
        .map(|event| event.get("waitMs").unwrap().as_u64().unwrap())
        .collect();
    assert_eq!(waits, [100, 200, 250, 250]);
}

/// Scenario 8 (R5).
#[test]
fn the_runs_deadline_passes_during_a_huge_wait() {
    let mut graph = workflow(vec![runs("flaky", &[]).retry(tries(2))]);
    graph.policy.timeout = Some(ms(1_000));
    let plan = planned(graph);
    let script: Script = |_, _| {
        let mut fault = outpost_runtime::fault::Fault::new(FaultCode::Provider, "slow down");
        fault.retry_after_ms = Some(10_000_000);
        Answer::new(outpost_runtime::executor::Outcome::Failed(Box::new(fault)))
    };
    let ended = World::new().start(&plan, script, Extras::default());
    assert_eq!(ended.record().status.name(), "failed");
    assert_eq!(ended.record().code, Some(FaultCode::Timeout));
    assert_eq!(ended.status("flaky"), "cancelled");
    assert_eq!(ended.attempts("flaky"), 1);
    assert!(ended.record().task("flaky").unwrap().error.is_none());
}

/// Scenario 9 (R2, S4).
#[test]
fn an_interrupt_outweighs_a_deadline_that_passes_during_clean_up() {
    let mut graph = workflow(vec![runs("slow", &[])]);
    graph.policy.timeout = Some(ms(1_000));
    let plan = planned(graph);
    let script: Script = |_, _| Answer::hang().cleaning_up(ms(2_000));
    let extras = Extras {
        interrupts: vec![(ms(500), Interrupt::Interrupt)],
        ..Extras::default()
    };
    let ended = World::new().start(&plan, script, extras);
    assert_eq!(ended.record().status.name(), "cancelled");
    assert_eq!(ended.record().code, Some(FaultCode::Aborted));
    assert_eq!(ended.status("slow"), "cancelled");
    assert_eq!(ended.record().finished, Some(BEGIN.after(ms(2_500))));
}

/// A second interrupt means now.
#[test]
fn a_second_interrupt_does_not_wait_for_clean_up() {
    let plan = planned(workflow(vec![runs("slow", &[])]));
    let script: Script = |_, _| Answer::hang().cleaning_up(ms(60_000));
    let extras = Extras {
        interrupts: vec![
            (ms(500), Interrupt::Interrupt),
            (ms(700), Interrupt::Interrupt),
        ],
        ..Extras::default()
    };
    let ended = World::new().start(&plan, script, extras);
    assert_eq!(ended.record().status.name(), "cancelled");
    assert_eq!(ended.record().finished, Some(BEGIN.after(ms(700))));
}

/// An attempt's deadline: its value after that is dropped, and `retry` may repeat it.
#[test]
fn a_timed_out_attempt_is_stopped_and_tried_again() {
    let plan = planned(workflow(vec![
        runs("slow", &[]).timeout_ms(100).retry(tries(2)),
    ]));
    let script: Script = |_, before| match before {
        0 => Answer::hang().cleaning_up(ms(50)),
        _ => exits(0, "").after(ms(100)),
    };
    let ended = World::new().start(&plan, script, Extras::default());
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.attempts("slow"), 2);
    assert_eq!(ended.record().finished, Some(BEGIN.after(ms(250))));
    World::crash_everywhere(&plan, script);
}

/// Scenarios 15, 16 and 17 (B1).
#[test]
fn a_budget_of_attempts() {
    let retrying = ["a", "b", "c"].map(|key| runs(key, &[]).retry(tries(5)));
    let plan = planned(workflow(retrying.into()));
    let script: Script = |_, _| fails(FaultCode::Process, "no").after(ms(1));
    let budget = |attempts| Extras {
        concurrency: Some(2),
        budget_attempts: Some(attempts),
        ..Extras::default()
    };
    let ended = World::new().start(&plan, script, budget(2));
    assert_eq!(ended.record().code, Some(FaultCode::Limit));
    assert_eq!(ended.trace.calls().len(), 2);
    assert_eq!(ended.kinds("budget-exceeded"), 1);
    for key in ["a", "b", "c"] {
        assert_eq!(ended.status(key), "cancelled");
    }

    let plan = planned(workflow(vec![runs("a", &[]), runs("b", &[])]));
    let ended = World::new().start(&plan, ok, budget(1));
    assert_eq!(ended.record().code, Some(FaultCode::Limit));
    assert_eq!(
        (ended.status("a"), ended.status("b")),
        ("done", "cancelled")
    );
    let ended = World::new().start(&plan, ok, budget(0));
    assert_eq!(ended.record().status.name(), "failed");
    assert!(ended.called().is_empty());
    let ended = World::new().start(&plan, ok, budget(2));
    assert_eq!(ended.record().status.name(), "done");
}

/// Scenario 20 (B4).
#[test]
fn a_receipt_counts_once_for_each_task() {
    let plan = planned(workflow(vec![
        runs("a", &[]).retry(tries(2)),
        runs("b", &[]),
    ]));
    let script: Script = |call, before| {
        let usage = UsageReport {
            receipt: Some("r1".to_owned()),
            usage: Usage {
                input: 10,
                output: 1,
                ..Usage::default()
            },
        };
        let mut answer = match (&*call.task, before) {
            ("a", 0) => fails(FaultCode::Process, "no"),
            _ => exits(0, ""),
        };
        answer.usage = vec![usage.clone(), usage];
        answer
    };
    let ended = World::new().start(&plan, script, Extras::default());
    let usage = ended.record().usage.clone().unwrap();
    assert_eq!((usage.input, usage.output), (20, 2));
}

/// Scenario 21 (J5): what is done stays done; what was interrupted is attempt 2, with permission.
#[test]
fn an_interrupted_task_needs_permission() {
    let plan = planned(workflow(vec![runs("first", &[]), runs("second", &[0])]));
    let world = World::new();
    let broken = Extras {
        breaks_at: Some(2),
        ..Extras::default()
    };
    assert!(world.start(&plan, ok, broken).record.is_err());
    let view = open_run(world.root(), RUN).unwrap();
    assert_eq!(view.record.status.name(), "interrupted");
    let refused = world.resume(&plan, ok, &ResumeOptions::default(), Extras::default());
    let Err(RunFault::Refused(refusal)) = &refused.record else {
        panic!("it needs permission");
    };
    assert_eq!(refusal.reason, RefusalReason::NeedsPermission);
    assert_eq!(refusal.plan.as_ref().unwrap().needs_permission, ["second"]);
    let ended = world.resume(&plan, ok, &permitted(), Extras::default());
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.called(), ["second:attempt:0"]);
    assert_eq!((ended.attempts("first"), ended.attempts("second")), (1, 2));
    let again = world.resume(&plan, ok, &ResumeOptions::default(), Extras::default());
    assert_eq!(again.record().status.name(), "done");
    assert_eq!(again.writes, 0);
}

/// Scenario 23 (J1): the journal breaks when a task ends.
#[test]
fn nothing_starts_on_an_unsaved_result() {
    let plan = planned(workflow(vec![
        runs("quick", &[]),
        runs("slow", &[]),
        runs("dependent", &[0]),
    ]));
    let script: Script = |call, _| match &*call.task {
        "slow" => Answer::hang().cleaning_up(ms(100)),
        _ => exits(0, "").after(ms(10)),
    };
    let broken = Extras {
        breaks_at: Some(1),
        ..Extras::default()
    };
    let ended = World::new().start(&plan, script, broken);
    assert!(matches!(&ended.record, Err(RunFault::Io(_))));
    assert_eq!(ended.called(), ["quick:attempt:0", "slow:attempt:0"]);
    assert_eq!(ended.trace.live(), 0);
    // What was not saved was not shown either.
    let settled = ended.events.iter().filter(|event| event.kind == "task");
    assert_eq!(settled.count(), 0);
}

struct Broken(u32);

impl Observer for Broken {
    fn event(&mut self, _: &PublicEvent) -> Result<(), String> {
        self.0 += 1;
        Err(format!("disk full {}", self.0))
    }
}

/// Scenario 39 (O1).
#[test]
fn a_failing_observer_changes_nothing() {
    let plan = planned(workflow(vec![runs("a", &[]), runs("b", &[0])]));
    let extras = Extras {
        observer: Some(Box::new(Broken(0))),
        ..Extras::default()
    };
    let ended = World::new().start(&plan, ok, extras);
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.notes, ["events are no longer reported: disk full 1"]);
}

/// Scenario 49 (S3): clean-up runs after what ran has ended, and changes nothing about the failure.
#[test]
fn clean_up_runs_after_a_failure() {
    let plan = planned(workflow(vec![
        runs("build", &[]),
        runs("slow", &[]),
        runs("deploy", &[0]),
        runs("clean", &[2]).trigger(Trigger::Always),
        runs("notify", &[0]).trigger(Trigger::Failure),
        runs("later", &[1]).trigger(Trigger::Always),
        runs("behind", &[7]).trigger(Trigger::Always),
        runs("unstarted", &[1]),
    ]));
    let script: Script = |call, _| match &*call.task {
        "build" => fails(FaultCode::Process, "no").after(ms(10)),
        "slow" => Answer::hang().cleaning_up(ms(100)),
        _ => exits(0, "").after(ms(1)),
    };
    let ended = World::new().start(&plan, script, Extras::default());
    assert_eq!(ended.record().status.name(), "failed");
    let statuses: Vec<_> = ended
        .record()
        .tasks
        .iter()
        .map(|task| task.status.name())
        .collect();
    assert_eq!(
        statuses,
        [
            "failed",
            "cancelled",
            "skipped",
            "done",
            "done",
            "done",
            "cancelled",
            "cancelled"
        ]
    );
    assert_eq!(
        ended.called(),
        ["build", "slow", "clean", "notify", "later"].map(|key| format!("{key}:attempt:0"))
    );
    World::crash_everywhere(&plan, script);
}

/// S3: `trigger: failure` does not fire for what was skipped.
#[test]
fn a_failure_trigger_fires_for_failures_only() {
    let plan = planned(workflow(vec![
        runs("maybe", &[]).when(truth(false)),
        runs("notify", &[0]).trigger(Trigger::Failure),
        value("join", &[], softly(0)).soft(0),
    ]));
    let ended = World::new().start(&plan, ok, Extras::default());
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.status("notify"), "skipped");
    assert_eq!(
        (ended.status("join"), ended.value("join")),
        ("done", Value::Null)
    );
}

/// Steps of one body: in order, each result in scope of the next, and not repeated when the attempt is resumed (L7).
#[test]
fn steps_run_in_order_and_are_not_repeated() {
    let steps = vec![
        named("one", command("one")),
        named("text", Action::Value(field(read(Ref::Step(0)), "stdout"))),
        named("two", told("two", read(Ref::Step(1)))),
    ];
    let plan = planned(workflow(vec![task("steps", &[], body(steps, None))]));
    let script: Script = |call, _| exits(0, &call.step);
    let ended = World::new().start(&plan, script, Extras::default());
    let calls = ended.trace.calls();
    assert_eq!(
        calls[1].work.command().unwrap().stdin.as_deref(),
        Some("one")
    );
    assert_ne!(calls[0].idempotency_key, calls[1].idempotency_key);
    let world = World::new();
    let broken = Extras {
        breaks_at: Some(2),
        ..Extras::default()
    };
    assert!(world.start(&plan, script, broken).record.is_err());
    let resumed = world.resume(&plan, script, &permitted(), Extras::default());
    let again: Vec<_> = resumed
        .trace
        .calls()
        .iter()
        .map(|call| call.step.clone())
        .collect();
    assert_eq!(again, ["two"]);
    assert_eq!(
        resumed.trace.calls()[0].idempotency_key,
        calls[1].idempotency_key
    );
    World::crash_everywhere(&plan, script);
}

/// J9: an earlier wall clock is recorded as the last time, with one warning; waits go on by the other clock.
#[test]
fn recorded_times_never_decrease() {
    let plan = planned(workflow(vec![runs("a", &[]), runs("b", &[0])]));
    let world = World::new();
    let broken = Extras {
        breaks_at: Some(2),
        ..Extras::default()
    };
    assert!(world.start(&plan, ok, broken).record.is_err());
    let extras = Extras {
        wall_shift_ms: -10_000_000,
        ..Extras::default()
    };
    let ended = world.resume(&plan, ok, &permitted(), extras);
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.notes.len(), 1);
    let times: Vec<_> = world.events().iter().map(|event| event.at).collect();
    assert!(times.is_sorted());
}

/// Ephemeral runs are the same engine and leave nothing behind (R1).
#[test]
fn an_ephemeral_run_leaves_nothing() {
    let plan = planned(workflow(vec![
        value("a", &[], int(1)),
        value("b", &[0], of(0)),
    ]));
    let world = World::new();
    let extras = Extras {
        ephemeral: true,
        ..Extras::default()
    };
    let ended = world.start(&plan, ok, extras);
    assert_eq!(ended.value("b"), Value::Int(1));
    assert_eq!(std::fs::read_dir(world.root()).unwrap().count(), 0);
}
