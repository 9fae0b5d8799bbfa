//! Going on with a run: what is reused, what runs again, and whether it may.

use crate::checkpoint::{self, RunLock};
use crate::clock::Timestamp;
use crate::driver::{Driver, Host};
use crate::event::{
    Event, EventKind, Left, PlanPayload, PolicyNow, Reason, Resumed, SourceDigest, Status,
};
use crate::executor::Look;
use crate::fault::Place;
use crate::journal::sqlite::{self, End, SqliteJournal};
use crate::journal::values::ValueStore;
use crate::journal::{Journal, JournalFault};
use crate::record::{RunRecord, TaskRecord, TaskStatus};
use crate::run::{Run, State};
use crate::runnable;
use crate::start::{
    Refusal, RefusalReason, RunFault, heads, of_drive, places, plan_payload, sources,
};
use outpost_compiler::compat::{self, Comparison, Judgement, Standing};
use outpost_compiler::parts::PlanRecord;
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{OnError, SandboxId, TaskId};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a resumption is allowed to do.
#[derive(Clone, Debug, Default)]
pub struct ResumeOptions {
    /// What was live, failed or cancelled may run again.
    pub retry_incomplete: bool,
    /// Done tasks that were changed keep their results.
    pub keep_results: bool,
    /// Done tasks that were changed run again.
    pub rerun_changed: bool,
    /// Done tasks that run again in any case.
    pub rerun: Vec<String>,
    /// A run of another machine may be taken over.
    pub take_over: bool,
}

/// What a resumption would do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumePlan {
    /// The version of this form.
    pub version: u32,
    /// The run.
    pub run: String,
    /// Whether the file as it is now fits.
    pub verdict: Verdict,
    /// All tasks, in the order of declaration.
    pub tasks: Vec<TaskPlan>,
    /// What differs from the file that the run started from.
    pub changes: Vec<PlanChange>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// The tasks that run again only with `--retry-incomplete`.
    #[serde(skip)]
    pub needs_permission: Vec<String>,
}

/// Whether a changed file fits a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Compatible,
    /// It does not.
    Incompatible,
    /// It does, once it is said what becomes of the results of done tasks.
    NeedsChoice,
}

/// What becomes of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskPlan {
    /// Its key.
    pub key: String,
    /// What becomes of it.
    pub action: TaskAction,
    /// Why.
    pub reason: String,
}

/// What becomes of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskAction {
    /// It stays as it is.
    Reuse,
    /// It runs again.
    Rerun,
    /// It runs for the first time, or goes on from where it waited.
    Run,
    /// It does not run before something else is settled.
    Blocked,
}

/// A difference, with its place in the file as it is now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanChange {
    /// The task; absent for the workflow itself.
    pub task: Option<String>,
    /// Which part.
    pub part: String,
    /// The value that the run started with.
    pub old: Option<String>,
    /// The value now.
    pub new: Option<String>,
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// What it means.
    pub verdict: &'static str,
}

/// A run that is ready to go on; its plan can be shown before anything happens.
pub struct Resumption {
    plan: ResumePlan,
    folded: Folded,
    resumed: Resumed<TaskId>,
    lock: RunLock,
    root: PathBuf,
    folder: PathBuf,
    /// Nothing would happen: the run's end stands.
    settled: bool,
}

/// Takes a run for this process and works out what going on with it means. Nothing is changed.
pub fn resume(
    root: &Path,
    run: &str,
    plan: &Arc<Plan>,
    options: &ResumeOptions,
    now: Timestamp,
) -> Result<Resumption, RunFault> {
    let folder = existing(root, run)?;
    let diagnostics = runnable::supports(plan);
    if !diagnostics.is_empty() {
        return Err(RunFault::NotRunnable(diagnostics));
    }
    let (lock, dead) = RunLock::take(&folder, now, options.take_over)
        .map_err(|fault| RunFault::of_lock(run, fault))?;
    let folded = fold(&folder, run, plan)?;
    let (mut resume_plan, resumed, settled) = examine(&folder, &folded, options)?;
    if let Some(owner) = dead {
        let note = format!(
            "taken over from process {} on {}, which has died",
            owner.pid, owner.host
        );
        resume_plan.notes.push(note);
    }
    Ok(Resumption {
        plan: resume_plan,
        folded,
        resumed,
        lock,
        root: root.to_owned(),
        folder,
        settled,
    })
}

/// What resuming a run with a plan would mean, without taking it.
pub fn preview(
    root: &Path,
    run: &str,
    plan: &Arc<Plan>,
    options: &ResumeOptions,
) -> Result<ResumePlan, RunFault> {
    let folder = existing(root, run)?;
    let folded = fold(&folder, run, plan)?;
    let (resume_plan, ..) = examine(&folder, &folded, options)?;
    Ok(resume_plan)
}

impl Resumption {
    /// What will happen.
    pub fn plan(&self) -> &ResumePlan {
        &self.plan
    }

    /// Goes on, if that is allowed.
    pub async fn proceed(mut self, mut host: Host) -> Result<RunRecord, RunFault> {
        if let Some(refusal) = refusal(&self.plan) {
            return Err(RunFault::Refused(Box::new(refusal)));
        }
        let missing = runnable::missing(self.folded.run.plan(), &host.environment);
        if !self.settled && !missing.is_empty() {
            return Err(RunFault::NotRunnable(missing));
        }
        if self.settled {
            return Ok(self.folded.record);
        }
        // Whatever the last process left behind is ended before a phase is started again (SEMANTICS S4).
        let checkpoint = checkpoint::without_links(&self.folder);
        let swept = crate::process::sweep(&self.plan.run, &checkpoint);
        match swept {
            Ok(swept) if swept.left > 0 => {
                let message = format!(
                    "{} processes of the run are left and cannot be ended",
                    swept.left
                );
                return Err(RunFault::Io(message));
            }
            Ok(swept) if swept.killed > 0 => {
                let note = format!("ended {} processes that were left of the run", swept.killed);
                (host.notes)(&note);
            }
            Ok(_) => {}
            Err(error) => (host.notes)(&format!("left processes were not looked for: {error}")),
        }
        self.resumed.moved = self.moved(&mut host, &checkpoint).await;
        let journal = SqliteJournal::open(&self.folder, &self.folded.end)
            .map_err(|fault| RunFault::of_journal(&fault))?;
        let journal: Box<dyn Journal> = Box::new(journal);
        let journal = match host.wrap_journal.take() {
            Some(wrap) => wrap(journal),
            None => journal,
        };
        let mut places = places(&self.root, &self.folded.record.file);
        places.checkpoint = Some(checkpoint);
        let driver = Driver::new(self.folded.run, self.folded.record, journal, host, places);
        let ended = driver
            .drive(EventKind::Resumed(Box::new(self.resumed)))
            .await;
        drop(self.lock);
        ended.map_err(|fault| of_drive(&fault))
    }
}

impl Resumption {
    /// The tasks with finished steps whose sandbox is not as those left it: a green result must not outlive an edit.
    async fn moved(&self, host: &mut Host, checkpoint: &Path) -> Vec<TaskId> {
        let run = &self.folded.run;
        let plan = run.plan();
        let mut open: Vec<(TaskId, &Left)> = Vec::new();
        for id in plan.ids() {
            let task = run.task(id);
            let renewed = self.resumed.renewed.contains(&id);
            let settled = matches!(task.state, State::Settled(_)) && !renewed;
            if let Some(detail) = task.detail.as_ref().filter(|_| !settled) {
                open.extend(detail.left.iter().map(|left| (id, left)));
            }
        }
        let named = |left: &Left| {
            let mut sandboxes = plan.program().sandboxes.iter();
            sandboxes.position(|sandbox| *sandbox.name == *left.sandbox)
        };
        let mut sandboxes: Vec<_> = open.iter().filter_map(|(_, left)| named(left)).collect();
        sandboxes.sort_unstable();
        sandboxes.dedup();
        if open.is_empty() {
            return Vec::new();
        }
        let at = Look {
            run: self.plan.run.as_str().into(),
            plan: plan.clone(),
            folder: places(&self.root, &self.folded.record.file).folder,
            checkpoint: Some(checkpoint.to_owned()),
            sandboxes: sandboxes.iter().map(|at| SandboxId(*at as u32)).collect(),
        };
        let now = host.executor.look(at).await;
        let mut moved = Vec::new();
        for (task, left) in open {
            let same = now.iter().flatten().any(|now| now == left);
            if same || moved.contains(&task) {
                continue;
            }
            moved.push(task);
            let note = format!(
                "`{}` is not as `{}` left it: what that had done in its phase is done again",
                left.sandbox,
                plan.task(task).key
            );
            (host.notes)(&note);
        }
        moved
    }
}

/// Why a plan may not be carried out, if it may not.
pub fn refusal(plan: &ResumePlan) -> Option<Refusal> {
    let (reason, message, help) = match plan.verdict {
        Verdict::Incompatible => (
            RefusalReason::Incompatible,
            format!("`{}` cannot go on with the file as it is now", plan.run),
            "undo the changes, or start a new run",
        ),
        Verdict::NeedsChoice => (
            RefusalReason::NeedsChoice,
            format!("tasks of `{}` that are done were changed", plan.run),
            "add --keep-results to keep their results, or --rerun-changed to run them again",
        ),
        Verdict::Compatible if !plan.needs_permission.is_empty() => (
            RefusalReason::NeedsPermission,
            format!(
                "{} may have had effects already: {}",
                match plan.needs_permission.len() {
                    1 => "a task that would run again".to_owned(),
                    count => format!("{count} tasks that would run again"),
                },
                plan.needs_permission.join(", ")
            ),
            "look at what it did, then add --retry-incomplete",
        ),
        Verdict::Compatible => return None,
    };
    Some(Refusal {
        reason,
        message,
        help: Some(help.to_owned()),
        plan: Some(plan.clone()),
    })
}

/// A journal, folded.
struct Folded {
    run: Run,
    record: RunRecord,
    plan: PlanPayload,
    /// What the plan was made from; nothing if a later start came with another one.
    sources: Option<(String, Vec<SourceDigest>)>,
    end: End,
    /// Whether the last row is the end of a start.
    ended: bool,
}

pub(crate) fn existing(root: &Path, run: &str) -> Result<PathBuf, RunFault> {
    let folder = checkpoint::run_folder(root, run);
    if checkpoint::is_run_id(run) && folder.exists() && !sqlite::is_blank(&folder) {
        return Ok(folder);
    }
    let message = format!("there is no run `{run}`");
    Err(RunFault::refused(RefusalReason::NoSuchRun, message))
}

/// Folds a journal into a run of the plan and into a record.
fn fold(folder: &Path, run: &str, plan: &Arc<Plan>) -> Result<Folded, RunFault> {
    let mut state = Run::new(plan.clone(), run);
    let mut reader = Reader::default();
    let mut payload = None;
    let mut sources = None;
    let mut to_plan: Vec<Option<TaskId>> = Vec::new();
    let mut same = false;
    let end = sqlite::read(folder, run, &mut |event| {
        let event = reader.take(event)?;
        let declared = match &event.kind {
            EventKind::Started(started) => {
                payload = Some(started.plan.clone());
                sources = Some((started.outpostc.clone(), started.sources.clone()));
                true
            }
            EventKind::Resumed(resumed) => {
                if let Some(plan) = &resumed.plan {
                    payload = Some(plan.clone());
                    sources = None;
                }
                resumed.tasks.is_some()
            }
            _ => false,
        };
        if declared {
            let tasks = &reader.record.tasks;
            same = tasks.len() == plan.tasks().len()
                && tasks
                    .iter()
                    .zip(plan.tasks())
                    .all(|(a, b)| *a.key == *b.key);
            to_plan = match same {
                true => Vec::new(),
                false => tasks.iter().map(|task| plan.find(&task.key)).collect(),
            };
        }
        if same {
            state.apply(&event);
            return Ok(());
        }
        // What happened to a task that is gone says nothing about the others.
        let mut name = |task: TaskId| to_plan.get(task.index()).copied().flatten().ok_or(());
        if let Ok(kind) = event.kind.with_tasks(&mut name) {
            state.apply(&Event {
                seq: event.seq,
                at: event.at,
                mono: event.mono,
                kind,
            });
        }
        Ok(())
    })
    .map_err(|fault| RunFault::of_journal(&fault))?;
    let Some(plan) = payload else {
        let message = format!("there is no run `{run}`: it never started");
        return Err(RunFault::refused(RefusalReason::NoSuchRun, message));
    };
    let ended = state.finished().is_some();
    // Rows that concern no task of the plan still count.
    state.next_seq = end.seq + 1;
    Ok(Folded {
        run: state,
        record: reader.record,
        plan,
        sources,
        end,
        ended,
    })
}

/// Reads rows into a record, checking that they make a run.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) record: RunRecord,
    finished: bool,
    /// The place of the task that was last named: the next one is often the same or the one behind it.
    last: usize,
}

impl Reader {
    /// Takes a row into account and gives it with its tasks as places in the record.
    pub(crate) fn take(&mut self, event: Event<&str>) -> Result<Event<TaskId>, JournalFault> {
        let seq = event.seq;
        let wrong = |message: String| JournalFault::damaged(seq, message);
        let first = seq == 1;
        if first && let EventKind::Started(started) = event.kind {
            let event = Event {
                seq,
                at: event.at,
                mono: event.mono,
                kind: EventKind::Started(started),
            };
            self.record.apply(&event);
            return Ok(event);
        }
        match &event.kind {
            EventKind::Started(_) => return Err(wrong("starts the run again".into())),
            EventKind::Resumed(_) => self.finished = false,
            _ if first => return Err(wrong("does not start the run".into())),
            _ if self.finished => return Err(wrong("comes after the end".into())),
            EventKind::Finished { .. } => self.finished = true,
            _ => {}
        }
        let tasks = match &event.kind {
            EventKind::Resumed(resumed) => resumed.tasks.clone(),
            _ => None,
        };
        if let Some(tasks) = tasks {
            self.record.declare(&tasks);
        }
        let (record, last) = (&self.record, &mut self.last);
        let mut name = |key: &str| {
            let is_at = |at: &usize| record.tasks.get(*at).is_some_and(|task| task.key == key);
            let near = [*last, *last + 1].into_iter().find(is_at);
            let id = near
                .map(|at| TaskId(at as u32))
                .or_else(|| record.find(key));
            *last = id.map_or(*last, TaskId::index);
            id.ok_or_else(|| wrong(format!("is about a task that is not there, `{key}`")))
        };
        let kind = event.kind.with_tasks(&mut name)?;
        if let EventKind::Admitted { task, attempt, .. }
        | EventKind::Evaluated { task, attempt, .. } = &kind
            && self.record.tasks[task.index()].attempts.checked_add(1) != Some(*attempt)
        {
            return Err(wrong("does not number its attempt as the next one".into()));
        }
        let event = Event {
            seq,
            at: event.at,
            mono: event.mono,
            kind,
        };
        self.record.apply(&event);
        Ok(event)
    }
}

/// The plan of a resumption, the event that it is, and whether the run's end stands.
fn examine(
    folder: &Path,
    folded: &Folded,
    options: &ResumeOptions,
) -> Result<(ResumePlan, Resumed<TaskId>, bool), RunFault> {
    let run = &folded.run;
    let plan = run.plan().clone();
    let comparison = compare(folder, folded)?;
    let verdict = verdict(&comparison, options);
    let mut rerun = asked(&plan, &comparison, options)?;
    spread(run, &mut rerun);
    let mut notes = Vec::new();
    if !folded.end.sealed {
        notes.push(
            "the journal's side file is missing: what is there is whole, but records at its end may be lost"
                .to_owned(),
        );
    }
    let again = again(run, &rerun);
    let (tasks, needs_permission) = tasks(folded, &rerun, &again, options);
    let runs = tasks.iter().any(|task| match task.action {
        TaskAction::Rerun | TaskAction::Run => true,
        TaskAction::Reuse | TaskAction::Blocked => false,
    });
    let settled = folded.ended && !runs;
    let changed = changed(&plan, &comparison);
    let differs = !comparison.changes.is_empty();
    let same_tasks = folded.record.tasks.len() == plan.tasks().len()
        && folded
            .record
            .tasks
            .iter()
            .zip(plan.tasks())
            .all(|(old, new)| *old.key == *new.key);
    let resumed = Resumed {
        outpostc: env!("CARGO_PKG_VERSION").to_owned(),
        retry_incomplete: options.retry_incomplete,
        renewed: plan
            .ids()
            .filter(|id| again[id.index()] && matches!(run.task(*id).state, State::Settled(_)))
            .collect(),
        rerun: plan.ids().filter(|id| rerun[id.index()]).collect(),
        changed,
        moved: Vec::new(),
        tasks: (!same_tasks || differs).then(|| heads(&plan)),
        policy: policy_now(&plan, &comparison),
        plan: match differs {
            true => Some(plan_payload(&plan, folder)?),
            false => None,
        },
    };
    let changes = comparison.changes.iter();
    let resume_plan = ResumePlan {
        version: 1,
        run: folded.record.run.clone(),
        verdict,
        tasks,
        changes: changes.map(|change| shown(&plan, change)).collect(),
        notes,
        needs_permission,
    };
    Ok((resume_plan, resumed, settled))
}

/// Concurrency and budget of the file, if it says something else of one of them than when the run started.
fn policy_now(plan: &Plan, comparison: &Comparison) -> Option<PolicyNow> {
    let of_policy = |part: &str| part == "concurrency" || part.starts_with("budget");
    let mut changes = comparison.changes.iter();
    changes.find(|change| change.task.is_none() && of_policy(&change.part))?;
    let policy = &plan.workflow().policy;
    Some(PolicyNow {
        concurrency: policy.concurrency.max(1),
        budget_attempts: policy.budget.as_ref().and_then(|budget| budget.attempts),
    })
}

fn compare(folder: &Path, folded: &Folded) -> Result<Comparison, RunFault> {
    let plan = folded.run.plan();
    if is_unchanged(folded) {
        return Ok(Comparison::default());
    }
    let old: PlanRecord = match &folded.plan {
        PlanPayload::Json(record) => record.clone(),
        PlanPayload::Sha256(digest) => {
            let store = ValueStore::new(folder);
            // Another layout of the same meaning costs no reading.
            if let PlanPayload::Sha256(now) = plan_payload(plan, folder)?
                && now == *digest
            {
                return Ok(Comparison::default());
            }
            let text = store
                .load(1, digest)
                .map_err(|fault| RunFault::of_journal(&fault))?;
            serde_json::from_str(&text).map_err(|error| {
                let message = format!("the record of the run's plan cannot be understood: {error}");
                RunFault::refused(RefusalReason::Damaged, message)
            })?
        }
    };
    let record = &folded.record;
    Ok(compat::compare(&old, plan, &|key| {
        record.task(key).map_or(Standing::Untouched, standing)
    }))
}

/// Whether the plan is made from the very texts that the run started from: then it is the same plan.
///
/// A file that is read by `readFile` is no source, so a project that may do so is compared part by part.
fn is_unchanged(folded: &Folded) -> bool {
    let Some((outpostc, before)) = &folded.sources else {
        return false;
    };
    let plan = folded.run.plan();
    let mut texts = plan.program().sources.iter();
    outpostc == env!("CARGO_PKG_VERSION")
        && folded.record.workflow == *plan.workflow().name
        && texts.all(|(_, source)| !source.text.contains("readFile"))
        && *before == sources(plan)
}

fn standing(task: &TaskRecord) -> Standing {
    let exhausted = task
        .error
        .as_ref()
        .is_some_and(|error| error.code == crate::fault::FaultCode::Exhausted);
    match task.status {
        TaskStatus::Settled(Status::Done) => Standing::Done,
        TaskStatus::Settled(Status::Rejected) => Standing::Closed,
        TaskStatus::Settled(Status::Failed) if exhausted => Standing::Closed,
        TaskStatus::Settled(Status::Skipped)
            if task.reason.as_ref().is_some_and(|(why, _)| *why == "when") =>
        {
            Standing::Closed
        }
        TaskStatus::Waiting | TaskStatus::Active | TaskStatus::Paused | TaskStatus::Settled(_) => {
            match task.attempts {
                0 => Standing::Untouched,
                _ => Standing::Begun,
            }
        }
    }
}

fn verdict(comparison: &Comparison, options: &ResumeOptions) -> Verdict {
    match comparison.judgement() {
        Judgement::Incompatible => Verdict::Incompatible,
        Judgement::NeedsChoice if !options.keep_results && !options.rerun_changed => {
            Verdict::NeedsChoice
        }
        Judgement::NeedsChoice | Judgement::Allowed | Judgement::Compatible => Verdict::Compatible,
    }
}

/// The done tasks that are to run again.
fn asked(
    plan: &Plan,
    comparison: &Comparison,
    options: &ResumeOptions,
) -> Result<Vec<bool>, RunFault> {
    let mut rerun = vec![false; plan.tasks().len()];
    for key in &options.rerun {
        let Some(id) = plan.find(key) else {
            let message = format!("`{}` has no task `{key}`", plan.workflow().name);
            return Err(RunFault::refused(RefusalReason::Incompatible, message));
        };
        rerun[id.index()] = true;
    }
    if options.rerun_changed {
        let changed = comparison.needing_choice().into_iter();
        for id in changed.filter_map(|key| plan.find(key)) {
            rerun[id.index()] = true;
        }
    }
    Ok(rerun)
}

/// A done task that runs again takes the done tasks behind it along: they were made from its old result.
fn spread(run: &Run, rerun: &mut [bool]) {
    let plan = run.plan();
    for id in plan.order() {
        let again = plan
            .task(*id)
            .dependencies
            .iter()
            .any(|dependency| rerun[dependency.task.index()]);
        if again && run.task(*id).state == State::Settled(Status::Done) {
            rerun[id.index()] = true;
        }
    }
}

/// All tasks that are not settled for good.
fn again(run: &Run, rerun: &[bool]) -> Vec<bool> {
    let mut again = rerun.to_vec();
    for id in run.plan().order() {
        again[id.index()] = again[id.index()] || run.runs_again(*id, &again);
    }
    again
}

fn changed(plan: &Plan, comparison: &Comparison) -> Vec<TaskId> {
    let of_body = |part: &str| {
        let head = part.split('.').next().unwrap_or(part);
        !matches!(
            head,
            "timeout"
                | "retry"
                | "retryPhase"
                | "stopOnStall"
                | "parallel"
                | "cache"
                | "after"
                | "trigger"
                | "when"
                | "task"
        )
    };
    let changes = comparison.changes.iter();
    let mut ids: Vec<TaskId> = changes
        .filter(|change| of_body(&change.part))
        .filter_map(|change| plan.find(change.task.as_deref()?))
        .collect();
    ids.dedup();
    ids
}

fn tasks(
    folded: &Folded,
    rerun: &[bool],
    again: &[bool],
    options: &ResumeOptions,
) -> (Vec<TaskPlan>, Vec<String>) {
    let run = &folded.run;
    let plan = run.plan();
    let exhausted = plan
        .ids()
        .find(|id| run.is_exhausted(*id) && !again[id.index()]);
    let stop = plan.workflow().policy.on_error == OnError::Stop;
    let end = exhausted.filter(|_| stop);
    let mut needs_permission = Vec::new();
    let mut of_tasks = Vec::with_capacity(again.len());
    for id in plan.ids() {
        let key = plan.task(id).key.to_string();
        let (action, reason) = match end {
            Some(exhausted) if again[id.index()] => {
                let key = &plan.task(exhausted).key;
                (
                    TaskAction::Blocked,
                    format!("`{key}` is exhausted, which is final"),
                )
            }
            Some(_) | None => fate(folded, id, again, rerun[id.index()]),
        };
        if action == TaskAction::Rerun && !rerun[id.index()] && !options.retry_incomplete {
            needs_permission.push(key.clone());
            of_tasks.push(TaskPlan {
                key,
                action: TaskAction::Blocked,
                reason: format!("{reason}; that needs --retry-incomplete"),
            });
            continue;
        }
        of_tasks.push(TaskPlan {
            key,
            action,
            reason,
        });
    }
    (of_tasks, needs_permission)
}

fn fate(folded: &Folded, id: TaskId, again: &[bool], asked: bool) -> (TaskAction, String) {
    let task = folded.run.task(id);
    let detail = task.detail.as_deref();
    let judged = detail.is_some_and(|detail| detail.rounds.judged.is_some());
    let in_round = detail
        .filter(|detail| detail.rounds.round > 0)
        .map(|detail| {
            format!(
                " in {} of round {}",
                detail.rounds.phase.name(),
                detail.rounds.round
            )
        })
        .unwrap_or_default();
    let reason = detail.and_then(|detail| detail.reason.as_ref());
    if asked {
        return (
            TaskAction::Rerun,
            "it is done, and is to run again".to_owned(),
        );
    }
    if !again[id.index()] {
        let why = match task.state {
            State::Settled(Status::Done) => "it is done",
            State::Settled(Status::Failed) => "it is exhausted, which is final",
            State::Settled(Status::Rejected) => "it was rejected, which is final",
            State::Settled(Status::Skipped) if reason == Some(&Reason::When) => {
                "its `when` was false"
            }
            State::Settled(_)
            | State::Waiting
            | State::Ready
            | State::Doomed
            | State::Active
            | State::Backoff
            | State::Paused => "nothing that it waits for runs again",
        };
        return (TaskAction::Reuse, why.to_owned());
    }
    match task.state {
        State::Active if !judged => (TaskAction::Rerun, format!("it was interrupted{in_round}")),
        State::Active => (TaskAction::Run, format!("it goes on{in_round}")),
        State::Backoff => (
            TaskAction::Rerun,
            "it was waiting for its next try".to_owned(),
        ),
        State::Settled(Status::Failed) => (TaskAction::Rerun, format!("it failed{in_round}")),
        State::Settled(Status::Cancelled) if task.attempts > 0 && !judged => {
            (TaskAction::Rerun, format!("it was cancelled{in_round}"))
        }
        State::Settled(Status::Cancelled) => (
            TaskAction::Run,
            "it was cancelled before it started".to_owned(),
        ),
        State::Settled(_) => (TaskAction::Run, "what it waits for runs again".to_owned()),
        State::Paused => (TaskAction::Run, format!("it waits for a quota{in_round}")),
        State::Ready if task.attempts > 0 && !judged => (
            TaskAction::Rerun,
            "it was about to be tried again".to_owned(),
        ),
        State::Waiting | State::Ready | State::Doomed => {
            (TaskAction::Run, "it has not started".to_owned())
        }
    }
}

fn shown(plan: &Plan, change: &compat::Change) -> PlanChange {
    let place = Place::of(plan, change.at);
    PlanChange {
        task: change.task.clone(),
        part: change.part.clone(),
        old: change.old.clone(),
        new: change.new.clone(),
        file: place.file,
        line: place.line,
        column: place.column,
        verdict: match change.judgement {
            Judgement::Compatible => "compatible",
            Judgement::Allowed => "allowed",
            Judgement::NeedsChoice => "needs-choice",
            Judgement::Incompatible => "incompatible",
        },
    }
}
