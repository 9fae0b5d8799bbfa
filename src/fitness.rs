//! Whether an unfinished run can still go on with its file as it is now.

use crate::changes::change_words;
use crate::files::Project;
use outpost_compiler::compile;
use outpost_compiler::load::Loader;
use outpost_compiler::plan;
use outpost_compiler::program::WorkflowId;
use outpost_grammar::Severity;
use outpost_runtime::resume::Verdict;
use outpost_runtime::view::RunSummary;
use outpost_runtime::{ResumeOptions, RunRecord, RunStatus, preview};
use std::sync::Arc;

/// Whether a file fits.
pub enum Fitness {
    /// It does, or nobody will ask.
    Fit,
    /// It does not.
    Unfit {
        /// Why.
        reason: String,
        /// What to type.
        command: String,
    },
}

/// Of a run in a list.
pub fn of_summary(project: &Project, run: &RunSummary) -> Fitness {
    match run.is_unfinished() && run.status != RunStatus::Running {
        true => of(project, &run.id, &run.file, &run.workflow),
        false => Fitness::Fit,
    }
}

/// Of a run that was read.
pub fn of_record(project: &Project, run: &RunRecord) -> Fitness {
    use outpost_runtime::event::Status;
    match run.status {
        RunStatus::Running
        | RunStatus::Ended(Status::Done | Status::Rejected | Status::Skipped) => Fitness::Fit,
        RunStatus::Interrupted
        | RunStatus::Ended(
            Status::Failed | Status::Cancelled | Status::Paused | Status::WaitingInput,
        ) => of(project, &run.run, &run.file, &run.workflow),
    }
}

fn of(project: &Project, run: &str, file: &str, workflow: &str) -> Fitness {
    let unfit = |reason: String, command: String| Fitness::Unfit { reason, command };
    if let Err(error) = project.load(file) {
        let command = format!("outpostc resume {run} --file FILE");
        return unfit(format!("{file} cannot be read: {error}"), command);
    }
    let compiled = compile(project, file);
    let broken = compiled.diagnostics.iter();
    if broken
        .into_iter()
        .any(|one| one.severity == Severity::Error)
    {
        return unfit(
            format!("{file} has errors now"),
            format!("outpostc check {file}"),
        );
    }
    let own = &compiled.program.workflows[..compiled.program.own_workflows];
    let Some(at) = own.iter().position(|own| *own.name == *workflow) else {
        let reason = format!("{file} has no workflow `{workflow}` any more");
        return unfit(reason, format!("outpostc resume {run} --plan"));
    };
    let Ok(plan) = plan::build(Arc::new(compiled.program), WorkflowId(at as u32)) else {
        return Fitness::Fit;
    };
    let previewed = preview(
        &project.root,
        run,
        &Arc::new(plan),
        &ResumeOptions::default(),
    );
    let Ok(previewed) = previewed else {
        return Fitness::Fit;
    };
    let (wanted, needs) = match previewed.verdict {
        Verdict::Compatible => return Fitness::Fit,
        Verdict::Incompatible => ("incompatible", ""),
        Verdict::NeedsChoice => (
            "needs-choice",
            "; it needs --keep-results or --rerun-changed",
        ),
    };
    let mut changes = previewed.changes.iter();
    match changes.find(|change| change.verdict == wanted) {
        Some(change) => unfit(
            format!("{file} was edited: {}{needs}", change_words(change)),
            format!("outpostc resume {run} --plan"),
        ),
        None => Fitness::Fit,
    }
}
