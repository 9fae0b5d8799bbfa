//! `outpostc runs`: the runs of a project, and whether they are whole.

use crate::args::{Format, RunsArguments, RunsCommand, VerifyArguments};
use crate::choose;
use crate::exit::{Exit, Failure};
use crate::files::Project;
use crate::fitness::{self, Fitness};
use crate::summary::style_of;
use crate::terminal::{Streams, Style};
use crate::words::clock_time;
use outpost_runtime::clock::Timestamp;
use outpost_runtime::journal::JournalFault;
use outpost_runtime::view::{Listed, RunSummary};
use outpost_runtime::{RunFault, list_runs, verify};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Lists the runs, the newest first, or checks them.
pub fn run(arguments: RunsArguments, streams: Streams) -> Result<Exit, Failure> {
    let project = Project::current()?;
    match arguments.command {
        Some(RunsCommand::Verify(arguments)) => verify_all(&project, arguments, streams),
        None => {
            let mut runs = list_runs(&project.root).map_err(|error| choose::unlistable(&error))?;
            runs.reverse();
            match arguments.format {
                Format::Human => table(&project, &runs, streams)?,
                Format::Json => {
                    let runs: Vec<Value> = runs.iter().map(|run| listed(&project, run)).collect();
                    let object = json!({ "version": 1, "runs": runs });
                    writeln!(io::stdout().lock(), "{object}")?;
                }
            }
            Ok(Exit::Done)
        }
    }
}

fn table(project: &Project, runs: &[Listed], streams: Streams) -> io::Result<()> {
    if runs.is_empty() {
        return writeln!(io::stderr(), "this project has no runs");
    }
    let terminal = &streams.out;
    let mut out = io::stdout().lock();
    let ids = runs.iter().map(|run| id_of(run).len());
    let width = ids.max().unwrap_or(0);
    for run in runs {
        let id = terminal.paint(Style::Bold, &format!("{:width$}", id_of(run)));
        match run {
            Ok(run) => {
                let status = format!("{:13}", run.status.name());
                let status = terminal.paint(style_of(run.status), &status);
                writeln!(
                    out,
                    "{id}  {status}  {}  {} ({})",
                    clock_time(run.started),
                    run.workflow,
                    run.file
                )?;
                if let Fitness::Unfit { reason, command } = fitness::of_summary(project, run) {
                    let reason = terminal.paint(Style::Warn, &reason);
                    writeln!(out, "{:width$}  {reason}; see `{command}`", "")?;
                }
            }
            Err((run, fault)) => {
                let status = terminal.paint(Style::Bad, &format!("{:13}", damage(fault)));
                writeln!(
                    out,
                    "{id}  {status}  {fault}; see `outpostc runs verify {run}`"
                )?;
            }
        }
    }
    Ok(())
}

fn id_of(run: &Listed) -> &str {
    match run {
        Ok(run) => &run.id,
        Err((id, _)) => id,
    }
}

fn damage(fault: &JournalFault) -> &'static str {
    match fault {
        JournalFault::Io(_) => "unreadable",
        JournalFault::Damaged { .. } => "damaged",
        JournalFault::Newer { .. } => "newer",
    }
}

fn listed(project: &Project, run: &Listed) -> Value {
    let run: &RunSummary = match run {
        Ok(run) => run,
        Err((id, fault)) => {
            return json!({ "run": id, "status": damage(fault), "message": fault.to_string() });
        }
    };
    let edited = match fitness::of_summary(project, run) {
        Fitness::Fit => Value::Null,
        Fitness::Unfit { reason, command } => json!({ "reason": reason, "command": command }),
    };
    json!({
        "run": run.id,
        "workflow": run.workflow,
        "file": run.file,
        "status": run.status.name(),
        "started": run.started.rfc3339(),
        "finished": run.finished.map(Timestamp::rfc3339),
        "pid": run.owner.as_ref().map(|owner| owner.pid),
        "edited": edited,
    })
}

/// Checks journals from the first record to the last.
fn verify_all(
    project: &Project,
    arguments: VerifyArguments,
    streams: Streams,
) -> Result<Exit, Failure> {
    let mut runs = Vec::new();
    for id in &arguments.runs {
        runs.push(choose::by_id(project, id)?);
    }
    if arguments.runs.is_empty() {
        let all = list_runs(&project.root).map_err(|error| choose::unlistable(&error))?;
        runs.extend(all.iter().map(|run| id_of(run).to_owned()));
    }
    let mut exit = Exit::Done;
    let mut verdicts = Vec::new();
    let mut out = io::stdout().lock();
    let width = runs.iter().map(String::len).max().unwrap_or(0);
    for run in runs {
        let verdict = verify(&project.root, &run);
        if verdict.is_err() {
            exit = Exit::Refused;
        }
        match arguments.format {
            Format::Json => verdicts.push(match &verdict {
                Ok(end) => {
                    json!({ "run": run, "whole": true, "records": end.seq, "sealed": end.sealed })
                }
                Err(fault) => json!({ "run": run, "whole": false, "message": fault.to_string() }),
            }),
            Format::Human => {
                let words = match &verdict {
                    Ok(end) => {
                        let seal = match end.sealed {
                            true => "",
                            false => "; without a side file, so records at its end may be lost",
                        };
                        format!("whole, {} records{seal}", end.seq)
                    }
                    Err(fault) => streams.out.paint(Style::Bad, &damage_words(fault)),
                };
                writeln!(
                    out,
                    "{}  {words}",
                    streams.out.paint(Style::Bold, &format!("{run:width$}"))
                )?;
            }
        }
    }
    if arguments.format == Format::Json {
        writeln!(out, "{}", json!({ "version": 1, "runs": verdicts }))?;
    }
    Ok(exit)
}

fn damage_words(fault: &RunFault) -> String {
    format!("damaged: {fault}; the files are left as they are")
}
