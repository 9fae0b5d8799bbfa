//! `outpostc resume`: go on with a run.

use crate::args::{Format, ResumeArguments};
use crate::changes::{self, Titles};
use crate::choose;
use crate::exit::{Exit, Failure, read_or_not};
use crate::files::Project;
use crate::host::{Session, Wishes};
use crate::progress::Detail;
use crate::source::{self, Source};
use crate::terminal::{Streams, Style, Terminal, visible};
use outpost_runtime::clock::{Clock, SystemClock};
use outpost_runtime::resume::{TaskAction, Verdict, refusal};
use outpost_runtime::{ResumeOptions, ResumePlan, RunRecord, open_run, preview, resume};
use std::io::{self, Write};

/// Says what going on means, and does it if it may.
pub fn run(arguments: ResumeArguments, streams: Streams) -> Result<Exit, Failure> {
    let project = Project::current()?;
    let run = choose::run(&project, &arguments.run)?;
    let record = open_run(&project.root, &run)
        .map_err(choose::failure)?
        .record;
    let file = arguments.file.as_deref();
    let source =
        source::of_run(&project, &record, file, streams).map_err(|failure| match failure.exit {
            Exit::Refused => failure.help("if it has moved, name it with `--file FILE`"),
            _ => failure,
        })?;
    let plan = source.plan(source.workflow_of_run(&record)?, streams)?;
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
    let detail = arguments.verbosity.detail();
    let text = match &refused {
        Some(_) => tell(what, &record, &source, &streams.err),
        None if detail == Detail::Quiet => String::new(),
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
        live: arguments.live,
        detail,
        format: arguments.format,
    };
    let (session, host) = Session::open(&project, &plan, &wishes, streams)?;
    session.expect(count_of_runs(resumption.plan()));
    session.drive(&project, &plan, false, resumption.proceed(host))
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
    count_of_runs(plan) > 0
}

/// How many tasks will run.
fn count_of_runs(plan: &ResumePlan) -> usize {
    let tasks = plan.tasks.iter().filter(|task| match task.action {
        TaskAction::Rerun | TaskAction::Run => true,
        TaskAction::Reuse | TaskAction::Blocked => false,
    });
    tasks.count()
}

/// What will happen, in words: changes with their places, then the tasks.
fn tell(plan: &ResumePlan, record: &RunRecord, source: &Source, terminal: &Terminal) -> String {
    let mut text = String::new();
    for change in &plan.changes {
        text.push_str(&changes::told(
            change,
            &source.program.sources,
            &Titles::OF_RUN,
            terminal,
        ));
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
    text.push_str(&changes::tasks(&plan.tasks, terminal));
    text
}
