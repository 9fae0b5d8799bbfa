//! Small programs, built by hand.

use outpost_compiler::plan::{self, Plan};
use outpost_compiler::program::{
    Accepts, Action, BinaryOperator, Body, Check, CheckItem, Command, Dependency, Entry,
    Executable, Expr, ExprKind, Item, Loop, OnQuota, Policy, Program, Ref, Retry, Step, Task,
    TaskId, TaskKind, Trigger, Workflow, WorkflowId,
};
use outpost_grammar::{Location, Source, SourceId, SourceMap, Span};
use outpost_stdlib::{Type, Value};
use std::sync::Arc;
use std::time::Duration;

pub fn here() -> Location {
    Location::new(SourceId(0), Span::new(0, 1))
}

pub fn expr(kind: ExprKind) -> Expr {
    Expr { kind, at: here() }
}

pub fn constant(value: Value) -> Expr {
    expr(ExprKind::Const(value))
}

pub fn int(value: i64) -> Expr {
    constant(Value::Int(value))
}

pub fn text(value: &str) -> Expr {
    constant(Value::text(value))
}

pub fn truth(value: bool) -> Expr {
    constant(Value::Bool(value))
}

pub fn read(of: Ref) -> Expr {
    expr(ExprKind::Ref(of))
}

pub fn of(task: u32) -> Expr {
    read(Ref::Task {
        task: TaskId(task),
        soft: false,
    })
}

pub fn softly(task: u32) -> Expr {
    read(Ref::Task {
        task: TaskId(task),
        soft: true,
    })
}

pub fn chain(first: Expr, operator: BinaryOperator, second: Expr) -> Expr {
    expr(ExprKind::Chain {
        first: Box::new(first),
        rest: Box::new([(operator, second)]),
    })
}

pub fn not_equal(first: Expr, second: Expr) -> Expr {
    chain(first, BinaryOperator::NotEqual, second)
}

pub fn field(of: Expr, name: &str) -> Expr {
    expr(ExprKind::Field {
        of: Box::new(of),
        name: name.into(),
        safe: false,
    })
}

pub fn object<const N: usize>(fields: [(&str, Expr); N]) -> Expr {
    let entries = fields.into_iter();
    expr(ExprKind::Object(
        entries
            .map(|(key, value)| Entry::Pair(key.into(), value))
            .collect(),
    ))
}

pub fn list<const N: usize>(items: [Expr; N]) -> Expr {
    expr(ExprKind::List(items.into_iter().map(Item::One).collect()))
}

pub fn division_by_zero() -> Expr {
    chain(int(1), BinaryOperator::Divide, int(0))
}

pub fn step(action: Action) -> Step {
    Step {
        name: None,
        at: here(),
        action,
    }
}

pub fn named(name: &str, action: Action) -> Step {
    Step {
        name: Some(name.into()),
        ..step(action)
    }
}

pub fn command(program: &str) -> Action {
    Action::Command(Box::new(Command {
        what: Executable::List(constant(Value::list([Value::text(program)]))),
        sandbox: None,
        stdin: None,
        environment: Vec::new(),
        directory: None,
        accepts: Accepts::Only(vec![0]),
        returns: None,
        timeout: None,
        idle: None,
        keep: 1 << 20,
    }))
}

/// A command whose standard input is an expression: tests see it in the trace.
pub fn told(program: &str, stdin: Expr) -> Action {
    match command(program) {
        Action::Command(mut command) => {
            command.stdin = Some(stdin);
            Action::Command(command)
        }
        other => other,
    }
}

pub fn body(steps: Vec<Step>, output: Option<Expr>) -> Body {
    Body {
        steps: steps.into(),
        output,
    }
}

pub fn does(action: Action) -> Body {
    body(vec![step(action)], None)
}

pub fn task(key: &str, after: &[u32], of_task: Body) -> Task {
    of_kind(key, after, TaskKind::Task(of_task))
}

pub fn value(key: &str, after: &[u32], of_task: Expr) -> Task {
    task(key, after, does(Action::Value(of_task)))
}

pub fn runs(key: &str, after: &[u32]) -> Task {
    task(key, after, does(command(key)))
}

pub fn of_kind(key: &str, after: &[u32], kind: TaskKind) -> Task {
    let dependencies = after.iter().map(|task| Dependency {
        task: TaskId(*task),
        soft: false,
        at: here(),
    });
    Task {
        key: key.into(),
        at: here(),
        doc: None,
        dependencies: dependencies.collect(),
        when: None,
        trigger: Trigger::Success,
        timeout: None,
        retry: None,
        cache: None,
        each: None,
        kind,
        value_type: Type::Json,
        locals: 0,
        places: Box::new([]),
    }
}

pub trait TaskOptions: Sized {
    fn when(self, when: Expr) -> Self;
    fn trigger(self, trigger: Trigger) -> Self;
    fn timeout_ms(self, ms: u64) -> Self;
    fn retry(self, retry: Retry) -> Self;
    fn soft(self, on: u32) -> Self;
}

impl TaskOptions for Task {
    fn when(mut self, when: Expr) -> Task {
        self.when = Some(when);
        self
    }

    fn trigger(mut self, trigger: Trigger) -> Task {
        self.trigger = trigger;
        self
    }

    fn timeout_ms(mut self, ms: u64) -> Task {
        self.timeout = Some(Duration::from_millis(ms));
        self
    }

    fn retry(mut self, retry: Retry) -> Task {
        self.retry = Some(Box::new(retry));
        self
    }

    fn soft(mut self, on: u32) -> Task {
        let mut dependencies = self.dependencies.into_vec();
        dependencies.push(Dependency {
            task: TaskId(on),
            soft: true,
            at: here(),
        });
        self.dependencies = dependencies.into();
        self
    }
}

pub fn tries(attempts: u32) -> Retry {
    Retry {
        attempts,
        delay: Duration::ZERO,
        exponential: false,
        max_delay: None,
        full_jitter: false,
        on: None,
    }
}

pub fn reject(feedback: Expr, when: Expr) -> CheckItem {
    CheckItem::Reject {
        at: here(),
        text: feedback,
        when,
    }
}

pub fn looped(key: &str, after: &[u32], of_task: Loop) -> Task {
    of_kind(key, after, TaskKind::Loop(of_task))
}

pub fn a_loop(max_rounds: u64, attempt: Body, check: Vec<CheckItem>) -> Loop {
    Loop {
        max_rounds,
        attempt,
        check: Check {
            at: here(),
            items: check.into(),
        },
        stop_on_stall: None,
        retry_phase: None,
    }
}

/// A loop whose phases are the commands `try` and `judge`; the second says with its status whether it accepts.
pub fn commands_loop(max_rounds: u64) -> Loop {
    let result = read(Ref::Step(0));
    let mut judge = command("judge");
    if let Action::Command(command) = &mut judge {
        command.accepts = Accepts::Any;
    }
    let output = object([
        ("round", read(Ref::Round)),
        ("text", field(read(Ref::Step(0)), "stdout")),
    ]);
    a_loop(
        max_rounds,
        body(
            vec![step(told(
                "try",
                chain(read(Ref::Feedback), BinaryOperator::Coalesce, text("")),
            ))],
            Some(output),
        ),
        vec![
            CheckItem::Step(step(judge)),
            reject(
                field(read(Ref::Step(0)), "stdout"),
                not_equal(field(result, "status"), int(0)),
            ),
        ],
    )
}

pub fn workflow(tasks: Vec<Task>) -> Workflow {
    Workflow {
        name: "main".into(),
        at: here(),
        doc: None,
        version: None,
        inputs: Vec::new(),
        policy: Policy::default(),
        tasks,
        output: None,
        output_type: Type::Json,
    }
}

pub fn pausing(mut of: Workflow, max_wait: Duration) -> Workflow {
    of.policy.on_quota = OnQuota::Pause { max_wait };
    of
}

pub fn planned(of: Workflow) -> Arc<Plan> {
    let mut sources = SourceMap::default();
    sources.add(Source::new("main.outpost", "workflow main {}\n"));
    let program = Program {
        sources,
        workflows: vec![of],
        own_workflows: 1,
        ..Program::default()
    };
    Arc::new(plan::build(Arc::new(program), WorkflowId(0)).unwrap())
}
