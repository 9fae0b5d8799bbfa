//! `outpostc resume`: go on with a run.

use crate::args::{Format, ResumeArguments};
use crate::choose;
use crate::exit::{Exit, Failure, read_or_not};
use crate::files::Project;
use crate::fitness::{change_words, part_words};
use crate::host::{Session, Wishes};
use crate::report::{self, counted};
use crate::source::{self, Source};
use crate::terminal::{Streams, Style, Terminal, one_line, visible};
use outpost_compiler::load::Loader;
use outpost_compiler::program::WorkflowId;
use outpost_grammar::SourceMap;
use outpost_runtime::clock::{Clock, SystemClock};
use outpost_runtime::resume::{PlanChange, TaskAction, Verdict, refusal};
use outpost_runtime::{ResumeOptions, ResumePlan, RunRecord, open_run, preview, resume};
use std::io::{self, Write};
use std::path::Path;

/// The most characters of an old or a new value.
const VALUE_CHARACTERS: usize = 400;

/// The most tasks that are told of one by one.
const TASKS_TOLD: usize = 50;

/// Says what going on means, and does it if it may.
pub fn run(arguments: ResumeArguments, streams: Streams) -> Result<Exit, Failure> {
    let project = Project::current()?;
    let run = choose::run(&project, &arguments.run)?;
    let record = open_run(&project.root, &run)
        .map_err(choose::failure)?
        .record;
    let source = file_of(&project, &record, arguments.file.as_deref(), streams)?;
    let plan = source.plan(workflow_of(&source, &record)?, streams)?;
    let options = ResumeOptions {
        retry_incomplete: arguments.retry_incomplete,
        keep_results: arguments.keep_results,
        rerun_changed: arguments.rerun_changed,
        rerun: arguments.rerun,
        take_over: arguments.take_over,
    };
    if arguments.plan {
        let plan = preview(&project.root, &run, &plan, &options).map_err(choose::failure)?;
        return show_only(&plan, &record, &source, arguments.format, streams);
    }
    let now = SystemClock::new().now().wall;
    let resumption = resume(&project.root, &run, &plan, &options, now).map_err(choose::failure)?;
    let what = resumption.plan();
    let refused = refusal(what);
    let text = match &refused {
        Some(_) => tell(what, &record, &source, &streams.err),
        None if runs(what) => tell(what, &record, &source, &streams.err),
        None => format!("run `{run}` has nothing left to run\n"),
    };
    read_or_not(io::stderr().write_all(text.as_bytes()))?;
    if let Some(refusal) = refused {
        return Err(Failure {
            exit: Exit::Refused,
            message: refusal.message,
            help: refusal.help,
        });
    }
    let wishes = Wishes {
        events: arguments.events,
        format: arguments.format,
    };
    let (session, host) = Session::open(&plan, &wishes, streams)?;
    session.drive(&project, &plan, false, resumption.proceed(host))
}

/// The file that the run goes on with. One that is gone is no mistake of usage: the run cannot go on.
fn file_of(
    project: &Project,
    record: &RunRecord,
    given: Option<&Path>,
    streams: Streams,
) -> Result<Source, Failure> {
    let name = match given {
        None => record.file.clone(),
        Some(path) => project.name_of(path).ok_or_else(|| {
            Failure::usage(format!("`{}` is not in this project", path.display()))
        })?,
    };
    match project.load(&name) {
        Ok(_) => source::load(project, &name, streams),
        Err(error) => Err(Failure::new(
            Exit::Refused,
            format!(
                "the file of run `{}`, {name}, cannot be read: {error}",
                record.run
            ),
        )
        .help("if it has moved, name it with `--file FILE`")),
    }
}

/// The workflow of the run; one that was renamed is compared all the same if there is no other.
fn workflow_of(source: &Source, record: &RunRecord) -> Result<WorkflowId, Failure> {
    let known = source.workflow(Some(&record.workflow));
    let only = || match source.program.own_workflows {
        1 => source.workflow(None),
        _ => source.workflow(Some(&record.workflow)),
    };
    known.or_else(|_| only()).map_err(|failure| Failure {
        exit: Exit::Refused,
        ..failure
    })
}

fn show_only(
    plan: &ResumePlan,
    record: &RunRecord,
    source: &Source,
    format: Format,
    streams: Streams,
) -> Result<Exit, Failure> {
    let refused = refusal(plan);
    let mut out = io::stdout().lock();
    match format {
        Format::Json => {
            let json = serde_json::to_string(plan).map_err(io::Error::other)?;
            writeln!(out, "{json}")?;
        }
        Format::Human => {
            out.write_all(tell(plan, record, source, &streams.out).as_bytes())?;
            match &refused {
                Some(refusal) => {
                    writeln!(out, "refused: {}", refusal.message)?;
                    if let Some(help) = &refusal.help {
                        writeln!(out, "  help: {help}")?;
                    }
                }
                None if runs(plan) => writeln!(out, "it may go on like this")?,
                None => writeln!(out, "there is nothing left to run")?,
            }
        }
    }
    Ok(match refused {
        Some(_) => Exit::Refused,
        None => Exit::Done,
    })
}

fn runs(plan: &ResumePlan) -> bool {
    plan.tasks.iter().any(|task| match task.action {
        TaskAction::Rerun | TaskAction::Run => true,
        TaskAction::Reuse | TaskAction::Blocked => false,
    })
}

/// What will happen, in words: changes with their places, then the tasks.
fn tell(plan: &ResumePlan, record: &RunRecord, source: &Source, terminal: &Terminal) -> String {
    let mut text = String::new();
    for change in &plan.changes {
        text.push_str(&changed(change, &source.program.sources, terminal));
    }
    for note in &plan.notes {
        text.push_str(&format!("note: {}\n", visible(note, false)));
    }
    if plan.verdict == Verdict::Incompatible {
        return text;
    }
    text.push_str(&format!(
        "run {} of workflow `{}`, {}:\n",
        terminal.paint(Style::Bold, &plan.run),
        record.workflow,
        source.name
    ));
    let reused = plan
        .tasks
        .iter()
        .filter(|task| task.action == TaskAction::Reuse);
    let many = plan.tasks.len() > TASKS_TOLD;
    if many {
        text.push_str(&format!("  reuse    {}\n", counted(reused.count(), "task")));
    }
    let told = plan
        .tasks
        .iter()
        .filter(|task| !many || task.action != TaskAction::Reuse);
    let width = plan.tasks.iter().map(|task| task.key.chars().count()).max();
    let width = width.unwrap_or(0).min(terminal.width / 3);
    for task in told.clone().take(TASKS_TOLD) {
        let (word, style) = match task.action {
            TaskAction::Reuse => ("reuse  ", Style::Dim),
            TaskAction::Rerun => ("rerun  ", Style::Warn),
            TaskAction::Run => ("run    ", Style::Good),
            TaskAction::Blocked => ("blocked", Style::Bad),
        };
        text.push_str(&format!(
            "  {}  {:width$}  {}\n",
            terminal.paint(style, word),
            task.key,
            visible(&task.reason, false)
        ));
    }
    match told.count().saturating_sub(TASKS_TOLD) {
        0 => {}
        more => text.push_str(&format!("  … and {}\n", counted(more, "more task"))),
    }
    text
}

/// A change, at its place in the file as it is now.
fn changed(change: &PlanChange, sources: &SourceMap, terminal: &Terminal) -> String {
    let words = change_words(change);
    let what = part_words(change);
    let title = match change.verdict {
        "incompatible" => format!("{what} cannot change in a run that has begun"),
        "needs-choice" => format!("{what} was changed, and the task is done"),
        _ => {
            let (file, line, column) = (&change.file, change.line, change.column);
            return format!("changed: {words} ({file}:{line}:{column})\n");
        }
    };
    let notes = [("was", &change.old), ("is", &change.new)]
        .into_iter()
        .map(|(word, value)| match value {
            Some(value) => format!("{word} {}", one_line(value, VALUE_CHARACTERS)),
            None => format!("{word} not there"),
        });
    match report::place(sources, &change.file, change.line, change.column) {
        Some(at) => report::excerpt(sources, at, &title, notes.collect(), terminal),
        None => format!("{title}: {words}\n"),
    }
}
