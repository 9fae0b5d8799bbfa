//! `outpostc check`: everything that can be known before a run.

use crate::args::{CheckArguments, Deny, ReportFormat};
use crate::commands::explain;
use crate::exit::{Exit, Failure, read_or_not};
use crate::files::{self, Project};
use crate::mend::Mends;
use crate::report::machine::{self, Place};
use crate::report::{self, Count, Findings, counted};
use crate::terminal::{Streams, Style, visible};
use outpost_compiler::program::{Program, WorkflowId};
use outpost_compiler::{compile, plan};
use outpost_grammar::Diagnostic;
use outpost_stdlib::library;
use serde_json::json;
use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often mends are applied: one may bring another mistake to light.
const MAX_FIXES: usize = 8;

/// Checks files and shows what was found.
pub fn run(arguments: CheckArguments, streams: Streams) -> Result<Exit, Failure> {
    let start = Instant::now();
    let files = files::asked(&arguments.paths)?;
    let nothing = files.is_empty();
    let mut checked = check_all(&files)?;
    if arguments.fix {
        for _ in 0..MAX_FIXES {
            if mend(&checked)? == 0 {
                break;
            }
            checked = check_all(&files)?;
        }
    }

    let findings: Vec<Findings<'_>> = checked
        .iter()
        .map(|one| Findings {
            sources: &one.program.sources,
            diagnostics: &one.diagnostics,
        })
        .collect();
    let count = Count::of(findings.iter().flat_map(|one| one.diagnostics));
    let stats = arguments
        .stats
        .then(|| Stats::of(&checked, start.elapsed()));
    let shown = match arguments.format {
        ReportFormat::Human => {
            show(&findings, count, nothing, streams).and_then(|()| match &stats {
                Some(stats) => writeln!(io::stdout().lock(), "{}", stats.words()),
                None => Ok(()),
            })
        }
        ReportFormat::Json => {
            let mut object = machine::json(&findings);
            if let Some(stats) = &stats {
                object["stats"] = stats.json();
            }
            writeln!(io::stdout().lock(), "{object}")
        }
        ReportFormat::Sarif => writeln!(
            io::stdout().lock(),
            "{}",
            machine::sarif(&findings, explain::page)
        ),
        ReportFormat::Github => io::stdout()
            .lock()
            .write_all(machine::github(&findings).as_bytes()),
    };
    read_or_not(shown)?;
    let denied = match arguments.deny {
        Some(Deny::Warnings) => count.errors + count.warnings,
        None => count.errors,
    };
    // The process ends: giving back a million tasks one by one would be time for nothing.
    std::mem::forget(checked);
    Ok(match denied {
        0 => Exit::Done,
        _ => Exit::Failed,
    })
}

/// A file that was checked.
struct Checked {
    project: Project,
    program: Arc<Program>,
    diagnostics: Vec<Diagnostic>,
}

fn check_all(files: &[(Project, PathBuf)]) -> Result<Vec<Checked>, Failure> {
    let mut checked = Vec::with_capacity(files.len());
    for (project, file) in files {
        checked.push(check(project.clone(), file)?);
    }
    forget_repetitions(&mut checked);
    Ok(checked)
}

/// Mends what is certain, says so, and counts it.
fn mend(checked: &[Checked]) -> Result<usize, Failure> {
    let mut mends = Mends::default();
    for one in checked {
        let sources = &one.program.sources;
        for diagnostic in &one.diagnostics {
            mends.take(&one.project, sources, diagnostic);
        }
    }
    let (done, written) = mends.apply();
    let lines = done
        .iter()
        .map(|line| format!("mended {}\n", visible(line, false)));
    read_or_not(io::stderr().write_all(lines.collect::<String>().as_bytes()))?;
    written?;
    Ok(done.len())
}

fn check(project: Project, file: &Path) -> Result<Checked, Failure> {
    let name = files::name(&project, file)?;
    let compiled = compile(&project, &name);
    let healthy = !compiled.has_errors();
    let program = Arc::new(compiled.program);
    let mut diagnostics = compiled.diagnostics;
    if healthy {
        for at in 0..program.own_workflows {
            let workflow = WorkflowId(u32::try_from(at).unwrap_or(u32::MAX));
            if let Err(found) = plan::build(program.clone(), workflow) {
                diagnostics.extend(found);
            }
        }
    }
    Ok(Checked {
        project,
        program,
        diagnostics,
    })
}

/// A file that several others import is compiled with each of them; what is wrong with it is said once.
fn forget_repetitions(checked: &mut [Checked]) {
    let mut seen = HashSet::new();
    for one in checked {
        let sources = &one.program.sources;
        let root = &one.project.root;
        one.diagnostics.retain(|diagnostic| {
            let at = Place::of(sources, diagnostic.at());
            let place = (root.join(at.file), at.line, at.column);
            seen.insert((place, diagnostic.code, diagnostic.message.clone()))
        });
    }
}

fn show(
    findings: &[Findings<'_>],
    count: Count,
    nothing: bool,
    streams: Streams,
) -> io::Result<()> {
    let mut err = BufWriter::new(io::stderr().lock());
    if nothing {
        writeln!(err, "nothing to check: there is no .outpost file")?;
    }
    for one in findings {
        report::write(&mut err, one, &streams.err)?;
    }
    if let Some(words) = count.words() {
        let first = findings.iter().flat_map(|one| one.diagnostics).next();
        let code = first.map_or("CODE", |diagnostic| diagnostic.code.0);
        let style = match count.errors {
            0 => Style::Warn,
            _ => Style::Bad,
        };
        let words = streams.err.paint(style, &words);
        writeln!(err, "{words}; read more with `outpostc explain {code}`")?;
    }
    err.flush()
}

/// How much was checked.
struct Stats {
    files: usize,
    lines: usize,
    bytes: usize,
    workflows: usize,
    tasks: usize,
    took: Duration,
}

impl Stats {
    /// Counts each file once, whoever imports it; the library is not counted.
    fn of(checked: &[Checked], took: Duration) -> Stats {
        let mut stats = Stats {
            files: 0,
            lines: 0,
            bytes: 0,
            workflows: 0,
            tasks: 0,
            took,
        };
        let mut seen = HashSet::new();
        for one in checked {
            let program = &one.program;
            for (_, source) in program.sources.iter() {
                let is_file = library::source(&source.name).is_none();
                if is_file && seen.insert(one.project.root.join(&source.name)) {
                    stats.files += 1;
                    stats.lines += source.text.lines().count();
                    stats.bytes += source.text.len();
                }
            }
            let own = &program.workflows[..program.own_workflows];
            stats.workflows += own.len();
            stats.tasks += own
                .iter()
                .map(|workflow| workflow.tasks.len())
                .sum::<usize>();
        }
        stats
    }

    fn words(&self) -> String {
        format!(
            "checked {}, {}, {}, {} in {:.1} ms",
            counted(self.files, "file"),
            counted(self.lines, "line"),
            counted(self.workflows, "workflow"),
            counted(self.tasks, "task"),
            self.took.as_secs_f64() * 1000.0,
        )
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "files": self.files,
            "lines": self.lines,
            "bytes": self.bytes,
            "workflows": self.workflows,
            "tasks": self.tasks,
            "milliseconds": self.took.as_secs_f64() * 1000.0,
        })
    }
}
