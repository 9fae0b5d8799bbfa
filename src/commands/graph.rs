//! `outpostc graph`: a workflow, or a run, as a picture.

use crate::args::{GraphArguments, GraphFormat, RunChoice};
use crate::choose;
use crate::exit::{Exit, Failure, read_or_not};
use crate::files::{Project, unreadable};
use crate::fitness::{self, Fitness};
use crate::source;
use crate::terminal::{Streams, Style, visible};
use outpost_compiler::graph::{Graph, State, Status, ascii, dot, json, mermaid, svg};
use outpost_runtime::event;
use outpost_runtime::record::{TaskRecord, TaskStatus};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// Draws.
pub fn run(arguments: GraphArguments, streams: Streams) -> Result<Exit, Failure> {
    let workflow = arguments.workflow.as_deref();
    let graph = match arguments.target.as_deref() {
        Some(file) if is_file(file) => of_file(file, workflow, streams)?,
        Some(_) | None if workflow.is_some() => {
            return Err(Failure::usage(
                "a run is of one workflow, which need not be named",
            ));
        }
        Some(run) => of_run(Some(run), streams)?,
        None => of_run(None, streams)?,
    };
    let graph = match arguments.collapse {
        true => graph.collapsed(),
        false => graph,
    };
    let mut out = io::stdout().lock();
    match arguments.format {
        GraphFormat::Ascii => {
            let text = visible(&ascii::draw(&graph, streams.out.width), false);
            let text = match streams.out.dumb {
                true => plain(&text),
                false => text,
            };
            out.write_all(text.as_bytes())?;
        }
        GraphFormat::Svg => write_line(&mut out, &svg::draw(&graph))?,
        GraphFormat::Mermaid => write_line(&mut out, &mermaid::draw(&graph))?,
        GraphFormat::Dot => write_line(&mut out, &dot::draw(&graph))?,
        GraphFormat::Json => write_line(&mut out, &json::draw(&graph))?,
    }
    Ok(Exit::Done)
}

/// Whether a file is meant and no run: it is there, or is named like one.
fn is_file(path: &Path) -> bool {
    let is_path = path.components().count() > 1 || path.extension().is_some();
    is_path || path.is_file()
}

fn of_file(file: &Path, workflow: Option<&str>, streams: Streams) -> Result<Graph, Failure> {
    let source = source::of_path(file, streams)?;
    let plan = source.plan(source.workflow(workflow)?, streams)?;
    Ok(Graph::of(&plan))
}

fn of_run(run: Option<&Path>, streams: Streams) -> Result<Graph, Failure> {
    let project = Project::current()?;
    let choice = RunChoice {
        run: run.map(|run| run.to_string_lossy().into_owned()),
        last: run.is_none(),
    };
    if let (Some(path), Some(id)) = (run, &choice.run)
        && !choose::is_known(&project, id)?
    {
        let missing = path.metadata().err();
        return Err(match missing {
            Some(error) => {
                unreadable(path, &error).help("it is no run either; `outpostc runs` lists the runs")
            }
            None => Failure::usage(format!("`{id}` is a folder, and no run")),
        });
    }
    let id = choose::run(&project, &choice)?;
    let record = choose::record(&project, &id)?;
    let source = source::of_run(&project, &record, None, streams)?;
    let plan = source.plan(source.workflow_of_run(&record)?, streams)?;
    if let Fitness::Unfit { reason, .. } = fitness::of_record(&project, &record) {
        let reason = streams.err.paint(Style::Warn, &visible(&reason, false));
        read_or_not(writeln!(io::stderr(), "{reason}"))?;
    }
    let states: BTreeMap<String, State> = record
        .tasks
        .iter()
        .map(|task| (task.key.clone(), state(task)))
        .collect();
    Ok(Graph::of(&plan).with_states(&states))
}

fn state(task: &TaskRecord) -> State {
    State {
        status: status(task.status),
        attempts: u64::from(task.attempts),
        rounds: task.rounds.last().map_or(0, |round| round.round),
        items: BTreeMap::new(),
    }
}

fn status(status: TaskStatus) -> Status {
    match status {
        TaskStatus::Waiting => Status::Waiting,
        TaskStatus::Active => Status::Active,
        TaskStatus::Paused => Status::Paused,
        TaskStatus::Settled(settled) => match settled {
            event::Status::Done => Status::Done,
            event::Status::Failed => Status::Failed,
            event::Status::Skipped => Status::Skipped,
            event::Status::Cancelled => Status::Cancelled,
            event::Status::Paused => Status::Paused,
            event::Status::Rejected => Status::Rejected,
            event::Status::WaitingInput => Status::WaitingInput,
        },
    }
}

/// The lines of a picture for a terminal that has no others.
fn plain(picture: &str) -> String {
    let plain = |character: char| match character {
        '─' | '┄' => '-',
        '│' => '|',
        '┆' => ':',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' => '+',
        '▶' => '>',
        '▼' => 'v',
        other => other,
    };
    picture.chars().map(plain).collect()
}

/// A text that ends in one newline.
fn write_line(to: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(to, "{}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumb_terminal_gets_signs_that_it_has() {
        let picture = "┌─┬┄┐\n│é│ ┆\n├▶┼▼┤\n└─┴─┘\n";
        assert_eq!(plain(picture), "+-+-+\n|é| :\n+>+v+\n+-+-+\n");
    }
}
