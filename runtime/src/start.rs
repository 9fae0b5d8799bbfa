//! Starting a run.

use crate::checkpoint::{self, LockFault, Owner, RunLock};
use crate::driver::{DriveFault, Driver, Host, Places};
use crate::event::{EventKind, PlanPayload, SourceDigest, Started, TaskHead};
use crate::journal::memory::Forgetful;
use crate::journal::sqlite::{self, SqliteJournal};
use crate::journal::values::ValueStore;
use crate::journal::{Journal, JournalFault};
use crate::record::RunRecord;
use crate::resume::ResumePlan;
use crate::run::Run;
use crate::runnable;
use crate::walk::hex;
use outpost_compiler::parts::PlanRecord;
use outpost_compiler::plan::Plan;
use outpost_grammar::Diagnostic;
use outpost_stdlib::Value;
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a run is started.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// The project's root.
    pub root: PathBuf,
    /// The workflow's file, relative to the root.
    pub file: String,
    /// The run's id; a random one without.
    pub run: Option<String>,
    /// All inputs, in the order of declaration, as `check_inputs` gives them.
    pub inputs: Vec<Value>,
    /// Another concurrency than the file's.
    pub concurrency: Option<u32>,
    /// Another budget of attempts than the file's.
    pub budget_attempts: Option<u64>,
    /// Whether nothing is kept on disk.
    pub ephemeral: bool,
}

/// Why a run did not come to an end of its own.
#[derive(Debug)]
pub enum RunFault {
    /// The plan holds what this version cannot run.
    NotRunnable(Vec<Diagnostic>),
    /// The id cannot be one, or there is such a run already.
    RunId(String),
    /// The checkpoint was refused; nothing was done.
    Refused(Box<Refusal>),
    /// The journal or the run's folder cannot be written; the run is interrupted.
    Io(String),
    /// Something that cannot be: a bug in outpostc.
    Bug(String),
}

/// A checkpoint that was refused.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Why, for programs.
    pub reason: RefusalReason,
    /// Why, for people.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// What would happen, as far as that is known.
    pub plan: Option<ResumePlan>,
}

/// Why a checkpoint was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// There is no such run.
    NoSuchRun,
    /// Another process owns it.
    InUse(Option<Owner>),
    /// A process of another machine owned it.
    OtherMachine(Owner),
    /// What is on disk is not what was written.
    Damaged,
    /// It was written by a newer outpostc.
    Newer,
    /// The file was changed in a way that the run cannot go on with.
    Incompatible,
    /// Done tasks were changed, and nothing says what becomes of their results.
    NeedsChoice,
    /// Something would run again that may have had effects.
    NeedsPermission,
}

impl fmt::Display for RunFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunFault::NotRunnable(diagnostics) => match diagnostics.first() {
                Some(first) => out.write_str(&first.message),
                None => out.write_str("this version of outpostc cannot run this yet"),
            },
            RunFault::RunId(message) | RunFault::Io(message) | RunFault::Bug(message) => {
                out.write_str(message)
            }
            RunFault::Refused(refusal) => out.write_str(&refusal.message),
        }
    }
}

impl std::error::Error for RunFault {}

impl RunFault {
    pub(crate) fn refused(reason: RefusalReason, message: impl Into<String>) -> RunFault {
        RunFault::Refused(Box::new(Refusal {
            reason,
            message: message.into(),
            help: None,
            plan: None,
        }))
    }

    pub(crate) fn of_journal(fault: &JournalFault) -> RunFault {
        match fault {
            JournalFault::Io(_) => RunFault::Io(fault.to_string()),
            JournalFault::Damaged { .. } => {
                RunFault::refused(RefusalReason::Damaged, fault.to_string())
            }
            JournalFault::Newer { .. } => {
                RunFault::refused(RefusalReason::Newer, fault.to_string())
            }
        }
    }

    pub(crate) fn of_lock(run: &str, fault: LockFault) -> RunFault {
        match fault {
            LockFault::InUse(owner) => {
                let by = match &owner {
                    Some(owner) => format!(
                        " by process {} on {} since {}",
                        owner.pid,
                        owner.host,
                        owner.since.rfc3339()
                    ),
                    None => String::new(),
                };
                RunFault::refused(
                    RefusalReason::InUse(owner),
                    format!("`{run}` is in use{by}"),
                )
            }
            LockFault::OtherMachine(owner) => {
                let message = format!(
                    "`{run}` was last owned by process {} on another machine, {}, since {}",
                    owner.pid,
                    owner.host,
                    owner.since.rfc3339()
                );
                RunFault::Refused(Box::new(Refusal {
                    reason: RefusalReason::OtherMachine(owner),
                    message,
                    help: Some("make sure that it has ended there, then add --take-over".into()),
                    plan: None,
                }))
            }
            LockFault::Io(error) => RunFault::Io(format!("the lock of `{run}`: {error}")),
        }
    }
}

/// Runs a workflow from its beginning.
pub async fn start(
    plan: Arc<Plan>,
    options: StartOptions,
    mut host: Host,
) -> Result<RunRecord, RunFault> {
    let mut diagnostics = runnable::supports(&plan);
    diagnostics.extend(runnable::missing(&plan, &host.environment));
    if !diagnostics.is_empty() {
        return Err(RunFault::NotRunnable(diagnostics));
    }
    let run = match &options.run {
        Some(run) if !checkpoint::is_run_id(run) => {
            let message = format!("`{run}` cannot be the id of a run: use a-z, 0-9 and -");
            return Err(RunFault::RunId(message));
        }
        Some(run) => run.clone(),
        None => checkpoint::new_run_id().map_err(|error| RunFault::Io(error.to_string()))?,
    };
    let mut places = places(&options.root, &options.file);
    let mut held = None;
    let (journal, payload): (Box<dyn Journal>, _) = if options.ephemeral {
        let nothing = PlanRecord {
            workflow: Vec::new(),
            tasks: Vec::new(),
        };
        (Box::new(Forgetful), PlanPayload::Json(nothing))
    } else {
        let folder = new_folder(&options.root, &run)?;
        let (lock, _) = RunLock::take(&folder, host.clock.now().wall, false)
            .map_err(|fault| RunFault::of_lock(&run, fault))?;
        // Another process may have begun it before this one held it.
        if !sqlite::is_blank(&folder) {
            return Err(taken(&run));
        }
        sqlite::clear_blank(&folder).map_err(|error| RunFault::Io(error.to_string()))?;
        held = Some(lock);
        places.checkpoint = Some(checkpoint::without_links(&folder));
        let payload = plan_payload(&plan, &folder)?;
        let journal =
            SqliteJournal::create(&folder, &run).map_err(|fault| RunFault::of_journal(&fault))?;
        (Box::new(journal), payload)
    };
    let journal = match host.wrap_journal.take() {
        Some(wrap) => wrap(journal),
        None => journal,
    };
    let started = started(&plan, &options, &run, payload);
    let mut state = Run::new(plan, &run);
    state.ephemeral = options.ephemeral;
    let driver = Driver::new(state, RunRecord::default(), journal, host, places);
    let ended = driver.drive(EventKind::Started(Box::new(started))).await;
    drop(held);
    ended.map_err(|fault| of_drive(&fault))
}

pub(crate) fn of_drive(fault: &DriveFault) -> RunFault {
    match fault {
        DriveFault::Journal(fault) => RunFault::Io(fault.to_string()),
        DriveFault::Stuck => RunFault::Bug("nothing is left that could happen".to_owned()),
    }
}

pub(crate) fn places(root: &Path, file: &str) -> Places {
    let file = root.join(file);
    Places {
        folder: file.parent().unwrap_or(root).to_owned(),
        checkpoint: None,
    }
}

/// The folder for a new run. One whose run was killed before anything of it was recorded is used again.
fn new_folder(root: &Path, run: &str) -> Result<PathBuf, RunFault> {
    match checkpoint::create(root, run) {
        Ok(folder) => Ok(folder),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let folder = checkpoint::run_folder(root, run);
            match sqlite::is_blank(&folder) {
                true => Ok(folder),
                false => Err(taken(run)),
            }
        }
        Err(error) => {
            let message = format!("the run's folder cannot be made: {error}");
            Err(RunFault::Io(message))
        }
    }
}

fn taken(run: &str) -> RunFault {
    RunFault::RunId(format!("there is a run `{run}` already"))
}

/// The record of a plan, in a file beside the journal where it is large.
pub(crate) fn plan_payload(plan: &Plan, folder: &Path) -> Result<PlanPayload, RunFault> {
    let record = PlanRecord::of(plan);
    let text = serde_json::to_string(&record).map_err(|error| RunFault::Bug(error.to_string()))?;
    let stored = ValueStore::new(folder).store(&text);
    match stored.map_err(|fault| RunFault::of_journal(&fault))? {
        Some(digest) => Ok(PlanPayload::Sha256(digest)),
        None => Ok(PlanPayload::Json(record)),
    }
}

/// How the tasks of a plan are declared.
pub(crate) fn heads(plan: &Plan) -> Vec<TaskHead> {
    let tasks = plan.tasks().iter();
    tasks
        .map(|task| TaskHead {
            key: task.key.to_string(),
            kind: task.kind.keyword().to_owned(),
        })
        .collect()
}

fn started(plan: &Plan, options: &StartOptions, run: &str, payload: PlanPayload) -> Started {
    let workflow = plan.workflow();
    let names = workflow.inputs.iter().map(|input| input.name.to_string());
    let budget = workflow.policy.budget.as_ref();
    let sources = match options.ephemeral {
        true => Vec::new(),
        false => sources(plan),
    };
    Started {
        run: run.to_owned(),
        file: options.file.clone(),
        workflow: workflow.name.to_string(),
        outpostc: env!("CARGO_PKG_VERSION").to_owned(),
        inputs: names.zip(options.inputs.iter().cloned()).collect(),
        sources,
        concurrency: options
            .concurrency
            .unwrap_or(workflow.policy.concurrency)
            .max(1),
        budget_attempts: options
            .budget_attempts
            .or(budget.and_then(|budget| budget.attempts)),
        tasks: heads(plan),
        plan: payload,
    }
}

pub(crate) fn sources(plan: &Plan) -> Vec<SourceDigest> {
    let sources = plan.program().sources.iter();
    sources
        .map(|(_, source)| SourceDigest {
            name: source.name.clone(),
            sha256: hex(&Sha256::digest(source.text.as_bytes())),
        })
        .collect()
}
