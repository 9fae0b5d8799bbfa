//! Scenarios 10–14, 32–35 and 41–43: loops and quotas.

use crate::build::*;
use crate::world::*;
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{Action, BinaryOperator, OnError, Ref};
use outpost_runtime::clock::Timestamp;
use outpost_runtime::event::Interrupt;
use outpost_runtime::executor::ActionRequest;
use outpost_runtime::executor::scripted::Answer;
use outpost_runtime::fault::FaultCode;
use outpost_runtime::{RefusalReason, ResumeOptions, RunFault};
use outpost_stdlib::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

fn permitted() -> ResumeOptions {
    ResumeOptions {
        retry_incomplete: true,
        ..ResumeOptions::default()
    }
}

/// The loop of the first page of the language.
fn verified() -> Arc<Plan> {
    let attempt = object([
        ("round", read(Ref::Round)),
        (
            "feedback",
            chain(read(Ref::Feedback), BinaryOperator::Coalesce, text("")),
        ),
    ]);
    let check = reject(
        text("Cover the missing edge case."),
        not_equal(field(read(Ref::Candidate), "round"), int(2)),
    );
    let fix = looped(
        "fix",
        &[],
        a_loop(3, does(Action::Value(attempt)), vec![check]),
    );
    let mut of = workflow(vec![fix]);
    of.name = "verified".into();
    of.output = Some(super::build::of(0));
    planned(of)
}

#[test]
fn the_verification_loop_of_the_language() {
    let plan = verified();
    let script: Script = |_, _| Answer::hang();
    let ended = World::new().start(&plan, script, Extras::default());
    let expected = r#"{"round":2,"feedback":"Cover the missing edge case."}"#;
    assert_eq!(ended.record().output.clone().unwrap().to_json(), expected);
    assert_eq!(ended.attempts("fix"), 2);
    World::crash_everywhere(&plan, script);
}

/// Accepts in the round that the last digit of the program's answer says.
fn accepted_in_two(call: &ActionRequest, _: usize) -> Answer {
    match (call.phase.name(), call.round) {
        ("check", 2) => exits(0, ""),
        ("check", round) => exits(1, &format!("not {round}")),
        (_, round) => exits(0, &format!("try {round}")),
    }
}

fn accepted_in_three(call: &ActionRequest, _: usize) -> Answer {
    match (call.phase.name(), call.round) {
        ("check", 3) => exits(0, ""),
        ("check", round) => exits(1, &format!("not {round}")),
        (_, round) => exits(0, &format!("try {round}")),
    }
}

fn fix(max_rounds: u64) -> Arc<Plan> {
    let mut of = workflow(vec![
        looped("fix", &[], commands_loop(max_rounds)),
        value("after", &[0], field(super::build::of(0), "text")),
    ]);
    of.output = Some(softly(1));
    planned(of)
}

/// Scenario 10 (L1, L3, L6).
#[test]
fn accepted_in_round_two() {
    let plan = fix(3);
    let ended = World::new().start(&plan, accepted_in_two, Extras::default());
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.kinds("loop"), 6);
    assert_eq!(ended.record().task("fix").unwrap().rounds.len(), 2);
    assert_eq!(ended.attempts("fix"), 2);
    let calls = ended.trace.calls();
    let keys: BTreeSet<_> = calls
        .iter()
        .map(|call| call.idempotency_key.clone())
        .collect();
    assert_eq!(keys.len(), 4);
    assert_eq!(
        calls[2].work.command().unwrap().stdin.as_deref(),
        Some("not 1")
    );
    assert_eq!(ended.value("after"), Value::text("try 2"));
    // The start, and two writes a round.
    assert!(ended.writes <= 5, "{} durable writes", ended.writes);
    World::crash_everywhere(&plan, accepted_in_two);
}

/// Scenario 11 (L5).
#[test]
fn an_exhausted_loop_is_final() {
    let plan = fix(2);
    let script: Script = |call, _| match call.phase.name() {
        "check" => exits(1, &format!("not {}", call.round)),
        _ => exits(0, ""),
    };
    let world = World::new();
    let ended = world.start(&plan, script, Extras::default());
    assert_eq!(ended.record().code, Some(FaultCode::Exhausted));
    assert_eq!(ended.status("after"), "skipped");
    let error = ended.record().task("fix").unwrap().error.clone().unwrap();
    assert_eq!(error.name.as_deref(), Some("LoopTaskExhausted"));
    assert_eq!(
        (error.max_rounds, error.feedback.as_deref()),
        (Some(2), Some("not 2"))
    );
    for options in [ResumeOptions::default(), permitted()] {
        let again = world.resume(&plan, script, &options, Extras::default());
        assert_eq!(end_of(again.record()), end_of(ended.record()));
        assert_eq!(again.record().error, ended.record().error);
        assert!(again.called().is_empty());
        assert_eq!(again.writes, 0);
    }
    World::crash_everywhere(&plan, script);
}

/// Scenario 12 (L7): interrupted in the attempt, and in the check, of round 2.
#[test]
fn an_interrupted_phase_is_resumed() {
    let plan = fix(5);
    let traces = [
        (
            3,
            [
                "fix:attempt:2",
                "fix:check:2",
                "fix:attempt:3",
                "fix:check:3",
            ]
            .as_slice(),
        ),
        (
            4,
            ["fix:check:2", "fix:attempt:3", "fix:check:3"].as_slice(),
        ),
    ];
    for (breaks_at, expected) in traces {
        let world = World::new();
        let broken = Extras {
            breaks_at: Some(breaks_at),
            ..Extras::default()
        };
        assert!(
            world
                .start(&plan, accepted_in_three, broken)
                .record
                .is_err()
        );
        let refused = world.resume(
            &plan,
            accepted_in_three,
            &ResumeOptions::default(),
            Extras::default(),
        );
        let Err(RunFault::Refused(refusal)) = &refused.record else {
            panic!("it needs permission");
        };
        assert_eq!(refusal.reason, RefusalReason::NeedsPermission);
        let ended = world.resume(&plan, accepted_in_three, &permitted(), Extras::default());
        assert_eq!(ended.called(), expected);
        assert_eq!(ended.attempts("fix"), 4);
        assert_eq!(ended.record().status.name(), "done");
    }
    World::crash_everywhere(&plan, accepted_in_three);
}

/// Scenario 13 (L7): the verdict is saved, the task's end is not.
#[test]
fn after_acceptance_nothing_is_called() {
    // A workflow of one loop: its last write holds the verdict and all that follows.
    let plan = fix(3);
    let world = World::new();
    let whole = world.start(&plan, accepted_in_two, Extras::default());
    assert_eq!(whole.record().status.name(), "done");
    cut_after(&world, "complete");
    let resumed = world.resume(
        &plan,
        accepted_in_two,
        &ResumeOptions::default(),
        Extras::default(),
    );
    assert_eq!(end_of(resumed.record()), end_of(whole.record()));
    assert!(resumed.called().is_empty());
}

/// Drops the rows after the last loop event of a phase, and the side file with them.
fn cut_after(world: &World, phase: &str) {
    let last = world
        .events()
        .iter()
        .rfind(|event| event.kind == "loop" && event.get("phase").unwrap() == phase)
        .unwrap()
        .seq;
    let folder = world.root().join(".outpost/runs").join(RUN);
    let database = rusqlite::Connection::open(folder.join("journal.db")).unwrap();
    database
        .execute("DELETE FROM events WHERE seq > ?1", [last.cast_signed()])
        .unwrap();
    std::fs::remove_file(folder.join("seal")).unwrap();
}

fn pausing_loop(max_wait_ms: u64) -> Arc<Plan> {
    let of = workflow(vec![
        looped("fix", &[], commands_loop(3)),
        value("after", &[0], int(1)),
        runs("other", &[]),
    ]);
    planned(pausing(of, ms(max_wait_ms)))
}

/// Scenarios 14 and 32 (L10, Q4): the phase that hit the limit is resumed, without permission.
#[test]
fn a_quota_in_the_check_pauses_the_check() {
    let plan = pausing_loop(0);
    let script: Script = |call, before| match (&*call.task, call.phase.name(), before) {
        ("fix", "check", 0) => quota(None),
        _ => exits(0, ""),
    };
    let world = World::new();
    let paused = world.start(&plan, script, Extras::default());
    assert_eq!(paused.record().status.name(), "paused");
    assert_eq!(paused.status("fix"), "paused");
    assert_eq!(paused.status("after"), "waiting");
    assert_eq!(paused.status("other"), "done");
    let ended = world.resume(&plan, script, &ResumeOptions::default(), Extras::default());
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.called(), ["fix:check:1"]);
    assert_eq!(ended.attempts("fix"), 2);
    World::crash_everywhere(&plan, script);
}

/// Scenario 33 (Q4).
#[test]
fn a_near_reset_is_waited_for_and_a_far_one_is_not() {
    let script: Script = |call, before| match (&*call.task, call.phase.name(), before) {
        ("fix", "attempt", 0) => quota(Some(BEGIN.after(ms(60_000)))),
        _ => exits(0, ""),
    };
    let ended = World::new().start(&pausing_loop(60_000), script, Extras::default());
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(ended.record().finished, Some(BEGIN.after(ms(60_000))));
    let paused = World::new().start(&pausing_loop(59_000), script, Extras::default());
    assert_eq!(paused.record().status.name(), "paused");

    let far: Script = |call, before| match (&*call.task, call.phase.name(), before) {
        ("fix", "attempt", 0) => quota(Some(Timestamp(LATER.0 + 60_000))),
        _ => exits(0, ""),
    };
    let world = World::new();
    let plan = pausing_loop(0);
    world.start(&plan, far, Extras::default());
    let still = world.resume(&plan, far, &ResumeOptions::default(), Extras::default());
    assert_eq!(still.record().status.name(), "paused");
    assert!(still.called().is_empty());
}

/// Scenario 34.
#[test]
fn an_interrupt_during_a_quota_wait_leaves_the_task_paused() {
    let plan = pausing_loop(10_000_000);
    let script: Script = |call, before| match (&*call.task, before) {
        ("fix", 0) if call.phase.name() == "attempt" => quota(Some(BEGIN.after(ms(60_000)))),
        _ => exits(0, ""),
    };
    let extras = Extras {
        interrupts: vec![(ms(500), Interrupt::Interrupt)],
        ..Extras::default()
    };
    let world = World::new();
    let ended = world.start(&plan, script, extras);
    assert_eq!(ended.record().status.name(), "cancelled");
    assert_eq!(ended.status("fix"), "paused");
    let resumed = world.resume(&plan, script, &ResumeOptions::default(), Extras::default());
    assert_eq!(resumed.record().status.name(), "done");
}

/// Scenario 35 (Q4): `quota` is there in the first attempt after the pause only.
#[test]
fn quota_is_in_scope_once() {
    let message = expr_of_quota();
    let retrying = task("ask", &[], does(told("ask", message))).retry(tries(2));
    let plan = planned(pausing(workflow(vec![retrying]), ms(0)));
    let script: Script = |_, before| match before {
        0 => quota(None),
        1 => fails(FaultCode::Process, "no"),
        _ => exits(0, ""),
    };
    let world = World::new();
    let paused = world.start(&plan, script, Extras::default());
    assert_eq!(paused.record().status.name(), "paused");
    assert_eq!(
        paused.trace.calls()[0]
            .work
            .command()
            .unwrap()
            .stdin
            .as_deref(),
        Some("none")
    );
    let ended = world.resume(&plan, script, &ResumeOptions::default(), Extras::default());
    let told: Vec<_> = ended
        .trace
        .calls()
        .iter()
        .map(|call| call.work.command().unwrap().stdin.clone())
        .collect();
    assert_eq!(
        told,
        [
            Some("usage limit reached".to_owned()),
            Some("none".to_owned())
        ]
    );
}

fn expr_of_quota() -> outpost_compiler::program::Expr {
    let message = expr(outpost_compiler::program::ExprKind::Field {
        of: Box::new(read(Ref::Quota)),
        name: "message".into(),
        safe: true,
    });
    chain(message, BinaryOperator::Coalesce, text("none"))
}

/// Scenario 41 (L1).
#[test]
fn acceptance_in_the_last_round_is_success() {
    for rounds in 1..=3 {
        let script: Script = |call, _| {
            let last = call
                .work
                .command()
                .unwrap()
                .argv
                .first()
                .map(String::as_str)
                == Some("judge");
            match last {
                true => exits(0, ""),
                false => exits(0, "x"),
            }
        };
        let check = vec![reject(
            text("more"),
            not_equal(read(Ref::Round), int(rounds)),
        )];
        let max_rounds = rounds.unsigned_abs();
        let of = a_loop(max_rounds, does(command("try")), check);
        let plan = planned(workflow(vec![looped("fix", &[], of)]));
        let ended = World::new().start(&plan, script, Extras::default());
        assert_eq!(ended.record().status.name(), "done");
        assert_eq!(u64::from(ended.attempts("fix")), max_rounds);
        World::crash_everywhere(&plan, script);
    }
}

/// Scenario 42 (L4, L8): what the executor reports as an error in a check ends the loop.
#[test]
fn an_error_in_the_check_is_no_verdict() {
    let plan = fix(3);
    let script: Script = |call, _| match call.phase.name() {
        "check" => fails(FaultCode::Process, "there is no program `judge`"),
        _ => exits(0, ""),
    };
    let ended = World::new().start(&plan, script, Extras::default());
    assert_eq!(ended.record().code, Some(FaultCode::Process));
    assert_eq!(ended.called(), ["fix:attempt:1", "fix:check:1"]);
    assert_eq!(ended.attempts("fix"), 1);
    assert!(ended.trace.calls()[1].in_check);
}

/// Scenario 43 (L9).
#[test]
fn equal_rounds_are_reported_and_may_end_the_loop() {
    let script: Script = |call, _| match call.phase.name() {
        "check" => exits(
            1,
            if call.round % 2 == 0 {
                "same  again"
            } else {
                "same again\n"
            },
        ),
        _ => exits(0, ""),
    };
    let ended = World::new().start(&fix(3), script, Extras::default());
    assert_eq!(ended.kinds("stalled"), 2);
    assert_eq!(ended.record().code, Some(FaultCode::Exhausted));
    let mut of = commands_loop(9);
    of.stop_on_stall = Some(3);
    let plan = planned(workflow(vec![looped("fix", &[], of)]));
    let ended = World::new().start(&plan, script, Extras::default());
    assert_eq!(ended.record().code, Some(FaultCode::Stuck));
    assert_eq!(ended.called().len(), 6);
}

/// L4: `retryPhase` repeats a phase of the same round on an outage, with the same key.
#[test]
fn a_phase_may_be_repeated_on_an_outage() {
    let mut of = commands_loop(3);
    of.retry_phase = Some(Box::new(tries(2)));
    let plan = planned(workflow(vec![looped("fix", &[], of)]));
    let script: Script = |call, before| match (call.phase.name(), before) {
        ("check", 0) => {
            let mut fault = outpost_runtime::fault::Fault::new(FaultCode::Provider, "down");
            fault.unavailable = true;
            Answer::new(outpost_runtime::executor::Outcome::Failed(Box::new(fault)))
        }
        _ => exits(0, ""),
    };
    let ended = World::new().start(&plan, script, Extras::default());
    assert_eq!(ended.record().status.name(), "done");
    assert_eq!(
        ended.called(),
        ["fix:attempt:1", "fix:check:1", "fix:check:1"]
    );
    let calls = ended.trace.calls();
    assert_eq!(calls[1].idempotency_key, calls[2].idempotency_key);
    assert_eq!(ended.attempts("fix"), 2);
    World::crash_everywhere(&plan, script);
}

/// A round's deadline bounds both phases together (L4).
#[test]
fn a_rounds_deadline_bounds_both_phases() {
    let mut of = workflow(vec![looped("fix", &[], commands_loop(3)).timeout_ms(100)]);
    of.policy.on_error = OnError::Continue;
    let script: Script = |_, _| exits(0, "").after(ms(60));
    let ended = World::new().start(&planned(of), script, Extras::default());
    assert_eq!(ended.record().code, Some(FaultCode::Timeout));
    assert_eq!(ended.called(), ["fix:attempt:1", "fix:check:1"]);
}

/// What was skipped before a resumption waits again, in the report too.
#[test]
fn a_resumed_run_reports_what_waits() {
    let of = workflow(vec![runs("ask", &[]), runs("behind", &[0])]);
    let plan = planned(pausing(of, ms(0)));
    let script: Script = |_, before| match before {
        0 => fails(FaultCode::Process, "no"),
        1 => quota(None),
        _ => exits(0, ""),
    };
    let world = World::new();
    let failed = world.start(&plan, script, Extras::default());
    assert_eq!(
        (failed.status("ask"), failed.status("behind")),
        ("failed", "skipped")
    );
    // The journal does not tell how often a call that failed for good has ended.
    let script: Script = |_, _| quota(None);
    let paused = world.resume(&plan, script, &permitted(), Extras::default());
    assert_eq!(
        (paused.status("ask"), paused.status("behind")),
        ("paused", "waiting")
    );
    assert_eq!(paused.record().status.name(), "paused");
    let script: Script = |_, _| exits(0, "");
    let ended = world.resume(&plan, script, &ResumeOptions::default(), Extras::default());
    assert_eq!(
        (ended.status("ask"), ended.status("behind")),
        ("done", "done")
    );
}
