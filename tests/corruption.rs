//! Whatever is done to a journal: it is refused before anything is called, the record at fault is named, and the files are left as they are.

#[path = "support/project.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod project;

use project::Project;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const WORKFLOW: &str = r#"
workflow stops {
  task first { command: ["sh", "-c", "echo first >>log"] }
  task second { after: [first]  command: ["sh", "-c", "echo second >>log; test -e go"] }
}
"#;

/// What is done to a journal.
enum Harm {
    /// Statements on the database.
    Sql(&'static str),
    /// A new content of a file of the run's folder.
    File(&'static str, &'static [u8]),
    /// A file of the run's folder is cut after so many bytes.
    Cut(&'static str, u64),
    /// A file of the run's folder is taken away.
    Remove(&'static str),
}

/// What is done, and words that the refusal must have.
const HARMS: [(&str, Harm, &[&str]); 17] = [
    (
        "a body is changed",
        Harm::Sql("UPDATE events SET body = replace(body, 'attempt', 'attempu') WHERE seq = 2"),
        &["record 2"],
    ),
    (
        "a hash is changed",
        Harm::Sql("UPDATE events SET hash = zeroblob(32) WHERE seq = 3"),
        &["record 3"],
    ),
    (
        "the first row is gone",
        Harm::Sql("DELETE FROM events WHERE seq = 1"),
        &["record"],
    ),
    (
        "a row in the middle is gone",
        Harm::Sql("DELETE FROM events WHERE seq = 3"),
        &["record"],
    ),
    (
        "the last row is gone",
        Harm::Sql("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)"),
        &[],
    ),
    ("all rows are gone", Harm::Sql("DELETE FROM events"), &[]),
    (
        "a row is added",
        Harm::Sql("INSERT INTO events SELECT max(seq) + 1, hash, body FROM events"),
        &["record"],
    ),
    (
        "two rows are exchanged",
        Harm::Sql(
            "UPDATE events SET seq = 100 WHERE seq = 2; UPDATE events SET seq = 2 WHERE seq = 3; UPDATE events SET seq = 3 WHERE seq = 100",
        ),
        &["record 2"],
    ),
    (
        "it is another run's",
        Harm::Sql("UPDATE meta SET value = 'other' WHERE key = 'run'"),
        &["other"],
    ),
    (
        "it is of a newer version",
        Harm::Sql(
            "UPDATE meta SET value = '99' WHERE key = 'format'; UPDATE meta SET value = '7.7.7' WHERE key = 'outpostc'",
        ),
        &["7.7.7", env!("CARGO_PKG_VERSION")],
    ),
    ("its head is gone", Harm::Sql("DELETE FROM meta"), &[]),
    (
        "the rows have another form",
        Harm::Sql("DROP TABLE events; CREATE TABLE events (seq INTEGER, body TEXT)"),
        &[],
    ),
    (
        "it is no database",
        Harm::File("journal.db", b"this is no database, only some text"),
        &[],
    ),
    ("it is empty", Harm::File("journal.db", b""), &[]),
    ("it is cut", Harm::Cut("journal.db", 5000), &[]),
    (
        "the side file is damaged",
        Harm::File("seal", b"nonsense\n"),
        &["side file"],
    ),
    (
        "it is gone",
        Harm::Remove("journal.db"),
        &["is gone", "side file"],
    ),
];

#[test]
fn a_harmed_journal_is_refused_and_left_as_it_is() {
    let mut wrong = Vec::new();
    for (what, harm, words) in &HARMS {
        if let Err(why) = refused(harm, words) {
            wrong.push(format!("{what}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A project with a run `stops` that has failed in its second task.
fn stopped() -> (Project, PathBuf) {
    let project = Project::new(&[("stops.outpost", WORKFLOW)]);
    let end = project.call(&["run", "stops.outpost", "--run-id", &project.run]);
    assert_eq!(end.code, Some(1), "{end}");
    project.write("go", "");
    let folder = project.path(".outpost/runs").join(&project.run);
    (project, folder)
}

fn refused(harm: &Harm, words: &[&str]) -> Result<(), String> {
    let (project, folder) = stopped();
    do_harm(harm, &folder)?;
    let before = contents(&folder);
    let verify = project.call(&["runs", "verify", &project.run]);
    if verify.code == Some(0) {
        return Err(format!("`runs verify` finds nothing: {verify}"));
    }
    let end = project.call(&["resume", &project.run, "--retry-incomplete"]);
    if end.code != Some(5) {
        return Err(format!("it is not refused: {end}"));
    }
    if project.lines("log") != ["first", "second"] {
        return Err(format!("something ran: {:?}", project.lines("log")));
    }
    if let Some(word) = words.iter().find(|word| !end.stderr.contains(**word)) {
        return Err(format!("the refusal does not say `{word}`: {end}"));
    }
    let changed: Vec<PathBuf> = difference(&before, &contents(&folder));
    match changed.is_empty() {
        true => Ok(()),
        false => Err(format!("files were changed: {changed:?}")),
    }
}

fn do_harm(harm: &Harm, folder: &Path) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    match harm {
        Harm::Sql(statements) => {
            let database =
                Connection::open(folder.join("journal.db")).map_err(|error| text(&error))?;
            database
                .execute_batch(statements)
                .map_err(|error| text(&error))
        }
        Harm::File(name, content) => {
            fs::write(folder.join(name), content).map_err(|error| text(&error))
        }
        Harm::Cut(name, length) => {
            let file = fs::File::options()
                .write(true)
                .open(folder.join(name))
                .map_err(|error| text(&error))?;
            file.set_len(*length).map_err(|error| text(&error))
        }
        Harm::Remove(name) => fs::remove_file(folder.join(name)).map_err(|error| text(&error)),
    }
}

/// The journal's own files; what SQLite makes for the time of reading, and the lock, are not its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let names = ["journal.db", "seal"].map(|name| folder.join(name));
    names
        .into_iter()
        .filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes)))
        .collect()
}

fn difference(
    before: &BTreeMap<PathBuf, Vec<u8>>,
    after: &BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<PathBuf> {
    let all = before.keys().chain(after.keys());
    let mut changed: Vec<PathBuf> = all
        .filter(|path| before.get(*path) != after.get(*path))
        .cloned()
        .collect();
    changed.dedup();
    changed
}

#[test]
fn without_its_side_file_a_clean_journal_is_accepted_and_that_is_said() {
    let (project, folder) = stopped();
    fs::remove_file(folder.join("seal")).expect("a run has a side file");
    let plan = project.call(&["resume", &project.run, "--retry-incomplete", "--plan"]);
    let said = format!("{}{}", plan.stdout, plan.stderr);
    assert!(said.contains("side file"), "{plan}");
    let end = project.call(&["resume", &project.run, "--retry-incomplete"]);
    assert_eq!(end.code, Some(0), "{end}");
    assert_eq!(project.lines("log"), ["first", "second", "second"]);
}
