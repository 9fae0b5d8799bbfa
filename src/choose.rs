//! Which run is meant: by its id, the beginning of one, or as the newest unfinished.

use crate::args::RunChoice;
use crate::exit::{Exit, Failure};
use crate::files::Project;
use outpost_runtime::event::Status;
use outpost_runtime::fault::FaultCode;
use outpost_runtime::view::RunSummary;
use outpost_runtime::{RunFault, RunRecord, RunStatus, find_run, list_runs, open_run};

/// The id of the run that is meant.
pub fn run(project: &Project, choice: &RunChoice) -> Result<String, Failure> {
    match &choice.run {
        Some(id) => by_id(project, id),
        None => match summaries(project)?
            .iter()
            .rfind(|run| is_open(project, run))
        {
            Some(run) => Ok(run.id.clone()),
            None => Err(Failure::usage("this project has no unfinished run")
                .help("list all runs with `outpostc runs`")),
        },
    }
}

/// The id that this is, or is the beginning of.
pub fn by_id(project: &Project, id: &str) -> Result<String, Failure> {
    let mut found = find_run(&project.root, id).map_err(|error| unlistable(&error))?;
    match found.len() {
        0 => Err(Failure::usage(format!("there is no run `{id}`"))
            .help("list all runs with `outpostc runs`")),
        1 => Ok(found.remove(0)),
        _ => Err(Failure::usage(format!(
            "several runs begin with `{id}`: {}",
            found.join(", ")
        ))
        .help("write more of the id")),
    }
}

/// Whether this is the id of a run, or the beginning of one.
pub fn is_known(project: &Project, id: &str) -> Result<bool, Failure> {
    let found = find_run(&project.root, id).map_err(|error| unlistable(&error))?;
    Ok(!found.is_empty())
}

/// Whether going on with a run has a point: not if a loop of it is exhausted, which is final.
pub fn is_open(project: &Project, run: &RunSummary) -> bool {
    let failed = run.status == RunStatus::Ended(Status::Failed);
    let exhausted =
        || record(project, &run.id).is_ok_and(|record| record.code == Some(FaultCode::Exhausted));
    run.is_unfinished() && !(failed && exhausted())
}

/// All runs that can be read, the oldest first.
pub fn summaries(project: &Project) -> Result<Vec<RunSummary>, Failure> {
    let runs = list_runs(&project.root).map_err(|error| unlistable(&error))?;
    Ok(runs.into_iter().flatten().collect())
}

/// The record of a run.
pub fn record(project: &Project, run: &str) -> Result<RunRecord, Failure> {
    open_run(&project.root, run)
        .map(|view| view.record)
        .map_err(failure)
}

/// The runs cannot be listed.
pub fn unlistable(error: &std::io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot list the runs: {error}"))
}

/// A run that cannot be read or continued, as a failure.
pub fn failure(fault: RunFault) -> Failure {
    match fault {
        RunFault::Refused(refusal) => Failure {
            exit: Exit::Refused,
            message: refusal.message,
            help: refusal.help,
        },
        RunFault::RunId(message) => Failure::usage(message),
        RunFault::NotRunnable(_) => Failure::usage(fault.to_string()),
        RunFault::Io(message) => Failure::new(Exit::Failed, message),
        RunFault::Bug(message) => Failure::new(Exit::Bug, format!("a bug in outpostc: {message}")),
    }
}
