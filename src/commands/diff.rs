//! `outpostc diff`: whether a run can go on with an edited file.

use crate::args::{DiffArguments, Format};
use crate::changes::{self, Titles};
use crate::choose;
use crate::exit::{Exit, Failure, read_or_not};
use crate::files::Project;
use crate::report::machine::Place;
use crate::revision::{self, Revision};
use crate::source::{self, Source};
use crate::terminal::{Streams, Style, visible};
use outpost_compiler::compat::{Change, Comparison, Judgement, Standing, compare};
use outpost_compiler::compile;
use outpost_compiler::load::Loader;
use outpost_compiler::parts::PlanRecord;
use outpost_compiler::plan::Plan;
use outpost_grammar::SourceMap;
use outpost_runtime::resume::{PlanChange, TaskAction, TaskPlan, Verdict};
use outpost_runtime::{ResumeOptions, preview};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// The version of the JSON form.
const VERSION: u32 = 1;

/// What is said of changes between two files.
const OF_FILES: Titles = Titles {
    incompatible: "cannot change in a run that has begun",
    needs_choice: "was changed, which needs a choice where the task is done",
};

/// Compares, and says what a run would make of it.
pub fn run(arguments: DiffArguments, streams: Streams) -> Result<Exit, Failure> {
    let workflow = arguments.workflow.as_deref();
    let (page, source) = match file_of(&arguments.old) {
        Some(old) => of_files(&old, &new_of(&arguments.new)?, workflow, streams)?,
        None => of_run(&arguments.old, &new_of(&arguments.new)?, workflow, streams)?,
    };
    let mut out = io::stdout().lock();
    match arguments.format {
        Format::Json => {
            let json = serde_json::to_string(&page).map_err(io::Error::other)?;
            read_or_not(writeln!(out, "{json}"))?;
        }
        Format::Human => {
            let text = words(&page, &source.program.sources, streams);
            read_or_not(out.write_all(text.as_bytes()))?;
        }
    }
    Ok(match page.verdict {
        Verdict::Compatible => Exit::Done,
        Verdict::NeedsChoice | Verdict::Incompatible => Exit::Refused,
    })
}

/// The verdict, as programs read it.
#[derive(Serialize)]
struct Page {
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    verdict: Verdict,
    tasks: Vec<TaskPlan>,
    changes: Vec<PlanChange>,
    notes: Vec<String>,
}

/// A file, now or at a revision.
enum File<'a> {
    Now(&'a Path),
    At { revision: &'a str, path: &'a str },
}

/// What is no file may be a run.
fn file_of(text: &str) -> Option<File<'_>> {
    let path = Path::new(text);
    if path.is_file() {
        return Some(File::Now(path));
    }
    match revision::split(text) {
        Some((revision, path)) => Some(File::At { revision, path }),
        None if path.extension().is_some() || text.contains('/') => Some(File::Now(path)),
        None => None,
    }
}

fn new_of(text: &str) -> Result<File<'_>, Failure> {
    file_of(text).ok_or_else(|| {
        Failure::usage(format!("there is no file `{text}`"))
            .help("NEW is a file, or a file at a Git revision: `REV:PATH`; a run comes first")
    })
}

fn load(file: &File<'_>, streams: Streams) -> Result<Source, Failure> {
    let (revision, path) = match file {
        File::Now(path) => return source::of_path(path, streams),
        File::At { revision, path } => (revision, path),
    };
    let (tree, name) = Revision::open(revision, path)?;
    if let Err(error) = tree.load(&name) {
        let message = format!("cannot read `{path}` at revision `{revision}`: {error}");
        return Err(Failure::usage(message));
    }
    source::of_compiled(compile(&tree, &name), &name, streams).inspect_err(|_| {
        // Nobody is left to tell if this cannot be written.
        let _ = writeln!(
            io::stderr(),
            "{}",
            visible(&format!("that is {name} at revision {revision}"), false)
        );
    })
}

fn of_files(
    old: &File<'_>,
    new: &File<'_>,
    workflow: Option<&str>,
    streams: Streams,
) -> Result<(Page, Source), Failure> {
    let (old, new) = (load(old, streams)?, load(new, streams)?);
    let before = old.plan(old.workflow(workflow)?, streams)?;
    let name = &before.workflow().name;
    let same = new.workflow(workflow.or(Some(name)));
    let now = match workflow {
        Some(_) => same?,
        // A workflow that was renamed is compared all the same if there is no other.
        None => same.or_else(|_| new.workflow(None))?,
    };
    let now = new.plan(now, streams)?;
    let record = PlanRecord::of(&before);
    let comparison = compare(&record, &now, &|_| Standing::Done);
    let changes = comparison.changes.iter();
    let page = Page {
        version: VERSION,
        run: None,
        verdict: match comparison.judgement() {
            Judgement::Incompatible => Verdict::Incompatible,
            Judgement::NeedsChoice => Verdict::NeedsChoice,
            Judgement::Allowed | Judgement::Compatible => Verdict::Compatible,
        },
        tasks: tasks(&comparison, &now),
        changes: changes.map(|change| shown(change, &now)).collect(),
        notes: Vec::new(),
    };
    Ok((page, new))
}

fn of_run(
    run: &str,
    new: &File<'_>,
    workflow: Option<&str>,
    streams: Streams,
) -> Result<(Page, Source), Failure> {
    let project = Project::current()?;
    if !choose::is_known(&project, run)? {
        let message = format!("there is no file and no run `{run}`");
        return Err(Failure::usage(message)
            .help("a file at a Git revision is `REV:PATH`; `outpostc runs` lists the runs"));
    }
    let id = choose::by_id(&project, run)?;
    let record = choose::record(&project, &id)?;
    let source = load(new, streams)?;
    let workflow = match workflow {
        Some(name) => source.workflow(Some(name))?,
        None => source.workflow_of_run(&record)?,
    };
    let plan = source.plan(workflow, streams)?;
    let options = ResumeOptions::default();
    let plan = preview(&project.root, &id, &plan, &options).map_err(choose::failure)?;
    let page = Page {
        version: VERSION,
        run: Some(plan.run),
        verdict: plan.verdict,
        tasks: plan.tasks,
        changes: plan.changes,
        notes: plan.notes,
    };
    Ok((page, source))
}

/// What would become of each task if it were done.
fn tasks(comparison: &Comparison, now: &Arc<Plan>) -> Vec<TaskPlan> {
    let of_task = |key: &str| {
        let changes = comparison.changes.iter();
        let mut changes: Vec<&Change> = changes
            .filter(|change| change.task.as_deref() == Some(key))
            .collect();
        changes.sort_by_key(|change| std::cmp::Reverse(change.judgement));
        changes
    };
    let mut tasks: Vec<TaskPlan> = now
        .tasks()
        .iter()
        .map(|task| fate(&task.key, &of_task(&task.key)))
        .collect();
    let removed = comparison
        .changes
        .iter()
        .filter(|change| change.new.is_none());
    let removed = removed.filter(|change| change.part == "task");
    tasks.extend(removed.filter_map(|change| {
        Some(TaskPlan {
            key: change.task.clone()?,
            action: TaskAction::Blocked,
            reason: "it is gone".to_owned(),
        })
    }));
    tasks
}

/// The gravest change comes first.
fn fate(key: &str, changes: &[&Change]) -> TaskPlan {
    let (action, reason) = match changes.first() {
        None => (TaskAction::Reuse, "it is the same".to_owned()),
        Some(change) if change.part == "task" => (TaskAction::Run, "it is new".to_owned()),
        Some(change) => {
            let part = &change.part;
            match change.judgement {
                Judgement::Compatible | Judgement::Allowed => (
                    TaskAction::Reuse,
                    format!("`{part}` concerns only what is not done"),
                ),
                Judgement::NeedsChoice => (
                    TaskAction::Blocked,
                    "its result needs `--keep-results` or `--rerun-changed`".to_owned(),
                ),
                Judgement::Incompatible => (TaskAction::Blocked, format!("`{part}` cannot change")),
            }
        }
    };
    TaskPlan {
        key: key.to_owned(),
        action,
        reason,
    }
}

fn shown(change: &Change, now: &Plan) -> PlanChange {
    let place = Place::of(&now.program().sources, change.at);
    PlanChange {
        task: change.task.clone(),
        part: change.part.clone(),
        old: change.old.clone(),
        new: change.new.clone(),
        file: place.file.to_owned(),
        line: place.line,
        column: place.column,
        verdict: match change.judgement {
            Judgement::Compatible => "compatible",
            Judgement::Allowed => "allowed",
            Judgement::NeedsChoice => "needs-choice",
            Judgement::Incompatible => "incompatible",
        },
    }
}

fn words(page: &Page, sources: &SourceMap, streams: Streams) -> String {
    let terminal = &streams.out;
    let titles = match page.run {
        Some(_) => &Titles::OF_RUN,
        None => &OF_FILES,
    };
    let mut text = String::new();
    for change in &page.changes {
        let told = changes::told(change, sources, titles, terminal);
        text.push_str(&told);
        if told.lines().count() > 1 {
            text.push('\n');
        }
    }
    for note in &page.notes {
        text.push_str(&format!("note: {}\n", visible(note, false)));
    }
    if page.changes.is_empty() {
        text.push_str("nothing differs that a run would notice\n");
    }
    text.push_str("tasks:\n");
    text.push_str(&changes::tasks(&page.tasks, terminal));
    let who = match &page.run {
        Some(run) => format!("run `{run}`"),
        None => "a run".to_owned(),
    };
    let (verdict, style, rest) = match page.verdict {
        Verdict::Compatible => ("compatible", Style::Good, format!("{who} can go on")),
        Verdict::NeedsChoice => (
            "needs a choice",
            Style::Warn,
            format!("{who} can go on with `--keep-results` or `--rerun-changed`"),
        ),
        Verdict::Incompatible => ("incompatible", Style::Bad, format!("{who} cannot go on")),
    };
    let verdict = terminal.paint(style, verdict);
    text.push_str(&format!("{verdict}: {rest}\n"));
    text
}
