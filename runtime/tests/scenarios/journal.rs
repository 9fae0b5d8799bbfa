//! Scenarios 22, 24–26 and 44–45: owners, damage, changes, lists.

use crate::build::*;
use crate::world::*;
use outpost_compiler::program::Action;
use outpost_runtime::executor::ActionRequest;
use outpost_runtime::executor::scripted::Answer;
use outpost_runtime::resume::{TaskAction, Verdict, refusal};
use outpost_runtime::{
    RefusalReason, ResumeOptions, RunFault, StartOptions, list_runs, open_run, preview, resume,
    verify,
};
use outpost_stdlib::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn ok(call: &ActionRequest, _: usize) -> Answer {
    exits(0, &call.task)
}

fn folder(world: &World) -> PathBuf {
    world.root().join(".outpost/runs").join(RUN)
}

fn reason(ended: &Ended) -> RefusalReason {
    match &ended.record {
        Err(RunFault::Refused(refusal)) => refusal.reason.clone(),
        other => panic!("refused, not {other:?}"),
    }
}

/// Scenario 22 (J4).
#[test]
fn a_run_has_one_owner() {
    let plan = planned(workflow(vec![runs("a", &[]), runs("b", &[0])]));
    let world = World::new();
    let broken = Extras {
        breaks_at: Some(2),
        ..Extras::default()
    };
    assert!(world.start(&plan, ok, broken).record.is_err());
    let options = ResumeOptions::default();
    let owner = resume(world.root(), RUN, &plan, &options, LATER).unwrap();
    let second = world.resume(&plan, ok, &options, Extras::default());
    let RefusalReason::InUse(Some(named)) = reason(&second) else {
        panic!("in use");
    };
    assert_eq!((named.pid, named.since), (std::process::id(), LATER));
    assert!(second.called().is_empty());
    let view = open_run(world.root(), RUN).unwrap();
    assert_eq!(view.record.status.name(), "running");
    drop(owner);
    let view = open_run(world.root(), RUN).unwrap();
    assert_eq!(view.record.status.name(), "interrupted");
}

/// J4: a dead owner of this machine is taken over with one line, one of another machine only on request.
#[test]
fn a_dead_owner_is_taken_over() {
    let plan = planned(workflow(vec![value("a", &[], int(1)), runs("b", &[0])]));
    let world = World::new();
    world.start(&plan, ok, Extras::default());
    let lock = folder(&world).join("lock");
    let options = ResumeOptions::default();
    fs::write(&lock, r#"{"pid":1,"host":"elsewhere","since":0}"#).unwrap();
    let refused = world.resume(&plan, ok, &options, Extras::default());
    assert!(matches!(reason(&refused), RefusalReason::OtherMachine(_)));
    let taking = ResumeOptions {
        take_over: true,
        ..ResumeOptions::default()
    };
    let resumption = resume(world.root(), RUN, &plan, &taking, LATER).unwrap();
    assert_eq!(resumption.plan().notes.len(), 1);
    drop(resumption);
    fs::write(&lock, [0xff, 0, 7]).unwrap();
    assert!(resume(world.root(), RUN, &plan, &options, LATER).is_ok());
}

/// A run that was stopped in the middle, with enough in it to fill some pages.
fn stopped(breaks_at: Option<usize>) -> (World, std::sync::Arc<outpost_compiler::plan::Plan>) {
    let big = Value::text("x".repeat(3_000));
    let mut tasks: Vec<_> = (0..6)
        .map(|at| value(&format!("v{at}"), &[], constant(big.clone())))
        .collect();
    tasks.push(runs("a", &[0]));
    tasks.push(runs("b", &[6]));
    tasks.push(runs("c", &[7]));
    let plan = planned(workflow(tasks));
    let world = World::new();
    let extras = Extras {
        breaks_at,
        ..Extras::default()
    };
    let _ = world.start(&plan, ok, extras);
    (world, plan)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A run as `kill -9` leaves it: with what SQLite has not yet moved from its log.
fn killed() -> (World, std::sync::Arc<outpost_compiler::plan::Plan>) {
    let (world, plan) = stopped(Some(2));
    let killed = World::new();
    let options = ResumeOptions {
        retry_incomplete: true,
        ..ResumeOptions::default()
    };
    // While the journal is open its log is there; that is what a killed process leaves.
    let from = folder(&world);
    let to = folder(&killed);
    let copied = std::rc::Rc::new(std::cell::Cell::new(false));
    let taken = copied.clone();
    struct Copying(PathBuf, PathBuf, std::rc::Rc<std::cell::Cell<bool>>);
    impl outpost_runtime::Observer for Copying {
        fn event(&mut self, event: &outpost_runtime::PublicEvent) -> Result<(), String> {
            if event.kind == "task" && !self.2.replace(true) {
                copy(&self.0, &self.1);
            }
            Ok(())
        }
    }
    let extras = Extras {
        observer: Some(Box::new(Copying(from, to, taken))),
        ..Extras::default()
    };
    world.resume(&plan, ok, &options, extras);
    assert!(copied.get());
    assert!(folder(&killed).join("journal.db-wal").exists());
    (killed, plan)
}

/// Scenario 24 (J3): a flipped bit or a cut anywhere is refused, or has no effect at all.
#[test]
fn damage_is_refused_or_harmless() {
    for (world, plan) in [stopped(None), stopped(Some(2)), killed()] {
        let options = ResumeOptions::default();
        let whole = preview(world.root(), RUN, &plan, &options).unwrap();
        let record = serde_json::to_string(&open_run(world.root(), RUN).unwrap().record).unwrap();
        let names = ["journal.db", "journal.db-wal", "seal", "lock"];
        let files = names.iter().map(|name| folder(&world).join(name));
        for file in files.filter(|file| file.exists()) {
            let bytes = fs::read(&file).unwrap();
            let pages = bytes.len().div_ceil(4096);
            for page in 0..pages {
                // Near the start, in the middle and at the end of the page.
                let places = [7, 24, 2048, 4090].map(|at| page * 4096 + at);
                let flips = places.into_iter().filter(|at| *at < bytes.len());
                let mut damaged: Vec<Vec<u8>> = flips
                    .map(|at| {
                        let mut bytes = bytes.clone();
                        bytes[at] ^= 0x10;
                        bytes
                    })
                    .collect();
                damaged.push(bytes[..page * 4096].to_vec());
                for bytes in damaged {
                    let victim = World::new();
                    copy(&folder(&world), &folder(&victim));
                    let target = folder(&victim).join(file.file_name().unwrap());
                    fs::write(&target, &bytes).unwrap();
                    let before = fs::read(folder(&victim).join("journal.db")).unwrap();
                    match open_run(victim.root(), RUN) {
                        Ok(view) => {
                            let now = serde_json::to_string(&view.record).unwrap();
                            let told = !view.sealed;
                            assert!(now == record || told, "{} page {page}", file.display());
                            let plan = preview(victim.root(), RUN, &plan, &options).unwrap();
                            assert!(plan.tasks == whole.tasks || told);
                        }
                        Err(fault) => {
                            assert!(!fault.to_string().is_empty());
                            assert!(resume(victim.root(), RUN, &plan, &options, LATER).is_err());
                            assert!(verify(victim.root(), RUN).is_err());
                            let after = fs::read(folder(&victim).join("journal.db")).unwrap();
                            assert!(before == after, "the file is left as it is");
                        }
                    }
                }
            }
        }
    }
}

/// J3: the log of SQLite loses its tail silently; the side file tells.
#[test]
fn a_lost_tail_is_noticed() {
    let (world, plan) = killed();
    let log = folder(&world).join("journal.db-wal");
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 10]).unwrap();
    let Err(RunFault::Refused(refusal)) =
        resume(world.root(), RUN, &plan, &ResumeOptions::default(), LATER)
    else {
        panic!("records are missing");
    };
    assert_eq!(refusal.reason, RefusalReason::Damaged);
    // Without the side file, as after a power loss, what is there is accepted and said to be unsure.
    fs::remove_file(folder(&world).join("seal")).unwrap();
    let plan = preview(world.root(), RUN, &plan, &ResumeOptions::default()).unwrap();
    assert_eq!(plan.notes.len(), 1);
}

/// C2: a large value is stored once beside the journal, and damage to it is noticed.
#[test]
fn large_values_stand_beside_the_journal() {
    let big = Value::text("y".repeat(100_000));
    let plan = planned(workflow(vec![
        value("a", &[], constant(big.clone())),
        value("b", &[0], of(0)),
    ]));
    let world = World::new();
    world.start(&plan, ok, Extras::default());
    let values = folder(&world).join("values");
    let files: Vec<_> = fs::read_dir(&values)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    // The value, and the record of the plan that holds it as a constant.
    assert_eq!(files.len(), 2);
    let view = open_run(world.root(), RUN).unwrap();
    assert_eq!(view.record.task("b").unwrap().value, Some(big));
    for file in files {
        fs::write(file, "\"other\"").unwrap();
    }
    let fault = open_run(world.root(), RUN).unwrap_err().to_string();
    assert!(fault.contains("changed"), "{fault}");
}

/// J3: a journal of another run is refused.
#[test]
fn a_foreign_journal_is_refused() {
    let (world, plan) = stopped(None);
    let other = world.root().join(".outpost/runs/other");
    copy(&folder(&world), &other);
    let fault = open_run(world.root(), "other").unwrap_err();
    assert!(fault.to_string().contains("another run"), "{fault}");
    assert!(preview(world.root(), "other", &plan, &ResumeOptions::default()).is_err());
    assert!(open_run(world.root(), "none").is_err());
    assert!(open_run(world.root(), "../runs/run1").is_err());
}

/// J8: a journal of a newer format is refused, naming both versions.
#[test]
fn a_newer_journal_is_refused() {
    let (world, _) = stopped(None);
    let database = rusqlite::Connection::open(folder(&world).join("journal.db")).unwrap();
    database
        .execute_batch("UPDATE meta SET value = '99' WHERE key = 'format'; UPDATE meta SET value = '7.0.0' WHERE key = 'outpostc'")
        .unwrap();
    drop(database);
    let fault = open_run(world.root(), RUN).unwrap_err();
    assert!(fault.to_string().contains("7.0.0"), "{fault}");
    assert!(
        fault.to_string().contains(env!("CARGO_PKG_VERSION")),
        "{fault}"
    );
}

/// Scenario 25 (J6): some rows of the table; all of them are tested where plans are compared.
#[test]
fn changes_have_their_verdicts() {
    let first = || {
        vec![
            value("done", &[], int(1)),
            runs("next", &[0]),
            looped("fix", &[1], commands_loop(3)),
        ]
    };
    let plan = planned(workflow(first()));
    let world = World::new();
    let broken = Extras {
        breaks_at: Some(1),
        ..Extras::default()
    };
    assert!(world.start(&plan, ok, broken).record.is_err());
    let options = ResumeOptions::default();
    let see = |tasks, options: &ResumeOptions| {
        preview(world.root(), RUN, &planned(workflow(tasks)), options).unwrap()
    };
    let same = see(first(), &options);
    assert_eq!(same.verdict, Verdict::Compatible);
    let actions: Vec<_> = same.tasks.iter().map(|task| task.action).collect();
    assert_eq!(
        actions,
        [TaskAction::Reuse, TaskAction::Blocked, TaskAction::Run]
    );

    let mut rounds = first();
    rounds[2] = looped("fix", &[1], commands_loop(4));
    let refused = see(rounds, &options);
    assert_eq!(refused.verdict, Verdict::Incompatible);
    let change = &refused.changes[0];
    assert_eq!(
        (change.old.as_deref(), change.new.as_deref()),
        (Some("3"), Some("4"))
    );
    assert_eq!((change.file.as_str(), change.line), ("main.outpost", 1));
    assert_eq!(
        refusal(&refused).unwrap().reason,
        RefusalReason::Incompatible
    );

    let mut body = first();
    body[0] = value("done", &[], int(2));
    let refused = see(body, &options);
    assert_eq!(refused.verdict, Verdict::NeedsChoice);
    let keep = ResumeOptions {
        keep_results: true,
        ..ResumeOptions::default()
    };
    let mut body = first();
    body[0] = value("done", &[], int(2));
    assert_eq!(see(body, &keep).tasks[0].action, TaskAction::Reuse);
    let rerun = ResumeOptions {
        rerun_changed: true,
        retry_incomplete: true,
        ..ResumeOptions::default()
    };
    let mut body = first();
    body[0] = value("done", &[], int(2));
    let changed = planned(workflow(body));
    let ended = world.resume(&changed, accepting, &rerun, Extras::default());
    assert_eq!(ended.value("done"), Value::Int(2));
    assert_eq!(ended.attempts("done"), 2);
    assert_eq!(ended.record().status.name(), "done");
}

fn accepting(_: &ActionRequest, _: usize) -> Answer {
    exits(0, "")
}

/// J6: a task that was never admitted may be added and taken away, and the journal still reads.
#[test]
fn tasks_may_come_and_go() {
    let plan = planned(workflow(vec![
        runs("a", &[]),
        runs("b", &[0]),
        runs("gone", &[1]),
    ]));
    let world = World::new();
    let broken = Extras {
        breaks_at: Some(2),
        ..Extras::default()
    };
    assert!(world.start(&plan, ok, broken).record.is_err());
    let changed = planned(workflow(vec![
        value("new", &[], int(7)),
        runs("a", &[]),
        runs("b", &[1]),
    ]));
    let options = ResumeOptions {
        retry_incomplete: true,
        ..ResumeOptions::default()
    };
    let broken = Extras {
        breaks_at: Some(1),
        ..Extras::default()
    };
    assert!(world.resume(&changed, ok, &options, broken).record.is_err());
    let ended = world.resume(&changed, ok, &options, Extras::default());
    assert_eq!(ended.record().status.name(), "done");
    let keys: Vec<_> = ended
        .record()
        .tasks
        .iter()
        .map(|task| task.key.clone())
        .collect();
    assert_eq!(keys, ["new", "a", "b"]);
    assert_eq!(
        open_run(world.root(), RUN)
            .unwrap()
            .record
            .task("new")
            .unwrap()
            .value,
        Some(Value::Int(7))
    );
}

/// Scenario 26: keys that differ only in case have streams in different folders on every system.
#[test]
fn keys_that_differ_in_case_do_not_meet() {
    let plan = planned(workflow(vec![
        runs("a", &[]),
        runs("A", &[]),
        runs("a..", &[]),
    ]));
    let world = World::new();
    let ended = world.start(&plan, ok, Extras::default());
    let logs: Vec<String> = ended
        .trace
        .calls()
        .iter()
        .map(|call| {
            call.logs
                .clone()
                .unwrap()
                .parent()
                .unwrap()
                .to_string_lossy()
                .to_lowercase()
        })
        .collect();
    assert_ne!(logs[0], logs[1]);
    assert!(logs[2].ends_with('+'));
}

/// Scenario 44 (J6), as far as the engine knows of it: runs are listed with where they stand.
#[test]
fn runs_are_listed() {
    let (world, _) = stopped(Some(2));
    fs::create_dir_all(world.root().join(".outpost/runs/halfmade")).unwrap();
    fs::create_dir_all(world.root().join(".outpost/runs/.hidden")).unwrap();
    let runs = list_runs(world.root()).unwrap();
    assert_eq!(runs.len(), 1);
    let run = runs[0].as_ref().unwrap();
    assert_eq!((run.id.as_str(), run.file.as_str()), (RUN, "main.outpost"));
    assert_eq!(run.status.name(), "interrupted");
    assert!(run.is_unfinished());
    assert_eq!(
        fs::read_to_string(world.root().join(".outpost/.gitignore")).unwrap(),
        "*\n"
    );
}

/// An id that is taken, or cannot be one, is refused before anything happens.
#[test]
fn ids_are_checked() {
    let (world, plan) = stopped(None);
    let again = world.start(&plan, ok, Extras::default());
    assert!(matches!(again.record, Err(RunFault::RunId(_))));
    let options = StartOptions {
        run: Some("../x".to_owned()),
        ..StartOptions::default()
    };
    assert!(
        options
            .run
            .is_some_and(|id| !outpost_runtime::checkpoint::is_run_id(&id))
    );
}

/// What cannot run yet is said once for each place, before anything starts.
#[test]
fn what_cannot_run_is_refused_before_the_start() {
    let gate = outpost_compiler::program::Gate {
        pause: false,
        prompt: text("Go?"),
        actors: vec!["*".into()],
    };
    let plan = planned(workflow(vec![
        of_kind(
            "ship",
            &[],
            outpost_compiler::program::TaskKind::Gate(Box::new(gate)),
        ),
        task("a", &[], does(Action::Value(int(1)))),
    ]));
    let world = World::new();
    let ended = world.start(&plan, ok, Extras::default());
    let Err(RunFault::NotRunnable(diagnostics)) = &ended.record else {
        panic!("not runnable");
    };
    assert_eq!(diagnostics.len(), 1);
    assert!(!world.root().join(".outpost").exists());
}

/// J2: a run that was killed while SQLite still put its database into WAL mode has done nothing, and its id is free.
#[test]
fn a_run_killed_while_its_journal_was_made_can_be_started_again() {
    let plan = planned(workflow(vec![value("a", &[], int(1))]));
    let world = World::new();
    let half = folder(&world);
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("journal.db"), [0u8; 4096]).unwrap();
    // A rollback journal that says: the database was empty before, go back to that.
    let mut rollback = vec![0u8; 512];
    rollback[..8].copy_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    rollback[20..24].copy_from_slice(&512u32.to_be_bytes());
    rollback[24..28].copy_from_slice(&4096u32.to_be_bytes());
    fs::write(half.join("journal.db-journal"), rollback).unwrap();
    let ended = world.start(&plan, ok, Extras::default());
    assert_eq!(ended.record.unwrap().status.name(), "done");
}
