//! What would run, and how much of it.

use crate::programs::{
    Maker, after, agent, command, everything, executable, fix_tests, generated, long_chain,
    looping, one, plain, reject, step, task, text, workflow,
};
use outpost_compiler::bounds::{Bounds, MAX_COUNT, json, page};
use outpost_compiler::program::{
    Action, Budget, CheckItem, Executable, OnQuota, Retry, Task, TaskKind, WorkflowId,
};
use std::time::Duration;

fn retry(attempts: u32, delay: u64, exponential: bool, max_delay: Option<u64>) -> Retry {
    Retry {
        attempts,
        delay: Duration::from_secs(delay),
        exponential,
        max_delay: max_delay.map(Duration::from_secs),
        full_jitter: false,
        on: None,
    }
}

fn make(key: &str) -> Task {
    task(key, TaskKind::Task(one(command(&["make"], None))))
}

fn timed(key: &str, seconds: u64) -> Task {
    let mut task = make(key);
    task.timeout = Some(Duration::from_secs(seconds));
    task
}

fn bounds(tasks: Vec<Task>) -> Bounds {
    Bounds::of(&Maker::default().plan("w", tasks, None))
}

#[test]
fn pages() {
    let plan = fix_tests();
    insta::assert_snapshot!("fix_tests.page", page::draw(&Bounds::of(&plan)));
    insta::assert_snapshot!("fix_tests.bounds", json::draw(&Bounds::of(&plan)));
    insta::assert_snapshot!("everything.page", page::draw(&Bounds::of(&everything())));
    insta::assert_snapshot!("nothing.page", page::draw(&bounds(Vec::new())));
}

#[test]
fn a_page_is_not_wider_than_a_terminal() {
    let long = "x".repeat(300);
    let mut wide = make(&long);
    wide.doc = Some(long.as_str().into());
    for bounds in [bounds(vec![wide]), Bounds::of(&generated(5, 3_000, 40))] {
        let page = page::draw(&bounds);
        assert!(
            page.lines()
                .all(|line| line.chars().count() <= page::COLUMNS),
            "{page}"
        );
    }
}

#[test]
fn attempts_of_loops_and_retries() {
    let rejects = || vec![reject(text("x"))];
    let body = || one(command(&["make"], None));
    let plain = task("plain", looping(5, body(), rejects()));
    let mut repeated = task("repeated", looping(5, body(), rejects()));
    if let TaskKind::Loop(looping) = &mut repeated.kind {
        looping.retry_phase = Some(Box::new(retry(3, 0, false, None)));
    }
    let mut retried = make("retried");
    retried.retry = Some(Box::new(retry(4, 0, false, None)));
    let endless = task("endless", looping(u64::MAX, body(), rejects()));
    let found = bounds(vec![plain, repeated, retried, endless]);
    let most: Vec<Option<u64>> = found.tasks.iter().map(|task| task.attempts.most).collect();
    // Each round of the second: one attempt, and two repetitions of either phase.
    assert_eq!(most, [Some(5), Some(25), Some(4), Some(MAX_COUNT)]);
    assert_eq!(found.attempts.least, 4);
    assert_eq!(found.attempts.most, Some(MAX_COUNT));
}

#[test]
fn a_condition_takes_dependents_along_but_not_soft_ones() {
    let mut first = make("first");
    first.when = Some(text("x"));
    let tasks = vec![
        first,
        after(make("hard"), &[(0, false)]),
        after(make("soft"), &[(0, true)]),
        after(make("behind"), &[(1, false), (2, false)]),
    ];
    let least: Vec<u64> = bounds(tasks)
        .tasks
        .iter()
        .map(|task| task.attempts.least)
        .collect();
    assert_eq!(least, [0, 0, 1, 0]);
}

#[test]
fn time_is_the_longest_way_and_what_slots_hold_back() {
    let tasks = || {
        vec![
            timed("a", 10),
            timed("b", 20),
            after(timed("c", 5), &[(0, false)]),
        ]
    };
    // Eight slots: the longest way is `b`, and 15 seconds of other work may stand in its way.
    let found = bounds(tasks());
    assert_eq!(found.time, Some(Duration::from_millis(20_000 + 15_000 / 8)));
    let open = bounds(tasks().into_iter().chain([make("d")]).collect());
    assert_eq!(open.time, None);
    assert_eq!(open.unlimited, ["d"]);
}

#[test]
fn waits_between_tries_count() {
    let waits = |retry: Retry| {
        let mut task = timed("t", 1);
        task.retry = Some(Box::new(retry));
        bounds(vec![task]).time.map(|time| time.as_secs())
    };
    assert_eq!(waits(retry(4, 2, false, None)), Some(4 + 6));
    assert_eq!(waits(retry(4, 2, true, None)), Some(4 + 2 + 4 + 8));
    assert_eq!(waits(retry(4, 2, true, Some(5))), Some(4 + 2 + 4 + 5));
    // The cap of thirty seconds holds where the file names none.
    assert_eq!(
        waits(retry(8, 2, true, None)),
        Some(8 + 2 + 4 + 8 + 16 + 30 + 30 + 30)
    );
    assert!(waits(retry(u32::MAX, 3600, true, None)).is_some());
}

#[test]
fn a_called_workflow_counts_for_its_caller() {
    let mut maker = Maker::default();
    maker.program.agents.push(plain("opus", "claude", None));
    let shell = executable(Executable::Shell(text("make")), None);
    let inner = vec![
        timed("one", 10),
        after(task("two", TaskKind::Task(one(shell))), &[(0, false)]),
        after(
            task("three", TaskKind::Task(one(agent(0, text("x"), None)))),
            &[(1, false)],
        ),
    ];
    maker.program.workflows.push(workflow("inner", inner, None));
    let call = Action::Workflow {
        workflow: WorkflowId(1),
        inputs: Box::default(),
    };
    let mut caller = task("call", TaskKind::Task(one(call)));
    caller.timeout = Some(Duration::from_secs(60));
    caller.retry = Some(Box::new(retry(2, 5, false, None)));
    let found = Bounds::of(&maker.plan("w", vec![caller], None));
    let keys: Vec<&str> = found.tasks.iter().map(|task| task.key.as_str()).collect();
    assert_eq!(keys, ["call", "call.one", "call.two", "call.three"]);
    assert_eq!((found.attempts.least, found.attempts.most), (3, Some(6)));
    assert_eq!(found.turns, Some(2));
    assert_eq!(found.tasks[0].time, Some(Duration::from_secs(125)));
    assert!(found.time.is_some());
}

#[test]
fn turns_count_members_repairs_and_passes() {
    let mut maker = Maker::default();
    maker.program.agents.push(plain("opus", "claude", None));
    let mut turn = agent(0, text("x"), None);
    if let Action::Agent(turn) = &mut turn {
        turn.repairs = 2;
        turn.passes = Some(5);
    }
    let check = CheckItem::Step(step(None, agent(0, text("y"), None)));
    let looped = task("t", looping(3, one(turn), vec![check, reject(text("x"))]));
    let found = Bounds::of(&maker.plan("w", vec![looped], None));
    assert_eq!(found.turns, Some(3 * (3 * 5 + 1)));
}

#[test]
fn what_the_file_limits_is_said() {
    let maker = Maker::default();
    let plan = maker.plan_with("w", vec![make("t")], |policy| {
        policy.timeout = Some(Duration::from_secs(7200));
        policy.budget = Some(Budget {
            attempts: Some(6),
            output_tokens: Some(500_000),
            cost: Some(outpost_stdlib::Value::Text("2.50USD".into())),
            ..Budget::default()
        });
        policy.on_quota = OnQuota::Pause {
            max_wait: Duration::from_secs(4 * 3600),
        };
    });
    insta::assert_snapshot!("limited.page", page::draw(&Bounds::of(&plan)));
}

#[test]
fn a_long_chain_is_no_trouble() {
    let found = Bounds::of(&long_chain(100_000));
    assert_eq!(found.attempts.most, Some(100_000));
    assert_eq!(found.time, Some(Duration::ZERO));
    assert!(page::draw(&found).lines().count() < 1_100);
}
