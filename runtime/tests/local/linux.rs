//! Scenarios 42 and 48 as far as a run is concerned, and what LANGUAGE §8 and §12 say of commands.

#[path = "../scenarios/build.rs"]
#[expect(dead_code, reason = "shared with the scenarios, which use all of it")]
mod build;

use build::*;
use libtest_mimic::{Failed, Trial};
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{
    Accepts, Action, CheckItem, Command, Executable, Expr, ExprKind, Ref, Task,
};
use outpost_runtime::classify::Reference;
use outpost_runtime::clock::SystemClock;
use outpost_runtime::event::Interrupt;
use outpost_runtime::executor::HostEnvironment;
use outpost_runtime::executor::local::{Local, LocalSettings};
use outpost_runtime::fault::FaultCode;
use outpost_runtime::process::{Masks, Supervisor};
use outpost_runtime::runnable::missing;
use outpost_runtime::{Host, Observer, PublicEvent, RunRecord, StartOptions, start};
use outpost_stdlib::{Type, Value};
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc::{self, UnboundedSender};

pub fn trials() -> Vec<Trial> {
    let tests: [(&str, fn()); 6] = [
        ("environment_and_folder", environment_and_folder),
        ("results_and_failures", results_and_failures),
        ("checks_that_cannot_run", checks_that_cannot_run),
        ("usage_and_streams", usage_and_streams),
        ("timeouts_and_interrupts", timeouts_and_interrupts),
        ("a_loop_of_commands", a_loop_of_commands),
    ];
    tests
        .into_iter()
        .map(|(name, test)| {
            Trial::test(name, move || {
                test();
                Ok::<(), Failed>(())
            })
        })
        .collect()
}

fn shell(text: &str) -> Command {
    let Action::Command(mut command) = command("sh") else {
        panic!("it is a command");
    };
    command.what = Executable::Shell(build::text(text));
    *command
}

fn of_shell(key: &str, after: &[u32], text: &str) -> Task {
    task(key, after, does(Action::Command(Box::new(shell(text)))))
}

/// Interrupts the run when a task has said that it is there.
struct Interrupting(UnboundedSender<Interrupt>, &'static str);

impl Observer for Interrupting {
    fn event(&mut self, event: &PublicEvent) -> Result<(), String> {
        if event.kind == "task" && event.get("task").is_some_and(|task| task == self.1) {
            self.0
                .send(Interrupt::Interrupt)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

fn run_with(
    root: &Path,
    plan: &Arc<Plan>,
    ephemeral: bool,
    interrupted_by: Option<&'static str>,
) -> RunRecord {
    let (sender, interrupts) = mpsc::unbounded_channel();
    let mut observers: Vec<Box<dyn Observer>> = Vec::new();
    if let Some(task) = interrupted_by {
        observers.push(Box::new(Interrupting(sender, task)));
    }
    let variables = std::env::vars().chain([("SHOWN".to_owned(), "by name".to_owned())]);
    let host = Host {
        clock: Rc::new(SystemClock::new()),
        executor: Box::new(Local::new(LocalSettings {
            supervisor: Supervisor::new(),
            masks: Masks::default(),
            root: root.to_owned(),
            environment: HostEnvironment::new(std::env::vars()),
            now: || Reference {
                now: jiff::Timestamp::UNIX_EPOCH,
                zone: jiff::tz::TimeZone::UTC,
            },
        })),
        observers,
        environment: HostEnvironment::new(variables),
        interrupts,
        notes: Box::new(|_| {}),
        wrap_journal: None,
    };
    let options = StartOptions {
        root: root.to_owned(),
        file: "flows/main.outpost".to_owned(),
        run: Some("run1".to_owned()),
        ephemeral,
        ..StartOptions::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime
        .block_on(start(plan.clone(), options, host))
        .unwrap()
}

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("flows")).unwrap();
    folder
}

fn run(plan: &Arc<Plan>) -> RunRecord {
    run_with(project().path(), plan, false, None)
}

fn stdout(record: &RunRecord, key: &str) -> String {
    let value = record.task(key).unwrap().value.clone().unwrap_or_default();
    value
        .get("stdout")
        .and_then(Value::as_text)
        .unwrap_or_default()
        .to_owned()
}

fn environment_and_folder() {
    let mut with_env = shell(
        "echo \"$OUTPOST_RUN $OUTPOST_TASK $OUTPOST_ATTEMPT $OUTPOST_ROUND $OUTPOST_PHASE $NAMED ${SHOWN-hidden} ${#OUTPOST_IDEMPOTENCY_KEY}\"; basename \"$PWD\"",
    );
    with_env.environment = vec![("NAMED".into(), read(Ref::Env("SHOWN".into())))];
    let plan = planned(workflow(vec![task(
        "a",
        &[],
        does(Action::Command(Box::new(with_env))),
    )]));
    let record = run(&plan);
    assert_eq!(
        stdout(&record, "a"),
        "run1 a 1 0 attempt by name hidden 64\nflows\n"
    );
    let mut unset = shell("true");
    unset.environment = vec![("NAMED".into(), read(Ref::Env("NOT_SET_ANYWHERE".into())))];
    let plan = planned(workflow(vec![
        runs("first", &[]),
        task("b", &[0], does(Action::Command(Box::new(unset)))),
    ]));
    let missing = missing(&plan, &HostEnvironment::default());
    assert_eq!(missing.len(), 1);
    assert!(missing[0].message.contains("NOT_SET_ANYWHERE"));
}

fn results_and_failures() {
    let mut accepts = shell("cat; exit 5");
    accepts.accepts = Accepts::Only(vec![0, 5]);
    accepts.stdin = Some(Box::new(text("given")));
    let mut returns = shell("echo '[1, 2]'");
    returns.returns = Some(Type::List(Arc::new(Type::Int)));
    let mut wrong = shell("echo '[true]'");
    wrong.returns = Some(Type::List(Arc::new(Type::Int)));
    let action = |command| does(Action::Command(Box::new(command)));
    let mut of = workflow(vec![
        task("accepts", &[], action(accepts)),
        task("returns", &[], action(returns)),
        task("wrong", &[], action(wrong)),
        of_shell("fails", &[], "echo before; echo the reason >&2; exit 3"),
        of_shell("killed", &[], "kill -9 $$"),
        runs("no-such-program", &[]),
    ]);
    of.policy.on_error = outpost_compiler::program::OnError::Continue;
    let record = run(&planned(of));
    let value = |key: &str| record.task(key).unwrap().value.clone().unwrap();
    assert_eq!(value("accepts").get("status"), Some(&Value::Int(5)));
    assert_eq!(stdout(&record, "accepts"), "given");
    assert_eq!(value("returns").get("value").unwrap().to_json(), "[1,2]");
    let error = |key: &str| record.task(key).unwrap().error.clone().unwrap();
    assert_eq!(error("wrong").code, FaultCode::Response);
    assert_eq!(error("fails").code, FaultCode::Process);
    assert_eq!(error("fails").output.as_deref(), Some("the reason\n"));
    assert!(
        error("killed").message.contains("KILL"),
        "{}",
        error("killed").message
    );
    assert!(error("no-such-program").message.contains("no program"));
}

/// Scenario 42 (L8).
fn checks_that_cannot_run() {
    let folder = project();
    fs::write(folder.path().join("flows/script"), "not executable").unwrap();
    let checks = [
        Executable::List(constant(Value::list([Value::text("no-such-program")]))),
        Executable::List(constant(Value::list([Value::text("./script")]))),
        Executable::Shell(text("no-such-program")),
        Executable::Shell(text("./script")),
        Executable::Shell(text("kill -TERM $$")),
    ];
    for what in checks {
        let mut check = shell("");
        check.what = what;
        check.accepts = Accepts::Any;
        let result = read(Ref::Step(0));
        let items = vec![
            CheckItem::Step(step(Action::Command(Box::new(check)))),
            reject(
                text("never sent"),
                not_equal(field(result, "status"), int(0)),
            ),
        ];
        let of = a_loop(3, does(Action::Value(int(1))), items);
        let record = run_with(
            folder.path(),
            &planned(workflow(vec![looped("fix", &[], of)])),
            true,
            None,
        );
        assert_eq!(record.code, Some(FaultCode::Process));
        assert_eq!(record.task("fix").unwrap().attempts, 1);
    }
}

fn usage_and_streams() {
    let report = r#"{"receipt":"r","input":3,"output":4}"#;
    let text = format!(
        "echo '{report}' >> \"$OUTPOST_USAGE\"; echo '{report}' >> \"$OUTPOST_USAGE\"; echo out; echo err >&2"
    );
    let folder = project();
    let record = run_with(
        folder.path(),
        &planned(workflow(vec![of_shell("A", &[], &text)])),
        false,
        None,
    );
    let usage = record.usage.clone().unwrap();
    assert_eq!((usage.input, usage.output), (3, 4));
    let logs = folder.path().join(".outpost/runs/run1/logs/+a");
    assert_eq!(
        fs::read_to_string(logs.join("1-0-attempt-result.out")).unwrap(),
        "out\n"
    );
    assert_eq!(
        fs::read_to_string(logs.join("1-0-attempt-result.err")).unwrap(),
        "err\n"
    );
}

/// Scenario 48 for the engine: what has to end, ends, grandchildren included.
fn timeouts_and_interrupts() {
    let mut slow = shell("sleep 1000 & wait");
    slow.timeout = Some(Duration::from_millis(50));
    let record = run(&planned(workflow(vec![task(
        "slow",
        &[],
        does(Action::Command(Box::new(slow))),
    )])));
    assert_eq!(record.code, Some(FaultCode::Timeout));

    let by_task = of_shell("slow", &[], "sleep 1000 & wait").timeout_ms(50);
    let record = run(&planned(workflow(vec![by_task])));
    assert_eq!(record.code, Some(FaultCode::Timeout));

    let plan = planned(workflow(vec![
        of_shell("slow", &[], "sleep 1000 & wait"),
        of_shell("ready", &[], "true"),
    ]));
    let record = run_with(project().path(), &plan, false, Some("ready"));
    assert_eq!(record.status.name(), "cancelled");
    assert_eq!(record.task("slow").unwrap().status.name(), "cancelled");
}

/// The second page of the language, with a shell for an agent.
fn a_loop_of_commands() {
    let folder = project();
    let hole = |of: Expr| expr(ExprKind::Quote(Box::new(of)));
    let mut attempt = shell("");
    attempt.what = Executable::Shell(expr(ExprKind::Template(Box::new([
        outpost_compiler::program::TemplatePart::Text("echo round >> work; echo ".into()),
        outpost_compiler::program::TemplatePart::Hole(hole(chain(
            read(Ref::Feedback),
            outpost_compiler::program::BinaryOperator::Coalesce,
            text("none"),
        ))),
        outpost_compiler::program::TemplatePart::Text(" >> told".into()),
    ]))));
    let mut check = shell("test $(wc -l < work) -ge 3 || { echo \"it's not 'done'\"; exit 1; }");
    check.accepts = Accepts::Any;
    let result = || read(Ref::Step(0));
    let items = vec![
        CheckItem::Step(step(Action::Command(Box::new(check)))),
        reject(
            field(result(), "stdout"),
            not_equal(field(result(), "status"), int(0)),
        ),
    ];
    let of = a_loop(5, does(Action::Command(Box::new(attempt))), items);
    let record = run_with(
        folder.path(),
        &planned(workflow(vec![looped("fix", &[], of)])),
        false,
        None,
    );
    assert_eq!(record.status.name(), "done");
    assert_eq!(record.task("fix").unwrap().attempts, 3);
    let told = fs::read_to_string(folder.path().join("flows/told")).unwrap();
    assert_eq!(told, "none\nit's not 'done'\n\nit's not 'done'\n\n");
}
