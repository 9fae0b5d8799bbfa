//! A project in a temporary folder, and what runs in it.

use outpost_compiler::plan::Plan;
use outpost_runtime::clock::{Clock, Timestamp, VirtualClock};
use outpost_runtime::driver::WrapJournal;
use outpost_runtime::event::Interrupt;
use outpost_runtime::executor::scripted::{Answer, Scripted, Trace};
use outpost_runtime::executor::{ActionRequest, HostEnvironment, Outcome};
use outpost_runtime::fault::{Fault, FaultCode};
use outpost_runtime::journal::{Batch, Journal, JournalFault};
use outpost_runtime::record::RunRecord;
use outpost_runtime::{
    Host, Observer, PublicEvent, RefusalReason, ResumeOptions, RunFault, StartOptions, events,
    resume, start,
};
use outpost_stdlib::Value;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc;

pub const RUN: &str = "run1";

/// How actions answer: the number says how often the same call has ended before.
pub type Script = fn(&ActionRequest, usize) -> Answer;

pub fn done(value: Value) -> Outcome {
    Outcome::Done(value)
}

pub fn exits(status: i64, stdout: &str) -> Answer {
    Answer::new(done(Value::object([
        ("status", Value::Int(status)),
        ("stdout", Value::text(stdout)),
        ("stderr", Value::text("")),
        ("truncated", Value::Bool(false)),
    ])))
}

pub fn fails(code: FaultCode, message: &str) -> Answer {
    Answer::new(Outcome::Failed(Box::new(Fault::new(code, message))))
}

pub fn quota(reset_at: Option<Timestamp>) -> Answer {
    let mut fault = Fault::new(FaultCode::Quota, "usage limit reached");
    fault.reset_at = reset_at;
    Answer::new(Outcome::Failed(Box::new(fault)))
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// When the clock of the first start begins.
pub const BEGIN: Timestamp = Timestamp(1_700_000_000_000);
/// When that of a resumption does.
pub const LATER: Timestamp = Timestamp(1_700_000_600_000);

pub struct World {
    pub folder: TempDir,
}

/// What came of a start.
pub struct Ended {
    pub record: Result<RunRecord, RunFault>,
    pub trace: Trace,
    pub events: Vec<PublicEvent>,
    pub notes: Vec<String>,
    /// How many batches were appended, the failing one included.
    pub writes: usize,
}

impl Ended {
    pub fn record(&self) -> &RunRecord {
        self.record.as_ref().unwrap()
    }

    pub fn status(&self, key: &str) -> &'static str {
        self.record().task(key).unwrap().status.name()
    }

    pub fn attempts(&self, key: &str) -> u32 {
        self.record().task(key).unwrap().attempts
    }

    pub fn value(&self, key: &str) -> Value {
        self.record()
            .task(key)
            .unwrap()
            .value
            .clone()
            .unwrap_or_default()
    }

    /// `task:phase:round` of every call, in order.
    pub fn called(&self) -> Vec<String> {
        let calls = self.trace.calls();
        calls
            .iter()
            .map(|call| format!("{}:{}:{}", call.task, call.phase.name(), call.round))
            .collect()
    }

    pub fn kinds(&self, kind: &str) -> usize {
        self.events
            .iter()
            .filter(|event| event.kind == kind)
            .count()
    }
}

/// What a start is made with besides the plan and the script.
#[derive(Default)]
pub struct Extras {
    pub interrupts: Vec<(Duration, Interrupt)>,
    pub concurrency: Option<u32>,
    pub budget_attempts: Option<u64>,
    pub inputs: Vec<Value>,
    pub ephemeral: bool,
    /// The batch before which the journal breaks.
    pub breaks_at: Option<usize>,
    /// How often calls have ended in earlier starts.
    pub ended_before: BTreeMap<String, usize>,
    pub observer: Option<Box<dyn Observer>>,
    pub wall_shift_ms: i64,
}

impl World {
    pub fn new() -> World {
        World {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn start(&self, plan: &Arc<Plan>, script: Script, extras: Extras) -> Ended {
        let options = StartOptions {
            root: self.root().to_owned(),
            file: "main.outpost".to_owned(),
            run: Some(RUN.to_owned()),
            inputs: extras.inputs.clone(),
            concurrency: extras.concurrency,
            budget_attempts: extras.budget_attempts,
            ephemeral: extras.ephemeral,
        };
        let plan = plan.clone();
        with_host(BEGIN, script, extras, |host| async move {
            start(plan, options, host).await
        })
    }

    pub fn resume(
        &self,
        plan: &Arc<Plan>,
        script: Script,
        options: &ResumeOptions,
        mut extras: Extras,
    ) -> Ended {
        extras.ended_before = self.ended_calls();
        with_host(LATER, script, extras, |host| async move {
            let resumption = resume(self.root(), RUN, plan, options, LATER)?;
            resumption.proceed(host).await
        })
    }

    pub fn events(&self) -> Vec<PublicEvent> {
        let mut all = Vec::new();
        events(self.root(), RUN, 0, &mut |event| all.push(event)).unwrap();
        all
    }

    /// How often each call has ended, as the journal knows it.
    fn ended_calls(&self) -> BTreeMap<String, usize> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut at: BTreeMap<String, (u64, String)> = BTreeMap::new();
        for event in self.events() {
            let text = |name: &str| event.get(name)?.as_str().map(str::to_owned);
            let Some(task) = text("task") else {
                continue;
            };
            let (round, phase) = at
                .entry(task.clone())
                .or_insert_with(|| (0, "attempt".to_owned()))
                .clone();
            let step = match event.kind {
                "attempt" | "loop" => {
                    let round = event.get("round").and_then(serde_json::Value::as_u64);
                    let phase = text("phase").unwrap_or(phase);
                    at.insert(task, (round.unwrap_or(0), phase));
                    continue;
                }
                "step" => text("step").unwrap(),
                "retry" | "quota" => "result".to_owned(),
                _ => continue,
            };
            *counts
                .entry(format!("{task}/{round}/{phase}/{step}"))
                .or_default() += 1;
        }
        counts
    }

    /// The seeds' definition of the same end, after a stop before every durable write.
    pub fn crash_everywhere(plan: &Arc<Plan>, script: Script) {
        World::crash_everywhere_with(plan, script, Extras::default);
    }

    pub fn crash_everywhere_with(plan: &Arc<Plan>, script: Script, extras: fn() -> Extras) {
        let whole = World::new().start(plan, script, extras());
        let expected = end_of(whole.record());
        for write in 1..whole.writes {
            let world = World::new();
            let mut broken = extras();
            broken.breaks_at = Some(write);
            let stopped = world.start(plan, script, broken);
            assert!(
                matches!(stopped.record, Err(RunFault::Io(_))),
                "a broken journal ends the command"
            );
            let mut ended = world.resume(plan, script, &ResumeOptions::default(), extras());
            if let Err(RunFault::Refused(refusal)) = &ended.record {
                assert_eq!(refusal.reason, RefusalReason::NeedsPermission);
                assert!(
                    ended.trace.calls().is_empty(),
                    "nothing is called without permission"
                );
                let allowed = ResumeOptions {
                    retry_incomplete: true,
                    ..ResumeOptions::default()
                };
                ended = world.resume(plan, script, &allowed, extras());
            }
            assert_eq!(
                end_of(ended.record()),
                expected,
                "stopped before write {write}"
            );
        }
    }
}

type End = (
    String,
    Option<FaultCode>,
    Value,
    Vec<(String, &'static str, Value)>,
);

pub fn end_of(record: &RunRecord) -> End {
    let tasks = record.tasks.iter();
    (
        record.status.name().to_owned(),
        record.code,
        record.output.clone().unwrap_or_default(),
        tasks
            .map(|task| {
                let value = task.value.clone().unwrap_or_default();
                (task.key.clone(), task.status.name(), value)
            })
            .collect(),
    )
}

fn with_host<F>(
    begin: Timestamp,
    script: Script,
    extras: Extras,
    run: impl FnOnce(Host) -> F,
) -> Ended
where
    F: Future<Output = Result<RunRecord, RunFault>>,
{
    let clock = VirtualClock::new(begin);
    clock.shift_wall(extras.wall_shift_ms);
    let before = extras.ended_before;
    let answers: outpost_runtime::executor::scripted::Script = Box::new(move |request, calls| {
        let call = format!(
            "{}/{}/{}/{}",
            request.task,
            request.round,
            request.phase.name(),
            request.step
        );
        script(request, calls + before.get(&call).copied().unwrap_or(0))
    });
    let executor = Scripted::new(clock.clone(), answers);
    let trace = executor.trace();
    let (sender, interrupts) = mpsc::unbounded_channel();
    for (at, interrupt) in extras.interrupts {
        let sender = sender.clone();
        clock.after(at, move || sender.send(interrupt).unwrap());
    }
    let seen = Rc::new(RefCell::new(Vec::new()));
    let notes = Rc::new(RefCell::new(Vec::new()));
    let writes = Rc::new(Cell::new(0));
    let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(Collector(seen.clone()))];
    observers.extend(extras.observer);
    let host = Host {
        clock: Rc::new(clock.clone()) as Rc<dyn Clock>,
        executor: Box::new(executor),
        observers,
        environment: HostEnvironment::new([("PATH".to_owned(), "/bin".to_owned())]),
        interrupts,
        notes: {
            let notes = notes.clone();
            Box::new(move |note| notes.borrow_mut().push(note.to_owned()))
        },
        wrap_journal: Some(breaking(extras.breaks_at, writes.clone())),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let record = runtime.block_on(run(host));
    drop(sender);
    Ended {
        record,
        trace,
        events: seen.take(),
        notes: notes.take(),
        writes: writes.get(),
    }
}

struct Collector(Rc<RefCell<Vec<PublicEvent>>>);

impl Observer for Collector {
    fn event(&mut self, event: &PublicEvent) -> Result<(), String> {
        self.0.borrow_mut().push(event.clone());
        Ok(())
    }
}

/// A journal that fails from some batch on.
struct Breaking {
    inner: Box<dyn Journal>,
    at: Option<usize>,
    count: Rc<Cell<usize>>,
}

fn breaking(at: Option<usize>, count: Rc<Cell<usize>>) -> WrapJournal {
    Box::new(move |inner| Box::new(Breaking { inner, at, count }))
}

impl Journal for Breaking {
    fn append(&mut self, batch: Batch<'_>) -> Result<(), JournalFault> {
        let count = self.count.get();
        self.count.set(count + 1);
        if self.at.is_some_and(|at| count >= at) {
            return Err(JournalFault::Io("no space left on device".to_owned()));
        }
        self.inner.append(batch)
    }
}
