//! A case on the real engine: the journal in memory, scripted actions, a virtual clock.

use crate::run::script::Script;
use libtest_mimic::Failed;
use outpost_compiler::load::Memory;
use outpost_compiler::plan::{self, Plan};
use outpost_compiler::program::WorkflowId;
use outpost_grammar::Severity;
use outpost_runtime::checkpoint;
use outpost_runtime::clock::{Clock, Timestamp, VirtualClock};
use outpost_runtime::event::{EventKind, Interrupt, Phase, Status};
use outpost_runtime::executor::scripted::{Scripted, Trace};
use outpost_runtime::executor::{ActionRequest, HostEnvironment, Work};
use outpost_runtime::harness::Start;
use outpost_runtime::journal::{Batch, Journal, JournalFault, sqlite};
use outpost_runtime::{
    Host, Observer, PublicEvent, ResumeOptions, RunFault, RunRecord, RunStatus, StartOptions,
};
use outpost_stdlib::Value;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// The id of every run.
const RUN: &str = "case";
/// What the wall clock shows at the start: 2026-01-01.
const START_MS: i64 = 1_767_225_600_000;

/// A compiled case.
pub struct Case {
    /// What its actions answer.
    pub script: Rc<Script>,
    plan: Arc<Plan>,
    inputs: Vec<Value>,
}

/// One start or resumption, and all that came of it.
pub struct Session {
    /// How the run ended, or why it broke off.
    pub ended: Result<RunRecord, String>,
    /// Whether it was refused before anything happened.
    pub refused: bool,
    /// The durable events, those of earlier sessions included.
    pub rows: Vec<EventKind<String>>,
    /// How many durable writes there were.
    pub writes: usize,
    /// The actions that were started, in order.
    pub calls: Vec<Call>,
    /// How many actions were in flight at the end: all were awaited if none.
    pub left_in_flight: usize,
    /// The most actions in flight at one time.
    pub most_at_once: usize,
    /// The public events.
    pub events: Vec<PublicEvent>,
    /// How long it took on the virtual clock.
    pub took: Duration,
    root: TempDir,
}

/// An action that was started.
#[derive(Clone, Debug)]
pub struct Call {
    /// The task's key.
    pub task: String,
    /// The round; 0 outside loops.
    pub round: u64,
    /// The phase.
    pub phase: Phase,
    /// The step's path; `result` for a single action.
    pub step: String,
    /// The attempt.
    pub attempt: u32,
    /// The key that it was given.
    pub idempotency_key: String,
    /// What an agent was asked, if it is a turn.
    pub turn: Option<Asked>,
}

/// What an agent was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The agent.
    pub agent: String,
    /// Which of its turns in this run it is, from 0.
    pub number: u32,
    /// In which conversation: `new`, `continue a-1`, `fork a-1`.
    pub start: String,
    /// What it was told.
    pub brief: String,
}

impl Asked {
    fn of(work: &Work) -> Option<Asked> {
        let turn = work.turn()?;
        Some(Asked {
            agent: turn.name.clone(),
            number: turn.number,
            start: match &turn.start {
                Start::New => "new".to_owned(),
                Start::Continue(conversation) => format!("continue {conversation}"),
                Start::Fork(conversation) => format!("fork {conversation}"),
            },
            brief: turn.brief.clone(),
        })
    }
}

impl Call {
    fn of(request: &ActionRequest) -> Call {
        Call {
            task: request.task.to_string(),
            round: request.round,
            phase: request.phase,
            step: request.step.clone(),
            attempt: request.attempt,
            idempotency_key: request.idempotency_key.clone(),
            turn: Asked::of(&request.work),
        }
    }

    /// Which action of the file it is: `task`, `task/phase`, `task/phase/step`.
    pub fn short_address(&self) -> String {
        let mut address = self.task.clone();
        if self.round > 0 {
            address.push('/');
            address.push_str(self.phase.name());
        }
        if self.step != "result" {
            address.push('/');
            address.push_str(&self.step);
        }
        address
    }

    /// Which action of which round it is; of an agent also which of its turns.
    pub fn address(&self) -> String {
        format!(
            "{} of round {}{}",
            self.short_address(),
            self.round,
            self.of_agent()
        )
    }

    /// As a trace has it.
    pub fn named(&self) -> String {
        format!(
            "{} {}{}",
            self.short_address(),
            self.attempt,
            self.of_agent()
        )
    }

    fn of_agent(&self) -> String {
        match &self.turn {
            Some(asked) => format!(" {}#{}", asked.agent, asked.number + 1),
            None => String::new(),
        }
    }
}

/// How a run is gone on with.
#[derive(Clone, Copy, Default)]
pub struct Resume {
    /// When, after the first start.
    pub at_ms: u64,
    /// With `--retry-incomplete`.
    pub retry_incomplete: bool,
    /// The write before which it is stopped again, the first being 0.
    pub stop: Option<usize>,
}

impl Resume {
    /// Without permission, to its end.
    pub fn at(at_ms: u64) -> Resume {
        Resume {
            at_ms,
            ..Resume::default()
        }
    }
}

/// A journal that breaks before a write, and counts what has failed for good.
struct Breaking {
    inner: Box<dyn Journal>,
    shared: Rc<Shared>,
    /// How many writes there may be.
    most: Option<usize>,
}

#[derive(Default)]
struct Shared {
    writes: Cell<usize>,
    /// How many tries of each task have failed for good.
    failures: RefCell<BTreeMap<String, usize>>,
    events: RefCell<Vec<PublicEvent>>,
}

impl Shared {
    fn failures(&self, task: &str) -> usize {
        self.failures.borrow().get(task).copied().unwrap_or(0)
    }

    /// Takes note of a durable event.
    fn note<T>(&self, kind: &EventKind<T>, name: impl Fn(&T) -> String) {
        let failed = match kind {
            EventKind::RetryScheduled { task, .. } | EventKind::QuotaPaused { task, .. } => {
                Some(task)
            }
            EventKind::Settled {
                task,
                status: Status::Failed,
                ..
            } => Some(task),
            _ => None,
        };
        if let Some(task) = failed {
            *self.failures.borrow_mut().entry(name(task)).or_default() += 1;
        }
    }
}

impl Journal for Breaking {
    fn append(&mut self, batch: Batch<'_>) -> Result<(), JournalFault> {
        if self.most == Some(self.shared.writes.get()) {
            return Err(JournalFault::Io("the disk is full".to_owned()));
        }
        self.inner.append(batch)?;
        self.shared.writes.set(self.shared.writes.get() + 1);
        for event in batch.events {
            self.shared
                .note(&event.kind, |task| batch.plan.task(*task).key.to_string());
        }
        Ok(())
    }
}

struct Watcher(Rc<Shared>);

impl Observer for Watcher {
    fn event(&mut self, event: &PublicEvent) -> Result<(), String> {
        self.0.events.borrow_mut().push(event.clone());
        Ok(())
    }
}

impl Case {
    /// Compiles the file of a case.
    pub fn compile(folder: &Path, script: Script) -> Result<Case, Failed> {
        let text = fs::read_to_string(folder.join("main.outpost"))?;
        let plan = plan_of(&text)?;
        let mut inputs = Vec::new();
        for (name, value) in &script.inputs {
            inputs.push((name.clone(), serde_json::from_value(value.clone())?));
        }
        let inputs =
            outpost_runtime::check_inputs(&plan, inputs).map_err(|faults| format!("{faults:?}"))?;
        Ok(Case {
            script: Rc::new(script),
            plan,
            inputs,
        })
    }

    /// A new run; it is stopped before a write, the first being 0.
    pub fn start(&self, stop: Option<usize>) -> Session {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let stage = Stage::new(self, stop, 0);
        let options = StartOptions {
            root: root.path().to_owned(),
            file: "main.outpost".to_owned(),
            run: Some(RUN.to_owned()),
            inputs: self.inputs.clone(),
            budget_attempts: self.script.budget_attempts,
            ..StartOptions::default()
        };
        let plan = self.plan.clone();
        stage.play(root, |host| outpost_runtime::start(plan, options, host))
    }

    /// The run from its first start to its end, resumed as the script says.
    pub fn story(&self) -> Vec<Session> {
        let mut sessions = vec![self.start(None)];
        self.go_on(&mut sessions, 0);
        sessions
    }

    /// Resumes a run as the script says, as long as it is not done; `from` is the first of these times that counts.
    pub fn go_on(&self, sessions: &mut Vec<Session>, from: usize) {
        for at in &self.script.resume_at_ms[from..] {
            let last = sessions.last().expect("there is a first start");
            let ended = last.ended.as_ref().map(|record| record.status);
            if ended == Ok(RunStatus::Ended(Status::Done)) {
                break;
            }
            let how = Resume {
                retry_incomplete: self.script.retry_incomplete,
                ..Resume::at(*at)
            };
            let next = self.resume(last, how);
            sessions.push(next);
        }
    }

    /// Goes on with a run that was stopped.
    pub fn resume(&self, stopped: &Session, how: Resume) -> Session {
        let root = copy_of(&stopped.root);
        let stage = Stage::new(self, how.stop, how.at_ms);
        for kind in &stopped.rows {
            stage.shared.note(kind, String::clone);
        }
        let options = ResumeOptions {
            retry_incomplete: how.retry_incomplete,
            ..ResumeOptions::default()
        };
        let plan = self.plan.clone();
        let path = root.path().to_owned();
        let now = stage.clock.now().wall;
        stage.play(root, |host| async move {
            outpost_runtime::resume(&path, RUN, &plan, &options, now)?
                .proceed(host)
                .await
        })
    }
}

fn plan_of(text: &str) -> Result<Arc<Plan>, Failed> {
    let mut files = Memory::default();
    files.files.insert("main.outpost".to_owned(), text.into());
    let compiled = outpost_compiler::compile(&files, "main.outpost");
    let program = Arc::new(compiled.program);
    let errors = compiled
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error);
    let told: Vec<String> = errors
        .map(|error| format!("{}: {}", program.sources.place(error.at()), error.message))
        .collect();
    if !told.is_empty() {
        return Err(told.join("\n").into());
    }
    Ok(Arc::new(
        plan::build(program, WorkflowId(0)).map_err(|faults| format!("{faults:?}"))?,
    ))
}

/// What stands around one start or resumption.
struct Stage {
    clock: VirtualClock,
    shared: Rc<Shared>,
    trace: Trace,
    host: Host,
}

impl Stage {
    fn new(case: &Case, most: Option<usize>, at_ms: u64) -> Stage {
        let begin = Timestamp(START_MS).after(Duration::from_millis(at_ms));
        let clock = VirtualClock::new(begin);
        let shared = Rc::<Shared>::default();
        let (script, failures) = (case.script.clone(), shared.clone());
        let time = clock.clone();
        let answers = move |request: &ActionRequest, _| {
            let now = time.now().wall;
            match &request.work {
                Work::Command(_) => script.answer(request, failures.failures(&request.task), now),
                Work::Turn(turn) => script.turn(request, turn, now),
            }
        };
        let executor = Scripted::new(clock.clone(), Box::new(answers));
        let trace = executor.trace();
        let (ask, interrupts) = tokio::sync::mpsc::unbounded_channel();
        if let Some(at) = case.script.interrupt_at_ms {
            // The run may have ended by then.
            clock.after(Duration::from_millis(at), move || {
                let _ = ask.send(Interrupt::Interrupt);
            });
        }
        let breaking = shared.clone();
        let host = Host {
            clock: Rc::new(clock.clone()),
            executor: Box::new(executor),
            observers: vec![Box::new(Watcher(shared.clone()))],
            environment: HostEnvironment::default(),
            interrupts,
            notes: Box::new(|_| {}),
            wrap_journal: Some(Box::new(move |inner| {
                Box::new(Breaking {
                    inner,
                    shared: breaking,
                    most,
                })
            })),
        };
        Stage {
            clock,
            shared,
            trace,
            host,
        }
    }

    fn play<F>(self, root: TempDir, run: impl FnOnce(Host) -> F) -> Session
    where
        F: Future<Output = Result<RunRecord, RunFault>>,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime on this thread needs nothing");
        let ended = runtime.block_on(run(self.host));
        Session {
            refused: matches!(ended, Err(RunFault::Refused(_))),
            ended: ended.map_err(|fault| fault.to_string()),
            rows: rows(root.path()),
            writes: self.shared.writes.get(),
            calls: self.trace.calls().iter().map(Call::of).collect(),
            left_in_flight: self.trace.live(),
            most_at_once: self.trace.most_at_once(),
            events: self.shared.events.take(),
            took: self.clock.now().mono,
            root,
        }
    }
}

/// The durable events of the run in a project.
fn rows(root: &Path) -> Vec<EventKind<String>> {
    let folder = checkpoint::run_folder(root, RUN);
    let mut kinds = Vec::new();
    let read = sqlite::read(&folder, RUN, &mut |event| {
        let mut name = |task: &str| Ok::<_, JournalFault>(task.to_owned());
        kinds.push(event.kind.with_tasks(&mut name)?);
        Ok(())
    });
    assert!(
        read.is_ok(),
        "the journal of a stopped run is not whole: {read:?}"
    );
    kinds
}

/// A copy of a project: what is tried on it does not touch the original.
fn copy_of(root: &TempDir) -> TempDir {
    let copy = tempfile::tempdir().expect("a temporary folder can be made");
    crate::copy(root.path(), copy.path()).expect("both are ours");
    copy
}
