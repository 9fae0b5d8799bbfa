//! Whether a run may go on with a plan that differs from the one it started from (SEMANTICS J6).

use crate::parts::{Part, PlanRecord, TaskRecord, task_record};
use crate::plan::Plan;
use outpost_grammar::Location;
use std::collections::HashMap;

/// Where a task of the run stands, as far as compatibility asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No attempt of it was ever admitted, and it has not settled.
    Untouched,
    /// An attempt was admitted; the task will run (again) or goes on.
    Begun,
    /// Its value is there.
    Done,
    /// It ended without a value and stays so: skipped by its condition, rejected, exhausted.
    Closed,
}

/// What a difference means for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// Of no consequence for what was done.
    Compatible,
    /// Allowed; takes effect where the task has not settled.
    Allowed,
    /// The task is done: `--keep-results` or `--rerun-changed` must say what becomes of its result.
    NeedsChoice,
    /// The run cannot go on with this plan.
    Incompatible,
}

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The task; `None` for the workflow itself.
    pub task: Option<String>,
    /// Which part: `maxRounds`, `check.tests.command`; `task` when all of it was added or removed.
    pub part: String,
    /// The value in the plan that the run started from.
    pub old: Option<String>,
    /// The value now.
    pub new: Option<String>,
    /// The place in the file as it is now; of something removed, what held it.
    pub at: Location,
    /// What it means.
    pub judgement: Judgement,
}

/// All differences, tasks in the order of the new plan, removed ones last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The differences.
    pub changes: Vec<Change>,
}

impl Comparison {
    /// The gravest judgement; compatible when nothing differs.
    pub fn judgement(&self) -> Judgement {
        let all = self.changes.iter().map(|change| change.judgement);
        all.max().unwrap_or(Judgement::Compatible)
    }

    /// The keys of done tasks whose result needs a choice, each once.
    pub fn needing_choice(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = self
            .changes
            .iter()
            .filter(|change| change.judgement == Judgement::NeedsChoice)
            .filter_map(|change| change.task.as_deref())
            .collect();
        keys.dedup();
        keys
    }
}

/// Compares the recorded plan of a run with a new one, part by part.
pub fn compare(old: &PlanRecord, new: &Plan, standing: &dyn Fn(&str) -> Standing) -> Comparison {
    let mut changes = Vec::new();
    let workflow = new.workflow();
    let record = PlanRecord::of(new);
    for (name, old, new) in differences(&old.workflow, &record.workflow) {
        changes.push(Change {
            task: None,
            part: name.to_owned(),
            old,
            new,
            at: place(&workflow.policy.places, name).unwrap_or(workflow.at),
            judgement: workflow_judgement(name),
        });
    }
    let mut before: HashMap<&str, &TaskRecord> = old
        .tasks
        .iter()
        .map(|task| (task.key.as_str(), task))
        .collect();
    for (id, now) in new.ids().zip(&record.tasks) {
        let task = new.task(id);
        let Some(then) = before.remove(now.key.as_str()) else {
            changes.push(Change {
                task: Some(now.key.clone()),
                part: "task".into(),
                old: None,
                new: Some(part_of(now, "kind")),
                at: task.at,
                judgement: Judgement::Allowed,
            });
            continue;
        };
        for (name, old, new) in differences(&then.parts, &now.parts) {
            changes.push(Change {
                task: Some(now.key.clone()),
                part: name.to_owned(),
                old,
                new,
                at: place(&task.places, name).unwrap_or(task.at),
                judgement: task_judgement(name, standing(&now.key)),
            });
        }
    }
    let removed = old
        .tasks
        .iter()
        .filter(|task| before.contains_key(task.key.as_str()));
    changes.extend(removed.map(|task| Change {
        task: Some(task.key.clone()),
        part: "task".into(),
        old: Some(part_of(task, "kind")),
        new: None,
        at: workflow.at,
        judgement: match standing(&task.key) {
            Standing::Untouched => Judgement::Allowed,
            Standing::Begun | Standing::Done | Standing::Closed => Judgement::Incompatible,
        },
    }));
    Comparison { changes }
}

/// The record of one task of a plan compared with another's: the names of the parts that differ.
pub fn changed_parts(old: &TaskRecord, new: &Plan, key: &str) -> Vec<String> {
    let Some(id) = new.find(key) else {
        return vec!["task".into()];
    };
    let now = task_record(new, id);
    differences(&old.parts, &now.parts)
        .into_iter()
        .map(|(name, ..)| name.to_owned())
        .collect()
}

type Difference<'p> = (&'p str, Option<String>, Option<String>);

/// The parts that differ, in the order of the new list, removed ones last.
fn differences<'p>(old: &'p [Part], new: &'p [Part]) -> Vec<Difference<'p>> {
    if old == new {
        return Vec::new();
    }
    let before: HashMap<&str, &str> = old
        .iter()
        .map(|Part(n, v)| (n.as_str(), v.as_str()))
        .collect();
    let after: HashMap<&str, &str> = new
        .iter()
        .map(|Part(n, v)| (n.as_str(), v.as_str()))
        .collect();
    let changed = new.iter().filter_map(|Part(name, value)| {
        let was = before.get(name.as_str()).copied();
        (was != Some(value)).then(|| (name.as_str(), was.map(str::to_owned), Some(value.clone())))
    });
    let removed = old
        .iter()
        .filter(|Part(name, _)| !after.contains_key(name.as_str()))
        .map(|Part(name, value)| (name.as_str(), Some(value.clone()), None));
    changed.chain(removed).collect()
}

fn part_of(task: &TaskRecord, name: &str) -> String {
    let mut parts = task.parts.iter().filter(|Part(n, _)| n == name);
    parts
        .next()
        .map(|Part(_, value)| value.clone())
        .unwrap_or_default()
}

/// The place of a part: the property that its name begins with.
fn place(places: &[(&'static str, Location)], part: &str) -> Option<Location> {
    let find = |name: &str| places.iter().find(|(n, _)| *n == name).map(|(_, at)| *at);
    find(part).or_else(|| find(part.split('.').next().unwrap_or(part)))
}

fn workflow_judgement(part: &str) -> Judgement {
    match part.split('.').next().unwrap_or(part) {
        "name" | "version" => Judgement::Incompatible,
        "budget" | "prices" | "concurrency" | "onError" | "onQuota" | "timeout" => {
            Judgement::Compatible
        }
        // The inputs are the run's: what a declaration says now, matters to new runs only.
        _ => Judgement::Allowed,
    }
}

fn task_judgement(part: &str, standing: Standing) -> Judgement {
    match part.split('.').next().unwrap_or(part) {
        "kind" | "maxRounds" | "prompt" | "actors" | "question" | "choices" | "freeText"
        | "type" => Judgement::Incompatible,
        "after" | "for" | "key" | "trigger" if standing != Standing::Untouched => {
            Judgement::Incompatible
        }
        "timeout" | "retry" | "retryPhase" | "stopOnStall" | "parallel" | "cache" => {
            Judgement::Allowed
        }
        _ if standing == Standing::Done => Judgement::NeedsChoice,
        _ => Judgement::Allowed,
    }
}
