//! `check/`: a file with what is wrong in it, or a folder with `main.outpost`.
//!
//! The first lines of a case may say which diagnostics are expected, and then nothing else may be found:
//!
//! ```text
//! # expect: error 7:12 7:18 "words"
//! # also: 3:8 "words"
//! # help: "words"
//! # expect: nothing
//! ```
//!
//! `expect` gives the severity and the range of the primary label; each word by itself must occur in the message or in that label.
//! `also` is a place at which a secondary label starts; `help` are words of the help, a note or the message.
//! Both belong to the `expect` before them.

use crate::{compare, copy, entries};
use libtest_mimic::Failed;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Cases below a folder: files, and folders with a `main.outpost`, which stand for themselves.
pub fn find(folder: &Path) -> Vec<PathBuf> {
    if folder.join("main.outpost").is_file() {
        return vec![folder.to_owned()];
    }
    let mut found = Vec::new();
    for entry in entries(folder) {
        if entry.is_dir() {
            found.extend(find(&entry));
        } else if entry
            .extension()
            .is_some_and(|extension| extension == "outpost")
        {
            found.push(entry);
        }
    }
    found
}

/// Checks one case in a folder of its own.
pub fn test(case: &Path) -> Result<(), Failed> {
    let project = tempfile::tempdir()?;
    fs::create_dir(project.path().join(".outpost"))?;
    let stem = case
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let (folder, file, name) = match case.is_dir() {
        true => (case.to_owned(), "main.outpost".to_owned(), "output"),
        false => (parent(case), format!("{stem}.outpost"), stem.as_str()),
    };
    match case.is_dir() {
        true => copy(case, project.path())?,
        false => drop(fs::copy(case, project.path().join(&file))?),
    }

    let text = fs::read_to_string(folder.join(&file))?;
    let machine = outpostc(project.path(), &file, "json")?;
    let found = read(&machine)?;
    let expected = header(&text)?;
    if let Some(expected) = &expected {
        verify(expected, &found)?;
    }
    let code = i32::from(
        found
            .iter()
            .any(|diagnostic| diagnostic.severity == "error"),
    );
    if machine.status.code() != Some(code) {
        return Err(format!("exit {:?}, expected {code}", machine.status.code()).into());
    }
    if found.is_empty() {
        return Ok(());
    }
    let human = outpostc(project.path(), &file, "human")?;
    let shown = [human.stdout, human.stderr].concat();
    compare(&folder, name, &String::from_utf8(shown)?);
    Ok(())
}

fn parent(case: &Path) -> PathBuf {
    case.parent().unwrap_or(case).to_owned()
}

fn outpostc(project: &Path, file: &str, format: &str) -> Result<Output, Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outpostc"));
    command
        .args(["check", file, "--format", format])
        .current_dir(project);
    Ok(command.env("NO_COLOR", "1").stdin(Stdio::null()).output()?)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    version: u32,
    diagnostics: Vec<Found>,
}

/// A diagnostic as `check --format json` prints it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    code: String,
    severity: String,
    message: String,
    file: String,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    /// The words at the primary place.
    #[serde(default)]
    label: Option<String>,
    labels: Vec<FoundLabel>,
    help: Option<String>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct FoundLabel {
    line: usize,
    column: usize,
    text: String,
}

fn read(output: &Output) -> Result<Vec<Found>, Failed> {
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Report = serde_json::from_str(&text).map_err(|error| {
        let stderr = String::from_utf8_lossy(&output.stderr);
        format!("no report ({error}): {text}{stderr}")
    })?;
    match report.version {
        1 => Ok(report.diagnostics),
        other => Err(format!("the report has version {other}").into()),
    }
}

/// A line `# expect: …` with the lines that belong to it.
#[derive(Debug)]
struct Expected {
    severity: String,
    start: (usize, usize),
    end: (usize, usize),
    words: String,
    also: Vec<((usize, usize), String)>,
    help: Vec<String>,
}

/// What the first lines say; `None` if they say nothing.
fn header(text: &str) -> Result<Option<Vec<Expected>>, Failed> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut expected: Option<Vec<Expected>> = None;
    for line in text.lines() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line == "# expect: nothing" {
            return Ok(Some(Vec::new()));
        }
        let wrong = || Failed::from(format!("the header cannot be read: {line}"));
        let Some((kind, rest)) = line
            .strip_prefix("# ")
            .and_then(|line| line.split_once(": "))
        else {
            break;
        };
        match kind {
            "expect" => expected
                .get_or_insert_default()
                .push(expectation(rest).ok_or_else(wrong)?),
            "also" | "help" => {
                let last = expected
                    .as_mut()
                    .and_then(|all| all.last_mut())
                    .ok_or_else(wrong)?;
                match kind {
                    "also" => last.also.push(secondary(rest).ok_or_else(wrong)?),
                    _ => last.help.push(quoted(rest).ok_or_else(wrong)?),
                }
            }
            _ => break,
        }
    }
    Ok(expected)
}

/// `error 7:12 7:18 "words"`
fn expectation(rest: &str) -> Option<Expected> {
    let mut parts = rest.splitn(4, ' ');
    Some(Expected {
        severity: parts.next()?.to_owned(),
        start: place(parts.next()?)?,
        end: place(parts.next()?)?,
        words: quoted(parts.next()?)?,
        also: Vec::new(),
        help: Vec::new(),
    })
}

/// `3:8 "words"`
fn secondary(rest: &str) -> Option<((usize, usize), String)> {
    let (at, words) = rest.split_once(' ')?;
    Some((place(at)?, quoted(words)?))
}

fn place(text: &str) -> Option<(usize, usize)> {
    let (line, column) = text.split_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// What stands between the first and the last quote.
fn quoted(text: &str) -> Option<String> {
    Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

/// Pairs what was expected with what was found, in source order; nothing may be left over.
fn verify(expected: &[Expected], found: &[Found]) -> Result<(), Failed> {
    let mut wrong = Vec::new();
    let mut left: Vec<&Found> = found.iter().collect();
    for want in expected {
        let fits = |found: &&Found| {
            (found.line, found.column) == want.start
                && (found.end_line, found.end_column) == want.end
                && found.severity == want.severity
        };
        match left.iter().position(fits) {
            Some(at) => compare_words(want, left.remove(at), &mut wrong),
            None => wrong.push(format!(
                "missing: {} at {} with {:?}",
                want.severity,
                range(want.start, want.end),
                want.words
            )),
        }
    }
    for extra in left {
        let range = range(
            (extra.line, extra.column),
            (extra.end_line, extra.end_column),
        );
        let Found {
            severity,
            code,
            message,
            file,
            ..
        } = extra;
        wrong.push(format!(
            "not expected: {severity}[{code}] at {file}:{range}: {message}"
        ));
    }
    let places: Vec<(usize, usize)> = found
        .iter()
        .map(|found| (found.line, found.column))
        .collect();
    if !places.is_sorted() {
        wrong.push(format!("not in source order: {places:?}"));
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n").into()),
    }
}

fn range(start: (usize, usize), end: (usize, usize)) -> String {
    format!("{}:{} {}:{}", start.0, start.1, end.0, end.1)
}

fn compare_words(want: &Expected, found: &Found, wrong: &mut Vec<String>) {
    let at = range(want.start, want.end);
    let label = found.label.as_deref().unwrap_or_default();
    lacking(
        &want.words,
        &[&found.message, label],
        &format!("{at}: the message"),
        wrong,
    );
    for (place, words) in &want.also {
        let there = found
            .labels
            .iter()
            .filter(|label| (label.line, label.column) == *place);
        let texts: Vec<&str> = there.map(|label| label.text.as_str()).collect();
        match texts.is_empty() {
            true => wrong.push(format!("{at}: no label starts at {}:{}", place.0, place.1)),
            false => lacking(
                words,
                &texts,
                &format!("{at}: the label at {}:{}", place.0, place.1),
                wrong,
            ),
        }
    }
    let mut texts = vec![found.message.as_str()];
    texts.extend(found.help.as_deref());
    texts.extend(found.notes.iter().map(String::as_str));
    for words in &want.help {
        lacking(words, &texts, &format!("{at}: the help"), wrong);
    }
}

/// Notes each word that is in none of the texts; case does not matter.
fn lacking(words: &str, texts: &[&str], what: &str, wrong: &mut Vec<String>) {
    let text = texts.join("\n").to_lowercase();
    let missing: Vec<&str> = words
        .split_whitespace()
        .filter(|word| !text.contains(&word.to_lowercase()))
        .collect();
    if !missing.is_empty() {
        wrong.push(format!("{what} lacks {missing:?}: {}", texts.join(" | ")));
    }
}
