//! `outpostc run`: a new run.

use crate::args::RunArguments;
use crate::choose;
use crate::exit::{Exit, Failure};
use crate::files::{Project, unreadable};
use crate::host::{Session, Wishes};
use crate::inputs;
use crate::progress::Detail;
use crate::source;
use crate::terminal::Streams;
use outpost_compiler::eval::Types;
use outpost_compiler::plan::Plan;
use outpost_runtime::view::RunSummary;
use outpost_runtime::{StartOptions, start};
use std::io::{self, Write};

/// Compiles, checks the inputs, runs.
pub fn run(arguments: RunArguments, streams: Streams) -> Result<Exit, Failure> {
    let project = Project::of_file(&arguments.file)
        .and_then(|project| arguments.file.metadata().map(|_| project))
        .map_err(|error| unreadable(&arguments.file, &error))?;
    let name = project.name_of(&arguments.file).ok_or_else(|| {
        Failure::usage(format!(
            "the path `{}` is not UTF-8",
            arguments.file.display()
        ))
    })?;
    let source = source::load(&project, &name, streams)?;
    let workflow = source.workflow(arguments.workflow.as_deref())?;
    let given = inputs::read(&arguments.input, arguments.inputs.as_deref())?;
    let plan = source.plan(workflow, streams)?;
    let values = inputs::fit(plan.workflow(), &given, &Types(&source.program))?;
    let wishes = Wishes {
        events: arguments.events,
        live: arguments.live,
        detail: arguments.verbosity.detail(),
        format: arguments.format,
    };
    let (session, host) = Session::open(&project, &plan, &wishes, streams)?;
    if !arguments.ephemeral && wishes.detail > Detail::Quiet {
        tell_of_others(&project, &plan, &name)?;
    }
    let options = StartOptions {
        root: project.root.clone(),
        file: name,
        run: arguments.run_id,
        inputs: values,
        concurrency: arguments.concurrency,
        budget_attempts: arguments.budget_attempts,
        ephemeral: arguments.ephemeral,
    };
    let running = start(plan.clone(), options, host);
    session.drive(&project, &plan, arguments.ephemeral, running)
}

/// One line if an unfinished run of the same workflow exists.
fn tell_of_others(project: &Project, plan: &Plan, file: &str) -> Result<(), Failure> {
    let workflow = &*plan.workflow().name;
    let same = |run: &RunSummary| {
        run.file == file && run.workflow == workflow && choose::is_open(project, run)
    };
    let runs = choose::summaries(project)?;
    let mut others = runs.iter().rev().filter(|run| same(run));
    let Some(newest) = others.next() else {
        return Ok(());
    };
    let more = match others.count() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    writeln!(
        io::stderr(),
        "note: run `{id}`{more} of {file} is unfinished ({}); `outpostc resume {id}` goes on with it",
        newest.status.name(),
        id = newest.id,
    )?;
    Ok(())
}
