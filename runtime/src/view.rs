//! Looking at runs without owning them, live ones too.

use crate::checkpoint::{self, Owner, RunLock};
use crate::clock::Timestamp;
use crate::event::{Body, EventKind};
use crate::journal::JournalFault;
use crate::journal::sqlite::{self, End};
use crate::public::{self, PublicEvent};
use crate::record::{RunRecord, RunStatus};
use crate::resume::{Reader, existing};
use crate::start::RunFault;
use std::path::{Path, PathBuf};

/// A run in a list.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// Its id.
    pub id: String,
    /// Its workflow.
    pub workflow: String,
    /// The file that it was started from, relative to the root.
    pub file: String,
    /// Where it stands.
    pub status: RunStatus,
    /// When it was first started.
    pub started: Timestamp,
    /// When its last start ended.
    pub finished: Option<Timestamp>,
    /// Who works on it.
    pub owner: Option<Owner>,
}

impl RunSummary {
    /// Whether going on with it may have a point.
    pub fn is_unfinished(&self) -> bool {
        use crate::event::Status;
        match self.status {
            RunStatus::Running | RunStatus::Interrupted => true,
            RunStatus::Ended(status) => match status {
                Status::Done | Status::Rejected | Status::Skipped => false,
                Status::Failed | Status::Cancelled | Status::Paused | Status::WaitingInput => true,
            },
        }
    }
}

/// A run that is listed, or why it cannot be.
pub type Listed = Result<RunSummary, (String, JournalFault)>;

/// All runs of a project, the oldest first; folders in which no run ever started are passed over.
pub fn list_runs(root: &Path) -> std::io::Result<Vec<Listed>> {
    let mut runs = Vec::new();
    for id in checkpoint::ids(root)? {
        let folder = checkpoint::run_folder(root, &id);
        if !folder.join(sqlite::NAME).exists() {
            continue;
        }
        match summary(&folder, &id) {
            Ok(summary) => runs.extend(summary.map(Ok)),
            Err(fault) => runs.push(Err((id, fault))),
        }
    }
    runs.sort_by_key(|run| run.as_ref().map_or(Timestamp::default(), |run| run.started));
    Ok(runs)
}

/// The run of an id or of the beginning of one.
pub fn find_run(root: &Path, id: &str) -> std::io::Result<Vec<String>> {
    let ids = checkpoint::ids(root)?;
    if ids.iter().any(|other| other == id) {
        return Ok(vec![id.to_owned()]);
    }
    Ok(ids
        .into_iter()
        .filter(|other| other.starts_with(id))
        .collect())
}

/// A run, seen from outside.
#[derive(Clone, Debug)]
pub struct RunView {
    /// Its report.
    pub record: RunRecord,
    /// Who works on it.
    pub owner: Option<Owner>,
    /// Where its streams are.
    pub logs: PathBuf,
    /// Whether the journal's side file vouches for its end.
    pub sealed: bool,
}

/// Reads a run.
pub fn open_run(root: &Path, run: &str) -> Result<RunView, RunFault> {
    let folder = existing(root, run)?;
    let owner = RunLock::owner(&folder);
    let mut reader = Reader::default();
    let end = sqlite::read(&folder, run, &mut |event| reader.take(event).map(|_| ()))
        .map_err(|fault| RunFault::of_journal(&fault))?;
    let mut record = reader.record;
    if record.status == RunStatus::Running && owner.is_none() {
        record.status = RunStatus::Interrupted;
    }
    Ok(RunView {
        record,
        owner,
        logs: folder.join("logs"),
        sealed: end.sealed,
    })
}

/// The public events of a run after a row, in order; gives the last row, to go on from.
pub fn events(
    root: &Path,
    run: &str,
    after: u64,
    event: &mut dyn FnMut(PublicEvent),
) -> Result<u64, RunFault> {
    let folder = existing(root, run)?;
    let end = sqlite::read(&folder, run, &mut |row| {
        if row.seq > after {
            public::of(run, &row).into_iter().for_each(&mut *event);
        }
        Ok(())
    });
    end.map(|end| end.seq)
        .map_err(|fault| RunFault::of_journal(&fault))
}

/// Checks a journal from its first row to its last.
pub fn verify(root: &Path, run: &str) -> Result<End, RunFault> {
    let folder = existing(root, run)?;
    let mut reader = Reader::default();
    sqlite::read(&folder, run, &mut |event| reader.take(event).map(|_| ()))
        .map_err(|fault| RunFault::of_journal(&fault))
}

fn summary(folder: &Path, id: &str) -> Result<Option<RunSummary>, JournalFault> {
    let Some((first, last)) = sqlite::ends(folder)? else {
        return Ok(None);
    };
    let owner = RunLock::owner(folder);
    let read = |text: &str, record: u64| -> Result<Body<String>, JournalFault> {
        outpost_stdlib::json::read_record(text).map_err(|error| {
            JournalFault::damaged(record, format!("cannot be understood: {error}"))
        })
    };
    let first = read(&first, 1)?;
    let EventKind::Started(started) = first.event else {
        return Err(JournalFault::damaged(1, "does not start the run"));
    };
    let last = read(&last, 0)?;
    let (status, finished) = match (last.event, &owner) {
        (EventKind::Finished { status, .. }, None) => (RunStatus::Ended(status), Some(last.at)),
        (_, Some(_)) => (RunStatus::Running, None),
        (_, None) => (RunStatus::Interrupted, None),
    };
    Ok(Some(RunSummary {
        id: id.to_owned(),
        workflow: started.workflow,
        file: started.file,
        status,
        started: first.at,
        finished,
        owner,
    }))
}
