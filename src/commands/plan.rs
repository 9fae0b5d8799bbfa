//! `outpostc plan`: what would run, and how much of it at most.

use crate::args::{Format, PlanArguments};
use crate::exit::{Exit, Failure};
use crate::source;
use crate::terminal::{Streams, visible};
use outpost_compiler::bounds::{Bounds, json, page};
use std::io::{self, Write};

/// Shows the bounds of a workflow.
pub fn run(arguments: PlanArguments, streams: Streams) -> Result<Exit, Failure> {
    let source = source::of_path(&arguments.file, streams)?;
    let workflow = source.workflow(arguments.workflow.as_deref())?;
    let bounds = Bounds::of(&*source.plan(workflow, streams)?);
    let mut out = io::stdout().lock();
    match arguments.format {
        Format::Human => out.write_all(visible(&page::draw(&bounds), false).as_bytes())?,
        Format::Json => writeln!(out, "{}", json::draw(&bounds))?,
    }
    Ok(Exit::Done)
}
