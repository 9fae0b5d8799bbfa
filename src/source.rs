//! From a file to a plan, with everything that is wrong shown on the way.

use crate::exit::{Exit, Failure, read_or_not};
use crate::files::Project;
use crate::report::{self, Count, Findings};
use crate::terminal::{Streams, Style};
use outpost_compiler::compile;
use outpost_compiler::plan::{self, Plan};
use outpost_compiler::program::{Program, WorkflowId};
use outpost_grammar::{Diagnostic, SourceMap};
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

/// A file that was compiled without errors.
pub struct Source {
    /// Its name in the project.
    pub name: String,
    /// What it means.
    pub program: Arc<Program>,
}

/// Compiles a file. Errors are shown; warnings are only counted, `check` shows them.
pub fn load(project: &Project, name: &str, streams: Streams) -> Result<Source, Failure> {
    let compiled = compile(project, name);
    let count = Count::of(&compiled.diagnostics);
    if count.errors > 0 {
        read_or_not(show(
            &compiled.program.sources,
            &compiled.diagnostics,
            streams,
        ))?;
        return Err(Failure::silent(Exit::Usage));
    }
    if let Some(words) = count.words() {
        let warnings = streams.err.paint(Style::Warn, &words);
        writeln!(
            io::stderr(),
            "{warnings} in {name}; `outpostc check {name}` shows more"
        )?;
    }
    Ok(Source {
        name: name.to_owned(),
        program: Arc::new(compiled.program),
    })
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
