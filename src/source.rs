//! From a file to a plan, with everything that is wrong shown on the way.

use crate::exit::{Exit, Failure, read_or_not};
use crate::files::{self, Project, unreadable};
use crate::report::{self, Count, Findings};
use crate::terminal::{Streams, Style, visible};
use outpost_compiler::load::Loader;
use outpost_compiler::plan::{self, Plan};
use outpost_compiler::program::{Program, WorkflowId};
use outpost_compiler::{Compiled, compile};
use outpost_grammar::{Diagnostic, SourceMap};
use outpost_runtime::RunRecord;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// A file that was compiled without errors.
pub struct Source {
    /// Its name in the project.
    pub name: String,
    /// What it means.
    pub program: Arc<Program>,
}

/// Compiles a file. Errors are shown; warnings are only counted, `check` shows them.
pub fn load(loader: &dyn Loader, name: &str, streams: Streams) -> Result<Source, Failure> {
    let compiled = compile(loader, name);
    let count = Count::of(&compiled.diagnostics);
    let source = of_compiled(compiled, name, streams)?;
    if let Some(words) = count.words() {
        let warnings = streams.err.paint(Style::Warn, &words);
        let name = visible(name, false);
        writeln!(
            io::stderr(),
            "{warnings} in {name}; `outpostc check {name}` shows more"
        )?;
    }
    Ok(source)
}

/// A file that was compiled. Errors are shown with all else that was found, and end the command.
pub fn of_compiled(compiled: Compiled, name: &str, streams: Streams) -> Result<Source, Failure> {
    if compiled.has_errors() {
        let sources = &compiled.program.sources;
        read_or_not(show(sources, &compiled.diagnostics, streams))?;
        return Err(Failure::silent(Exit::Usage));
    }
    Ok(Source {
        name: name.to_owned(),
        program: Arc::new(compiled.program),
    })
}

/// The file of a run, or the one that stands for it. One that is gone is no mistake of usage: the run cannot go on.
pub fn of_run(
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
        Ok(_) => load(project, &name, streams),
        Err(error) => Err(Failure::new(
            Exit::Refused,
            format!(
                "the file of run `{}`, {name}, cannot be read: {error}",
                record.run
            ),
        )),
    }
}

/// Compiles a file at a path.
pub fn of_path(path: &Path, streams: Streams) -> Result<Source, Failure> {
    let project = Project::of_file(path).map_err(|error| unreadable(path, &error))?;
    let name = files::name(&project, path)?;
    let metadata = path.metadata().map_err(|error| unreadable(path, &error))?;
    if metadata.is_dir() {
        let message = format!("`{}` is a folder, and one file is wanted", path.display());
        return Err(Failure::usage(message));
    }
    load(&project, &name, streams)
}

/// Shows diagnostics and counts them.
pub fn show(sources: &SourceMap, diagnostics: &[Diagnostic], streams: Streams) -> io::Result<()> {
    let mut err = BufWriter::new(io::stderr().lock());
    let findings = Findings {
        sources,
        diagnostics,
    };
    report::write(&mut err, &findings, &streams.err)?;
    if let Some(words) = Count::of(diagnostics).words() {
        writeln!(err, "{}", streams.err.paint(Style::Bad, &words))?;
    }
    err.flush()
}

impl Source {
    /// The workflow of a name, or the only one.
    pub fn workflow(&self, name: Option<&str>) -> Result<WorkflowId, Failure> {
        let own = &self.program.workflows[..self.program.own_workflows];
        let names: Vec<&str> = own.iter().map(|workflow| &*workflow.name).collect();
        let list = names.join(", ");
        let at = match (name, names.len()) {
            (_, 0) => Err(Failure::usage(format!("`{}` has no workflow", self.name))),
            (None, 1) => Ok(0),
            (None, count) => Err(
                Failure::usage(format!("`{}` has {count} workflows", self.name))
                    .help(format!("say which one: {list}")),
            ),
            (Some(name), _) => names
                .iter()
                .position(|known| *known == name)
                .ok_or_else(|| {
                    Failure::usage(format!("`{}` has no workflow `{name}`", self.name))
                        .help(format!("it has {list}"))
                }),
        };
        at.map(|at| WorkflowId(at as u32))
    }

    /// The workflow of a run; one that was renamed is compared all the same if there is no other.
    pub fn workflow_of_run(&self, record: &RunRecord) -> Result<WorkflowId, Failure> {
        let known = self.workflow(Some(&record.workflow));
        let only = || match self.program.own_workflows {
            1 => self.workflow(None),
            _ => self.workflow(Some(&record.workflow)),
        };
        known.or_else(|_| only()).map_err(|failure| Failure {
            exit: Exit::Refused,
            ..failure
        })
    }

    /// What will happen when a workflow runs.
    pub fn plan(&self, workflow: WorkflowId, streams: Streams) -> Result<Arc<Plan>, Failure> {
        match plan::build(self.program.clone(), workflow) {
            Ok(plan) => Ok(Arc::new(plan)),
            Err(diagnostics) => {
                read_or_not(show(&self.program.sources, &diagnostics, streams))?;
                Err(Failure::silent(Exit::Usage))
            }
        }
    }
}
