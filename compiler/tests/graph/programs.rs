//! Workflows made by hand: those that pictures are compared for, and generated ones.

use outpost_compiler::plan::{self, Plan};
use outpost_compiler::program::{
    Accepts, Action, Agent, AgentId, AgentKind, AgentRef, AgentTurn, Ask, Body, Branch, Check,
    CheckItem, Command, DEFAULT_KEEP, Dependency, Each, Executable, Expr, ExprKind, Gate, Item,
    LocalId, Loop, PlainAgent, Policy, Program, Race, Ref, Retry, Sandbox, SandboxId, SandboxRef,
    Step, Task, TaskId, TaskKind, TemplatePart, Trigger, Workflow, WorkflowId,
};
use outpost_grammar::{Location, Source, SourceId, Span};
use outpost_stdlib::{Type, Value};
use std::sync::Arc;
use std::time::Duration;

/// Makes programs: expressions get a text and a place in it.
#[derive(Default)]
pub struct Maker {
    text: String,
    pub program: Program,
}

pub fn nowhere() -> Location {
    Location::new(SourceId(0), Span::default())
}

impl Maker {
    pub fn written(&mut self, text: &str, kind: ExprKind) -> Expr {
        let start = self.text.len();
        self.text.push_str(text);
        let span = Span::new(start, self.text.len());
        self.text.push('\n');
        Expr {
            kind,
            at: Location::new(SourceId(0), span),
        }
    }

    pub fn condition(&mut self, text: &str) -> Expr {
        self.written(text, ExprKind::Const(Value::Bool(true)))
    }

    pub fn reads(&mut self, text: &str, task: u32) -> Expr {
        let reference = Ref::Task {
            task: TaskId(task),
            soft: text.contains('?'),
        };
        self.written(text, ExprKind::Ref(reference))
    }

    pub fn plan(self, name: &str, tasks: Vec<Task>, doc: Option<&str>) -> Plan {
        self.finish(workflow(name, tasks, doc))
    }

    pub fn plan_with(self, name: &str, tasks: Vec<Task>, set: impl FnOnce(&mut Policy)) -> Plan {
        let mut workflow = workflow(name, tasks, None);
        set(&mut workflow.policy);
        self.finish(workflow)
    }

    fn finish(mut self, workflow: Workflow) -> Plan {
        self.program
            .sources
            .add(Source::new("main.outpost", self.text.as_str()));
        self.program.workflows.insert(0, workflow);
        self.program.own_workflows = 1;
        plan::build(Arc::new(self.program), WorkflowId(0)).expect("the tasks are in order")
    }
}

pub fn workflow(name: &str, tasks: Vec<Task>, doc: Option<&str>) -> Workflow {
    Workflow {
        name: name.into(),
        at: nowhere(),
        doc: doc.map(Arc::from),
        version: None,
        inputs: Vec::new(),
        policy: Policy::default(),
        tasks,
        output: None,
        output_type: Type::Null,
    }
}

pub fn text(text: &str) -> Expr {
    Expr {
        kind: ExprKind::Const(Value::Text(text.into())),
        at: nowhere(),
    }
}

pub fn task(key: &str, kind: TaskKind) -> Task {
    Task {
        key: key.into(),
        at: nowhere(),
        doc: None,
        dependencies: Box::default(),
        when: None,
        trigger: Trigger::Success,
        timeout: None,
        retry: None,
        cache: None,
        each: None,
        kind,
        value_type: Type::Null,
        locals: 0,
        places: Box::default(),
    }
}

pub fn after(mut task: Task, dependencies: &[(u32, bool)]) -> Task {
    let dependencies = dependencies.iter().map(|(task, soft)| Dependency {
        task: TaskId(*task),
        soft: *soft,
        at: nowhere(),
    });
    task.dependencies = dependencies.collect();
    task
}

pub fn one(action: Action) -> Body {
    Body {
        steps: Box::new([step(None, action)]),
        output: None,
    }
}

pub fn step(name: Option<&str>, action: Action) -> Step {
    Step {
        name: name.map(Arc::from),
        at: nowhere(),
        action,
    }
}

pub fn command(words: &[&str], sandbox: Option<u32>) -> Action {
    let items = words.iter().map(|word| Item::One(text(word)));
    executable(
        Executable::List(Expr {
            kind: ExprKind::List(items.collect()),
            at: nowhere(),
        }),
        sandbox,
    )
}

pub fn executable(what: Executable, sandbox: Option<u32>) -> Action {
    Action::Command(Box::new(Command {
        what,
        sandbox: sandbox.map(|id| (SandboxRef::Named(SandboxId(id)), nowhere())),
        stdin: None,
        environment: Vec::new(),
        directory: None,
        accepts: Accepts::Only(vec![0]),
        returns: None,
        timeout: None,
        idle: None,
        keep: DEFAULT_KEEP,
    }))
}

pub fn agent(id: u32, brief: Expr, sandbox: Option<u32>) -> Action {
    Action::Agent(Box::new(AgentTurn {
        agent: Some(AgentRef::Named(AgentId(id))),
        sandbox: sandbox.map(|id| (SandboxRef::Named(SandboxId(id)), nowhere())),
        brief,
        response: None,
        repairs: 0,
        continues: None,
        forks: None,
        passes: None,
        until: None,
        timeout: None,
        idle: None,
        environment: Vec::new(),
    }))
}

pub fn gate(pause: bool, prompt: Expr) -> TaskKind {
    TaskKind::Gate(Box::new(Gate {
        pause,
        prompt,
        actors: vec!["maintainer".into()],
    }))
}

pub fn plain(name: &str, harness: &str, model: Option<&str>) -> Agent {
    let kind = AgentKind::Plain(PlainAgent {
        harness: harness.into(),
        model: model.map(Arc::from),
        ..PlainAgent::default()
    });
    Agent {
        name: name.into(),
        at: nowhere(),
        kind,
    }
}

pub fn looping(max_rounds: u64, attempt: Body, items: Vec<CheckItem>) -> TaskKind {
    TaskKind::Loop(Box::new(Loop {
        max_rounds,
        attempt,
        check: Check {
            at: nowhere(),
            items: items.into(),
        },
        stop_on_stall: None,
        retry_phase: None,
    }))
}

pub fn reject(when: Expr) -> CheckItem {
    CheckItem::Reject {
        at: nowhere(),
        text: text("no"),
        when,
    }
}

/// The workflow of the language's first real file, with a few tasks more.
pub fn fix_tests() -> Plan {
    let mut maker = Maker::default();
    let agents = [
        ("opus", "claude", Some("opus")),
        ("sonnet", "claude", Some("sonnet")),
        ("codex", "codex", None),
    ];
    let plain = agents
        .into_iter()
        .map(|(name, harness, model)| plain(name, harness, model));
    maker.program.agents.extend(plain);
    maker.program.agents.push(Agent {
        name: "coder".into(),
        at: nowhere(),
        kind: AgentKind::Fallback {
            members: vec![AgentId(0), AgentId(1), AgentId(2)],
            on_quota: true,
            on_unavailable: true,
        },
    });
    maker.program.sandboxes.push(Sandbox {
        name: "work".into(),
        at: nowhere(),
        provider: "local".into(),
        per_task: false,
        branch: Branch::Named {
            name: "outpost/fix-tests".into(),
            from: None,
        },
        options: Vec::new(),
        environment: Vec::new(),
        hook: None,
    });
    let mut deps = task(
        "deps",
        TaskKind::Task(one(command(&["npm", "ci"], Some(0)))),
    );
    deps.retry = Some(Box::new(Retry {
        attempts: 3,
        delay: Duration::from_secs(2),
        exponential: true,
        max_delay: Some(Duration::from_secs(30)),
        full_jitter: false,
        on: None,
    }));
    deps.timeout = Some(Duration::from_secs(600));
    let tests = reject(maker.condition("tests.status != 0"));
    let review = reject(maker.condition("!review.value.approved"));
    let attempt = one(agent(3, text("Fix the failing tests."), Some(0)));
    let items = vec![
        CheckItem::Step(step(Some("tests"), command(&["npm", "test"], Some(0)))),
        tests,
        CheckItem::Step(step(
            Some("review"),
            agent(1, text("Review the last commit."), Some(0)),
        )),
        review,
    ];
    let mut fix = after(task("fix", looping(4, attempt, items)), &[(0, false)]);
    fix.doc = Some(
        "Loops until the tests pass and a second agent approves. It never touches the main branch."
            .into(),
    );
    fix.timeout = Some(Duration::from_secs(1200));
    let hole = maker.reads("fix.summary", 1);
    let parts = [
        TemplatePart::Text("Merge? ".into()),
        TemplatePart::Hole(hole),
    ];
    let prompt = Expr {
        kind: ExprKind::Template(Box::new(parts)),
        at: nowhere(),
    };
    let ship = after(task("ship", gate(false, prompt)), &[(1, false)]);
    let mut publish = after(
        task(
            "publish",
            TaskKind::Task(one(command(
                &["git", "push", "origin", "outpost/fix-tests"],
                Some(0),
            ))),
        ),
        &[(2, false)],
    );
    publish.when = Some(Box::new(
        maker.condition("inputs.publish && run.name != \"dry\""),
    ));
    let value = maker.reads("fix?.summary", 1);
    let mut notify = after(
        task("notify", TaskKind::Task(one(Action::Value(value)))),
        &[(1, true), (3, true)],
    );
    notify.trigger = Trigger::Always;
    let shell = text("curl -fsS \"$HOOK\" --data @-\necho sent");
    let mut alarm = after(
        task(
            "alarm",
            TaskKind::Task(one(executable(Executable::Shell(shell), None))),
        ),
        &[(0, false), (1, false)],
    );
    alarm.trigger = Trigger::Failure;
    maker.plan("fix-tests", vec![deps, fix, ship, publish, notify, alarm], Some("Makes a red suite green on a branch of its own, then asks before anything leaves the machine."))
}

/// Fan-out, a race, a question, a called workflow that calls another.
pub fn everything() -> Plan {
    let mut maker = Maker::default();
    maker
        .program
        .agents
        .extend(["opus", "gemini"].map(|name| plain(name, name, None)));
    let mut audit = task("audit", TaskKind::Task(one(agent(0, text("Audit."), None))));
    let list = maker.written("inputs.topics", ExprKind::Const(Value::Null));
    audit.each = Some(Box::new(Each {
        variable: LocalId(0),
        name: "topic".into(),
        list,
        key: None,
        parallel: Some(4),
    }));
    audit.doc = Some("One auditor for each topic; read only.".into());
    let choices = Expr {
        kind: ExprKind::Const(Value::List(
            ["small", "large"]
                .map(|text| Value::Text(text.into()))
                .into(),
        )),
        at: nowhere(),
    };
    let ask = task(
        "scope",
        TaskKind::Ask(Box::new(Ask {
            question: text("How large may the change be?"),
            choices: Some(choices),
            free_text: false,
            actors: vec!["*".into()],
        })),
    );
    let rejects = reject(maker.condition("validate.status != 0"));
    let race = Race {
        attempt: one(agent(1, text("Try."), None)),
        check: Check {
            at: nowhere(),
            items: Box::new([
                CheckItem::Step(step(Some("validate"), command(&["make", "check"], None))),
                rejects,
            ]),
        },
        score: None,
        best: true,
    };
    let value = maker.reads("scope", 1);
    let mut compete = after(
        task("compete", TaskKind::Race(Box::new(race))),
        &[(0, true), (1, false)],
    );
    let list = maker.written(
        "[\"a\", \"b\", \"c\"]",
        ExprKind::Const(Value::List(
            ["a", "b", "c"].map(|text| Value::Text(text.into())).into(),
        )),
    );
    compete.each = Some(Box::new(Each {
        variable: LocalId(0),
        name: "style".into(),
        list,
        key: None,
        parallel: None,
    }));
    compete.when = Some(Box::new(value));
    let call = Action::Workflow {
        workflow: WorkflowId(1),
        inputs: Box::default(),
    };
    let release = after(task("release", TaskKind::Task(one(call))), &[(2, false)]);
    let pause = after(
        task("look", gate(true, text("Look at the release."))),
        &[(3, false)],
    );
    let summary = maker.reads("audit?", 0);
    let end = after(
        task("summary", TaskKind::Task(one(Action::Value(summary)))),
        &[(0, true), (4, false)],
    );
    let build = task("build", TaskKind::Task(one(command(&["make"], None))));
    let lint = task(
        "lint",
        TaskKind::Task(one(command(&["make", "lint"], None))),
    );
    let inner = Action::Workflow {
        workflow: WorkflowId(2),
        inputs: Box::default(),
    };
    let upload = after(
        task("upload", TaskKind::Task(one(inner))),
        &[(0, false), (1, false)],
    );
    let send = task(
        "send",
        TaskKind::Task(one(command(&["scp", "out.tgz", "host:"], None))),
    );
    let verify = after(
        task(
            "verify",
            TaskKind::Task(one(command(&["ssh", "host", "check"], None))),
        ),
        &[(0, false)],
    );
    maker
        .program
        .workflows
        .push(workflow("release-train", vec![build, lint, upload], None));
    maker
        .program
        .workflows
        .push(workflow("upload-all", vec![send, verify], None));
    maker.plan(
        "everything",
        vec![audit, ask, compete, release, pause, end],
        Some("Every kind of task."),
    )
}

/// Numbers that are the same every time.
pub struct Numbers(u64);

impl Numbers {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Tasks that wait for some of those shortly before them.
pub fn generated(seed: u64, count: u32, reach: u64) -> Plan {
    let mut numbers = Numbers(seed | 1);
    let mut maker = Maker::default();
    let mut tasks = Vec::new();
    for at in 0..count {
        let words = vec!["make"; 1 + numbers.below(6) as usize];
        let body = one(command(&words, None));
        let kind = match numbers.below(6) {
            0 => {
                let rejects = reject(maker.condition("result.status != 0"));
                let check = CheckItem::Step(step(None, command(&["make", "check"], None)));
                looping(3, body, vec![check, rejects])
            }
            1 => gate(false, text("Go on?")),
            _ => TaskKind::Task(body),
        };
        let mut dependencies: Vec<(u32, bool)> = Vec::new();
        for _ in 0..numbers.below(4) {
            if at > 0 {
                let back = 1 + numbers.below(reach.min(u64::from(at))) as u32;
                if dependencies.iter().all(|known| known.0 != at - back) {
                    dependencies.push((at - back, numbers.below(5) == 0));
                }
            }
        }
        tasks.push(after(task(&format!("t{at}"), kind), &dependencies));
    }
    maker.plan("generated", tasks, None)
}

/// Tasks without anything to them, each after those before it.
pub fn long_chain(count: u32) -> Plan {
    let tasks = (0..count).map(|at| {
        let task = task(
            &format!("t{at}"),
            TaskKind::Task(one(Action::Value(text("x")))),
        );
        let before = at.checked_sub(1).map(|before| (before, false));
        after(task, before.as_slice())
    });
    Maker::default().plan("chain", tasks.collect(), None)
}
